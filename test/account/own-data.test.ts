/** The export of own data over the running server: what is in it and what is not, its places, and what ends it. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect as connectTo, type Socket } from 'node:net';
import { test } from 'node:test';
import { formatInstant } from '#src/base/time.ts';
import { ParleyClient } from '#src/client/parley-client.ts';
import { OWN_EXPORTS_MAX } from '#src/protocol/limits.ts';
import { makeCalendar, makeEntry } from '#test/calendar/service/calling.ts';
import { shareRestartedServer } from '#test/console/console-server.ts';
import { attach, upload } from '#test/messaging/attaching.ts';
import { assertRefused } from '#test/messaging/conversing.ts';
import { request, type Person } from '#test/support/server.ts';
import { until } from '#test/support/waiting.ts';

const host = await shareRestartedServer({}, { shards: 2 });

type Line = Readonly<Record<string, Record<string, unknown> | string>>;

const open = async ({ session }: Person) =>
  await fetch(`${host.server.coordinator}/v1/me/export`, { headers: { authorization: `Bearer ${session.token}` } });

/** What it is answered: the refusal as JSON, or an export that is read to its end. */
async function exportOf(who: Person): Promise<{ readonly status: number; readonly body: unknown }> {
  const reply = await open(who);
  const text = await reply.text();
  return { status: reply.status, body: reply.status === 200 ? text : JSON.parse(text) };
}

async function linesOf(who: Person): Promise<Line[]> {
  const reply = await open(who);
  assert.equal(reply.status, 200);
  assert.equal(reply.headers.get('content-type'), 'application/x-ndjson');
  return (await reply.text())
    .trimEnd()
    .split('\n')
    .map((text) => JSON.parse(text) as Line);
}

/** What stands under a name, in order. */
const under = <T = Record<string, unknown>>(lines: readonly Line[], name: string) =>
  lines.flatMap((one) => (one[name] === undefined ? [] : [one[name] as T]));

async function make(who: Person, kind: string, participants: string[], title?: string): Promise<string> {
  const form = { kind, participants, ...(title === undefined ? {} : { title }) };
  const reply = await host.server.api<{ id: string }>(who, 'POST', '/v1/conversations', form);
  assert.equal(reply.status, 201, reply.text);
  return reply.body.id;
}

let posts = 0;
async function say(who: Person, conversation: string, form: object): Promise<number> {
  const body = { client_msg_id: `m-${(posts += 1)}`, ...form };
  const reply = await host.server.api<{ seq: number }>(who, 'POST', `/v1/conversations/${conversation}/messages`, body);
  assert.equal(reply.status, 201, reply.text);
  return reply.body.seq;
}
const text = (body: string) => ({ kind: 'text', body });

/** A calendar whose file is more than the buffers between two ends of a connection hold. */
async function fillCalendar(who: Person): Promise<void> {
  const { id } = await makeCalendar(host.server, who);
  const entries = Array.from({ length: 32 }, (_, at) =>
    [
      'BEGIN:VEVENT',
      `UID:${at}`,
      'DTSTART:20261123T090000Z',
      `DESCRIPTION:${'x'.repeat(500_000)}`,
      'END:VEVENT',
      '',
    ].join('\r\n'),
  );
  const reply = await request('POST', `${host.server.calendar}/v1/calendars/${id}/import`, {
    body: `BEGIN:VCALENDAR\r\n${entries.join('')}END:VCALENDAR\r\n`,
    headers: { 'content-type': 'text/calendar' },
    token: who.session.token,
  });
  assert.equal(reply.status, 200, reply.text);
}

/** An export that is begun and left lying: its connection, and the first line of the answer. */
async function leaveLying({ session }: Person): Promise<{ readonly socket: Socket; readonly status: string }> {
  const { hostname, port } = new URL(host.server.coordinator);
  const socket = connectTo(Number(port), hostname);
  socket.on('error', () => undefined);
  await once(socket, 'connect');
  socket.write(`GET /v1/me/export HTTP/1.1\r\nhost: a\r\nauthorization: Bearer ${session.token}\r\n\r\n`);
  await once(socket, 'readable');
  return { socket, status: String((socket.read(12) as Buffer | null)?.toString('latin1')) };
}

test('a person takes along what is theirs, of all conversations, and no word of anybody else', async () => {
  const { ann, bob, cas } = await host.server.people('ann', 'bob', 'cas');
  const room = await make(bob, 'room', ['ann', 'cas'], 'Herons');
  const left = await make(bob, 'room', ['ann'], 'Storks');
  const direct = await make(ann, 'direct', ['bob']);
  const first = await say(ann, room, text('own words of ann'));
  const foreign = await say(bob, room, text('secret words of bob'));
  const gone = await say(ann, room, text('words that ann took back'));
  await say(ann, direct, { forward: { conversation_id: room, seq: foreign } });
  await say(ann, direct, { forward: { conversation_id: room, seq: first } });
  await say(ann, left, text('said before leaving'));
  await host.server.api(ann, 'PATCH', `/v1/conversations/${room}/messages/${first}`, { body: 'own words, edited' });
  await host.server.api(ann, 'DELETE', `/v1/conversations/${room}/messages/${gone}`);
  await host.server.api(
    bob,
    'PUT',
    `/v1/conversations/${room}/messages/${first}/reactions/${encodeURIComponent('👍')}`,
  );
  await host.server.api(ann, 'PUT', `/v1/conversations/${room}/draft`, { body: 'half a thought' });
  await host.server.api(ann, 'DELETE', `/v1/conversations/${left}/participants/ann`);
  await host.server.api(bob, 'PATCH', `/v1/conversations/${left}`, { title: 'Named after ann left' });
  const posted = await upload(host.server, ann, Buffer.from('a drawing'), 'drawing.txt');
  const lying = await upload(host.server, ann, Buffer.from('not posted'), 'lying.txt');
  await upload(host.server, bob, Buffer.from('of bob'), 'bobs.txt');
  assert.equal((await attach(host.server, ann, room, posted, { name: 'drawing.txt' })).status, 201);
  const calendar = await makeCalendar(host.server, ann, { displayname: 'Nests' });
  await makeEntry(host.server, ann, calendar.id, { title: 'Count the eggs', start_at: '2026-12-01T09:00:00Z' });
  const app = await request<{ password: string }>('POST', `${host.server.coordinator}/v1/app-passwords`, {
    body: { name: 'Old phone' },
    token: ann.session.token,
  });
  const profile = { display_name: 'Ann Heron', language: 'sv' };
  await request('PATCH', `${host.server.coordinator}/v1/me`, { body: profile, token: ann.session.token });
  const passwords = { current: ann.password, new: 'herons count by night', end_others: false };
  const mine = `${host.server.coordinator}/v1/me`;
  const changed = await request('POST', `${mine}/password`, { body: passwords, token: ann.session.token });
  assert.equal(changed.status, 200, changed.text);
  const told = await until(async () => {
    const { items } = (
      await request<{ items: { kind: string; address: string }[] }>('GET', `${mine}/security-notices`, {
        token: ann.session.token,
      })
    ).body;
    return items.length > 0 && items;
  }, 'ann to be told of her password');
  const wanted = { level: 'all', quiet: null, conversations: {}, keywords: ['eggs'] };
  const path = `${host.server.coordinator}/v1/me/notifications`;
  await request('PUT', path, { body: wanted, token: ann.session.token });
  await host.ask('owner', 'POST', '/groups', { name: 'Watchers', members: ['ann', 'cas'] });
  const client = await host.ask<{ id: string }>('owner', 'POST', '/scim-clients', { name: 'Personnel' });
  const adopted = { user_name: 'ann.heron', external_id: 'E-7' };
  assert.equal((await host.ask('owner', 'PUT', `/scim-clients/${client.body.id}/people/ann`, adopted)).status, 204);
  await host.ask('owner', 'PUT', '/settings/guests', { everybody: true });
  const guest = { phone: '+442071234567', guest_until: formatInstant(Date.now() + 86_400_000) };
  const invited = await request<{ id: string }>('POST', `${host.server.coordinator}/v1/guests`, {
    body: guest,
    token: ann.session.token,
  });
  assert.equal(invited.status, 201, invited.text);

  const lines = await linesOf(ann);
  const { started_at: started, ...head } = under(lines, 'export')[0] ?? {};
  assert.deepEqual([head, typeof started], [{ version: 1, user: 'ann' }, 'string']);
  assert.deepEqual(under<string>(lines, 'part'), ['account', 'conversations', 'uploads', 'calendars']);
  const [own] = under(lines, 'profile');
  assert.deepEqual([own?.['user'], own?.['display_name'], own?.['language']], ['ann', 'Ann Heron', 'sv']);
  assert.deepEqual(
    under(lines, 'session').map((one) => [one['device_id'], one['is_current']]),
    [[ann.session.device_id, true]],
  );
  assert.deepEqual(under(lines, 'notifications'), [wanted]);
  assert.deepEqual(
    under(lines, 'group').map(({ name }) => name),
    ['Watchers'],
  );
  assert.deepEqual(
    under(lines, 'app_password').map(({ name }) => name),
    ['Old phone'],
  );
  assert.deepEqual(under(lines, 'security_notice'), told);
  assert.deepEqual([told.length, told[0]?.kind, told[0]?.address], [1, 'password_changed', '127.0.0.1']);
  const [provisioned] = under(lines, 'provisioned');
  assert.deepEqual(
    [provisioned?.['client'], provisioned?.['user_name'], provisioned?.['external_id']],
    [client.body.id, 'ann.heron', 'E-7'],
  );
  assert.deepEqual(
    under(lines, 'guest').map(({ id, phone, state }) => [id, phone, state]),
    [[invited.body.id, guest.phone, 'invited']],
  );
  const conversations = new Map(under(lines, 'conversation').map((one) => [one['id'], one]));
  const { draft, ...kept } = conversations.get(room) ?? {};
  assert.deepEqual(kept, { id: room, kind: 'room', takes_part: true, role: 'member', title: 'Herons' });
  assert.equal((draft as { body: string }).body, 'half a thought');
  // What the room is called since is no business of who left it.
  assert.deepEqual(conversations.get(left), { id: left, kind: 'room', takes_part: false });
  const said = under(lines, 'message').map((one) => [one['conversation_id'], one['body']]);
  assert.deepEqual(
    new Set(said.map((one) => JSON.stringify(one))),
    new Set(
      [
        [room, 'own words, edited'],
        [room, { attachment: posted, name: 'drawing.txt', type: 'text/plain', size: 9 }],
        [left, 'said before leaving'],
        [direct, undefined],
        [direct, 'own words of ann'],
      ].map((one) => JSON.stringify(one)),
    ),
  );
  const attachments = under(lines, 'attachment').map(({ id, name, size }) => [id, name, size]);
  assert.deepEqual(attachments, [
    [posted, 'drawing.txt', 9],
    [lying, 'lying.txt', 10],
  ]);
  const files = under<string>(lines, 'ics').join('');
  assert.match(files, /^BEGIN:VCALENDAR\r\n[^]*SUMMARY:Count the eggs\r\n[^]*END:VCALENDAR\r\n$/);
  const counted = { conversations: 3, messages: 5, attachments: 2, calendars: under(lines, 'calendar').length };
  assert.deepEqual(lines.at(-1), { end: counted });
  const whole = JSON.stringify(lines);
  for (const foreignText of ['secret words', 'took back', 'bobs.txt', 'Named after', '👍']) {
    assert.ok(!whole.includes(foreignText), foreignText);
  }
  for (const secret of [
    passwords.new,
    app.body.password,
    app.body.password.replaceAll('-', ''),
    ann.session.token,
    ann.password,
  ]) {
    assert.ok(!whole.includes(secret));
  }
  const trail = await host.ask<{ items: { actor: string; about: string }[] }>(
    'owner',
    'GET',
    '/audit?event=user.data_exported',
  );
  assert.deepEqual(
    trail.body.items.map(({ about, actor }) => [actor, about]),
    [['user:ann', 'user:ann']],
  );
  assert.ok(!JSON.stringify(await linesOf(cas)).includes('words'));
});

test('own words are found in long conversations, wherever they stand', async () => {
  const { dan, eve } = await host.server.people('dan', 'eve');
  const direct = await make(dan, 'direct', ['eve']);
  const own: number[] = [];
  // Blocks of 32: the first and last of one, alone in one, and in the last, which is not counted yet.
  const at = new Set([1, 32, 97, 200, 224, 230]);
  for (let n = 1; n <= 233; n += 1) {
    const seq = await say(at.has(n) ? dan : eve, direct, text(`line ${n}`));
    if (at.has(n)) own.push(seq);
  }
  const seqs = async (who: Person) => under(await linesOf(who), 'message').map(({ seq }) => seq);
  assert.deepEqual(await seqs(dan), own);
  assert.equal((await seqs(eve)).length, 233 - own.length);
});

test('the SDK streams it, and whoever signs out or is blocked meanwhile gets no end', async () => {
  const fay = await host.server.person('fay');
  const { coordinator, messaging } = host.server;
  const signIn = { username: 'fay', password: fay.password };
  const client = await ParleyClient.signIn({ coordinatorUrl: coordinator, messagingUrl: messaging, ...signIn });
  const small = await new Response(await client.account.exportOwnData()).text();
  assert.match(small, /\n\{"end":\{"conversations":0,"messages":0,"attachments":0,"calendars":\d\}\}\n$/);
  await fillCalendar(fay);
  const whole = await new Response(await client.account.exportOwnData()).text();
  assert.ok(whole.length > 16_000_000 && whole.includes('\n{"end":'));
  const readRest = async (end: () => Promise<unknown>): Promise<string> => {
    const reader = (await client.account.exportOwnData()).getReader();
    await reader.read();
    await end();
    let rest = '';
    for (let piece = await reader.read(); !piece.done; piece = await reader.read()) {
      rest += Buffer.from(piece.value).toString('latin1');
    }
    return rest;
  };
  const cut = await readRest(async () => {
    const reply = await host.ask('administrator', 'POST', '/users/fay/block');
    assert.ok(reply.status < 300, JSON.stringify(reply.body));
  });
  assert.ok(cut.length < 16_000_000 && !cut.includes('\n{"end":'), `${cut.length}`);
  assertRefused(await exportOf(fay), 401, 'session_revoked');
  client.close();
});

test('a person has one export at a time, all have so many, and an unread one loses its place', async () => {
  const names = ['gil', 'hal', 'ivy', 'jan', 'kit'] as const;
  const people = await host.server.people(...names);
  const others = names.slice(1, OWN_EXPORTS_MAX);
  // All of them before the first is begun: one that lies for ten seconds may lose its place.
  for (const name of ['gil', ...others] as const) await fillCalendar(people[name]);
  const lying = await leaveLying(people.gil);
  assert.equal(lying.status, 'HTTP/1.1 200');
  assertRefused(await exportOf(people.gil), 429, 'rate_limited');
  const sockets: Socket[] = [];
  for (const name of others) {
    const { socket, status } = await leaveLying(people[name]);
    assert.equal(status, 'HTTP/1.1 200', name);
    sockets.push(socket);
  }
  assertRefused(await exportOf(people.kit), 503, 'busy');
  for (const socket of sockets) socket.destroy();
  await until(async () => ((await exportOf(people.kit)).status === 200 ? true : undefined), 'room for another');
  // Nobody goes away, and the place is free again all the same.
  const isFree = async () => {
    const { socket, status } = await leaveLying(people.gil);
    socket.destroy();
    return status === 'HTTP/1.1 200' ? true : undefined;
  };
  await until(isFree, 'the place that was lost', 40_000);
  lying.socket.destroy();
});

test('nobody without a session gets any, nor anybody while encryption is locked', async () => {
  const lea = await host.server.person('lea');
  const url = `${host.server.coordinator}/v1/me/export`;
  assertRefused(await request('GET', url, {}), 401, 'token_missing');
  assertRefused(await request('GET', `${url}?token=x`, { token: lea.session.token }), 400, 'query_invalid', 'token');
  const { body: key } = await host.ask('owner', 'POST', '/encryption/propose');
  assert.equal((await host.ask('owner', 'POST', '/encryption/enable', key)).status, 200);
  assert.equal((await exportOf(lea)).status, 200);
  assert.equal((await host.ask('owner', 'POST', '/encryption/lock')).status, 200);
  assertRefused(await exportOf(lea), 503, 'encryption_locked');
  assert.equal((await host.ask('owner', 'POST', '/encryption/unlock', key)).status, 200);
  assert.equal((await exportOf(lea)).status, 200);
  const max = await host.server.person('max');
  assert.equal((await host.ask('owner', 'POST', '/users/max/erase')).status, 202);
  assertRefused(await exportOf(max), 401, 'session_revoked');
});
