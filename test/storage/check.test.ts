/** `parley check`: a sound folder has no problems, and each kind of damage is named. */
import assert from 'node:assert/strict';
import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { Accounts } from '#storage/accounts/accounts.ts';
import { checkFolder } from '#storage/check/check.ts';
import {
  writeChange,
  writeIdempotency,
  writeMessage,
  writePurge,
  writeSenders,
} from '#storage/conversations/conversation-writes.ts';
import { PROBLEMS_MAX } from '#storage/engine/findings.ts';
import { lanePath, readManifest, writeManifest } from '#storage/engine/folder.ts';
import { key, numberAt, numberValue } from '#storage/engine/keys.ts';
import { roomAvatarKey } from '#storage/conversations/room-avatars.ts';
import { listingKey } from '#storage/conversations/room-records.ts';
import { postedKey, roomsKey } from '#storage/conversations/usage-records.ts';
import { openLane, type LaneWrite } from '#storage/engine/lane.ts';
import { ActorHost, makeRoom, post } from '#test/actors/actor-host.ts';
import { DAMAGE, LONG, PAIR, ROOM } from './damage.ts';
import { POSTED_BLOCK } from '#storage/conversations/posted-blocks.ts';
import { temporaryFolder } from '#test/support/temporary-folder.ts';
import { until } from '#test/support/waiting.ts';

const as = (user: string) => ({ user, device: 'd' });

/**
 * A room of alice and bob with three messages: alice's first is pinned and has a reaction of bob, who read up to it;
 * bob's second is deleted; bob's third has no key. A secret chat was deleted, purged and begun again with one message.
 */
async function makeFolder(t: TestContext): Promise<string> {
  const folder = temporaryFolder(t);
  const host = new ActorHost(folder, []);
  await makeRoom(host, ROOM, ['bob']);
  await host.reply(ROOM, post('alice', 'one', 'm1'));
  await host.reply(ROOM, post('bob', 'two', 'm2'));
  await host.reply(ROOM, post('bob', 'three'));
  await host.reply(ROOM, { kind: 'deleteMessage', seq: 2, ...as('bob') });
  await host.reply(ROOM, { kind: 'react', seq: 1, emoji: '👍', added: true, ...as('bob') });
  await host.reply(ROOM, { kind: 'pin', seq: 1, pinned: true, ...as('alice') });
  await host.reply(ROOM, { kind: 'receipt', state: 'read', seq: 1, ...as('bob') });
  await host.reply(ROOM, { kind: 'draft', body: 'unsent', ...as('bob') });
  const begin = { kind: 'create', conversation: 'secret', participants: ['bob'], ...as('alice') } as const;
  await host.reply(PAIR, begin);
  await host.reply(PAIR, post('alice', 'secret', 'm1'));
  await host.reply(PAIR, { kind: 'delete', ...as('bob') });
  await until(() => host.tables.meta.get(key('purge', PAIR)) === undefined, 'the purge');
  await host.reply(PAIR, begin);
  await host.reply(PAIR, post('bob', 'again', 'm1'));
  await makeRoom(host, LONG, ['bob']);
  for (let seq = 1; seq <= POSTED_BLOCK + 1; seq += 1) {
    await host.reply(LONG, post(seq % 2 === 1 ? 'alice' : 'bob', 'one of many', `m${seq}`));
  }
  await host.close();
  return folder;
}

async function change(folder: string, writes: readonly LaneWrite[]): Promise<void> {
  const environment = openLane(lanePath(folder, 0), 1024 ** 3);
  await environment.commit(writes);
  await environment.close();
}

test('a sound folder has no problems, and is counted', async (t) => {
  const folder = await makeFolder(t);
  await (await Accounts.open(folder)).close();
  assert.deepEqual(await checkFolder(folder), { problems: [], conversations: 3, messages: 37, people: 0 });
});

for (const [name, [writes, sentences]] of Object.entries(DAMAGE)) {
  test(`${name} is found`, async (t) => {
    const folder = await makeFolder(t);
    await change(folder, typeof writes === 'function' ? await writes(folder) : writes);
    assert.deepEqual(
      (await checkFolder(folder)).problems,
      sentences.map((sentence) => `In lane 0, ${sentence}.`),
    );
  });
}

test('counts of what people use that are not those of what is there are found', async (t) => {
  const folder = await makeFolder(t);
  const lane = openLane(lanePath(folder, 0), 1024 ** 3);
  const [posted, rooms] = [lane.tables.meta.get(postedKey('alice')), lane.tables.meta.get(roomsKey('alice'))];
  await lane.close();
  assert.ok(posted !== undefined && rooms !== undefined);
  // One of them went with its chat, and counts all the same.
  const messages = numberAt(posted, 1);
  await change(folder, [
    { table: 'meta', key: roomsKey('alice'), value: numberValue(numberAt(rooms) + 1) },
    { table: 'meta', key: roomsKey('zoe'), value: numberValue(1) },
    { table: 'meta', key: roomsKey(''), value: null },
    { table: 'meta', key: postedKey('alice'), value: numberValue(numberAt(posted), messages - 2, 1) },
  ]);
  assert.deepEqual((await checkFolder(folder)).problems, [
    `In lane 0, meta [rooms, alice] counts ${numberAt(rooms) + 1} rooms and there are ${numberAt(rooms)}.`,
    'In lane 0, meta [rooms, zoe] counts 1 rooms and there are 0.',
    `In lane 0, meta [rooms, everybody] counts 0 rooms and there are ${numberAt(rooms)}.`,
    `In lane 0, meta [posted, alice] counts ${messages - 2} messages of the day, and there are ${messages - 1}.`,
  ]);
});

test('marks of public rooms have to agree with the rooms', async (t) => {
  const folder = temporaryFolder(t);
  const host = new ActorHost(folder, []);
  await makeRoom(host, ROOM, ['bob', 'carol']);
  await makeRoom(host, LONG, ['bob']);
  await host.reply(ROOM, { kind: 'describe', form: { title: 'Open', visibility: 'organisation' }, ...as('alice') });
  await host.reply(ROOM, { kind: 'remove', participant: 'carol', ...as('alice') });
  await host.close();
  assert.deepEqual((await checkFolder(folder)).problems, []);
  const title = (text: string) => Buffer.from(text, 'utf8');
  await change(folder, [
    { table: 'meta', key: listingKey(ROOM), value: title('Other') },
    { table: 'meta', key: listingKey(LONG), value: title('Long') },
  ]);
  assert.deepEqual((await checkFolder(folder)).problems.toSorted(), [
    `In lane 0, meta [public, ${ROOM}] has another title than its room.`,
    `In lane 0, meta [public, ${LONG}] lists a room that is not public.`,
  ]);
  await change(folder, [{ table: 'meta', key: listingKey(ROOM), value: null }]);
  const [first] = (await checkFolder(folder)).problems;
  assert.equal(first, `In lane 0, conversations [${ROOM}] is public, but not listed.`);
});

test('pictures of rooms have to agree with the rooms, and go with them', async (t) => {
  const folder = temporaryFolder(t);
  const host = new ActorHost(folder, []);
  await makeRoom(host, ROOM, ['bob']);
  await makeRoom(host, LONG, ['bob']);
  const pictures = { 64: Buffer.from('small'), 256: Buffer.from('large') };
  for (const id of [ROOM, LONG]) await host.reply(id, { kind: 'putAvatar', pictures, ...as('alice') });
  await host.reply(LONG, { kind: 'delete', ...as('alice') });
  await host.close();
  assert.deepEqual((await checkFolder(folder)).problems, []);
  await change(folder, [
    { table: 'meta', key: roomAvatarKey(ROOM, 64), value: null },
    { table: 'meta', key: roomAvatarKey(LONG, 64), value: pictures[64] },
  ]);
  assert.deepEqual((await checkFolder(folder)).problems.toSorted(), [
    `In lane 0, conversations [${ROOM}] has the number of a picture, but not the picture.`,
    `In lane 0, meta [avatar, ${LONG}, 64] is a picture that its room does not have.`,
  ]);
});

test('what a purge has not taken yet is in order while it is marked', async (t) => {
  const folder = await makeFolder(t);
  const left = [writeMessage(PAIR, 1, '{}', 0), writeSenders(PAIR, 0, []), writeIdempotency(PAIR, 'alice', 'm7', 1)];
  await change(folder, [...left, writePurge(PAIR, 'emptied')]);
  assert.deepEqual((await checkFolder(folder)).problems, []);
});

test('a deleted room is in order at every block of its purge', async (t) => {
  const folder = temporaryFolder(t);
  const host = new ActorHost(folder, []);
  await makeRoom(
    host,
    ROOM,
    Array.from({ length: 300 }, (_, i) => `person-${i}`),
  );
  const posts = Array.from({ length: 700 }, (_, i) => host.reply(ROOM, post('alice', `text ${i}`, `m${i}`)));
  await Promise.all(posts);
  await host.reply(ROOM, { kind: 'delete', ...as('alice') });
  let looks = 0;
  for (let left = true; left; looks += 1) {
    host.environment.isHolding = true;
    left = host.tables.meta.get(key('purge', ROOM)) !== undefined;
    const copy = join(temporaryFolder(t), 'data');
    await copyFolder(host, copy);
    assert.deepEqual((await checkFolder(copy)).problems, []);
    host.environment.letGo();
    await nextTurn();
  }
  assert.ok(looks > 5, `${looks} looks`);
  await host.close();
  assert.deepEqual(await checkFolder(folder), { problems: [], conversations: 1, messages: 0, people: 0 });
});

async function copyFolder(host: ActorHost, copy: string): Promise<void> {
  await host.environment.copyTo(lanePath(copy, 0));
  writeManifest(copy, readManifest(host.folder));
}

test('changes are kept to the last thousand and a block, and an older one is found', async (t) => {
  const folder = temporaryFolder(t);
  const host = new ActorHost(folder, []);
  await makeRoom(host, ROOM);
  await Promise.all(Array.from({ length: 1_300 }, (_, i) => host.reply(ROOM, post('alice', `text ${i}`))));
  await host.close();
  assert.deepEqual((await checkFolder(folder)).problems, []);
  const old = { type: 'pin', seq: 5, ts: 1, data: '{}', head: 279 };
  await change(folder, [writeChange(ROOM, 280, old)]);
  assert.deepEqual((await checkFolder(folder)).problems, [
    `In lane 0, changes [${ROOM}, 280] is older than the log goes back, which is to 281.`,
  ]);
});

test('a conversation in the wrong lane, a missing lane and a foreign one are found', async (t) => {
  const folder = await makeFolder(t);
  writeManifest(folder, { ...readManifest(folder), lanes: 2 });
  writeFileSync(lanePath(folder, 7), '');
  assert.deepEqual((await checkFolder(folder)).problems, [
    'Lane 1 has no file.',
    'The file lanes/07.mdb belongs to none of the 2 lanes.',
    `In lane 0, conversations [${ROOM}] belongs in lane 1.`,
    `In lane 0, conversations [${PAIR}] belongs in lane 1.`,
  ]);
});

test('damaged accounts are found', async (t) => {
  const folder = temporaryFolder(t);
  const host = new ActorHost(folder, []);
  await host.close();
  const accounts = await Accounts.open(folder);
  await accounts.change((draft) => {
    const device = { id: 'd_1', name: 'phone', platform: 'ios', createdAt: '', usedAt: 0, session: undefined };
    draft.putDevices('nobody', [device, device]);
    draft.putSecret('push_key', Buffer.alloc(31));
    draft.putSigningKeys('session_keys', [{ id: 'k1', key: Buffer.alloc(31), retired: null }]);
  });
  await accounts.close();
  assert.deepEqual((await checkFolder(folder)).problems, [
    'In the accounts, devices [nobody] are those of nobody.',
    'In the accounts, devices [nobody] hold one device twice.',
    'In the accounts, secrets [push_key] does not have 32 bytes.',
    'In the accounts, secrets [session_keys] holds a key that does not have 32 bytes.',
  ]);
});

test('a folder of an earlier format is not looked into', async (t) => {
  const folder = await makeFolder(t);
  writeManifest(folder, { ...readManifest(folder), format: 0 });
  assert.deepEqual((await checkFolder(folder)).problems, [
    'The folder has format 0: start the server once, which brings it to 4.',
  ]);
});

test('an empty folder that no server has started on is sound', async (t) => {
  const folder = temporaryFolder(t);
  const host = new ActorHost(folder, []);
  await host.close();
  rmSync(join(folder, 'lanes'), { recursive: true });
  assert.deepEqual(await checkFolder(folder), { problems: [], conversations: 0, messages: 0, people: 0 });
});

test('problems are listed up to a limit, and counted beyond it', async (t) => {
  const folder = await makeFolder(t);
  const strangers = (from: number, to: number) =>
    Array.from({ length: to - from }, (_, i) => writeSenders(ROOM, from + i + 1, []));
  await change(folder, strangers(0, PROBLEMS_MAX));
  assert.equal((await checkFolder(folder)).problems.length, 1_000);
  await change(folder, strangers(PROBLEMS_MAX, PROBLEMS_MAX + 1));
  const { problems } = await checkFolder(folder);
  assert.equal(problems.length, 1_001);
  assert.equal(problems.at(-1), 'Beside these, 1 more problems were found.');
});
