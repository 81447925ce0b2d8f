/** A secret belongs to its address: whoever changes where it goes does not take it along (CON-02, VND-10). */
import assert from 'node:assert/strict';
import { generateKeyPairSync } from 'node:crypto';
import { once } from 'node:events';
import { createServer } from 'node:net';
import { test } from 'node:test';
import { portOf } from '#src/http/listening-address.ts';
import { fieldsOf, SETTING_SCREEN_NAMES } from '#src/settings/setting-screens.ts';
import { shareSsoServer } from './sso-server.ts';

const site = await shareSsoServer();

test('CRD-14 a mail password does not go to a server that the next administrator types', async () => {
  const heard: string[] = [];
  const thief = createServer((socket) => {
    socket.write('220 thief ESMTP\r\n');
    socket.on('error', () => undefined);
    socket.on('data', (bytes) => {
      const line = bytes.toString('latin1');
      heard.push(line);
      if (/^EHLO/i.test(line)) socket.write('250-thief\r\n250 AUTH PLAIN\r\n');
      else if (/^AUTH PLAIN/i.test(line)) socket.write('235 2.7.0 thank you\r\n');
      else socket.write('250 OK\r\n');
    });
  }).listen(0, '127.0.0.1');
  await once(thief, 'listening');
  const mail = {
    domain: 'chat.example.org',
    smtp_host: '127.0.0.1',
    smtp_port: 9,
    smtp_security: 'none',
    smtp_username: 'parley',
    smtp_password: 'heron of the mail',
  };
  assert.equal((await site.ask('owner', 'PUT', '/settings/mail', mail)).status, 200);
  await site.ask('administrator', 'PUT', '/settings/mail', { smtp_port: portOf(thief.address()) });
  await site.ask('administrator', 'POST', '/settings/mail/test');
  thief.close();
  const stolen = heard
    .filter((line) => /^AUTH PLAIN/i.test(line))
    .map((line) => Buffer.from(line.split(' ')[2] ?? '', 'base64').toString());
  assert.deepEqual(
    stolen.filter((text) => text.includes('heron of the mail')),
    [],
  );
});

const SSO = { issuer: 'https://id.example.org', client_id: 'parley', redirect_uri: 'https://chat.example.org/c' };
const pemOf = (key: { export(options: object): string | Buffer }) =>
  String(key.export({ type: 'pkcs8', format: 'pem' }));
const APNS_KEY = pemOf(generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey);
const SERVICE_ACCOUNT = JSON.stringify({
  type: 'service_account',
  client_email: 'push@example.org',
  private_key: pemOf(generateKeyPairSync('rsa', { modulusLength: 2048 }).privateKey),
});
const CASES: readonly [screen: string, whole: object, moves: readonly object[], stays: object, secret: string][] = [
  [
    'sso',
    { ...SSO, client_secret: 'heron' },
    [{ issuer: 'https://thief.example.org' }],
    { issuer: SSO.issuer, client_id: 'other' },
    'client_secret',
  ],
  [
    'mail',
    {
      domain: 'a.example.org',
      smtp_host: 'mx.example.org',
      smtp_port: 25,
      smtp_security: 'tls',
      smtp_password: 'heron',
    },
    [{ smtp_host: 'thief.example.org' }, { smtp_port: 26 }, { smtp_port: null }, { smtp_security: 'none' }],
    { domain: 'b.example.org', smtp_host: 'mx.example.org' },
    'smtp_password',
  ],
  [
    'ldap',
    { url: 'ldaps://a.example.org', bind_dn: 'cn=p', base_dn: 'dc=e', bind_password: 'heron' },
    [{ url: 'ldap://a.example.org' }, { url: 'ldaps://b.example.org' }],
    { bind_dn: 'cn=q' },
    'bind_password',
  ],
  [
    'external-stores',
    { endpoint: 'https://s3.example.org', bucket: 'parley', access_key_id: 'KEY', secret_access_key: 'heron' },
    [{ endpoint: 'https://s4.example.org' }, { region: 'eu-west-1' }, { bucket: 'other' }],
    { access_key_id: 'OTHER', keeps_attachments: true },
    'secret_access_key',
  ],
  [
    'hrms',
    { base_url: 'https://a.example.org', api_token: 'heron' },
    [{ base_url: 'https://b.example.org' }],
    {},
    'api_token',
  ],
  [
    'simpleone',
    { base_url: 'https://a.example.org', username: 'p', password: 'heron' },
    [{ base_url: 'https://b.example.org' }],
    { username: 'q' },
    'password',
  ],
  [
    'ai-keys',
    { base_url: 'https://a.example.org', api_key: 'heron' },
    [{ base_url: 'https://b.example.org' }],
    {},
    'api_key',
  ],
  [
    'apns',
    {
      team_id: 'TEAM567890',
      key_id: 'KEY4567890',
      topic: 'org.example.chat',
      environment: 'production',
      private_key: APNS_KEY,
    },
    [{ environment: 'sandbox' }, { environment: null }],
    { environment: 'production', topic: 'org.example.other' },
    'private_key',
  ],
  [
    'fcm',
    { project_id: 'example-project', service_account: SERVICE_ACCOUNT },
    [{ project_id: 'thiefs-project' }],
    { project_id: 'example-project' },
    'service_account',
  ],
];

/** Secrets of a form of their own. */
const IN_FORM: ReadonlySet<string> = new Set(['apns', 'fcm']);

for (const [screen, whole, moves, stays, secret] of CASES) {
  test(`CRD-14 the secret of ${screen} goes when where it goes to changes, and the answer says so`, async () => {
    interface View {
      readonly values: Readonly<Record<string, unknown>>;
      readonly dropped: readonly string[];
    }
    const put = async (form: object) => {
      const reply = await site.ask<View>('owner', 'PUT', `/settings/${screen}`, form);
      assert.equal(reply.status, 200, reply.text);
      return [reply.body.values[secret], reply.body.dropped];
    };
    for (const move of moves) {
      assert.deepEqual(await put(whole), [{ set: true }, []]);
      // What does not move it, and the same address once more, leave it where it is.
      assert.deepEqual(await put(stays), [{ set: true }, []]);
      assert.deepEqual(await put(move), [{ set: false }, [secret]], JSON.stringify(move));
    }
    const anew = IN_FORM.has(screen) ? whole : { ...whole, [secret]: 'heron anew' };
    assert.deepEqual(await put(anew), [{ set: true }, []]);
  });
}

test('CRD-14 a shared secret of TURN is asked for again with other servers', async () => {
  const whole = { uris: 'turn:a.example.org:3478', secret: 'heron of the media relays' };
  assert.equal((await site.ask('owner', 'PUT', '/settings/turn', whole)).status, 200);
  const moved = await site.ask<{ code: string; field: string }>('administrator', 'PUT', '/settings/turn', {
    uris: 'turn:thief.example.org:3478',
  });
  assert.deepEqual([moved.status, moved.body.code, moved.body.field], [400, 'field_invalid', 'secret']);
});

test('CRD-14 an automation takes another URL with a secret for it alone', async () => {
  const whole = {
    name: 'hook',
    events: ['user.created'],
    url: 'https://a.example.org/hook',
    secret: 'heron signs this hook',
  };
  const made = await site.ask<{ id: string }>('administrator', 'POST', '/automations', whole);
  assert.equal(made.status, 201, made.text);
  const change = async (form: object) =>
    await site.ask<{ code: string; field: string }>('administrator', 'PATCH', `/automations/${made.body.id}`, form);
  const moved = await change({ url: 'https://thief.example.org/hook' });
  assert.deepEqual([moved.status, moved.body.code, moved.body.field], [400, 'field_invalid', 'secret']);
  assert.equal((await change({ url: whole.url, name: 'other' })).status, 200);
  assert.equal((await change({ url: 'https://b.example.org/hook', secret: 'another heron signs it' })).status, 200);
});

test('CRD-14 every secret of every screen says where it goes, in fields that are there; a key that never leaves says so', () => {
  const faults = SETTING_SCREEN_NAMES.flatMap((name) => {
    const fields = new Map(fieldsOf(name));
    return [...fields].flatMap(([field, form]) => {
      if (form.isSecret !== true) return [];
      const wrong = form.goesTo.filter((each) => fields.get(each) === undefined || fields.get(each)?.isSecret === true);
      return form.goesTo.length === 0 || wrong.length > 0 ? [`${name}.${field} ${wrong.join()}`] : [];
    });
  });
  // The key of the certificate is read by this server and sent nowhere.
  assert.deepEqual(faults, ['tls.private_key ']);
});

test('CRD-14 every screen with a secret that goes somewhere has its case', () => {
  const going = SETTING_SCREEN_NAMES.filter((name) =>
    fieldsOf(name).some(([, field]) => field.isSecret === true && field.goesTo.length > 0),
  );
  const tried = [...CASES.map(([screen]) => screen), 'turn'];
  assert.deepEqual(going.toSorted(), tried.toSorted());
});
