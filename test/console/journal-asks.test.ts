/** The limit on journal asks of vendor tokens. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { JournalAsks } from '#src/console/journal-asks.ts';
import type { Refusal } from '#src/protocol/errors.ts';

const refusedAt = (asks: JournalAsks, token: string, now: number): Refusal | undefined => {
  try {
    asks.take(token, now);
  } catch (error) {
    return error as Refusal;
  }
  return undefined;
};

test('VND-11 the fifth ask within any minute is refused, and says when the next may come', () => {
  const asks = new JournalAsks();
  for (const now of [0, 20_000, 40_000, 50_000]) assert.equal(refusedAt(asks, 'one', now), undefined);
  const refused = refusedAt(asks, 'one', 59_500);
  assert.deepEqual([refused?.code, refused?.retryAfter], ['rate_limited', 1]);
  // The first of them is over, the refused one never counted.
  assert.equal(refusedAt(asks, 'one', 60_000), undefined);
  assert.equal(refusedAt(asks, 'one', 79_999)?.code, 'rate_limited');
  assert.equal(refusedAt(asks, 'one', 80_000), undefined);
});

test('VND-11 each token has its own four', () => {
  const asks = new JournalAsks();
  for (let i = 0; i < 4; i += 1) asks.take('one', 0);
  assert.equal(refusedAt(asks, 'two', 0), undefined);
  assert.equal(refusedAt(asks, 'one', 0)?.code, 'rate_limited');
});

test('beyond the tokens remembered, those whose minute is over are forgotten and no other', () => {
  const asks = new JournalAsks();
  for (let i = 0; i < 999; i += 1) asks.take(`old-${i}`, 0);
  for (let i = 0; i < 4; i += 1) asks.take('busy', 59_000);
  asks.take('new', 60_000);
  assert.equal(refusedAt(asks, 'busy', 60_001)?.code, 'rate_limited');
});
