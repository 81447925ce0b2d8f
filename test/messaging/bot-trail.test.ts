/** What bots did on its way into the audit trail, and their budgets, one step beyond each limit (CRD-04). */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { refused, type Answer } from '#actors/runtime/actor.ts';
import { makeLimiterMemory } from '#src/limits/bucket-table.ts';
import { Limiter } from '#src/limits/limiter.ts';
import { makePolicies } from '#src/limits/policies.ts';
import { BotAccess } from '#src/messaging/bots/bot-access.ts';
import { BOT_FACTS_MAX, BOT_FACTS_PER_BATCH, BotAuditBuffer } from '#src/messaging/bots/bot-audit-buffer.ts';
import {
  BOT_REQUESTS_BURST,
  BOT_REQUESTS_PER_SECOND,
  type BotAuditBatch,
  type BotFact,
  type BotGrant,
} from '#src/protocol/bots/bots.ts';
import { refusal } from '#test/coordinator/console-fixture.ts';
import { limiterBy } from '#test/support/limiter.ts';
import { PATIENCE_MILLIS } from '#test/support/waiting.ts';

const fact = (number: number): BotFact => ({
  event: 'bot.request',
  bot: 'one',
  at: number,
  address: '192.0.2.1',
  method: 'GET',
  route: '/v1/inbox',
  conversation: null,
  status: 200,
  code: null,
  count: 1,
});

/** A trail whose batches are answered by `answer`. */
function trailTo(answer: () => Answer) {
  const batches: BotAuditBatch[] = [];
  const handOver = async (batch: BotAuditBatch) => {
    batches.push(batch);
    return answer();
  };
  return { batches, trail: new BotAuditBuffer({ source: 'here', handOver, now: () => 7 }) };
}

const GOOD: Answer = { ok: true, value: null };
const soon = () => performance.now() + PATIENCE_MILLIS;

const BOT: BotGrant = {
  kind: 'bot',
  id: '0'.repeat(22),
  user: 'bot.one',
  device: `d_${'0'.repeat(22)}`,
  hash: '',
  isActive: true,
  isTokenOver: false,
  scopes: ['messages:read'],
  conversations: [],
  commands: [],
  subscribed: [],
};

test('CRD-04 with the trail full the next request is busy, and is counted in what follows', async () => {
  const { batches, trail } = trailTo(() => GOOD);
  const door = new BotAccess({ bots: [BOT], limiter: limiterBy({ now: () => 7 }), trail, now: () => 7 });
  for (let number = 0; number < BOT_FACTS_MAX - 1; number += 1) assert.equal(trail.reserve(), true);
  const bot = door.bot(BOT.id);
  assert.ok(bot !== undefined);
  const entrance = { event: 'bot.request', method: 'GET', route: '/v1/inbox', address: '192.0.2.1' } as const;
  const last = door.visit(bot, entrance);
  last.admit();
  for (let count = 0; count < 2; count += 1) {
    const beyond = door.visit(bot, entrance);
    assert.throws(() => beyond.admit(), refusal('busy'));
    beyond.refuse('busy');
  }
  last.settle(200);
  await trail.settle(soon());
  const facts = batches.flatMap((batch) => batch.facts);
  assert.deepEqual(
    facts.map(({ status, code, count }) => [status, code, count]),
    [
      [200, null, 1],
      [503, 'busy', 2],
    ],
  );
  door.visit(bot, entrance).admit();
});

test('CRD-04 a batch that was not taken comes again as it was, and nothing is lost or changed', async () => {
  let isTaken = false;
  const { batches, trail } = trailTo(() => (isTaken ? GOOD : refused('storage_full')));
  assert.ok(trail.reserve());
  trail.record(fact(1));
  await trail.settle(performance.now() + 1);
  assert.ok(trail.reserve());
  trail.record(fact(2));
  assert.equal(trail.waiting, 2);
  isTaken = true;
  await trail.settle(soon());
  assert.equal(trail.waiting, 0);
  const first = batches.filter(({ number }) => number === 1);
  assert.ok(first.length > 1);
  for (const { facts } of first) assert.deepEqual(facts, [fact(1)]);
  assert.deepEqual(batches.at(-1), { source: 'here', number: 2, facts: [fact(2)] });
});

test('a batch holds as many facts as a commit may, and the next one the rest', async () => {
  const { batches, trail } = trailTo(() => GOOD);
  for (let number = 0; number <= BOT_FACTS_PER_BATCH; number += 1) {
    assert.ok(trail.reserve());
    trail.record(fact(number));
  }
  await trail.settle(soon());
  assert.deepEqual(
    batches.map(({ number, facts }) => [number, facts.length]),
    [
      [1, BOT_FACTS_PER_BATCH],
      [2, 1],
    ],
  );
});

test('BOT-01 a bot has its burst, then its rate, over all threads; the next one beyond is told how long to wait', () => {
  const memory = makeLimiterMemory();
  const clock = { now: 1_000_000_000_000n };
  const policies = makePolicies({ rateLimits: 1, loginAttemptsPerMinute: 10, recoveriesPerMinute: 10 });
  const threads = [1, 2].map(() => new Limiter(memory, policies, () => clock.now));
  const take = (number: number, bot = 'one') => (threads[number % 2] as Limiter).secondsUntil('bot', bot);
  for (let number = 0; number < BOT_REQUESTS_BURST; number += 1) assert.equal(take(number), 0);
  assert.equal(take(0), 1);
  assert.equal(take(1), 1);
  // Another bot's is its own.
  assert.equal(take(0, 'another'), 0);
  clock.now += 1_000_000_000n;
  for (let number = 0; number < BOT_REQUESTS_PER_SECOND; number += 1) assert.equal(take(number), 0);
  assert.equal(take(0), 1);
  // After a quiet night it has the burst again and no more.
  clock.now += 86_400_000_000_000n;
  for (let number = 0; number < BOT_REQUESTS_BURST; number += 1) assert.equal(take(number), 0);
  assert.equal(take(0), 1);
});
