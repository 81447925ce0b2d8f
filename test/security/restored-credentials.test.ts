/**
 * A host is lost, or somebody has it restored to yesterday. Everything that let anybody in yesterday and was used, revoked or replaced
 * since is tried again, and so is what nobody ended: none of it may open anything.
 */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { after, test } from 'node:test';
import { join } from 'node:path';
import { ACCOUNT_TABLES } from '#storage/accounts/accounts.ts';
import { ATTACHMENT_TABLES } from '#storage/attachments/attachment-records.ts';
import { DECIDED_COLLECTIONS, DECIDED_TABLES } from '#storage/backup/credential-endings.ts';
import { CALENDAR_TABLES } from '#storage/calendars/calendar-records.ts';
import { checkFolder } from '#storage/check/check.ts';
import { LANE_TABLES } from '#storage/engine/lane.ts';
import { basic, call, defaultCalendar, makeEntry } from '#test/calendar/service/calling.ts';
import { codeAt } from '#test/coordinator/console-fixture.ts';
import type { EntryView } from '#src/protocol/calendars/calendars.ts';
import { attach, upload } from '#test/messaging/attaching.ts';
import { makeBot } from '#test/support/bots.ts';
import { consoleOf, OWNER_PASSWORD, startConsoleServer } from '#test/support/console.ts';
import { callControl } from '#test/support/control.ts';
import { BARE_ENVIRONMENT, programOf } from '#test/support/program.ts';
import { request, startServer, type Reply, type RequestOptions, type TestServer } from '#test/support/server.ts';
import { temporaryFolder } from '#test/support/temporary-folder.ts';
import { until } from '#test/support/waiting.ts';
import { typescriptSources } from '#test/tidy/source.ts';

const PHONE = '+79161234567';
const GUEST_PASSWORD = 'another long password';
const PARLEY = programOf(new URL('../../src/cli/parley.ts', import.meta.url));

/** A way in, as somebody kept it: what it asks of a server, what it is answered while it is good, and once it is not. */
interface Door {
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
function pathOf(url: string): string {
  return new URL(url, 'http://localhost').pathname;
}

const running = await startConsoleServer({ environment: { PARLEY_RECOVERY_WEBHOOK: 'http://127.0.0.1:9/codes' } });
after(async () => await running.stop());
const { console, server } = running;
const { ann, bob, cleo } = await server.people('ann', 'bob', 'cleo');

async function made<T>(asked: Promise<Reply<T>>): Promise<T> {
  const reply = await asked;
  assert.ok(reply.status < 300, reply.text);
  return reply.body;
}

const asAnn = async <T>(service: Service, method: string, path: string, body?: unknown): Promise<T> =>
  await made(request<T>(method, `${server[service]}${path}`, { token: ann.session.token, body }));
const asOwner = async <T>(method: string, path: string, body?: unknown): Promise<T> =>
  await made(console<T>(method, path, body));

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
  const host = { hostname: 'host', agent_version: '1', os: 'Linux' };
  const joinTokenOf = async (name: string) =>
    /join_n_[\w-]+/.exec(JSON.stringify(await asOwner('POST', '/nodes', { name, roles: ['routing'] })))?.[0];
  const joining = async (name: string) => ({ body: { ...host, join_token: await joinTokenOf(name) } });
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
    door(
      'a link that sets a password',
      ['POST', 'coordinator', reset],
      { body: { password: 'heron over the quiet lake' } },
      200,
      [410, 'reset_link_used'],
    ),
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
    door(
      'a publish token',
      ['POST', 'coordinator', '/v1/clients/releases'],
      { token: publish, body: { platform: 'ios', version: '1.0', url: 'https://example.org/app' } },
      201,
      [401, 'token_invalid'],
    ),
    door(
      'a node token',
      ['POST', 'coordinator', '/v1/nodes/self/health'],
      { headers: { 'x-node-token': node.token }, body: health },
      200,
      [401, 'node_revoked'],
    ),
  ];
  const unused = door('an invitation that nobody used', ['POST', 'coordinator', unusedPath], account('adam'), 201, [
    410,
    'invitation_used',
  ]);
  return {
    app,
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
    standing,
    unused,
    used,
    vendor,
    webhook,
  };
}

/** What each door is answered, one after the other. */
async function knockAll(doors: readonly Door[], at: TestServer): Promise<[name: string, answer: Door['closed']][]> {
  const answers: [string, Door['closed']][] = [];
  for (const one of doors) answers.push([one.name, await one.knock(at)]);
  return answers;
}

/** Ends what the doors lead through, as whoever it belongs to does. */
async function endAll(doors: Awaited<ReturnType<typeof makeDoors>>): Promise<void> {
  const { app, bot, calendar, consoleToken, feed, meeting, node, room, scim, vendor, webhook } = doors;
  await asOwner('POST', `/vendor-tokens/${vendor.id}/revoke`);
  await asOwner('POST', `/bots/${bot.id}/revoke`);
  await asOwner('DELETE', `/scim-clients/${scim.id}`);
  await asOwner('DELETE', `/nodes/${node.id}`);
  await asOwner('PUT', '/clients', { publish_token: null });
  await asAnn('messaging', 'DELETE', `/v1/conversations/${room.id}/webhooks/${webhook.id}`);
  await asAnn('coordinator', 'DELETE', `/v1/app-passwords/${app.id}`);
  await asAnn('calendar', 'DELETE', `/v1/calendars/${calendar.id}/feeds/${feed.id}`);
  await asAnn('coordinator', 'POST', `/v1/meetings/${meeting.id}/link`);
  await made(consoleOf(server, consoleToken)('POST', '/logout'));
  await asAnn('coordinator', 'POST', '/v1/auth/logout');
}

test('CRD-11 after a restore nothing opens that was used, revoked or replaced since the backup, and nothing that was not', async (t) => {
  const doors = await makeDoors();
  const out = join(temporaryFolder(t), 'backup');
  await callControl(server.folder, 'backup', { out });
  const all = [...doors.standing, ...doors.used];
  const open = (await knockAll(all, server)).map(([name, [status]]) => [name, status]);
  assert.deepEqual(
    open,
    all.map((one) => [one.name, one.open]),
  );
  await endAll(doors);
  assert.deepEqual(
    await knockAll(doors.used, server),
    doors.used.map((one) => [one.name, one.closed]),
  );
  await server.end('SIGKILL');

  const data = join(temporaryFolder(t), 'data');
  const words = [...PARLEY, 'restore', '--from', out, '--data', data];
  const { status, stderr, stdout } = spawnSync(process.execPath, words, { env: BARE_ENVIRONMENT, encoding: 'utf8' });
  assert.equal(status, 0, stderr);
  const ownerLink = /^owner_link: (\S+)$/m.exec(stdout)?.[1];
  assert.ok(ownerLink !== undefined, stdout);
  assert.deepEqual((await checkFolder(data)).problems, []);
  const restored = await startServer({ folder: data });
  t.after(async () => await restored.stop());
  assert.deepEqual(
    await knockAll([...all, doors.unused], restored),
    [...all, doors.unused].map((one) => [one.name, one.closed]),
  );

  // Who knows a password, and has the app that gives the codes, comes in again.
  const again = { ...ann, session: await restored.signIn('ann', ann.password) };
  // A link into a room is no credential of the accounts: it is of another epoch now.
  const dora = await restored.signIn('dora', 'a long enough password');
  const byLink = await request<{ code: string }>(
    'POST',
    `${restored.messaging}/v1/room-links/${doors.roomLink.link}/join`,
    { token: dora.token },
  );
  assert.deepEqual([byLink.status, byLink.body.code], [404, 'room_link_not_found']);
  // The meeting of an entry gets its new link there, in the place of the one that lets nobody in any more.
  const path = `/v1/calendars/${doors.calendar.id}/entries/${doors.entry.id}`;
  const relinked = await call<EntryView>(restored, again, 'PATCH', path, { meeting: true });
  assert.equal(relinked.status, 200, relinked.text);
  const { id, url } = doors.entry.meeting as { id: string; url: string };
  assert.equal(relinked.body.meeting?.id, id);
  assert.notEqual(pathOf(relinked.body.meeting?.url ?? ''), pathOf(url));
  const page = { accept: 'text/html' };
  const opened = await fetch(`${restored.coordinator}${pathOf(relinked.body.meeting?.url ?? '')}`, { headers: page });
  assert.equal(opened.status, 200);
  const whole = await fetch(`${restored.calendar}/v1/calendars/${doors.calendar.id}/export`, {
    headers: { authorization: `Bearer ${again.session.token}` },
  });
  const text = (await whole.text()).replaceAll('\r\n ', '');
  assert.ok(text.includes(pathOf(relinked.body.meeting?.url ?? '')), text);
  assert.ok(!text.includes(pathOf(url)), 'the link of before');
  const login = { username: 'root', password: OWNER_PASSWORD, code: codeAt(doors.secret, Date.now() + 30_000) };
  const session = await made(
    request<{ token: string }>('POST', `${restored.coordinator}/admin/api/login`, { body: login }),
  );
  const root = consoleOf(restored, session.token);
  // An honest bot is told, and goes on with another token where it was.
  const another = await made(root<{ token: string }>('POST', `/bots/${doors.kept.id}/token`));
  const asBot = await request('GET', `${restored.messaging}/v1/conversations/${doors.room.id}`, {
    token: another.token,
  });
  assert.equal(asBot.status, 403, asBot.text);
  // Whoever restored has a way in, once.
  const exchange = async () =>
    await request('POST', `${restored.coordinator}${pathOf(ownerLink)}`, {
      body: { username: 'fresh', password: 'a long enough password' },
    });
  assert.deepEqual([(await exchange()).status, (await exchange()).status], [201, 410]);
  const { items } = await made(root<{ items: Record<string, unknown>[] }>('GET', '/audit?limit=100'));
  const events = items.map(({ event }) => event);
  assert.ok(['backup.restored', 'enrollment.invited', 'enrollment.exchanged'].every((event) => events.includes(event)));
  const entry = items.find(({ event }) => event === 'backup.restored');
  const { credentials_ended: credentials, sessions_ended: sessions } = (entry?.['details'] ?? {}) as Record<
    string,
    number
  >;
  assert.match(stdout, new RegExp(`^sessions_ended: ${sessions}\ncredentials_ended: ${credentials}$`, 'm'));
});

test('CRD-11 every table and every collection has its line in the list of what a restore ends', () => {
  const sources = [...typescriptSources()].filter(([path]) => /^(?:src|storage|actors)\//.test(path));
  const defined: string[] = sources.flatMap(([, text]) =>
    [...text.matchAll(/= defineCollection<[^]*?>\(\s*'(\w+)'/g)].map(([, name = '']) => name),
  );
  // These two lie in tables of their own.
  const collections = defined.filter((name) => name !== 'audit' && name !== 'audit_anchor');
  assert.ok(collections.length > 50, 'the pattern still finds them');
  assert.deepEqual(DECIDED_COLLECTIONS.toSorted(), collections.toSorted());
  assert.equal(
    sources.reduce((sum, [, text]) => sum + [...text.matchAll(/= defineCollection\b/g)].length, 0),
    defined.length,
    'a collection is defined in a form that this test does not read',
  );
  const tables = {
    accounts: ACCOUNT_TABLES,
    calendar: CALENDAR_TABLES,
    lanes: LANE_TABLES,
    attachments: ATTACHMENT_TABLES,
  };
  for (const [file, names] of Object.entries(tables)) {
    assert.deepEqual(DECIDED_TABLES[file as keyof typeof tables].toSorted(), [...names].toSorted(), file);
  }
});
