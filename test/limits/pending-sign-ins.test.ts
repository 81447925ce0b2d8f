/** How many sign-ins of one person wait for a second factor, how long, and for how many wrong ones: whoever has the password is asked for it. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  PENDING_ATTEMPTS_MAX,
  PENDING_MILLIS,
  PENDING_PER_PERSON_MAX,
  PendingSignIns,
} from '#src/identity/second-factors/pending-sign-ins.ts';

const OVER = { code: 'sign_in_over' };

test('TFA-01 beyond as many as one person may have the oldest is over, and nobody else’s', () => {
  const pending = new PendingSignIns<string>();
  const other = pending.begin('bob', 'his', 0);
  const begun = Array.from({ length: PENDING_PER_PERSON_MAX + 1 }, (_, at) => pending.begin('ann', `${at}`, at));
  const [oldest, ...others] = begun.map(({ secret }) => secret);
  assert.throws(() => pending.claim(oldest as string, 10), OVER);
  assert.deepEqual(
    others.map((secret) => pending.claim(secret, 10).what),
    others.map((_, at) => `${at + 1}`),
  );
  assert.equal(pending.claim(other.secret, 10).what, 'his');
});

test('TFA-01 those that are out while others begin are no more than may be, once they come back', () => {
  const pending = new PendingSignIns<string>();
  const round = (from: number) =>
    Array.from({ length: PENDING_PER_PERSON_MAX }, (_, at) => pending.begin('ann', `${from + at}`, from + at).secret);
  const first = round(0);
  const out = first.map((secret) => pending.claim(secret, 50));
  const second = round(100);
  for (const one of out) pending.putBack(one, false);
  for (const secret of first) assert.throws(() => pending.claim(secret, 200), OVER);
  assert.deepEqual(
    second.map((secret) => pending.claim(secret, 200).what),
    second.map((_, at) => `${100 + at}`),
  );
});

test('TFA-01 as many wrong proofs as one sign-in has end it, one fewer does not, and so does its time', () => {
  const pending = new PendingSignIns<string>();
  const { secret } = pending.begin('ann', 'hers', 0);
  for (let wrong = 1; wrong < PENDING_ATTEMPTS_MAX; wrong += 1) pending.putBack(pending.claim(secret, 1), true);
  // What is refused and not wrong costs none.
  pending.putBack(pending.claim(secret, 1), false);
  pending.putBack(pending.claim(secret, 1), true);
  assert.throws(() => pending.claim(secret, 1), OVER);
  const late = pending.begin('ann', 'late', 0);
  pending.putBack(pending.claim(late.secret, PENDING_MILLIS - 1), false);
  assert.throws(() => pending.claim(late.secret, PENDING_MILLIS), OVER);
});
