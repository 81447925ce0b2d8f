/** The inbox: a person's conversations, what is unread in them, and what changed since an earlier walk (SOC-11). */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Conversation } from '#src/protocol/conversations/conversations.ts';
import type { Message } from '#src/protocol/conversations/messages.ts';
import { ParleyClient } from '#src/client/parley-client.ts';
import type { Person } from '#test/support/server.ts';
import { connect } from '#test/support/socket.ts';
import { until } from '#test/support/waiting.ts';
import { shareServer } from '#test/support/shared-server.ts';
import { assertRefused, say, start } from './conversing.ts';

interface Item {
  conversation?: Conversation;
  gone?: string;
  last_message?: Message;
  unread?: number;
  unread_after?: number;
  delivered?: number;
  read?: number;
  muted_until?: string | null;
  draft?: string;
  hidden?: boolean;
}

interface Inbox {
  items: Item[];
  next: string | null;
  sync: string;
}

const { server, alice } = await shareServer(['alice'], { shards: 2 });

async function inbox(who: Person, query: Record<string, string | number> = {}): Promise<Inbox> {
  const text = new URLSearchParams(Object.entries(query).map(([name, value]) => [name, String(value)])).toString();
  const reply = await server.api<Inbox>(who, 'GET', text === '' ? '/v1/inbox' : `/v1/inbox?${text}`);
  assert.equal(reply.status, 200, reply.text);
  return reply.body;
}

const ids = (page: Inbox) => page.items.map((item) => item.conversation?.id ?? `gone ${item.gone}`);

async function itemOf(who: Person, id: string): Promise<Item> {
  const found = (await inbox(who, { limit: 200 })).items.find((item) => item.conversation?.id === id);
  assert.ok(found !== undefined);
  return found;
}

/** Rooms of alice and this person, each with a message, the last the most recently active. */
async function rooms(other: Person, count: number): Promise<string[]> {
  const made: string[] = [];
  for (let n = 0; n < count; n += 1) {
    const { id } = await start(server, alice, 'room', [other.username], `room ${n}`);
    await say(server, alice, id, `first of ${n}`);
    made.push(id);
  }
  return made;
}

test('SOC-11 an empty inbox is empty, and its sync finds what comes later', async () => {
  const zoe = await server.person('zoe');
  const first = await inbox(zoe);
  assert.deepEqual([first.items, first.next], [[], null]);
  const [id] = await rooms(zoe, 1);
  assert.deepEqual(ids(await inbox(zoe, { after: first.sync })), [id]);
});

test('SOC-11 conversations come the most recently active first, page by page, each once', async () => {
  const bob = await server.person('bob');
  const made = await rooms(bob, 7);
  // Activity moves the oldest to the front.
  await say(server, alice, made[0] as string, 'again');
  const order = [made[0], ...made.slice(1).toReversed()];
  assert.deepEqual(ids(await inbox(bob)), order);
  const walked: string[] = [];
  let page = await inbox(bob, { limit: 3 });
  const lengths = [page.items.length];
  walked.push(...ids(page));
  while (page.next !== null) {
    page = await inbox(bob, { limit: 3, after: page.next });
    lengths.push(page.items.length);
    walked.push(...ids(page));
  }
  assert.deepEqual([walked, lengths], [order, [3, 3, 1]]);
  const exact = await inbox(bob, { limit: 7 });
  assert.deepEqual([exact.items.length, exact.next], [7, null]);
});

test('SOC-11 an item is the conversation, its last message, and the person’s own side of it', async () => {
  const carol = await server.person('carol');
  const { id } = await start(server, alice, 'direct', ['carol']);
  await say(server, alice, id, 'one');
  const two = await say(server, alice, id, 'two');
  await server.api(carol, 'POST', `/v1/conversations/${id}/receipts`, { state: 'read', seq: 1 });
  await server.api(carol, 'PUT', `/v1/conversations/${id}/draft`, { body: 'unsent' });
  const answer = await server.api<Conversation & { last_common_read: number }>(carol, 'GET', `/v1/conversations/${id}`);
  const { last_common_read: _asOfTheOthers, ...conversation } = answer.body;
  const own = {
    unread: 1,
    unread_after: 1,
    mention_count: 0,
    delivered: 1,
    read: 1,
    muted_until: null,
    draft: 'unsent',
  };
  assert.deepEqual((await inbox(carol)).items, [{ conversation, ...own, last_message: two }]);
  assert.equal(conversation.participants?.length, 2);
  // alice sees neither carol's draft nor carol's watermark as her own.
  const { draft, read, delivered } = await itemOf(alice, id);
  assert.deepEqual([draft, read, delivered], [undefined, 0, 0]);
});

test('RCP-01 unread is computed: others’ messages behind the watermark, own and deleted ones left out', async () => {
  const dora = await server.person('dora');
  const { id } = await start(server, alice, 'room', ['dora']);
  const unread = async (who: Person) => (await itemOf(who, id)).unread;
  assert.equal(await unread(dora), 0);
  for (let n = 1; n <= 5; n += 1) await say(server, alice, id, `m ${n}`);
  await say(server, dora, id, 'own');
  assert.deepEqual([await unread(dora), await unread(alice)], [5, 1]);
  await server.api(alice, 'DELETE', `/v1/conversations/${id}/messages/5`);
  assert.equal(await unread(dora), 4);
  await server.api(dora, 'DELETE', `/v1/conversations/${id}/messages/6`);
  assert.deepEqual([await unread(dora), await unread(alice)], [4, 0]);
  await server.api(dora, 'POST', `/v1/conversations/${id}/receipts`, { state: 'delivered', seq: 6 });
  assert.equal(await unread(dora), 4);
  await server.api(dora, 'POST', `/v1/conversations/${id}/receipts`, { state: 'read', seq: 2 });
  assert.equal(await unread(dora), 2);
  await server.api(dora, 'POST', `/v1/conversations/${id}/receipts`, { state: 'read', seq: 6 });
  assert.equal(await unread(dora), 0);
});

test('RCP-01 what was posted before somebody joined is not unread to them', async () => {
  const emil = await server.person('emil');
  const { id } = await start(server, alice, 'room', []);
  for (let n = 1; n <= 3; n += 1) await say(server, alice, id, `m ${n}`);
  await server.api(alice, 'POST', `/v1/conversations/${id}/participants`, { participants: ['emil'] });
  assert.equal((await itemOf(emil, id)).unread, 0);
  await say(server, alice, id, 'welcome');
  const { unread, unread_after: after, read } = await itemOf(emil, id);
  assert.deepEqual({ unread, after, read }, { unread: 1, after: 3, read: 0 });
});

test('SOC-11 after=sync tells what changed and nothing else, including conversations that are gone', async () => {
  const finn = await server.person('finn');
  const [posted, renamed, muted, read, left, removed, deleted, untouched] = await rooms(finn, 8);
  const { sync } = await inbox(finn, { limit: 200 });
  assert.deepEqual((await inbox(finn, { after: sync })).items, []);
  const path = (id: string | undefined, rest = '') => `/v1/conversations/${id}${rest}`;
  await say(server, alice, posted as string, 'new');
  await server.api(alice, 'PATCH', path(renamed), { title: 'renamed' });
  await server.api(finn, 'PUT', path(muted, '/mute'), { until: '2030-01-01T00:00:00Z' });
  await server.api(finn, 'POST', path(read, '/receipts'), { state: 'read', seq: 1 });
  await server.api(finn, 'DELETE', path(left, '/participants/finn'));
  await server.api(alice, 'DELETE', path(removed, '/participants/finn'));
  await server.api(alice, 'DELETE', path(deleted));
  const changed = await inbox(finn, { after: sync });
  const expected = [posted, renamed, muted, read, `gone ${left}`, `gone ${removed}`, `gone ${deleted}`];
  assert.deepEqual([changed.items.length, new Set(ids(changed))], [7, new Set(expected)]);
  for (const item of changed.items) if (item.gone !== undefined) assert.deepEqual(item, { gone: item.gone });
  // From the start there is nothing to forget, so nothing is gone.
  assert.deepEqual(new Set(ids(await inbox(finn))), new Set([posted, renamed, muted, read, untouched]));
  assert.deepEqual((await inbox(finn, { after: changed.sync })).items, []);
});

test('SOC-11 the sync of an old walk still tells everything since, also page by page', async () => {
  const gwen = await server.person('gwen');
  const made = await rooms(gwen, 5);
  const { sync } = await inbox(gwen, { limit: 200 });
  for (const id of made) await say(server, alice, id, 'since');
  await inbox(gwen, { limit: 200 });
  let page = await inbox(gwen, { after: sync, limit: 2 });
  const walked = ids(page);
  while (page.next !== null) {
    page = await inbox(gwen, { after: page.next, limit: 2 });
    walked.push(...ids(page));
  }
  assert.deepEqual(walked, made.toReversed());
});

test('SOC-11 whoever was removed and added again gets the conversation, not its end', async () => {
  const hugo = await server.person('hugo');
  const [id] = await rooms(hugo, 1);
  const { sync } = await inbox(hugo);
  await server.api(alice, 'DELETE', `/v1/conversations/${id}/participants/hugo`);
  assert.deepEqual(ids(await inbox(hugo, { after: sync })), [`gone ${id}`]);
  await server.api(alice, 'POST', `/v1/conversations/${id}/participants`, { participants: ['hugo'] });
  assert.deepEqual(ids(await inbox(hugo, { after: sync })), [id]);
});

test('SOC-10 one person’s mute, draft or read mark is nobody else’s change', async () => {
  const [ines, jan] = [await server.person('ines'), await server.person('jan')];
  const { id } = await start(server, alice, 'room', ['ines', 'jan']);
  const { sync } = await inbox(jan);
  await server.api(ines, 'PUT', `/v1/conversations/${id}/mute`, { until: '2030-01-01T00:00:00Z' });
  await server.api(ines, 'PUT', `/v1/conversations/${id}/draft`, { body: 'unsent' });
  assert.deepEqual((await inbox(jan, { after: sync })).items, []);
  const item = await itemOf(jan, id);
  assert.deepEqual([item.muted_until, item.draft], [null, undefined]);
});

test('ERR-04 a limit out of bounds and a cursor that the server never gave are refused', async () => {
  for (const limit of ['0', '201', '-1', 'x', '1.5', '']) {
    assertRefused(await server.api(alice, 'GET', `/v1/inbox?limit=${limit}`), 400, 'query_invalid', 'limit');
  }
  assertRefused(await server.api(alice, 'GET', '/v1/inbox?before=x'), 400, 'query_invalid', 'before');
  assertRefused(await server.api(alice, 'GET', `/v1/inbox?after=${'x'.repeat(513)}`), 400, 'query_invalid', 'after');
  const encode = (value: unknown) => Buffer.from(JSON.stringify(value)).toString('base64url');
  const forged = [
    'x',
    '%00',
    encode({}),
    encode([]),
    encode(['ep', [1], [1]]),
    encode(['ep', [0, 0, 0, 0], 'x']),
    encode(null),
  ];
  const { sync } = await inbox(alice);
  const damaged = [`${sync}!`, `${sync}A`, ` ${sync}`].map(encodeURIComponent);
  for (const cursor of [...forged, ...damaged, encode(['ep', [0, 0, 0, 0], [0, 0, 0, 1.5]])]) {
    assertRefused(await server.api(alice, 'GET', `/v1/inbox?after=${cursor}`), 400, 'cursor_invalid', 'after');
  }
  assertRefused(await server.api(undefined, 'GET', '/v1/inbox'), 401, 'token_missing');
});

test('SOC-11 a cursor of another epoch starts afresh', async () => {
  const kim = await server.person('kim');
  const [id] = await rooms(kim, 1);
  const { sync } = await inbox(kim);
  const parts = JSON.parse(Buffer.from(sync, 'base64url').toString()) as unknown[];
  const foreign = Buffer.from(JSON.stringify(['another', ...parts.slice(1)])).toString('base64url');
  assert.deepEqual(ids(await inbox(kim, { after: foreign })), [id]);
});

/** Whether the person hides it, as the inbox and the conversation by itself say. */
async function isHidden(who: Person, id: string): Promise<boolean> {
  const hidden = (await itemOf(who, id)).hidden === true;
  const read = await server.api<{ hidden?: boolean }>(who, 'GET', `/v1/conversations/${id}`);
  assert.equal(read.body.hidden === true, hidden);
  return hidden;
}

test('a conversation is hidden from one’s own inbox until the next message, on all devices, and from nobody else’s', async () => {
  const gus = await server.person('gus');
  const { id } = await start(server, alice, 'direct', ['gus']);
  const path = `/v1/conversations/${id}/hidden`;
  const hide = async (who: Person, seq: unknown) => await server.api<{ hidden: boolean }>(who, 'PUT', path, { seq });
  await say(server, alice, id, 'one');
  const other: Person = { ...gus, session: await server.signIn('gus', gus.password) };
  const [mine, others, hers] = [await connect(server, gus), await connect(server, other), await connect(server, alice)];
  const { sync } = await inbox(other);
  assert.deepEqual([(await hide(gus, 1)).body, await isHidden(gus, id)], [{ hidden: true }, true]);
  assert.deepEqual(ids(await inbox(other, { after: sync })), [id]);
  const told = await others.event(({ conv, type }) => type === 'inbox' && conv === id);
  assert.equal('hidden' in told.data, false, 'SOC-10');
  assert.equal(await isHidden(alice, id), false);
  await server.api(alice, 'PATCH', `/v1/conversations/${id}/messages/1`, { body: 'an edit is no message' });
  assert.equal(await isHidden(gus, id), true);
  await say(server, alice, id, 'two');
  assert.equal(await isHidden(gus, id), false);
  // Whoever hides what they saw of it keeps what came meanwhile.
  assert.deepEqual([(await hide(gus, 1)).body, await isHidden(gus, id)], [{ hidden: false }, false]);
  assert.deepEqual([(await hide(gus, 99)).body, await isHidden(gus, id)], [{ hidden: true }, true]);
  assert.deepEqual([(await hide(gus, null)).body, await isHidden(gus, id)], [{ hidden: false }, false]);
  for (const seq of [-1, 1.5, '1', undefined]) assertRefused(await hide(gus, seq), 400, 'field_invalid', 'seq');
  const zed = await server.person('zed');
  assertRefused(await hide(zed, 1), 403, 'conversation_forbidden');
  await Promise.all([mine, others, hers].map(async (socket) => await socket.close()));
  for (const socket of [mine, hers]) assert.ok(!socket.events.some(({ type }) => type === 'inbox'));
});

test('SOC-10 the SDK hides a conversation, and another client of the person hears that it is hidden and that it is back', async () => {
  const lou = await server.person('lou');
  const { id } = await start(server, alice, 'direct', ['lou']);
  await say(server, alice, id, 'one');
  const urls = { coordinatorUrl: server.coordinator, messagingUrl: server.messaging };
  const clients = [];
  try {
    for (let n = 0; n < 2; n += 1) {
      clients.push(await ParleyClient.signIn({ ...urls, username: 'lou', password: lou.password }));
    }
    const [one, other] = clients as [ParleyClient, ParleyClient];
    await Promise.all(clients.map(async (client) => await client.caughtUp()));
    const heard: boolean[] = [];
    other.on('hidden', ({ conv, isHidden: now }) => conv === id && heard.push(now));
    await one.hide(id);
    await until(() => heard.length === 1, 'the other client to hear that it is hidden');
    assert.deepEqual(
      [one, other].map((client) => client.conversations.get(id)?.isHidden),
      [true, true],
    );
    await say(server, alice, id, 'two');
    await until(() => heard.length === 2, 'the other client to hear that it is back');
    assert.deepEqual(heard, [true, false]);
    assert.equal(other.conversations.get(id)?.isHidden, false);
  } finally {
    for (const client of clients) client.close();
  }
});
