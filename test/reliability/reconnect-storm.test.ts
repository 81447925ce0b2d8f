/** Everybody comes back at once, and in the middle of it the shards die one after the other. */
import assert from 'node:assert/strict';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { test } from 'node:test';
import type { Message } from '#src/protocol/conversations/messages.ts';
import { startServer, type Person, type TestServer } from '#test/support/server.ts';
import { connect, type TestEvent, type TestSocket } from '#test/support/socket.ts';
import { until } from '#test/support/waiting.ts';
import { canonical, readHistory } from '#test/crash/history.ts';
import { Mirror } from '#test/crash/mirror.ts';
import { start } from '#test/messaging/conversing.ts';

const READERS = 40;
const POSTERS = ['ann', 'ben', 'cas', 'dot'] as const;
const STORMS = 3;

interface Changes {
  readonly complete: boolean;
  readonly items: readonly TestEvent[];
  readonly rev: number;
}

/** Somebody who posts without end and repeats what was not answered, under one client_msg_id. */
class Poster {
  /** seq → body of what the server acknowledged. */
  readonly acknowledged = new Map<number, string>();
  #isDone = false;
  readonly #running: Promise<void>;

  constructor(server: TestServer, person: Person, room: string) {
    this.#running = this.#post(server, person, `/v1/conversations/${room}/messages`);
  }

  async stop(): Promise<void> {
    this.#isDone = true;
    await this.#running;
  }

  async #post(server: TestServer, person: Person, path: string): Promise<void> {
    for (let count = 0; !this.#isDone && server.isRunning;) {
      const form = { kind: 'text', body: `${person.username} ${count}`, client_msg_id: `m-${count}` };
      // A connection that went with its shard, or a shard that is still away: the same again.
      const reply = await server.api<Message>(person, 'POST', path, form).catch(() => undefined);
      if (reply?.status === 201 || reply?.status === 200) {
        this.acknowledged.set(reply.body.seq, form.body);
        count += 1;
      } else {
        await nextTurn();
      }
    }
  }
}

/** Somebody who reads, and comes back whenever the connection is gone: with what was missed, by the changes. */
class Returner {
  readonly mirror = new Mirror();
  socket: TestSocket | undefined;
  returns = 0;
  readonly #server: TestServer;
  readonly #person: Person;
  readonly #room: string;

  constructor(server: TestServer, person: Person, room: string) {
    this.#server = server;
    this.#person = person;
    this.#room = room;
  }

  async come(): Promise<void> {
    for (this.socket = undefined; this.socket === undefined; await nextTurn()) {
      this.mirror.isBehind = true;
      const socket = await connect(this.#server, this.#person).catch(() => undefined);
      if (socket === undefined) continue;
      // What arrived before anybody listened was kept by the socket.
      for (const event of socket.events) this.mirror.receive(event);
      socket.raw.on(
        'message',
        (data) => void this.mirror.receive(JSON.parse((data as Buffer).toString()) as TestEvent),
      );
      if (await this.#catchUp()) this.socket = socket;
      else socket.raw.terminate();
    }
    this.returns += 1;
  }

  /** Whether all that was missed could be read. */
  async #catchUp(): Promise<boolean> {
    do {
      const path = `/v1/conversations/${this.#room}/changes?after_rev=${this.mirror.rev}`;
      const reply = await this.#server.api<Changes>(this.#person, 'GET', path).catch(() => undefined);
      if (reply?.status !== 200) return false;
      const { complete, items, rev } = reply.body;
      if (complete) {
        this.mirror.readChanges(items);
        continue;
      }
      // Further behind than one answer reaches: the history instead, and the changes since the rev once more over it.
      const history = await readHistory(this.#server, this.#person, this.#room, 0).catch(() => undefined);
      if (history === undefined) return false;
      this.mirror.startAfresh(history, rev);
    } while (!this.mirror.resume());
    return true;
  }
}

async function restarts(server: TestServer): Promise<number> {
  const response = await fetch(`${server.coordinator}/healthz`, { headers: { accept: 'application/json' } });
  const { threads } = (await response.json()) as { threads: { restarts: Record<string, number> } };
  return Object.values(threads.restarts).reduce((sum, count) => sum + count, 0);
}

test('MSG-08 SOC-11 everybody returns at once while shards die: nothing acknowledged is lost, and every reader has it all', async (t) => {
  const server = await startServer({ shards: 2, environment: { PARLEY_DEBUG_HOOKS: '1', PARLEY_LOG_LEVEL: 'silent' } });
  t.after(() => server.stop());
  const posting = Object.values(await server.people(...POSTERS));
  const reading = Object.values(await server.people(...Array.from({ length: READERS }, (_, at) => `reader${at}`)));
  const everybody = [...posting, ...reading].map(({ username }) => username);
  const { id: room } = await start(server, posting[0] as Person, 'room', everybody.slice(1));
  const posters = posting.map((person) => new Poster(server, person, room));
  const readers = reading.map((person) => new Returner(server, person, room));
  await Promise.all(readers.map((reader) => reader.come()));
  for (let storm = 1; storm <= STORMS; storm += 1) {
    for (const { socket } of readers) socket?.raw.terminate();
    const returned = readers.map((reader) => reader.come());
    // The shard dies while they are on their way.
    await Promise.race(returned);
    process.kill(server.pid, 'SIGUSR2');
    await until(async () => (await restarts(server)) === storm, `restart ${storm}`);
    await Promise.all(returned);
    // Those who had come back before the shard died come once more.
    await Promise.all(readers.filter(({ socket }) => socket?.closed !== undefined).map((reader) => reader.come()));
    const counts = posters.map(({ acknowledged }) => acknowledged.size);
    await until(() => posters.every(({ acknowledged }, at) => acknowledged.size > (counts[at] ?? 0)), 'posts to go on');
  }
  await Promise.all(posters.map((poster) => poster.stop()));
  const history = await readHistory(server, posting[0] as Person, room, 0);
  assert.deepEqual(
    history.map(({ seq }) => seq),
    history.map((_, at) => at + 1),
  );
  for (const { acknowledged } of posters) {
    assert.ok(acknowledged.size > STORMS);
    for (const [seq, body] of acknowledged) assert.equal(history[seq - 1]?.body, body);
  }
  assert.equal(new Set(history.map(({ sender, client_msg_id: id }) => `${sender} ${id}`)).size, history.length);
  const whole = history.map(canonical);
  for (const reader of readers) {
    const hasAll = async () => {
      if (reader.socket?.closed !== undefined) await reader.come();
      return reader.mirror.messages.size === history.length;
    };
    await until(hasAll, 'a reader to have everything');
    assert.deepEqual([...reader.mirror.messages.values()].toSorted((a, b) => a.seq - b.seq).map(canonical), whole);
    assert.ok(reader.returns > STORMS);
  }
});
