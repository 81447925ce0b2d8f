/**
 * Whether somebody who signs in at a provider is asked for a second factor here, too (TFA-01, CRD-10), and what they may be
 * taken for when a provisioning client writes addresses as well (CRD-13).
 */
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import type { Session } from '#src/protocol/sessions/sessions.ts';
import { CALLER_PASSWORD } from '#test/console/callers.ts';
import { codeAt } from '#test/coordinator/console-fixture.ts';
import { APP_CLIENT_ID, CLIENT_SECRET } from '#test/coordinator/identity-provider.ts';
import { startScriptedLdap } from '#test/ldap/scripted-ldap.ts';
import { makeScimClient, patchOf, USER } from '#test/scim/scim-client.ts';
import { request, type Reply } from '#test/support/server.ts';
import { until } from '#test/support/waiting.ts';
import { appBrowser } from './app-browser.ts';
import { shareSsoServer } from './sso-server.ts';

const APP = 'https://chat.example.org/signed-in';
const site = await shareSsoServer({ PARLEY_RATE_LIMITS: '0', PARLEY_ALLOW_PRIVATE_TARGETS: '127.0.0.1,localhost' }, [
  '/v1/auth/sso/office/callback',
]);
const { server } = site;
const office = {
  name: 'Work',
  issuer: site.identity.issuer,
  client_id: APP_CLIENT_ID,
  client_secret: CLIENT_SECRET,
  creates_people: true,
};
const putOffice = async (more: object) =>
  assert.equal((await site.ask('owner', 'PUT', '/sso/providers/office', { ...office, ...more })).status, 200);
await putOffice({});
assert.equal((await site.ask('owner', 'PUT', '/settings/sign-in', { app_redirects: APP })).status, 200);
const { back, exchange, start } = appBrowser(server.coordinator, APP);
const refusal = ({ status, body }: { status: number; body: { code?: string } }) => [status, body.code];

site.identity.accounts.set('s-tom', { preferred_username: 'tom' });

async function walk(subject: string) {
  const { cookie, location, verifier } = await start('office');
  return { ...(await back(await site.identity.signIn(location.href, subject), cookie)), verifier };
}
const errorOf = async (subject: string) => (await walk(subject)).to?.searchParams.get('error');
async function signIn(subject: string) {
  const { to, verifier } = await walk(subject);
  return await exchange(to?.searchParams.get('code'), verifier);
}

test('TFA-01 what a provider opened needs no second factor here, unless the installation says so', async () => {
  const setRule = async (form: object) => {
    const answer = await site.ask('owner', 'PUT', '/settings/second-factors', form);
    assert.equal(answer.status, 200, answer.text);
  };
  await setRule({ everybody: true });
  const exempt = await signIn('s-tom');
  assert.deepEqual([exempt.status, exempt.body.second_factor], [200, undefined]);
  await setRule({ exempt_providers: false });
  const { body: session } = await signIn('s-tom');
  assert.equal(session.second_factor, 'enrollment');
  const own = async <T>(path: string, body: object = {}) =>
    await request<T>('POST', `${server.coordinator}/v1/me/second-factors${path}`, { token: session.token, body });
  // A sign-in of just now proves it, to whom no password was ever told.
  assert.deepEqual(refusal(await own('/proof', { password: 'any' })), [403, 'password_at_provider']);
  const { body: setup } = await own<{ secret: string }>('/totp');
  assert.equal((await own('/totp/confirm', { code: codeAt(setup.secret, Date.now()) })).status, 200);
  const asked = (await signIn('s-tom')) as unknown as Reply<{ code: string; second_factor: { challenge: string } }>;
  assert.deepEqual(refusal(asked), [401, 'second_factor_required']);
  const { challenge } = asked.body.second_factor;
  // The next one is good for half a minute at least, and later than the one that was used.
  const form = { body: { challenge, code: codeAt(setup.secret, Date.now() + 30_000) } };
  const done = await request<Session>('POST', `${server.coordinator}/v1/auth/second-factor`, form);
  assert.deepEqual([done.status, done.body.user], [200, 'tom']);
  await setRule({ exempt_providers: null });
  assert.equal((await signIn('s-tom')).status, 200);
  await setRule({ everybody: null });
});

test('CRD-13 an address that a provisioning client gives to an account which is there opens it for nobody', async () => {
  const asOwner = async (method: string, path: string, body?: unknown) => await site.ask('owner', method, path, body);
  const client = await makeScimClient(server, asOwner as Parameters<typeof makeScimClient>[1], 'Personnel');
  const make = async (userName: string, address: string) => {
    const made = await client.ask('POST', '/Users', { schemas: [USER], userName, emails: [{ value: address }] });
    assert.equal(made.status, 201);
  };
  const give = async (userName: string, address: string) => {
    const operation = { op: 'replace', path: 'emails', value: [{ value: address }] };
    assert.equal((await client.ask('PATCH', `/Users/${userName}`, patchOf(operation))).status, 200);
  };
  const claim = (subject: string, email: string) =>
    site.identity.accounts.set(subject, { preferred_username: 'nobody-here', email, email_verified: true });
  await putOffice({ bind_by_email: true, creates_people: false });
  await make('nora', 'nora@example.org');
  await give('nora', 'Thief@example.org');
  claim('s-thief', 'thief@example.org');
  assert.equal(await errorOf('s-thief'), 'sso_not_bound');
  // Nor after it was another one in between.
  await give('nora', 'nora@example.org');
  await give('nora', 'thief@example.org');
  assert.equal(await errorOf('s-thief'), 'sso_not_bound');
  // An address that somebody has here opens theirs, whoever is given it besides.
  await asOwner('POST', '/users', { username: 'zoe', password: CALLER_PASSWORD, email: 'zoe@example.org' });
  await make('mole', 'zoe@example.org');
  claim('s-zoe', 'zoe@example.org');
  assert.equal((await signIn('s-zoe')).body.user, 'zoe');
  // What a person was made with opens their account, and what an administrator says does.
  await make('olga', 'olga@example.org');
  claim('s-olga', 'olga@example.org');
  assert.equal((await signIn('s-olga')).body.user, 'olga');
  assert.equal((await asOwner('DELETE', `/scim-clients/${client.id}`)).status, 204);
  assert.equal(await errorOf('s-thief'), 'sso_not_bound');
  await asOwner('PATCH', '/users/nora', { email: 'nora@example.org' });
  claim('s-nora', 'nora@example.org');
  assert.equal((await signIn('s-nora')).body.user, 'nora');
  await putOffice({});
});

test('CRD-13 nor does an address that a directory server says of somebody later, or of two', async () => {
  const ask = async <T>(method: string, path: string, body?: unknown) => await site.ask<T>('owner', method, path, body);
  const claim = (subject: string, email: string) =>
    site.identity.accounts.set(subject, { preferred_username: 'nobody-here', email, email_verified: true });
  await putOffice({ bind_by_email: true, creates_people: false });
  await ask('POST', '/users', { username: 'zita', password: CALLER_PASSWORD, email: 'zita@example.org' });
  // In many directories people write their address themselves.
  const mails = new Map([
    ['lena', 'lena@example.org'],
    ['mona', 'zita@example.org'],
    ['olaf', 'olaf@example.org'],
  ]);
  const people = await startScriptedLdap({ after: (end) => after(end) }, ({ isForDisabled }) => ({
    entries: [...(isForDisabled ? [] : mails)].map(([uid, mail]) => {
      return { dn: `uid=${uid},dc=people`, uid, mail, cn: uid, entryUUID: `id of ${uid}` };
    }),
  }));
  const form = { url: people.url, start_tls: false, bind_dn: 'cn=admin', bind_password: 'heron', base_dn: 'dc=people' };
  const set = await ask('PUT', '/settings/ldap', { ...form, creates_people: true, sync_seconds: 1 });
  assert.equal(set.status, 200, set.text);
  const addressOf = async (user: string) => (await ask<{ email?: string }>('GET', `/users/${user}`)).body.email;
  const said = async (user: string) =>
    await until(async () => (await addressOf(user)) === mails.get(user) || undefined, `the address of ${user}`);
  for (const user of mails.keys()) await said(user);
  mails.set('lena', 'victim@example.org');
  await said('lena');
  claim('s-victim', 'victim@example.org');
  assert.equal(await errorOf('s-victim'), 'sso_not_bound');
  claim('s-zita', 'zita@example.org');
  assert.equal((await signIn('s-zita')).body.user, 'zita');
  // What somebody was made with opens their account.
  claim('s-olaf', 'olaf@example.org');
  assert.equal((await signIn('s-olaf')).body.user, 'olaf');
  assert.equal((await ask('PUT', '/settings/ldap', { base_dn: null })).status, 200);
  await putOffice({});
});
