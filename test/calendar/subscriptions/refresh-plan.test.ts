/** When a feed is asked for next and when it is given up, and how its address is kept. */
import type { SubscriptionRecord } from '#storage/calendars/calendar-subscriptions.ts';
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { FeedUrls } from '#src/calendar/subscriptions/feed-urls.ts';
import { afterFailure, afterSuccess, intervalOf } from '#src/calendar/subscriptions/refresh-plan.ts';
import { MASTER, open, OWNER, refusal } from '#test/storage/vault-fixture.ts';

const NOON = Date.UTC(2026, 10, 21, 12);
const DAY = 86_400_000;
const NEW: SubscriptionRecord = {
  ...{ url: Buffer.alloc(0), generation: 1, refreshSeconds: null, feedSeconds: null, etag: null, lastModified: null },
  ...{ digest: null, outcome: null, line: null, failures: 0, missingSince: null, attemptedAt: null },
  ...{ succeededAt: null, nextAt: NOON, failed: 0, faults: [] },
};
const failed = { outcome: 'timeout', line: null, retrySeconds: null } as const;
const missing = { ...failed, outcome: 'not_found' } as const;

test('the interval is the owner’s wish, the feed’s within bounds, or an hour', () => {
  assert.equal(intervalOf({ refreshSeconds: null, feedSeconds: null }), 3_600);
  assert.equal(intervalOf({ refreshSeconds: null, feedSeconds: 7_200 }), 7_200);
  assert.equal(intervalOf({ refreshSeconds: null, feedSeconds: 1 }), 900);
  assert.equal(intervalOf({ refreshSeconds: null, feedSeconds: 86_400 * 30 }), 604_800);
  assert.equal(intervalOf({ refreshSeconds: 1_800, feedSeconds: 7_200 }), 1_800);
});

test('waits are up to a tenth longer, never shorter', () => {
  assert.equal(afterSuccess(NEW, 'changed', NOON, 0).nextAt, NOON + 3_600_000);
  assert.equal(afterSuccess(NEW, 'changed', NOON, 1).nextAt, NOON + 3_960_000);
  assert.equal(afterFailure(NEW, failed, NOON, 1).nextAt, NOON + 990_000);
});

test('each failure in a row doubles the wait, up to a day; a success ends that', () => {
  let record = NEW;
  const waits = Array.from({ length: 9 }, () => {
    record = afterFailure(record, failed, NOON, 0);
    return ((record.nextAt ?? 0) - NOON) / 60_000;
  });
  assert.deepEqual(waits, [15, 30, 60, 120, 240, 480, 960, 1_440, 1_440]);
  assert.equal(afterFailure({ ...NEW, failures: 10_000 }, failed, NOON, 0).nextAt, NOON + DAY);
  assert.equal(afterFailure(NEW, { ...failed, retrySeconds: 7_200 }, NOON, 0).nextAt, NOON + 7_200_000);
  assert.equal(afterFailure(NEW, { ...failed, retrySeconds: 1e9 }, NOON, 0).nextAt, NOON + DAY);
  assert.deepEqual([afterSuccess(record, 'unchanged', NOON, 0).failures, record.failures], [0, 9]);
});

test('a feed that is missing for two weeks without a break is given up, and not a moment sooner', () => {
  const first = afterFailure(NEW, missing, NOON, 0);
  assert.equal(first.missingSince, NOON);
  assert.notEqual(afterFailure(first, missing, NOON + 14 * DAY - 1, 0).nextAt, null);
  assert.equal(afterFailure(first, { ...missing, outcome: 'gone' }, NOON + 14 * DAY, 0).nextAt, null);
  // Another fault in between: it is not missing, it is ill.
  const ill = afterFailure(first, failed, NOON + 7 * DAY, 0);
  assert.notEqual(afterFailure(ill, missing, NOON + 14 * DAY, 0).nextAt, null);
});

test('addresses are sealed, each for its calendar, and cannot be read while the vault is locked', async (t) => {
  const { accounts, vault } = await open(t);
  const urls = new FeedUrls({ accounts, vault, allowPrivateTargets: false });
  assert.equal(urls.read(' WEBCAL://feeds.example/a.ics?key=1#x'.trim(), 'url'), 'https://feeds.example/a.ics?key=1');
  const sealed = await urls.seal('one', 'https://feeds.example/secret');
  assert.equal(sealed.includes('secret'), false);
  assert.equal(urls.open('one', sealed), 'https://feeds.example/secret');
  assert.throws(() => urls.open('two', sealed));
  await vault.enable(MASTER, OWNER);
  await vault.rotateDataKey(OWNER);
  assert.equal(urls.open('one', sealed), 'https://feeds.example/secret');
  await vault.lock(OWNER);
  assert.throws(() => urls.open('one', sealed), refusal('encryption_locked'));
  await assert.rejects(urls.seal('one', 'https://feeds.example/other'), refusal('encryption_locked'));
});
