/** Retention as the conversation actor and its readers have it: on a clock that the test holds. */
import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';
import { hasReference } from '#storage/conversations/attachment-references.ts';
import { checkFolder } from '#storage/check/check.ts';
import {
  isExpiring,
  readChanges,
  readConversation,
  readHistory,
  readMessage,
  readRecord,
  type Tables,
} from '#storage/conversations/conversation-reader.ts';
import { countUnread, readPinnedSeqs, readPurges } from '#storage/conversations/inbox-reader.ts';
import { key as keyOf, under } from '#storage/engine/keys.ts';
import { membershipRecord } from '#storage/engine/records.ts';
import { LANE_TABLES } from '#storage/engine/lane.ts';
import { readLaneMentions, STAMP_MAX } from '#storage/conversations/mention-reader.ts';
import { NO_RETENTION, useRetention } from '#storage/conversations/retention.ts';
import { readReplies } from '#storage/conversations/thread-records.ts';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { temporaryFolder } from '#test/support/temporary-folder.ts';
import { until } from '#test/support/waiting.ts';
import { ActorHost, EPOCH, makeRoom, NOW, openHost, post } from './actor-host.ts';

const ROOM = 'c_kept';
const HOUR_MILLIS = 3_600_000;
const by = (user: string) => ({ user, device: `d_${user}` });

/** A room whose readers have the host's clock; the rule of this process is none again afterwards. */
async function openRoom(t: TestContext): Promise<ActorHost> {
  const host = openHost(t);
  useRetention(NO_RETENTION, { now: () => host.now });
  t.after(() => useRetention(NO_RETENTION));
  await makeRoom(host, ROOM, ['bob']);
  return host;
}

async function sayMany(host: ActorHost, first: number, last: number): Promise<void> {
  for (let n = first; n <= last; n += 1) await host.reply(ROOM, post('bob', `message ${n}`, `m-${n}`));
}

function record(tables: Tables) {
  const found = readConversation(tables, ROOM);
  assert.ok(found !== undefined);
  return found;
}

const seqsOf = (items: readonly string[]) => items.map((json) => (JSON.parse(json) as { seq: number }).seq);
const history = ({ tables }: ActorHost) =>
  seqsOf(readHistory(tables, record(tables), { afterSeq: 0, limit: 100 }).items);

async function settled(host: ActorHost): Promise<void> {
  await until(() => {
    host.environment.refresh();
    return readPurges(host.tables).length === 0;
  }, 'the purge to be over');
}

async function expired(host: ActorHost): Promise<void> {
  host.system.deliver(`conversation:${ROOM}`, { kind: 'expire' });
  // What was asked later is answered later.
  await host.reply(ROOM, { kind: 'mute', until: null, ...by('bob') });
}

/** What no message below the floor may leave in the lane. */
function left({ tables }: ActorHost, floorSeq: number): string[] {
  const found: string[] = [];
  for (const table of LANE_TABLES) {
    for (const { key, value } of tables[table].getRange()) {
      const text = `${key.toString('latin1')}${value.toString('latin1')}`;
      for (let n = 1; n <= floorSeq; n += 1) if (text.includes(`"message ${n}"`)) found.push(`${table}: message ${n}`);
    }
  }
  return found;
}

test('SOC-11 whoever was told that a room is deleted is not told again once its members are off the disk', async (t) => {
  const host = await openRoom(t);
  await host.reply(ROOM, { kind: 'delete', ...by('alice') });
  host.environment.refresh();
  const told = readRecord(host.tables, ROOM)?.stamp;
  await settled(host);
  const membership = host.tables.memberships.get(keyOf('bob', ROOM));
  assert.ok(membership !== undefined && told !== undefined);
  assert.deepEqual(membershipRecord.decode(membership), { gone: true, stamp: told, removed: undefined });
});

test('what is over its time is unreadable at that instant, everywhere, before any job', async (t) => {
  const host = await openRoom(t);
  await sayMany(host, 1, 40);
  await host.reply(ROOM, { kind: 'pin', seq: 3, pinned: true, ...by('alice') });
  const mention = { kind: 'text' as const, body: '@alice', mentions: [{ username: 'alice', offset: 0, length: 6 }] };
  await host.reply(ROOM, { kind: 'post', form: { ...mention, reply_to: 2 } as never, ...by('bob') });
  host.now = NOW + HOUR_MILLIS;
  await sayMany(host, 42, 50);
  const before = record(host.tables).rev;
  await host.reply(ROOM, { kind: 'retain', seconds: 2 * 3_600, ...by('alice') });
  await host.reply(ROOM, { kind: 'react', seq: 5, emoji: '👍', added: true, ...by('alice') });
  assert.deepEqual(history(host).length, 50);
  // A millisecond before the time is over, and when it is.
  host.now = NOW + 2 * HOUR_MILLIS - 1;
  assert.equal(history(host)[0], 1);
  host.now = NOW + 2 * HOUR_MILLIS;
  const { tables } = host;
  const hidden = record(tables);
  assert.deepEqual(history(host), [42, 43, 44, 45, 46, 47, 48, 49, 50]);
  assert.equal(readMessage(tables, hidden, 41), undefined);
  assert.deepEqual(readReplies(tables, hidden, 2, { afterSeq: 0, limit: 10 }).items, []);
  assert.deepEqual(readLaneMentions(tables, 'alice', STAMP_MAX, 10).rows, []);
  assert.equal(readMessage(tables, hidden, readPinnedSeqs(tables, ROOM)[0] ?? 0), undefined);
  assert.equal(countUnread(tables, hidden, 'alice', 0), 9);
  assert.equal(isExpiring(tables, ROOM), true);
  // Somebody behind the floor starts afresh; somebody in front of it misses nothing, and reads no word of what is gone.
  assert.equal(readChanges(tables, hidden, EPOCH, 5), undefined);
  const changes = readChanges(tables, hidden, EPOCH, before)?.map(
    (json) => JSON.parse(json) as Record<string, unknown>,
  );
  assert.deepEqual(
    changes?.map(({ type, rev }) => [type, rev]),
    [
      ['conversation.updated', before + 1],
      ['purge', before + 2],
    ],
  );
  assert.deepEqual(changes?.[1]?.['data'], { conversation_id: ROOM, before_seq: 42 });
  // The actor answers by the same floor.
  assert.deepEqual(await host.converse(ROOM, { kind: 'react', seq: 41, emoji: '👍', added: true, ...by('bob') }), {
    ok: false,
    code: 'message_not_found',
    field: undefined,
    retryAfter: undefined,
  });
  const again = await host.converse(ROOM, post('bob', 'again', 'm-7'));
  assert.equal(again.ok ? 'posted' : again.code, 'message_removed');
  assert.equal(record(tables).headSeq, 50);
});

test('the sweep takes it off the disk, tells of it once, and leaves nothing that was said', async (t) => {
  const host = await openRoom(t);
  await sayMany(host, 1, 70);
  await host.reply(ROOM, { kind: 'retain', seconds: 3_600, ...by('alice') });
  await host.reply(ROOM, { kind: 'pin', seq: 70, pinned: true, ...by('alice') });
  host.now = NOW + HOUR_MILLIS / 2;
  await sayMany(host, 71, 75);
  await host.reply(ROOM, { kind: 'react', seq: 4, emoji: '👍', added: true, ...by('alice') });
  host.now = NOW + HOUR_MILLIS + 60_000;
  await expired(host);
  const purges = () => host.events(ROOM).filter(({ type }) => type === 'purge');
  // Not overdue by a 24th of its time yet.
  assert.equal(purges().length, 0);
  host.now = NOW + HOUR_MILLIS + 150_000;
  await expired(host);
  await expired(host);
  await settled(host);
  assert.deepEqual(
    purges().map(({ data }) => data),
    [{ conversation_id: ROOM, before_seq: 71 }],
  );
  assert.deepEqual(left(host, 70), []);
  assert.deepEqual([...host.tables.messages.getKeys(under(ROOM))].length, 5);
  assert.deepEqual(history(host), [71, 72, 73, 74, 75]);
  assert.equal(record(host.tables).pinCount, 0);
  // The messages of a block that was not whole are known for one another for ever, too.
  for (const key of ['m-1', 'm-64', 'm-66', 'm-70']) {
    const again = await host.converse(ROOM, post('bob', 'again', key));
    assert.equal(again.ok ? 'posted' : again.code, 'message_removed');
  }
  assert.equal((await host.reply(ROOM, post('bob', 'next', 'm-next'))).body['seq'], 76);
  await host.close();
  assert.deepEqual((await checkFolder(host.folder)).problems, []);
});

test('changes around a raised floor have no gap, whatever lies between the messages', async (t) => {
  const host = await openRoom(t);
  for (let n = 1; n <= 30; n += 1) {
    host.now = NOW + n * 60_000;
    await sayMany(host, n, n);
    if (n % 3 === 0) await host.reply(ROOM, { kind: 'react', seq: n - 1, emoji: '👍', added: true, ...by('alice') });
    if (n % 5 === 0) await host.reply(ROOM, { kind: 'describe', form: { title: `Room ${n}` }, ...by('alice') });
  }
  await host.reply(ROOM, { kind: 'retain', seconds: 1_800, ...by('alice') });
  for (let n = 1; n < 30; n += 1) {
    host.now = NOW + 1_800_000 + n * 60_000;
    const { floorRev, floorSeq, rev } = record(host.tables);
    assert.equal(floorSeq, n);
    assert.equal(readChanges(host.tables, record(host.tables), EPOCH, floorRev - 1), undefined);
    const changes = readChanges(host.tables, record(host.tables), EPOCH, floorRev) ?? [];
    const told = changes.map((json) => JSON.parse(json) as { rev: number; type: string; seq?: number });
    assert.deepEqual(
      told.map((one) => one.rev),
      Array.from({ length: rev - floorRev }, (_, at) => floorRev + at + 1),
    );
    const posted = told.flatMap(({ type, seq }) => (type === 'message.new' ? [seq] : []));
    assert.deepEqual(
      posted,
      Array.from({ length: 30 - n }, (_, at) => n + at + 1),
    );
    assert.ok(told.every(({ seq }) => seq === undefined || seq > n));
  }
});

test('the stricter rule holds, and a hold suspends both', async (t) => {
  const host = await openRoom(t);
  await sayMany(host, 1, 3);
  const rule = (seconds: number | null, isHeld = false) => useRetention({ seconds, isHeld }, { now: () => host.now });
  const isHidden = () => history(host).length === 0;
  host.now = NOW + 600_000;
  rule(601);
  assert.equal(isHidden(), false);
  rule(600);
  assert.equal(isHidden(), true);
  rule(600, true);
  assert.equal(isHidden(), false);
  rule(null);
  await host.reply(ROOM, { kind: 'hold', isHeld: true });
  await host.reply(ROOM, { kind: 'retain', seconds: 60, ...by('alice') });
  rule(300);
  assert.equal(isHidden(), false);
  const held = await host.converse(ROOM, { kind: 'purgeBefore', beforeSeq: 2, ...by('alice') });
  assert.equal(held.ok ? 'purged' : held.code, 'conversation_held');
  await expired(host);
  assert.equal(host.events(ROOM).filter(({ type }) => type === 'purge').length, 0);
  await host.reply(ROOM, { kind: 'hold', isHeld: false });
  assert.equal(isHidden(), true);
});

test('a clock that goes back shows nothing twice: a floor that was raised stays', async (t) => {
  const host = await openRoom(t);
  await sayMany(host, 1, 5);
  await host.reply(ROOM, { kind: 'retain', seconds: 60, ...by('alice') });
  host.now = NOW + HOUR_MILLIS;
  await expired(host);
  await settled(host);
  host.now = NOW - HOUR_MILLIS;
  await sayMany(host, 6, 7);
  assert.deepEqual(history(host), [6, 7]);
});

test('a purge takes what lies in front of a seq, references to attachments too, and people without the right none', async (t) => {
  const host = await openRoom(t);
  const body = { attachment: 'att_1', name: 'a.txt', size: 1, mime: 'text/plain' };
  await host.reply(ROOM, { kind: 'post', form: { kind: 'media', body } as never, ...by('bob') });
  await sayMany(host, 2, 40);
  assert.equal(hasReference(host.tables, ROOM, 'att_1'), true);
  const refused = await host.converse(ROOM, { kind: 'purgeBefore', beforeSeq: 9, ...by('bob') });
  assert.equal(refused.ok ? 'purged' : refused.code, 'right_missing');
  assert.equal((await host.reply(ROOM, { kind: 'purgeBefore', beforeSeq: 1, ...by('alice') })).status, 204);
  assert.equal(history(host).length, 40);
  assert.equal((await host.reply(ROOM, { kind: 'purgeBefore', beforeSeq: 39, ...by('alice') })).status, 204);
  assert.deepEqual(history(host), [39, 40]);
  assert.equal(hasReference(host.tables, ROOM, 'att_1'), false);
  await settled(host);
  assert.deepEqual([...host.tables.references.getKeys()], []);
  assert.deepEqual(left(host, 38), []);
  // Beyond the head there is nothing more to take.
  await host.reply(ROOM, { kind: 'purgeBefore', beforeSeq: 10_000, ...by('alice') });
  assert.deepEqual(history(host), []);
  assert.equal((await host.reply(ROOM, post('bob', 'next'))).body['seq'], 41);
  await settled(host);
  await host.close();
  assert.deepEqual((await checkFolder(host.folder)).problems, []);
});

test('a conversation that was deleted and begins anew forgets its keys and its retention', async (t) => {
  const host = await openRoom(t);
  const pair = { kind: 'create' as const, conversation: 'secret' as const, participants: ['bob'], ...by('alice') };
  const id = 'c_pair';
  await host.reply(id, pair);
  await host.reply(id, post('bob', 'first', 'm-1'));
  await host.reply(id, { kind: 'retain', seconds: 60, ...by('bob') });
  await host.reply(id, { kind: 'delete', ...by('alice') });
  await host.reply(id, pair);
  assert.equal(readConversation(host.tables, id)?.retention, undefined);
  assert.equal((await host.reply(id, post('bob', 'second', 'm-1'))).body['seq'], 2);
  await settled(host);
  await host.close();
  assert.deepEqual((await checkFolder(host.folder)).problems, []);
});

test('wherever a crash stops a purge, the folder is in order and the next start ends it', async (t) => {
  useRetention(NO_RETENTION, { now: () => NOW });
  t.after(() => useRetention(NO_RETENTION));
  let stopped = 0;
  for (let commits = 0; ; commits += 1) {
    const host = new ActorHost(temporaryFolder(t), []);
    await makeRoom(host, ROOM, ['bob']);
    await sayMany(host, 1, 70);
    await host.reply(ROOM, { kind: 'react', seq: 69, emoji: '👍', added: true, ...by('alice') });
    await host.reply(ROOM, { kind: 'pin', seq: 5, pinned: true, ...by('alice') });
    const earlier = host.environment.commits;
    host.environment.isHolding = true;
    void host.converse(ROOM, { kind: 'purgeBefore', beforeSeq: 70, ...by('alice') });
    for (let n = 0; n < commits; n += 1) {
      const commit = await until(() => host.environment.held.shift(), 'a commit');
      commit.go();
      await nextTurn();
    }
    // What was decided behind this point is lost, as with the process.
    const isOver = () => {
      host.environment.refresh();
      return commits > 0 && host.environment.commits === earlier + commits && readPurges(host.tables).length === 0;
    };
    const lost = await until(() => host.environment.held.shift() ?? (isOver() && 'none'), 'a commit, or the end');
    host.system.stop();
    if (lost !== 'none') lost.fail(new Error('killed'));
    host.environment.isHolding = false;
    await host.close();
    assert.deepEqual((await checkFolder(host.folder)).problems, []);
    const next = new ActorHost(host.folder, []);
    for (const id of readPurges(next.tables)) next.system.deliver(`conversation:${id}`, { kind: 'purge' });
    await settled(next);
    assert.deepEqual(history(next), commits === 0 ? Array.from({ length: 70 }, (_, at) => at + 1) : [70]);
    assert.equal(left(next, commits === 0 ? 0 : 69).length, 0);
    const again = await next.converse(ROOM, post('bob', 'again', 'm-69'));
    assert.equal(again.ok ? 'posted before' : again.code, commits === 0 ? 'posted before' : 'message_removed');
    assert.equal(next.tables.conversations.get(Buffer.from(ROOM)) === undefined, false);
    await next.close();
    assert.deepEqual((await checkFolder(host.folder)).problems, []);
    if (lost === 'none') break;
    stopped += 1;
  }
  // The raise, messages, what was put on them, blocks and the mark: each is a commit of its own.
  assert.ok(stopped >= 5, `It was stopped ${stopped} times.`);
});

test('a floor within a segment of the search index, before and after the segment is made, leaves the index true', async (t) => {
  const host = await openRoom(t);
  const purgeBefore = async (beforeSeq: number) => {
    await host.reply(ROOM, { kind: 'purgeBefore', beforeSeq, ...by('alice') });
    await settled(host);
  };
  // A segment has 512 messages.
  await sayMany(host, 1, 300);
  await purgeBefore(100);
  await sayMany(host, 301, 600);
  await purgeBefore(400);
  await sayMany(host, 601, 1_050);
  await purgeBefore(1_040);
  assert.deepEqual(
    history(host),
    Array.from({ length: 11 }, (_, at) => 1_040 + at),
  );
  await host.close();
  assert.deepEqual((await checkFolder(host.folder)).problems, []);
});
