/**
 * One of everything that opens something on a server that runs, and a backup of it: what somebody has who took the backup away, and what
 * there is after it is restored.
 */
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { after } from 'node:test';
import { join } from 'node:path';
import type { PasskeyCreation, PasskeyRequest } from '#src/protocol/sessions/passkeys.ts';
import type { SecondFactorAsk } from '#src/protocol/sessions/second-factors.ts';
import { basic, defaultCalendar, makeEntry } from '#test/calendar/service/calling.ts';
import { codeAt } from '#test/coordinator/console-fixture.ts';
import { mailSettings, MailServer, smtpError, trusting } from '#test/mail/mail-server.ts';
import { attach, upload } from '#test/messaging/attaching.ts';
import { Authenticator } from '#test/support/authenticator.ts';
import { makeBot } from '#test/support/bots.ts';
import { OWNER_PASSWORD, startConsoleServer } from '#test/support/console.ts';
import { callControl } from '#test/support/control.ts';
import { request, type Reply, type RequestOptions, type TestServer } from '#test/support/server.ts';
import { until } from '#test/support/waiting.ts';

export const PHONE = '+79161234567';
export const FRESH = 'heron over the quiet lake';
export const HOST = { hostname: 'host', agent_version: '1', os: 'Linux' };
export const RELEASE = { platform: 'ios', version: '1.0', url: 'https://example.org/app' };
const GUEST_PASSWORD = 'another long password';

/** A way in, as somebody kept it: what it asks of a server, what it is answered while it is good, and once it is not. */
export interface Door {
  readonly name: string;
  readonly knock: (server: TestServer) => Promise<Door['closed']>;
  readonly open: number;
  readonly closed: readonly [status: number, code: string | undefined];
}

type Service = 'coordinator' | 'messaging' | 'calendar';

function door(
  name: string,
  [method, service, path]: readonly [method: string, service: Service, path: string],
  options: RequestOptions,
  open: number,
  closed: Door['closed'],
): Door {
  const { body, headers = {}, token } = options;
  const sent = {
    ...headers,
    ...(body === undefined ? {} : { 'content-type': 'application/json' }),
    ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
  };
  return {
    name,
    open,
    closed,
    // Some answer with pages and calendars.
    knock: async (server) => {
      const init = { method, headers: sent, ...(body === undefined ? {} : { body: JSON.stringify(body) }) };
      const reply = await fetch(`${server[service]}${path}`, init);
      return [reply.status, /[{,]"code":"(\w+)"/.exec(await reply.text())?.[1]];
    },
  };
}
/** The path of a URL that was handed out. */
export function pathOf(url: string): string {
  return new URL(url, 'http://localhost').pathname;
}

const ends: (() => void)[] = [];
const SERVICE = 's'.repeat(43);
const running = await startConsoleServer({
  shards: 2,
  environment: {
    ...trusting({ after: (end) => ends.push(end) }),
    PARLEY_RECOVERY_WEBHOOK: 'http://127.0.0.1:9/codes',
    PARLEY_SERVICE_TOKENS: JSON.stringify({ messaging: SERVICE }),
  },
});
after(async () => {
  await running.stop();
  ends.forEach((end) => end());
});
export const { console, server } = running;
export const { ann, bob, cleo } = await server.people('ann', 'bob', 'cleo');
export async function made<T>(asked: Promise<Reply<T>>): Promise<T> {
  const reply = await asked;
  assert.ok(reply.status < 300, reply.text);
  return reply.body;
}

export const asAnn = async <T>(service: Service, method: string, path: string, body?: unknown): Promise<T> =>
  await made(request<T>(method, `${server[service]}${path}`, { token: ann.session.token, body }));
export const asOwner = async <T>(method: string, path: string, body?: unknown): Promise<T> =>
  await made(console<T>(method, path, body));

export function lastOf(path: string): string {
  return path.split('/').at(-1) as string;
}

/** One of each thing that opens something, none of them used yet. */
async function makeDoors() {
  const room = await asAnn<{ id: string }>('messaging', 'POST', '/v1/conversations', {
    kind: 'room',
    participants: ['bob'],
  });
  const roomLink = await asAnn<{ link: string }>('messaging', 'POST', `/v1/conversations/${room.id}/links`, {});
  assert.equal((await server.api(cleo, 'POST', `/v1/room-links/${roomLink.link}/join`)).status, 200);
  const calendar = await defaultCalendar(server, ann);
  const invite = async (form: object) => pathOf((await asOwner<{ url: string }>('POST', '/enroll', form)).url);
  const account = (username: string) => ({ body: { username, password: 'a long enough password' } });
  const [person, owner, unusedPath] = [
    await invite({ kind: 'person' }),
    await invite({ kind: 'owner' }),
    await invite({ kind: 'admin' }),
  ];
  const guest = await invite({ kind: 'guest', phone: PHONE, guest_until: new Date(Date.now() + 864e6).toISOString() });
  await made(request('POST', `${server.coordinator}${guest}`, account('guest')));
  await made(request('POST', `${server.coordinator}/v1/auth/recover`, { body: { phone: PHONE } }));
  const code = await until(
    async () => (await asOwner<{ items: { code: string }[] }>('GET', '/recovery')).items[0]?.code,
    'the code of the guest',
  );
  await callControl(server.folder, 'user.add', {
    username: 'dora',
    password: 'a long enough password',
    role: 'person',
  });
  await callControl(server.folder, 'user.add', { username: 'eve', password: 'a long enough password', role: 'person' });
  const reset = pathOf((await asOwner<{ url: string }>('POST', '/users/eve/password-reset')).url);
  const form = { name: 'support', purpose: 'to try what a restore leaves', term_days: 365 };
  const vendor = await asOwner<{ token: string; id: string }>('POST', '/vendor-tokens', form);
  const scim = await asOwner<{ id: string; token: string }>('POST', '/scim-clients', { name: 'provider' });
  const bot = await makeBot(running, 'diary', ['conversations:read'], [room.id]);
  const kept = await makeBot(running, 'honest', ['conversations:read'], [room.id]);
  const webhook = await asAnn<{ id: string; path: string }>(
    'messaging',
    'POST',
    `/v1/conversations/${room.id}/webhooks`,
    { name: 'Builds' },
  );
  const app = await asAnn<{ id: string; password: string }>('coordinator', 'POST', '/v1/app-passwords', {
    name: 'phone',
  });
  const feed = await asAnn<{ id: string; path: string }>('calendar', 'POST', `/v1/calendars/${calendar.id}/feeds`, {});
  const meeting = await asAnn<{ id: string; link: string }>('coordinator', 'POST', '/v1/meetings', {
    title: 'Standup',
  });
  const talk = { title: 'Talk', start_at: '2027-01-11T09:00:00Z', end_at: '2027-01-11T10:00:00Z', meeting: true };
  const entry = await makeEntry(server, ann, calendar.id, talk);
  const attachment = await upload(server, ann, Buffer.from('between us'));
  assert.equal((await attach(server, ann, room.id, attachment)).status, 201);
  const link = await asAnn<{ path: string }>(
    'messaging',
    'GET',
    `/v1/attachments/${attachment}/link?conversation=${room.id}`,
  );
  const publish = 'p'.repeat(43);
  await asOwner('PUT', '/clients', { publish_token: publish });
  const joinTokenOf = async (name: string) =>
    /join_n_[\w-]+/.exec(JSON.stringify(await asOwner('POST', '/nodes', { name, roles: ['routing'] })))?.[0];
  const joining = async (name: string) => ({ body: { ...HOST, join_token: await joinTokenOf(name) } });
  const node = await made(
    request<{ id: string; token: string }>('POST', `${server.coordinator}/v1/nodes/join`, await joining('one')),
  );
  const waiting = await joining('two');
  const health = {
    ...{ agent_version: '1', uptime_seconds: 1, load: [0, 0, 0] },
    memory: { total_bytes: 1, available_bytes: 1 },
  };
  const { secret } = await asOwner<{ secret: string }>('POST', '/second-factor/setup', {});
  const confirmed = await asOwner<{ recovery_codes: string[] }>('POST', '/second-factor/confirm', {
    code: codeAt(secret, Date.now()),
  });
  const [recoveryCode = '', unusedCode = ''] = confirmed.recovery_codes;
  const login = (more: object) => ({ body: { username: 'root', password: OWNER_PASSWORD, ...more } });
  const consoleToken = (
    await made(
      request<{ token: string }>('POST', `${server.coordinator}/admin/api/login`, login({ recovery_code: unusedCode })),
    )
  ).token;
  const bearer = (token: string) => ({ token });
  const inbox = ['GET', 'messaging', '/v1/inbox'] as const;
  const rooms = ['GET', 'messaging', `/v1/conversations/${room.id}`] as const;
  const directory = ['GET', 'coordinator', '/v1/directory'] as const;
  const renewal = ['POST', 'coordinator', '/v1/auth/renew'] as const;
  const used = [
    door('an invitation of a person', ['POST', 'coordinator', person], account('carl'), 201, [410, 'invitation_used']),
    door('an invitation of an owner', ['POST', 'coordinator', owner], account('olga'), 201, [410, 'invitation_used']),
    door('a link that sets a password', ['POST', 'coordinator', reset], { body: { password: FRESH } }, 200, [
      410,
      'reset_link_used',
    ]),
    door(
      'a recovery code of a guest',
      ['POST', 'coordinator', '/v1/auth/recover/confirm'],
      { body: { phone: PHONE, code, new_password: GUEST_PASSWORD } },
      200,
      [403, 'recovery_failed'],
    ),
    door('a join token', ['POST', 'coordinator', '/v1/nodes/join'], waiting, 201, [410, 'join_token_used']),
    door(
      'a recovery code of the console',
      ['POST', 'coordinator', '/admin/api/login'],
      login({ recovery_code: recoveryCode }),
      200,
      [401, 'second_factor_wrong'],
    ),
  ];
  const standing = [
    door('a session', inbox, bearer(ann.session.token), 200, [401, 'token_invalid']),
    door('a session on the coordinator', directory, bearer(ann.session.token), 200, [401, 'token_invalid']),
    door('a session that nobody ended', inbox, bearer(bob.session.token), 200, [401, 'token_invalid']),
    door('a token to renew by', renewal, bearer(bob.session.token), 200, [401, 'token_invalid']),
    door('a refresh token', renewal, { body: { refresh_token: bob.session.refresh_token } }, 200, [
      401,
      'session_over',
    ]),
    door(
      'a console session',
      ['GET', 'coordinator', '/admin/api/me'],
      { headers: { 'x-admin-token': consoleToken } },
      200,
      [401, 'token_invalid'],
    ),
    door('a vendor token', ['GET', 'coordinator', '/admin/api/overview'], bearer(vendor.token), 200, [
      401,
      'vendor_token_revoked',
    ]),
    door('a provisioning token', ['GET', 'coordinator', '/scim/v2/Users'], bearer(scim.token), 200, [
      401,
      'token_invalid',
    ]),
    door('a bot', rooms, bearer(bot.token), 403, [401, 'bot_token_ended']),
    door('a bot that nobody revoked', rooms, bearer(kept.token), 403, [401, 'bot_token_ended']),
    door('a webhook', ['POST', 'messaging', webhook.path], { body: { text: 'built' } }, 201, [
      404,
      'webhook_not_found',
    ]),
    door(
      'an app password',
      ['PROPFIND', 'calendar', '/dav/'],
      { headers: { ...basic('ann', app.password), depth: '0' } },
      207,
      [401, undefined],
    ),
    door('a published feed', ['GET', 'calendar', feed.path], {}, 200, [404, 'feed_not_found']),
    door(
      'the page of a meeting’s link',
      ['GET', 'coordinator', `/v1/meetings/join/${meeting.link}`],
      { headers: { accept: 'text/html' } },
      200,
      [404, undefined],
    ),
    door('a link to an attachment', ['GET', 'messaging', link.path], {}, 200, [401, 'attachment_link_invalid']),
    door('a publish token', ['POST', 'coordinator', '/v1/clients/releases'], { token: publish, body: RELEASE }, 201, [
      401,
      'token_invalid',
    ]),
    door(
      'a node token',
      ['POST', 'coordinator', '/v1/nodes/self/health'],
      { headers: { 'x-node-token': node.token }, body: health },
      200,
      [401, 'node_revoked'],
    ),
  ];
  const secrets = {
    'a session': ann.session.token,
    'another session': bob.session.token,
    'a refresh token': bob.session.refresh_token,
    'a session of the console': consoleToken,
    'an invitation of a person': lastOf(person),
    'an invitation of an owner': lastOf(owner),
    'an invitation of an administrator': lastOf(unusedPath),
    'a link that sets a password': lastOf(reset),
    'a recovery code of a guest': code,
    'a vendor token': vendor.token,
    'a provisioning token': scim.token,
    'a bot': bot.token,
    'a webhook': lastOf(webhook.path),
    'an app password': app.password,
    'a published feed': lastOf(feed.path),
    'a link of a meeting': meeting.link,
    'a link into a room': roomLink.link,
    'a link to an attachment': link.path.split('link=')[1] as string,
    'a publish token': publish,
    'a node token': node.token,
    'a join token': waiting.body.join_token as string,
    'a recovery code of the console': recoveryCode,
    'another recovery code of the console': unusedCode,
    'a service token': SERVICE,
  };
  const unused = door('an invitation that nobody used', ['POST', 'coordinator', unusedPath], account('adam'), 201, [
    410,
    'invitation_used',
  ]);
  return {
    app,
    attachment,
    bot,
    calendar,
    consoleToken,
    entry,
    feed,
    kept,
    meeting,
    node,
    room,
    roomLink,
    scim,
    secret,
    secrets,
    standing,
    unused,
    used,
    vendor,
    webhook,
  };
}
/** Links that mails have which the mail server does not take: they wait while the backup is made. */
async function makeMailedLinks() {
  let isDown = false;
  const onMail = () => (isDown ? smtpError(421, 'Later') : undefined);
  const mails = await MailServer.open({ after: (end) => after(end) }, { onMail });
  await asOwner('PUT', '/settings/mail', mailSettings(mails.port));
  await asOwner('PATCH', '/users/cleo', { email: 'cleo@example.com' });
  const mine = async (method: string, path: string, body?: object) =>
    await made(
      request(method, `${server.coordinator}/v1/me${path}`, { token: cleo.session.token, ...(body && { body }) }),
    );
  await mine('POST', '/email/code');
  const code = /^ {4}(\w{10})$/m.exec((await mails.taken(1))[0]?.email.text ?? '')?.[1] as string;
  await mine('PUT', '/email/confirmation', { code });
  isDown = true;
  await made(request('POST', `${server.coordinator}/v1/auth/password-reset`, { body: { email: 'cleo@example.com' } }));
  const { id } = await defaultCalendar(server, ann);
  const talk = { title: 'Outside', start_at: '2027-01-12T09:00:00Z', end_at: '2027-01-12T10:00:00Z' };
  await makeEntry(server, ann, id, { ...talk, attendees: ['mailto:zoe@elsewhere.test'] });
  const linkIn = async (pattern: RegExp): Promise<string> => {
    const sources = () => mails.sources.join('\n').replaceAll('=\r\n', '');
    return (await until(() => pattern.exec(sources())?.[1], `a mail with ${pattern}`)) ?? '';
  };
  return {
    'a code that confirmed an address': code,
    'a mailed link that sets a password': await linkIn(/\/v1\/password-reset\/(rst_\w+)/),
    'a link to answer an invitation by': await linkIn(/\/rsvp\/([\w-]+)/),
  };
}
/** A passkey of the backup that its person takes away afterwards: what it opens on a server that was restored. */
async function makePasskey() {
  const pia = await server.person('pia');
  const originOf = ({ coordinator }: TestServer) => `http://localhost:${new URL(coordinator).port}`;
  const device = new Authenticator(originOf(server));
  const own = `${server.coordinator}/v1/me/second-factors`;
  const { token } = pia.session;
  const options = await made(request<PasskeyCreation>('POST', `${own}/passkeys/options`, { token }));
  const body = { name: 'Key', passkey: device.create(options) };
  const { factor } = await made(request<{ factor: { id: string } }>('POST', `${own}/passkeys`, { token, body }));
  const alone = async (at: TestServer) => {
    const asked = await made(
      request<PasskeyRequest>('POST', `${at.coordinator}/v1/auth/passkey/options`, { body: {} }),
    );
    const given = device.get(asked, { origin: originOf(at) });
    return (await request('POST', `${at.coordinator}/v1/auth/passkey`, { body: { passkey: given } })).status;
  };
  assert.equal(await alone(server), 200);
  return {
    takeAway: async () => {
      assert.equal((await request('DELETE', `${own}/${factor.id}`, { token })).status, 204);
      assert.equal(await alone(server), 401);
    },
    opensBesidePassword: async (at: TestServer) => {
      assert.equal(await alone(at), 401);
      const login = { body: { username: 'pia', password: pia.password } };
      const asked = await request<{ second_factor: SecondFactorAsk }>('POST', `${at.coordinator}/v1/auth/login`, login);
      const { challenge, passkey } = asked.body.second_factor;
      assert.ok(passkey !== undefined, asked.text);
      const form = { challenge, passkey: device.get(passkey, { origin: originOf(at) }) };
      assert.equal((await request('POST', `${at.coordinator}/v1/auth/second-factor`, { body: form })).status, 200);
      assert.equal(await alone(at), 200);
    },
  };
}
export const SETTINGS: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  sso: {
    ...{ issuer: 'https://id.example.org', client_id: 'parley', redirect_uri: 'https://chat.example.org/c' },
    client_secret: 'heron4of-the-provider',
  },
  ldap: {
    ...{ url: 'ldaps://ldap.example.org', bind_dn: 'cn=p', base_dn: 'dc=e' },
    bind_password: 'heron5of-the-directory',
  },
  turn: { uris: 'turn:a.example.org:3478', secret: 'heron6of-the-media-relays' },
  'external-stores': {
    ...{ endpoint: 'https://s3.example.org', bucket: 'parley', access_key_id: 'KEY' },
    secret_access_key: 'heron7of-the-object-store',
  },
  simpleone: { base_url: 'https://a.example.org', username: 'p', password: 'heron8of-the-desk' },
};
export const doors = await makeDoors();
export const passkey = await makePasskey();
for (const [screen, form] of Object.entries(SETTINGS)) await asOwner('PUT', `/settings/${screen}`, form);
export const mailed = await makeMailedLinks();
const backups = mkdtempSync(join(tmpdir(), 'parley-test-'));
ends.push(() => rmSync(backups, { recursive: true, force: true }));
export const out = join(backups, 'backup');
await callControl(server.folder, 'backup', { out });
