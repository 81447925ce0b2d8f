/** The receiving end of event subscriptions: what is signed and fresh is handled once, and what failed comes again. */
import assert from 'node:assert/strict';
import { createHmac } from 'node:crypto';
import { test } from 'node:test';
import {
  deliveryReceiver,
  DELIVERIES_KEPT_MAX,
  DELIVERY_LENGTH_MAX,
  type Delivery,
} from '#src/client/bot/delivery-receiver.ts';
import { until } from './condition.ts';

const SECRET = 'whsec_of_the_subscription';
const NOW = 1_700_000_000;

/** A delivery as the server sends it, with what a test changes. */
function sent(body: string, { at = NOW, secret = SECRET, method = 'POST' } = {}): Request {
  const hex = createHmac('sha256', secret).update(`${at}.${body}`).digest('hex');
  const headers = { 'x-parley-signature': `t=${at},v1=${hex}` };
  return new Request('http://bot.example/parley', { method, headers, ...(method === 'POST' ? { body } : {}) });
}

const deliveryOf = (id: string) =>
  JSON.stringify({ id, subscription: 's_1', event: { type: 'message.new', conv: 'c_1', data: { body: id } } });

function receiver(onDelivery: (delivery: Delivery) => unknown = () => undefined) {
  const heard: string[] = [];
  const receive = deliveryReceiver({
    secret: SECRET,
    now: () => NOW * 1000,
    onDelivery: async (delivery) => {
      heard.push(delivery.id);
      await onDelivery(delivery);
    },
  });
  return { heard, receive: async (request: Request) => (await receive(request)).status };
}

test('BOT-01 a signed delivery is handled, and one that comes again is answered and not handled twice', async () => {
  const { heard, receive } = receiver();
  assert.equal(await receive(sent(deliveryOf('d1'))), 204);
  assert.deepEqual(await Promise.all([receive(sent(deliveryOf('d1'))), receive(sent(deliveryOf('d2')))]), [204, 204]);
  assert.deepEqual(heard, ['d1', 'd2']);
});

test('BOT-01 what comes again while it is handled waits for the same end, and what failed is handled anew', async () => {
  const first = Promise.withResolvers<void>();
  const ends = [first.promise, Promise.resolve()];
  const { heard, receive } = receiver(async () => await ends.shift());
  const both = [receive(sent(deliveryOf('d1'))), receive(sent(deliveryOf('d1')))];
  await until('it is being handled', () => heard.length === 1);
  first.reject(new Error('not now'));
  assert.deepEqual(await Promise.all(both), [500, 500]);
  assert.deepEqual(heard, ['d1']);
  assert.equal(await receive(sent(deliveryOf('d1'))), 204);
  assert.deepEqual(heard, ['d1', 'd1']);
});

test('BOT-01 another secret, an old signature, a changed body and no signature are refused and not handled', async () => {
  const { heard, receive } = receiver();
  assert.equal(await receive(sent(deliveryOf('d1'), { secret: 'another' })), 401);
  assert.equal(await receive(sent(deliveryOf('d1'), { at: NOW - 301 })), 401);
  assert.equal(await receive(sent(deliveryOf('d1'), { at: NOW + 301 })), 401);
  const signature = sent(deliveryOf('d1')).headers.get('x-parley-signature') ?? '';
  const headers = { 'x-parley-signature': signature };
  const changed = new Request('http://bot.example/', { method: 'POST', body: deliveryOf('d2'), headers });
  assert.equal(await receive(changed), 401);
  assert.equal(await receive(new Request('http://bot.example/', { method: 'POST', body: deliveryOf('d1') })), 401);
  assert.deepEqual(heard, []);
  assert.equal(await receive(sent(deliveryOf('d1'), { at: NOW - 300 })), 204);
});

test('BOT-01 what is no delivery is refused by its kind', async () => {
  const { heard, receive } = receiver();
  assert.equal(await receive(sent('', { method: 'GET' })), 405);
  for (const body of ['', 'no JSON', '[]', '{"id":1}', '{"id":"d","subscription":"s","event":{"type":"x"}}']) {
    assert.equal(await receive(sent(body)), 400, body);
  }
  const longest = deliveryOf('d').replace(
    '"c_1"',
    () => `"${'c'.repeat(DELIVERY_LENGTH_MAX - deliveryOf('d').length + 3)}"`,
  );
  assert.equal(longest.length, DELIVERY_LENGTH_MAX);
  assert.equal(await receive(sent(longest)), 204);
  assert.equal(await receive(sent(`${longest} `)), 413);
  assert.deepEqual(heard, ['d']);
});

test('BOT-01 of the deliveries handled so many are known, and the oldest is forgotten first', async () => {
  const { heard, receive } = receiver();
  for (let at = 0; at <= DELIVERIES_KEPT_MAX; at += 1) await receive(sent(deliveryOf(`d${at}`)));
  assert.equal(heard.length, DELIVERIES_KEPT_MAX + 1);
  await receive(sent(deliveryOf('d1')));
  assert.equal(heard.length, DELIVERIES_KEPT_MAX + 1, 'the second is still known');
  await receive(sent(deliveryOf('d0')));
  assert.equal(heard.length, DELIVERIES_KEPT_MAX + 2, 'the first is not');
});
