/** Settings: values and secrets, what goes together, what they drive, and trying them. */
import assert from 'node:assert/strict';
import { generateKeyPairSync } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { createServer as createTcp, type AddressInfo } from 'node:net';
import { createServer as createTls } from 'node:tls';
import { test, type TestContext } from 'node:test';
import { makeAlertSources } from '#src/server/alert-sources.ts';
import { makeNodeServices } from '#src/hosts/node-services.ts';
import {
  changeForm,
  fieldsOf,
  SETTING_SCREEN_NAMES,
  SETTING_SCREENS,
  type SettingScreen,
} from '#src/settings/setting-screens.ts';
import { testSettings, TESTABLE_SCREENS } from '#src/settings/setting-tests.ts';
import { bindIdentity, noteOwnerSignIn } from '#src/identity/single-sign-on/sso-bindings.ts';
import type { SsoSettings } from '#src/identity/single-sign-on/sso-settings.ts';
import { SignInSwitches } from '#src/identity/sign-in-switches.ts';
import { makeCertificate } from '#test/support/certificate.ts';
import { START } from './coordinator-fixture.ts';
import { AS_OWNER, BY, MASTER, openSettings, startReceiver } from './settings-fixture.ts';

const SSO = { issuer: 'https://id.example.org', client_id: 'parley', redirect_uri: 'https://chat.example.org/console' };
const LDAP = { bind_dn: 'cn=parley', bind_password: 'heron of the bind', base_dn: 'dc=example' };
const STORE = { bucket: 'parley', access_key_id: 'KEYID', secret_access_key: 'heron of the store' };
const day = 86_400_000;

test('VND-10 every field of every screen is read by a module that the screen names', () => {
  for (const name of SETTING_SCREEN_NAMES) {
    const { readBy }: SettingScreen = SETTING_SCREENS[name];
    assert.match(readBy.say, /\S{3}.*\.$/, name);
    const texts = readBy.modules.map((path) => readFileSync(new URL(`../../${path}`, import.meta.url), 'utf8'));
    for (const [field] of fieldsOf(name)) {
      // A quota of all people is the one of a person under a name that is put together.
      const word = new RegExp(`\\b${name === 'quotas' ? field.replace('installation_', '') : field}\\b`);
      assert.ok(
        texts.some((text) => word.test(text)),
        `${name}.${field} is read in none of ${readBy.modules.join()}`,
      );
    }
  }
});

test('CON-02 VND-10 a secret reads as set or not set, and whoever uses the screen reads it', async (context) => {
  const { accounts, settings, vault } = await openSettings(context);
  assert.deepEqual(settings.view('hrms'), {
    isComplete: false,
    values: { base_url: null, api_token: { set: false } },
    changedAt: null,
    changedBy: null,
    dropped: [],
  });
  assert.equal(settings.read('hrms'), undefined);
  await settings.change('hrms', { base_url: 'https://hr.example.org/api', api_token: 'heron of the staff' }, AS_OWNER);
  assert.deepEqual(settings.view('hrms'), {
    isComplete: true,
    values: { base_url: 'https://hr.example.org/api', api_token: { set: true } },
    changedAt: '2026-11-21T08:00:00.000Z',
    changedBy: 'user:olga',
    dropped: [],
  });
  assert.deepEqual(settings.read('hrms'), { base_url: 'https://hr.example.org/api', api_token: 'heron of the staff' });
  // What is left out stays, where the rest does not lead it elsewhere (CRD-14).
  await settings.change('hrms', { base_url: 'https://hr.example.org/api' }, AS_OWNER);
  assert.equal(settings.read('hrms')?.api_token, 'heron of the staff');
  const moved = { base_url: 'https://hr2.example.org', api_token: 'another heron' };
  await settings.change('hrms', moved, AS_OWNER);
  assert.deepEqual(settings.read('hrms'), moved);
  // Null takes away.
  await settings.change('hrms', { api_token: null }, AS_OWNER);
  assert.deepEqual(settings.view('hrms').values, { base_url: 'https://hr2.example.org', api_token: { set: false } });
  assert.equal(vault.isSet('setting:hrms.api_token'), false);
  const trail = accounts
    .auditEntries({ limit: 10 })
    .map(({ event, actor, subject, details }) => [event, actor, subject, details]);
  assert.deepEqual(trail, [
    ['settings.changed', 'user:olga', 'settings:hrms', { api_token: 'removed' }],
    [
      'settings.changed',
      'user:olga',
      'settings:hrms',
      { base_url: { before: 'https://hr.example.org/api', after: 'https://hr2.example.org' }, api_token: 'set' },
    ],
    [
      'settings.changed',
      'user:olga',
      'settings:hrms',
      { base_url: { before: 'https://hr.example.org/api', after: 'https://hr.example.org/api' } },
    ],
    [
      'settings.changed',
      'user:olga',
      'settings:hrms',
      { base_url: { before: null, after: 'https://hr.example.org/api' }, api_token: 'set' },
    ],
  ]);
});

test('a change that names no field changes nothing: the screen stays whose it was, and the trail as it is', async (context) => {
  const { accounts, settings } = await openSettings(context);
  await settings.change('hrms', { base_url: 'https://hr.example.org' }, AS_OWNER);
  const before = settings.view('hrms');
  const { auditHead } = accounts;
  assert.deepEqual(await settings.change('hrms', {}, { ...AS_OWNER, actor: 'user:somebody' }), before);
  assert.equal(before.changedBy, BY.actor);
  assert.deepEqual(accounts.auditHead, auditHead);
});

test('a locked vault shows what is set, and neither gives nor takes secrets', async (context) => {
  const { settings, vault } = await openSettings(context);
  await vault.enable(MASTER, BY);
  await settings.change('hrms', { base_url: 'https://hr.example.org', api_token: 'heron' }, AS_OWNER);
  await vault.lock(BY);
  assert.deepEqual(settings.view('hrms').values, { base_url: 'https://hr.example.org', api_token: { set: true } });
  assert.throws(() => settings.read('hrms'), { code: 'encryption_locked' });
  await assert.rejects(settings.change('hrms', { base_url: null, api_token: 'other' }, AS_OWNER), {
    code: 'encryption_locked',
  });
  // Nothing of that change was stored.
  assert.deepEqual(settings.view('hrms').values, { base_url: 'https://hr.example.org', api_token: { set: true } });
  await vault.unlock(MASTER, BY);
  assert.deepEqual(settings.read('hrms'), { base_url: 'https://hr.example.org', api_token: 'heron' });
});

test('VND-17 nobody maps somebody of the provider to a role above their own', async (context) => {
  const { settings } = await openSettings(context);
  const set = async (roles: object, role: 'owner' | 'administrator' | 'viewer') =>
    await settings.change('sso', { ...SSO, groups: roles }, { ...BY, role });
  const above = { code: 'role_above_own', field: 'groups' };
  await assert.rejects(set({ staff: 'viewer', admins: 'owner' }, 'administrator'), above);
  await assert.rejects(set({ admins: 'administrator' }, 'viewer'), above);
  await set({ admins: 'administrator', staff: 'viewer' }, 'administrator');
  await set({ admins: 'owner' }, 'owner');
});

test('VND-14 sign-in follows its screen, and cannot be turned to a provider that is not set up', async (context) => {
  const { accounts, clock, settings } = await openSettings(context);
  const switches = new SignInSwitches(settings.signIn);
  const { sso } = settings;
  assert.deepEqual([switches.refusePasswords(), sso.settings()], [false, undefined]);
  await assert.rejects(settings.change('sign-in', { sign_in_mode: 'identity' }, AS_OWNER), { code: 'sso_not_set' });
  assert.equal(switches.refusePasswords(), false);
  await settings.change('sso', { ...SSO, client_secret: 'heron of the client', groups: { admins: 'owner' } }, AS_OWNER);
  assert.deepEqual(sso.settings(), {
    ...SSO,
    scope: 'openid profile',
    username_claim: 'preferred_username',
    roles_claim: 'roles',
    groups_claim: 'groups',
    roles: {},
    groups: { admins: 'owner' },
    bind_by_email: false,
  });
  assert.equal(sso.clientSecret(), 'heron of the client');
  const toIdentity = async () => await settings.change('sign-in', { sign_in_mode: 'identity' }, AS_OWNER);
  await assert.rejects(toIdentity(), { code: 'sso_owner_required' });
  await accounts.change((draft) => {
    const binding = { by: 'person', actor: 'user:olga', address: '192.0.2.7', now: clock.now() } as const;
    bindIdentity(draft, 'olga', { issuer: SSO.issuer, subject: 'subject-1' }, binding);
    noteOwnerSignIn(draft, 'olga', sso.settings() as SsoSettings);
  });
  await toIdentity();
  assert.deepEqual([switches.refusePasswords(), settings.signIn.signInMode()], [true, 'identity']);
  await assert.rejects(settings.change('sso', { issuer: null }, AS_OWNER), { code: 'sso_in_use' });
  await settings.change('sign-in', { sign_in_mode: null, platform_token: 'local' }, AS_OWNER);
  await settings.change('sso', { issuer: null }, AS_OWNER);
  assert.deepEqual([switches.refusePasswords(), sso.settings()], [false, undefined]);
});

test('a form takes what its fields take, and names the field that it does not', () => {
  const ec = generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey.export({ type: 'pkcs8', format: 'pem' });
  const rsa = generateKeyPairSync('rsa', { modulusLength: 2048 }).privateKey.export({ type: 'pkcs8', format: 'pem' });
  const account = { type: 'service_account', client_email: 'push@example.org', private_key: rsa };
  const good = {
    apns: { team_id: 'ABCDE12345', key_id: 'KEY1234567', topic: 'org.example.chat', private_key: ec },
    fcm: { project_id: 'example-chat', service_account: JSON.stringify(account) },
    ldap: { ...LDAP, url: 'ldaps://directory.example.org:636' },
    'external-stores': { ...STORE, endpoint: 'https://s3.example.org' },
    turn: { uris: 'stun:a.example.org, turns:a.example.org:5349', secret: 'sixteen letters!', credential_seconds: 600 },
  } as const;
  for (const [name, form] of Object.entries(good)) {
    assert.ok(changeForm(name as keyof typeof good).safeParse(form).success, name);
  }
  for (const [name, field, value] of [
    ['apns', 'private_key', rsa],
    ['apns', 'private_key', 'no key'],
    ['apns', 'team_id', 'abcde12345'],
    ['fcm', 'service_account', '{}'],
    ['fcm', 'service_account', 'no JSON'],
    ['ldap', 'url', 'https://directory.example.org'],
    ['ldap', 'url', 'ldap://user:password@directory.example.org'],
    ['ldap', 'bind_password', ''],
    ['external-stores', 'bucket', '../etc'],
    ['hrms', 'base_url', 'http://hr.example.org'],
    ['sso', 'issuer', 'http://id.example.org'],
    ['sign-in', 'sign_in_mode', 'elsewhere'],
    ['tls', 'certificate', 'no certificate'],
    ['turn', 'uris', 'turn:turn.example.org,http://turn.example.org'],
    ['turn', 'uris', ''],
    ['turn', 'secret', 'fifteen letters'],
    ['turn', 'credential_seconds', 599],
    ['turn', 'credential_seconds', 86_401],
    ['mail', 'domain', 'example'],
    ['mail', 'spf', 'v=spf2'],
  ] as const) {
    const parsed = changeForm(name).safeParse({ [field]: value });
    assert.deepEqual(
      parsed.error?.issues.map(({ path }) => path.join('.')),
      [field],
      `${name}.${field}`,
    );
  }
  for (const name of SETTING_SCREEN_NAMES)
    assert.equal(changeForm(name).safeParse({ user: 'me' }).success, false, name);
});

test('a certificate goes with its key, and its end raises the alert', async (context) => {
  const { accounts, clock, settings } = await openSettings(context);
  const [one, other] = [makeCertificate(START, 15), makeCertificate(START, 90)];
  const isOf = (field: string) => ({ code: 'field_invalid', field });
  const pair = { certificate: one.certificate, private_key: one.key };
  await assert.rejects(settings.change('tls', { ...pair, private_key: other.key }, AS_OWNER), isOf('private_key'));
  await settings.change('tls', pair, AS_OWNER);
  await assert.rejects(settings.change('tls', { certificate: other.certificate }, AS_OWNER), isOf('certificate'));
  assert.equal(settings.certificateEnd(), '2026-12-06T08:00:00.000Z');
  const sources = makeAlertSources({
    nodes: makeNodeServices(accounts, clock).nodes,
    clock,
    folder: '.',
    startedAt: START,
    quotaConditions: () => [],
    accountsUsedBytes: () => 0,
    commitP99Seconds: async () => null,
    certificateEnd: () => settings.certificateEnd(),
    clusterHosts: async () => null,
    storageDamage: async () => ({ faults: 0, lanes_set_aside: 0, archive_gaps: 0, archive_lag_seconds: 0 }),
    redactionFailures: () => 0,
  });
  const raised = async () => {
    const conditions = (await sources['nodes']?.look()) ?? [];
    return conditions.filter(({ kind }) => kind === 'certificate_ending');
  };
  assert.deepEqual(await raised(), []);
  clock.advance((day + 1000) / 1000);
  const details = 'ends 2026-12-06T08:00:00.000Z';
  assert.deepEqual(await raised(), [{ kind: 'certificate_ending', subject: 'certificate:settings', details }]);
  const options = { settings, clock, allowPrivateTargets: false };
  const matched = { ok: true, detail: 'certificate and key match', expires_at: '2026-12-06T08:00:00.000Z' };
  assert.deepEqual(await testSettings('tls', options), matched);
  clock.advance(15 * 86_400);
  assert.deepEqual(await testSettings('tls', options), { ...matched, ok: false, detail: 'certificate has ended' });
});

async function listenOn(context: TestContext, server: ReturnType<typeof createTcp>): Promise<number> {
  await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve));
  context.after(() => void server.close());
  return (server.address() as AddressInfo).port;
}

test('a directory server is connected to, within a deadline, and only where that is allowed', async (context) => {
  const { clock, settings } = await openSettings(context);
  const options = { settings, clock, allowPrivateTargets: true, millis: 2_000 };
  await assert.rejects(testSettings('ldap', options), { code: 'setting_incomplete' });
  const port = await listenOn(
    context,
    createTcp((socket) => void socket.end()),
  );
  await settings.change('ldap', { ...LDAP, url: `ldap://127.0.0.1:${port}` }, AS_OWNER);
  // It closes the connection before anything is said; what is said to a real one is in the tests of LDAP.
  assert.equal((await testSettings('ldap', options)).ok, false);
  const isPrivate = { code: 'target_private' };
  await assert.rejects(testSettings('ldap', { ...options, allowPrivateTargets: false }), isPrivate);
  await settings.change('ldap', { ...LDAP, url: `ldap://localhost:${port}` }, AS_OWNER);
  await assert.rejects(testSettings('ldap', { ...options, allowPrivateTargets: false }), isPrivate);
  const { certificate, key } = makeCertificate(Date.now(), 30);
  const secure = await listenOn(
    context,
    createTls({ cert: certificate, key }, (socket) => void socket.end()),
  );
  await settings.change('ldap', { ...LDAP, url: `ldaps://localhost:${secure}` }, AS_OWNER);
  // Nobody vouches for it, so it is not taken.
  const untrusted = { ok: false, detail: 'depth_zero_self_signed_cert', expires_at: null };
  assert.deepEqual(await testSettings('ldap', options), untrusted);
  const silent = await listenOn(context, createTcp());
  await settings.change('ldap', { ...LDAP, url: `ldaps://localhost:${silent}` }, AS_OWNER);
  const late = { ok: false, detail: 'timeout', expires_at: null };
  assert.deepEqual(await testSettings('ldap', { ...options, millis: 50 }), late);
});

test('an object store is tried through the guard, by its own words', async (context) => {
  const { clock, settings } = await openSettings(context);
  const options = { settings, clock, allowPrivateTargets: true };
  const { received, url } = await startReceiver(context, (response, before) => {
    response.writeHead(before === 0 ? 502 : 301, { location: 'http://127.0.0.1:1/' }).end();
  });
  await settings.change('external-stores', { ...STORE, endpoint: url }, AS_OWNER);
  for (const detail of ['answered 502', 'answered 301']) {
    assert.deepEqual(await testSettings('external-stores', options), { ok: false, detail, expires_at: null });
  }
  assert.deepEqual(
    received.map(({ method, headers }) => [method, headers.authorization?.includes('Credential=KEYID/')]),
    [
      ['PUT', true],
      ['PUT', true],
    ],
  );
  await assert.rejects(testSettings('external-stores', { ...options, allowPrivateTargets: false }), {
    code: 'target_private',
  });
  assert.deepEqual(TESTABLE_SCREENS, ['ldap', 'external-stores', 'tls', 'mail']);
});
