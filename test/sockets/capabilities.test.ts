/**
 * What `GET /v1/me/capabilities` answers is held equal to what requests get, for every right, every kind of caller and every
 * kind of rule; and whoever's rights change while they are connected is told, and nobody else (CAP-01, CAP-03).
 */
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import sharp from 'sharp';
import { formatInstant } from '#src/base/time.ts';
import { ParleyClient } from '#src/client/parley-client.ts';
import { ACCOUNT_RIGHT_RULES, ACCOUNT_RIGHTS, type AccountRight } from '#src/protocol/directory/account-rights.ts';
import { GUESTS_PER_PERSON_MAX } from '#src/protocol/directory/guests.ts';
import { tus } from '#test/messaging/attaching.ts';
import { OWNER_PASSWORD, startConsoleServer, type ConsoleServer } from '#test/support/console.ts';
import { request, type Person, type Reply } from '#test/support/server.ts';
import { connect, type TestSocket } from '#test/support/socket.ts';
import { deadline, until } from '#test/support/waiting.ts';

type Name = 'owner' | 'viewer' | 'person' | 'member' | 'target' | 'guest';

let running: ConsoleServer;
let callers: Record<Name, Person>;
let boardId = '';

before(async () => {
  running = await startConsoleServer({ shards: 2, environment: { PARLEY_LOG_LEVEL: 'silent' } });
  const { console, server } = running;
  const { member, person, target, viewer } = await server.people('member', 'person', 'target', 'viewer');
  const session = await server.signIn('root', OWNER_PASSWORD);
  const owner = { username: 'root', password: OWNER_PASSWORD, session };
  assert.equal((await console('PUT', '/console-roles/viewer', { role: 'administrator' })).status, 204);
  const board = await console<{ id: string }>('POST', '/groups', { name: 'Board', members: ['member'] });
  boardId = board.body.id;
  const guest_until = formatInstant(Math.floor(Date.now() / 1000 + 3_600) * 1000);
  const invited = await console<{ url: string }>('POST', '/enroll', {
    kind: 'guest',
    phone: '+79165550011',
    guest_until,
  });
  const form = { username: 'guest', password: 'password of guest' };
  assert.equal((await request('POST', invited.body.url, { body: form })).status, 201);
  const guest = { ...form, session: await server.signIn(form.username, form.password) };
  callers = { guest, member, owner, person, target, viewer };
  // Whoever calls somebody shares a conversation with them, and so does a guest who writes to them.
  const everybody = ['root', 'viewer', 'member', 'guest', 'target'];
  const room = await server.api(person, 'POST', '/v1/conversations', { kind: 'room', participants: everybody });
  assert.equal(room.status, 201, room.text);
  picture = await sharp({ create: { width: 4, height: 4, channels: 3, background: 'red' } })
    .png()
    .toBuffer();
  for (const [screen, more] of [
    ['custom-emoji', {}],
    ['guests', { per_person: GUESTS_PER_PERSON_MAX }],
  ] as const) {
    const set = await running.console('PUT', `/settings/${screen}`, { everybody: true, ...more });
    assert.equal(set.status, 200, set.text);
  }
});
after(async () => await running.stop());

let calls = 0;
let picture: Buffer<ArrayBuffer>;

/** Right → a request that needs it, towards somebody where it is towards anybody. */
const REQUESTS: Readonly<Record<AccountRight, (who: Person, to: string) => Promise<Reply>>> = {
  'conversation.create.direct': async (who, to) => await create(who, 'direct', to),
  'conversation.create.secret': async (who, to) => await create(who, 'secret', to),
  'conversation.create.room': async (who) => await create(who, 'room'),
  'call.start': async (who, to) => {
    const step = { to, kind: 'call', call: `call-${(calls += 1)}`, seq: 1 };
    const body = { video: false, room: 'r' };
    const invited = await running.server.api(who, 'POST', '/v1/signal', { ...step, step: 'invite', body });
    if (invited.status === 202)
      await running.server.api(who, 'POST', '/v1/signal', { ...step, step: 'cancel', seq: 2 });
    return invited;
  },
  'directory.read': async (who, to) => await coordinator(who, 'GET', `/v1/directory/${to}`),
  'message.search': async (who) => await running.server.api(who, 'GET', '/v1/search?q=tapir'),
  'attachment.upload': async (who) =>
    await tus(running.server, who, 'POST', '/v1/attachments', { 'upload-length': '5' }),
  'meeting.create': async (who) => await coordinator(who, 'POST', '/v1/meetings', { title: 'M', participants: [] }),
  'emoji.create': async (who) => {
    const url = `${running.server.coordinator}/v1/emoji/e${(calls += 1)}`;
    const headers = { authorization: `Bearer ${who.session.token}`, 'content-type': 'image/png' };
    const answer = await fetch(url, { method: 'PUT', headers, body: picture });
    const text = await answer.text();
    return { status: answer.status, headers: answer.headers, text, body: JSON.parse(text) as Record<string, unknown> };
  },
  'guest.invite': async (who) => {
    const phone = `+4420700${String((calls += 1)).padStart(5, '0')}`;
    const guest_until = formatInstant(Date.now() + 86_400_000);
    return await coordinator(who, 'POST', '/v1/guests', { phone, guest_until });
  },
};

async function create(who: Person, kind: string, to?: string): Promise<Reply> {
  const participants = to === undefined ? [] : [to];
  return await running.server.api(who, 'POST', '/v1/conversations', { kind, participants });
}

async function coordinator(who: Person, method: string, path: string, body?: object): Promise<Reply> {
  return await request(method, `${running.server.coordinator}${path}`, { body, token: who.session.token });
}

async function rightsOf(who: Person): Promise<AccountRight[]> {
  const reply = await running.server.api<{ rights: AccountRight[] }>(who, 'GET', '/v1/me/capabilities');
  assert.equal(reply.status, 200, reply.text);
  return reply.body.rights;
}

type Rule = { action: string; from: string; to: string; effect: 'allow' | 'deny' };

/** What is done while rules are in force, in this order. */
async function under(rules: readonly Rule[], work: () => Promise<void>): Promise<void> {
  const made: string[] = [];
  try {
    for (const rule of rules) {
      const reply = await running.console<{ id: string }>('POST', '/policies', rule);
      assert.equal(reply.status, 201, reply.text);
      made.push(reply.body.id);
    }
    await work();
  } finally {
    for (const id of made.toReversed()) await running.console('DELETE', `/policies/${id}`);
  }
}

/** Every right of every caller: the answer says what the request gets. Answers who has which. */
async function compare(to: string): Promise<Record<string, AccountRight[]>> {
  const held: Record<string, AccountRight[]> = {};
  for (const [name, who] of Object.entries(callers)) {
    if (who.username === to) continue;
    const rights = (held[name] = await rightsOf(who));
    for (const right of ACCOUNT_RIGHTS) {
      const reply = await REQUESTS[right](who, to);
      const said = `${right} of ${name}: ${reply.status} ${reply.text}`;
      if (rights.includes(right)) assert.ok(reply.status < 300, said);
      else assert.equal(reply.body['code'], ACCOUNT_RIGHT_RULES[right].refused, said);
    }
  }
  return held;
}

const rule = (action: string, from: string, to: string, effect: Rule['effect']): Rule => ({ action, from, to, effect });
const without = (...left: AccountRight[]) => ACCOUNT_RIGHTS.filter((right) => !left.includes(right));
const OF_GUESTS = without('conversation.create.room', 'meeting.create', 'emoji.create', 'guest.invite');

test('CAP-01 CAP-03 without a rule guests lack what is for members, and a role in the console gives nothing', async () => {
  const { guest, ...others } = await compare('target');
  assert.deepEqual(guest, OF_GUESTS);
  for (const rights of Object.values(others)) assert.deepEqual(rights, ACCOUNT_RIGHTS);
});

test('CAP-01 CAP-03 POL-01 every right is answered as requests are judged, under rules of every kind', async () => {
  const writing: AccountRight[] = ['conversation.create.direct', 'conversation.create.secret'];
  const cases: [rules: Rule[], to: string, concerned: Name, lacking: AccountRight[], spared: Name][] = [
    [[rule('message', boardId, 'everyone', 'deny')], 'target', 'member', writing, 'person'],
    [[rule('call', boardId, 'everyone', 'deny')], 'target', 'member', ['call.start'], 'person'],
    [[rule('see', boardId, 'everyone', 'deny')], 'target', 'member', ['directory.read'], 'person'],
    [
      [rule('call', 'people', 'people', 'deny'), rule('call', 'people', 'guests', 'deny')],
      'target',
      'person',
      ['call.start'],
      'guest',
    ],
    // What is left is one person: nobody for that person, and somebody for everybody else.
    [
      [rule('message', 'everyone', boardId, 'allow'), rule('message', 'everyone', 'everyone', 'deny')],
      'member',
      'target',
      [],
      'person',
    ],
    // What a rule allows after another has denied it is nobody.
    [
      [
        rule('call', 'everyone', boardId, 'deny'),
        rule('call', 'everyone', boardId, 'allow'),
        rule('call', 'everyone', 'everyone', 'deny'),
      ],
      'target',
      'person',
      ['call.start'],
      'member',
    ],
  ];
  for (const [rules, to, concerned, lacking, spared] of cases) {
    await under(rules, async () => {
      const held = await compare(to);
      const say = JSON.stringify(rules);
      if (to !== callers[concerned].username) assert.deepEqual(held[concerned], without(...lacking), say);
      if (rules.length < 3 && spared !== 'guest') assert.deepEqual(held[spared], ACCOUNT_RIGHTS, say);
      if (to === 'member') assert.deepEqual(await rightsOf(callers.member), without(...writing), say);
    });
  }
});

test('CAP-02 POL-01 nobody is offered to add whom they may not invite, nor to call in a room whom they may call nobody', async () => {
  const { server } = running;
  const { member, person } = callers;
  const room = await server.api<{ id: string }>(member, 'POST', '/v1/conversations', {
    kind: 'room',
    participants: ['person', 'target', 'viewer'],
  });
  const path = `/v1/conversations/${room.body.id}`;
  const lacks = async (who: Person, right: string) =>
    !(await server.api<{ rights: string[] }>(who, 'GET', `${path}/rights`)).body.rights.includes(right);
  await under([rule('invite', boardId, 'everyone', 'deny')], async () => {
    assert.deepEqual([await lacks(member, 'participant.add'), await lacks(person, 'participant.add')], [true, false]);
    const refused = await server.api(member, 'POST', `${path}/participants`, { participants: ['root'] });
    assert.equal(refused.body['code'], 'participant_unknown');
  });
  const invite = { to: room.body.id, kind: 'call', step: 'invite', seq: 1, body: { video: false, room: 'r' } };
  await under([rule('call', boardId, 'everyone', 'deny')], async () => {
    assert.deepEqual([await lacks(member, 'call.start'), await lacks(person, 'call.start')], [true, false]);
    const refused = await server.api(member, 'POST', '/v1/signal', { ...invite, call: 'in-a-room' });
    assert.deepEqual([refused.status, refused.body['code']], [403, 'recipient_forbidden']);
  });
  assert.equal((await server.api(member, 'POST', '/v1/signal', { ...invite, call: 'in-a-room' })).status, 202);
});

/** Whoever of these is told of their own rights next, from the changes so far on. */
function hearing(sockets: Readonly<Record<string, TestSocket>>) {
  const told = (name: string) =>
    (sockets[name]?.events ?? []).filter(({ data, type }) => type === 'directory.changed' && data['user'] === name)
      .length;
  const names = Object.keys(sockets);
  let known = names.map((name) => told(name));
  return async (...expected: string[]): Promise<void> => {
    await until(
      () => expected.every((name) => told(name) > (known[names.indexOf(name)] ?? 0)),
      `${expected.join()} to be told`,
    );
    const heard = names.filter((name, at) => told(name) > (known[at] ?? 0));
    assert.deepEqual(heard, expected);
    known = names.map((name) => told(name));
  };
}

test('CAP-03 whoever may something else now is told over the socket, and nobody else', async () => {
  const { console, server } = running;
  const { guest, member, person } = callers;
  const sockets = {
    guest: await connect(server, guest),
    member: await connect(server, member),
    person: await connect(server, person),
  };
  const next = hearing(sockets);
  const made = await console<{ id: string }>('POST', '/policies', rule('call', boardId, 'everyone', 'deny'));
  await next('member');
  assert.ok(!(await rightsOf(member)).includes('call.start'));
  // Another's membership is a change for whoever joins the group, and for nobody who was in it.
  await console('PATCH', `/groups/${boardId}`, { add: ['person'] });
  await next('person');
  assert.ok(!(await rightsOf(person)).includes('call.start'));
  await console('PATCH', `/groups/${boardId}`, { remove: ['person'] });
  await next('person');
  await console('PATCH', `/policies/${made.body.id}`, { from: 'guests' });
  await next('guest', 'member');
  await console('DELETE', `/policies/${made.body.id}`);
  await next('guest');
  assert.deepEqual([await rightsOf(guest), await rightsOf(member)], [OF_GUESTS, ACCOUNT_RIGHTS]);
  // A term that ends takes everything: the session of the guest is over.
  const other = formatInstant(Math.floor(Date.now() / 1000 + 7_200) * 1000);
  assert.equal((await console('PATCH', '/guests/guest', { expires_at: other })).status, 200);
  await next('guest');
  for (const socket of Object.values(sockets)) await socket.close();
});

test('CAP-03 the SDK asks again by itself and tells the application what is granted now', async () => {
  const { console, server } = running;
  const { password, username } = callers.member;
  const client = await ParleyClient.signIn({
    coordinatorUrl: server.coordinator,
    messagingUrl: server.messaging,
    username,
    password,
  });
  try {
    await client.caughtUp();
    assert.deepEqual(await client.capabilities(), { known: true, granted: new Set(ACCOUNT_RIGHTS) });
    const told = new Promise((resolve) => {
      client.on('rights', ({ rights }) => rights.known && !rights.granted.has('call.start') && resolve(rights.granted));
    });
    const made = await console<{ id: string }>('POST', '/policies', rule('call', boardId, 'everyone', 'deny'));
    assert.deepEqual(await deadline(told, 15_000, 'the application to be told'), new Set(without('call.start')));
    await console('DELETE', `/policies/${made.body.id}`);
  } finally {
    client.close();
  }
});
