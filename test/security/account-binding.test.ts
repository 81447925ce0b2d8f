/** Single sign-on does not take over accounts: whose account is whose is bound, and never by a name (CRD-13). */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { CALLER_PASSWORD } from '#test/console/callers.ts';
import { codeAt } from '#test/coordinator/console-fixture.ts';
import { shareSsoServer } from './sso-server.ts';

const site = await shareSsoServer();
const codeOf = ({ status, body }: { status: number; body: { code?: string } }) => [status, body.code];
const listed = async () =>
  (await site.ask<{ items: Record<string, string>[] }>('owner', 'GET', '/identity/control/accounts')).body.items;
const setSso = async (more: object) => {
  assert.equal((await site.ask('break_glass', 'PUT', '/settings/sso', { ...site.form, ...more })).status, 200);
};

test('CRD-13 somebody whom the provider calls by the name of an owner does not enter as that owner', async () => {
  await setSso({ groups: {} });
  site.identity.accounts.set('mallory', { preferred_username: 'owner', groups: [] });
  const entered = await site.enter('mallory');
  assert.deepEqual(codeOf(entered), [403, 'sso_not_bound'], entered.text);
  // Nor does it say whether there is such an account.
  site.identity.accounts.set('mallory', { preferred_username: 'no-such-person', groups: [] });
  assert.deepEqual(codeOf(await site.enter('mallory')), [403, 'sso_not_bound']);
});

test('CRD-13 an account is not taken over by the address of its person either, where owners did not say so', async () => {
  const theft = await site.ask('administrator', 'PATCH', '/users/viewer', { email: 'mallory@example.org' });
  assert.deepEqual(codeOf(theft), [403, 'right_missing']);
  await site.ask('owner', 'PATCH', '/users/viewer', { email: 'Viewer@Example.org' });
  site.identity.accounts.set('vera', { preferred_username: 'x', email: 'viewer@example.org', email_verified: true });
  await setSso({ scope: 'openid profile email' });
  assert.deepEqual(codeOf(await site.enter('vera')), [403, 'sso_not_bound']);
  await setSso({ scope: 'openid profile email', bind_by_email: true });
  site.identity.accounts.set('vera', { preferred_username: 'x', email: 'viewer@example.org', email_verified: false });
  assert.deepEqual(codeOf(await site.enter('vera')), [403, 'sso_not_bound']);
  site.identity.accounts.set('vera', { preferred_username: 'x', email: 'viewer@example.org', email_verified: true });
  const entered = await site.enter('vera');
  assert.deepEqual([entered.body.user, entered.body.role], ['viewer', 'viewer'], entered.text);
  // Whoever else comes with the address later finds it bound.
  site.identity.accounts.set('vera-2', { preferred_username: 'y', email: 'viewer@example.org', email_verified: true });
  assert.deepEqual(codeOf(await site.enter('vera-2')), [403, 'sso_not_bound']);
});

test('CRD-13 an owner is bound by nobody else: not by an address, not by an administrator, not by an owner', async () => {
  await site.ask('break_glass', 'PATCH', '/users/owner', { email: 'owner@example.org' });
  site.identity.accounts.set('thief', { preferred_username: 'z', email: 'owner@example.org', email_verified: true });
  assert.deepEqual(codeOf(await site.enter('thief')), [403, 'sso_not_bound']);
  for (const who of ['administrator', 'owner', 'break_glass'] as const) {
    const bound = await site.ask(who, 'PUT', '/sso/identities/owner', { subject: 'thief' });
    assert.deepEqual(codeOf(bound), [403, 'owner_binds_own_account'], who);
  }
});

test('CRD-13 an administrator binds a person, who then enters whatever the provider calls them; unbinding ends it', async () => {
  site.identity.accounts.set('anna', { preferred_username: 'owner', groups: [] });
  const bind = async (user: string, subject: string) =>
    await site.ask('administrator', 'PUT', `/sso/identities/${user}`, { subject });
  assert.deepEqual(codeOf(await bind('nobody', 'anna')), [404, 'person_not_found']);
  // Somebody else's way into the console is no administrator's to make.
  assert.deepEqual(codeOf(await bind('viewer', 'anna')), [403, 'right_missing']);
  assert.equal((await bind('administrator', 'anna')).status, 204);
  const entered = await site.enter('anna');
  assert.deepEqual([entered.body.user, entered.body.role], ['administrator', 'administrator'], entered.text);
  const taken = await site.ask('owner', 'PUT', '/sso/identities/newcomer', { subject: 'anna' });
  assert.deepEqual(codeOf(taken), [409, 'sso_identity_taken']);
  const [first] = await listed();
  assert.deepEqual(
    [first?.['user'], first?.['subject'], first?.['bound_by']],
    ['administrator', 'anna', 'administrator'],
  );
  const me = async () => await site.as(entered.body.token, 'GET', '/me');
  assert.equal((await me()).status, 200);
  assert.equal((await site.ask('owner', 'DELETE', '/sso/identities/administrator')).status, 204);
  assert.deepEqual(codeOf(await me()), [401, 'token_invalid']);
  assert.deepEqual(codeOf(await site.enter('anna')), [403, 'sso_not_bound']);
  assert.deepEqual(codeOf(await site.ask('owner', 'DELETE', '/sso/identities/administrator')), [
    404,
    'sso_identity_not_found',
  ]);
});

test('CRD-13 a name that was nobody’s is not a way into the account that is made under it later', async () => {
  site.identity.accounts.set('early', { preferred_username: 'chief', groups: ['staff'] });
  const early = await site.enter('early');
  assert.deepEqual([early.body.user, early.body.role], ['chief', 'viewer'], early.text);
  const form = { username: 'chief', password: 'heron over the quiet lake' };
  assert.equal((await site.ask('administrator', 'POST', '/users', form)).status, 201);
  assert.deepEqual(codeOf(await site.as(early.body.token, 'GET', '/me')), [401, 'token_invalid']);
  await site.ask('break_glass', 'PUT', '/console-roles/chief', { role: 'administrator' });
  assert.deepEqual(codeOf(await site.enter('early')), [403, 'sso_not_bound']);
});

// The last one: confirming a factor ends the planted sessions of the owner.
test('CRD-13 an owner binds their own account from a session of theirs, with the second factor again', async () => {
  const login = { username: 'owner', password: CALLER_PASSWORD };
  const { token } = (await site.ask<{ token: string }>('nobody', 'POST', '/login', login)).body;
  const { secret } = (await site.as<{ secret: string }>(token, 'POST', '/second-factor/setup')).body;
  await site.as(token, 'POST', '/second-factor/confirm', { code: codeAt(secret, Date.now()) });
  const start = async () =>
    await site.as<{ redirect_url: string; ticket: string; code: string }>(token, 'GET', '/sso/binding');
  assert.deepEqual(codeOf(await start()), [403, 'step_up_required']);
  await site.as(token, 'POST', '/step-up', { code: codeAt(secret, Date.now() + 30_000) });
  site.identity.accounts.set('olaf', { preferred_username: 'somebody', groups: [] });
  const returned = await site.walk((await start()).body, 'olaf');
  // In another session it binds nobody.
  assert.deepEqual(codeOf(await site.ask('administrator', 'POST', '/sso/binding', returned)), [401, 'sso_failed']);
  const bound = await site.as(token, 'POST', '/sso/binding', returned);
  assert.equal(bound.status, 204, bound.text);
  const entered = await site.enter('olaf');
  assert.deepEqual([entered.body.user, entered.body.role], ['owner', 'owner'], entered.text);
  const trail = await site.ask<{ items: { about: string }[] }>('viewer', 'GET', '/audit?event=sso.identity_bound');
  assert.equal(trail.body.items[0]?.about, 'user:owner');
});
