/** A server on a folder that was hurt: it does not begin anew, it does not die without a word, and what is whole is served. */
import assert from 'node:assert/strict';
import { closeSync, cpSync, openSync, readFileSync, rmSync, truncateSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import { checkFolder } from '#storage/check/check.ts';
import { lanePath } from '#storage/engine/folder.ts';
import { numbered } from '#storage/engine/keys.ts';
import { openLane } from '#storage/engine/lane.ts';
import { laneOf } from '#storage/engine/lanes.ts';
import { callControl } from '#test/support/control.ts';
import { startServer, type Person, type TestServer } from '#test/support/server.ts';
import { temporaryFolder } from '#test/support/temporary-folder.ts';
import { usedBytesOf } from '#test/support/used-bytes.ts';
import { until } from '#test/support/waiting.ts';
import { assertRefused, post, say, start } from '#test/messaging/conversing.ts';

const LANES = 4;
const PAGE_BYTES = 4096;
const POSTS = 40;

interface Room {
  readonly id: string;
  readonly lane: number;
}

/** An installation of two people with a room in each lane, whose server died. */
interface Fixture {
  readonly folder: string;
  readonly ann: Person;
  readonly rooms: readonly Room[];
}

async function makeFixture(t: TestContext): Promise<Fixture> {
  const folder = join(temporaryFolder(t), 'data');
  const server = await startServer({ shards: 2, folder });
  t.after(() => server.end('SIGKILL'));
  const { ann } = await server.people('ann', 'ben');
  const rooms = new Map<number, Room>();
  while (rooms.size < LANES) {
    const { id } = await start(server, ann, 'room', ['ben']);
    const lane = laneOf(id, LANES);
    if (!rooms.has(lane)) rooms.set(lane, { id, lane });
  }
  for (const { id } of rooms.values()) {
    await Promise.all(Array.from({ length: POSTS }, (_, at) => say(server, ann, id, `post ${at} ${'x'.repeat(400)}`)));
  }
  // The log brings them to the files a little later; killed before, the files have none to be damaged.
  await until(
    () =>
      [...rooms.values()].every(({ lane }) => {
        const bytes = readFileSync(lanePath(folder, lane));
        return Array.from({ length: POSTS }, (_, at) => bytes.includes(`post ${at} `)).every(Boolean);
      }),
    'all posts in the files',
  );
  await server.end('SIGKILL');
  return { folder, ann, rooms: [...rooms.values()].toSorted((a, b) => a.lane - b.lane) };
}

function copyOf(t: TestContext, { folder }: Fixture): string {
  const copy = join(temporaryFolder(t), 'data');
  cpSync(folder, copy, { recursive: true, filter: (path) => !/\/(?:lock|control\.sock)$/.test(path) });
  return copy;
}

const history = async (server: TestServer, ann: Person, { id }: Room) =>
  await server.api<{ items: { seq: number }[]; next: string | null }>(
    ann,
    'GET',
    `/v1/conversations/${id}/messages?limit=100`,
  );

const storageOf = async (server: TestServer) =>
  (await server.api<{ storage: { faults: number; lanes_set_aside: number } }>(undefined, 'GET', '/healthz')).body
    .storage;

/** Signs in anew: tokens of a server that died are for its ports, and this one has others. */
const again = async (server: TestServer, { password, username }: Person): Promise<Person> => ({
  username,
  password,
  session: await server.signIn(username, password),
});

test('STO-01 SRV-01 a store that is gone, cut off or another one stops the start with one sentence; a lane that is damaged is set aside', async (t) => {
  const fixture = await makeFixture(t);
  const hurt: readonly (readonly [string, (folder: string) => void, RegExp])[] = [
    ['accounts.mdb', (folder) => rmSync(join(folder, 'accounts.mdb')), /accounts\.mdb is missing: /],
    ['lanes/02.mdb', (folder) => cut(lanePath(folder, 2)), /lanes\/02\.mdb is cut off: it has \d+ bytes/],
  ];
  for (const [store, damage, sentence] of hurt) {
    const folder = copyOf(t, fixture);
    damage(folder);
    await assert.rejects(startServer({ shards: 2, folder }), (error: Error) => {
      const [head, ...lines] = error.message.split('\n');
      assert.equal(head, 'The server ended with 2 before it was ready:');
      assert.equal(lines.length, 1, error.message);
      assert.match(lines[0] ?? '', sentence, store);
      assert.match(lines[0] ?? '', /parley restore --from BACKUP --data /);
      return true;
    });
  }
  await serveTheRest(t, fixture);
});

function cut(path: string): void {
  truncateSync(path, Math.floor(usedBytesOf(path) / 2 / PAGE_BYTES) * PAGE_BYTES);
}

/** A leaf of messages becomes another one. The process before died, so every page is read first. */
async function serveTheRest(t: TestContext, fixture: Fixture): Promise<void> {
  // Where it lies, so that the lock is as the one that died left it.
  const { folder } = fixture;
  const [damaged, ...whole] = fixture.rooms as [Room, ...Room[]];
  overwriteLeafOf(lanePath(folder, damaged.lane), 'post 20 ');
  const server = await startServer({ shards: 2, folder });
  t.after(() => server.end('SIGKILL'));
  const ann = await again(server, fixture.ann);
  assert.deepEqual((await storageOf(server)).lanes_set_aside, 1);
  const lines = server.output.filter((line) => line.includes('a lane cannot be read and is set aside'));
  assert.equal(lines.length, 1, server.output.join('\n'));
  assert.equal((JSON.parse(lines[0] ?? '') as { lane: number }).lane, damaged.lane);
  assertRefused(await history(server, ann, damaged), 503, 'storage_damaged');
  assertRefused(await post(server, ann, damaged.id, { kind: 'text', body: 'more' }), 503, 'storage_damaged');
  const stanza = { to: damaged.id, kind: 'call', step: 'invite', call: 'k', seq: 1, body: { video: false, room: 'r' } };
  assertRefused(await server.api(ann, 'POST', '/v1/signal', stanza), 503, 'storage_damaged');
  for (const room of whole) {
    assert.equal((await history(server, ann, room)).body.items.length, POSTS);
    await say(server, ann, room.id, 'goes on');
  }
  const inbox = await server.api<{ items: { conversation?: { id: string } }[] }>(ann, 'GET', '/v1/inbox?limit=100');
  assert.equal(inbox.status, 200, inbox.text);
  const listed = new Set(inbox.body.items.map(({ conversation }) => conversation?.id));
  assert.deepEqual(
    fixture.rooms.map(({ id }) => listed.has(id)),
    [false, true, true, true],
  );
  await assert.rejects(
    callControl(server.folder, 'backup', { out: join(temporaryFolder(t), 'out') }),
    /is damaged and set aside/,
  );
  assert.equal(await server.end('SIGTERM'), 0);
  const { problems } = await checkFolder(folder);
  assert.equal(problems.length, 1, problems.join('\n'));
  assert.match(problems[0] ?? '', new RegExp(`lanes/0${damaged.lane}\\.mdb is damaged in its table messages`));
}

/** Overwrites the page that has these bytes, as one that is no page. */
function overwriteLeafOf(path: string, words: string): void {
  const bytes = readFileSync(path);
  const file = openSync(path, 'r+');
  for (let at = bytes.indexOf(words); at >= 0; at = bytes.indexOf(words, at + 1)) {
    // Pages that are free have old words, too: all of them go.
    writeSync(file, Buffer.alloc(PAGE_BYTES, 0x6b), 0, PAGE_BYTES, Math.floor(at / PAGE_BYTES) * PAGE_BYTES);
  }
  closeSync(file);
}

test('STO-01 MSG-09 a page of history that does not reach what the head promises is storage_damaged, counted and logged', async (t) => {
  const folder = join(temporaryFolder(t), 'data');
  const first = await startServer({ shards: 2, folder });
  t.after(() => first.end('SIGKILL'));
  const { ann } = await first.people('ann', 'ben');
  const { id } = await start(first, ann, 'room', ['ben']);
  for (let at = 0; at < 5; at += 1) await say(first, ann, id, `post ${at}`);
  assert.equal(await first.end('SIGTERM'), 0);
  const environment = openLane(lanePath(folder, laneOf(id, LANES)), 2 ** 30);
  await environment.commit([{ table: 'messages', key: numbered(3, id), value: null }]);
  await environment.close();
  const server = await startServer({ shards: 2, folder });
  t.after(() => server.end('SIGKILL'));
  const who = await again(server, ann);
  const read = async (query: string) =>
    await server.api<{ items: { seq: number }[] }>(who, 'GET', `/v1/conversations/${id}/messages${query}`);
  for (const query of ['?limit=5', '?after_seq=0&limit=5', '?after_seq=2&limit=1', '?before_seq=4&limit=1', '/3']) {
    assertRefused(await read(query), 503, 'storage_damaged');
  }
  // What does not need it is answered.
  assert.deepEqual(
    (await read('?after_seq=3&limit=5')).body.items.map(({ seq }) => seq),
    [4, 5],
  );
  assert.deepEqual(
    (await read('?after_seq=0&limit=2')).body.items.map(({ seq }) => seq),
    [1, 2],
  );
  assert.deepEqual(await storageOf(server).then(({ faults }) => faults), 5);
  const lines = server.output.filter((line) => line.includes('what is stored cannot be read'));
  assert.equal(lines.length, 5);
  assert.ok(
    lines.every((line) => line.includes(`Message 3 of ${id} is missing.`)),
    lines[0],
  );
  assert.equal(await server.end('SIGTERM'), 0);
});
