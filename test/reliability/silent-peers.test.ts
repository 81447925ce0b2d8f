/** Peers that are gone without saying so: they are noticed, let go, and nobody else pays for them. */
import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { residentBytes } from '#test/support/process.ts';
import { RawSocket, readFrames } from '#test/support/raw-socket.ts';
import { startServer, type TestServer } from '#test/support/server.ts';
import { connect, type TestSocket } from '#test/support/socket.ts';
import { until } from '#test/support/waiting.ts';
import { say, start } from '#test/messaging/conversing.ts';

/** The least idle time there may be; the library looks every four seconds. */
const IDLE_SECONDS = '8';
const IDLE_PATIENCE_MILLIS = 30_000;
/** A peer that overflowed its buffer and reads nothing is cut after thirty seconds. */
const CUT_PATIENCE_MILLIS = 60_000;
const BODY = 'x'.repeat(16_000);
/** Far beyond what the kernel's buffers of one loopback connection take. */
const MESSAGES = 1_500;
const READERS = 16;
/** Resident memory that the server may gain while 24 MB are withheld from each of the readers, 384 MB in all. */
const GROWTH_BYTES_MAX = 250 * 1024 * 1024;

interface Sockets {
  readonly open: number;
  readonly closed: Readonly<Record<string, number>>;
}

async function socketsOf(server: TestServer): Promise<Sockets> {
  return (await server.api<{ sockets: Sockets }>(undefined, 'GET', '/healthz')).body.sockets;
}

/** The states of a person's presence that a socket heard, in order. */
function heardOf(watcher: TestSocket, user: string): unknown[] {
  return watcher.events
    .filter(({ type, data }) => type === 'presence' && data['user'] === user)
    .map(({ data }) => data['state']);
}

void suite('silent peers', { concurrency: true }, () => {
  test('SOC-02 FRM-03 half-open peers are noticed within the idle time, and presence follows', async (t) => {
    const server = await startServer({ shards: 2, environment: { PARLEY_SOCKET_IDLE_SECONDS: IDLE_SECONDS } });
    t.after(() => server.stop());
    const { ann, ben, cas } = await server.people('ann', 'ben', 'cas');
    await start(server, ann, 'direct', ['ben']);
    await start(server, ann, 'direct', ['cas']);
    const watcher = await connect(server, ann);
    // One takes the pings in and answers none, as a machine that hangs; one does not even read, as one that is gone.
    const [deaf, gone] = [await RawSocket.open(server, ben), await RawSocket.open(server, cas)];
    t.after(() => gone.end());
    await until(() => heardOf(watcher, 'ben').length === 1 && heardOf(watcher, 'cas').length === 1, 'both online');
    assert.equal((await socketsOf(server)).open, 3);
    const heard = await deaf.readOn(IDLE_PATIENCE_MILLIS);
    assert.equal(readFrames(heard).closeCode, undefined);
    await until(async () => (await socketsOf(server)).open === 1, 'both to be let go', IDLE_PATIENCE_MILLIS);
    for (const user of ['ben', 'cas']) {
      await until(() => heardOf(watcher, user).length === 2, `${user} to be offline`);
      assert.deepEqual(heardOf(watcher, user), ['online', 'offline']);
    }
    // The one that answers pings was never in doubt, and the devices are free: nothing is displaced by a new socket.
    assert.equal(watcher.closed, undefined);
    const again = await connect(server, ben);
    await until(() => heardOf(watcher, 'ben').length === 3, 'ben to be back');
    assert.equal(again.closed, undefined);
    assert.equal((await socketsOf(server)).closed['replaced'] ?? 0, 0);
  });

  test('SOC-12 peers that never read on are cut, memory is bounded, and the others hear everything', async (t) => {
    const server = await startServer({
      shards: 2,
      // Without the idle time, which would let it go earlier: the cut is what this is about.
      environment: { PARLEY_SOCKET_BUFFER_BYTES: '65536', PARLEY_SOCKET_IDLE_SECONDS: '960' },
    });
    t.after(() => server.stop());
    const { ann, ben } = await server.people('ann', 'ben');
    const slow = Object.values(await server.people(...Array.from({ length: READERS }, (_, at) => `slow${at}`)));
    const { id } = await start(server, ann, 'room', ['ben', ...slow.map(({ username }) => username)]);
    const attentive = await connect(server, ben);
    let most = 0;
    const postAll = async () => {
      for (let count = 0; count < MESSAGES; count += 10) {
        await Promise.all(Array.from({ length: 10 }, () => say(server, ann, id, BODY)));
        most = Math.max(most, residentBytes(server.pid));
      }
    };
    // Once before there are slow readers: what the posts themselves take is not counted.
    await postAll();
    const earlier = most;
    const stuck = await Promise.all(slow.map((person) => RawSocket.open(server, person)));
    t.after(() => stuck.forEach((reader) => reader.end()));
    await postAll();
    assert.equal((await attentive.eventsOf('message.new', 2 * MESSAGES)).at(-1)?.seq, 2 * MESSAGES);
    await until(async () => (await socketsOf(server)).open === READERS + 1, 'every shard to count its sockets');
    await until(async () => (await socketsOf(server)).open === 1, 'the peers to be cut', CUT_PATIENCE_MILLIS);
    most = Math.max(most, residentBytes(server.pid));
    assert.ok(most - earlier < GROWTH_BYTES_MAX, `${most - earlier} bytes gained`);
    assert.equal((await socketsOf(server)).closed['tooSlow'], READERS);
    assert.equal(attentive.closed, undefined);
    await say(server, ann, id, 'after the cut');
    assert.equal((await attentive.eventsOf('message.new', 2 * MESSAGES + 1)).at(-1)?.data['body'], 'after the cut');
  });
});
