/** Automations against a receiver on loopback: what it gets, and what becomes of what it does not take. */
import assert from 'node:assert/strict';
import { createHmac } from 'node:crypto';
import { test } from 'node:test';
import { systemClock } from '#src/base/clock.ts';
import { AUTOMATIONS_MAX, deliveryRecords, isEventPattern, setsOff } from '#src/integrations/automation-records.ts';
import {
  ATTEMPTS_MAX,
  RUNS_KEPT_MAX,
  SENDING_PER_AUTOMATION_MAX,
  WAITING_MAX,
} from '#src/integrations/automation-outbox.ts';
import { REPLY_BYTES_MAX, signatureOf } from '#src/delivery/signed-webhook.ts';
import type { Refusal } from '#src/protocol/errors.ts';
import { until } from '#test/support/waiting.ts';
import { BY, HOOK_SECRET, MASTER, openAutomations, prepareFolder, startReceiver } from './settings-fixture.ts';

type Site = Awaited<ReturnType<typeof openAutomations>>;

/** Looks until every run of an automation has ended, and answers them, the newest first. */
async function ended({ automations, outbox }: Pick<Site, 'automations' | 'outbox'>, id: string, count: number) {
  return await until(async () => {
    await outbox.look();
    const runs = automations.runs(id, undefined, 1_000).map(({ document }) => document);
    return runs.length === count && runs.every(({ state }) => state !== 'pending') && runs;
  }, `${count} ended runs`);
}

test('an event is posted once, signed, and kept as a run', async (context) => {
  const site = await openAutomations(context, prepareFolder(context), systemClock);
  const { received, url } = await startReceiver(context, (response) => void response.writeHead(200).end('thanks'));
  const id = await site.make({ url, events: ['user.*', 'node.joined'] });
  site.outbox.start();
  await site.happen('user.created', 'user:alice');
  await site.happen('group.created', 'group:all');
  const [run] = await ended(site, id, 1);
  assert.deepEqual([run?.state, run?.attempts, run?.status, run?.reply], ['delivered', 1, 200, 'thanks']);
  assert.equal(received.length, 1);
  const { body, headers, method } = received[0] as (typeof received)[0];
  assert.equal(method, 'POST');
  assert.equal(headers['content-type'], 'application/json');
  const message = JSON.parse(body) as Record<string, unknown>;
  assert.deepEqual([message['event'], message['subject'], message['automation']], ['user.created', 'user:alice', id]);
  assert.equal(message['id'], headers['x-parley-delivery']);
  assert.equal(run?.message, body);
  const [, seconds = '', given] = /^t=(\d+),v1=([0-9a-f]{64})$/.exec(String(headers['x-parley-signature'])) ?? [];
  assert.equal(given, createHmac('sha256', HOOK_SECRET).update(`${seconds}.${body}`).digest('hex'));
});

test('a receiver that fails at first gets the same delivery again', async (context) => {
  const site = await openAutomations(context, prepareFolder(context), systemClock);
  const { received, url } = await startReceiver(context, (response, before) => {
    response.writeHead(before === 0 ? 500 : 204).end();
  });
  const id = await site.make({ url });
  site.outbox.start();
  await site.happen('user.created', 'user:alice');
  const [run] = await ended(site, id, 1);
  assert.deepEqual([run?.state, run?.attempts, run?.status], ['delivered', 2, 204]);
  assert.equal(received.length, 2);
  assert.equal(received[0]?.headers['x-parley-delivery'], received[1]?.headers['x-parley-delivery']);
  assert.deepEqual(
    received.map(({ headers }) => headers['x-parley-attempt']),
    ['1', '2'],
  );
  assert.equal(received[0]?.body, received[1]?.body);
});

test('a receiver that always fails has as many attempts as there are, and no more', async (context) => {
  const site = await openAutomations(context, prepareFolder(context), systemClock);
  const { received, url } = await startReceiver(
    context,
    (response) => void response.writeHead(503).end('x'.repeat(9_000)),
  );
  const id = await site.make({ url });
  site.outbox.start();
  await site.happen('user.created', 'user:alice');
  const [run] = await ended(site, id, 1);
  assert.deepEqual([run?.state, run?.attempts, run?.status], ['failed', ATTEMPTS_MAX, 503]);
  assert.equal(run?.reply?.length, REPLY_BYTES_MAX);
  assert.equal(received.length, ATTEMPTS_MAX);
});

test('a receiver that does not answer in time has failed', async (context) => {
  const site = await openAutomations(context, prepareFolder(context), systemClock, { attemptMillis: 30 });
  const { url } = await startReceiver(context, () => undefined);
  const id = await site.make({ url });
  site.outbox.start();
  await site.happen('user.created', 'user:alice');
  const [run] = await ended(site, id, 1);
  assert.deepEqual([run?.state, run?.attempts, run?.status, run?.reason], ['failed', ATTEMPTS_MAX, null, 'timeout']);
});

test('a redirect is not followed and ends the delivery', async (context) => {
  const site = await openAutomations(context, prepareFolder(context), systemClock);
  const other = await startReceiver(context);
  const { received, url } = await startReceiver(context, (response) => {
    response.writeHead(307, { location: other.url }).end();
  });
  const id = await site.make({ url });
  site.outbox.start();
  await site.happen('user.created', 'user:alice');
  const [run] = await ended(site, id, 1);
  assert.deepEqual([run?.state, run?.attempts, run?.status, run?.reason], ['failed', 1, 307, 'redirect']);
  assert.deepEqual([received.length, other.received.length], [1, 0]);
});

test('what waits when the server stops is sent after it started again, under the same id', async (context) => {
  const folder = prepareFolder(context);
  const first = await openAutomations(context, folder, systemClock, { attemptMillis: 60_000 });
  let isUp = false;
  const { received, url } = await startReceiver(context, (response) => {
    if (isUp) response.writeHead(204).end();
  });
  const id = await first.make({ url });
  first.outbox.start();
  await first.happen('user.created', 'user:alice');
  await until(async () => {
    await first.outbox.look();
    return received.length === 1;
  }, 'the first attempt');
  // This one is in the trail and nowhere else yet.
  await first.happen('user.created', 'user:bob');
  await first.close();
  isUp = true;
  const second = await openAutomations(context, folder, systemClock);
  second.outbox.start();
  const runs = await ended(second, id, 2);
  assert.deepEqual(
    runs.map(({ state, attempts }) => [state, attempts]),
    [
      ['delivered', 1],
      ['delivered', 1],
    ],
  );
  const [before, ...after] = received.map(({ body }) => JSON.parse(body) as { id: string; subject: string });
  assert.deepEqual(after.map(({ subject }) => subject).toSorted(), ['user:alice', 'user:bob']);
  assert.equal(after.find(({ subject }) => subject === 'user:alice')?.id, before?.id);
});

test('no automation hears of automations, nor of what happened before it or while it was disabled', async (context) => {
  const site = await openAutomations(context, prepareFolder(context), systemClock);
  const { received, url } = await startReceiver(context);
  await site.happen('user.created', 'user:before');
  const id = await site.make({ url, events: ['user.*'] });
  site.outbox.start();
  await site.automations.change(id, { enabled: false }, BY);
  await site.happen('user.created', 'user:meanwhile');
  await site.outbox.look();
  await site.automations.change(id, { enabled: true, name: 'hooked' }, BY);
  await site.happen('user.created', 'user:after');
  await ended(site, id, 1);
  assert.deepEqual(
    received.map(({ body }) => (JSON.parse(body) as { subject: string }).subject),
    ['user:after'],
  );
  assert.ok(!setsOff(['automation.*', '*', 'bot.*'], 'automation.created'));
  assert.deepEqual(
    ['automation.*', 'automation.created', 'bot.request', 'user', '*', 'nothing.*'].filter(isEventPattern),
    [],
  );
  assert.deepEqual(['user.*', 'alert.raised', 'node.joined', 'vendor_token.issued', 'bot.made'].map(isEventPattern), [
    true,
    true,
    true,
    true,
    true,
  ]);
});

test('private addresses are refused at once, and their deliveries too', async (context) => {
  const folder = prepareFolder(context);
  const open = await openAutomations(context, folder, systemClock);
  const { received, url } = await startReceiver(context);
  const id = await open.make({ url });
  await open.happen('user.created', 'user:alice');
  await open.close();
  const site = await openAutomations(context, folder, systemClock, { allowPrivateTargets: false });
  const isRefused = (error: Refusal) => error.code === 'target_private' && error.field === 'url';
  await assert.rejects(site.make({ url: 'http://10.1.2.3/' }), isRefused);
  await assert.rejects(site.automations.change(id, { url: 'http://[::1]/' }, BY), isRefused);
  site.outbox.start();
  const [run] = await ended(site, id, 1);
  assert.deepEqual([run?.state, run?.attempts, run?.reason], ['failed', 1, 'target_private']);
  assert.equal(received.length, 0);
});

test('deliveries wait for a locked vault, and that is no attempt', async (context) => {
  const clock = { millis: systemClock.now(), now: () => clock.millis };
  const site = await openAutomations(context, prepareFolder(context), clock);
  const { received, url } = await startReceiver(context);
  await site.vault.enable(MASTER, BY);
  const id = await site.make({ url });
  await site.vault.lock(BY);
  await assert.rejects(site.make({ url }), { code: 'encryption_locked' });
  site.outbox.start();
  await site.happen('user.created', 'user:alice');
  await site.outbox.look();
  const [run] = site.automations.runs(id, undefined, 10);
  assert.deepEqual([run?.document.state, run?.document.attempts, received.length], ['pending', 0, 0]);
  await site.vault.unlock(MASTER, BY);
  clock.millis += 60_000;
  const [sent] = await ended(site, id, 1);
  assert.deepEqual([sent?.state, sent?.attempts, received.length], ['delivered', 1, 1]);
});

test('an automation keeps its last runs, and drops what is too much to wait', async (context) => {
  const site = await openAutomations(context, prepareFolder(context), systemClock, { attemptMillis: 60_000 });
  const hanging = await startReceiver(context, () => undefined);
  const id = await site.make({ url: hanging.url });
  site.outbox.start();
  const entry = { event: 'user.created', ...BY, subject: 'user:many', details: {} };
  await site.accounts.change((draft) => {
    for (let count = 0; count < WAITING_MAX + RUNS_KEPT_MAX + 7; count += 1) draft.audit(systemClock.now(), entry);
  });
  await site.outbox.look();
  const runs = site.automations.runs(id, undefined, 5_000).map(({ document }) => document);
  const dropped = runs.filter(({ state }) => state === 'dropped');
  assert.deepEqual([runs.length - dropped.length, dropped.length], [WAITING_MAX, RUNS_KEPT_MAX]);
  assert.deepEqual([dropped[0]?.reason, dropped[0]?.attempts], ['queue_full', 0]);
  await until(() => hanging.received.length === SENDING_PER_AUTOMATION_MAX, 'the first of them');
  // One that hangs keeps nobody else waiting.
  const { received, url } = await startReceiver(context);
  const other = await site.make({ url });
  await site.happen('user.created', 'user:one');
  await ended(site, other, 1);
  assert.equal(received.length, 1);
  assert.equal(hanging.received.length, SENDING_PER_AUTOMATION_MAX);
  await site.automations.remove(id, BY);
  assert.throws(() => site.automations.runs(id, undefined, 1), { code: 'automation_not_found' });
  const left = site.accounts.documents(deliveryRecords).filter((run) => run.id.startsWith(id));
  assert.deepEqual([left, site.vault.isSet(`automation:${id}`)], [[], false]);
});

test('one automation more than there may be is refused', async (context) => {
  const site = await openAutomations(context, prepareFolder(context), systemClock);
  for (let count = 0; count < AUTOMATIONS_MAX; count += 1) await site.make();
  await assert.rejects(site.make(), { code: 'automations_full' });
});

test('no secret of an automation stands in its records or in the audit trail', async (context) => {
  const site = await openAutomations(context, prepareFolder(context), systemClock);
  const id = await site.make();
  await site.automations.change(id, { secret: 'another heron signs them' }, BY);
  const shown = JSON.stringify([site.automations.list(), site.accounts.auditEntries({ limit: 100 })]);
  assert.ok(!shown.includes('heron'));
  assert.equal(Buffer.from(site.vault.get(`automation:${id}`) ?? []).toString(), 'another heron signs them');
});

test('the signature of a body is the one that the document of it says', () => {
  assert.equal(
    signatureOf(Buffer.from('a secret of sixteen'), 1_795_248_000, '{"a":1}'),
    't=1795248000,v1=d11ac33e6b53eff655dd53212a5667aa5e506199eeec025429b3fbfd1815588b',
  );
});
