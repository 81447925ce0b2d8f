/** A disk without room under the whole server: writes are refused with a code, all else goes on, and room is enough to recover. */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { once } from 'node:events';
import {
  closeSync,
  mkdtempSync,
  openSync,
  readdirSync,
  rmSync,
  statfsSync,
  statSync,
  writeFileSync,
  writeSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import type { Message } from '#src/protocol/conversations/messages.ts';
import { checkFolder } from '#storage/check/check.ts';
import { callControl } from '#test/support/control.ts';
import { limitProcess } from '#test/support/process.ts';
import { request, startServer, type Person, type TestServer } from '#test/support/server.ts';
import { connect } from '#test/support/socket.ts';
import { deadline, until } from '#test/support/waiting.ts';
import { assertRefused, post, say, start } from '#test/messaging/conversing.ts';

const BODY = 'x'.repeat(16_000);
/** Posts under way at once, so that several wait for the commit that fails. */
const AT_ONCE = 8;

interface Attempt {
  readonly id: string;
  readonly reply: Awaited<ReturnType<typeof post>>;
}

/** Posts until not even one more fits: what the server took, and what it refused. */
async function fill(server: TestServer, who: Person, room: string): Promise<{ taken: Attempt[]; refused: Attempt[] }> {
  const taken: Attempt[] = [];
  const refused: Attempt[] = [];
  // What does not fit together may still fit alone.
  for (let round = 0, atOnce = AT_ONCE, isFull = false; !isFull; round += 1) {
    assert.ok(round < 200, 'the disk never fills up');
    const attempts = Array.from({ length: atOnce }, async (_, at) => {
      const id = `fill-${round}-${at}`;
      return { id, reply: await post(server, who, room, { kind: 'text', body: BODY, client_msg_id: id }) };
    });
    const settled = await Promise.all(attempts);
    for (const attempt of settled) (attempt.reply.status === 201 ? taken : refused).push(attempt);
    isFull = atOnce === 1 && settled[0]?.reply.status !== 201;
    if (refused.length > 0) atOnce = 1;
  }
  return { taken, refused };
}

async function readAll(server: TestServer, who: Person, room: string): Promise<Message[]> {
  const reply = await server.api<{ items: Message[] }>(
    who,
    'GET',
    `/v1/conversations/${room}/messages?after_seq=0&limit=200`,
  );
  assert.equal(reply.status, 200, reply.text);
  return reply.body.items;
}

async function commitFailures(server: TestServer): Promise<number> {
  const { body } = await server.api<{ storage: { commit_failures: number } }>(undefined, 'GET', '/healthz');
  return body.storage.commit_failures;
}

/** Fills the disk, sees what goes on without it, makes room, and sees everything go on. */
async function outlive(server: TestServer, makeRoom: () => void): Promise<void> {
  const { ann, ben } = await server.people('ann', 'ben');
  const { id: room } = await start(server, ann, 'room', ['ben']);
  const socket = await connect(server, ben);
  await say(server, ann, room, 'before');
  const { taken, refused } = await fill(server, ann, room);
  for (const { reply } of refused) {
    assertRefused(reply, 503, 'storage_full');
    assert.equal(reply.headers.get('retry-after'), '1');
  }
  assert.ok((await commitFailures(server)) > 0);
  // What was acknowledged is read, what was refused is nowhere, neither stored nor delivered.
  const seqs = Array.from({ length: taken.length + 1 }, (_, index) => index + 1);
  assert.deepEqual(
    (await readAll(server, ben, room)).map(({ seq }) => seq),
    seqs,
  );
  // A typing frame and a stanza store nothing, so they pass; what came before them on the socket has arrived then.
  const hers = await connect(server, ann);
  hers.send({ kind: 'typing', conv: room });
  await socket.event('typing');
  const stanza = { to: room, kind: 'call', step: 'invite', call: 'k1', seq: 1, body: { video: false, room: 'r' } };
  assert.equal((await server.api(ann, 'POST', '/v1/signal', stanza)).status, 202);
  await socket.event('signal');
  assert.deepEqual(
    socket.events.filter(({ type }) => type === 'message.new').map(({ seq }) => seq),
    seqs,
  );
  makeRoom();
  const repeats: Message[] = [];
  for (const { id } of refused) {
    const repeat = await post(server, ann, room, { kind: 'text', body: BODY, client_msg_id: id });
    assert.equal(repeat.status, 201, repeat.text);
    repeats.push(repeat.body);
  }
  assert.deepEqual(
    repeats.map(({ seq }) => seq),
    refused.map((_, index) => seqs.length + 1 + index),
  );
  const first = taken[0] as Attempt;
  const again = await post(server, ann, room, { kind: 'text', body: BODY, client_msg_id: first.id });
  assert.deepEqual([again.status, again.body.seq], [200, first.reply.body.seq]);
  await socket.event((event) => event.type === 'message.new' && event.seq === repeats.at(-1)?.seq);
  assert.equal(socket.closed, undefined);
  assert.equal(await server.end('SIGTERM'), 0);
  await assertRoomWasAsked(server);
  assert.deepEqual((await checkFolder(server.folder)).problems, []);
}

/**
 * LMDB never came to the end of the disk by itself: what it puts together to say of it is longer than the memory for it, and
 * the process dies of that sooner or later. Of a server that has ended: its last words have no end of line.
 */
async function assertRoomWasAsked(server: TestServer): Promise<void> {
  const { stderr } = server.process;
  if (stderr?.closed === false) await deadline(once(stderr, 'close'), 5_000, 'the last words of the server');
  assert.deepEqual(
    server.output.filter((line) => line.includes('Write error')),
    [],
  );
}

/** A server on a file system of that many MiB of its own, and what takes all that is left of it; undefined without the right to mount. */
async function startOnOwnDisk(t: TestContext, megabytes: number, environment: Record<string, string> = {}) {
  const folder = mkdtempSync(join(tmpdir(), 'parley-test-'));
  const size = `size=${megabytes}m`;
  const isMounted = spawnSync('mount', ['-t', 'tmpfs', '-o', size, 'parley-test', folder]).status === 0;
  const started: TestServer[] = [];
  t.after(async () => {
    for (const server of started) await server.stop();
    if (isMounted) spawnSync('umount', [folder]);
    rmSync(folder, { recursive: true });
  });
  if (!isMounted) return undefined;
  const startAgain = async () => {
    const server = await startServer({ shards: 2, folder: join(folder, 'data'), environment });
    started.push(server);
    return server;
  };
  return { server: await startAgain(), startAgain, folder, ballast: join(folder, 'ballast') };
}

/** The size of the largest storage file. */
function largestFile(folder: string): number {
  const files = readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter((name) => name.endsWith('.mdb'));
  return Math.max(...files.map((name) => statSync(join(folder, name)).size));
}

test('MSG-08 files that may not grow refuse writes with storage_full, reads and sockets go on, and room is enough', async (t) => {
  const server = await startServer({ shards: 2, environment: { PARLEY_LOG_LEVEL: 'silent' } });
  t.after(() => server.stop());
  limitProcess(server.pid, 'fsize', largestFile(server.folder) + 256 * 1024);
  await outlive(server, () => limitProcess(server.pid, 'fsize', 'unlimited'));
});

test('MSG-08 a file system without room refuses writes with storage_full, and goes on once there is room', async (t) => {
  const disk = await startOnOwnDisk(t, 32, { PARLEY_LOG_LEVEL: 'silent' });
  if (disk === undefined) return t.skip('this user may not mount a file system');
  const { ballast, folder, server } = disk;
  const { bavail, bsize } = statfsSync(folder);
  writeFileSync(ballast, Buffer.alloc(bavail * bsize - 2 * 1024 * 1024));
  return await outlive(server, () => rmSync(ballast));
});

test('CRD-08 on a disk without a byte left sessions are ended and people blocked, all else waits for room, and stderr has JSON lines alone', async (t) => {
  const disk = await startOnOwnDisk(t, 24);
  if (disk === undefined) return t.skip('this user may not mount a file system');
  const { ballast, server, startAgain } = disk;
  const { ann, ben, cyn } = await server.people('ann', 'ben', 'cyn');
  const { id } = await start(server, ann, 'room', ['ben', 'cyn']);
  const socket = await connect(server, cyn);
  fillUp(ballast);
  const before = server.output.length;
  const login = () =>
    request('POST', `${server.coordinator}/v1/auth/login`, { body: { username: 'ann', password: ann.password } });
  for (let round = 0; round < 3; round += 1) assertRefused(await login(), 503, 'storage_full');
  const { refused, taken } = await fill(server, ann, id);
  for (const { reply } of refused) assertRefused(reply, 503, 'storage_full');
  // What takes a right away does not wait: a sign-out, the end of another session, a block.
  const out = await request('POST', `${server.coordinator}/v1/auth/logout`, { token: ben.session.token });
  assert.ok(out.status < 300, out.text);
  assertRefused(await server.api(ben, 'GET', '/v1/inbox'), 401, 'session_revoked');
  await callControl(server.folder, 'user.block', { username: 'cyn' });
  await until(() => socket.closed !== undefined, 'the socket of a person who was blocked to be closed');
  assertRefused(await server.api(cyn, 'GET', '/v1/inbox'), 401, 'session_revoked');
  assert.equal((await readAll(server, ann, id)).length, taken.length);
  // The welcome on standard output is for people; what is said from then on is for programs.
  const said = server.output.slice(before);
  assert.ok(said.length > 0);
  for (const line of said) assert.doesNotThrow(() => JSON.parse(line), line);
  // It is on disk: a server that starts anew has not forgotten.
  await server.end('SIGKILL');
  await assertRoomWasAsked(server);
  rmSync(ballast);
  const second = await startAgain();
  assertRefused(await second.api(ben, 'GET', '/v1/inbox'), 401, 'session_revoked');
  assertRefused(await second.api(cyn, 'GET', '/v1/inbox'), 401, 'session_revoked');
  assert.equal((await second.api(ann, 'GET', '/v1/inbox')).status, 200);
  return undefined;
});

/** Writes until not one byte more fits. */
function fillUp(path: string): void {
  const file = openSync(path, 'w');
  try {
    for (let bytes = 1024 * 1024; bytes >= 1;) {
      try {
        if (writeSync(file, Buffer.alloc(bytes)) < bytes) bytes = Math.floor(bytes / 2);
      } catch {
        bytes = Math.floor(bytes / 2);
      }
    }
  } finally {
    closeSync(file);
  }
}

test('CRD-02 without room signing in and adding people are refused with storage_full, and work again with it', async (t) => {
  const disk = await startOnOwnDisk(t, 24, { PARLEY_LOG_LEVEL: 'silent' });
  if (disk === undefined) return t.skip('this user may not mount a file system');
  const { ballast, server } = disk;
  const ann = await server.person('ann');
  const { id } = await start(server, ann, 'room', []);
  await say(server, ann, id, 'before');
  const login = () =>
    request('POST', `${server.coordinator}/v1/auth/login`, { body: { username: 'ann', password: ann.password } });
  for (let round = 0; round < 5; round += 1) {
    fillUp(ballast);
    assertRefused(await login(), 503, 'storage_full');
    await assert.rejects(server.person('ben'), /cannot store anything/);
    // Her session stands, and it can still be renewed: that stores nothing.
    assert.equal((await readAll(server, ann, id)).length, 1);
    const renewed = await request('POST', `${server.coordinator}/v1/auth/renew`, { token: ann.session.token });
    assert.equal(renewed.status, 200, renewed.text);
    rmSync(ballast);
    assert.equal((await login()).status, 200);
  }
  const ben = await server.person('ben');
  await until(async () => (await start(server, ben, 'direct', ['ann'])).id !== '', 'a new person to be served');
  assert.equal(await server.end('SIGTERM'), 0);
  await assertRoomWasAsked(server);
});
