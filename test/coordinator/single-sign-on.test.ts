import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';
import { makeIdentityControlPage } from '#src/console/routes/access/identity-control.ts';
import { CALLBACKS_MAX, SingleSignOn } from '#src/identity/single-sign-on/single-sign-on.ts';
import { bindIdentity, consoleIdentities } from '#src/identity/single-sign-on/sso-bindings.ts';
import { METADATA_MILLIS } from '#src/identity/single-sign-on/sso-provider.ts';
import { ssoSettings, type SsoSettings } from '#src/identity/single-sign-on/sso-settings.ts';
import { ADDRESS, openConsole, OWNER, OWNER_PERSON, refusal } from './console-fixture.ts';
import {
  CLIENT_ID,
  CLIENT_SECRET,
  REDIRECT_URI,
  startIdentityProvider,
  type ProviderSettings,
} from './identity-provider.ts';

async function openSso(
  context: TestContext,
  more: object = {},
  provided: ProviderSettings & { providerSeconds?: number } = {},
) {
  const { providerSeconds } = provided;
  const site = await openConsole(context);
  const identity = await startIdentityProvider(context, provided);
  /** E-mail address → usernames. */
  const holders = new Map<string, readonly string[]>();
  /** As a person binds their account by themselves. */
  const bind = async (username: string, subject: string) => {
    const binding = { by: 'person', actor: `user:${username}`, address: ADDRESS, now: site.clock.now() } as const;
    await site.accounts.change((draft) => bindIdentity(draft, username, { issuer: identity.issuer, subject }, binding));
  };
  const settings: { now: SsoSettings | undefined; secret: string | undefined } = {
    now: ssoSettings.parse({
      issuer: identity.issuer,
      client_id: CLIENT_ID,
      redirect_uri: REDIRECT_URI,
      groups: { admins: 'owner', staff: 'viewer' },
      ...more,
    }),
    secret: CLIENT_SECRET,
  };
  const sso = new SingleSignOn({
    accounts: site.accounts,
    sessions: site.sessions,
    sso: { settings: () => settings.now, clientSecret: () => settings.secret },
    signIn: site.settings,
    clock: site.clock,
    log: site.log,
    allowPrivateTargets: true,
    holdersOf: (_draft, email) => holders.get(email) ?? [],
    providerSeconds,
  });
  /** Starts, signs in at the provider, and answers what the console's page calls back with. */
  const walk = async (subject: string, change: (url: URL) => void = () => {}) => {
    const { redirect_url: redirect, ticket } = await sso.start();
    const url = new URL(redirect);
    change(url);
    const back = await identity.signIn(url.href, subject);
    const parameter = (name: string): string => back.searchParams.get(name) as string;
    return { code: parameter('code'), state: parameter('state'), iss: parameter('iss'), ticket };
  };
  const signIn = async (subject: string) => await sso.callback(await walk(subject), ADDRESS);
  return { ...site, bind, holders, identity, settings, sso, walk, signIn };
}

test('TFA-02 whoever signs in at the provider has a full session, with the role of their groups', async (context) => {
  const { identity, signIn, who, trail } = await openSso(context);
  identity.accounts.set('subject-1', { preferred_username: 'Olga', groups: ['staff', 'admins', 'others'] });
  const session = await signIn('subject-1');
  assert.deepEqual([session.username, session.role, session.signIn, session.isFull], ['olga', 'owner', 'sso', true]);
  const principal = await who(session.token);
  assert.deepEqual(principal, { ...OWNER, signIn: 'sso', sid: session.sid });
  assert.deepEqual(trail('console.signed_in').at(-1)?.details, {
    role: 'owner',
    role_from: 'identity',
    session: session.sid,
    sign_in: 'sso',
  });
});

test('claims may be in the ID token or deeper in an object', async (context) => {
  const more = { groups: {}, roles: { boss: 'administrator' }, roles_claim: 'realm_access.roles' };
  const { identity, signIn } = await openSso(context, more, { claimsInIdToken: true });
  identity.accounts.set('subject-1', { preferred_username: 'anna', realm_access: { roles: ['boss'] } });
  assert.equal((await signIn('subject-1')).role, 'administrator');
});

test('VND-14 with sign_in_mode at identity an owner by their groups issues vendor tokens, and those issued go on', async (context) => {
  const { bind, identity, signIn, who, sources, add, login, vendorTokens } = await openSso(context);
  const form = { name: 'Support', vendor: 'parley', purpose: 'A case', term_days: 365 } as const;
  const before = await vendorTokens.issue(OWNER, form, ADDRESS);
  await add('olga', 'owner');
  await bind('olga', 'subject-1');
  sources.mode = 'identity';
  sources.token = 'identity';
  await assert.rejects(login('olga'), refusal('sign_in_by_identity'));
  assert.equal((await who(before.token)).kind, 'vendor');
  identity.accounts.set('subject-1', { preferred_username: 'olga', groups: ['admins'] });
  const issued = await vendorTokens.issue(await who((await signIn('subject-1')).token), form, ADDRESS);
  assert.equal((await who(issued.token)).kind, 'vendor');
});

test('with sign_in_mode at identity its word alone counts; otherwise the higher role', async (context) => {
  const { bind, identity, signIn, sources, add } = await openSso(context);
  await add('olga', 'owner');
  await bind('olga', 'subject-1');
  identity.accounts.set('subject-1', { preferred_username: 'olga', groups: ['staff'] });
  identity.accounts.set('subject-2', { preferred_username: 'nadia', groups: [] });
  assert.equal((await signIn('subject-1')).role, 'owner');
  await assert.rejects(signIn('subject-2'), refusal('sso_not_bound'));
  await bind('nadia', 'subject-2');
  await assert.rejects(signIn('subject-2'), refusal('right_missing'));
  sources.mode = 'identity';
  assert.equal((await signIn('subject-1')).role, 'viewer');
});

test('CRD-08 who is blocked here does not come in by the provider, nor stays', async (context) => {
  const { bind, identity, signIn, add, block, who } = await openSso(context);
  await add('olga', 'owner');
  await bind('olga', 'subject-1');
  identity.accounts.set('subject-1', { preferred_username: 'olga', groups: ['admins'] });
  const { token } = await signIn('subject-1');
  await block('olga');
  await assert.rejects(who(token), refusal('token_invalid'));
  await assert.rejects(signIn('subject-1'), refusal('sso_failed'));
});

test('a name that came to belong to another account is refused until an owner forgets the one before', async (context) => {
  const { identity, signIn, sso, trail } = await openSso(context);
  identity.accounts.set('subject-1', { preferred_username: 'olga', groups: ['admins'] });
  identity.accounts.set('subject-2', { preferred_username: 'olga', groups: ['admins'] });
  await signIn('subject-1');
  await assert.rejects(signIn('subject-2'), refusal('sso_not_bound'));
  await assert.rejects(sso.forget({ ...OWNER_PERSON, role: 'viewer' }, 'olga', ADDRESS), refusal('right_missing'));
  await sso.forget(OWNER, 'olga', ADDRESS);
  assert.equal(trail('sso.identity_forgotten').at(-1)?.subject, 'user:olga');
  assert.equal((await signIn('subject-2')).username, 'olga');
  await assert.rejects(sso.forget(OWNER, 'nobody', ADDRESS), refusal('sso_identity_not_found'));
});

test('CRD-13 who signed in before accounts were bound binds once; a name that is nobody’s goes on', async (context) => {
  const { accounts, add, bind, identity, signIn } = await openSso(context);
  await add('olga', 'owner');
  const known = (subject: string) => ({ issuer: identity.issuer, subject, signedInAt: '2026-11-20T08:00:00.000Z' });
  await accounts.change((draft) => {
    draft.putDocument(consoleIdentities, 'olga', known('subject-1'));
    draft.putDocument(consoleIdentities, 'viktor', known('subject-2'));
  });
  identity.accounts.set('subject-1', { preferred_username: 'olga', groups: ['admins'] });
  identity.accounts.set('subject-2', { preferred_username: 'viktor', groups: ['staff'] });
  identity.accounts.set('subject-3', { preferred_username: 'viktor', groups: ['admins'] });
  await assert.rejects(signIn('subject-1'), refusal('sso_not_bound'));
  await assert.rejects(signIn('subject-3'), refusal('sso_not_bound'));
  assert.equal((await signIn('subject-2')).username, 'viktor');
  await bind('olga', 'subject-1');
  assert.equal((await signIn('subject-1')).role, 'owner');
});

test('somebody without a usable name is refused', async (context) => {
  const { identity, signIn } = await openSso(context);
  identity.accounts.set('subject-1', { preferred_username: 'Olga Ivanova', groups: ['admins'] });
  identity.accounts.set('subject-2', { groups: ['admins'] });
  await assert.rejects(signIn('subject-1'), refusal('sso_not_bound'));
  await assert.rejects(signIn('subject-2'), refusal('sso_not_bound'));
});

test('a changed state, a ticket of another start and a made-up one are refused before the provider is asked', async (context) => {
  const { identity, sso, walk } = await openSso(context);
  identity.accounts.set('subject-1', { preferred_username: 'olga', groups: ['admins'] });
  const form = await walk('subject-1');
  const other = await sso.start();
  const ticket = Buffer.from(form.ticket, 'base64url');
  ticket[40] = (ticket[40] as number) ^ 1;
  const cases = [
    { ...form, state: `${form.state.slice(0, -1)}${form.state.endsWith('A') ? 'B' : 'A'}` },
    { ...form, ticket: other.ticket },
    { ...form, ticket: ticket.toString('base64url') },
    { ...form, ticket: 'x' },
  ];
  for (const changed of cases) await assert.rejects(sso.callback(changed, ADDRESS), refusal('sso_failed'));
  assert.equal(identity.requests('/token'), 0);
  assert.equal((await sso.callback(form, ADDRESS)).username, 'olga');
});

test('a code that is slipped under another start’s state and ticket opens nothing', async (context) => {
  const { identity, sso, walk } = await openSso(context);
  identity.accounts.set('subject-1', { preferred_username: 'olga', groups: ['admins'] });
  identity.accounts.set('subject-2', { preferred_username: 'mallory', groups: [] });
  const [olga, mallory] = [await walk('subject-1'), await walk('subject-2')];
  await assert.rejects(sso.callback({ ...mallory, code: olga.code }, ADDRESS), refusal('sso_failed'));
});

test('an answer with another nonce, or of another issuer, is refused', async (context) => {
  const { identity, logged, sso, walk } = await openSso(context);
  identity.accounts.set('subject-1', { preferred_username: 'olga', groups: ['admins'] });
  const replayed = await walk('subject-1', (url) => url.searchParams.set('nonce', 'of-another-sign-in'));
  await assert.rejects(sso.callback(replayed, ADDRESS), refusal('sso_failed'));
  // The ID token was good but for one claim.
  assert.match(JSON.stringify(logged), /OAUTH_JWT_CLAIM_COMPARISON_FAILED/);
  const form = await walk('subject-1');
  await assert.rejects(sso.callback({ ...form, iss: 'https://id.example.org' }, ADDRESS), refusal('sso_failed'));
});

test('a code is good once, and an expired or made-up one never', async (context) => {
  const { identity, sso, walk } = await openSso(context);
  identity.accounts.set('subject-1', { preferred_username: 'olga', groups: ['admins'] });
  const form = await walk('subject-1');
  await sso.callback(form, ADDRESS);
  await assert.rejects(sso.callback(form, ADDRESS), refusal('sso_failed'));
  const expired = await walk('subject-1');
  const code = await identity.provider.AuthorizationCode.find(expired.code);
  await code?.destroy();
  await assert.rejects(sso.callback(expired, ADDRESS), refusal('sso_failed'));
  const made = await walk('subject-1');
  await assert.rejects(sso.callback({ ...made, code: 'made-up' }, ADDRESS), refusal('sso_failed'));
});

test('a start is good for ten minutes', async (context) => {
  const { clock, identity, sso, walk } = await openSso(context);
  identity.accounts.set('subject-1', { preferred_username: 'olga', groups: ['admins'] });
  const [form, late] = [await walk('subject-1'), await walk('subject-1')];
  clock.advance(599);
  assert.equal((await sso.callback(form, ADDRESS)).username, 'olga');
  clock.advance(1);
  await assert.rejects(sso.callback(late, ADDRESS), refusal('sso_failed'));
});

test('one callback more than may be under way is busy', async (context) => {
  const { sso, identity, walk } = await openSso(context);
  identity.accounts.set('subject-1', { preferred_username: 'olga', groups: ['admins'] });
  const form = await walk('subject-1');
  const made = { ...form, code: 'made-up' };
  const asked = Array.from({ length: CALLBACKS_MAX + 1 }, () => sso.callback(made, ADDRESS));
  const codes = (await Promise.allSettled(asked)).map((each) => (each as PromiseRejectedResult).reason.code as string);
  assert.deepEqual(codes.toSorted(), ['busy', ...Array.from({ length: CALLBACKS_MAX }, () => 'sso_failed')]);
  assert.equal((await sso.callback(form, ADDRESS)).username, 'olga');
});

test('a wrong client secret fails the sign-in, a provider that is not there is unavailable', async (context) => {
  const { identity, settings, sso, walk } = await openSso(context);
  identity.accounts.set('subject-1', { preferred_username: 'olga', groups: ['admins'] });
  settings.secret = 'another secret';
  await assert.rejects(sso.callback(await walk('subject-1'), ADDRESS), refusal('sso_failed'));
  settings.now = { ...(settings.now as SsoSettings), issuer: 'http://127.0.0.1:1' };
  await assert.rejects(sso.start(), refusal('sso_provider_unavailable'));
  settings.now = undefined;
  assert.equal(sso.isSet, false);
  await assert.rejects(sso.start(), refusal('sso_not_set'));
});

test('a provider that does not answer in time is unavailable', async (context) => {
  const { identity, sso, walk, settings } = await openSso(context, {}, { providerSeconds: 2 });
  identity.accounts.set('subject-1', { preferred_username: 'olga', groups: ['admins'] });
  const form = await walk('subject-1');
  identity.hang();
  await assert.rejects(sso.callback(form, ADDRESS), refusal('sso_provider_unavailable'));
  settings.secret = 'another one, so that the provider is asked again';
  await assert.rejects(sso.start(), refusal('sso_provider_unavailable'));
});

test('what the provider says of itself is asked for once an hour, and by all who start together once', async (context) => {
  const { clock, identity, settings, sso } = await openSso(context);
  const discoveries = () => identity.requests('/.well-known/openid-configuration');
  await Promise.all([sso.start(), sso.start(), sso.start()]);
  clock.advance(METADATA_MILLIS / 1000 - 1);
  await sso.start();
  assert.equal(discoveries(), 1);
  clock.advance(1);
  await sso.start();
  assert.equal(discoveries(), 2);
  settings.now = { ...(settings.now as SsoSettings), client_id: 'another-client' };
  await sso.start();
  assert.equal(discoveries(), 3);
});

test('CRD-09 no code, ticket or client secret is logged when a sign-in fails', async (context) => {
  const { identity, logged, sso, walk } = await openSso(context);
  identity.accounts.set('subject-1', { preferred_username: 'olga', groups: ['admins'] });
  const form = await walk('subject-1');
  await sso.callback(form, ADDRESS);
  await assert.rejects(sso.callback(form, ADDRESS), refusal('sso_failed'));
  const text = JSON.stringify(logged);
  assert.match(text, /signing in at the identity provider failed/);
  for (const secret of [form.code, form.ticket, form.state, CLIENT_SECRET]) assert.equal(text.includes(secret), false);
});

const BASE = { issuer: 'https://id.example.org', client_id: 'c', redirect_uri: 'https://chat.example.org/console' };

for (const [what, change] of Object.entries({
  'plain http elsewhere': { issuer: 'http://id.example.org' },
  'plain http to a name that only begins like loopback': { issuer: 'http://localhost.example.org' },
  'no URL': { redirect_uri: 'console' },
  'another protocol': { issuer: 'ftp://127.0.0.1' },
  'a role that people cannot have': { groups: { support: 'vendor_support' } },
  'an empty client': { client_id: '' },
  'an unknown setting': { secret: 'x' },
})) {
  test(`settings with ${what} are refused`, () => {
    assert.equal(ssoSettings.safeParse({ ...BASE, ...change }).success, false);
  });
}

test('settings have defaults that most providers keep', () => {
  assert.deepEqual(ssoSettings.parse(BASE), {
    ...BASE,
    scope: 'openid profile',
    username_claim: 'preferred_username',
    roles_claim: 'roles',
    groups_claim: 'groups',
    roles: {},
    groups: {},
    bind_by_email: false,
  });
});

test('VND-09 identity control lists whose account is whose, with the last sign-in', async (context) => {
  const { clock, identity, signIn, sso } = await openSso(context);
  const { handlers } = makeIdentityControlPage({ sso });
  const read = async (query: object) => {
    const asked = {
      principal: OWNER,
      hasSteppedUp: true,
      address: '',
      by: { actor: 'user:olga', address: '' },
      parameters: {},
      body: undefined,
      query,
    };
    return (await handlers['listIdentityAccounts']?.(asked))?.body;
  };
  assert.deepEqual(await read({ limit: 10 }), { items: [], next: null });
  identity.accounts.set('subject-1', { preferred_username: 'olga', groups: ['admins'] });
  identity.accounts.set('subject-2', { preferred_username: 'viktor', groups: ['staff'] });
  await signIn('subject-2');
  clock.advance(60);
  await signIn('subject-1');
  const olga = {
    user: 'olga',
    issuer: identity.issuer,
    subject: 'subject-1',
    signed_in_at: '2026-11-21T08:01:00.000Z',
    bound_by: 'first_sign_in',
    bound_actor: 'user:olga',
    bound_at: '2026-11-21T08:01:00.000Z',
  };
  const earlier = { signed_in_at: '2026-11-21T08:00:00.000Z', bound_at: '2026-11-21T08:00:00.000Z' };
  const viktor = { ...olga, user: 'viktor', subject: 'subject-2', bound_actor: 'user:viktor', ...earlier };
  assert.deepEqual(await read({ limit: 10 }), { items: [olga, viktor], next: null });
  assert.deepEqual(await read({ limit: 1 }), { items: [olga], next: 'olga' });
  assert.deepEqual(await read({ limit: 1, after: 'olga' }), { items: [viktor], next: null });
});
