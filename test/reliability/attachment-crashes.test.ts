/** Kills at random moments while files are sent, posted, deleted and sealed: what was acknowledged is there afterwards. */
import assert from 'node:assert/strict';
import { createHash, randomBytes, randomInt } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { test } from 'node:test';
import { checkFolder } from '#storage/check/check.ts';
import { assertRefused, start } from '#test/messaging/conversing.ts';
import { append, attach, begin, download, idOf, sendWhole, tus, upload } from '#test/messaging/attaching.ts';
import { startServer, type Person, type TestServer } from '#test/support/server.ts';
import { temporaryFolder } from '#test/support/temporary-folder.ts';
import { until } from '#test/support/waiting.ts';

const KILLS = 3;
const SENDERS = 4;
const FILE_BYTES = 90_000;
const PIECE_BYTES = 30_000;

interface Sent {
  readonly path: string;
  readonly bytes: Buffer;
  /** What the server said it has. */
  acknowledged: number;
  /** The message that has it, once that was acknowledged; `deleting` from when that was asked for. */
  message: { readonly seq: number; deleting: boolean } | undefined;
}

async function sendInPieces(server: TestServer, who: Person, bytes: Buffer, sent: Sent[]): Promise<Sent> {
  const one: Sent = { path: await begin(server, who, bytes.length), bytes, acknowledged: 0, message: undefined };
  sent.push(one);
  for (let offset = 0; offset < bytes.length; offset += PIECE_BYTES) {
    const reply = await append(server, who, one.path, offset, bytes.subarray(offset, offset + PIECE_BYTES));
    assert.equal(reply.status, 204, reply.text);
    one.acknowledged = offset + PIECE_BYTES;
  }
  return one;
}

async function sendAtOnce(server: TestServer, who: Person, bytes: Buffer, sent: Sent[]): Promise<Sent> {
  const reply = await sendWhole(server, who, bytes);
  assert.equal(reply.status, 201, reply.text);
  const path = reply.headers.get('location') ?? '';
  const one: Sent = { path, bytes, acknowledged: bytes.length, message: undefined };
  sent.push(one);
  return one;
}

/** Sends file after file, every other one in pieces, posts each, and deletes every third message, until the server is gone. */
async function send(server: TestServer, who: Person, room: string, sent: Sent[]): Promise<void> {
  for (let count = 0; ; count += 1) {
    const bytes = randomBytes(FILE_BYTES);
    const one =
      count % 2 === 0 ? await sendInPieces(server, who, bytes, sent) : await sendAtOnce(server, who, bytes, sent);
    const posted = await attach(server, who, room, idOf(one.path));
    assert.equal(posted.status, 201, posted.text);
    one.message = { seq: posted.body.seq, deleting: false };
    if (count % 3 !== 2) continue;
    one.message.deleting = true;
    await server.api(who, 'DELETE', `/v1/conversations/${room}/messages/${posted.body.seq}`);
  }
}

async function verify(server: TestServer, who: Person, room: string, sent: readonly Sent[]): Promise<void> {
  for (const { path, bytes, acknowledged, message } of sent) {
    if (message?.deleting === true) continue;
    const head = await tus(server, who, 'HEAD', path);
    assert.equal(head.status, 200, `${path} is not there`);
    const offset = Number(head.headers.get('upload-offset'));
    assert.ok(offset >= acknowledged, `${path} is at ${offset}, and ${acknowledged} were acknowledged`);
    if (message === undefined) continue;
    const read = await download(server, who, idOf(path), room);
    assert.equal(read.status, 200);
    assert.deepEqual(createHash('sha256').update(read.bytes).digest(), createHash('sha256').update(bytes).digest());
  }
}

test('ATT-01 killed at any moment, the server loses no byte that it acknowledged and no file that a message has', async (t) => {
  const folder = temporaryFolder(t);
  const masterKey = randomBytes(32).toString('hex');
  const sent: Sent[] = [];
  let ada: Person | undefined;
  let room = '';
  for (let kill = 0; kill <= KILLS; kill += 1) {
    // Half-way through, encryption at rest is turned on: what is there is sealed while files come and the kills go on.
    const environment: Record<string, string> = kill < KILLS / 2 ? {} : { PARLEY_MASTER_KEY: masterKey };
    const server = await startServer({ shards: 2, folder, environment });
    t.after(() => server.end('SIGKILL'));
    ada =
      ada === undefined ? await server.person('ada') : { ...ada, session: await server.signIn('ada', ada.password) };
    if (room === '') room = (await start(server, ada, 'room', [], 'Files')).id;
    await verify(server, ada, room, sent);
    if (kill === KILLS) {
      await server.stop();
      break;
    }
    const who = ada;
    const senders = Array.from({ length: SENDERS }, () => send(server, who, room, sent));
    const ended = Promise.allSettled(senders);
    const millis = randomInt(200, 1_500);
    await Promise.race([sleep(millis), ...senders]);
    await server.end('SIGKILL');
    for (const one of await ended) {
      // The connection broke; an answer that is wrong is not that.
      if (one.status === 'rejected' && one.reason instanceof assert.AssertionError) throw one.reason;
    }
    assert.deepEqual((await checkFolder(folder)).problems, [], `after ${millis} ms of sending`);
  }
});

test('ATT-01 when the shard that writes attachments dies, the next one goes on, and removes nothing for a while', async (t) => {
  const server = await startServer({ shards: 2, environment: { PARLEY_DEBUG_HOOKS: '1' } });
  t.after(() => server.stop());
  const { ada } = await server.people('ada');
  const room = await start(server, ada, 'room', [], 'Files');
  const half = await begin(server, ada, 10);
  assert.equal((await append(server, ada, half, 0, Buffer.from('first'))).status, 204);
  const [whole, posted] = [await upload(server, ada, randomBytes(100)), await upload(server, ada, randomBytes(100))];
  const message = await attach(server, ada, room.id, posted);
  // The first signal is for the first shard.
  process.kill(server.pid, 'SIGUSR2');
  await until(() => server.output.some((line) => line.includes('a shard died')), 'the shard to die');
  const isBack = async () => {
    // A request that its thread took along has no answer.
    const reply = await append(server, ada, half, 5, Buffer.from('later')).catch(() => undefined);
    return reply?.status === 204;
  };
  await until(isBack, 'the upload to go on');
  assert.equal((await attach(server, ada, room.id, idOf(half))).status, 201);
  assert.equal((await download(server, ada, idOf(half), room.id)).bytes.toString(), 'firstlater');
  // The dead one may have known of messages that are being posted with it.
  assertRefused(await tus(server, ada, 'DELETE', `/v1/attachments/${whole}`), 503, 'busy');
  assert.equal((await attach(server, ada, room.id, whole)).status, 201);
  await server.api(ada, 'DELETE', `/v1/conversations/${room.id}/messages/${message.body.seq}`);
  assert.equal((await attach(server, ada, room.id, posted)).status, 201);
  // What was never whole is in no message.
  const begun = await begin(server, ada, 10);
  assert.equal((await tus(server, ada, 'DELETE', begun)).status, 204);
});
