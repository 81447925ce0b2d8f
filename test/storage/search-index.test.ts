/** The search index over the real actor and a real lane: whatever happened to the messages, a search finds what a scan finds. */
import assert from 'node:assert/strict';
import { cpSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { monotonicMillis } from '#actors/runtime/monotonic.ts';
import { Accounts } from '#storage/accounts/accounts.ts';
import { backupFolder, restoreFolder } from '#storage/backup/backup.ts';
import { checkFolder } from '#storage/check/check.ts';
import { lanePath, openFolder, readManifest } from '#storage/engine/folder.ts';
import { key, numberOf, under } from '#storage/engine/keys.ts';
import { Lane, openLane } from '#storage/engine/lane.ts';
import { migrateFolder } from '#storage/engine/migrations.ts';
import { POSTED_BLOCK } from '#storage/conversations/posted-blocks.ts';
import { completeIndex, isIndexComplete, leaveIndex } from '#storage/search/search-backfill.ts';
import { BLOCK_UNITS_MAX } from '#storage/search/search-index.ts';
import { SEGMENT_BLOCKS, SEGMENT_CHUNKS } from '#storage/search/search-records.ts';
import { makeRoom, openHost, post, type ActorHost } from '#test/actors/actor-host.ts';
import { SeededRandom } from '#test/support/random.ts';
import { temporaryFolder } from '#test/support/temporary-folder.ts';
import { until } from '#test/support/waiting.ts';
import { FORMAT_1_FOLDER } from './fixtures/format-1.ts';
import { OTHER, ROOM, scan, search, sayAll } from './searching.ts';

const SEGMENT = SEGMENT_BLOCKS * POSTED_BLOCK;
const alice = { user: 'alice', device: 'd_alice' };
const steps = { pause: async () => (await nextTurn(), true), clock: monotonicMillis };

const numbersIn = (host: ActorHost, table: 'signatures' | 'segments', id = ROOM): number[] =>
  [...host.tables[table].getKeys(under(id))].map((itemKey) => numberOf(itemKey));

const numbered = (count: number, from = 1) => Array.from({ length: count }, (_, i) => `word${i + from} of many`);

/** Closes the host; the folder must be sound. */
async function assertSound(host: ActorHost): Promise<void> {
  await host.close();
  assert.deepEqual((await checkFolder(host.folder)).problems, []);
}

test('a block is indexed with its last message, a segment with its last block, and the blocks of a segment go', async (t) => {
  const host = openHost(t);
  await makeRoom(host, ROOM, ['bob']);
  await sayAll(host, ROOM, numbered(POSTED_BLOCK - 1), 0);
  assert.deepEqual(numbersIn(host, 'signatures'), []);
  await sayAll(host, ROOM, numbered(1, POSTED_BLOCK), 0);
  assert.deepEqual(numbersIn(host, 'signatures'), [1]);
  await sayAll(host, ROOM, numbered(SEGMENT - POSTED_BLOCK, POSTED_BLOCK + 1), 0);
  assert.deepEqual(numbersIn(host, 'signatures'), []);
  assert.deepEqual(
    numbersIn(host, 'segments'),
    Array.from({ length: SEGMENT_CHUNKS }, (_, chunk) => SEGMENT_CHUNKS + chunk),
  );
  await sayAll(host, ROOM, numbered(40, SEGMENT + 1), 0);
  assert.deepEqual(numbersIn(host, 'signatures'), [SEGMENT_BLOCKS + 1]);
  for (const seq of [1, 32, 33, 300, 512, 513, 544, 545, 552]) {
    assert.deepEqual(await search(host, `"word${seq} of"`), [`${ROOM}/${seq}`]);
  }
  await assertSound(host);
});

test('random texts of several alphabets in many conversations: no hit is missed, whatever the page and its time', async (t) => {
  const host = openHost(t);
  const random = new SeededRandom(4);
  const words = [
    'ab',
    'Abba',
    'élan',
    'ЁЖ',
    'ежи',
    'йод',
    '中文',
    '中',
    '文中文',
    'カナ',
    '한국',
    'a.b',
    '.*',
    '👍',
    'x',
    'zz',
  ];
  const text = () =>
    Array.from({ length: 1 + random.whole(0, 3) }, () => random.pick(words)).join(random.pick([' ', '', '-']));
  const ids = Array.from({ length: 5 }, (_, i) => `c_000000000000000000001${i}`);
  for (const id of ids) await makeRoom(host, id, ['bob']);
  for (const id of ids)
    await sayAll(host, id, Array.from({ length: 20 + random.whole(0, 699) }, text), random.whole(0, 1));
  // A little of everything at the end, so that their times mix.
  for (let round = 0; round < 60; round += 1) await sayAll(host, random.pick(ids), [text()]);
  for (const query of [
    'ab',
    'еж',
    'ёж',
    '中',
    '文中',
    'カ',
    '국',
    '.*',
    '"ab élan"',
    'абв',
    'zz x',
    '👍',
    'ELAN йод',
    'a.b 中',
  ]) {
    const right = scan(host, query, ids);
    assert.deepEqual(await search(host, query), right, query);
    assert.deepEqual(await search(host, query, { limit: 7 }), right, `${query}, page by page`);
  }
  for (const query of ['文中文 zz', '"x ежи"', 'qq']) {
    assert.deepEqual(await search(host, query, { millisMax: 0 }), scan(host, query, ids), `${query}, without time`);
  }
  const at = host.now - 60;
  for (const filter of [
    { sender: 'bob' },
    { after: at },
    { before: at },
    { after: at - 20, before: at },
    { kind: 'media' as const },
  ]) {
    assert.deepEqual(await search(host, 'ab', { limit: 5, filter }), scan(host, 'ab', ids, filter));
  }
  await assertSound(host);
});

test('an edited message is found by what it says now, in a block that fills, in a whole one and in a segment', async (t) => {
  const host = openHost(t);
  await makeRoom(host, ROOM, ['bob']);
  await sayAll(host, ROOM, numbered(SEGMENT + POSTED_BLOCK + 5), 0);
  for (const seq of [3, SEGMENT + 3, SEGMENT + POSTED_BLOCK + 1]) {
    assert.deepEqual(await search(host, 'Quetzal'), []);
    await host.reply(ROOM, { kind: 'edit', seq, body: 'a Quetzal flew by', ...alice });
    assert.deepEqual(await search(host, 'quetzal'), [`${ROOM}/${seq}`]);
    assert.deepEqual(await search(host, `"word${seq} of"`), []);
    await host.reply(ROOM, { kind: 'edit', seq, body: 'it left', ...alice });
  }
  await assertSound(host);
});

test('deleted messages and what went with a deleted conversation are never found, and the purge takes the index along', async (t) => {
  const host = openHost(t);
  await makeRoom(host, ROOM, ['bob']);
  await sayAll(host, ROOM, numbered(40), 0);
  await host.reply(ROOM, { kind: 'deleteMessage', seq: 3, ...alice });
  assert.deepEqual(await search(host, '"word3 of"'), []);
  const begin = { kind: 'create', conversation: 'room', title: 'Again', participants: ['bob'], ...alice } as const;
  await host.reply(OTHER, begin);
  await sayAll(host, OTHER, numbered(SEGMENT + 40), 0);
  assert.deepEqual(await search(host, '"word20 of"'), [`${ROOM}/20`, `${OTHER}/20`]);
  await host.reply(OTHER, { kind: 'delete', ...alice });
  assert.deepEqual(await search(host, '"word20 of"'), [`${ROOM}/20`]);
  await until(() => host.tables.meta.get(key('purge', OTHER)) === undefined, 'the purge');
  assert.deepEqual([numbersIn(host, 'signatures', OTHER), numbersIn(host, 'segments', OTHER)], [[], []]);
  await host.reply(OTHER, begin);
  await sayAll(host, OTHER, numbered(SEGMENT, 2_001), 0);
  assert.deepEqual(await search(host, '"word2400 of"'), [`${OTHER}/${SEGMENT + 440}`]);
  await assertSound(host);
});

test('secret conversations are neither indexed nor found', async (t) => {
  const host = openHost(t);
  await host.reply(ROOM, { kind: 'create', conversation: 'secret', participants: ['bob'], ...alice });
  await sayAll(host, ROOM, numbered(POSTED_BLOCK), 0);
  assert.deepEqual(numbersIn(host, 'signatures'), []);
  assert.deepEqual(await search(host, 'word3'), []);
  await assertSound(host);
});

test('a block with more text than is taken apart is looked at whatever is searched', async (t) => {
  const host = openHost(t);
  await makeRoom(host, ROOM, ['bob']);
  const long = `${'a'.repeat(BLOCK_UNITS_MAX / 8 - 1)}b`;
  await sayAll(
    host,
    ROOM,
    Array.from({ length: POSTED_BLOCK }, (_, i) => (i < 8 ? long : i === 8 ? 'c' : 'the needle')),
    0,
  );
  assert.equal((await search(host, 'needle')).length, POSTED_BLOCK - 9);
  assert.deepEqual(
    [...host.tables.signatures.getRange(under(ROOM))][0]?.value.subarray(7).every((byte) => byte === 0xff),
    true,
  );
  await assertSound(host);
});

test('what was posted without an index is found all the same, and indexed in steps that can be broken off', async (t) => {
  const host = openHost(t);
  await makeRoom(host, ROOM, ['bob']);
  await sayAll(host, ROOM, numbered(2 * SEGMENT + 100), 0);
  const whole = { signatures: numbersIn(host, 'signatures'), segments: numbersIn(host, 'segments') };
  await host.close();
  const environment = openLane(lanePath(host.folder, 0), 1024 ** 3);
  for (const table of ['signatures', 'segments'] as const) {
    const gone = [...environment.tables[table].getKeys()].map((itemKey) => Buffer.from(itemKey));
    await environment.commit(gone.map((itemKey) => ({ table, key: itemKey, value: null })));
  }
  const lane = new Lane(0, environment, () => undefined);
  let pauses = 0;
  // A clock that runs fast makes every block a step of its own.
  const fast = { clock: () => (pauses += 1) * 100, pause: async () => pauses < 40 };
  await completeIndex(lane, fast);
  assert.equal(isIndexComplete(lane), false);
  await completeIndex(lane, steps);
  assert.equal(isIndexComplete(lane), true);
  assert.equal(await completeIndex(lane, steps), 0);
  await lane.settle();
  await environment.close();
  assert.deepEqual((await checkFolder(host.folder)).problems, []);
  const again = openHost(t, { folder: host.folder });
  assert.deepEqual({ signatures: numbersIn(again, 'signatures'), segments: numbersIn(again, 'segments') }, whole);
  assert.deepEqual(await search(again, '"word700 of"'), [`${ROOM}/700`]);
  leaveIndex(again.lane);
  assert.equal(isIndexComplete(again.lane), false);
});

test('a folder of an older format is searched as it is, and indexed when the server has started on it', async (t) => {
  const folder = join(temporaryFolder(t), 'data');
  cpSync(FORMAT_1_FOLDER, folder, { recursive: true });
  await migrateFolder(folder, openFolder(folder, 1, '2026-11-21T08:00:00.000Z'));
  assert.equal(readManifest(folder).lanes, 1);
  const host = openHost(t, { folder });
  const before = await search(host, '"number 2"');
  assert.ok(before.length > 5);
  assert.ok((await completeIndex(host.lane, steps)) > 0);
  assert.deepEqual(await search(host, '"number 2"'), before);
  await assertSound(host);
});

test('if the commit of a segment fails, nothing of it is left, and the next post of that seq makes it', async (t) => {
  const host = openHost(t);
  await makeRoom(host, ROOM, ['bob']);
  await sayAll(host, ROOM, numbered(SEGMENT - 1), 0);
  const loose = Array.from({ length: SEGMENT_BLOCKS - 1 }, (_, i) => i + 1);
  host.environment.isHolding = true;
  const refused = host.converse(ROOM, post('alice', 'the last one'));
  await until(() => host.environment.held.length === 1, 'a commit');
  assert.deepEqual([numbersIn(host, 'signatures'), numbersIn(host, 'segments')], [loose, []]);
  host.environment.isHolding = false;
  host.environment.held.shift()?.fail(new Error('the disk is gone'));
  assert.equal((await refused).ok, false);
  assert.deepEqual([numbersIn(host, 'signatures'), numbersIn(host, 'segments')], [loose, []]);
  assert.deepEqual(await search(host, '"last one"'), []);
  await host.reply(ROOM, post('alice', 'the last one'));
  assert.deepEqual([numbersIn(host, 'signatures').length, numbersIn(host, 'segments').length], [0, SEGMENT_CHUNKS]);
  assert.deepEqual(await search(host, '"last one"'), [`${ROOM}/${SEGMENT}`]);
  await assertSound(host);
});

test('a backup carries the index', async (t) => {
  const host = openHost(t);
  await makeRoom(host, ROOM, ['bob']);
  await sayAll(host, ROOM, numbered(SEGMENT + POSTED_BLOCK), 0);
  await completeIndex(host.lane, steps);
  // A folder has its accounts, which the host does not need.
  await (await Accounts.open(host.folder)).close();
  const out = join(temporaryFolder(t), 'backup');
  const restored = join(temporaryFolder(t), 'restored');
  await backupFolder(host.folder, out);
  await restoreFolder(out, restored);
  assert.deepEqual((await checkFolder(restored)).problems, []);
  const again = openHost(t, { folder: restored });
  assert.equal(isIndexComplete(again.lane), true);
  assert.deepEqual([numbersIn(again, 'signatures').length, numbersIn(again, 'segments').length], [1, SEGMENT_CHUNKS]);
  assert.deepEqual(await search(again, '"word333 of"'), [`${ROOM}/333`]);
});

test('messages that arrive between two pages are on none of them, and nothing is told twice', async (t) => {
  const host = openHost(t);
  await makeRoom(host, ROOM, ['bob']);
  await sayAll(host, ROOM, numbered(100));
  const found = await search(host, 'many', {
    limit: 10,
    onPage: async () => await sayAll(host, ROOM, ['one of many more']),
  });
  assert.deepEqual(
    found,
    Array.from({ length: 100 }, (_, i) => `${ROOM}/${100 - i}`),
  );
});

test('somebody else finds nothing, and somebody who left finds nothing any more', async (t) => {
  const host = openHost(t);
  await makeRoom(host, ROOM, ['bob']);
  await sayAll(host, ROOM, numbered(10), 0);
  assert.deepEqual(await search(host, 'word3', { user: 'carol' }), []);
  assert.equal((await search(host, 'word3', { user: 'bob' })).length, 1);
  await host.reply(ROOM, { kind: 'remove', participant: 'bob', user: 'bob', device: 'd_bob' });
  assert.deepEqual(await search(host, 'word3', { user: 'bob' }), []);
});

test('the check names a block that lacks a word, a segment that lacks a record, and one that is not there', async (t) => {
  const host = openHost(t);
  await makeRoom(host, ROOM, ['bob']);
  await sayAll(host, ROOM, numbered(SEGMENT + POSTED_BLOCK), 0);
  await completeIndex(host.lane, steps);
  await host.close();
  const environment = openLane(lanePath(host.folder, 0), 1024 ** 3);
  const { signatures, segments } = environment.tables;
  const [signature] = [...signatures.getRange(under(ROOM))].map((row) => ({
    key: Buffer.from(row.key),
    value: Buffer.from(row.value),
  }));
  const chunks = [...segments.getKeys(under(ROOM))].map((itemKey) => Buffer.from(itemKey));
  const problemsWith = async (write: Parameters<typeof environment.commit>[0]): Promise<string[]> => {
    const lane = openLane(lanePath(host.folder, 0), 1024 ** 3);
    await lane.commit(write);
    await lane.close();
    return (await checkFolder(host.folder)).problems;
  };
  await environment.close();
  assert.ok(signature);
  const emptied = Buffer.concat([signature.value.subarray(0, 7), Buffer.alloc(signature.value.length - 7)]);
  assert.match(
    (await problemsWith([{ table: 'signatures', key: signature.key, value: emptied }])).join('\n'),
    /signatures.*lacks what message 513 says/,
  );
  assert.match(
    (await problemsWith([{ table: 'signatures', key: signature.key, value: null }])).join('\n'),
    /signatures.*is missing/,
  );
  assert.match(
    (await problemsWith([{ table: 'segments', key: chunks[3] as Buffer, value: null }])).join('\n'),
    /segments.*has 31 of its 32 records/,
  );
});
