/** Service tokens: from the configuration, between services, and nowhere else (CRD-05). */
import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { ConfigError, readConfig } from '#src/config.ts';
import { ServiceTokens } from '#src/identity/service-tokens.ts';
import { makeBot } from '#test/support/bots.ts';
import { startConsoleServer, type ConsoleServer } from '#test/support/console.ts';
import { request, type Person } from '#test/support/server.ts';
import { refusedUpgrade } from '#test/support/socket.ts';
import { assertRefused } from '#test/messaging/conversing.ts';
import { refusal } from './console-fixture.ts';
import { temporaryFolder } from './coordinator-fixture.ts';

const TOKEN = 'messaging-0123456789-0123456789-0';
const OTHER = 'calendar-0123456789-0123456789-01';

let running: ConsoleServer;
let alice: Person;
before(async () => {
  const environment = { PARLEY_SERVICE_TOKENS: JSON.stringify({ messaging: TOKEN, calendar: OTHER }) };
  running = await startConsoleServer({ shards: 2, environment });
  alice = await running.server.person('alice');
});
after(async () => await running.stop());

const introspect = async (token: string | undefined, asked: unknown) =>
  await request('POST', `${running.server.coordinator}/v1/internal/introspect`, { token, body: { token: asked } });
const readPerson = async (token: string | undefined, username: string) =>
  await request('GET', `${running.server.coordinator}/v1/internal/directory/${username}`, { token });

test('CRD-05 a service learns whose session a token is, and nothing of why one is not', async () => {
  const { token, device_id: device, exp } = alice.session;
  const good = await introspect(TOKEN, token);
  assert.equal(good.status, 200, good.text);
  assert.deepEqual(good.body, { active: true, user: 'alice', device_id: device, exp });
  assert.deepEqual((await introspect(OTHER, token)).body, good.body);
  const ended = await running.server.signIn(alice.username, alice.password);
  await request('POST', `${running.server.coordinator}/v1/auth/logout`, { token: ended.token });
  for (const bad of [ended.token, `${token}x`, 'nonsense', TOKEN]) {
    assert.deepEqual((await introspect(TOKEN, bad)).body, { active: false });
  }
  assertRefused(await introspect(TOKEN, ''), 400, 'field_invalid', 'token');
  assertRefused(await introspect(TOKEN, 'x'.repeat(4_097)), 400, 'field_invalid', 'token');
});

test('CRD-05 a service reads a person', async () => {
  const read = await readPerson(TOKEN, 'alice');
  assert.equal(read.status, 200, read.text);
  assert.deepEqual([read.body['user'], read.body['kind'], read.body['state']], ['alice', 'person', 'active']);
  assertRefused(await readPerson(TOKEN, 'nobody'), 404, 'person_not_found');
});

test('CRD-05 no other credential is let in between services', async () => {
  const bot = await makeBot(running, 'stranger', [], []);
  const vendor = await running.console<{ token: string }>('POST', '/vendor-tokens', {
    name: 'support',
    purpose: 'to be refused',
    term_days: 365,
  });
  assert.equal(vendor.status, 201, vendor.text);
  const strangers = [
    alice.session.token,
    bot.token,
    vendor.body.token,
    `${TOKEN}x`,
    TOKEN.slice(0, -1),
    TOKEN.toUpperCase(),
    'messaging',
  ];
  for (const token of strangers) {
    assertRefused(await introspect(token, alice.session.token), 401, 'token_invalid');
    assertRefused(await readPerson(token, 'alice'), 401, 'token_invalid');
  }
  assertRefused(await readPerson(undefined, 'alice'), 401, 'token_missing');
});

test('CRD-05 a service token opens neither messaging, nor the console, nor what is for clients', async () => {
  const { server } = running;
  const doors: [string, string][] = [
    ['GET', `${server.messaging}/v1/inbox`],
    ['GET', `${server.coordinator}/v1/directory`],
    ['POST', `${server.coordinator}/v1/auth/renew`],
    ['GET', `${server.coordinator}/admin/api/me`],
    ['GET', `${server.coordinator}/admin/api/users`],
  ];
  for (const [method, url] of doors) {
    assertRefused(await request(method, url, { token: TOKEN }), 401, 'token_invalid');
  }
  const admin = await request('GET', `${server.coordinator}/admin/api/me`, { headers: { 'x-admin-token': TOKEN } });
  assertRefused(admin, 401, 'token_invalid');
  const upgrade = await refusedUpgrade(server, `?token=${TOKEN}&device=${alice.session.device_id}`);
  assert.deepEqual([upgrade.status, upgrade.body.code], [401, 'token_invalid']);
  assert.ok(!server.output.join('\n').includes(TOKEN));
});

test('CRD-05 without the setting no token is one', () => {
  const none = new ServiceTokens({});
  assert.throws(() => none.authenticate(TOKEN), refusal('token_invalid'));
  assert.throws(() => none.authenticate(''), refusal('token_missing'));
  assert.equal(new ServiceTokens({ messaging: TOKEN }).authenticate(TOKEN), 'messaging');
});

test('CRD-05 the setting is an object of long tokens that differ, and no message repeats one', (context) => {
  const read = (tokens: unknown) => readConfig({ PARLEY_SERVICE_TOKENS: JSON.stringify(tokens) }).serviceTokens;
  assert.deepEqual(read({ messaging: 'a'.repeat(32), calendar: 'b'.repeat(256) }), {
    messaging: 'a'.repeat(32),
    calendar: 'b'.repeat(256),
  });
  const wrong = [
    { messaging: 'a'.repeat(31) },
    { messaging: 'a'.repeat(257) },
    { messaging: `${'a'.repeat(32)} ` },
    { messaging: 7 },
    { Messaging: TOKEN },
    { messaging: TOKEN, calendar: TOKEN },
    [TOKEN],
    TOKEN,
    null,
  ];
  for (const tokens of wrong) {
    assert.throws(
      () => read(tokens),
      (error: Error) =>
        error instanceof ConfigError &&
        error.message.startsWith('PARLEY_SERVICE_TOKENS is not valid:') &&
        !error.message.includes(TOKEN) &&
        !error.message.includes('a'.repeat(31)),
    );
  }
  assert.throws(() => readConfig({ PARLEY_SERVICE_TOKENS: '{' }), ConfigError);
  const folder = temporaryFolder(context);
  const [file, config] = [join(folder, 'tokens.json'), join(folder, 'config.json')];
  writeFileSync(file, `${JSON.stringify({ messaging: TOKEN })}\n`);
  writeFileSync(config, JSON.stringify({ serviceTokens: { messaging: TOKEN } }));
  assert.deepEqual(readConfig({ PARLEY_SERVICE_TOKENS_FILE: file }).serviceTokens, { messaging: TOKEN });
  assert.deepEqual(readConfig({ PARLEY_CONFIG: config }).serviceTokens, { messaging: TOKEN });
});
