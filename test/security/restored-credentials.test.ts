/**
 * A host is lost, or somebody has it restored to yesterday. Everything that let anybody in yesterday and was used, revoked or replaced
 * since is tried again, and so is what nobody ended: none of it may open anything.
 */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { readdirSync, statSync } from 'node:fs';
import { test } from 'node:test';
import { join } from 'node:path';
import type { EntryView } from '#src/protocol/calendars/calendars.ts';
import { ACCOUNT_TABLES } from '#storage/accounts/accounts.ts';
import { ATTACHMENT_TABLES } from '#storage/attachments/attachment-records.ts';
import { DECIDED_COLLECTIONS, DECIDED_TABLES } from '#storage/backup/credential-endings.ts';
import { CALENDAR_TABLES } from '#storage/calendars/calendar-records.ts';
import { checkFolder } from '#storage/check/check.ts';
import { LANE_TABLES } from '#storage/engine/lane.ts';
import { basic, call } from '#test/calendar/service/calling.ts';
import { codeAt } from '#test/coordinator/console-fixture.ts';
import { consoleOf, OWNER_PASSWORD } from '#test/support/console.ts';
import { BARE_ENVIRONMENT, programOf } from '#test/support/program.ts';
import { request, startServer, type RequestOptions, type TestServer } from '#test/support/server.ts';
import { temporaryFolder } from '#test/support/temporary-folder.ts';
import { typescriptSources } from '#test/tidy/source.ts';
import { candidatesIn, placesOf, stretchesOf } from './backup-search.ts';
import {
  ann,
  asAnn,
  asOwner,
  doors,
  FRESH,
  HOST,
  lastOf,
  made,
  mailed,
  out,
  passkey,
  pathOf,
  PHONE,
  RELEASE,
  server,
  SETTINGS,
  type Door,
} from './credentials-scene.ts';

const PARLEY = programOf(new URL('../../src/cli/parley.ts', import.meta.url));
/** Secrets that are not used up by being tried, or that nothing behind needs. */
const LASTING = [
  'a session',
  'a session of the console',
  'a vendor token',
  'a provisioning token',
  'a bot',
  'a webhook',
  'a published feed',
  'a service token',
  'a link to an attachment',
  'a node token',
  'a publish token',
  'an app password',
] as const;

/** What each door is answered, one after the other. */
async function knockAll(asked: readonly Door[], at: TestServer): Promise<[name: string, answer: Door['closed']][]> {
  const answers: [string, Door['closed']][] = [];
  for (const one of asked) answers.push([one.name, await one.knock(at)]);
  return answers;
}

/** Ends what the doors lead through, as whoever it belongs to does. */
async function endAll(): Promise<void> {
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

/** Characters of 32 bytes in base64url. */
const SECRET_SYMBOLS = 43;

function feedOf(secret: string): string {
  return secret.length === SECRET_SYMBOLS ? `${doors.calendar.id.slice('cal_'.length)}${secret}.ics` : secret;
}

type Ask = (secret: string) => readonly [method: string, url: string, options?: RequestOptions];

/**
 * The places that take a secret of a stranger, and which answers say that it is none. Where guesses are counted, or
 * cost a hash of a password, only what has the form of one is tried.
 */
const TRIED: Readonly<Record<string, readonly [ask: Ask, none: readonly number[], form?: RegExp]>> = {
  'a token of messaging': [(token) => ['GET', `${server.messaging}/v1/inbox`, { token }], [401]],
  'a token of the coordinator': [(token) => ['GET', `${server.coordinator}/v1/directory`, { token }], [401]],
  'a token of the console': [(token) => ['GET', `${server.coordinator}/admin/api/overview`, { token }], [401]],
  'a token of a provider': [(token) => ['GET', `${server.coordinator}/scim/v2/Users`, { token }], [401], /^scim_/],
  'a token of a service': [
    (token) => ['GET', `${server.coordinator}/v1/internal/directory/ann`, { token }],
    [401, 403],
  ],
  'a token of releases': [
    (token) => ['POST', `${server.coordinator}/v1/clients/releases`, { token, body: RELEASE }],
    [401],
  ],
  'a token of a node': [
    (secret) => [
      'POST',
      `${server.coordinator}/v1/nodes/self/health`,
      { headers: { 'x-node-token': secret }, body: {} },
    ],
    [401],
  ],
  'a token that lets a node join': [
    (secret) => ['POST', `${server.coordinator}/v1/nodes/join`, { body: { ...HOST, join_token: secret } }],
    [400, 401, 410],
    /^join_/,
  ],
  'a token that renews': [
    (secret) => ['POST', `${server.coordinator}/v1/auth/renew`, { body: { refresh_token: secret } }],
    [400, 401],
    /~/,
  ],
  'an app password': [
    (secret) => ['GET', `${server.calendar}/dav/calendars/ann/`, { headers: basic('ann', secret) }],
    [401],
    /^[0-9a-z]{6}(?:-?[0-9a-z]{6}){3}$/,
  ],
  'an invitation': [
    (secret) => [
      'POST',
      `${server.coordinator}/v1/enroll/${encodeURIComponent(secret)}`,
      { body: { username: 'mallory', password: FRESH } },
    ],
    [404, 410],
    /^inv_/,
  ],
  'a link that sets a password': [
    (secret) => [
      'POST',
      `${server.coordinator}/v1/password-reset/${encodeURIComponent(secret)}`,
      { body: { password: FRESH } },
    ],
    [404, 410],
    /^rst_/,
  ],
  'a code of a guest': [
    (code) => [
      'POST',
      `${server.coordinator}/v1/auth/recover/confirm`,
      { body: { phone: PHONE, code, new_password: FRESH } },
    ],
    [400, 403],
    /^\d{12}$/,
  ],
  // The id of the calendar stands in the backup, so that stored hashes are tried as if they were secrets of its feeds.
  'a published feed': [
    (secret) => ['GET', `${server.calendar}/feeds/${feedOf(secret)}`],
    [404],
    /^(?:[0-9a-z]{22})?[\w-]{43}(?:\.ics)?$/,
  ],
  'a link to answer by': [(secret) => ['GET', `${server.calendar}/rsvp/${secret}`], [404], /^[0-9a-z]{22}[\w-]{43}$/],
  'a webhook': [
    (secret) => ['POST', `${server.messaging}/v1/hooks/${encodeURIComponent(secret)}`, { body: { text: 'x' } }],
    [404],
    /^hook_/,
  ],
  'a link to an attachment': [
    (secret) => [
      'GET',
      `${server.messaging}/v1/attachments/${doors.attachment}/content?link=${encodeURIComponent(secret)}`,
    ],
    [401],
    /\./,
  ],
};

/** The places in which a text opens something, with what it was answered. */
async function openedBy(secret: string): Promise<string[]> {
  const tried = Object.entries(TRIED).map(async ([name, [ask, none, form]]) => {
    if (form?.test(secret) === false) return [];
    const [method, url, { body, headers, token } = {}] = ask(secret);
    const sent = {
      ...headers,
      ...(body === undefined ? {} : { 'content-type': 'application/json' }),
      ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
    };
    // Some answer with pages and calendars.
    const reply = await fetch(url, {
      method,
      headers: sent,
      ...(body !== undefined && { body: JSON.stringify(body) }),
    });
    await reply.arrayBuffer();
    return none.includes(reply.status) ? [] : [`${name}: ${reply.status}`];
  });
  return (await Promise.all(tried)).flat();
}

test('CRD-08 whoever searches every byte of a backup finds nothing in it that opens the live server', async () => {
  const open = readdirSync(out, { recursive: true, encoding: 'utf8' })
    .map((name) => `${name} ${(statSync(join(out, name)).mode & 0o077).toString(8)}`)
    .filter((text) => !text.endsWith(' 0'));
  assert.deepEqual(open, [], 'files that others on the host read');
  const stretches = stretchesOf(out);
  // What is searched with finds what is there: the link of a meeting stands in its entry, for everybody who has the entry.
  const inside = lastOf(doors.entry.meeting?.url ?? '');
  assert.ok(placesOf(inside, stretches).includes('calendar.mdb, unfolded'));
  for (const [name, secret] of Object.entries({ ...doors.secrets, ...mailed })) {
    // Of what is signed the signature is the secret: what it stands for lies in the records, too.
    const [, signature = ''] = /([^.]+)(?:\.ics)?$/.exec(secret ?? '') ?? [];
    assert.ok(signature.length >= 10, name);
    assert.deepEqual(placesOf(signature, stretches), [], name);
  }
  // Whatever else looks like a secret is tried wherever a stranger may come with one.
  const candidates = [...candidatesIn(stretches)];
  assert.ok(candidates.length > 100 && candidates.some(([text]) => text.includes(inside)), String(candidates.length));
  for (const [secret, place] of candidates) assert.deepEqual(await openedBy(secret), [], `${secret} in ${place}`);
  // The places are the right ones: each of them opens to what is good there, tried in the same way.
  const opened = await Promise.all(LASTING.map(async (name) => await openedBy(doors.secrets[name])));
  assert.deepEqual(
    opened.map((places) => places.length > 0),
    LASTING.map(() => true),
    JSON.stringify(opened),
  );
});

test('CRD-14 without encryption at rest a backup has the secrets of settings and the keys of authenticator apps, as documented', () => {
  const stretches = stretchesOf(out);
  const secrets = Object.values(SETTINGS).map((form) => Object.values(form).at(-1) as string);
  for (const secret of [...secrets, doors.secret])
    assert.deepEqual(placesOf(secret, stretches), ['accounts.mdb'], secret);
});

test('CRD-11 after a restore nothing opens that was used, revoked or replaced since the backup, and nothing that was not', async (t) => {
  const all = [...doors.standing, ...doors.used];
  const open = (await knockAll(all, server)).map(([name, [status]]) => [name, status]);
  assert.deepEqual(
    open,
    all.map((one) => [one.name, one.open]),
  );
  await endAll();
  await passkey.takeAway();
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
  const restored = await startServer({ shards: 2, folder: data });
  t.after(async () => await restored.stop());
  assert.deepEqual(
    await knockAll([...all, doors.unused], restored),
    [...all, doors.unused].map((one) => [one.name, one.closed]),
  );

  await passkey.opensBesidePassword(restored);
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
