/**
 * Somebody who listens to a room over a socket to one of several hosts, as a client does: goes to another host when the socket is gone,
 * asks for what came meanwhile, and keeps everything in the order in which it came.
 */
import { setTimeout as pause } from 'node:timers/promises';
import { request, type Person, type TestServer } from '#test/support/server.ts';
import { connect, type TestEvent, type TestSocket } from '#test/support/socket.ts';

const PAUSE_MILLIS = 50;
const REQUEST_MILLIS = 4_000;
const PAGE = 200;

export interface Message {
  readonly seq: number;
  readonly body: string;
}

export interface ListenerOptions {
  readonly person: Person;
  readonly room: string;
  /** The hosts as they are now; those that do not run are left out. The first is gone to first. */
  readonly hosts: () => readonly TestServer[];
}

export class Listener {
  readonly #options: ListenerOptions;
  readonly #running: Promise<void>;
  #isOver = false;
  #socket: TestSocket | undefined;
  /** What came, in the order in which it did, each place once. */
  readonly heard: Message[] = [];
  /** Times that it went to a host, and messages that it had to ask for. */
  connections = 0;
  askedFor = 0;
  /** A place that another text came to, which no client could mend. */
  readonly faults: string[] = [];

  constructor(options: ListenerOptions) {
    this.#options = options;
    this.#running = this.#run();
  }

  /** The place of the last message that it has. */
  get last(): number {
    return this.heard.at(-1)?.seq ?? 0;
  }

  async end(): Promise<void> {
    this.#isOver = true;
    this.#socket?.raw.terminate();
    await this.#running;
  }

  async #run(): Promise<void> {
    for (let turn = 0; !this.#isOver; turn += 1) {
      const hosts = this.#options.hosts();
      const host = hosts[turn % hosts.length];
      if (host !== undefined) await this.#listen(host).catch(() => undefined);
      await pause(PAUSE_MILLIS);
    }
  }

  /** Resolves when the socket is gone, or a host does not answer. */
  async #listen(host: TestServer): Promise<void> {
    const { person, room } = this.#options;
    this.#socket = await connect(host, person);
    this.connections += 1;
    try {
      // What comes from here on waits in the socket while older messages are asked for.
      await this.#ask(host);
      let read = 0;
      while (!this.#isOver && this.#socket.closed === undefined) {
        for (; read < this.#socket.events.length; read += 1) {
          const { conv, data, seq = 0, type } = this.#socket.events[read] as TestEvent;
          if (type !== 'message.new' || conv !== room) continue;
          if (seq > this.last + 1) await this.#ask(host);
          this.#take({ seq, body: String(data['body']) });
        }
        await pause(PAUSE_MILLIS);
      }
    } finally {
      this.#socket.raw.terminate();
    }
  }

  /** Asks for everything behind what it has. */
  async #ask(host: TestServer): Promise<void> {
    const { person, room } = this.#options;
    for (;;) {
      const path = `/v1/conversations/${room}/messages?limit=${PAGE}&after_seq=${this.last}`;
      const reply = await request<{ items: Message[] }>('GET', `${host.messaging}${path}`, {
        token: person.session.token,
        signal: AbortSignal.timeout(REQUEST_MILLIS),
      });
      if (reply.status !== 200) throw new Error(reply.text);
      if (reply.body.items.length === 0) return;
      for (const message of reply.body.items) {
        this.askedFor += 1;
        this.#take(message);
      }
    }
  }

  #take({ body, seq }: Message): void {
    // A socket may bring what was asked for as well; a client goes by the place.
    const known = seq <= this.last ? this.heard.find((message) => message.seq === seq) : undefined;
    if (known === undefined) this.heard.push({ seq, body });
    else if (known.body !== body) this.faults.push(`place ${seq} came as ${known.body} and as ${body}`);
  }
}

/** What is wrong with what somebody heard, where these texts were acknowledged at these places; a sentence each. */
export function faultsOf(heard: readonly Message[], acknowledged: ReadonlyMap<number, string>): string[] {
  const faults: string[] = [];
  const places = new Map<string, number>();
  heard.forEach(({ body, seq }, at) => {
    const before = heard[at - 1]?.seq ?? 0;
    if (seq <= before) faults.push(`${body} at ${seq} came behind what is at ${before}`);
    const other = places.get(body);
    if (other !== undefined) faults.push(`${body} came twice, at ${other} and at ${seq}`);
    places.set(body, seq);
  });
  for (const [seq, body] of acknowledged) {
    const place = places.get(body);
    if (place === undefined) faults.push(`${body}, acknowledged at ${seq}, never came`);
    else if (place !== seq) faults.push(`${body}, acknowledged at ${seq}, came at ${place}`);
  }
  for (const [body, seq] of places) if (!acknowledged.has(seq)) faults.push(`${body} at ${seq} was never acknowledged`);
  return faults;
}
