/** Slash commands, and what keeps bots from going round in circles, on a server with two shards (BOT-01). */
import assert from 'node:assert/strict';
import { hostname } from 'node:os';
import { after, before, test } from 'node:test';
import { lookup } from 'node:dns/promises';
import { BOT_CONVERSATION_BURST } from '#src/protocol/bots/bots.ts';
import { type BotScope } from '#src/protocol/bots/bot-scopes.ts';
import {
  COMMAND_ARGS_LENGTH_MAX,
  COMMANDS_PER_BOT_MAX,
  RESPONSES_PER_INVOCATION_MAX,
} from '#src/protocol/bots/commands.ts';
import type { MadeSubscription, Subscription } from '#src/protocol/bots/subscriptions.ts';
import { makeBot, trailOf, type TestBot } from '#test/support/bots.ts';
import { startConsoleServer, type ConsoleServer } from '#test/support/console.ts';
import { startReceiver } from '#test/support/receivers.ts';
import type { Person } from '#test/support/server.ts';
import { connect } from '#test/support/socket.ts';
import { until } from '#test/support/waiting.ts';
import { BotSeats } from './bot-seats.ts';
import { assertRefused, post } from './conversing.ts';

let running: ConsoleServer;
let people: Record<'alice' | 'bob' | 'carol', Person>;
let seats: BotSeats;
before(async () => {
  running = await startConsoleServer({ shards: 2 });
  people = await running.server.people('alice', 'bob', 'carol');
  seats = new BotSeats(running, people.alice);
});
after(async () => await running.stop());

const HEARER: readonly BotScope[] = ['commands:write', 'events:subscribe', 'messages:write', 'messages:read'];
const OWN = '/v1/bots/self/commands';
const WEATHER = { name: 'weather', description: 'The weather of a place', usage: '/weather <place>' };

async function offer(bot: TestBot, commands: readonly unknown[]) {
  return await running.server.api(bot, 'PUT', OWN, { commands });
}

async function give(who: Person, room: string, form: object) {
  const path = `/v1/conversations/${room}/commands`;
  return await running.server.api<{ invocation_id: string }>(who, 'POST', path, form);
}

async function respond(bot: TestBot, token: unknown, text = 'Sunny') {
  return await running.server.api(bot, 'POST', '/v1/bots/self/responses', { response_token: token, text });
}

test('BOT-01 a command reaches its bot with the caller of the session, and the answer the caller alone', async () => {
  const { bot, room } = await seats.seated('weather', HEARER);
  assert.equal((await offer(bot, [WEATHER])).status, 200);
  const path = `/v1/conversations/${room}/commands`;
  const { body } = await running.server.api(people.bob, 'GET', path);
  assert.deepEqual(body, { items: [{ ...WEATHER, bot: bot.username }], next: null });
  const shown = await running.console('GET', `/bots/${bot.id}/commands`);
  assert.deepEqual([shown.status, shown.body], [200, { items: [WEATHER], next: null }]);
  assertRefused(await running.console('GET', '/bots/bot_none/commands'), 404, 'bot_not_found');
  const [heard, bobs, alices] = [
    await connect(running.server, bot),
    await connect(running.server, people.bob),
    await connect(running.server, people.alice),
  ];
  const given = await give(people.bob, room, { command: 'weather', args: 'Oslo' });
  assert.equal(given.status, 202, given.text);
  const { conv, data } = await heard.event('command');
  assert.deepEqual(
    [conv, data['command'], data['args'], data['user'], data['invocation_id']],
    [room, 'weather', 'Oslo', 'bob', given.body.invocation_id],
  );
  const token = data['response_token'];
  assert.equal((await respond(bot, token)).status, 202);
  const answer = await bobs.event('command.response');
  assert.deepEqual(answer.data, {
    invocation_id: given.body.invocation_id,
    conversation_id: room,
    bot: bot.username,
    text: 'Sunny',
  });
  for (let number = 1; number < RESPONSES_PER_INVOCATION_MAX; number += 1) await respond(bot, token, 'More');
  assertRefused(await respond(bot, token), 429, 'rate_limited');
  // Nothing was stored, and nobody else heard it.
  const { body: history } = await running.server.api(people.alice, 'GET', `/v1/conversations/${room}/messages`);
  assert.deepEqual(history['items'], []);
  await alices.close();
  assert.ok(!alices.events.some(({ type }) => type.startsWith('command')));
  await Promise.all([heard.close(), bobs.close()]);
});

test('BOT-01 response tokens are good for their bot, and while both take part', async () => {
  const { bot, room } = await seats.seated('token', HEARER);
  const { bot: other } = await seats.seated('thief', HEARER);
  await offer(bot, [WEATHER]);
  const socket = await connect(running.server, bot);
  await give(people.bob, room, { command: 'weather' });
  const token = String((await socket.event('command')).data['response_token']);
  assertRefused(await respond(other, token), 401, 'response_token_invalid');
  for (const wrong of ['', 'a.b', `${token}.x`, `x${token}`, token.slice(0, -2)]) {
    assertRefused(await respond(bot, wrong), 401, 'response_token_invalid');
  }
  await running.server.api(people.alice, 'DELETE', `/v1/conversations/${room}/participants/bob`);
  assertRefused(await respond(bot, token), 403, 'conversation_forbidden');
  await socket.close();
});

test('BOT-01 commands that are not there, not clear, or not for the caller are refused with their codes', async () => {
  const { bot, room } = await seats.seated('first', HEARER);
  const twin = await makeBot(running, 'second', HEARER, [room]);
  const path = `/v1/conversations/${room}/participants`;
  await running.server.api(people.alice, 'POST', path, { participants: [twin.username] });
  await offer(bot, [WEATHER]);
  await offer(twin, [WEATHER]);
  assertRefused(await give(people.bob, room, { command: 'weather' }), 409, 'command_ambiguous', 'bot');
  assert.equal((await give(people.bob, room, { command: 'weather', bot: twin.username })).status, 202);
  assertRefused(await give(people.bob, room, { command: 'other' }), 404, 'command_not_found', 'command');
  assertRefused(await give(people.carol, room, { command: 'weather' }), 403, 'conversation_forbidden');
  assertRefused(await give(bot, room, { command: 'weather', bot: twin.username }), 403, 'right_missing');
  assertRefused(await give(people.bob, room, { command: 'weather', user: 'alice' }), 400, 'field_unknown', 'user');
  const args = 'x'.repeat(COMMAND_ARGS_LENGTH_MAX + 1);
  assertRefused(await give(people.bob, room, { command: 'weather', args }), 400, 'field_invalid', 'args');
  await running.console('POST', `/bots/${twin.id}/revoke`);
  assert.equal((await give(people.bob, room, { command: 'weather' })).status, 202);
  await seats.scope(bot, ['messages:read']);
  assertRefused(await give(people.bob, room, { command: 'weather' }), 404, 'command_not_found', 'command');
});

test('BOT-01 a bot offers so many commands and no more, with names that are safe to type', async () => {
  const { bot } = await seats.seated('many', HEARER);
  const many = Array.from({ length: COMMANDS_PER_BOT_MAX + 1 }, (_, at) => ({ ...WEATHER, name: `c${at}` }));
  assertRefused(await offer(bot, many), 400, 'field_invalid', 'commands');
  assert.equal((await offer(bot, many.slice(1))).status, 200);
  for (const name of ['', 'Weather', 'a b', 'x'.repeat(33), '/weather']) {
    assertRefused(await offer(bot, [{ ...WEATHER, name }]), 400, 'field_invalid', 'commands.0.name');
  }
  assertRefused(await offer(bot, [WEATHER, WEATHER]), 400, 'field_invalid', 'commands');
  const kept = await running.server.api<{ commands: unknown[] }>(bot, 'GET', OWN);
  assert.equal(kept.body.commands.length, COMMANDS_PER_BOT_MAX);
  assertRefused(await running.server.api(people.alice, 'PUT', OWN, { commands: [] }), 403, 'right_missing');
});

test('BOT-01 a bot that says too much in one conversation is held there alone, and the trail says so', async () => {
  const { bot, room } = await seats.seated('circle', HEARER);
  const other = await seats.roomWith(bot);
  await seats.list(bot, [room, other]);
  const replies: Awaited<ReturnType<typeof post>>[] = [];
  // One a second comes back meanwhile.
  for (
    let number = 0;
    replies.every(({ status }) => status === 201) && number < 2 * BOT_CONVERSATION_BURST;
    number += 1
  ) {
    replies.push(await post(running.server, bot, room, { kind: 'text', body: 'And you?' }));
  }
  assert.ok(replies.slice(0, BOT_CONVERSATION_BURST).every(({ status }) => status === 201));
  const refused = replies.find(({ status }) => status !== 201);
  assert.ok(refused !== undefined);
  assertRefused(refused, 429, 'bot_conversation_limited');
  assert.ok(Number(refused.headers.get('retry-after')) >= 1);
  assert.equal((await post(running.server, bot, other, { kind: 'text', body: 'Here?' })).status, 201);
  const trail = await trailOf(running, bot, replies.length + 1);
  assert.ok(trail.some(({ details }) => details['code'] === 'bot_conversation_limited'));
});

test('BOT-01 subscriptions do not lead into the private network, by address or by name', async (t) => {
  const { bot, room } = await seats.seated('tunnel', HEARER);
  const path = '/v1/bots/self/subscriptions';
  const hosts = [
    '127.0.0.1',
    '[::1]',
    '169.254.169.254',
    '10.1.2.3',
    '192.168.0.1',
    'localhost',
    '2130706433',
    '0x7f.1',
  ];
  for (const host of hosts) {
    const form = { url: `http://${host}:9/`, events: ['message.new'] };
    assertRefused(await running.server.api(bot, 'POST', path, form), 400, 'target_private', 'url');
    assertRefused(await running.console('POST', `/bots/${bot.id}/subscriptions`, form), 400, 'target_private', 'url');
  }
  const found = await lookup(hostname()).catch(() => undefined);
  if (found === undefined) return t.diagnostic('the name of this machine resolves to nothing: the name is not tried');
  const receiver = await startReceiver();
  t.after(async () => await receiver.stop());
  const url = `http://${hostname()}:${receiver.port}/`;
  const made = await running.server.api<MadeSubscription>(bot, 'POST', path, { url, events: ['message.new'] });
  assert.equal(made.status, 201, made.text);
  await post(running.server, people.alice, room, { kind: 'text', body: 'secret' });
  const reason = await until(async () => {
    const { body } = await running.console<{ items: Subscription[] }>('GET', `/bots/${bot.id}/subscriptions`);
    return body.items[0]?.last_failure ?? undefined;
  }, 'the failure');
  assert.equal(reason, 'target_private');
  assert.deepEqual(receiver.all, []);
  return undefined;
});
