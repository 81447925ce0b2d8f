/** Frames on a person's socket: valid ones, damaged ones, binary, in fragments, too large. */
import { CLOSE_CODES } from '#src/protocol/sockets/close-codes.ts';
import { EVENT_DATA, type EventType } from '#src/protocol/sockets/events.ts';
import { ERRORS, type ErrorCode } from '#src/protocol/errors.ts';
import type { Json } from '#src/base/json.ts';
import type { SeededRandom } from '#test/support/random.ts';
import type { Person, TestServer } from '#test/support/server.ts';
import { connect, type TestSocket } from '#test/support/socket.ts';
import type { World } from './forms.ts';
import { damageText, mutate } from './mutation.ts';

/** Closes that a hostile client earns: abuse, a frame too large to read, a protocol error, text that is none. */
const CLOSES = new Set<number>([CLOSE_CODES.abuse, 1002, 1006, 1007, 1009]);

export class SocketFuzzer {
  readonly #server: TestServer;
  readonly #person: Person;
  #socket: TestSocket | undefined;
  #opening: Promise<void> | undefined;
  #looked = 0;

  constructor(server: TestServer, person: Person) {
    this.#server = server;
    this.#person = person;
  }

  /** One frame. Answers what was wrong with what the socket brought since the one before, or undefined. */
  async shoot(world: World, random: SeededRandom): Promise<string | undefined> {
    const fault = this.#look();
    if (this.#socket?.raw.readyState !== WebSocket.OPEN) {
      // Several lines shoot at once, and two sockets of one device would replace each other.
      this.#opening ??= this.#open();
      await this.#opening;
    }
    if (this.#socket !== undefined) this.#send(this.#socket, world, random);
    return fault ?? this.#look();
  }

  close(): void {
    this.#socket?.raw.terminate();
  }

  async #open(): Promise<void> {
    try {
      this.#socket = await connect(this.#server, this.#person);
      this.#looked = 0;
    } finally {
      this.#opening = undefined;
    }
  }

  #send({ raw }: TestSocket, { conversations }: World, random: SeededRandom): void {
    const valid: Json = random.chance(0.5)
      ? { kind: 'typing', conv: random.pick(conversations) }
      : { kind: 'presence', awake: random.chance(0.5) };
    const text = JSON.stringify(random.chance(0.4) ? mutate(valid, random) : valid);
    if (random.chance(0.1)) return raw.send(damageText(text, random), { binary: random.chance(0.5) });
    if (random.chance(0.1)) {
      raw.send(text.slice(0, 5), { fin: false });
      return raw.send(text.slice(5), { fin: true });
    }
    if (random.chance(0.02)) return raw.send('x'.repeat(random.pick([1_025, 20_000])));
    if (random.chance(0.05)) return raw.ping(Buffer.alloc(random.whole(0, 125)));
    return raw.send(text);
  }

  /** What came and should not have: an event of no known shape, an error outside the catalogue, an unearned close. */
  #look(): string | undefined {
    const socket = this.#socket;
    if (socket === undefined) return undefined;
    const fresh = socket.events.slice(this.#looked);
    this.#looked = socket.events.length;
    for (const { type, data } of fresh) {
      const shape = Object.hasOwn(EVENT_DATA, type) ? EVENT_DATA[type as EventType] : undefined;
      if (shape?.safeParse(data).success !== true) return `an event of no known shape: ${type} ${JSON.stringify(data)}`;
      if (type !== 'error') continue;
      const code = String(data['code']);
      if (code === 'internal' || ERRORS[code as ErrorCode]?.error !== data['error']) return `the socket error ${code}`;
    }
    const { closed } = socket;
    if (closed !== undefined && !CLOSES.has(closed.code)) return `the socket was closed with ${closed.code}`;
    return undefined;
  }
}
