/**
 * Event subscriptions of bots on a server with two shards, with real receivers on this machine: what is sent, to whom,
 * in which order, how it is signed, and that nothing is lost (BOT-01).
 */
import assert from 'node:assert/strict';
import { createHmac } from 'node:crypto';
import { after, before, test, type TestContext } from 'node:test';
import { verifyDelivery } from '#src/client/bot/delivery-signature.ts';
import type { BotScope } from '#src/protocol/bots/bot-scopes.ts';
import {
  SUBSCRIPTIONS_PER_BOT_MAX,
  type MadeSubscription,
  type Subscription,
  type SubscribedEvent,
} from '#src/protocol/bots/subscriptions.ts';
import type { TestBot } from '#test/support/bots.ts';
import { startConsoleServer, type ConsoleServer } from '#test/support/console.ts';
import { startReceiver, type Receiver } from '#test/support/receivers.ts';
import type { Person } from '#test/support/server.ts';
import { until } from '#test/support/waiting.ts';
import { BotSeats } from './bot-seats.ts';
import { assertRefused, say } from './conversing.ts';

let running: ConsoleServer;
let people: Record<'alice' | 'bob', Person>;
let seats: BotSeats;
before(async () => {
  running = await startConsoleServer({ shards: 2, environment: { PARLEY_ALLOW_PRIVATE_TARGETS: 'true' } });
  people = await running.server.people('alice', 'bob');
  seats = new BotSeats(running, people.alice);
});
after(async () => await running.stop());

const HEARER: readonly BotScope[] = ['events:subscribe', 'messages:read', 'messages:write', 'conversations:read'];

async function receiverOf(t: TestContext): Promise<Receiver> {
  const receiver = await startReceiver();
  t.after(async () => await receiver.stop());
  return receiver;
}

async function subscribe(bot: TestBot, url: string, events: readonly SubscribedEvent[]): Promise<MadeSubscription> {
  const path = '/v1/bots/self/subscriptions';
  const reply = await running.server.api<MadeSubscription>(bot, 'POST', path, { url, events });
  assert.equal(reply.status, 201, reply.text);
  return reply.body;
}

async function listed(bot: TestBot): Promise<Subscription[]> {
  return (await running.console<{ items: Subscription[] }>('GET', `/bots/${bot.id}/subscriptions`)).body.items;
}

test('BOT-01 messages of a listed conversation are sent in order, signed, and never the bot its own', async (t) => {
  const receiver = await receiverOf(t);
  const { bot, room } = await seats.seated('sent', HEARER);
  await say(running.server, people.alice, room, 'before');
  const { id, secret } = await subscribe(bot, receiver.url, ['message.new', 'message.edit', 'message.delete']);
  const path = `/v1/conversations/${room}/messages`;
  const first = await say(running.server, people.alice, room, 'one');
  await say(running.server, bot, room, 'an answer');
  await running.server.api(people.alice, 'PATCH', `${path}/${first.seq}`, { body: 'one and a half' });
  await running.server.api(people.alice, 'DELETE', `${path}/${first.seq}`);
  await say(running.server, people.bob, room, 'two');
  await receiver.events('message.new', 2);
  assert.deepEqual(
    receiver.all.map(({ event }) => [event.type, event.data['sender'], event.data['seq']]),
    [
      ['message.new', 'alice', 2],
      ['message.edit', 'alice', 2],
      ['message.delete', 'alice', 2],
      ['message.new', 'bob', 4],
    ],
  );
  const [{ headers, text } = assert.fail()] = receiver.all;
  assert.equal((JSON.parse(text) as { subscription: string }).subscription, id);
  assert.equal(headers['x-parley-delivery'], (JSON.parse(text) as { id: string }).id);
  const signature = String(headers['x-parley-signature']);
  const [, seconds = '', hex] = /^t=(\d+),v1=([0-9a-f]{64})$/.exec(signature) ?? [];
  assert.equal(createHmac('sha256', secret).update(`${seconds}.${text}`).digest('hex'), hex);
  assert.equal(await verifyDelivery(secret, signature, text, Number(seconds)), true);
  assert.equal(await verifyDelivery(secret, signature, text, Number(seconds) + 300), true);
  assert.equal(await verifyDelivery(secret, signature, text, Number(seconds) + 301), false);
  assert.equal(await verifyDelivery(secret, signature, `${text} `, Number(seconds)), false);
  assert.equal(await verifyDelivery(`${secret}x`, signature, text, Number(seconds)), false);
  assert.equal(await verifyDelivery(secret, 'v1=none', text, Number(seconds)), false);
});

test('BOT-01 scopes and the list are honoured at delivery, and a revoked bot is sent nothing more', async (t) => {
  const receiver = await receiverOf(t);
  const { bot, room } = await seats.seated('bounded', HEARER);
  const other = await seats.roomWith(bot);
  await subscribe(bot, receiver.url, ['message.new', 'membership']);
  await say(running.server, people.alice, other, 'not listed');
  await say(running.server, people.alice, room, 'heard');
  await receiver.events('message.new', 1);
  await seats.scope(bot, ['events:subscribe', 'conversations:read']);
  await say(running.server, people.alice, room, 'beyond the scopes');
  await running.server.api(people.alice, 'DELETE', `/v1/conversations/${room}/participants/bob`);
  await receiver.events('membership', 1);
  await seats.scope(bot, HEARER);
  await seats.list(bot, [other]);
  await say(running.server, people.alice, room, 'no longer listed');
  await say(running.server, people.alice, other, 'listed now');
  await receiver.events('message.new', 2);
  // It goes and comes back: what was said between is not for it.
  const path = `/v1/conversations/${other}/participants`;
  await running.server.api(people.alice, 'DELETE', `${path}/${bot.username}`);
  await say(running.server, people.alice, other, 'while it was away');
  await running.server.api(people.alice, 'POST', path, { participants: [bot.username] });
  await say(running.server, people.alice, other, 'back');
  await receiver.events('message.new', 3);
  await running.console('POST', `/bots/${bot.id}/revoke`);
  await say(running.server, people.alice, other, 'after the end');
  const heard = receiver.all.filter(({ event }) => event.type === 'message.new');
  assert.deepEqual(
    heard.map(({ event }) => event.data['body']),
    ['heard', 'listed now', 'back'],
  );
});

test('BOT-01 what fails is sent again under the same id, and what is behind it waits', async (t) => {
  const receiver = await receiverOf(t);
  const { bot, room } = await seats.seated('retried', HEARER);
  const statuses = [500, 302, 200];
  receiver.answer = (response) => {
    response.writeHead(statuses.shift() ?? 204, { location: `${receiver.url}/elsewhere` }).end();
  };
  await subscribe(bot, receiver.url, ['message.new']);
  await say(running.server, people.alice, room, 'one');
  await say(running.server, people.alice, room, 'two');
  await until(() => receiver.all.length >= 4, 'four deliveries');
  assert.deepEqual(
    receiver.all.map(({ event, headers }) => [event.data['body'], headers['x-parley-attempt']]),
    [
      ['one', '1'],
      ['one', '2'],
      ['one', '3'],
      ['two', '1'],
    ],
  );
  assert.equal(new Set(receiver.all.slice(0, 3).map(({ id }) => id)).size, 1);
  assert.notEqual(receiver.all[2]?.id, receiver.all[3]?.id);
  await until(async () => (await listed(bot))[0]?.failing_since === null, 'the failure to be over');
});

test('BOT-01 a bot has so many subscriptions and no more, and their forms are strict', async () => {
  const { bot } = await seats.seated('bound', HEARER);
  const path = '/v1/bots/self/subscriptions';
  const url = 'http://127.0.0.1:9/';
  const wrong: [form: object, field: string][] = [
    [{ url: 'ftp://example.org', events: ['command'] }, 'url'],
    [{ url: 'http://user:password@example.org', events: ['command'] }, 'url'],
    [{ url, events: [] }, 'events'],
    [{ url, events: ['command', 'command'] }, 'events'],
    [{ url, events: ['draft'] }, 'events.0'],
  ];
  for (const [form, field] of wrong) {
    assertRefused(await running.server.api(bot, 'POST', path, form), 400, 'field_invalid', field);
  }
  const made: MadeSubscription[] = [];
  for (let number = 0; number < SUBSCRIPTIONS_PER_BOT_MAX; number += 1) {
    made.push(await subscribe(bot, url, ['command']));
  }
  const beyond = await running.server.api(bot, 'POST', path, { url, events: ['command'] });
  assertRefused(beyond, 409, 'subscriptions_full');
  const shown = await running.server.api(bot, 'GET', path);
  assert.ok(made.every(({ secret }) => !shown.text.includes(secret)));
  const [first = assert.fail()] = made;
  assert.equal((await running.server.api(bot, 'DELETE', `${path}/${first.id}`)).status, 204);
  assertRefused(await running.server.api(bot, 'DELETE', `${path}/${first.id}`), 404, 'subscription_not_found');
  const { bot: stranger } = await seats.seated('stranger', HEARER);
  const foreign = await running.server.api(stranger, 'DELETE', `${path}/${made[1]?.id ?? ''}`);
  assertRefused(foreign, 404, 'subscription_not_found');
  assertRefused(await running.server.api(people.alice, 'GET', path), 403, 'right_missing');
});
