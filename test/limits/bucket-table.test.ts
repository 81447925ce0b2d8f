/** The table of buckets: where names are placed, and what happens when they meet. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { BUCKETS_MAX, BucketTable, makeLimiterMemory, makeRate } from '#src/limits/bucket-table.ts';
import { KeyedHash } from '#src/limits/keyed-hash.ts';
import { Limiter } from '#src/limits/limiter.ts';
import { makePolicies, POLICY_NAMES } from '#src/limits/policies.ts';
import { limiterBy } from '#test/support/limiter.ts';

/** The published answers of HalfSipHash-2-4 with 64 bits, key 00…07, for 2, 4, 6, 8 and 10 octets 00, 01, … */
const VECTORS = ['064f39ef7c50eb57', 'd5e78a175be52ea1', 'ce3e91358aa2bc25', 'edfee820bce4858c', '95b0469f06a6f2ee'];

test('the keyed hash answers what its authors published', () => {
  const hash = new KeyedHash(new Uint32Array([0x03020100, 0x07060504]));
  const units = VECTORS.map((_, at) => (2 * at) | ((2 * at + 1) << 8));
  const answers = VECTORS.map((_, at) => {
    hash.digest(units[0] as number, String.fromCharCode(...units.slice(1, at + 1)));
    const bytes = Buffer.alloc(8);
    bytes.writeInt32LE(hash.low, 0);
    bytes.writeInt32LE(hash.high, 4);
    return bytes.toString('hex');
  });
  assert.deepEqual(answers, VECTORS);
});

test('two starts place a name differently', () => {
  const placed = [1, 2].map(() => {
    const hash = new KeyedHash(makeLimiterMemory().key);
    hash.digest(0, 'ann');
    return hash.low;
  });
  assert.notEqual(placed[0], placed[1]);
});

/** A request and no more, for longer than the test takes. */
const ONE = makeRate(1 / 3_600, 1);

test('with a quarter of all places in use no name has another’s bucket, and none is forgotten', () => {
  const table = new BucketTable(makeLimiterMemory());
  const names = Array.from({ length: BUCKETS_MAX / 4 }, (_, at) => `user${at}`);
  const isEmptied = (name: string) => table.take(0, name, ONE, 1n) > 0;
  assert.equal(names.filter(isEmptied).length, 0);
  assert.equal(names.filter((name) => !isEmptied(name)).length, 0);
});

test('a table that is full forgets who is nearest to full again, and refuses nobody for another', () => {
  const table = new BucketTable(makeLimiterMemory());
  const many = makeRate(1 / 3_600, 10);
  for (let count = 0; count < 10; count += 1) table.take(0, 'flood', many, 1n);
  for (let at = 0; at < 2 * BUCKETS_MAX; at += 1) assert.equal(table.take(1, `stranger${at}`, ONE, 1n), 0);
  // Whoever used the most is remembered: all others that share its places had used less.
  assert.ok(table.take(0, 'flood', many, 1n) > 0);
  assert.equal(table.take(0, 'newcomer', many, 1n), 0);
});

test('what is given back may be taken again, and no bucket ever holds more than its burst', () => {
  const limiter = limiterBy({ now: () => 1_000 }, {}, { telemetry: { perSecond: 1, burst: 2 } });
  for (let count = 0; count < 2; count += 1) limiter.take('telemetry', 'd');
  assert.equal(limiter.left('telemetry', 'd'), 0);
  limiter.spend('telemetry', 'd', -1);
  assert.equal(limiter.left('telemetry', 'd'), 1);
  limiter.spend('telemetry', 'd', -5);
  assert.equal(limiter.left('telemetry', 'd'), 2);
  limiter.spend('telemetry', 'd', 50);
  assert.equal(limiter.secondsUntil('telemetry', 'd'), 1);
  assert.throws(() => limiter.check('telemetry', 'd'), { code: 'rate_limited', retryAfter: 1 });
});

test('a policy without a burst counts nothing', () => {
  const limiter = limiterBy({ now: () => 1_000 }, {}, { telemetry: { perSecond: 0, burst: 0 } });
  for (let count = 0; count < 100; count += 1) limiter.take('telemetry', 'd');
  limiter.check('telemetry', 'd');
  assert.deepEqual([limiter.used('telemetry', 'd'), limiter.left('telemetry', 'd')], [0, Infinity]);
});

test('VND-11 a strict policy: the fifth ask within any minute is refused, and says when the next may come', () => {
  const clock = { millis: 0, now: () => 1_000_000 + clock.millis };
  const limiter = limiterBy(clock);
  const ask = (millis: number, token = 'one') => {
    clock.millis = millis;
    return limiter.secondsUntil('journal_ask', token);
  };
  for (const millis of [0, 20_000, 40_000, 50_000]) assert.equal(ask(millis), 0);
  assert.equal(ask(59_500), 1);
  assert.equal(ask(59_500, 'two'), 0);
  // The first of them is over, the refused one never counted.
  assert.equal(ask(60_000), 0);
  assert.equal(ask(79_999), 1);
  assert.equal(ask(80_000), 0);
});

test('every policy lets its burst pass at once, and not one more', () => {
  const policies = makePolicies({ rateLimits: 1, loginAttemptsPerMinute: 10, recoveriesPerMinute: 10 });
  const limiter = new Limiter(makeLimiterMemory(), policies, () => 1_000n);
  for (const name of POLICY_NAMES) {
    let passed = 0;
    while (limiter.secondsUntil(name, 'somebody') === 0) passed += 1;
    assert.equal(passed, policies[name].burst, name);
  }
});
