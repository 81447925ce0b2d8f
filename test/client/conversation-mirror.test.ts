/** The mirror of a conversation: what applies, what is held, what starts afresh. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  type Changes,
  ConversationMirror,
  HELD_STEPS_MAX,
  PAGE_READ_EVENTS_MAX,
} from '#src/client/conversations/conversation-mirror.ts';
import { readConversation, readInboxItem, readMessage } from '#src/client/conversations/records.ts';
import { CONV, stepOf, wireChange, wireConversation, wireMessage, wirePost } from './samples.ts';

const mirrorAt = (rev: number, headSeq: number) =>
  ConversationMirror.ofRecord(readConversation(wireConversation({ rev, head_seq: headSeq })));
const post = (rev: number, seq: number) => stepOf(wirePost(rev, seq));
const page = (...seqs: number[]) => seqs.map((seq) => readMessage(wireMessage(seq)));
const seqs = (mirror: ConversationMirror) => mirror.messages.map(({ seq }) => seq);
const revs = (events: { rev?: number }[]) => events.map(({ rev }) => rev);
const changes = (steps: Changes['steps'], more: Partial<Changes> = {}): Changes => ({
  complete: true,
  steps,
  rev: steps.at(-1)?.rev ?? 0,
  headSeq: 0,
  epoch: 'ep_1',
  watermarks: new Map(),
  ...more,
});

test('SOC-11 a step that joins on applies and is announced once', () => {
  const mirror = mirrorAt(7, 3);
  assert.deepEqual(revs(mirror.receive(post(8, 4))), [8]);
  assert.deepEqual(mirror.receive(post(8, 4)), []);
  assert.equal(mirror.rev, 8);
  assert.equal(mirror.headSeq, 4);
  assert.deepEqual(seqs(mirror), [4]);
  assert.equal(mirror.isBehind, false);
});

test('SOC-11 a step may stand for several changes, and joins on by where it starts', () => {
  const mirror = mirrorAt(7, 3);
  const wide = { ...post(10, 4), revCount: 3 };
  assert.deepEqual(revs(mirror.receive(wide)), [10]);
  assert.equal(mirror.rev, 10);
});

test('SOC-11 a step that overlaps what is known is not applied: the changes are read', () => {
  const mirror = mirrorAt(7, 3);
  assert.deepEqual(mirror.receive({ ...post(8, 4), revCount: 2 }), []);
  assert.equal(mirror.rev, 7);
  assert.equal(mirror.isBehind, true);
});

test('SOC-11 steps behind a gap are held, and follow the changes in order without duplicates', () => {
  const mirror = mirrorAt(7, 3);
  assert.deepEqual(mirror.receive(post(10, 6)), []);
  assert.deepEqual(mirror.receive(post(11, 7)), []);
  assert.equal(mirror.isBehind, true);
  const applied = mirror.applyChanges(changes([post(8, 4), post(9, 5), post(10, 6)]));
  assert.notEqual(applied, 'afresh');
  assert.deepEqual(applied !== 'afresh' && revs(applied.announced), [8, 9, 10, 11]);
  assert.deepEqual(seqs(mirror), [4, 5, 6, 7]);
  assert.equal(mirror.isBehind, false);
});

test('SOC-11 a late step that fills the gap releases what is held', () => {
  const mirror = mirrorAt(7, 3);
  assert.deepEqual(mirror.receive(post(9, 5)), []);
  assert.deepEqual(revs(mirror.receive(post(8, 4))), [8, 9]);
  assert.equal(mirror.isBehind, false);
});

test('a step beyond those that may be held is dropped, and the mirror stays behind until it is read', () => {
  const mirror = mirrorAt(0, 0);
  for (let rev = 2; rev <= HELD_STEPS_MAX + 2; rev += 1) mirror.receive(post(rev, rev));
  const applied = mirror.applyChanges(changes([post(1, 1)]));
  assert.equal(applied !== 'afresh' && applied.announced.length, HELD_STEPS_MAX + 1);
  assert.equal(mirror.rev, HELD_STEPS_MAX + 1);
  assert.equal(mirror.isBehind, true);
  mirror.applyChanges(changes([post(HELD_STEPS_MAX + 2, HELD_STEPS_MAX + 2)]));
  assert.equal(mirror.isBehind, false);
});

test('repeats of what is known take no place among the held steps', () => {
  const mirror = mirrorAt(HELD_STEPS_MAX, HELD_STEPS_MAX);
  for (let rev = 1; rev <= HELD_STEPS_MAX; rev += 1) mirror.receive(post(rev, rev));
  const [next, later] = [HELD_STEPS_MAX + 1, HELD_STEPS_MAX + 2];
  mirror.receive(post(later, later));
  assert.deepEqual(revs(mirror.receive(post(next, next))), [next, later]);
});

test('SOC-11 changes of a type that this client does not know are counted and not announced', () => {
  const mirror = mirrorAt(7, 3);
  const unknown = stepOf(wireChange(8, 'poll.opened', {}));
  assert.equal(unknown.event, undefined);
  assert.deepEqual(mirror.receive(unknown), []);
  assert.deepEqual(revs(mirror.receive(post(9, 4))), [9]);
});

test('SOC-11 an incomplete answer, another epoch and a hole start afresh and change nothing before that', () => {
  const mirror = mirrorAt(7, 3);
  assert.equal(mirror.applyChanges(changes([], { complete: false, rev: 2000 })), 'afresh');
  assert.equal(mirror.applyChanges(changes([], { epoch: 'ep_2', rev: 7 })), 'afresh');
  assert.equal(mirror.applyChanges(changes([post(9, 5)])), 'afresh');
  assert.equal(mirror.applyChanges(changes([], { rev: 8 })), 'afresh');
  assert.equal(mirror.rev, 7);
});

test('SOC-11 a fresh start takes the page, then the held steps after it, and no message twice', () => {
  const mirror = mirrorAt(7, 3);
  mirror.receive(post(2001, 1502));
  const record = readConversation(wireConversation({ rev: 2000, head_seq: 1500, title: 'New' }));
  const state = { rev: 2000, headSeq: 1500, epoch: 'ep_1', watermarks: new Map([['bob', { delivered: 9, read: 8 }]]) };
  const announced = mirror.startAfresh({ ...state, record, messages: page(1500, 1501, 1502) });
  // The page was read after the counters, so it holds 1501 and 1502 already.
  assert.deepEqual(announced, []);
  assert.deepEqual(seqs(mirror), [1500, 1501, 1502]);
  assert.equal(mirror.rev, 2001);
  assert.equal(mirror.headSeq, 1502);
  assert.equal(mirror.conversation?.title, 'New');
  assert.deepEqual(mirror.watermarks.get('bob'), { delivered: 9, read: 8 });
  assert.deepEqual(revs(mirror.receive(post(2002, 1503))), [2002]);
});

test('SOC-11 another epoch forgets what was held and seen, even when its counter is lower', () => {
  const mirror = mirrorAt(70, 30);
  mirror.receive(post(75, 35));
  const record = readConversation(wireConversation({ rev: 40, head_seq: 20, epoch: 'ep_2' }));
  const state = { rev: 40, headSeq: 20, epoch: 'ep_2', watermarks: new Map() };
  assert.deepEqual(mirror.startAfresh({ ...state, record, messages: page(19, 20) }), []);
  assert.equal(mirror.isBehind, false);
  assert.equal(mirror.epoch, 'ep_2');
  for (let rev = 41; rev < 74; rev += 1) assert.deepEqual(revs(mirror.receive(post(rev, rev - 20))), [rev]);
  assert.deepEqual(revs(mirror.receive(post(74, 54))), [74]);
  assert.equal(mirror.rev, 74);
});

test('edits, deletes and reactions change the message; a deleted one does not come back', () => {
  const mirror = mirrorAt(0, 0);
  mirror.receive(post(1, 1));
  const reacted = { seq: 1, user: 'alice', emoji: '👍', added: true, count: 1, users: ['alice'] };
  mirror.receive(stepOf(wireChange(2, 'reaction', reacted)));
  const edited = wireMessage(1, { body: 'new', edited_at: '2026-11-21T08:01:00Z' });
  mirror.receive(stepOf(wireChange(3, 'message.edit', edited)));
  assert.equal(mirror.messages[0]?.body, 'new');
  assert.deepEqual(mirror.messages[0]?.reactions, [{ emoji: '👍', count: 1, users: ['alice'] }]);
  mirror.receive(stepOf(wireChange(4, 'reaction', { ...reacted, added: false, count: 0, users: [] })));
  assert.equal(mirror.messages[0]?.reactions, undefined);
  const { body: _, ...stub } = wireMessage(1, { deleted_at: '2026-11-21T08:02:00Z' });
  mirror.receive(stepOf(wireChange(5, 'message.delete', stub)));
  mirror.receive(stepOf(wireChange(6, 'message.edit', edited)));
  assert.equal(mirror.messages[0]?.deletedAt, Date.UTC(2026, 10, 21, 8, 2));
  assert.equal(mirror.messages[0]?.body, undefined);
});

test('membership names those it was done to, whoever did it', () => {
  const mirror = mirrorAt(0, 0);
  const member = (user: string, role = 'member') => ({ user, role });
  const join = { action: 'joined', user: 'alice', participants: [member('carol')], participant_count: 3 };
  mirror.receive(stepOf(wireChange(1, 'membership', join)));
  const role = { action: 'role', user: 'alice', participants: [member('bob', 'moderator')], participant_count: 3 };
  mirror.receive(stepOf(wireChange(2, 'membership', role)));
  const removal = { action: 'removed', user: 'alice', participants: [member('carol')], participant_count: 2 };
  mirror.receive(stepOf(wireChange(3, 'membership', removal)));
  assert.equal(mirror.conversation?.participant_count, 2);
  assert.deepEqual(mirror.conversation?.participants, [
    { user: 'alice', role: 'owner' },
    { user: 'bob', role: 'moderator' },
  ]);
});

test('RCP-01 watermarks only rise, and read implies delivered', () => {
  const mirror = mirrorAt(0, 9);
  assert.equal(mirror.raiseWatermark('bob', { read: 5 }), true);
  assert.equal(mirror.raiseWatermark('bob', { delivered: 4 }), false);
  assert.equal(mirror.raiseWatermark('bob', { read: 3 }), false);
  assert.deepEqual(mirror.watermarks.get('bob'), { delivered: 5, read: 5 });
});

test('unread is counted where the messages are known, and goes on from the inbox where they are not', () => {
  const mirror = mirrorAt(10, 10);
  assert.equal(mirror.unread('alice'), undefined);
  const item = { conversation: wireConversation({ rev: 10, head_seq: 10 }), unread: 4, delivered: 10, read: 5 };
  const entry = readInboxItem(item);
  assert.ok('conversation' in entry);
  mirror.observeEntry('alice', entry);
  mirror.receive(post(11, 11));
  mirror.receive(stepOf(wirePost(12, 12, { sender: 'alice' })));
  assert.equal(mirror.unread('alice'), 5);
  mirror.raiseWatermark('alice', { read: 11 });
  assert.equal(mirror.unread('alice'), 0);
  const read = mirror.beginRead();
  mirror.endRead(read, page(8, 9, 10));
  assert.equal(mirror.unread('alice'), 0);
  mirror.receive(post(13, 13));
  assert.equal(mirror.unread('alice'), 1);
});

test('of what the server counted as unread a deleted message is none any more, and what was before one joined never was', () => {
  const mirror = mirrorAt(10, 10);
  const item = {
    conversation: wireConversation({ rev: 10, head_seq: 10 }),
    unread: 4,
    unread_after: 5,
    delivered: 10,
    read: 0,
  };
  const entry = readInboxItem(item);
  assert.ok('conversation' in entry);
  mirror.observeEntry('alice', entry);
  const gone = (rev: number, seq: number, more: object = {}) => {
    const deleted = { ...wirePost(rev, seq, more).data, deleted_at: '2026-11-22T08:00:00.000Z' };
    mirror.receive(stepOf({ ...wirePost(rev, seq), type: 'message.delete', data: deleted } as never));
    return mirror.unread('alice');
  };
  assert.deepEqual([gone(11, 7), gone(12, 5), gone(13, 8, { sender: 'alice' }), gone(14, 6)], [3, 3, 3, 2]);
  mirror.receive(post(15, 11));
  assert.equal(mirror.unread('alice'), 3);
  assert.equal(gone(16, 11), 2);
  // Known from where one joined on, they are counted, and not those before.
  const read = mirror.beginRead();
  mirror.endRead(read, page(3, 4, 5, 6, 7, 8, 9, 10));
  assert.equal(mirror.unread('alice'), 5);
});

test('a page joins where it touches; what happened while it was read is applied to it again', () => {
  const mirror = mirrorAt(5, 5);
  mirror.receive(post(6, 6));
  const read = mirror.beginRead();
  const reacted = { seq: 5, user: 'alice', emoji: '👍', added: true, count: 1, users: ['alice'] };
  mirror.receive(stepOf(wireChange(7, 'reaction', reacted)));
  mirror.endRead(read, page(4, 5));
  assert.deepEqual(seqs(mirror), [4, 5, 6]);
  assert.deepEqual(mirror.messages[1]?.reactions, [{ emoji: '👍', count: 1, users: ['alice'] }]);
});

test('a page that does not touch is not merged, so that no hole arises', () => {
  const mirror = mirrorAt(9, 9);
  mirror.receive(post(10, 10));
  mirror.endRead(mirror.beginRead(), page(3, 4));
  assert.deepEqual(seqs(mirror), [10]);
});

test('a page read over a fresh start, or over more events than are remembered, is not merged', () => {
  const mirror = mirrorAt(5, 5);
  const over = mirror.beginRead();
  const record = readConversation(wireConversation({ rev: 5, head_seq: 5 }));
  mirror.startAfresh({ rev: 5, headSeq: 5, epoch: 'ep_1', watermarks: new Map(), record, messages: [] });
  mirror.endRead(over, page(4, 5));
  assert.deepEqual(seqs(mirror), []);
  const [full, overrun] = [mirror.beginRead(), mirror.beginRead()];
  const pin = (rev: number) => stepOf(wireChange(rev, 'pin', { seq: 1, user: 'bob', pinned: rev % 2 === 0 }));
  for (let count = 1; count <= PAGE_READ_EVENTS_MAX; count += 1) mirror.receive(pin(5 + count));
  mirror.endRead(full, page(4, 5));
  assert.deepEqual(seqs(mirror), [4, 5]);
  mirror.receive(pin(6 + PAGE_READ_EVENTS_MAX));
  mirror.endRead(overrun, page(2, 3));
  assert.deepEqual(seqs(mirror), [4, 5]);
});

test('a conversation first heard of by a step starts right before it', () => {
  const step = post(41, 17);
  const mirror = ConversationMirror.beforeStep(CONV, step);
  assert.deepEqual(revs(mirror.receive(step)), [41]);
  assert.deepEqual([mirror.conversation], [undefined]);
  mirror.observeRecord(readConversation(wireConversation({ rev: 43, head_seq: 18 })));
  assert.equal(mirror.isBehind, true);
  assert.equal(mirror.conversation?.rev, 41);
});

test('a purge forgets the messages before it', () => {
  const mirror = mirrorAt(0, 0);
  for (const seq of [1, 2, 3]) mirror.receive(post(seq, seq));
  mirror.receive(stepOf(wireChange(4, 'purge', { conversation_id: CONV, before_seq: 3 })));
  assert.deepEqual(seqs(mirror), [3]);
  assert.deepEqual([mirror.rev, mirror.headSeq], [4, 3]);
});
