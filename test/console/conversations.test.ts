/** Conversations in the console: lists without contents, owners for rooms that were left, archiving. */
import assert from 'node:assert/strict';
import { before, test } from 'node:test';
import type { Conversation } from '#src/protocol/conversations/conversations.ts';
import { request, type Person } from '#test/support/server.ts';
import { until } from '#test/support/waiting.ts';
import { shareRestartedServer } from './console-server.ts';

const site = await shareRestartedServer({}, { shards: 2 });
const NAMES = ['amy', 'bea', 'cid', 'dan', 'eve', 'fay', 'gus', 'hal'] as const;
let people: Record<(typeof NAMES)[number], Person>;
before(async () => {
  people = await site.server.people(...NAMES);
});

interface Item {
  readonly id: string;
  readonly title?: string;
  readonly orphaned: boolean;
  readonly archived_at?: string;
}
interface Page {
  readonly items: readonly Item[];
  readonly next: string | null;
}
interface Failure {
  readonly code: string;
  readonly field?: string;
}

async function start(who: Person, form: object): Promise<Conversation> {
  const made = await site.server.api<Conversation>(who, 'POST', '/v1/conversations', form);
  assert.equal(made.status, 201, made.text);
  return made.body;
}
const room = async (who: Person, title: string, ...participants: string[]) =>
  await start(who, { kind: 'room', title, participants });
const say = async (who: Person, id: string, body: string) =>
  await site.server.api(who, 'POST', `/v1/conversations/${id}/messages`, { kind: 'text', body });
const add = async (who: Person, id: string, user: string, role: string) =>
  await site.server.api(who, 'POST', `/v1/conversations/${id}/participants`, { participants: [user], role });
const list = async (query: string) => await site.ask<Page>('administrator', 'GET', `/conversations?${query}`);
const give = async (id: string, user: string) =>
  await site.ask<Item & Failure>('administrator', 'PUT', `/conversations/${id}/owner`, { user });
const user = async (name: string, what: string) =>
  assert.equal((await site.ask('administrator', 'POST', `/users/${name}/${what}`)).status, 200);

async function ownersOf(id: string): Promise<string[]> {
  const path = `/conversations/${id}/participants`;
  const { body } = await site.ask<{ items: { user: string; role: string }[] }>('administrator', 'GET', path);
  return body.items.filter(({ role }) => role === 'owner').map((one) => one.user);
}

async function trail(event: string): Promise<{ about: string; actor: string; details: Record<string, unknown> }[]> {
  const { body } = await site.ask<{ items: never[] }>('owner', 'GET', `/audit?event=${event}`);
  return body.items;
}

test('CON-03 conversations are listed, searched, ordered and paged, without a word of what is said in them', async () => {
  const { amy, bea } = people;
  const small = await room(amy, 'Ёж и Café');
  const large = await room(amy, 'Large café', 'bea', 'cid');
  const pair = await start(amy, { kind: 'direct', participants: ['bea'] });
  const secret = await start(bea, { kind: 'secret', participants: ['amy'] });
  for (const { id } of [pair, secret, large, small]) await say(amy, id, 'XYZZY said here');
  const walk = async (query: string) => {
    const ids: string[] = [];
    for (let after = ''; ;) {
      const reply = await list(`${query}&limit=1${after}`);
      assert.equal(reply.status, 200, reply.text);
      assert.doesNotMatch(reply.text, /XYZZY/);
      ids.push(...reply.body.items.map(({ id }) => id));
      if (reply.body.next === null) return ids;
      after = `&after=${reply.body.next}`;
    }
  };
  assert.deepEqual(await walk('q=CAFE&sort=created'), [large.id, small.id]);
  assert.deepEqual(await walk('q=cafe&sort=activity'), [small.id, large.id]);
  assert.deepEqual(await walk('q=cafe&sort=title'), [large.id, small.id]);
  assert.deepEqual(await walk('kind=room&sort=members&q=caf'), [large.id, small.id]);
  assert.deepEqual(await walk('q=еж'), [small.id]);
  assert.deepEqual(await walk(`q=${secret.id}`), [secret.id]);
  assert.deepEqual(await walk('q=xyzzy'), []);
  assert.deepEqual(await walk('member=bea&kind=direct'), [pair.id]);
  assert.deepEqual((await walk('member=bea')).toSorted(), [pair.id, secret.id, large.id].toSorted());
  const read = await site.ask('administrator', 'GET', `/conversations/${secret.id}`);
  assert.deepEqual(Object.keys(read.body).toSorted(), [
    'created_at',
    'created_by',
    'id',
    'kind',
    'last_activity_at',
    'messages',
    'orphaned',
    'participant_count',
  ]);
  assert.equal(read.body['messages'], 1);
  const wrong: [query: string, field: string, code?: string][] = [
    ['sort=size', 'sort'],
    ['kind=group', 'kind'],
    ['limit=101', 'limit'],
    ['q=', 'q'],
    ['after=x', 'after', 'cursor_invalid'],
  ];
  for (const [query, field, code = 'query_invalid'] of wrong) {
    const { status, body } = await site.ask<Failure>('administrator', 'GET', `/conversations?${query}`);
    assert.deepEqual([status, body.code, body.field], [400, code, field], query);
  }
  for (const id of [`c_${'0'.repeat(22)}`, 'x']) {
    const { status, body } = await site.ask<Failure>('administrator', 'GET', `/conversations/${id}`);
    assert.deepEqual([status, body.code], [403, 'conversation_forbidden']);
  }
  // Whoever merely looks on, and a vendor, are shown none of it (VND-15).
  for (const [who, code] of [
    ['viewer', 'right_missing'],
    ['vendor_active', 'vendor_token_forbidden'],
  ] as const) {
    for (const path of ['/conversations', `/conversations/${small.id}`, `/conversations/${small.id}/participants`]) {
      const { status, body } = await site.ask<Failure>(who, 'GET', path);
      assert.deepEqual([status, body.code], [403, code], path);
    }
  }
});

test('who leaves, is blocked or erased hands over: to the oldest moderator, else the oldest member', async () => {
  const { dan, eve } = people;
  const moderated = await room(dan, 'Moderated', 'cid');
  await add(dan, moderated.id, 'hal', 'moderator');
  await add(dan, moderated.id, 'gus', 'moderator');
  const plain = await room(dan, 'Plain', 'gus');
  await say(dan, plain.id, 'so that who comes later comes later');
  await add(dan, plain.id, 'amy', 'member');
  const shared = await room(dan, 'Shared', 'amy');
  await add(dan, shared.id, 'bea', 'owner');
  await user('dan', 'leave');
  // Of the two who came at one message, the first by name.
  await until(async () => (await ownersOf(moderated.id)).includes('gus'), 'the moderator to own the room');
  await until(async () => (await ownersOf(plain.id)).includes('gus'), 'the oldest member to own the room');
  assert.deepEqual(await ownersOf(shared.id), ['bea', 'dan']);
  assert.equal((await trail('conversation.owner_given')).length, 2);
  const [entry] = (await trail('conversation.owner_given')).filter(({ about }) => about.endsWith(plain.id));
  assert.deepEqual([entry?.actor, entry?.details], ['server', { user: 'gus', left: { user: 'dan' } }]);
  // A vendor reads that it happened, and to whom by pseudonyms alone (VND-15).
  const shown = await site.ask('vendor_active', 'GET', '/audit?event=conversation.owner_given');
  assert.equal(shown.status, 200, shown.text);
  assert.doesNotMatch(shown.text, /"(gus|dan)"/);
  // The new owner does what owners do.
  const renamed = await site.server.api(people.gus, 'PATCH', `/v1/conversations/${plain.id}`, {
    visibility: 'organisation',
  });
  assert.equal(renamed.status, 200, renamed.text);

  const erased = await room(eve, 'Of eve', 'hal');
  const asked = await site.ask('owner', 'POST', '/users/eve/erase');
  assert.ok(asked.status < 300, asked.text);
  await until(async () => (await ownersOf(erased.id)).includes('hal'), 'the room of who was erased to have an owner');
});

test('a handover that a kill interrupted is gone on with at the next start', async () => {
  const { hal } = people;
  const { id } = await room(hal, 'Of hal', 'amy');
  await user('hal', 'block');
  await site.restart('SIGKILL');
  await until(async () => (await ownersOf(id)).includes('amy'), 'the room to have an owner');
});

test('a room that nobody is left to own is found, and gets an owner; one that has an owner gets none from outside', async () => {
  const { fay } = people;
  const { id } = await room(fay, 'Alone');
  await user('fay', 'block');
  const waiting = async () => (await list('orphaned=true')).body.items.map((one) => one.id);
  await until(async () => (await waiting()).includes(id), 'the room to wait for an owner');
  const nobody = await give(id, 'nobody');
  assert.deepEqual([nobody.status, nobody.body.code, nobody.body.field], [400, 'participant_unknown', 'user']);
  assert.equal((await give(id, 'fay')).body.code, 'participant_unknown');
  const given = await give(id, 'amy');
  assert.deepEqual([given.status, given.body.orphaned], [200, false]);
  assert.equal((await waiting()).includes(id), false);
  assert.equal((await site.server.api(people.amy, 'GET', `/v1/conversations/${id}`)).status, 200);
  const owned = await give(id, 'bea');
  assert.deepEqual([owned.status, owned.body.code], [409, 'room_owned']);
  assert.deepEqual(await ownersOf(id), ['amy', 'fay']);
  const pair = await start(people.amy, { kind: 'direct', participants: ['cid'] });
  assert.deepEqual(
    [(await give(pair.id, 'bea')).status, (await give(pair.id, 'bea')).body.code],
    [403, 'conversation_forbidden'],
  );
  const [entry] = await trail('conversation.owner_given');
  assert.deepEqual([entry?.about, entry?.details], [`conversation:${id}`, { user: 'amy', left: null }]);
  assert.match(entry?.actor ?? '', /^user:/);
});

test('an administrator archives a room and brings it back, each once in the trail', async () => {
  const { amy } = people;
  const { id } = await room(amy, 'To the archive');
  const put = async (archived: boolean, to = id) =>
    await site.ask<Item & Failure>('administrator', 'PUT', `/conversations/${to}/archived`, { archived });
  assert.match((await put(true)).body.archived_at ?? '', /Z$/);
  assert.equal((await put(true)).status, 200);
  assert.equal((await say(amy, id, 'more')).body['code'], 'conversation_archived');
  assert.equal((await put(false)).body.archived_at, undefined);
  assert.equal((await say(amy, id, 'more')).status, 201);
  for (const event of ['conversation.archived', 'conversation.restored']) {
    assert.deepEqual(
      (await trail(event)).map(({ about }) => about),
      [`conversation:${id}`],
      event,
    );
  }
  const pair = await start(amy, { kind: 'secret', participants: ['bea'] });
  assert.equal((await put(true, pair.id)).body.code, 'conversation_forbidden');
  assert.equal((await request('GET', `${site.server.coordinator}/admin/api/conversations`)).status, 401);
});

test('a room whose owner comes back waits for nobody', async () => {
  const { bea } = people;
  const { id } = await room(bea, 'Of bea alone');
  const isWaiting = async () => (await list('orphaned=true')).body.items.some((one) => one.id === id);
  await user('bea', 'block');
  await until(isWaiting, 'the room to wait for an owner');
  await user('bea', 'unblock');
  await until(async () => !(await isWaiting()), 'the room to wait no more');
  assert.equal((await give(id, 'amy')).body.code, 'room_owned');
});
