/** Posts, edits and reads of many at once could have happened one after the other, whichever shard each of them reached. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Message } from '#src/protocol/conversations/messages.ts';
import { laneOf } from '#storage/engine/lanes.ts';
import { isRegister, logFault, type LogOperation, type RegisterOperation } from '#test/support/linearisability.ts';
import { SeededRandom } from '#test/support/random.ts';
import type { Person } from '#test/support/server.ts';
import { shareServer } from '#test/support/shared-server.ts';
import { post, start } from './conversing.ts';

const { server, ann, dee } = await shareServer(['ann', 'dee'], { shards: 2 });

const LANES = 4;
/** Who acts at once in a conversation, and how often each. */
const WRITERS = 3;
const READERS = 4;
const TURNS = 12;
/** Messages that are edited and read: few, so that they are at the same time. */
const EDITED = 2;

interface History {
  readonly log: LogOperation[];
  readonly registers: Map<number, RegisterOperation[]>;
}

/** A conversation in each lane, so that each shard writes some and reads all. */
async function makeRooms(): Promise<string[]> {
  const rooms = new Map<number, string>();
  while (rooms.size < LANES) {
    const { id } = await start(server, ann, 'room', ['dee']);
    rooms.set(laneOf(id, LANES), rooms.get(laneOf(id, LANES)) ?? id);
  }
  return [...rooms.values()];
}

async function timed<T>(act: () => Promise<T>): Promise<{ began: number; ended: number; value: T }> {
  const began = performance.now();
  const value = await act();
  return { began, ended: performance.now(), value };
}

const bodyOf = ({ body }: Message): string => body as string;

class Client {
  readonly #room: string;
  readonly #history: History;
  readonly #random: SeededRandom;
  readonly #name: string;
  #count = 0;

  constructor(room: string, history: History, random: SeededRandom, name: string) {
    this.#room = room;
    this.#history = history;
    this.#random = random;
    this.#name = name;
  }

  async write(): Promise<void> {
    for (let turn = 0; turn < TURNS; turn += 1) await (this.#random.chance(0.4) ? this.#post() : this.#edit());
  }

  async read(who: Person): Promise<void> {
    for (let turn = 0; turn < TURNS; turn += 1)
      await (this.#random.chance(0.5) ? this.#readAll(who) : this.#readOne(who));
  }

  #value(): string {
    return `${this.#name} ${(this.#count += 1)}`;
  }

  async #post(): Promise<void> {
    const { value: reply, ...interval } = await timed(
      async () => await post(server, ann, this.#room, { kind: 'text', body: this.#value() }),
    );
    assert.equal(reply.status, 201, reply.text);
    this.#history.log.push({ ...interval, kind: 'post', place: reply.body.seq });
  }

  async #edit(): Promise<void> {
    const [seq, value] = [this.#random.whole(1, EDITED), this.#value()];
    const path = `/v1/conversations/${this.#room}/messages/${seq}`;
    const { value: reply, ...interval } = await timed(
      async () => await server.api<Message>(ann, 'PATCH', path, { body: value }),
    );
    assert.equal(reply.status, 200, reply.text);
    this.#note(seq, { ...interval, kind: 'write', value });
  }

  async #readOne(who: Person): Promise<void> {
    const seq = this.#random.whole(1, EDITED);
    const path = `/v1/conversations/${this.#room}/messages/${seq}`;
    const { value: reply, ...interval } = await timed(async () => await server.api<Message>(who, 'GET', path));
    assert.equal(reply.status, 200, reply.text);
    this.#note(seq, { ...interval, kind: 'read', value: bodyOf(reply.body) });
  }

  async #readAll(who: Person): Promise<void> {
    const path = `/v1/conversations/${this.#room}/messages?after_seq=0&limit=200`;
    const { value: reply, ...interval } = await timed(
      async () => await server.api<{ items: Message[] }>(who, 'GET', path),
    );
    assert.equal(reply.status, 200, reply.text);
    const { items } = reply.body;
    assert.deepEqual(
      items.map(({ seq }) => seq),
      items.map((_, at) => at + 1),
    );
    this.#history.log.push({ ...interval, kind: 'read', place: items.length });
    for (const item of items.slice(0, EDITED)) this.#note(item.seq, { ...interval, kind: 'read', value: bodyOf(item) });
  }

  #note(seq: number, operation: RegisterOperation): void {
    this.#history.registers.get(seq)?.push(operation);
  }
}

/** What everybody did and saw in a conversation. */
async function converse(room: string, seed: number): Promise<History> {
  const history: History = { log: [], registers: new Map() };
  for (let seq = 1; seq <= EDITED; seq += 1) {
    const { value: reply, ...interval } = await timed(
      async () => await post(server, ann, room, { kind: 'text', body: `first ${seq}` }),
    );
    assert.equal(reply.status, 201, reply.text);
    history.log.push({ ...interval, kind: 'post', place: reply.body.seq });
    history.registers.set(seq, []);
  }
  const random = new SeededRandom(seed);
  const client = (name: string) => new Client(room, history, random.fork(), name);
  const writers = Array.from({ length: WRITERS }, async (_, at) => await client(`writer ${at}`).write());
  const readers = Array.from(
    { length: READERS },
    async (_, at) => await client(`reader ${at}`).read(at % 2 === 0 ? ann : dee),
  );
  await Promise.all([...writers, ...readers]);
  return history;
}

for (const seed of [1, 2]) {
  test(`MSG-02 posts, edits and reads in all lanes at once have an order, seed ${seed}`, async () => {
    const rooms = await makeRooms();
    const histories = await Promise.all(rooms.map(async (room, at) => await converse(room, seed * 100 + at)));
    for (const { log, registers } of histories) {
      assert.equal(logFault(log), undefined, `seed ${seed}`);
      assert.ok(log.length > EDITED, `seed ${seed}`);
      for (const [seq, operations] of registers) {
        assert.ok(operations.length > 0);
        assert.ok(isRegister(operations, `first ${seq}`), `seed ${seed}: ${JSON.stringify(operations)}`);
      }
    }
  });
}

test('the check tells what has an order from what has none', () => {
  const write = (value: string, began: number, ended: number) => ({ kind: 'write', value, began, ended }) as const;
  const read = (value: string, began: number, ended: number) => ({ kind: 'read', value, began, ended }) as const;
  const [one, two] = [write('1', 0, 10), write('2', 5, 15)];
  assert.ok(
    isRegister([one, two, read('0', 1, 4), read('2', 6, 9), read('1', 11, 14)], '0'),
    'writes at once have either order',
  );
  assert.ok(
    isRegister([write('1', 0, 100), read('1', 1, 2), read('1', 3, 4)], '0'),
    'a write counts before it is answered',
  );
  assert.ok(!isRegister([write('1', 0, 1), read('0', 2, 3)], '0'), 'a read of before');
  assert.ok(!isRegister([write('1', 0, 100), read('1', 1, 2), read('0', 3, 4)], '0'), 'seen, and not seen later');
  assert.ok(!isRegister([one, two, read('1', 16, 17), read('2', 18, 19)], '0'), 'two orders of one pair of writes');
  assert.ok(!isRegister([read('9', 0, 1)], '0'), 'what nobody wrote');
  const posted = (place: number, began: number, ended: number) => ({ kind: 'post', place, began, ended }) as const;
  const seen = (place: number, began: number, ended: number) => ({ kind: 'read', place, began, ended }) as const;
  assert.equal(logFault([posted(2, 0, 10), posted(1, 5, 8), seen(1, 6, 9), seen(2, 7, 9)]), undefined);
  assert.match(logFault([posted(1, 0, 1), seen(0, 2, 3)]) ?? '', /a post of 1 was over before a read of 0 began/);
  assert.match(logFault([posted(1, 2, 3), seen(1, 0, 1)]) ?? '', /a read of 1 was over before a post of 1 began/);
  assert.match(logFault([posted(2, 0, 1), posted(1, 2, 3)]) ?? '', /a post of 2 was over before a post of 1 began/);
  assert.match(
    logFault([posted(1, 0, 9), seen(1, 1, 2), seen(0, 3, 4)]) ?? '',
    /a read of 1 was over before a read of 0 began/,
  );
  assert.match(logFault([posted(1, 0, 1), posted(1, 0, 1)]) ?? '', /one place/);
  assert.match(logFault([posted(1, 0, 1), seen(2, 0, 1)]) ?? '', /saw 2 of 1/);
});
