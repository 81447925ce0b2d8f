/** Rooms that are public within the organisation: finding, joining, staying out, archiving, and what policies and guests see. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { request as httpRequest, type IncomingMessage } from 'node:http';
import { connect as connectTo } from 'node:net';
import { json } from 'node:stream/consumers';
import { before, suite, test } from 'node:test';
import sharp from 'sharp';
import { formatInstant } from '#src/base/time.ts';
import { ParleyClient } from '#src/client/parley-client.ts';
import { ROOM_AVATARS_AT_ONCE_MAX } from '#src/messaging/conversations/room-avatar-handlers.ts';
import type { Conversation } from '#src/protocol/conversations/conversations.ts';
import type { PublicRoom } from '#src/protocol/conversations/rooms.ts';
import { shareRestartedServer } from '#test/console/console-server.ts';
import { meeting } from '#test/support/meeting.ts';
import { request, type Person } from '#test/support/server.ts';
import { connect } from '#test/support/socket.ts';
import { assertRefused, post, say } from './conversing.ts';

const site = await shareRestartedServer({}, { shards: 2 });
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

const raw = async (who: Person, method: string, path: string, body?: BodyInit, headers = {}) =>
  await fetch(`${site.server.messaging}/v1/conversations/${path}`, {
    method,
    headers: { authorization: `Bearer ${who.session.token}`, ...headers },
    ...(body === undefined ? {} : { body }),
  });
const codeOf = async (answer: Response) => ((await answer.json()) as { code: string }).code;

/** The code that a picture of so many bytes is answered with before any of them was sent. */
async function announced({ session }: Person, id: string, bytes: number): Promise<string> {
  const headers = { authorization: `Bearer ${session.token}`, 'content-length': bytes };
  const sent = httpRequest(`${site.server.messaging}/v1/conversations/${id}/avatar`, { method: 'PUT', headers });
  sent.flushHeaders();
  const [answer] = (await once(sent, 'response')) as [IncomingMessage];
  const { code } = (await json(answer)) as { code: string };
  sent.destroy();
  return code;
}

async function signedIn({ password, username }: Person): Promise<ParleyClient> {
  const { coordinator, messaging } = site.server;
  return await ParleyClient.signIn({ coordinatorUrl: coordinator, messagingUrl: messaging, username, password });
}

const photograph = async (background: string) =>
  await sharp({ create: { width: 900, height: 300, channels: 3, background } })
    .withExif({ IFD0: { Copyright: 'taken at home' } })
    .jpeg()
    .toBuffer();

// Side by side, and a kill for all of them once each has done what is to outlive it.
void suite('over a kill', { concurrency: 3 }, () => {
  const kill = meeting(3, async () => await site.restart('SIGKILL'));

  test('what is public, archived and barred outlives a kill; a deleted room is found by nobody', async () => {
    const { alice, bob, carol } = people;
    const [kept, gone, shut] = [await open(alice, 'Durable'), await open(alice, 'Gone'), await open(alice, 'Shut')];
    await join(bob, kept.id);
    await api(alice, 'DELETE', `/conversations/${kept.id}/participants/bob`);
    await change(alice, kept.id, { title: 'Durable two' });
    await change(alice, shut.id, { archived: true });
    await api(alice, 'DELETE', `/conversations/${gone.id}`);
    await kill();
    assert.deepEqual(await found(carol, 'durable two'), [kept.id]);
    for (const q of ['gone', 'shut']) assert.deepEqual(await found(carol, q), [], q);
    assertRefused(await join(bob, kept.id), 403, 'conversation_forbidden');
    assertRefused(await join(carol, gone.id), 403, 'conversation_forbidden');
  });

  test('a person’s favourites and categories are theirs alone, told to their devices, and outlive a kill', async () => {
    const { alice, bob } = people;
    const { id } = await open(alice, 'Placed', { participants: ['bob'] });
    interface Inbox {
      readonly items: {
        conversation?: Conversation;
        favourite?: true;
        category?: string;
        muted_until?: string | null;
      }[];
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
    await kill();
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

  test('a room’s picture is given by who may name the room, told, found with the room, and outlives a kill', async (context) => {
    const { alice, bob, carol } = people;
    const { id } = await open(alice, 'Pictured', { participants: ['bob'] });
    const socket = await connect(site.server, bob);
    const sdk = await signedIn(alice);
    context.after(() => sdk.close());
    const avatar = await sdk.roomAvatars.put(id, new Blob([await photograph('green')]));
    const told = await socket.event(({ type, conv }) => type === 'conversation.updated' && conv === id);
    assert.deepEqual([told.data['avatar'], told.rev], [avatar, avatar]);
    assert.equal((await browse(carol, '?q=pictured')).items[0]?.avatar, avatar);
    const listed = await site.ask<{ avatar?: number }>('administrator', 'GET', `/conversations/${id}`);
    assert.equal(listed.body.avatar, avatar);
    // Another change leaves it as it is.
    assert.equal((await change(alice, id, { topic: 'About' })).body.avatar, avatar);
    for (const size of [64, 256]) {
      for (const reader of [bob, carol]) {
        const answer = await raw(reader, 'GET', `${id}/avatar/${avatar}?size=${size}`);
        assert.equal(answer.headers.get('cache-control'), 'private, no-cache');
        assert.equal(answer.headers.get('content-type'), 'image/webp');
        const { exif, format, height, width } = await sharp(Buffer.from(await answer.arrayBuffer())).metadata();
        assert.deepEqual([format, width, height, exif], ['webp', size, size, undefined]);
        const tag = { 'if-none-match': answer.headers.get('etag') ?? '' };
        assert.equal((await raw(reader, 'GET', `${id}/avatar/${avatar}?size=${size}`, undefined, tag)).status, 304);
      }
    }
    assert.equal((await raw(bob, 'GET', `${id}/avatar/${avatar}?size=65`)).status, 400);
    for (const other of [avatar - 1, avatar + 1, 'x', '0x1']) {
      assert.equal(await codeOf(await raw(bob, 'GET', `${id}/avatar/${other}`)), 'avatar_not_found', String(other));
    }
    await change(alice, id, { visibility: 'private' });
    assert.equal(await codeOf(await raw(carol, 'GET', `${id}/avatar/${avatar}`)), 'conversation_forbidden');
    await kill();
    const again = await signedIn(alice);
    context.after(() => again.close());
    assert.equal((await again.roomAvatars.read(id, avatar, 64)).type, 'image/webp');
    const next = await again.roomAvatars.put(id, new Blob([await photograph('red')]));
    assert.ok(next > avatar);
    assert.equal(await codeOf(await raw(bob, 'GET', `${id}/avatar/${avatar}`)), 'avatar_not_found');
    await again.roomAvatars.remove(id);
    assert.equal((await api(alice, 'GET', `/conversations/${id}`)).body.avatar, undefined);
    assert.equal(await codeOf(await raw(bob, 'GET', `${id}/avatar/${next}`)), 'avatar_not_found');
    // Nothing to take away changes nothing.
    const { rev } = (await api(alice, 'GET', `/conversations/${id}`)).body;
    await again.roomAvatars.remove(id);
    assert.equal((await api(alice, 'GET', `/conversations/${id}`)).body.rev, rev);
    // An administrator takes one away as well, and the room is told.
    const last = await again.roomAvatars.put(id, new Blob([await photograph('red')]));
    assert.equal((await site.ask('viewer', 'DELETE', `/conversations/${id}/avatar`)).status, 403);
    assert.equal((await site.ask('administrator', 'DELETE', `/conversations/${id}/avatar`)).status, 204);
    assert.equal(await codeOf(await raw(bob, 'GET', `${id}/avatar/${last}`)), 'avatar_not_found');
    const trail = await site.ask<{ items: { about: string }[] }>(
      'owner',
      'GET',
      '/audit?event=conversation.avatar_removed',
    );
    assert.deepEqual(
      trail.body.items.map(({ about }) => about),
      [`conversation:${id}`],
    );
    await socket.close();
  });
});

test('whose room it is not to name, an archived room, a chat of two and what is no picture get none', async () => {
  const { alice, bob, carol } = people;
  const { id } = await open(alice, 'Bare', { participants: ['bob'] });
  const picture = await photograph('blue');
  const put = async (who: Person, to: string, body: BodyInit = new Blob([picture])) =>
    await codeOf(await raw(who, 'PUT', `${to}/avatar`, body));
  assert.equal(await put(bob, id), 'right_missing');
  assert.equal(await put(carol, id), 'conversation_forbidden');
  assert.equal(await put(carol, 'c_x'), 'conversation_forbidden');
  const direct = await api(alice, 'POST', '/conversations', { kind: 'direct', participants: ['bob'] });
  assert.equal(await put(alice, direct.body.id), 'right_missing');
  const drawing = '<svg xmlns="http://www.w3.org/2000/svg" width="9" height="9"><rect width="9" height="9"/></svg>';
  for (const body of ['', 'no picture', drawing, Buffer.from('\x89PNG\r\n\x1a\n', 'latin1')]) {
    assert.equal(await put(alice, id, body), 'avatar_invalid');
  }
  assert.equal(await put(alice, id, Buffer.alloc(8 * 1024 * 1024)), 'avatar_invalid');
  assert.equal(await announced(alice, id, 8 * 1024 * 1024 + 1), 'body_too_large');
  assert.equal((await raw(alice, 'PUT', `${id}/avatar?size=64`, picture)).status, 400);
  assert.equal((await api(alice, 'GET', `/conversations/${id}`)).body.avatar, undefined);
  const given = await raw(alice, 'PUT', `${id}/avatar`, picture);
  assert.equal(given.status, 200);
  const { avatar } = (await given.json()) as { avatar: number };
  assert.equal((await change(alice, id, { archived: true })).body.avatar, avatar);
  assert.equal(await put(alice, id), 'conversation_archived');
  assert.equal(await codeOf(await raw(alice, 'DELETE', `${id}/avatar`)), 'conversation_archived');
  assert.equal((await raw(bob, 'GET', `${id}/avatar/${avatar}`)).status, 200);
  assert.equal(await codeOf(await raw(bob, 'DELETE', `${id}/avatar`)), 'right_missing');
});

test('pictures that one person begins to send keep nobody else from sending one', async (context) => {
  const { alice, bob } = people;
  const rooms = await Promise.all([open(alice, 'Slow'), open(bob, 'Quick')]);
  const [slow, quick] = rooms.map(({ id }) => id);
  const { hostname, port } = new URL(site.server.messaging);
  const head = [
    `PUT /v1/conversations/${slow}/avatar HTTP/1.1`,
    'host: a',
    `authorization: Bearer ${alice.session.token}`,
    'content-type: image/png',
    'content-length: 1000',
  ];
  // More than all threads together take in at once.
  const begun = Array.from({ length: 4 * ROOM_AVATARS_AT_ONCE_MAX }, () => {
    const socket = connectTo(Number(port), hostname).setEncoding('latin1');
    context.after(() => socket.destroy());
    const said: string[] = [];
    socket.on('data', (text: string) => said.push(text));
    socket.write(`${head.join('\r\n')}\r\n\r\nx`);
    return () => said.join('');
  });
  // The other half of a refused body is awaited, so nothing is said to it before.
  const sdk = await signedIn(bob);
  context.after(() => sdk.close());
  assert.ok((await sdk.roomAvatars.put(quick as string, new Blob([await photograph('red')]))) > 0);
  assert.ok(begun.every((said) => !said().includes('200 OK')));
});

test('MSG-07 a call that was live when its room was archived ends there, and who was in it says what became of it', async () => {
  const { alice, bob } = people;
  const { id } = await open(alice, 'Talking', { participants: ['bob'] });
  const step = async (name: string, seq: number, body: object) => {
    const form = { to: id, kind: 'call', step: name, call: 'attempt', seq, body };
    const reply = await api<unknown>(alice, 'POST', '/signal', form);
    assert.equal(reply.status, 202, reply.text);
  };
  const outcome = async (who: Person, result: string, call?: string) => {
    const body = { outcome: { result, duration: 0, flags: [] }, ...(call === undefined ? {} : { call }) };
    return await post(site.server, who, id, { kind: 'call', body });
  };
  await step('invite', 1, { video: false, room: 'r' });
  await change(alice, id, { archived: true });
  assertRefused(await outcome(alice, 'cancelled', 'attempt'), 409, 'call_outcome_contradicts');
  await step('cancel', 2, {});
  assert.equal((await outcome(alice, 'cancelled', 'attempt')).status, 201);
  assert.equal((await outcome(bob, 'missed')).status, 201);
  // One each, of a call that there was, and no other words.
  assertRefused(await outcome(alice, 'missed', 'attempt'), 409, 'call_outcome_posted', 'body.outcome');
  assertRefused(await outcome(alice, 'failed', 'another'), 409, 'conversation_archived');
  assertRefused(await post(site.server, bob, id, { kind: 'text', body: 'x' }), 409, 'conversation_archived');
});
