/** The sender: waits that grow, a breaker for each provider, bounds, and pushes that are not due any more. */
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { setDefaultCACertificates } from 'node:tls';
import type { PushOutcome } from '#actors/push/push.messages.ts';
import type { PushDelivery } from '#actors/runtime/actor.ts';
import { BREAKER_FAILURES, BREAKER_MILLIS } from '#src/delivery/circuit-breaker.ts';
import {
  collapseIdOf,
  PushSender,
  QUEUE_MAX,
  RETRY_MILLIS,
  RETRY_MILLIS_MAX,
  SENDING_MAX,
  UNAVAILABLE_MILLIS,
  type Composed,
} from '#src/push/push-sender.ts';
import { vapidKey } from '#src/push/vapid-key.ts';
import { until } from '#test/support/waiting.ts';
import { CERTIFICATE, LoopbackProvider, Subscription } from './loopback-provider.ts';

setDefaultCACertificates([CERTIFICATE]);
const provider = await LoopbackProvider.open();
after(async () => await provider.close());
const NOW = Date.UTC(2026, 10, 21, 8);
const { address } = new Subscription(`${provider.url}/subscription/1`);
const credentials = { vapid: vapidKey(Buffer.alloc(32, 7), 'mailto:ops@example.org'), apns: null, fcm: null };

function makeSender(t: { after(done: () => void): void }, compose?: () => Composed) {
  const settled: PushOutcome[] = [];
  const dropped: string[] = [];
  const clock = { now: NOW };
  const sender = new PushSender({
    credentials,
    allowPrivateTargets: true,
    now: () => clock.now,
    compose: compose ?? (() => ({ push: { data: { conversation_id: 'c_1', seq: 1 }, badge: 1, text: undefined } })),
    settle: (_delivery, outcome) => void settled.push(outcome),
    counts: { dropped: (reason) => void dropped.push(reason) },
    log: { warn: (message) => assert.fail(message) },
  });
  t.after(() => sender.stop());
  return { sender, settled, dropped, clock };
}

const delivery = (more: Partial<PushDelivery> = {}): PushDelivery => ({
  user: 'bob',
  device: 'd_1',
  subject: 'c_1',
  seq: 1,
  kind: 'message',
  at: NOW,
  expiresAt: NOW + 60_000,
  call: undefined,
  isSent: false,
  address,
  attempts: 0,
  ...more,
});

async function outcomeOf(scene: ReturnType<typeof makeSender>, more: Partial<PushDelivery> = {}): Promise<PushOutcome> {
  const before = scene.settled.length;
  scene.sender.offer(delivery(more));
  return await until(() => scene.settled[before], 'the outcome');
}

test('a provider that fails is asked again after waits that double, up to the most', async (t) => {
  const scene = makeSender(t);
  t.mock.method(Math, 'random', () => 0.5);
  provider.answer = () => ({ status: 429 });
  const waitAfter = async (attempts: number) => {
    const outcome = await outcomeOf(scene, { attempts });
    return outcome.result === 'later' ? outcome.at - NOW : assert.fail(outcome.result);
  };
  // The median of each wait, with the jitter of the queue.
  assert.deepEqual([await waitAfter(0), await waitAfter(3), await waitAfter(60)], [1_795, 8_092, RETRY_MILLIS_MAX]);
  provider.answer = () => ({ status: 429, headers: { 'retry-after': '5000' } });
  assert.deepEqual(await outcomeOf(scene), { result: 'later', at: NOW + 5_000_000 });
  assert.deepEqual(scene.sender.metrics.retried, [{ labels: ['webpush'], value: 4 }]);
});

test('a provider that is down is left alone, then asked once, then served', async (t) => {
  const scene = makeSender(t);
  provider.asked.length = 0;
  provider.answer = () => ({ status: 503 });
  for (let i = 0; i < BREAKER_FAILURES; i += 1) await outcomeOf(scene);
  assert.deepEqual(await outcomeOf(scene), { result: 'later', at: NOW + BREAKER_MILLIS });
  assert.equal(provider.asked.length, BREAKER_FAILURES);
  assert.equal(scene.sender.metrics.open.find(({ labels }) => labels[0] === 'webpush')?.value, 1);
  scene.clock.now += BREAKER_MILLIS;
  provider.answer = () => ({ status: 201 });
  assert.deepEqual(await outcomeOf(scene), { result: 'sent' });
  assert.deepEqual(await outcomeOf(scene), { result: 'sent' });
});

test('an address that is gone, a push that is refused, one that is too old and one that is not due', async (t) => {
  const scene = makeSender(t);
  provider.answer = () => ({ status: 410 });
  assert.deepEqual(await outcomeOf(scene), { result: 'gone' });
  provider.answer = () => ({ status: 413 });
  assert.deepEqual(await outcomeOf(scene), { result: 'dropped' });
  provider.asked.length = 0;
  assert.deepEqual(await outcomeOf(scene, { expiresAt: NOW }), { result: 'dropped' });
  const read = makeSender(t, () => ({ dropped: 'read' }));
  assert.deepEqual(await outcomeOf(read), { result: 'dropped' });
  assert.equal(provider.asked.length, 0);
  assert.deepEqual([scene.dropped, read.dropped], [['expired'], ['read']]);
});

test('a provider that is not set up is asked when it is', async (t) => {
  const scene = makeSender(t);
  const fcm = { provider: 'fcm', token: 'fcm-token-0123456789' } as const;
  assert.deepEqual(await outcomeOf(scene, { address: fcm }), { result: 'later', at: NOW + UNAVAILABLE_MILLIS });
  assert.deepEqual(scene.sender.providers, ['webpush']);
  assert.deepEqual(scene.sender.metrics.refused, [{ labels: ['fcm', 'unavailable'], value: 1 }]);
});

test('beyond its queue a push goes back to its outbox', async (t) => {
  const scene = makeSender(t);
  const { promise: held, resolve: release } = Promise.withResolvers<{ status: number }>();
  provider.answer = async () => await held;
  for (let i = 0; i < SENDING_MAX + QUEUE_MAX; i += 1) scene.sender.offer(delivery());
  assert.deepEqual(scene.settled, []);
  scene.sender.offer(delivery());
  assert.deepEqual(scene.settled, [{ result: 'later', at: NOW + RETRY_MILLIS }]);
  scene.sender.stop();
  release({ status: 201 });
});

test('pushes of one conversation take each other’s place', () => {
  assert.match(collapseIdOf('c_1'), /^[A-Za-z0-9_-]{32}$/);
  assert.equal(collapseIdOf('c_1'), collapseIdOf('c_1'));
  assert.notEqual(collapseIdOf('c_1'), collapseIdOf('c_2'));
});
