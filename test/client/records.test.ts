/** Reading what the wire carries: times in both forms, events known and unknown. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { readEvent } from '#src/client/events.ts';
import { readInstant, readUnixSeconds } from '#src/client/instants.ts';
import { readConversation, readInboxItem, readMessage } from '#src/client/conversations/records.ts';
import { EVENT_TYPES } from '#src/protocol/sockets/events.ts';
import { wireChange, wireConversation, wireMessage } from './samples.ts';

const unreadable = { name: 'ParleyError', code: 'answer_unreadable' };

test('TIM-02 whole and fractional seconds read as the same instant', () => {
  assert.equal(readInstant('2026-11-21T08:00:00Z', 'at'), 1_795_248_000_000);
  assert.equal(readInstant('2026-11-21T08:00:00.5Z', 'at'), 1_795_248_000_500);
  assert.equal(readInstant('2026-11-21T08:00:00.500250125Z', 'at'), 1_795_248_000_500);
  assert.equal(readUnixSeconds(1_795_248_000), 1_795_248_000_000);
});

test('TIM-02 a text that is no instant in UTC is refused with its field', () => {
  for (const text of ['', '2026-11-21', '2026-11-21T08:00:00+01:00', '2026-02-30T08:00:00Z']) {
    assert.throws(() => readInstant(text, 'created_at'), { ...unreadable, field: 'created_at' });
  }
});

test('TIM-02 a message is kept with instants and without their strings', () => {
  const wire = wireMessage(1, { edited_at: '2026-11-21T08:01:00Z', deleted_at: '2026-11-21T08:02:00.25Z' });
  assert.deepEqual(readMessage(wire), {
    conversation_id: 'c_room',
    seq: 1,
    kind: 'text',
    body: 'text 1',
    sender: 'bob',
    createdAt: 1_795_248_000_500,
    editedAt: 1_795_248_060_000,
    deletedAt: 1_795_248_120_250,
  });
  const conversation = readConversation(wireConversation());
  assert.equal(conversation.createdAt, 1_795_248_000_000);
  assert.equal('created_at' in conversation, false);
});

test('an inbox item is an entry or the id of a conversation that is gone', () => {
  assert.deepEqual(readInboxItem({ gone: 'c_old' }), { gone: 'c_old' });
  const entry = readInboxItem({ conversation: wireConversation(), unread: 2, muted_until: '2026-11-22T08:00:00Z' });
  assert.ok('conversation' in entry);
  assert.equal(entry.mutedUntil, 1_795_334_400_000);
  assert.equal(entry.unread, 2);
  assert.throws(() => readInboxItem({}), unreadable);
});

test('what is no message and no conversation is refused', () => {
  assert.throws(() => readMessage(null as never), unreadable);
  assert.throws(() => readMessage({ ...wireMessage(1), seq: 'one' } as never), unreadable);
  assert.throws(() => readConversation({ ...wireConversation(), rev: undefined }), unreadable);
});

test('TIM-02 the ts of an event is Unix seconds', () => {
  assert.deepEqual(readEvent({ type: 'typing', conv: 'c_room', ts: 1_795_248_000, data: { user: 'bob' } }), {
    type: 'typing',
    conv: 'c_room',
    at: 1_795_248_000_000,
    data: { user: 'bob' },
  });
});

test('events of types that came later, and what is no event, are ignored', () => {
  for (const wire of [
    wireChange(1, 'poll.opened', {}),
    wireChange(1, 'toString', {}),
    { type: 'typing', ts: 'now', data: {} },
    { type: 'typing', ts: 1, data: [] },
    [],
    null,
    'typing',
  ]) {
    assert.equal(readEvent(wire), undefined);
  }
});

test('every type of the protocol is known', () => {
  for (const type of EVENT_TYPES) {
    const data = { ...wireConversation(), ...wireMessage(1), updated_at: '2026-11-21T08:00:00Z' };
    assert.equal(readEvent({ type, ts: 1, data })?.type, type);
  }
});

test('TIM-02 the times inside drafts and messages of events are instants', () => {
  const draft = { conversation_id: 'c_room', body: null, updated_at: '2026-11-21T08:00:00Z' };
  assert.deepEqual(readEvent({ type: 'draft', ts: 1, data: draft })?.data, {
    conversation_id: 'c_room',
    body: null,
    updatedAt: 1_795_248_000_000,
  });
  const broken = wireChange(1, 'message.new', wireMessage(1, { created_at: 'yesterday' }));
  assert.throws(() => readEvent(broken), { ...unreadable, field: 'created_at' });
});

test('TIM-02 the time of a forward’s origin is an instant, and what ties a message to others is kept as it is', () => {
  const mentions = [{ username: 'bob', offset: 0, length: 4 }];
  const forward = { sender: 'carol', created_at: '2026-11-21T08:00:00.5Z' };
  const read = readMessage(wireMessage(7, { reply_to: 3, root_seq: 1, mentions, forward }));
  assert.deepEqual(read.forward, { sender: 'carol', createdAt: 1_795_248_000_500 });
  assert.deepEqual([read.reply_to, read.root_seq, read.mentions], [3, 1, mentions]);
  const broken = wireMessage(1, { forward: { sender: 'carol', created_at: 'yesterday' } });
  assert.throws(() => readMessage(broken), { ...unreadable, field: 'forward.created_at' });
});

test('how far the others have read is no part of a record, which does not change when it moves', () => {
  const record = readConversation({ ...wireConversation(), last_common_read: 3 });
  assert.equal(Object.hasOwn(record, 'last_common_read'), false);
});
