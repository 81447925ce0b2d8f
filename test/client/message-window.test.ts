/** The window of messages: how many are kept, and how a message's forms overtake each other. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { MESSAGES_KEPT_MAX, MessageWindow } from '#src/client/conversations/message-window.ts';
import { readMessage } from '#src/client/conversations/records.ts';
import { wireMessage } from './samples.ts';

const message = (seq: number, more = {}) => readMessage(wireMessage(seq, more));

test('one message more than are kept drops the oldest', () => {
  const window = new MessageWindow(0);
  for (let seq = 1; seq <= MESSAGES_KEPT_MAX; seq += 1) window.add(message(seq));
  assert.equal(window.from, 1);
  window.add(message(MESSAGES_KEPT_MAX + 1));
  assert.equal(window.from, 2);
  assert.equal(window.list().length, MESSAGES_KEPT_MAX);
  assert.equal(window.get(1), undefined);
});

test('an older form does not replace a later one', () => {
  const window = new MessageWindow(0);
  window.add(message(1, { body: 'second', edited_at: '2026-11-21T08:02:00Z' }));
  window.replace(message(1, { body: 'first', edited_at: '2026-11-21T08:01:00Z' }));
  window.add(message(1, { body: 'original' }));
  assert.equal(window.merge([message(1, { body: 'original' })]), true);
  assert.equal(window.get(1)?.body, 'second');
});

test('a change of a message that is not here makes no hole', () => {
  const window = new MessageWindow(5);
  window.replace(message(2, { body: 'edited' }));
  window.setReaction(2, { emoji: '👍', count: 1, users: ['bob'] });
  assert.deepEqual(window.list(), []);
  assert.equal(window.from, 6);
});

test('reactions keep their order, and one with nobody left goes', () => {
  const window = new MessageWindow(0);
  window.add(message(1));
  window.setReaction(1, { emoji: '👍', count: 17, users: ['bob'] });
  window.setReaction(1, { emoji: '🎉', count: 1, users: ['eve'] });
  window.setReaction(1, { emoji: '👍', count: 16, users: ['bob'] });
  assert.deepEqual(window.get(1)?.reactions, [
    { emoji: '👍', count: 16, users: ['bob'] },
    { emoji: '🎉', count: 1, users: ['eve'] },
  ]);
  window.setReaction(1, { emoji: '👍', count: 0, users: [] });
  window.setReaction(1, { emoji: '🎉', count: 0, users: [] });
  assert.equal(window.get(1)?.reactions, undefined);
});

test('a root counts each reply once, whether it came by an event or was counted when the root was read', () => {
  const window = new MessageWindow(0);
  window.add(message(1));
  window.add(message(2, { reply_to: 1, root_seq: 1 }));
  window.add(message(2, { reply_to: 1, root_seq: 1 }));
  window.add(message(3, { reply_to: 2, root_seq: 1 }));
  assert.deepEqual([window.get(1)?.reply_count, window.get(1)?.last_reply_seq], [2, 3]);
  window.replace(message(1, { body: 'edited', edited_at: '2026-11-21T08:03:00Z', reply_count: 5, last_reply_seq: 6 }));
  window.add(message(4, { reply_to: 1, root_seq: 1 }));
  assert.deepEqual([window.get(1)?.reply_count, window.get(1)?.last_reply_seq], [5, 6]);
  window.add(message(5, { reply_to: 40, root_seq: 40 }));
  assert.equal(window.get(40), undefined);
});
