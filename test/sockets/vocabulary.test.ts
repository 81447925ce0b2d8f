/**
 * Every event of the socket's vocabulary is raised by what it is about, in the form that the protocol gives it, and reaches
 * somebody who is to hear it (SOC-03, SOC-04). An event without a row does not compile.
 */
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import sharp from 'sharp';
import { formatInstant } from '#src/base/time.ts';
import { EVENT_DATA, EVENT_TYPES, type EventType } from '#src/protocol/sockets/events.ts';
import { alarm, event as calendarEvent, importEvents, inSeconds } from '#test/calendar/reminders/importing.ts';
import { call, defaultCalendar, makeEntry } from '#test/calendar/service/calling.ts';
import { BotSeats } from '#test/messaging/bot-seats.ts';
import { say, start } from '#test/messaging/conversing.ts';
import { OWNER_PASSWORD, startConsoleServer, type ConsoleServer } from '#test/support/console.ts';
import { request, type Person, type Reply } from '#test/support/server.ts';
import { connect, type TestSocket } from '#test/support/socket.ts';
import { until } from '#test/support/waiting.ts';

/** Whose socket hears an event, after what raises it was done. */
type Raise = () => Promise<TestSocket>;

let running: ConsoleServer;
let alice: Person;
let bob: Person;
let owner: Person;
let hers: TestSocket;
let his: TestSocket;
let owners: TestSocket;

before(async () => {
  running = await startConsoleServer({ shards: 2, environment: { PARLEY_LOG_LEVEL: 'silent' } });
  const { server } = running;
  ({ alice, bob } = await server.people('alice', 'bob'));
  owner = { username: 'root', password: OWNER_PASSWORD, session: await server.signIn('root', OWNER_PASSWORD) };
  hers = await connect(server, alice);
  his = await connect(server, bob);
  owners = await connect(server, owner);
});
after(async () => await running.stop());

/** A request that is let through. */
async function done(who: Person, method: string, path: string, body?: unknown): Promise<Reply> {
  const reply = await running.server.api(who, method, path, body);
  assert.ok(reply.status < 300, `${method} ${path} ${reply.text}`);
  return reply;
}

async function manage(method: string, path: string, body?: unknown): Promise<Record<string, unknown>> {
  const reply = await running.console(method, path, body);
  assert.ok(reply.status < 300, `${method} ${path} ${reply.text}`);
  return reply.body;
}

/** A room of alice and bob, with a message of alice; its path. */
async function room(): Promise<string> {
  const { id } = await start(running.server, alice, 'room', ['bob'], 'Room');
  await say(running.server, alice, id, 'hello');
  return `/v1/conversations/${id}`;
}

/** Something done by alice in a room that bob hears of. */
function inRoom(method: string, rest: string, body?: unknown): Raise {
  return async () => {
    await done(alice, method, `${await room()}${rest}`, body);
    return his;
  };
}

async function withCommand(): Promise<{ readonly heard: TestSocket; readonly token: string; readonly bot: Person }> {
  const { bot, room: id } = await new BotSeats(running, alice).seated(`weather${(bots += 1)}`, ['commands:write']);
  await done(bot, 'PUT', '/v1/bots/self/commands', { commands: [{ name: 'weather', description: 'The weather' }] });
  const heard = await connect(running.server, bot);
  await done(bob, 'POST', `/v1/conversations/${id}/commands`, { command: 'weather' });
  const { data } = await heard.event('command');
  return { heard, token: String(data['response_token']), bot };
}
let bots = 0;

/** Event → what raises it. */
const RAISED: Readonly<Record<EventType, Raise>> = {
  'message.new': inRoom('POST', '/messages', { kind: 'text', body: 'new' }),
  'message.edit': inRoom('PATCH', '/messages/1', { body: 'edited' }),
  'message.delete': inRoom('DELETE', '/messages/1'),
  receipt: inRoom('POST', '/receipts', { state: 'read', seq: 1 }),
  signal: async () => {
    const { id } = await start(running.server, alice, 'room', ['bob'], 'Room');
    await done(alice, 'POST', '/v1/signal', { to: id, kind: 'sub', step: 'subscribe' });
    return his;
  },
  typing: async () => {
    const { id } = await start(running.server, alice, 'room', ['bob'], 'Room');
    // Before the socket hears the room it may not type in it.
    await hers.event(({ data, type }) => type === 'inbox' && data['id'] === id);
    hers.send({ kind: 'typing', conv: id });
    return his;
  },
  presence: async () => {
    await room();
    hers.send({ kind: 'presence', awake: false });
    return his;
  },
  inbox: async () => {
    await room();
    return his;
  },
  'conversation.updated': inRoom('PATCH', '', { title: 'Another' }),
  reaction: inRoom('PUT', `/messages/1/reactions/${encodeURIComponent('👍')}`),
  pin: inRoom('PUT', '/pins/1'),
  membership: inRoom('POST', '/participants', { participants: ['root'] }),
  unit: async () => {
    await manage('POST', '/groups', { name: 'Accounting', kind: 'unit', members: ['alice'] });
    return his;
  },
  draft: async () => {
    const other = { ...alice, session: await running.server.signIn('alice', alice.password) };
    await done(other, 'PUT', `${await room()}/draft`, { body: 'unsent' });
    return hers;
  },
  avatar: async () => {
    const body = await sharp({ create: { width: 8, height: 8, channels: 3, background: 'red' } })
      .png()
      .toBuffer();
    const headers = { 'content-type': 'image/png' };
    const url = `${running.server.coordinator}/v1/me/avatar`;
    assert.equal((await request('PUT', url, { body, headers, token: alice.session.token })).status, 200);
    return his;
  },
  purge: inRoom('DELETE', '/messages?before_seq=2'),
  group: async () => {
    await manage('POST', '/groups', { name: 'Chess', members: ['alice'] });
    return his;
  },
  'conversation.deleted': inRoom('DELETE', ''),
  'calendar.changed': async () => {
    const { id } = await defaultCalendar(running.server, alice);
    const [start_at, end_at] = [3_600, 7_200].map((seconds) => formatInstant(inSeconds(seconds)));
    await makeEntry(running.server, alice, id, { title: 'Lunch', start_at, end_at });
    return hers;
  },
  'calendar.proposal': async () => {
    const { id } = await defaultCalendar(running.server, bob);
    const [start_at, end_at] = [3_600, 7_200].map((seconds) => formatInstant(inSeconds(seconds)));
    const { uid } = await makeEntry(running.server, bob, id, { title: 'Tea', start_at, end_at, attendees: ['alice'] });
    const waiting = await until(async () => {
      const reply = await call<{ items: { calendar_id: string; entry: { id: string; uid: string } }[] }>(
        running.server,
        alice,
        'GET',
        '/v1/invitations',
      );
      return reply.body.items.find(({ entry }) => entry.uid === uid) ?? false;
    }, 'the invitation');
    const path = `/v1/invitations/${waiting.calendar_id}/${waiting.entry.id}/proposals`;
    const later = { start_at: formatInstant(inSeconds(9_000)) };
    assert.equal((await call(running.server, alice, 'POST', path, later)).status, 204);
    return his;
  },
  'calendar.reminder': async () => {
    const { id } = await defaultCalendar(running.server, alice);
    await importEvents(running.server, alice, id, calendarEvent('soon', inSeconds(3_600), alarm(inSeconds(1))));
    return hers;
  },
  'directory.changed': async () => {
    await manage('PATCH', '/users/alice', { title: 'Engineer' });
    return his;
  },
  'guest.recovery.requested': async () => {
    const phone = '+79165550022';
    const guest_until = formatInstant((Math.floor(Date.now() / 1000) + 3_600) * 1000);
    const invited = await manage('POST', '/enroll', { kind: 'guest', phone, guest_until });
    const form = { username: 'visitor', password: 'password of visitor' };
    assert.equal((await request('POST', String(invited['url']), { body: form })).status, 201);
    const url = `${running.server.coordinator}/v1/auth/recover`;
    assert.equal((await request('POST', url, { body: { phone } })).status, 200);
    return owners;
  },
  'quota.warning': async () => {
    const { id } = await start(running.server, bob, 'room', [], 'Quota');
    const url = `${running.server.coordinator}/v1/me/quotas`;
    const uses = await request<{ items: { quota: string; used: number }[] }>('GET', url, { token: bob.session.token });
    const used = uses.body.items.find(({ quota }) => quota === 'messages')?.used ?? 0;
    await manage('PUT', '/settings/quotas', { messages: used + 1 });
    await say(running.server, bob, id, 'the last of today');
    await manage('PUT', '/settings/quotas', { messages: null });
    return his;
  },
  command: async () => (await withCommand()).heard,
  'command.response': async () => {
    const { bot, token } = await withCommand();
    await done(bot, 'POST', '/v1/bots/self/responses', { response_token: token, text: 'Sunny' });
    return his;
  },
  error: async () => {
    his.send({ kind: 'song' });
    return his;
  },
};

for (const type of EVENT_TYPES) {
  const raise = RAISED[type];
  test(`SOC-04 ${type} is raised by what it is about`, async () => {
    const sockets = [hers, his, owners];
    const known = new Map(sockets.map((socket) => [socket, socket.events.length]));
    const socket = await raise();
    const isNew = (event: { type: string }) =>
      event.type === type && socket.events.indexOf(event as never) >= (known.get(socket) ?? 0);
    const event = await socket.event(isNew, type);
    assert.deepEqual(EVENT_DATA[type].safeParse(event.data).error?.issues ?? [], []);
    assert.ok(Math.abs(event.ts - Date.now() / 1000) < 60, `${event.ts} is a Unix second of now`);
  });
}

test('SOC-04 every event of the vocabulary is tested here', () => {
  assert.deepEqual(Object.keys(RAISED).toSorted(), EVENT_TYPES.toSorted());
});
