/** Whether somebody who signs in at a provider is asked for a second factor here, too (TFA-01, CRD-10). */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Session } from '#src/protocol/sessions/sessions.ts';
import { codeAt } from '#test/coordinator/console-fixture.ts';
import { APP_CLIENT_ID, CLIENT_SECRET } from '#test/coordinator/identity-provider.ts';
import { request, type Reply } from '#test/support/server.ts';
import { appBrowser } from './app-browser.ts';
import { shareSsoServer } from './sso-server.ts';

const APP = 'https://chat.example.org/signed-in';
const site = await shareSsoServer({ PARLEY_RATE_LIMITS: '0' }, ['/v1/auth/sso/office/callback']);
const { server } = site;
const office = {
  name: 'Work',
  issuer: site.identity.issuer,
  client_id: APP_CLIENT_ID,
  client_secret: CLIENT_SECRET,
  creates_people: true,
};
assert.equal((await site.ask('owner', 'PUT', '/sso/providers/office', office)).status, 200);
assert.equal((await site.ask('owner', 'PUT', '/settings/sign-in', { app_redirects: APP })).status, 200);
const { back, start } = appBrowser(server.coordinator, APP);
const refusal = ({ status, body }: { status: number; body: { code?: string } }) => [status, body.code];

site.identity.accounts.set('s-tom', { preferred_username: 'tom' });

async function signIn(subject: string) {
  const { cookie, location, verifier } = await start('office');
  const { to } = await back(await site.identity.signIn(location.href, subject), cookie);
  const body = { code: to?.searchParams.get('code'), code_verifier: verifier, redirect_uri: APP };
  return await request<Session & { code: string }>('POST', `${server.coordinator}/v1/auth/sso/token`, { body });
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
