/** An administrator who would be an owner, and a thief of an owner's token: what neither of them changes (VND-17). */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { asksStepUp } from '#src/console/route.ts';
import { consoleRoutes } from '#src/console/route-table.ts';
import { CALLER_PASSWORD } from '#test/console/callers.ts';
import { codeAt } from '#test/coordinator/console-fixture.ts';
import { request } from '#test/support/server.ts';
import { shareSsoServer } from './sso-server.ts';

const site = await shareSsoServer();
const codeOf = ({ status, body }: { status: number; body: { code?: string } }) => [status, body.code];

/** Signs somebody in with an app as far as their password goes; answers what gives the second factor. */
async function halfSignIn() {
  const { coordinator } = site.server;
  const { messaging_session: headers } = site.callers;
  const factors = `${coordinator}/v1/me/second-factors/totp`;
  const { secret } = (await request<{ secret: string }>('POST', factors, { headers })).body;
  const body = { code: codeAt(secret, Date.now()) };
  const enrolled = await request('POST', `${factors}/confirm`, { headers, body });
  assert.equal(enrolled.status, 200, enrolled.text);
  const login = { username: 'someone', password: CALLER_PASSWORD };
  const asked = await request<{ second_factor: { challenge: string } }>('POST', `${coordinator}/v1/auth/login`, {
    body: login,
  });
  const { challenge } = asked.body.second_factor;
  return async () =>
    await request<{ code: string }>('POST', `${coordinator}/v1/auth/second-factor`, {
      // The next one is good for half a minute at least, and later than the one that was used.
      body: { challenge, code: codeAt(secret, Date.now() + 30_000) },
    });
}

/** Signs the owner in by password, with a second factor of their own; the session is full and has not stepped up. */
async function signInOwner() {
  const login = { username: 'owner', password: CALLER_PASSWORD };
  const { token } = (await site.ask<{ token: string }>('nobody', 'POST', '/login', login)).body;
  const { secret } = (await site.as<{ secret: string }>(token, 'POST', '/second-factor/setup')).body;
  const code = codeAt(secret, Date.now());
  const confirmed = await site.as<{ recovery_codes: string[] }>(token, 'POST', '/second-factor/confirm', { code });
  assert.equal(confirmed.status, 200, confirmed.text);
  return { token, secret, code, recoveryCodes: confirmed.body.recovery_codes };
}

test('VND-17 an administrator does not come back as owner from a provider of their own', async () => {
  site.identity.accounts.set('mallory', { preferred_username: 'nobody-here', groups: ['admins'] });
  const set = await site.ask('administrator', 'PUT', '/settings/sso', site.form);
  const entered = set.status === 200 ? await site.enter('mallory') : undefined;
  const token = { name: 'x', purpose: 'to read everything', term_days: 365 };
  const issued = entered === undefined ? undefined : await site.as(entered.body.token, 'POST', '/vendor-tokens', token);
  assert.deepEqual([set.status, set.body['code'], issued?.status], [403, 'right_missing', undefined]);
});

test('VND-17 settings of sign-in, directory and retention, and the key to releases, are the owner’s', async () => {
  const forms: [path: string, body: object][] = [
    ['/settings/sign-in', { sign_in_mode: 'identity' }],
    ['/settings/ldap', { url: 'ldaps://ldap.example.org' }],
    ['/settings/retention', { seconds: 60 }],
    ['/clients', { publish_token: 'x'.repeat(43) }],
  ];
  for (const [path, body] of forms) {
    assert.deepEqual(codeOf(await site.ask('administrator', 'PUT', path, body)), [403, 'right_missing'], path);
  }
});

test('VND-17 what is known of an owner, and an owner’s sessions, are for owners to change', async () => {
  const change = await site.ask('administrator', 'PATCH', '/users/owner', { email: 'mallory@example.org' });
  assert.deepEqual(codeOf(change), [403, 'right_missing']);
  const end = await site.ask('administrator', 'DELETE', '/users/owner/sessions/s_0123456789abcdefghjkmn');
  assert.deepEqual(codeOf(end), [403, 'right_missing']);
  const other = await site.ask('administrator', 'PATCH', '/users/viewer', { title: 'Reader' });
  assert.equal(other.status, 200, other.text);
});

test('VND-17 every route by which access, keys and clear data go asks for the second factor again', async () => {
  const asking = consoleRoutes()
    .map(({ route }) => route)
    .filter(asksStepUp);
  for (const { method, path } of asking) {
    const concrete = path.replaceAll(/:\w+/g, 'nothing');
    const refused = await site.ask('owner_before_step_up', method.toUpperCase(), concrete);
    assert.deepEqual(codeOf(refused), [403, 'step_up_required'], `${method} ${path}`);
  }
  const names = asking.map(({ method, path }) => `${method} ${path}`);
  const wanted = [
    'put /settings/sso',
    'put /settings/sign-in',
    'put /settings/ldap',
    'put /settings/retention',
    'put /retention/hold',
    'put /retention/shortening',
    'delete /retention/shortening',
    'put /conversations/:id/hold',
    'put /console-roles/:user',
    'put /break-glass',
    'post /encryption/enable',
    'post /encryption/lock',
    'post /encryption/rotate-master',
    'get /encryption/recovery-sheet',
    'get /message-export',
    'post /vendor-tokens',
    'post /vendor-tokens/:id/revoke',
    'delete /second-factors/:user',
    'delete /sso/identities/:user',
    'put /sso/identities/:user',
    'get /sso/binding',
    'put /clients',
  ];
  assert.deepEqual(
    wanted.filter((name) => !names.includes(name)),
    [],
  );
});

test('VND-17 within routes of administrators, what makes or shuts out an owner asks for it too', async () => {
  const invited = await site.ask('owner_before_step_up', 'POST', '/enroll', { kind: 'owner' });
  assert.deepEqual(codeOf(invited), [403, 'step_up_required']);
  const blocked = await site.ask('owner_before_step_up', 'POST', '/users/owner/block');
  assert.deepEqual(codeOf(blocked), [403, 'step_up_required']);
  const person = await site.ask('owner_before_step_up', 'POST', '/enroll', { kind: 'person' });
  assert.equal(person.status, 201, person.text);
});

test('VND-17 a code steps a session up, once; a code that signed in does not do so again', async () => {
  const { code, recoveryCodes, secret, token } = await signInOwner();
  const set = async () => await site.as(token, 'PUT', '/retention/shortening', { seconds: 86_400, confirm: '1 day' });
  assert.deepEqual(codeOf(await set()), [403, 'step_up_required']);
  assert.deepEqual(codeOf(await site.as(token, 'POST', '/step-up', { code })), [401, 'second_factor_wrong']);
  const both = { code, recovery_code: recoveryCodes[0] };
  for (const form of [{}, both]) {
    assert.deepEqual(codeOf(await site.as(token, 'POST', '/step-up', form)), [400, 'field_invalid']);
  }
  const next = codeAt(secret, Date.now() + 30_000);
  const stepped = await site.as<{ expires_at: string }>(token, 'POST', '/step-up', { code: next });
  assert.equal(stepped.status, 200, stepped.text);
  assert.ok(Date.parse(stepped.body.expires_at) <= Date.now() + 300_000);
  assert.equal((await set()).status, 200);
  const trail = await site.ask<{ items: { actor: string }[] }>('viewer', 'GET', '/audit?event=console.stepped_up');
  assert.deepEqual(
    trail.body.items.map(({ actor }) => actor),
    ['user:owner'],
  );
});

test('VND-14 VND-17 passwords are not switched off before an owner has come in by the provider, nor are its settings changed then', async () => {
  const owner = async (method: string, path: string, body?: unknown) =>
    await site.ask('break_glass', method, path, body);
  const toIdentity = async () => await owner('PUT', '/settings/sign-in', { sign_in_mode: 'identity' });
  assert.equal((await owner('PUT', '/settings/sso', site.form)).status, 200);
  assert.deepEqual(codeOf(await toIdentity()), [409, 'sso_owner_required']);
  // A viewer from there is no owner.
  site.identity.accounts.set('vera', { preferred_username: 'vera', groups: ['staff'] });
  assert.equal((await site.enter('vera')).body.role, 'viewer');
  assert.deepEqual(codeOf(await toIdentity()), [409, 'sso_owner_required']);
  site.identity.accounts.set('boss', { preferred_username: 'boss', groups: ['admins'] });
  assert.equal((await site.enter('boss')).body.role, 'owner');
  const finish = await halfSignIn();
  assert.equal((await toIdentity()).status, 200);
  // A sign-in that waited for its second factor is over with the passwords.
  assert.deepEqual(codeOf(await finish()), [403, 'sign_in_by_identity']);
  const ways = await site.ask('nobody', 'GET', '/login');
  assert.deepEqual(ways.body, { sign_in_mode: 'identity', sso: true });
  const byPassword = await site.ask('nobody', 'POST', '/login', { username: 'viewer', password: CALLER_PASSWORD });
  assert.deepEqual(codeOf(byPassword), [403, 'sign_in_by_identity']);
  // CRD-12: a client's session goes on, and its password is the provider's to change.
  const change = await request<{ code: string }>('POST', `${site.server.coordinator}/v1/me/password`, {
    headers: site.callers.messaging_session,
    body: { current: CALLER_PASSWORD, new: 'heron over the quiet lake', end_others: false },
  });
  assert.deepEqual(codeOf(change), [403, 'password_at_provider']);
  const away = await owner('PUT', '/settings/sso', { groups: {} });
  assert.deepEqual(codeOf(away), [409, 'sso_in_use']);
  assert.deepEqual(codeOf(await owner('DELETE', '/sso/identities/boss')), [409, 'sso_in_use']);
  assert.equal((await owner('PUT', '/settings/sign-in', { sign_in_mode: 'local' })).status, 200);
  // Changed since: whoever came in by the settings before proves nothing about these.
  assert.equal((await owner('PUT', '/settings/sso', { groups: { admins: 'owner' } })).status, 200);
  assert.deepEqual(codeOf(await toIdentity()), [409, 'sso_owner_required']);
});

test('VND-17 a session of the provider steps up by signing in there anew', async () => {
  site.identity.accounts.set('boss', { preferred_username: 'boss', groups: ['admins'] });
  const { token } = (await site.enter('boss')).body;
  const set = async () =>
    await site.as(token, 'PUT', '/retention/shortening', { seconds: 90_000, confirm: '25 hours' });
  assert.deepEqual(codeOf(await set()), [403, 'step_up_required']);
  const byCode = await site.as(token, 'POST', '/step-up', { code: '123456' });
  assert.deepEqual(codeOf(byCode), [403, 'step_up_at_provider']);
  const start = async () =>
    (await site.as<{ redirect_url: string; ticket: string }>(token, 'GET', '/step-up/sso')).body;
  const started = await start();
  const asked = new URL(started.redirect_url).searchParams;
  assert.deepEqual([asked.get('prompt'), asked.get('max_age')], ['login', '0']);
  // Another account there, and a ticket of a sign-in, are not it.
  const mallory = await site.as(token, 'POST', '/step-up/sso/callback', await site.walk(await start(), 'mallory'));
  assert.deepEqual(codeOf(mallory), [401, 'sso_failed']);
  const signIn = (await site.ask<{ redirect_url: string; ticket: string }>('nobody', 'GET', '/sso/start')).body;
  const slipped = await site.as(token, 'POST', '/step-up/sso/callback', await site.walk(signIn, 'boss'));
  assert.deepEqual(codeOf(slipped), [401, 'sso_failed']);
  // A provider that was talked out of asking again does not say when there was a sign-in.
  const quiet = await start();
  const url = new URL(quiet.redirect_url);
  for (const name of ['prompt', 'max_age']) url.searchParams.delete(name);
  const unasked = await site.walk({ ...quiet, redirect_url: url.href }, 'boss');
  const refused = await site.as(token, 'POST', '/step-up/sso/callback', unasked);
  assert.deepEqual(codeOf(refused), [403, 'reauthentication_missing']);
  const done = await site.as(token, 'POST', '/step-up/sso/callback', await site.walk(started, 'boss'));
  assert.equal(done.status, 200, done.text);
  assert.equal((await set()).status, 200);
  // CRD-07: an owner by the provider's word, whom it alone knows, and who is then somebody here. A block ends what they handed out.
  const links: string[] = [];
  for (let count = 0; count < 2; count += 1) {
    const made = await site.as<{ url: string }>(token, 'POST', '/enroll', { kind: 'admin' });
    assert.equal(made.status, 201, made.text);
    links.push(made.body.url);
  }
  const exchanged = async (username: string) =>
    await request<{ code: string }>('POST', links.pop() ?? '', { body: { username, password: CALLER_PASSWORD } });
  assert.equal((await exchanged('helper')).status, 201);
  const account = await site.ask('administrator', 'POST', '/users', { username: 'boss', password: CALLER_PASSWORD });
  assert.equal(account.status, 201, account.text);
  assert.equal((await site.ask('administrator', 'POST', '/users/boss/block')).status, 200);
  assert.deepEqual(codeOf(await exchanged('late')), [410, 'invitation_used']);
});
