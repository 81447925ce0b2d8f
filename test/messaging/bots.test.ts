/** Bots on a server with two shards: what each scope opens, where, and what of it is written down (BOT-01, CRD-04). */
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { Bot } from '#src/client/bot/bot.ts';
import { Http } from '#src/client/connection/http.ts';
import { ParleyClient } from '#src/client/parley-client.ts';
import { botSession, Session } from '#src/client/connection/session.ts';
import { StandingWatch } from '#src/client/connection/standing.ts';
import { systemTimers } from '#src/client/connection/timers.ts';
import { BOT_REQUESTS_BURST } from '#src/protocol/bots/bots.ts';
import { BOT_SCOPE_NAMES, type BotScope } from '#src/protocol/bots/bot-scopes.ts';
import { makeBot, readAnywhere, trailOf } from '#test/support/bots.ts';
import { startConsoleServer, type ConsoleServer } from '#test/support/console.ts';
import { request, type Person } from '#test/support/server.ts';
import { connect, refusedUpgrade, type TestSocket } from '#test/support/socket.ts';
import { deadline, PATIENCE_MILLIS, until } from '#test/support/waiting.ts';
import { BotSeats } from './bot-seats.ts';
import { assertRefused, say, start } from './conversing.ts';

let running: ConsoleServer;
let people: Record<'alice' | 'bob', Person>;
let seats: BotSeats;
before(async () => {
  running = await startConsoleServer({ shards: 2 });
  people = await running.server.people('alice', 'bob');
  seats = new BotSeats(running, people.alice);
});
after(async () => await running.stop());

const EVERY_SCOPE: readonly BotScope[] = BOT_SCOPE_NAMES;

test('BOT-01 a bot is shown by its username, which no person may have', async () => {
  const { bot, room } = await seats.seated('writer', ['messages:write']);
  const message = await say(running.server, bot, room, 'hello');
  assert.equal(message.sender, 'bot.writer');
  const form = { username: 'bot.person', password: 'a long enough password' };
  assertRefused(await running.console('POST', '/users', form), 400, 'field_invalid', 'username');
  const invited = await running.console<{ url: string }>('POST', '/enroll', { kind: 'person' });
  assert.equal(invited.status, 201, invited.text);
  assertRefused(await request('POST', invited.body.url, { body: form }), 400, 'field_invalid', 'username');
  // The invitation is not used up by that.
  const kept = await request('POST', invited.body.url, { body: { ...form, username: 'botanist' } });
  assert.equal(kept.status, 201, kept.text);
  await assert.rejects(running.server.person('bot.command'));
});

test('DIR-01 a bot is in the directory by the name that readers show, and gone from it when it is revoked', async () => {
  const socket = await connect(running.server, people.alice);
  const bot = await makeBot(running, 'named', [], []);
  const ask = async (path: string) =>
    await request('GET', `${running.server.coordinator}/v1/directory${path}`, {
      token: people.alice.session.token,
    });
  const entryOf = async () => (await ask(`/${bot.username}`)).body;
  const { rev, ...entry } = await entryOf();
  assert.deepEqual(entry, { user: 'bot.named', display_name: 'The bot named', kind: 'bot', state: 'active' });
  await socket.event((event) => event.data['user'] === 'bot.named' && event.data['rev'] === rev, 'directory.changed');
  const listed = await ask('?after=bot.name&limit=1');
  assert.deepEqual(listed.body['items'], [{ ...entry, rev }]);
  assert.equal(listed.body['next'], 'bot.named');
  await running.console('PATCH', `/bots/${bot.id}`, { display_name: 'Another' });
  await running.console('POST', `/bots/${bot.id}/revoke`);
  const changed = (await ask(`?after_rev=${String(rev)}`)).body['items'] as Record<string, unknown>[];
  assert.deepEqual(
    changed.map(({ user, display_name, state }) => [user, display_name, state]),
    [['bot.named', 'Another', 'left']],
  );
  await socket.close();
});

test('BOT-01 a bot acts where it is both listed and a participant; elsewhere is as not there', async () => {
  const bot = await makeBot(running, 'lister', EVERY_SCOPE, []);
  const [both, joined, listed] = [await seats.roomWith(bot), await seats.roomWith(bot), await seats.roomWith()];
  await seats.list(bot, [both, listed]);
  const read = async (room: string) => await running.server.api(bot, 'GET', `/v1/conversations/${room}/messages`);
  assert.equal((await read(both)).status, 200);
  const absent = await read(`c_${'0'.repeat(22)}`);
  assertRefused(absent, 403, 'conversation_forbidden');
  for (const room of [joined, listed]) assert.equal((await read(room)).text, absent.text);
  await say(running.server, people.alice, joined, 'not for bots');
  const inbox = await running.server.api<{ items: { conversation: { id: string } }[] }>(bot, 'GET', '/v1/inbox');
  assert.deepEqual(
    inbox.body.items.map(({ conversation }) => conversation.id),
    [both],
  );
  const signal = async (to: string) =>
    await running.server.api(bot, 'POST', '/v1/signal', { to, kind: 'sub', step: 'subscribe', body: {} });
  assert.equal((await signal(both)).status, 202);
  for (const to of [joined, listed, 'alice', 'nobody']) {
    assertRefused(await signal(to), 403, 'recipient_forbidden', 'to');
  }
  await seats.list(bot, []);
  assert.equal((await read(both)).text, absent.text);
});

test('BOT-01 a socket hears the listed conversations and of those what the scopes read', async () => {
  const bot = await makeBot(running, 'hearer', ['messages:read'], []);
  const [room, other] = [await seats.roomWith(bot), await seats.roomWith(bot)];
  await seats.list(bot, [room]);
  const socket = await connect(running.server, bot);
  await say(running.server, people.alice, other, 'elsewhere');
  const path = `/v1/conversations/${room}`;
  await running.server.api(people.alice, 'PATCH', path, { title: 'Renamed' });
  const first = await say(running.server, people.alice, room, 'here');
  assert.equal((await socket.event('message.new')).seq, first.seq);
  await seats.scope(bot, ['conversations:read']);
  await say(running.server, people.alice, room, 'not for this scope');
  await running.server.api(people.alice, 'PATCH', path, { title: 'Again' });
  await socket.event('conversation.updated');
  // The list is another one now: the same socket hears the other room, and this one no more.
  await seats.scope(bot, ['messages:read']);
  await seats.list(bot, [other]);
  await say(running.server, people.alice, room, 'too late');
  const last = await say(running.server, people.alice, other, 'the end');
  await socket.event((event) => event.conv === other && event.seq === last.seq, 'the last message');
  assert.deepEqual(
    socket.events.map(({ type, conv, data }) => [type, conv === room, data['body'] ?? data['title']]),
    [
      ['message.new', true, 'here'],
      ['conversation.updated', true, 'Again'],
      ['message.new', false, 'the end'],
    ],
  );
  await socket.close();
});

test('BOT-01 presence and typing of a listed conversation reach a bot with the scope, and its frames need theirs', async () => {
  const { bot, room } = await seats.seated('shy', ['presence:read']);
  const socket = await connect(running.server, bot);
  const alice = await connect(running.server, people.alice);
  await socket.event((event) => event.type === 'presence' && event.data['user'] === 'alice', 'the presence of alice');
  alice.send({ kind: 'typing', conv: room });
  assert.deepEqual((await socket.event('typing')).data, { user: 'alice' });
  socket.send({ kind: 'typing', conv: room });
  const refused = await socket.event('error');
  assert.equal(refused.data['code'], 'right_missing');
  await seats.scope(bot, ['presence:write']);
  socket.send({ kind: 'typing', conv: room });
  const typed = await alice.event(
    (event) => event.type === 'typing' && event.data['user'] === 'bot.shy',
    'the bot typing',
  );
  assert.equal(typed.conv, room);
  socket.send({ kind: 'typing', conv: await seats.roomWith(bot) });
  await socket.event((event) => event.data['code'] === 'conversation_forbidden', 'the refusal of another room');
  await Promise.all([socket.close(), alice.close()]);
});

test('BOT-01 the presence of people in conversations that are not listed does not reach a bot', async () => {
  const { bot, room } = await seats.seated('local', ['presence:read']);
  const carol = await running.server.person('carol');
  const aside = await start(running.server, carol, 'room', [], 'Aside');
  const added = await running.server.api(carol, 'POST', `/v1/conversations/${aside.id}/participants`, {
    participants: [bot.username],
  });
  assert.equal(added.status, 200, added.text);
  const socket = await connect(running.server, bot);
  const hers = await connect(running.server, carol);
  const bob = await connect(running.server, people.bob);
  await socket.event((event) => event.type === 'presence' && event.data['user'] === 'bob', 'the presence of bob');
  bob.send({ kind: 'typing', conv: room });
  await socket.event('typing');
  assert.deepEqual(
    socket.events.filter(({ data }) => data['user'] === 'carol'),
    [],
  );
  await Promise.all([socket.close(), hers.close(), bob.close()]);
});

test('CRD-08 a revoked bot is out at once, on every shard and on its socket', async () => {
  const { bot, room } = await seats.seated('mayfly', EVERY_SCOPE);
  const path = `/v1/conversations/${room}`;
  const everywhere = async () =>
    await Promise.all(Array.from({ length: 16 }, async () => await readAnywhere(running.server, bot.token, path)));
  assert.deepEqual(new Set(await everywhere()), new Set([200]));
  const socket = await connect(running.server, bot);
  assert.equal((await running.console('POST', `/bots/${bot.id}/revoke`)).status, 200);
  assert.deepEqual(new Set(await everywhere()), new Set([401]));
  assert.deepEqual(await socket.closing(), { code: 4401, reason: 'revoked' });
  assertRefused(await running.server.api(bot, 'GET', path), 401, 'bot_revoked');
  const upgrade = await refusedUpgrade(running.server, `?token=${bot.token}&device=${bot.session.device_id}`);
  assert.deepEqual([upgrade.status, upgrade.body.code], [401, 'bot_revoked']);
  const added = await running.server.api(people.alice, 'POST', '/v1/conversations', {
    kind: 'direct',
    participants: [bot.username],
  });
  assertRefused(added, 400, 'participant_unknown', 'participants.0');
});

test('CRD-04 another token voids the one before, which closes its socket', async () => {
  const { bot, room } = await seats.seated('renewed', EVERY_SCOPE);
  const socket = await connect(running.server, bot);
  const issued = await running.console<{ token: string }>('POST', `/bots/${bot.id}/token`);
  assert.equal(issued.status, 200, issued.text);
  assert.equal((await socket.closing()).code, 4401);
  const path = `/v1/conversations/${room}`;
  assertRefused(await running.server.api(bot, 'GET', path), 401, 'token_invalid');
  assert.equal(await readAnywhere(running.server, issued.body.token, path), 200);
});

test('CRD-04 every request, upgrade and frame is in the audit trail, reads and refused ones too', async () => {
  const { bot, room } = await seats.seated('watched', ['messages:read', 'messages:write', 'presence:write']);
  const { server } = running;
  const path = `/v1/conversations/${room}`;
  await server.api(bot, 'GET', `${path}/messages`);
  await server.api(bot, 'POST', `${path}/messages`, { kind: 'text', body: 'a secret text' });
  await server.api(bot, 'GET', path);
  await server.api(bot, 'GET', `/v1/conversations/c_${'0'.repeat(22)}/messages`);
  await server.api(bot, 'GET', '/v1/nowhere');
  await server.api(bot, 'POST', `${path}/messages`, '{');
  const socket = await connect(server, bot);
  socket.send({ kind: 'typing', conv: room });
  socket.send('{}');
  await socket.event('error');
  await socket.close();
  const entries = await trailOf(running, bot, 10);
  const said = entries.map(({ event, about, details: { method, route, status, code } }) => {
    const where = about === `conversation:${room}` ? 'room' : about;
    return JSON.stringify([event, where, method, route, status, code]);
  });
  const [messages, absent] = ['/v1/conversations/:id/messages', `conversation:c_${'0'.repeat(22)}`];
  // Requests come in on either shard, each of which hands over its own.
  assert.deepEqual(
    new Set(said.filter((text) => text.includes('bot.request'))),
    new Set(
      [
        ['bot.request', 'room', 'GET', messages, 200, undefined],
        ['bot.request', 'room', 'POST', messages, 201, undefined],
        ['bot.request', 'room', 'GET', '/v1/conversations/:id', 403, 'right_missing'],
        ['bot.request', absent, 'GET', messages, 403, 'conversation_forbidden'],
        ['bot.request', null, 'GET', undefined, 404, 'path_not_found'],
        ['bot.request', 'room', 'POST', messages, 400, 'body_invalid_json'],
        ['bot.request', null, 'GET', '/v1/ws', 101, undefined],
      ].map((entry) => JSON.stringify(entry)),
    ),
  );
  assert.deepEqual(
    said.filter((text) => !text.includes('bot.request')),
    [
      ['bot.frame', 'room', undefined, 'typing', 0, undefined],
      ['bot.frame', null, undefined, undefined, 400, 'frame_invalid'],
      ['bot.disconnected', null, undefined, '/v1/ws', 1005, undefined],
    ].map((entry) => JSON.stringify(entry)),
  );
  assert.ok(entries.every(({ actor, address }) => actor === `bot:${bot.id}` && address === '127.0.0.1'));
  assert.ok(!JSON.stringify(entries).includes('a secret text'));
  const read = await running.console<{ last_used_address: string; last_used_at: string }>('GET', `/bots/${bot.id}`);
  assert.equal(read.body.last_used_address, '127.0.0.1');
  assert.notEqual(read.body.last_used_at, null);
});

test('BOT-01 a bot beyond its rate is told to wait, over all shards together, and its refusals are counted', async () => {
  const { bot, room } = await seats.seated('hasty', EVERY_SCOPE);
  const path = `/v1/conversations/${room}`;
  const ask = async () => await readAnywhere(running.server, bot.token, path);
  const statuses: number[] = [];
  // On a slow machine half of them come back meanwhile.
  while (!statuses.includes(429) && statuses.length < 20 * BOT_REQUESTS_BURST) {
    statuses.push(...(await Promise.all(Array.from({ length: BOT_REQUESTS_BURST * 4 }, ask))));
  }
  const wanted = statuses.length;
  const refused = statuses.filter((status) => status === 429).length;
  assert.equal(statuses.filter((status) => status === 200).length + refused, wanted);
  assert.ok(refused > 0);
  await until(async () => {
    const entries = await trailOf(running, bot, 1);
    const requests = entries.reduce((sum, { details }) => sum + Number(details['count'] ?? 1), 0);
    const limited = entries.filter(({ details }) => details['code'] === 'rate_limited');
    return requests === wanted && limited.length < refused;
  }, 'every request in the audit trail, the refused ones in few entries');
});

test('BOT-01 QUO-02 a long message of a bot counts for what it weighs', async () => {
  const { bot, room } = await seats.seated('wordy', EVERY_SCOPE);
  // Forty of them weigh 480 requests, of which a hundred pass at once and fifty a second.
  const body = '€'.repeat(16_000);
  const replies = await Promise.all(
    Array.from({ length: 40 }, async () => {
      return await running.server.api(bot, 'POST', `/v1/conversations/${room}/messages`, { kind: 'text', body });
    }),
  );
  const refused = replies.filter(({ status }) => status !== 201);
  assert.ok(refused.length > 0);
  for (const reply of refused) assertRefused(reply, 429, 'rate_limited');
});

test('CRD-04 a token that is tampered with is nobody’s, and a bot token opens no other door', async () => {
  const { bot, room } = await seats.seated('closed', EVERY_SCOPE);
  const { server } = running;
  const path = `/v1/conversations/${room}`;
  const last = bot.token.at(-1) === 'A' ? 'E' : 'A';
  const tampered = [
    `${bot.token.slice(0, -1)}${last}`,
    `bot_${'0'.repeat(22)}_${'A'.repeat(43)}`,
    `bot_${bot.id}_`,
    `bot_${bot.id}`,
    'bot_',
    `${bot.token}=`,
    bot.token.toUpperCase(),
    bot.token.replace('bot_', 'svc_vst_'),
  ];
  for (const token of tampered) {
    const reply = await request('GET', `${server.messaging}${path}`, { token });
    assertRefused(reply, 401, 'token_invalid');
  }
  const doors: [string, string][] = [
    ['GET', `${server.coordinator}/v1/directory`],
    ['POST', `${server.coordinator}/v1/auth/renew`],
    ['GET', `${server.coordinator}/admin/api/me`],
    ['GET', `${server.coordinator}/admin/api/bots`],
  ];
  for (const [method, url] of doors) {
    assertRefused(await request(method, url, { token: bot.token }), 401, 'token_invalid');
  }
  const upgrade = await refusedUpgrade(server, `?token=${bot.token}&device=${people.alice.session.device_id}`);
  assert.deepEqual([upgrade.status, upgrade.body.code], [403, 'device_forbidden']);
  assert.ok(!server.output.join('\n').includes(bot.token));
});

test('CRD-08 a bot that uses the client catches up, posts and hears, and is signed out when it is revoked', async (t) => {
  const { bot, room } = await seats.seated('client', EVERY_SCOPE);
  await say(running.server, people.alice, room, 'before');
  const { coordinator: coordinatorUrl, messaging: messagingUrl } = running.server;
  const session = botSession({ token: bot.token, user: bot.username, deviceId: bot.session.device_id });
  const client = ParleyClient.resume({ coordinatorUrl, messagingUrl, session });
  t.after(() => client.close());
  const heard: string[] = [];
  client.on('message.new', ({ data }) => heard.push(JSON.stringify(data.body)));
  const { promise: signedOut, resolve } = Promise.withResolvers<string>();
  client.on('signed-out', ({ code }) => resolve(code));
  await deadline(client.caughtUp(), PATIENCE_MILLIS, 'the bot to catch up');
  assert.equal((await client.post(room, 'from the bot')).sender, 'bot.client');
  await say(running.server, people.alice, room, 'to the bot');
  await until(() => heard.includes('"to the bot"'), 'the message');
  await running.console('POST', `/bots/${bot.id}/revoke`);
  // Its socket says so, or the answer to what it is just asking, whichever is first.
  const code = await deadline(signedOut, PATIENCE_MILLIS, 'the end of the session');
  assert.ok(['session_revoked', 'bot_revoked'].includes(code), code);
});

test('CRD-08 a bot’s session in the client ends at the first 401, without an attempt to renew', async () => {
  const { bot, room } = await seats.seated('ended', EVERY_SCOPE);
  const shared = { fetch, timers: systemTimers, standing: new StandingWatch(1, () => undefined) };
  const messaging = new Http({ url: running.server.messaging, ...shared });
  const ends: string[] = [];
  const session = new Session(botSession({ token: bot.token, user: bot.username, deviceId: bot.session.device_id }), {
    coordinator: new Http({ url: 'http://127.0.0.1:1', ...shared }),
    timers: systemTimers,
    onRenewed: () => assert.fail('a bot’s token is never renewed'),
    onOver: ({ code }) => ends.push(code),
  });
  const read = async () => await session.request(messaging, { method: 'get', path: `/v1/conversations/${room}` });
  await read();
  await running.console('POST', `/bots/${bot.id}/token`);
  await assert.rejects(read(), { code: 'token_invalid' });
  await assert.rejects(read(), { code: 'token_invalid' });
  assert.deepEqual(ends, ['token_invalid']);
});

test('BOT-01 a second socket of a bot takes the place of the first', async () => {
  const { bot } = await seats.seated('single', EVERY_SCOPE);
  const sockets: TestSocket[] = [];
  for (let count = 0; count < 2; count += 1) sockets.push(await connect(running.server, bot));
  assert.equal((await sockets[0]?.closing())?.code, 4001);
  await sockets[1]?.close();
});

test('BOT-01 a bot of the SDK answers commands in the room and to their user alone, and messages of others once', async (t) => {
  const { bot: seat, room } = await seats.seated('sdk', EVERY_SCOPE);
  const troubles: unknown[] = [];
  const uses: { readonly user: string; readonly args: string }[] = [];
  const whispers: (() => Promise<void>)[] = [];
  const bot = new Bot({
    coordinatorUrl: running.server.coordinator,
    messagingUrl: running.server.messaging,
    token: seat.token,
    user: seat.username,
    deviceId: seat.session.device_id,
    onTrouble: (error) => troubles.push(error),
  });
  t.after(() => bot.stop());
  bot
    .command('echo', { description: 'Says it again', usage: 'TEXT' }, async ({ args, reply, user, whisper }) => {
      uses.push({ user, args });
      whispers.push(async () => await whisper('once more'));
      const first = await reply(args);
      await whisper(`said as ${first.seq}`);
    })
    .command('fail', { description: 'Fails' }, () => {
      throw new Error('as it should');
    })
    .onMessage(async ({ message, reply }) => {
      if (message.body === 'ping') await reply('pong');
    });
  await deadline(bot.start(), PATIENCE_MILLIS, 'the bot to start');

  const offered = await running.server.api<{ items: object[] }>(
    people.bob,
    'GET',
    `/v1/conversations/${room}/commands`,
  );
  assert.deepEqual(offered.body.items, [
    { name: 'echo', description: 'Says it again', usage: 'TEXT', bot: 'bot.sdk' },
    { name: 'fail', description: 'Fails', bot: 'bot.sdk' },
  ]);
  const socket = await connect(running.server, people.bob);
  const use = async (command: string, args: string) => {
    const body = { command, args };
    const used = await running.server.api(people.bob, 'POST', `/v1/conversations/${room}/commands`, body);
    assert.equal(used.status, 202, used.text);
  };
  await use('fail', '');
  await use('echo', 'hello');
  const said = await socket.event((event) => event.data['sender'] === 'bot.sdk', 'message.new');
  assert.equal(said.data['body'], 'hello');
  const whispered = await socket.event('command.response');
  assert.deepEqual([whispered.data['bot'], whispered.data['text']], ['bot.sdk', `said as ${said.seq}`]);
  assert.deepEqual(uses, [{ user: 'bob', args: 'hello' }]);
  await until(() => troubles.length > 0, 'the failure of a handler');
  assert.deepEqual(troubles.map(String), ['Error: as it should']);

  // Its own words are not told to it, and it goes on after a response token that is none.
  await say(running.server, people.alice, room, 'ping');
  await socket.event((event) => event.data['body'] === 'pong', 'the answer to a message');
  const wrong = bot.client.call('postResponse', { params: {}, body: { response_token: 'none', text: 'x' } });
  await assert.rejects(wrong, { code: 'response_token_invalid', status: 401 });
  for (let count = 2; count <= 5; count += 1) await whispers[0]?.();
  await assert.rejects(whispers[0]?.() ?? assert.fail('no use'), { code: 'rate_limited' });
  await say(running.server, people.alice, room, 'ping');
  await until(async () => {
    const { body } = await running.server.api<{ items: { body: string }[] }>(
      people.bob,
      'GET',
      `/v1/conversations/${room}/messages`,
    );
    return body.items.filter((item) => item.body === 'pong').length === 2;
  }, 'the second answer');
  await socket.close();
});
