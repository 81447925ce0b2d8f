/** Subscriptions over the server's end: what waited is sent, in order, and what failed for too long is disabled (BOT-01). */
import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';
import type { Address } from '#actors/runtime/actor.ts';
import { Integrations } from '#src/integrations/integrations.ts';
import { cursorRecords } from '#src/integrations/subscription-records.ts';
import { COMMANDS_WAITING_MAX, FAILING_MILLIS_MAX } from '#src/integrations/subscription-deliveries.ts';
import { CHANGES_REPLY_MAX } from '#src/protocol/limits.ts';
import type { MadeSubscription } from '#src/protocol/bots/subscriptions.ts';
import { Accounts } from '#storage/accounts/accounts.ts';
import { Lanes } from '#storage/engine/lanes.ts';
import { Vault } from '#storage/vault/vault.ts';
import { refusal } from '#test/coordinator/console-fixture.ts';
import { startConsoleServer, type ConsoleServer } from '#test/support/console.ts';
import { freePort } from '#test/support/real-program.ts';
import { startReceiver } from '#test/support/receivers.ts';
import { startServer } from '#test/support/server.ts';
import { until } from '#test/support/waiting.ts';
import { BotSeats } from './bot-seats.ts';
import { say } from './conversing.ts';
import { limiterBy } from '#test/support/limiter.ts';

const ENVIRONMENT = { PARLEY_ALLOW_PRIVATE_TARGETS: 'true' };

async function scene(t: TestContext) {
  const running = await startConsoleServer({ shards: 2, environment: ENVIRONMENT });
  t.after(async () => await running.stop());
  const { alice } = await running.server.people('alice', 'bob');
  const seats = new BotSeats(running, alice);
  const { bot, room } = await seats.seated('heir', ['events:subscribe', 'messages:read', 'commands:write']);
  // Nobody is there until the receiver takes the port again.
  const absent = await startReceiver(await freePort());
  const { port, url } = absent;
  await absent.stop();
  const path = '/v1/bots/self/subscriptions';
  const form = { url, events: ['message.new', 'command'] };
  const made = await running.server.api<MadeSubscription>(bot, 'POST', path, form);
  assert.equal(made.status, 201, made.text);
  return { running, alice, bot, room, port, subscription: made.body };
}

/** How many times the delivery to the room was tried in vain, as the disk has it. */
async function failed({ console }: ConsoleServer, bot: string): Promise<string> {
  return await until(async () => {
    const { body } = await console<{ items: { last_failure: string | null }[] }>('GET', `/bots/${bot}/subscriptions`);
    return body.items[0]?.last_failure ?? undefined;
  }, 'a failure');
}

test('BOT-01 what waited when the server was killed is sent by the next one, in order and once', async (t) => {
  const { running, alice, bot, room, port } = await scene(t);
  const { server } = running;
  await server.api(bot, 'PUT', '/v1/bots/self/commands', { commands: [{ name: 'go', description: 'Goes' }] });
  for (const text of ['one', 'two', 'three']) await say(server, alice, room, text);
  const given = await server.api<{ invocation_id: string }>(alice, 'POST', `/v1/conversations/${room}/commands`, {
    command: 'go',
  });
  assert.equal(given.status, 202, given.text);
  assert.equal(await failed(running, bot.id), 'econnrefused');
  await server.end('SIGKILL');
  const receiver = await startReceiver(port);
  t.after(async () => await receiver.stop());
  const next = await startServer({ shards: 2, folder: server.folder, environment: ENVIRONMENT });
  t.after(async () => await next.stop());
  const [command] = await receiver.events('command', 1);
  assert.equal(command?.event.data['invocation_id'], given.body.invocation_id);
  const before = await receiver.events('message.new', 3);
  // Once more, now that all is well: what was delivered is known to be, and does not come again.
  await next.end('SIGTERM');
  const third = await startServer({ shards: 2, folder: server.folder, environment: ENVIRONMENT });
  t.after(async () => await third.stop());
  await say(third, alice, room, 'four');
  const all = await receiver.events('message.new', 4);
  assert.deepEqual(
    all.map(({ event }) => event.data['body']),
    ['one', 'two', 'three', 'four'],
  );
  assert.equal(new Set(all.map(({ id }) => id)).size, 4);
  assert.equal(before.length, 3);
});

/** The integrations of a folder whose server has ended, with a clock of their own. */
async function integrationsOver(t: TestContext, folder: string, now: () => number) {
  const accounts = await Accounts.open(folder);
  const lanes = new Lanes({ folder, lanes: 4, mapBytes: 2 ** 30, owns: () => false, report: () => undefined });
  const clock = { now };
  const alerts: string[] = [];
  const integrations = new Integrations({
    accounts,
    clock,
    limiter: limiterBy(clock),
    lanes,
    vault: new Vault({ accounts, clock, warn: () => undefined, countContents: () => assert.fail() }),
    epoch: 'ep_1',
    log: { warn: () => undefined, error: () => undefined },
    allowPrivateTargets: true,
    alerts: { note: async (...noted) => void alerts.push(noted.join(' ')) },
    announce: async () => undefined,
    directoryChanged: () => undefined,
    ask: async (_to: Address) => assert.fail(),
  });
  t.after(async () => {
    await integrations.deliveries.stop();
    await accounts.close();
    await lanes.close();
  });
  return { accounts, alerts, integrations };
}

test('BOT-01 a receiver that is away for too long is no longer asked, which the trail and an alert say', async (t) => {
  const { running, alice, bot, room, subscription } = await scene(t);
  await say(running.server, alice, room, 'one');
  await failed(running, bot.id);
  await running.server.end('SIGTERM');
  let now = 1_900_000_000_000;
  const { accounts, alerts, integrations } = await integrationsOver(t, running.server.folder, () => now);
  const { deliveries, subscriptions } = integrations;
  const name = `${subscription.id}:${room}`;
  const before = accounts.document(cursorRecords, name) ?? assert.fail();
  // It was away for as long as it may, and was asked a moment ago.
  const failure = { failingSince: now - FAILING_MILLIS_MAX + 1, attempts: 9, attemptedAt: now - 1, reason: '500' };
  await accounts.change((draft) => draft.putDocument(cursorRecords, name, { ...before, failure }));
  deliveries.start();
  await until(() => accounts.document(cursorRecords, name)?.failure?.attempts === 10, 'an attempt in time');
  assert.equal(subscriptions.list(bot.id)[0]?.state, 'active');
  // Behind the wait that the attempt left, and beyond the limit.
  now += 3_600_000;
  await until(() => subscriptions.list(bot.id)[0]?.state === 'disabled', 'the subscription to be disabled');
  await until(() => alerts.length === 1, 'the alert');
  assert.deepEqual(alerts, [
    `subscription_disabled ${subscription.id.replace('_', ':')} deliveries failed: econnrefused`,
  ]);
  const { event, details } = accounts.auditEntriesAfter(accounts.auditHead.number - 1, 1)[0] ?? assert.fail();
  assert.deepEqual([event, details['bot'], details['reason']], ['subscription.disabled', bot.id, 'econnrefused']);
  const by = { actor: 'user:root', address: null };
  assert.equal((await subscriptions.enable(bot.id, subscription.id, by)).state, 'active');
  assert.equal(subscriptions.list(bot.id)[0]?.failing_since, null);
});

test('BOT-01 a receiver that was away before the server was down is asked anew before it is given up', async (t) => {
  const { running, alice, bot, room, subscription } = await scene(t);
  await say(running.server, alice, room, 'one');
  await failed(running, bot.id);
  await running.server.end('SIGTERM');
  const now = 1_900_000_000_000;
  const { accounts, integrations } = await integrationsOver(t, running.server.folder, () => now);
  const failureOf = () => accounts.document(cursorRecords, `${subscription.id}:${room}`)?.failure;
  assert.ok((failureOf()?.failingSince ?? now) < now - FAILING_MILLIS_MAX);
  integrations.deliveries.start();
  await until(() => failureOf()?.failingSince === now, 'the failure to begin anew');
  assert.equal(integrations.subscriptions.list(bot.id)[0]?.state, 'active');
});

test('BOT-01 who was away for more changes than are kept is told so, and goes on from there', async (t) => {
  const { running, alice, bot, room, port } = await scene(t);
  const { server } = running;
  const change = async (title: string) => await server.api(alice, 'PATCH', `/v1/conversations/${room}`, { title });
  await say(server, alice, room, 'what the lane stands at');
  await failed(running, bot.id);
  for (let block = 0; block <= CHANGES_REPLY_MAX; block += 50) {
    await Promise.all(Array.from({ length: 50 }, async (_, at) => await change(`title ${block + at}`)));
  }
  await say(server, alice, room, 'in between');
  const receiver = await startReceiver(port);
  t.after(async () => await receiver.stop());
  const found = await until(async () => {
    await say(server, alice, room, 'at the end');
    return receiver.all.length >= 2 ? [...receiver.all] : undefined;
  }, 'two deliveries');
  const [missed, next] = found;
  assert.equal(missed?.event.type, 'changes.missed');
  assert.equal(missed?.event.conv, room);
  assert.ok(Number(missed?.event.data['rev']) > Number(missed?.event.data['after_rev']) + CHANGES_REPLY_MAX);
  assert.equal(next?.event.data['body'], 'at the end');
});

test('BOT-01 so many commands wait for a receiver that is away and no more', async (t) => {
  const { running, bot, room } = await scene(t);
  await running.server.end('SIGTERM');
  const { integrations } = await integrationsOver(t, running.server.folder, () => 1_900_000_000_000);
  const give = async (number: number) =>
    await integrations.services['commands.deliver']({
      bot: bot.id,
      conversation: room,
      invocation: `cmd_${String(number).padStart(22, '0')}`,
      event: '{}',
    });
  await Promise.all(Array.from({ length: COMMANDS_WAITING_MAX }, async (_, at) => await give(at)));
  await assert.rejects(async () => await give(COMMANDS_WAITING_MAX), refusal('busy'));
});
