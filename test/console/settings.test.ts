/** Settings, encryption and what else holds secrets, over the running server (CON-02, VND-09, VND-10). */
import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { after, before, test } from 'node:test';
import { consoleRoutes } from '#src/console/route-table.ts';
import { makeCertificate } from '#test/support/certificate.ts';
import { request } from '#test/support/server.ts';
import { startConsoleServer, type ConsoleServer } from './console-server.ts';

interface Refused {
  readonly code: string;
  readonly field?: string;
}
interface Screen {
  readonly read_by: string;
  readonly is_complete: boolean;
  readonly values: Record<string, unknown>;
  readonly changed_by: string | null;
}

let host: ConsoleServer;
before(async () => {
  host = await startConsoleServer({ PARLEY_LOG_LEVEL: 'debug' });
});
after(async () => await host.stop());

const { certificate, key } = makeCertificate(Date.now(), 90);
/** Screen → what is set, and which of it are secrets. */
const FORMS: Readonly<Record<string, readonly [form: Record<string, string>, secrets: string[]]>> = {
  hrms: [{ base_url: 'https://hr.example.org', api_token: 'heron of the staff' }, ['api_token']],
  'ai-keys': [{ base_url: 'https://ai.example.org', api_key: 'heron of the model' }, ['api_key']],
  simpleone: [
    { base_url: 'https://desk.example.org', username: 'parley', password: 'heron of the desk' },
    ['password'],
  ],
  ldap: [
    { url: 'ldap://127.0.0.1:1', bind_dn: 'cn=parley', base_dn: 'dc=example', bind_password: 'heron of the bind' },
    ['bind_password'],
  ],
  'external-stores': [
    { endpoint: 'https://s3.example.org', bucket: 'parley', access_key_id: 'KEYID', secret_access_key: 'heron of s3' },
    ['secret_access_key'],
  ],
  tls: [{ certificate, private_key: key }, ['private_key']],
};
/** A line of the key in the middle: PEM's breaks are escaped in JSON. */
const secretOf = (text: string) => (text.includes('-----') ? (text.split('\n')[1] as string) : text);
const secrets = Object.values(FORMS).flatMap(([form, names]) => names.map((name) => secretOf(form[name] as string)));

test('CON-02 VND-10 settings are set, and their secrets read as set by everybody, vendors included', async () => {
  for (const [name, [form, secret]] of Object.entries(FORMS)) {
    const empty = await host.call<Screen>('vendor_active', 'GET', `/settings/${name}`);
    assert.deepEqual([empty.status, empty.body.is_complete], [200, false], name);
    const changed = await host.call<Screen>('owner', 'PUT', `/settings/${name}`, { body: form });
    assert.equal(changed.status, 200, changed.text);
    for (const who of ['viewer', 'owner', 'vendor_active'] as const) {
      const read = await host.call<Screen>(who, 'GET', `/settings/${name}`);
      assert.deepEqual([read.status, read.body.is_complete], [200, true], name);
      assert.match(read.body.read_by, /\w/, name);
      // The trail has the same change under a pseudonym.
      const by = who === 'vendor_active' ? /^user:u-[0-9a-f]{8}$/ : /^user:owner$/;
      assert.match(read.body.changed_by ?? '', by);
      const { values } = read.body;
      for (const field of secret) assert.deepEqual(values[field], { set: true });
      for (const field of Object.keys(form).filter((each) => !secret.includes(each))) {
        assert.equal(values[field], form[field]);
      }
    }
  }
  const trail = await host.call('owner', 'GET', '/audit?limit=200');
  for (const text of [trail.text, ...host.server.output]) {
    assert.deepEqual(
      secrets.filter((secret) => text.includes(secret)),
      [],
    );
  }
});

test('a settings form names the field that is wrong, and changes nothing', async () => {
  const put = async (name: string, body: object) => {
    const { status, body: answer } = await host.call<Refused>('owner', 'PUT', `/settings/${name}`, { body });
    return [status, answer.code, answer.field];
  };
  assert.deepEqual(await put('hrms', { api_token: 'new', user: 'me' }), [400, 'field_unknown', 'user']);
  assert.deepEqual(await put('hrms', { api_token: '' }), [400, 'field_invalid', 'api_token']);
  assert.deepEqual(await put('hrms', { base_url: 'https://u:p@hr.example.org' }), [400, 'field_invalid', 'base_url']);
  // VND-10: vendors read this screen, and a key in a query would be read with it.
  assert.deepEqual(await put('hrms', { base_url: 'https://hr.example.org/?key=1' }), [
    400,
    'field_invalid',
    'base_url',
  ]);
  assert.deepEqual(await put('tls', { private_key: 'heron' }), [400, 'field_invalid', 'private_key']);
  assert.deepEqual(await put('sso', { roles: { admins: 'king' } }), [400, 'field_invalid', 'roles.admins']);
  assert.deepEqual(await put('sign-in', { sign_in_mode: 'identity' }), [404, 'sso_not_set', undefined]);
  const { body } = await host.call<Screen>('viewer', 'GET', '/settings/hrms');
  assert.deepEqual(body.values, { base_url: 'https://hr.example.org', api_token: { set: true } });
});

test('a screen is tried, not against private addresses', async () => {
  const tls = await host.call<{ ok: boolean; detail: string }>('administrator', 'POST', '/settings/tls/test');
  assert.deepEqual([tls.status, tls.body.ok, tls.body.detail], [200, true, 'certificate and key match']);
  const ldap = await host.call<Refused>('administrator', 'POST', '/settings/ldap/test');
  assert.deepEqual([ldap.status, ldap.body.code], [400, 'target_private']);
  const none = await host.call<Refused>('administrator', 'POST', '/settings/hrms/test');
  assert.deepEqual([none.status, none.body.code], [404, 'path_not_found']);
});

test('encryption is enabled in two steps, locked, unlocked and rotated', async () => {
  const owner = async <T>(method: string, path: string, body?: object) =>
    await host.call<T>('owner', method, `/encryption${path}`, body === undefined ? {} : { body });
  interface State {
    readonly state: string;
    readonly check_value: string | null;
    readonly master_key_id: string | null;
  }
  interface Sheet extends State {
    readonly master_key: string | null;
  }
  assert.equal((await owner<State>('GET', '')).body.state, 'off');
  const off = await owner<Refused>('GET', '/recovery-sheet');
  assert.deepEqual([off.status, off.body.code], [409, 'encryption_off']);
  const { body: proposed } = await owner<{ master_key: string }>('POST', '/propose');
  assert.match(proposed.master_key, /^[0-9a-f]{64}$/);
  assert.equal((await owner<State>('GET', '')).body.state, 'off');
  const short = await owner<Refused>('POST', '/enable', { master_key: 'abc' });
  assert.deepEqual([short.status, short.body.code, short.body.field], [400, 'field_invalid', 'master_key']);
  const { body: sheet } = await owner<Sheet>('POST', '/enable', proposed);
  assert.equal(sheet.master_key, proposed.master_key);
  const twice = await owner<Refused>('POST', '/enable', proposed);
  assert.deepEqual([twice.status, twice.body.code], [409, 'encryption_on']);
  const { body: read } = await owner<Sheet>('GET', '/recovery-sheet');
  assert.deepEqual([read.master_key, read.check_value], [null, sheet.check_value]);
  const { body: coverage } = await owner<{ state: string; plain: number; sealed: number }>('GET', '/coverage');
  assert.deepEqual([coverage.state, coverage.plain, coverage.sealed >= secrets.length], ['unlocked', 0, true]);

  assert.equal((await owner<State>('POST', '/lock')).body.state, 'locked');
  const locked = await host.call<Refused>('owner', 'PUT', '/settings/hrms', { body: { api_token: 'other' } });
  assert.deepEqual(
    [locked.status, locked.body.code, locked.headers.get('retry-after')],
    [503, 'encryption_locked', '60'],
  );
  const shown = await host.call<Screen>('viewer', 'GET', '/settings/hrms');
  assert.deepEqual(shown.body.values['api_token'], { set: true });
  assert.deepEqual(
    host.server.output.filter((line) => line.includes('a request failed')),
    [],
    'a refusal is no fault',
  );
  const wrong = await owner<Refused>('POST', '/unlock', { master_key: '0'.repeat(64) });
  assert.deepEqual([wrong.status, wrong.body.code], [403, 'master_key_wrong']);
  assert.equal((await owner<State>('POST', '/unlock', proposed)).body.state, 'unlocked');

  const second = randomBytes(32).toString('hex');
  const { body: rotated } = await owner<Sheet>('POST', '/rotate-master', { master_key: second });
  assert.deepEqual([rotated.master_key, rotated.master_key_id === sheet.master_key_id], [second, false]);
  assert.equal((await owner<State>('POST', '/rotate-data')).body.state, 'unlocked');
  const trail = (await host.call('owner', 'GET', '/audit?prefix=encryption.&limit=200')).text;
  for (const text of [trail, ...host.server.output]) {
    assert.deepEqual(
      [proposed.master_key, second].filter((masterKey) => text.includes(masterKey)),
      [],
    );
  }
});

test('a publish token announces releases, which anybody reads', async () => {
  const { coordinator } = host.server;
  const latest = `${coordinator}/v1/clients/latest`;
  const releases = `${coordinator}/v1/clients/releases`;
  const none = await request<Refused>('GET', `${latest}?platform=android`);
  assert.deepEqual([none.status, none.body.code], [404, 'client_release_not_found']);
  const unknown = await request<Refused>('GET', `${latest}?platform=toaster`);
  assert.deepEqual([unknown.status, unknown.body.code, unknown.body.field], [400, 'query_invalid', 'platform']);
  const token = randomBytes(32).toString('base64url');
  const body = { platform: 'android', version: '1.4.0', url: 'https://chat.example.org/parley.apk' };
  const early = await request<Refused>('POST', releases, { body, token });
  assert.deepEqual([early.status, early.body.code], [401, 'token_invalid']);
  const short = await host.call<Refused>('owner', 'PUT', '/clients', { body: { publish_token: 'short' } });
  assert.deepEqual([short.status, short.body.field], [400, 'publish_token']);
  interface Clients {
    readonly publish_token: { set: boolean };
    readonly releases: object[];
  }
  const set = await host.call<Clients>('owner', 'PUT', '/clients', { body: { publish_token: token } });
  assert.deepEqual(set.body, { publish_token: { set: true }, releases: [] });
  const bare = await request<Refused>('POST', releases, { body });
  assert.deepEqual([bare.status, bare.body.code], [401, 'token_missing']);
  const wrong = await request<Refused>('POST', releases, { body, token: `${token.slice(1)}x` });
  assert.deepEqual([wrong.status, wrong.body.code], [401, 'token_invalid']);
  const vendor = await request<Refused>('POST', releases, { body, headers: host.callers.vendor_active });
  assert.deepEqual([vendor.status, vendor.body.code], [401, 'token_invalid']);
  const announced = await request<Record<string, string>>('POST', releases, { body, token });
  assert.equal(announced.status, 201, announced.text);
  assert.deepEqual((await request('GET', `${latest}?platform=android`)).body, announced.body);
  const read = await host.call<Clients>('viewer', 'GET', '/clients');
  assert.deepEqual(read.body, { publish_token: { set: true }, releases: [announced.body] });
  assert.ok(!read.text.includes(token));
});

test('the DNS records of mail have a DKIM key that is made once', async () => {
  interface Records {
    readonly publish: { name: string; type: string; value: string }[];
  }
  const read = async () => (await host.call<Records>('administrator', 'GET', '/mail/dns')).body.publish;
  assert.deepEqual(await read(), []);
  const mail = { domain: 'chat.example.org', dmarc_reports: 'dmarc@example.org' };
  await host.call('administrator', 'PUT', '/settings/mail', { body: mail });
  const [both, again] = await Promise.all([read(), read()]);
  assert.deepEqual(both, again);
  assert.deepEqual(
    both.map(({ name, type }) => `${type} ${name}`),
    ['TXT parley._domainkey.chat.example.org', 'TXT chat.example.org', 'TXT _dmarc.chat.example.org'],
  );
  assert.match(both[0]?.value ?? '', /^v=DKIM1; k=rsa; p=MII[A-Za-z0-9+/]{380,}={0,2}$/);
  assert.equal(both[1]?.value, 'v=spf1 mx -all');
  assert.equal(both[2]?.value, 'v=DMARC1; p=quarantine; rua=mailto:dmarc@example.org');
  const trail = await host.call<{ items: object[] }>('owner', 'GET', '/audit?event=mail.dkim_key_made');
  assert.equal(trail.body.items.length, 1);
});

test('VND-09 VND-10 a vendor reads the settings screens and nothing else of these pages', async () => {
  const isOurs = (path: string) =>
    /^\/(?:settings|encryption|message-export|automations|clients|identity\/control|mail\/dns)(?:\/|$)/.test(path);
  const ours = consoleRoutes().filter(({ route }) => isOurs(route.path));
  assert.ok(ours.length > 40);
  const open = ours
    .filter(({ route }) => route.vendor !== 'closed')
    .map(({ route }) => `${route.method} ${route.path}`);
  const named = 'ai-keys apns external-stores fcm hrms ldap sign-in simpleone sso tls turn'.split(' ');
  assert.deepEqual(
    open.toSorted(),
    named.map((name) => `get /settings/${name}`),
  );
  for (const { route } of ours.filter(({ route: { vendor } }) => vendor === 'closed')) {
    const path = route.path.replaceAll(/:\w+/g, 'nothing');
    const refused = await host.call<Refused>('vendor_active', route.method.toUpperCase(), path);
    assert.deepEqual([refused.status, refused.body.code], [403, 'vendor_token_forbidden'], `${route.method} ${path}`);
  }
});

test('keys and clear data are for owners alone', async () => {
  const paths = ['/encryption', '/encryption/coverage', '/message-export?conversation=c_0123456789abcdefghjkmn'];
  for (const path of paths) {
    const refused = await host.call<Refused>('administrator', 'GET', path);
    assert.deepEqual([refused.status, refused.body.code], [403, 'right_missing'], path);
  }
});
