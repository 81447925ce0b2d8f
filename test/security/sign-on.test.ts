/** Signing people in at providers for their apps: the walk of a browser, and everything that is not one (CRD-10, CRD-13). */
import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { after, test } from 'node:test';
import { CALLER_PASSWORD } from '#test/console/callers.ts';
import { ParleyClient } from '#src/client/parley-client.ts';
import { beginSignOn, finishSignOn } from '#src/client/sign-on.ts';
import { APP_CLIENT_ID, CLIENT_SECRET } from '#test/coordinator/identity-provider.ts';
import type { Session } from '#src/protocol/sessions/sessions.ts';
import { request, type Person } from '#test/support/server.ts';
import { connect } from '#test/support/socket.ts';
import { appBrowser } from './app-browser.ts';
import { startForgedProvider } from './forged-provider.ts';
import { shareSsoServer } from './sso-server.ts';

const APP = 'https://chat.example.org/signed-in';
const PATHS = ['office', 'twin'].map((id) => `/v1/auth/sso/${id}/callback`);

const site = await shareSsoServer({ PARLEY_RATE_LIMITS: '0' }, PATHS);
const { server } = site;
const forged = await startForgedProvider({ after: (end) => after(end) });

const work = {
  name: 'Work',
  issuer: site.identity.issuer,
  client_id: APP_CLIENT_ID,
  client_secret: CLIENT_SECRET,
  creates_people: true,
};
const put = async (id: string, more: object = {}) => {
  const answer = await site.ask<{ redirect_uri: string; dropped: string[]; client_secret: { set: boolean } }>(
    'owner',
    'PUT',
    `/sso/providers/${id}`,
    { ...work, ...more },
  );
  assert.equal(answer.status, 200, answer.text);
  return answer.body;
};
await put('office');
await put('twin');
await put('forged', { name: 'Forged', issuer: forged.issuer, client_id: 'forged', client_secret: undefined });
await site.ask('owner', 'PUT', '/settings/sign-in', {
  app_redirects: `${APP},http://127.0.0.1/app, com.example.chat:/in`,
});

const refusal = ({ status, body }: { status: number; body: { code?: string } }) => [status, body.code];

const { back, exchange, start } = appBrowser(server.coordinator, APP);

/** The whole walk. */
async function walk(subject: string, id = 'office') {
  const started = await start(id);
  const returned = await back(await site.identity.signIn(started.location.href, subject), started.cookie);
  return { ...started, ...returned, code: returned.to?.searchParams.get('code') ?? null };
}
async function signIn(subject: string) {
  const { code, to, verifier } = await walk(subject);
  assert.ok(code, to?.href);
  return await exchange(code, verifier);
}
const errorOf = async (subject: string, id?: string) => (await walk(subject, id)).to?.searchParams.get('error');
const login = async (username: string) =>
  await request('POST', `${server.coordinator}/v1/auth/login`, { body: { username, password: CALLER_PASSWORD } });
const asPerson = ({ body }: { body: Session }): Person => ({ username: body.user, password: '', session: body });
const directory = async (token: string) =>
  await request('GET', `${server.coordinator}/v1/directory`, { headers: { authorization: `Bearer ${token}` } });

/** At the provider that says anything: a walk that comes back with claims of the test. */
async function comeBackForged(
  claims: object,
  how?: Parameters<typeof forged.give>[1],
  iss?: string,
): Promise<string | null> {
  const { cookie, location } = await start('forged');
  const now = Math.floor(Date.now() / 1_000);
  const nonce = location.searchParams.get('nonce') as string;
  forged.give(
    {
      iss: forged.issuer,
      aud: 'forged',
      sub: 'felix',
      iat: now,
      exp: now + 60,
      nonce,
      preferred_username: 'felix',
      ...claims,
    },
    how,
  );
  const url = new URL(`${server.coordinator}/v1/auth/sso/forged/callback`);
  url.searchParams.set('code', 'a code');
  if (iss !== undefined) url.searchParams.set('iss', iss);
  url.searchParams.set('state', location.searchParams.get('state') as string);
  const { to } = await back(url, cookie);
  return to?.searchParams.get('error') ?? (to?.searchParams.has('code') === true ? 'none' : null);
}

test('CRD-10 somebody signs in at a provider, is known from then on, and has the session that a password gives', async () => {
  const ways = await request('GET', `${server.coordinator}/v1/auth/sso`);
  assert.deepEqual(ways.body, {
    ...{ password: true, reset_by_mail: false },
    providers: [
      { id: 'forged', name: 'Forged' },
      { id: 'office', name: 'Work' },
      { id: 'twin', name: 'Work' },
    ],
  });
  site.identity.accounts.set('s-anna', {
    preferred_username: 'Anna',
    name: 'Anna A.',
    email: 'anna@example.org',
    email_verified: true,
  });
  const walked = await walk('s-anna');
  assert.equal(walked.status, 302);
  assert.equal(`${walked.to?.origin}${walked.to?.pathname}`, APP);
  assert.equal(walked.to?.searchParams.get('state'), 'of the app');
  assert.match(
    walked.answer.headers.get('set-cookie') ?? '',
    /; Path=\/v1\/auth\/sso\/office\/callback; Max-Age=600; HttpOnly; SameSite=Lax$/,
  );
  const session = await exchange(walked.code, walked.verifier);
  assert.equal(session.status, 200, session.text);
  assert.equal(session.body.user, 'anna');
  const entry = await request('GET', `${server.coordinator}/v1/directory/anna`, {
    headers: { authorization: `Bearer ${session.body.token}` },
  });
  assert.deepEqual([entry.body['display_name'], entry.body['email']], ['Anna A.', 'anna@example.org']);
  const renewed = await request<Session>('POST', `${server.coordinator}/v1/auth/renew`, {
    body: { refresh_token: session.body.refresh_token },
  });
  assert.equal(renewed.status, 200, renewed.text);
  const socket = await connect(server, asPerson(session));
  // The same device signs in again: its session before ends, and its socket with it.
  const again = await walk('s-anna');
  const next = await exchange(again.code, again.verifier, { device_id: session.body.device_id });
  assert.equal(next.body.device_id, session.body.device_id);
  assert.equal((await socket.closing()).code, 4401);
});

test('the SDK goes the walk, and goes on with the session; what another walk brought back it does not take', async () => {
  const coordinatorUrl = server.coordinator;
  const begun = await beginSignOn({ coordinatorUrl, provider: 'office', redirectUri: APP });
  const led = await fetch(begun.url, { redirect: 'manual' });
  const cookie = (led.headers.get('set-cookie') ?? '').split(';')[0] ?? '';
  const { to } = await back(await site.identity.signIn(led.headers.get('location') ?? '', 's-anna'), cookie);
  const finish = async (returned: string) => await finishSignOn({ coordinatorUrl, walk: begun.walk, returned });
  const failed = { code: 'sso_failed' };
  await assert.rejects(finish(`${APP}?code=x&state=of-another`), failed);
  await assert.rejects(finish(`${APP}?error=${encodeURIComponent('<b>')}&state=${begun.walk.state}`), failed);
  await assert.rejects(finish(`${APP}?error=sso_not_bound&state=${begun.walk.state}`), { code: 'sso_not_bound' });
  const session = await finish(to?.href ?? '');
  const client = ParleyClient.resume({ coordinatorUrl, messagingUrl: server.messaging, session });
  await client.caughtUp();
  assert.equal(client.session.user, 'anna');
  await client.signOut();
});

test('a code is good once, for the app that began, within its browser: everything else is one answer', async () => {
  const first = await walk('s-anna');
  assert.deepEqual(refusal(await exchange(first.code, randomBytes(32).toString('base64url'))), [
    401,
    'sso_code_invalid',
  ]);
  // Whoever tries uses it up.
  assert.deepEqual(refusal(await exchange(first.code, first.verifier)), [401, 'sso_code_invalid']);
  const second = await walk('s-anna');
  const elsewhere = { redirect_uri: 'http://127.0.0.1/app' };
  assert.deepEqual(refusal(await exchange(second.code, second.verifier, elsewhere)), [401, 'sso_code_invalid']);
  const third = await walk('s-anna');
  assert.equal((await exchange(third.code, third.verifier)).status, 200);
  assert.deepEqual(refusal(await exchange(third.code, third.verifier)), [401, 'sso_code_invalid']);
  const made = randomBytes(32).toString('base64url');
  assert.deepEqual(refusal(await exchange(made, third.verifier)), [401, 'sso_code_invalid']);
  assert.deepEqual(refusal(await exchange('short', third.verifier)), [400, 'field_invalid']);
});

test('CRD-13 what comes back is taken from the browser that went, once, and at the provider it went to', async () => {
  const [mine, theirs] = [await start(), await start()];
  const url = await site.identity.signIn(mine.location.href, 's-anna');
  assert.deepEqual(refusal(await back(url, '')), [401, 'sso_failed']);
  assert.deepEqual(refusal(await back(url, theirs.cookie)), [401, 'sso_failed']);
  const [name, value] = mine.cookie.split('=') as [string, string];
  const changed = `${name}=${value.slice(0, 60)}${value[60] === 'A' ? 'B' : 'A'}${value.slice(61)}`;
  assert.deepEqual(refusal(await back(url, changed)), [401, 'sso_failed']);
  // Mix-up: the answer of one provider is led to the callback of another.
  const mixed = new URL(url.href.replace('/sso/office/', '/sso/twin/'));
  assert.deepEqual(refusal(await back(mixed, mine.cookie)), [401, 'sso_failed']);
  const other = await start();
  const otherUrl = await site.identity.signIn(other.location.href, 's-anna');
  otherUrl.searchParams.set('iss', forged.issuer);
  assert.equal((await back(otherUrl, other.cookie)).to?.searchParams.get('error'), 'sso_failed');
  assert.ok((await back(url, mine.cookie)).to?.searchParams.has('code'));
  // The same once more: the state was used.
  assert.deepEqual(refusal(await back(url, mine.cookie)), [401, 'sso_failed']);
  // A code of one walk under the state of another, in its own browser.
  const [one, two] = [await start(), await start()];
  const [ofOne, ofTwo] = [
    await site.identity.signIn(one.location.href, 's-anna'),
    await site.identity.signIn(two.location.href, 's-anna'),
  ];
  ofTwo.searchParams.set('code', ofOne.searchParams.get('code') as string);
  assert.equal((await back(ofTwo, `${one.cookie}; ${two.cookie}`)).to?.searchParams.get('error'), 'sso_failed');
});

test('two tabs of one browser at once both arrive, and make one person', async () => {
  site.identity.accounts.set('s-tom', { preferred_username: 'tom' });
  const [one, two] = [await start(), await start()];
  const cookies = `${one.cookie}; ${two.cookie}; theme=dark`;
  const urls = await Promise.all([one, two].map(({ location }) => site.identity.signIn(location.href, 's-tom')));
  const returned = await Promise.all(urls.map((url) => back(url, cookies)));
  const sessions = await Promise.all(
    returned.map(({ to }, at) => exchange(to?.searchParams.get('code') ?? null, [one, two][at]?.verifier ?? '')),
  );
  assert.deepEqual(
    sessions.map(({ body }) => body.user),
    ['tom', 'tom'],
  );
});

test('a browser is led to addresses of the list alone, letter by letter; on loopback with any port (RFC 8252)', async () => {
  const refused = [
    'https://evil.example.org/signed-in',
    'https://chat.example.org/signed-in/',
    'https://chat.example.org/signed-in?next=https://evil.example.org',
    'https://chat.example.org:444/signed-in',
    'https://chat.example.org@evil.example.org/signed-in',
    'https://chat.example.org/signed-in#x',
    'http://127.0.0.1:5000/other',
    'http://127.0.0.1:99999/app',
    'http://127.0.0.1:5000@evil.example.org/app',
    'http://localhost:5000/app',
    'http://127.0.0.2/app',
    'com.example.chat:/in/',
    '//chat.example.org/signed-in',
    'javascript:alert(1)',
  ];
  for (const uri of refused) {
    const { answer } = await start('office', { redirect_uri: uri });
    assert.deepEqual(
      [answer.status, ((await answer.json()) as { code: string }).code],
      [400, 'sso_redirect_forbidden'],
      uri,
    );
    assert.equal(answer.headers.get('location'), null);
  }
  for (const uri of ['http://127.0.0.1:5000/app', 'http://127.0.0.1/app', 'com.example.chat:/in']) {
    const started = await start('office', { redirect_uri: uri });
    const { to } = await back(await site.identity.signIn(started.location.href, 's-anna'), started.cookie);
    assert.ok(to?.href.startsWith(uri), to?.href);
    const session = await exchange(to?.searchParams.get('code') ?? null, started.verifier, { redirect_uri: uri });
    assert.equal(session.status, 200, session.text);
  }
  for (const list of [
    'http://chat.example.org/',
    'https://*.example.org/',
    'javascript:1',
    'data:x',
    'https://a.b/#c',
    'chat:/in',
  ])
    assert.deepEqual(
      refusal(await site.ask('owner', 'PUT', '/settings/sign-in', { app_redirects: list })),
      [400, 'field_invalid'],
      list,
    );
  const bad = { code_challenge: 'short' };
  assert.equal((await start('office', bad)).answer.status, 400);
  assert.equal((await start('office', { code_challenge_method: 'plain' })).answer.status, 400);
  assert.equal((await start('nowhere')).answer.status, 404);
});

test('CRD-13 a name, and an address that owners did not switch on, never open an account that is there', async () => {
  site.identity.accounts.set('s-eve', {
    preferred_username: 'someone',
    email: 'someone@example.org',
    email_verified: true,
  });
  await site.ask('owner', 'PATCH', '/users/someone', { email: 'Someone@example.org' });
  assert.equal(await errorOf('s-eve'), 'sso_not_bound');
  for (const name of ['owner', 'bot.helper', 'Eve Ill', '../eve']) {
    site.identity.accounts.set('s-eve', { preferred_username: name });
    assert.equal(await errorOf('s-eve'), 'sso_not_bound', name);
  }
  // The owner’s address binds nobody either.
  await site.ask('break_glass', 'PATCH', '/users/owner', { email: 'owner@example.org' });
  await put('office', { bind_by_email: true, creates_people: false });
  site.identity.accounts.set('s-eve', { preferred_username: 'x', email: 'owner@example.org', email_verified: true });
  assert.equal(await errorOf('s-eve'), 'sso_not_bound');
  site.identity.accounts.set('s-eve', { preferred_username: 'x', email: 'someone@example.org', email_verified: false });
  assert.equal(await errorOf('s-eve'), 'sso_not_bound');
  site.identity.accounts.set('s-eve', { preferred_username: 'x', email: 'someone@example.org', email_verified: true });
  assert.equal((await signIn('s-eve')).body.user, 'someone');
  // Another's address, where the sign of Kelvin is a k in lower case.
  await site.ask('owner', 'PATCH', '/users/newcomer', { email: 'kay@example.org' });
  const kelvin = { preferred_username: 'x', email: '\u212aay@example.org', email_verified: true };
  site.identity.accounts.set('s-kelvin', kelvin);
  assert.equal(await errorOf('s-kelvin'), 'sso_not_bound');
  site.identity.accounts.set('s-kay', { ...kelvin, email: 'Kay@Example.org' });
  assert.equal((await signIn('s-kay')).body.user, 'newcomer');
  // Whoever comes with the address later finds it bound; without accounts being made, nobody new comes in.
  site.identity.accounts.set('s-eve-2', {
    preferred_username: 'y',
    email: 'someone@example.org',
    email_verified: true,
  });
  assert.equal(await errorOf('s-eve-2'), 'sso_not_bound');
  await put('office');
});

test('CRD-13 an administrator binds a person who is no owner; taking it away ends what it opened', async () => {
  site.identity.accounts.set('s-vera', { preferred_username: 'owner' });
  const bind = async (user: string, who: 'administrator' | 'viewer' | 'owner' = 'administrator') =>
    await site.ask(who, 'PUT', `/sso/providers/office/identities/${user}`, { subject: 's-vera' });
  assert.deepEqual(refusal(await bind('owner', 'owner')), [403, 'owner_binds_own_account']);
  assert.deepEqual(refusal(await bind('nobody-here')), [404, 'person_not_found']);
  assert.deepEqual(refusal(await bind('viewer', 'viewer')), [403, 'right_missing']);
  // Whoever has a role in the console is given another way in by owners alone.
  assert.deepEqual(refusal(await bind('viewer')), [403, 'right_missing']);
  assert.equal((await bind('viewer', 'owner')).status, 204);
  assert.deepEqual(refusal(await bind('newcomer', 'owner')), [409, 'sso_identity_taken']);
  const session = await signIn('s-vera');
  assert.equal(session.body.user, 'viewer');
  // What binds somebody for their apps opens no console.
  await site.ask('break_glass', 'PUT', '/settings/sso', site.form);
  assert.deepEqual(refusal(await site.enter('s-vera')), [403, 'sso_not_bound']);
  assert.deepEqual(refusal(await site.ask('administrator', 'DELETE', '/sso/providers/office/identities/viewer')), [
    403,
    'right_missing',
  ]);
  assert.equal((await site.ask('owner', 'DELETE', '/sso/providers/office/identities/viewer')).status, 204);
  assert.deepEqual(refusal(await directory(session.body.token)), [401, 'session_revoked']);
  assert.deepEqual(refusal(await site.ask('owner', 'DELETE', '/sso/providers/office/identities/viewer')), [
    404,
    'sso_identity_not_found',
  ]);
});

test('CRD-13 what an administrator bound ends when its person is given a role, and not what an owner bound', async () => {
  await site.ask('break_glass', 'PUT', '/settings/sso', site.form);
  for (const [username, by] of Object.entries({ risen: 'administrator', owned: 'owner' } as const)) {
    const form = { username, password: 'heron over the quiet lake' };
    assert.equal((await site.ask('administrator', 'POST', '/users', form)).status, 201);
    site.identity.accounts.set(`s-${username}`, { preferred_username: `x-${username}` });
    for (const path of [`/sso/providers/office/identities/${username}`, `/sso/identities/${username}`])
      assert.equal((await site.ask(by, 'PUT', path, { subject: `s-${username}` })).status, 204);
  }
  const session = await signIn('s-risen');
  const urls = [`${server.coordinator}/v1/directory`, `${server.messaging}/v1/inbox`];
  for (const url of urls) assert.equal((await request('GET', url, { token: session.body.token })).status, 200);
  for (const name of ['risen', 'owned'])
    assert.equal((await site.ask('owner', 'PUT', `/console-roles/${name}`, { role: 'administrator' })).status, 204);
  assert.deepEqual(refusal(await site.enter('s-risen')), [403, 'sso_not_bound']);
  for (const url of urls)
    assert.deepEqual(refusal(await request('GET', url, { token: session.body.token })), [401, 'session_revoked']);
  assert.deepEqual([session.body.user, (await signIn('s-risen')).body.user === 'risen'], ['risen', false]);
  assert.equal((await site.enter('s-owned')).body.role, 'administrator');
});

test('CRD-13 a code made before its person was taken away opens nothing', async () => {
  const identity = '/sso/providers/office/identities/viewer';
  assert.equal((await site.ask('owner', 'PUT', identity, { subject: 's-wim' })).status, 204);
  site.identity.accounts.set('s-wim', {});
  const { code, verifier } = await walk('s-wim');
  assert.ok(code);
  assert.equal((await site.ask('owner', 'DELETE', identity)).status, 204);
  assert.deepEqual(refusal(await exchange(code, verifier)), [401, 'sso_failed']);
});

test('CRD-13 an address that two people have binds neither', async () => {
  const { uma, ute } = await server.people('uma', 'ute');
  await put('office', { bind_by_email: true, creates_people: false });
  site.identity.accounts.set('s-twice', { email: 'twice@example.org', email_verified: true });
  for (const { username } of [uma, ute]) {
    const given = await site.ask('owner', 'PATCH', `/users/${username}`, { email: 'twice@example.org' });
    assert.equal(given.status, 200, given.text);
  }
  assert.equal(await errorOf('s-twice'), 'sso_not_bound');
  await site.ask('owner', 'PATCH', '/users/ute', { email: 'ute@example.org' });
  assert.equal((await signIn('s-twice')).body.user, 'uma');
  await put('office');
});

test('CRD-12 whom a provider made is given no password here beside it', async () => {
  assert.equal((await signIn('s-tom')).status, 200);
  const reset = async (user: string) => await site.ask('administrator', 'POST', `/users/${user}/password-reset`);
  assert.deepEqual(refusal(await reset('tom')), [403, 'password_at_provider']);
  assert.equal((await reset('someone')).status, 201);
});

test('groups of the provider lead into groups here, and out of them, and touch no others', async () => {
  const make = async (name: string) =>
    (await site.ask<{ id: string }>('owner', 'POST', '/groups', { name, members: [] })).body.id;
  const [staff, night, own] = [await make('Staff'), await make('Night'), await make('Own')];
  await site.ask('owner', 'PATCH', `/groups/${own}`, { add: ['anna'], remove: [] });
  await put('office', { groups: { staff, 'night shift': night } });
  const members = async () =>
    await Promise.all(
      [staff, night, own].map(
        async (id) => (await site.ask<{ members: string[] }>('owner', 'GET', `/groups/${id}`)).body.members,
      ),
    );
  site.identity.accounts.set('s-anna', { preferred_username: 'anna', groups: ['staff', 'others'] });
  assert.equal((await signIn('s-anna')).status, 200);
  assert.deepEqual(await members(), [['anna'], [], ['anna']]);
  site.identity.accounts.set('s-anna', { preferred_username: 'anna', groups: ['night shift'] });
  await signIn('s-anna');
  assert.deepEqual(await members(), [[], ['anna'], ['anna']]);
  await put('office');
});

test('an ID token of another issuer, audience, nonce, time, key or algorithm opens nothing', async () => {
  assert.equal(await comeBackForged({}), 'none');
  for (const sub of ['s-anna', 'S-ANNA', ' s-anna', 'x'.repeat(255)])
    assert.equal(await comeBackForged({ preferred_username: 'anna', sub }), 'sso_not_bound', `${sub} is another’s`);
  const now = Math.floor(Date.now() / 1_000);
  const bad: object[] = [
    { iss: site.identity.issuer },
    { aud: 'parley-apps' },
    { aud: ['forged', 'another'], azp: 'another' },
    { nonce: 'of-another-walk' },
    { nonce: undefined },
    { exp: now - 120 },
    { iat: now + 600, nbf: now + 600 },
    ...[undefined, '', 7, 'x'.repeat(256)].map((sub) => ({ sub })),
  ];
  for (const claims of bad) assert.equal(await comeBackForged(claims), 'sso_failed', JSON.stringify(claims));
  for (const how of ['none', 'with-public-key', 'with-other-key', 'with-client-secret'] as const)
    assert.equal(await comeBackForged({}, how), 'sso_failed', how);
  // Clocks that are ten seconds apart sign in all the same, and beyond thirty they do not, whichever is ahead.
  const present = () => Math.floor(Date.now() / 1_000);
  assert.equal(await comeBackForged({ iat: present() + 25, nbf: present() + 25, exp: present() + 70 }), 'none');
  assert.equal(await comeBackForged({ exp: present() - 10 }), 'none');
  assert.equal(await comeBackForged({ nbf: present() + 90, exp: present() + 180 }), 'sso_failed');
  assert.equal(await comeBackForged({ exp: present() - 31 }), 'sso_failed');
  assert.equal(server.output.join('').includes('an access token'), false);
});

test('CRD-13 a token of an earlier walk, and an answer that does not say whose it is where it has to, open nothing', async () => {
  const earlier = await start('forged');
  const replayed = { nonce: earlier.location.searchParams.get('nonce') };
  assert.equal(await comeBackForged(replayed), 'sso_failed');
  // RFC 9207: a provider that says it names itself in every answer does so in this one, or the answer is another's.
  forged.describe({ authorization_response_iss_parameter_supported: true });
  await put('forged', {
    name: 'Forged',
    issuer: forged.issuer,
    client_id: 'forged-anew',
    client_secret: CLIENT_SECRET,
  });
  const claims = { aud: 'forged-anew' };
  assert.equal(await comeBackForged(claims), 'sso_failed');
  assert.equal(await comeBackForged(claims, 'rightly', site.identity.issuer), 'sso_failed');
  assert.equal(await comeBackForged(claims, 'rightly', forged.issuer), 'none');
  // With a secret that both know, a token that is signed by it is still none of the provider's keys.
  assert.equal(await comeBackForged(claims, 'with-client-secret', forged.issuer), 'sso_failed');
  forged.describe({});
  await put('forged', { name: 'Forged', issuer: forged.issuer, client_id: 'forged', client_secret: null });
});

test('a provider that says it is another one, or has its keys where anybody reads along, is none', async () => {
  for (const [id, metadata] of [
    ['lying', { issuer: site.identity.issuer }],
    ['listening', { token_endpoint: 'http://id.example.org/token' }],
    ['keyless', { jwks_uri: undefined }],
  ] as const) {
    forged.describe(metadata);
    await put(id, { issuer: forged.issuer, client_id: 'forged', client_secret: undefined });
    const { answer } = await start(id);
    assert.deepEqual(
      [answer.status, ((await answer.json()) as { code: string }).code],
      [503, 'sso_provider_unavailable'],
      id,
    );
    assert.equal((await site.ask('owner', 'DELETE', `/sso/providers/${id}`)).status, 204);
  }
  forged.describe({});
});

test('a provider that is away is said to be; sessions that it opened go on', async () => {
  const session = await signIn('s-anna');
  await put('away', { issuer: 'http://127.0.0.1:1', client_secret: undefined });
  assert.deepEqual(refusal({ status: (await start('away')).answer.status, body: {} })[0], 503);
  const { cookie, location } = await start('forged');
  forged.cutOff(true);
  const url = `${server.coordinator}/v1/auth/sso/forged/callback?code=c&state=${location.searchParams.get('state')}`;
  assert.equal((await back(url, cookie)).to?.searchParams.get('error'), 'sso_provider_unavailable');
  forged.cutOff(false);
  // Somebody who pressed Cancel there comes back with an error of the provider's.
  const cancelled = await start('forged');
  const no = `${server.coordinator}/v1/auth/sso/forged/callback?error=access_denied&state=${cancelled.location.searchParams.get('state')}`;
  assert.equal((await back(no, cancelled.cookie)).to?.searchParams.get('error'), 'sso_failed');
  assert.equal((await directory(session.body.token)).status, 200);
});

test('CRD-08 who is blocked, whose term is over and who was erased does not come in, nor is made anew', async () => {
  site.identity.accounts.set('s-bo', { preferred_username: 'bo' });
  const session = await signIn('s-bo');
  const pending = await walk('s-bo');
  await site.ask('owner', 'POST', '/users/bo/block');
  assert.deepEqual(refusal(await directory(session.body.token)), [401, 'session_revoked']);
  assert.deepEqual(refusal(await exchange(pending.code, pending.verifier)), [401, 'sso_failed']);
  assert.equal(await errorOf('s-bo'), 'sso_failed');
  await site.ask('owner', 'POST', '/users/bo/unblock');
  assert.equal((await signIn('s-bo')).status, 200);
  const waiting = await walk('s-bo');
  const erased = await site.ask('owner', 'POST', '/users/bo/erase');
  assert.ok(erased.status < 300, erased.text);
  assert.deepEqual(refusal(await exchange(waiting.code, waiting.verifier)), [401, 'sso_failed']);
  assert.equal(await errorOf('s-bo'), 'sso_not_bound');
});

test('a guest signs in within the term', async () => {
  const ends = new Date(Date.now() + 86_400_000).toISOString();
  const guest = { kind: 'guest', phone: '+4915112345678', guest_until: ends };
  const invited = await site.ask<{ url: string }>('owner', 'POST', '/enroll', guest);
  assert.equal(invited.status, 201, invited.text);
  const form = { username: 'gast', password: 'heron over the quiet lake' };
  assert.equal((await request('POST', invited.body.url, { body: form })).status, 201);
  site.identity.accounts.set('s-gast', {});
  assert.equal(
    (await site.ask('administrator', 'PUT', '/sso/providers/office/identities/gast', { subject: 's-gast' })).status,
    204,
  );
  const session = await signIn('s-gast');
  assert.ok(session.body.rnw - session.body.iat <= 86_400, session.text);
  const ended = await site.ask('owner', 'POST', '/guests/gast/end');
  assert.ok(ended.status < 300, ended.text);
  const late = await walk('s-gast');
  assert.deepEqual(late.code === null ? [401, 'sso_failed'] : refusal(await exchange(late.code, late.verifier)), [
    401,
    'sso_failed',
  ]);
});

test('CRD-14 the secret of a provider goes with its issuer, is never answered, and owners alone set it', async () => {
  const form = { ...work, client_secret: 'heron keeps this to itself' };
  assert.deepEqual(refusal(await site.ask('administrator', 'PUT', '/sso/providers/away', form)), [
    403,
    'right_missing',
  ]);
  assert.deepEqual(refusal(await site.ask('owner_before_step_up', 'PUT', '/sso/providers/away', form)), [
    403,
    'step_up_required',
  ]);
  assert.deepEqual((await put('away', form)).client_secret, { set: true });
  assert.deepEqual((await put('away', { client_secret: undefined })).client_secret, { set: true });
  const moved = await put('away', { client_secret: undefined, issuer: 'https://id.example.org' });
  assert.deepEqual([moved.client_secret, moved.dropped], [{ set: false }, ['client_secret']]);
  for (const who of ['owner', 'viewer', 'vendor_active'] as const) {
    const listed = await site.ask(who, 'GET', '/sso/providers');
    assert.equal(listed.status, 200, who);
    assert.equal(listed.text.includes('heron keeps'), false);
  }
  for (const id of ['Up', '-a', 'a-', 'a'.repeat(33)])
    assert.deepEqual(refusal(await site.ask('owner', 'PUT', `/sso/providers/${id}`, form)), [400, 'field_invalid'], id);
  assert.deepEqual(
    refusal(await site.ask('owner', 'PUT', '/sso/providers/x', { ...form, issuer: 'http://id.example.org' })),
    [400, 'field_invalid'],
  );
  assert.equal((await site.ask('owner', 'DELETE', '/sso/providers/away')).status, 204);
  assert.deepEqual(refusal(await site.ask('owner', 'DELETE', '/sso/providers/away')), [404, 'sso_provider_not_found']);
  for (let at = 0; at < 17; at += 1) await put(`more-${at}`);
  assert.deepEqual(refusal(await site.ask('owner', 'PUT', '/sso/providers/too-many', form)), [
    409,
    'sso_providers_full',
  ]);
});

// The last one: passwords do not come back.
test('CRD-10 with sign_in_mode at identity a password signs in on no door, and providers go on', async () => {
  assert.equal((await login('someone')).status, 200);
  await site.ask('break_glass', 'PUT', '/settings/sso', site.form);
  site.identity.accounts.set('boss', { preferred_username: 'boss', groups: ['admins'] });
  assert.equal((await site.enter('boss')).body.role, 'owner');
  const before = await signIn('s-anna');
  const appPassword = await request<{ password: string }>('POST', `${server.coordinator}/v1/app-passwords`, {
    headers: { authorization: `Bearer ${before.body.token}` },
    body: { name: 'Calendar' },
  });
  assert.equal((await site.ask('owner', 'PUT', '/settings/sign-in', { sign_in_mode: 'identity' })).status, 200);
  for (const name of ['someone', 'owner', 'nobody-here'])
    assert.deepEqual(refusal(await login(name)), [403, 'sign_in_by_identity'], name);
  const console = await site.ask('nobody', 'POST', '/login', { username: 'owner', password: CALLER_PASSWORD });
  assert.deepEqual(refusal(console), [403, 'sign_in_by_identity']);
  assert.equal((await request<{ password: boolean }>('GET', `${server.coordinator}/v1/auth/sso`)).body.password, false);
  assert.equal((await signIn('s-anna')).status, 200);
  // Sessions go on, and so do app passwords: those are keys that a session gave to a calendar, not what a person knows.
  const renewed = await request('POST', `${server.coordinator}/v1/auth/renew`, {
    body: { refresh_token: before.body.refresh_token },
  });
  assert.equal(renewed.status, 200, renewed.text);
  const basic = `Basic ${Buffer.from(`anna:${appPassword.body.password}`).toString('base64')}`;
  const dav = await fetch(`${server.calendar}/dav/`, {
    method: 'PROPFIND',
    headers: { authorization: basic, depth: '0' },
  });
  assert.equal(dav.status, 207);
});
