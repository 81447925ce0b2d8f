/** Providers that sign people out: what ends with it, and logout tokens that are none (CRD-08). */
import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { after, test } from 'node:test';
import type { Session } from '#src/protocol/sessions/sessions.ts';
import { request, type Person } from '#test/support/server.ts';
import { connect } from '#test/support/socket.ts';
import { appBrowser } from './app-browser.ts';
import { startForgedProvider } from './forged-provider.ts';
import { shareSsoServer } from './sso-server.ts';

const APP = 'https://chat.example.org/signed-in';
/** Whom the first walk makes. */
const FELIX = { sub: 'felix', preferred_username: 'felix' };

const site = await shareSsoServer({ PARLEY_RATE_LIMITS: '0' }, []);
const { server } = site;
const forged = await startForgedProvider({ after: (end) => after(end) });
const put = await site.ask('owner', 'PUT', '/sso/providers/forged', {
  ...{ name: 'Forged', issuer: forged.issuer, client_id: 'forged', creates_people: true },
});
assert.equal(put.status, 200, put.text);
await site.ask('owner', 'PUT', '/settings/sign-in', { app_redirects: APP });

const refusal = ({ status, body }: { status: number; body: { code?: string } }) => [status, body.code];
const { back, exchange, start } = appBrowser(server.coordinator, APP);
const asPerson = ({ body }: { body: Session }): Person => ({ username: body.user, password: '', session: body });
const directory = async (token: string) =>
  await request('GET', `${server.coordinator}/v1/directory`, { headers: { authorization: `Bearer ${token}` } });

/** A logout token as the forged provider signs it. */
async function logOut(claims: object, how?: Parameters<typeof forged.sign>[1], type = 'logout+jwt') {
  const now = Math.floor(Date.now() / 1_000);
  const events = { 'http://schemas.openid.net/event/backchannel-logout': {} };
  const whole = {
    iss: forged.issuer,
    aud: 'forged',
    iat: now,
    exp: now + 120,
    jti: randomBytes(8).toString('hex'),
    events,
    ...claims,
  };
  return await sendLogout(new URLSearchParams({ logout_token: await forged.sign(whole, how, type) }));
}
const sendLogout = async (body: URLSearchParams | string, type = 'application/x-www-form-urlencoded') => {
  const answer = await fetch(`${server.coordinator}/v1/auth/sso/forged/logout`, {
    method: 'POST',
    headers: { 'content-type': type },
    body: body.toString(),
  });
  const text = await answer.text();
  return {
    status: answer.status,
    body: text === '' ? {} : JSON.parse(text),
    cache: answer.headers.get('cache-control'),
  };
};
/** A walk to the forged provider and back; answers the code for the app. */
async function walkForged(claims: object): Promise<{ code: string | null; verifier: string }> {
  const { cookie, location, verifier } = await start('forged');
  const now = Math.floor(Date.now() / 1_000);
  const nonce = location.searchParams.get('nonce') as string;
  forged.give({ iss: forged.issuer, aud: 'forged', iat: now, exp: now + 60, nonce, ...claims });
  const state = location.searchParams.get('state') as string;
  const { to } = await back(`${server.coordinator}/v1/auth/sso/forged/callback?code=c&state=${state}`, cookie);
  return { code: to?.searchParams.get('code') ?? null, verifier };
}
async function enterForged(claims: object): Promise<Session> {
  const { code, verifier } = await walkForged(claims);
  return (await exchange(code, verifier)).body;
}

test('CRD-08 a provider that logs somebody out ends the sessions that it opened, and closes their sockets', async () => {
  await walkForged(FELIX);
  const [phone, laptop] = [
    await enterForged({ sub: 'felix', sid: 'at-phone' }),
    await enterForged({ sub: 'felix', sid: 'at-laptop' }),
  ];
  const socket = await connect(server, asPerson({ body: phone }));
  const bad: [object, Parameters<typeof forged.sign>[1]?, string?][] = [
    [{ sub: 'felix', iss: site.identity.issuer }],
    [{ sub: 'felix', aud: 'another' }],
    [{ sub: 'felix', nonce: 'n' }],
    [{ sub: 'felix', events: {} }],
    [{ sub: 'felix', events: { 'http://schemas.openid.net/event/backchannel-logout': 'x' } }],
    [{ sub: 'felix', events: undefined }],
    [{ sub: 'felix', jti: undefined }],
    [{ sub: 'felix', iat: Math.floor(Date.now() / 1_000) - 900 }],
    [{ sub: 'felix', iat: Math.floor(Date.now() / 1_000) + 900 }],
    [{ sub: 'felix', exp: Math.floor(Date.now() / 1_000) - 120 }],
    [{ sub: 'felix', exp: undefined }],
    [{}],
    [{ sub: 'felix' }, 'none'],
    [{ sub: 'felix' }, 'with-public-key'],
    [{ sub: 'felix' }, 'with-other-key'],
    [{ sub: 'felix' }, 'rightly', 'at+jwt'],
  ];
  for (const [claims, how, type] of bad) {
    const answer = await logOut(claims, how, type);
    assert.deepEqual(
      [...refusal(answer), answer.cache],
      [400, 'logout_token_invalid', 'no-store'],
      JSON.stringify([claims, how, type]),
    );
  }
  assert.deepEqual(refusal(await sendLogout('logout_token=a&logout_token=b')), [400, 'field_invalid']);
  assert.deepEqual(refusal(await sendLogout('{"logout_token":"a"}', 'application/json')), [400, 'body_not_json']);
  assert.equal((await directory(phone.token)).status, 200);
  // A session of another subject ends nothing.
  assert.equal((await logOut({ sub: 'somebody-else', sid: 'at-phone' })).status, 200);
  assert.equal((await directory(phone.token)).status, 200);
  const ended = await logOut({ sid: 'at-phone', jti: 'this-one' });
  assert.equal(ended.status, 200, JSON.stringify(ended.body));
  assert.equal((await socket.closing()).code, 4401);
  assert.deepEqual(refusal(await directory(phone.token)), [401, 'session_revoked']);
  assert.equal((await directory(laptop.token)).status, 200);
  assert.deepEqual(refusal(await logOut({ sid: 'at-laptop', jti: 'this-one' })), [400, 'logout_token_invalid']);
  assert.equal((await logOut({ sub: 'felix' })).status, 200);
  assert.deepEqual(refusal(await directory(laptop.token)), [401, 'session_revoked']);
  const trail = await site.ask<{ items: { about: string }[] }>('viewer', 'GET', '/audit?event=sso.logged_out');
  assert.deepEqual(
    trail.body.items.map(({ about }) => about),
    ['user:felix', 'user:felix'],
  );
});

test('CRD-08 a code made before its person signed out at the provider opens nothing', async () => {
  await walkForged(FELIX);
  const [kept, over] = [
    await walkForged({ sub: 'felix', sid: 'at-desk' }),
    await walkForged({ sub: 'felix', sid: 'at-kiosk' }),
  ];
  assert.equal((await logOut({ sub: 'felix', sid: 'at-kiosk' })).status, 200);
  assert.deepEqual(refusal(await exchange(over.code, over.verifier)), [401, 'sso_code_invalid']);
  assert.equal((await exchange(kept.code, kept.verifier)).status, 200);
});
