/** Connections that end at every single byte of what a client says: nothing half is taken, and nothing stays behind. */
import assert from 'node:assert/strict';
import { connect as connectTcp } from 'node:net';
import { test } from 'node:test';
import { openBesideStores } from '#test/support/process.ts';
import { handshakeOf, RawSocket, textFrame } from '#test/support/raw-socket.ts';
import { startServer, type Person, type TestServer } from '#test/support/server.ts';
import { connect } from '#test/support/socket.ts';
import { deadline, PATIENCE_MILLIS, until } from '#test/support/waiting.ts';
import { anotherDevice, heardUpTo, say, start } from '#test/messaging/conversing.ts';
import { headOf } from '#test/messaging/raw-http.ts';

type Ending = 'FIN' | 'RST';
const ENDINGS: readonly Ending[] = ['FIN', 'RST'];
/** Connections that are cut at once. */
const AT_ONCE = 48;

/** Says these bytes on a connection of their own and ends it; done when the server has let go of it, too. */
async function cut(server: TestServer, bytes: Buffer, ending: Ending): Promise<void> {
  const tcp = connectTcp({ host: '127.0.0.1', port: Number(new URL(server.messaging).port) });
  tcp.on('error', () => undefined);
  const closed = new Promise<void>((resolve) => tcp.once('close', () => resolve()));
  await new Promise<void>((resolve) => tcp.once('connect', () => resolve()));
  await new Promise<void>((resolve) => tcp.write(bytes, () => resolve()));
  if (ending === 'RST') tcp.resetAndDestroy();
  else tcp.end().resume();
  await deadline(closed, PATIENCE_MILLIS, `the end after ${bytes.length} bytes and ${ending}`);
}

/** Every beginning of these bytes, cut off in both ways; those of one length together, a few lengths at once. */
async function cutEverywhere(whole: Buffer, one: (beginning: Buffer, ending: Ending) => Promise<void>): Promise<void> {
  const cuts = ENDINGS.flatMap((ending) => Array.from(whole, (_, length) => ({ ending, length })));
  for (let at = 0; at < cuts.length; at += AT_ONCE) {
    const some = cuts.slice(at, at + AT_ONCE);
    await Promise.all(some.map(({ ending, length }) => one(whole.subarray(0, length), ending)));
  }
}

interface Scene {
  readonly server: TestServer;
  readonly ann: Person;
  readonly ben: Person;
  readonly room: string;
  /** Waits until as many files and sockets are open as at the beginning. */
  readonly assertNothingStays: () => Promise<void>;
}

async function openScene(t: { after(done: () => unknown): void }): Promise<Scene> {
  const server = await startServer({ shards: 2 });
  t.after(() => server.stop());
  const { ann, ben } = await server.people('ann', 'ben');
  const { id: room } = await start(server, ann, 'room', ['ben']);
  await say(server, ann, room, 'the one message');
  const socketsOpen = async () =>
    (await server.api<{ sockets: { open: number } }>(undefined, 'GET', '/healthz')).body.sockets.open;
  assert.equal(await socketsOpen(), 0);
  const base = openBesideStores(server.pid);
  const assertNothingStays = async () => {
    await until(async () => (await socketsOpen()) === 0, 'all sockets to be let go');
    // The connections that these requests keep alive may come and go.
    await until(
      () => openBesideStores(server.pid) <= base + 4,
      `${base} open files again, not ${openBesideStores(server.pid)}`,
    );
  };
  return { server, ann, ben, room, assertNothingStays };
}

test('SOC-01 a handshake that is cut off at any byte leaves nothing behind', async (t) => {
  const { server, ann, room, assertNothingStays } = await openScene(t);
  await cutEverywhere(Buffer.from(handshakeOf(ann)), (beginning, ending) => cut(server, beginning, ending));
  await assertNothingStays();
  const { body } = await server.api<{ sockets: { opened: number } }>(undefined, 'GET', '/healthz');
  assert.equal(body.sockets.opened, 0);
  const socket = await connect(server, ann);
  await say(server, ann, room, 'served on');
  assert.equal((await socket.event('message.new')).seq, 2);
  await socket.close();
});

test('SOC-06 a frame that is cut off at any byte reaches nobody', async (t) => {
  const { server, ann, ben, room, assertNothingStays } = await openScene(t);
  const listener = await connect(server, ben);
  const frame = textFrame(JSON.stringify({ kind: 'typing', conv: room }));
  for (const ending of ENDINGS) {
    // One after the other: of one device only the newest socket stays.
    for (let length = 0; length < frame.length; length += 1) {
      const socket = await RawSocket.open(server, ann);
      const closed = new Promise<void>((resolve) => socket.tcp.once('close', () => resolve()));
      await new Promise<void>((resolve) => socket.tcp.write(frame.subarray(0, length), () => resolve()));
      if (ending === 'RST') socket.tcp.resetAndDestroy();
      else socket.tcp.end().resume();
      await deadline(closed, PATIENCE_MILLIS, `the end after ${length} bytes and ${ending}`);
    }
  }
  assert.deepEqual(
    (await heardUpTo(server, listener, ann, room)).filter((type) => type === 'typing'),
    [],
  );
  // The whole frame is heard, so that the beginnings were the beginnings of something.
  const whole = await RawSocket.open(server, ann);
  whole.tcp.write(frame);
  assert.deepEqual((await listener.event('typing')).data, { user: 'ann' });
  whole.end();
  await listener.close();
  await assertNothingStays();
});

test('MSG-04 a post that is cut off at any byte of its head or body stores nothing', async (t) => {
  const { server, ann, ben, room, assertNothingStays } = await openScene(t);
  const listener = await connect(server, ben);
  const body = JSON.stringify({ kind: 'text', body: 'this must not be there', client_msg_id: 'cut' });
  const headers = ['content-type: application/json', `content-length: ${body.length}`];
  const whole = Buffer.from(headOf(`POST /v1/conversations/${room}/messages`, ann, headers) + body);
  await cutEverywhere(whole, (beginning, ending) => cut(server, beginning, ending));
  assert.deepEqual(await heardUpTo(server, listener, ann, room), []);
  const { items } = (
    await server.api<{ items: { seq: number; body: string }[] }>(
      ann,
      'GET',
      `/v1/conversations/${room}/messages?after_seq=0`,
    )
  ).body;
  assert.deepEqual(
    items.map(({ seq, body: text }) => [seq, text]),
    [
      [1, 'the one message'],
      [2, 'mark'],
    ],
  );
  await listener.close();
  await assertNothingStays();
  // The same bytes to their end are a message, and its client_msg_id is still free.
  const later = await anotherDevice(server, ann);
  assert.equal((await say(server, later, room, 'not the body of the first', 'cut')).body, 'not the body of the first');
});
