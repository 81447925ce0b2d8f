/** Rooms that are public within the organisation: finding, joining, staying out, archiving, and what policies and guests see. */
import assert from 'node:assert/strict';
import { before, test } from 'node:test';
import { formatInstant } from '#src/base/time.ts';
import type { Conversation } from '#src/protocol/conversations/conversations.ts';
import type { PublicRoom } from '#src/protocol/conversations/rooms.ts';
import { shareRestartedServer } from '#test/console/console-server.ts';
import { request, type Person } from '#test/support/server.ts';
import { connect } from '#test/support/socket.ts';
import { assertRefused, post, say } from './conversing.ts';

const site = await shareRestartedServer();
let people: Record<'alice' | 'bob' | 'carol' | 'dave', Person>;
before(async () => {
  people = await site.server.people('alice', 'bob', 'carol', 'dave');
});

interface Page {
  readonly items: readonly PublicRoom[];
  readonly next: string | null;
}

const api = async <T = Conversation>(who: Person, method: string, path: string, body?: unknown) =>
  await site.server.api<T>(who, method, `/v1${path}`, body);
const join = async (who: Person, id: string) => await api(who, 'POST', `/rooms/${id}/join`);
const change = async (who: Person, id: string, form: object) => await api(who, 'PATCH', `/conversations/${id}`, form);

async function open(who: Person, title: string, more: object = {}): Promise<Conversation> {
  const form = { kind: 'room', title, visibility: 'organisation', ...more };
  const made = await api(who, 'POST', '/conversations', form);
  assert.equal(made.status, 201, made.text);
  return made.body;
}

async function browse(who: Person, query = ''): Promise<Page> {
  const reply = await api<Page>(who, 'GET', `/rooms${query}`);
  assert.equal(reply.status, 200, reply.text);
  return reply.body;
}

const found = async (who: Person, q: string) =>
  (await browse(who, `?q=${encodeURIComponent(q)}`)).items.map(({ id }) => id);

async function enrolGuest(username: string): Promise<Person> {
  const guest_until = formatInstant(Math.floor(Date.now() / 1000 + 3_600) * 1000);
  const form = { kind: 'guest', phone: '+79161234567', guest_until };
  const invited = await site.ask<{ url: string }>('administrator', 'POST', '/enroll', form);
  const password = `password of ${username}`;
  assert.equal((await request('POST', invited.body.url, { body: { username, password } })).status, 201);
  return { username, password, session: await site.server.signIn(username, password) };
}

test('a public room is found by words of its title and joined, and who comes reads what was said before', async () => {
  const { alice, bob } = people;
  const room = await open(alice, 'Ёлка и Café', { topic: 'Snow', purpose: 'To plan the party' });
  assert.deepEqual([room.visibility, room.topic, room.purpose], ['organisation', 'Snow', 'To plan the party']);
  const hidden = await api(alice, 'POST', '/conversations', { kind: 'room', title: 'Ёлка in private' });
  await say(site.server, alice, room.id, 'said before');
  for (const q of ['елка', 'CAFE', 'caf ёл']) assert.deepEqual(await found(bob, q), [room.id], q);
  for (const q of ['лка', 'snow', '...']) assert.deepEqual(await found(bob, q), [], q);
  const [item] = (await browse(bob, '?q=cafe')).items;
  assert.deepEqual(item, {
    id: room.id,
    title: 'Ёлка и Café',
    topic: 'Snow',
    purpose: 'To plan the party',
    created_at: room.created_at,
    participant_count: 1,
    joined: false,
  });
  // Finding it is not reading it (MSG-11).
  assertRefused(await api(bob, 'GET', `/conversations/${room.id}/messages`), 403, 'conversation_forbidden');
  const [hers, his] = [await connect(site.server, alice), await connect(site.server, bob)];
  const joined = await join(bob, room.id);
  assert.deepEqual([joined.status, joined.body.participant_count], [200, 2]);
  const membership = await hers.event(({ type, conv }) => type === 'membership' && conv === room.id);
  const { action, user, participants } = membership.data;
  assert.deepEqual([action, user, participants], ['joined', 'bob', [{ user: 'bob', role: 'member' }]]);
  await his.event(({ type, conv }) => type === 'inbox' && conv === room.id);
  await say(site.server, alice, room.id, 'said after');
  await his.event(({ type, conv, seq }) => type === 'message.new' && conv === room.id && seq === 2);
  const history = await api<{ items: { body: string }[] }>(bob, 'GET', `/conversations/${room.id}/messages`);
  assert.deepEqual(
    history.body.items.map(({ body }) => body),
    ['said before', 'said after'],
  );
  const again = await join(bob, room.id);
  assert.deepEqual([again.status, again.body.rev], [200, joined.body.rev + 1]);
  assert.equal((await browse(bob, '?q=cafe')).items[0]?.joined, true);
  // One answer for a private room, one that is not there, and what no room could be called (ERR-05).
  for (const id of [hidden.body.id, `c_${'0'.repeat(22)}`, 'c_x']) {
    assertRefused(await join(bob, id), 403, 'conversation_forbidden');
  }
  for (const socket of [hers, his]) await socket.close();
});

test('rooms are browsed page by page, the newest first, over all lanes, and each comes once', async () => {
  const { alice, bob } = people;
  const ids: string[] = [];
  for (let at = 0; at < 9; at += 1) ids.push((await open(alice, `Paged ${at}`)).id);
  const walked: string[] = [];
  for (let after = ''; ;) {
    const { items, next } = await browse(bob, `?q=paged&limit=2${after}`);
    assert.ok(items.length <= 2);
    walked.push(...items.map(({ id }) => id));
    if (next === null) break;
    after = `&after=${next}`;
  }
  // Ids rise with the millisecond in which they were made.
  assert.deepEqual(walked, ids.toSorted().toReversed());
  const cases = [
    ['limit=0', 'query_invalid', 'limit'],
    [`q=${'a'.repeat(101)}`, 'query_invalid', 'q'],
    ['after=c_1', 'cursor_invalid', 'after'],
    [`after=${Buffer.from('["x"]').toString('base64url')}`, 'cursor_invalid', 'after'],
  ] as const;
  for (const [query, code, field] of cases) {
    assertRefused(await api(bob, 'GET', `/rooms?${query}`), 400, code, field);
  }
});

test('who was removed from a public room stays out until somebody asks them in; who left may come again', async () => {
  const { alice, bob } = people;
  const { id } = await open(alice, 'Doors');
  const leave = async (who: Person, user: string) =>
    (await api(who, 'DELETE', `/conversations/${id}/participants/${user}`)).status;
  await join(bob, id);
  assert.equal(await leave(bob, 'bob'), 204);
  assert.equal((await join(bob, id)).status, 200);
  assert.equal(await leave(alice, 'bob'), 204);
  assertRefused(await join(bob, id), 403, 'conversation_forbidden');
  // Not by the room's becoming private and public again either.
  await change(alice, id, { visibility: 'private' });
  await change(alice, id, { visibility: 'organisation' });
  assertRefused(await join(bob, id), 403, 'conversation_forbidden');
  assert.equal((await api(alice, 'POST', `/conversations/${id}/participants`, { participants: ['bob'] })).status, 200);
  assert.equal(await leave(bob, 'bob'), 204);
  assert.equal((await join(bob, id)).status, 200);
});

test('guests are shown no public room and come into none, and take part where they are invited (GST-06)', async () => {
  const { alice } = people;
  const { id } = await open(alice, 'Without guests');
  const guest = await enrolGuest('visitor');
  assert.deepEqual(await browse(guest), { items: [], next: null });
  assertRefused(await join(guest, id), 403, 'conversation_forbidden');
  await api(alice, 'POST', `/conversations/${id}/participants`, { participants: ['visitor'] });
  assert.equal((await api(guest, 'GET', `/conversations/${id}`)).status, 200);
});

test('POL-01 a room is for those who may see and message the person who made it', async () => {
  const { bob, carol, dave } = people;
  const { id } = await open(carol, 'Board talk');
  const group = await site.ask<{ id: string }>('administrator', 'POST', '/groups', {
    name: 'Board',
    members: ['carol'],
  });
  for (const action of ['see', 'message']) {
    const rule = { action, from: 'everyone', to: group.body.id, effect: 'deny' };
    const made = await site.ask<{ id: string }>('administrator', 'POST', '/policies', rule);
    assert.deepEqual(await found(bob, 'board'), [], action);
    assertRefused(await join(bob, id), 403, 'conversation_forbidden');
    assert.equal((await site.ask('administrator', 'DELETE', `/policies/${made.body.id}`)).status, 204);
  }
  assert.deepEqual(await found(dave, 'board'), [id]);
  assert.equal((await join(dave, id)).status, 200);
});

test('an archived room is read and left, nothing is added to it, nobody finds it, and its owner brings it back', async () => {
  const { alice, bob, carol } = people;
  const { id } = await open(alice, 'Archive me');
  await join(bob, id);
  await say(site.server, bob, id, 'one');
  assertRefused(await change(bob, id, { archived: true }), 403, 'right_missing');
  const socket = await connect(site.server, bob);
  const archived = await change(alice, id, { archived: true });
  assert.match(archived.body.archived_at ?? '', /^\d{4}-.*Z$/);
  const { data } = await socket.event(({ type, conv }) => type === 'conversation.updated' && conv === id);
  assert.equal((data as { archived_at?: string }).archived_at, archived.body.archived_at);
  assert.deepEqual(await found(carol, 'archive'), []);
  assertRefused(await join(carol, id), 403, 'conversation_forbidden');
  const path = `/conversations/${id}`;
  const refused: [method: string, path: string, body?: unknown][] = [
    ['POST', `${path}/messages`, { kind: 'text', body: 'two' }],
    ['PATCH', `${path}/messages/1`, { body: 'changed' }],
    ['PUT', `${path}/messages/1/reactions/%F0%9F%91%8D`],
    ['PUT', `${path}/pins/1`],
    ['POST', `${path}/participants`, { participants: ['carol'] }],
    ['PATCH', path, { title: 'Other' }],
  ];
  for (const [method, to, body] of refused) {
    assertRefused(await api(alice, method, to, body), 409, 'conversation_archived');
  }
  assert.equal((await api(bob, 'GET', `${path}/messages`)).status, 200);
  assert.equal((await change(alice, id, { archived: true })).status, 409);
  assert.equal((await api(bob, 'DELETE', `${path}/participants/bob`)).status, 204);
  const back = await change(alice, id, { archived: false, topic: 'Back' });
  assert.deepEqual([back.body.archived_at, back.body.topic, back.body.visibility], [undefined, 'Back', 'organisation']);
  assert.equal((await post(site.server, alice, id, { kind: 'text', body: 'two' })).status, 201);
  assert.deepEqual(await found(carol, 'archive'), [id]);
  await socket.close();
});

test('topic and purpose are set and taken away by who may change the title, and who finds a room by its owner', async () => {
  const { alice, bob } = people;
  const { id } = await open(alice, 'Texts', { participants: ['bob'] });
  const long = 'я'.repeat(250);
  assert.equal((await change(alice, id, { topic: long, purpose: long })).body.topic, long);
  const taken = await change(alice, id, { topic: null });
  assert.deepEqual([taken.body.topic, taken.body.purpose], [undefined, long]);
  assertRefused(await change(alice, id, { topic: `${long}я` }), 400, 'field_invalid', 'topic');
  assertRefused(await change(alice, id, { purpose: ' ' }), 400, 'field_invalid', 'purpose');
  assertRefused(await change(alice, id, { visibility: 'world' }), 400, 'field_invalid', 'visibility');
  assert.equal((await change(alice, id, {})).status, 400);
  for (const field of ['topic', 'purpose', 'title']) {
    assertRefused(await change(bob, id, { [field]: 'x' }), 403, 'right_missing');
  }
  await api(alice, 'PATCH', `/conversations/${id}/participants/bob`, { role: 'moderator' });
  assert.equal((await change(bob, id, { topic: 'by a moderator' })).status, 200);
  // Fields that are not all theirs change nothing.
  assertRefused(await change(bob, id, { topic: 'x', visibility: 'private' }), 403, 'right_missing');
  assert.equal((await api(bob, 'GET', `/conversations/${id}`)).body.topic, 'by a moderator');
  const nameless = { kind: 'room', visibility: 'organisation' };
  assertRefused(await api(alice, 'POST', '/conversations', nameless), 400, 'field_invalid', 'title');
  const made = await api(alice, 'POST', '/conversations', { kind: 'room' });
  assertRefused(await change(alice, made.body.id, { visibility: 'organisation' }), 400, 'field_invalid', 'title');
});

test('what is public, archived and barred outlives a kill; a deleted room is found by nobody', async () => {
  const { alice, bob, carol } = people;
  const [kept, gone, shut] = [await open(alice, 'Durable'), await open(alice, 'Gone'), await open(alice, 'Shut')];
  await join(bob, kept.id);
  await api(alice, 'DELETE', `/conversations/${kept.id}/participants/bob`);
  await change(alice, kept.id, { title: 'Durable two' });
  await change(alice, shut.id, { archived: true });
  await api(alice, 'DELETE', `/conversations/${gone.id}`);
  await site.restart('SIGKILL');
  assert.deepEqual(await found(carol, 'durable two'), [kept.id]);
  for (const q of ['gone', 'shut']) assert.deepEqual(await found(carol, q), [], q);
  assertRefused(await join(bob, kept.id), 403, 'conversation_forbidden');
  assertRefused(await join(carol, gone.id), 403, 'conversation_forbidden');
});

test('a person’s favourites and categories are theirs alone, told to their devices, and outlive a kill', async () => {
  const { alice, bob } = people;
  const { id } = await open(alice, 'Placed', { participants: ['bob'] });
  interface Inbox {
    readonly items: { conversation?: Conversation; favourite?: true; category?: string; muted_until?: string | null }[];
    readonly sync: string;
  }
  const inbox = async (who: Person, after = '') => (await api<Inbox>(who, 'GET', `/inbox?limit=200${after}`)).body;
  const placed = async (who: Person, after = '') => {
    const item = (await inbox(who, after)).items.find(({ conversation }) => conversation?.id === id);
    return item && [item.favourite, item.category];
  };
  const put = async (who: Person, body: object) => await api(who, 'PUT', `/conversations/${id}/placement`, body);
  const { sync } = await inbox(alice);
  const other = { ...alice, session: await site.server.signIn(alice.username, alice.password) };
  const socket = await connect(site.server, other);
  const answer = await put(alice, { favourite: true, category: ' Work ' });
  assert.deepEqual([answer.status, answer.body], [200, { favourite: true, category: 'Work' }]);
  const { data } = await socket.event(({ type, conv }) => type === 'inbox' && conv === id);
  // Nothing in a record depends on who reads it (SOC-10).
  assert.equal(JSON.stringify(data).includes('Work'), false);
  assert.deepEqual(await placed(alice, `&after=${sync}`), [true, 'Work']);
  assert.deepEqual(await placed(bob), [undefined, undefined]);
  // A mute and a draft leave it as it is, and it leaves them.
  await api(alice, 'PUT', `/conversations/${id}/mute`, { until: '2030-01-01T00:00:00Z' });
  await api(alice, 'PUT', `/conversations/${id}/draft`, { body: 'begun' });
  assert.deepEqual(await placed(alice), [true, 'Work']);
  await site.restart('SIGKILL');
  assert.deepEqual(await placed(alice), [true, 'Work']);
  await put(alice, { favourite: false, category: null });
  assert.deepEqual(await placed(alice), [undefined, undefined]);
  const item = (await inbox(alice)).items.find(({ conversation }) => conversation?.id === id);
  assert.equal(item?.muted_until, '2030-01-01T00:00:00Z');
  assert.equal((await put(alice, { favourite: true, category: 'я'.repeat(50) })).status, 200);
  for (const category of ['я'.repeat(51), ' ', 1]) {
    assertRefused(await put(alice, { favourite: true, category }), 400, 'field_invalid', 'category');
  }
  assertRefused(await put(people.dave, { favourite: true, category: null }), 403, 'conversation_forbidden');
});
