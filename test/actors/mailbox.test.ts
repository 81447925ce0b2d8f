/** The mailbox: three lanes in order, a bound, and what gives way at it. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as fc from 'fast-check';
import { Mailbox } from '#actors/runtime/mailbox.ts';

function drain<Item>(mailbox: Mailbox<Item>): Item[] {
  const items: Item[] = [];
  for (let item = mailbox.take(); item !== undefined; item = mailbox.take()) items.push(item);
  return items;
}

test('system goes before urgent before main, each in order of arrival', () => {
  const mailbox = new Mailbox<string>(10);
  mailbox.offer('m1', 'main');
  mailbox.offer('u1', 'urgent');
  mailbox.offer('m2', 'main');
  mailbox.offer('s1', 'system');
  mailbox.offer('u2', 'urgent');
  assert.deepEqual(mailbox.depths, { system: 1, urgent: 2, main: 2 });
  assert.deepEqual(drain(mailbox), ['s1', 'u1', 'u2', 'm1', 'm2']);
});

test('urgent and main share one bound: the last that fits is taken and one more is not', () => {
  const mailbox = new Mailbox<number>(3);
  assert.deepEqual(
    [mailbox.offer(1, 'main'), mailbox.offer(2, 'urgent'), mailbox.offer(3, 'main')],
    [true, true, true],
  );
  assert.deepEqual([mailbox.offer(4, 'main'), mailbox.offer(5, 'urgent')], [false, false]);
  assert.equal(mailbox.traffic, 3);
  mailbox.take();
  assert.equal(mailbox.offer(6, 'main'), true);
});

test('system messages have room of their own: 64, and one more is refused', () => {
  const mailbox = new Mailbox<number>(1);
  mailbox.offer(0, 'main');
  for (let i = 1; i <= 64; i += 1) assert.equal(mailbox.offer(i, 'system'), true);
  assert.equal(mailbox.offer(65, 'system'), false);
  assert.equal(mailbox.length, 65);
});

test('when full, the newest lossy item takes the place of the oldest of its kind', () => {
  const mailbox = new Mailbox<string>(3);
  const isTyping = (waiting: string) => waiting.startsWith('typing');
  mailbox.offer('typing 1', 'main');
  mailbox.offer('post', 'main');
  assert.equal(mailbox.offerLossy('typing 2', isTyping), true);
  assert.equal(mailbox.offerLossy('typing 3', isTyping), false);
  assert.deepEqual(drain(mailbox), ['post', 'typing 2', 'typing 3']);
});

test('when full of what may not be lost, a lossy item is the one that is lost', () => {
  const mailbox = new Mailbox<string>(2);
  mailbox.offer('post 1', 'main');
  mailbox.offer('post 2', 'main');
  assert.equal(
    mailbox.offerLossy('typing', (waiting) => waiting === 'typing'),
    false,
  );
  assert.deepEqual(drain(mailbox), ['post 1', 'post 2']);
});

test('however it is filled and drained, nothing is lost, doubled or out of order', () => {
  fc.assert(
    fc.property(fc.array(fc.boolean(), { maxLength: 300, size: 'max' }), (steps) => {
      const mailbox = new Mailbox<number>(50);
      const model: number[] = [];
      let next = 0;
      for (const isOffer of steps) {
        if (!isOffer) assert.equal(mailbox.take(), model.shift());
        else if (mailbox.offer((next += 1), 'main')) model.push(next);
        assert.equal(mailbox.length, model.length);
      }
      assert.deepEqual(drain(mailbox), model);
    }),
  );
});
