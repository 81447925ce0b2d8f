/** Conversations over a reload: there before anything is asked, and right once the walk has told what changed (SOC-11). */
import assert from 'node:assert/strict';
import { afterEach, beforeEach, test } from 'node:test';
import type { ClientOptions } from '#src/client/client-context.ts';
import { KEPT_CAUGHT_UP_MAX } from '#src/client/conversations/catch-up.ts';
import {
  KEPT_MESSAGES_MAX,
  KEPT_WITH_MESSAGES_MAX,
  LOAD_MILLIS_MAX,
} from '#src/client/conversations/kept-conversations.ts';
import { ParleyClient } from '#src/client/parley-client.ts';
import { until } from './condition.ts';
import { hear, inboxItem, inboxOf, optionsFor, scriptInbox, signInTo } from './connected-client.ts';
import { ManualTimers } from './manual-timers.ts';
import { MemoryStore } from './memory-store.ts';
import { CONV, wireChange, wireChanges, wireConversation, wireMessage, wirePost } from './samples.ts';
import { refusal, ScriptedServer, sessionOf } from './scripted-server.ts';

let server: ScriptedServer;
let store: MemoryStore;
const clients: ParleyClient[] = [];

beforeEach(async () => {
  server = await new ScriptedServer().listen();
  store = new MemoryStore();
});
afterEach(async () => {
  for (const client of clients.splice(0)) client.close();
  await server.close();
});

async function visit(more: Partial<ClientOptions> = {}): Promise<ParleyClient> {
  const client = await signInTo(server, { conversationStore: store, ...more });
  clients.push(client);
  return client;
}

/** Comes back, as after a reload. */
function comeBack(more: Partial<ClientOptions> = {}): ParleyClient {
  const options = { ...optionsFor(server, { conversationStore: store, ...more }), session: sessionOf('alice', 2) };
  const client = ParleyClient.resume(options);
  clients.push(client);
  return client;
}

/** A first visit that knows one room with so many messages, and leaves. */
async function firstVisit(count: number): Promise<void> {
  scriptInbox(server, [inboxItem({ rev: 0, head_seq: 0 })], () => []);
  const client = await visit();
  await client.caughtUp();
  for (let seq = 1; seq <= count; seq += 1) server.send(wirePost(seq, seq));
  await until('all of them are here', () => client.conversations.get(CONV)?.headSeq === count);
  await client.keep();
  client.close();
  server.asked.length = 0;
}

const walks = () => server.asked.flatMap(({ path, query }) => (path === '/v1/inbox' ? [query.get('after')] : []));
const changesAsked = () => server.asked.filter(({ path }) => path.endsWith('/changes')).length;
const textsOf = (client: ParleyClient) => client.conversations.get(CONV)?.messages.map(({ body }) => body);

test('SOC-11 what was known is there without a word of the server, up to as many messages as are kept', async () => {
  await firstVisit(KEPT_MESSAGES_MAX + 1);
  server.on('GET /v1/inbox', () => 'hang');
  const client = comeBack();
  await client.restored();
  const messages = client.conversations.get(CONV)?.messages ?? [];
  assert.deepEqual([messages.length, messages[0]?.seq, messages.at(-1)?.seq], [KEPT_MESSAGES_MAX, 2, 51]);
  assert.equal(client.conversations.get(CONV)?.conversation?.title, 'Room');
  assert.equal(client.inboxSync, 'sync-2');
  assert.equal(client.isCaughtUp, false);
});

test('SOC-11 the walk begins where the last one did, and what was missed is told once and in order', async () => {
  await firstVisit(2);
  scriptInbox(server, [], () => [inboxItem({ rev: 4, head_seq: 4 })]);
  server.on('GET /v1/conversations/:id/changes', () => ({
    body: wireChanges([wirePost(3, 3), wirePost(4, 4)], { head_seq: 4 }),
  }));
  const client = comeBack();
  const heard = hear(client);
  await client.caughtUp();
  assert.deepEqual(walks(), ['sync-2']);
  assert.deepEqual(heard, ['new 3 at 3', 'new 4 at 4']);
  assert.deepEqual(textsOf(client), ['text 1', 'text 2', 'text 3', 'text 4']);
  await client.keep();
  assert.equal(store.mirrors.get(CONV)?.rev, 4);
});

test('SOC-11 a conversation that was left meanwhile is gone, here and in the store', async () => {
  await firstVisit(1);
  scriptInbox(server, [], () => [{ gone: CONV }]);
  const client = comeBack();
  await client.caughtUp();
  assert.equal(client.conversations.size, 0);
  await client.keep();
  assert.equal(store.mirrors.size, 0);
});

test('SOC-11 of a restored server nothing that was kept is believed', async () => {
  await firstVisit(2);
  server.on('GET /v1/inbox', ({ query }) =>
    query.get('after') === null
      ? inboxOf(inboxItem({ rev: 1, head_seq: 1, epoch: 'ep_2' }))
      : refusal(400, 'cursor_invalid'),
  );
  server.on('GET /v1/conversations/:id/changes', () => ({
    body: wireChanges([], { complete: true, rev: 1, head_seq: 1, epoch: 'ep_2' }),
  }));
  server.on('GET /v1/conversations/:id', () => ({ body: wireConversation({ rev: 1, head_seq: 1, epoch: 'ep_2' }) }));
  server.on('GET /v1/conversations/:id/messages', () => ({
    body: { items: [wireMessage(1, { body: 'another' })], head_seq: 1, next: null },
  }));
  const client = comeBack();
  await client.caughtUp();
  assert.deepEqual(walks(), ['sync-2', null]);
  assert.deepEqual(textsOf(client), ['another']);
});

test('SOC-11 of what changed since the last visit a bounded number is read at once, and the rest when somebody looks', async () => {
  const names = Array.from({ length: KEPT_CAUGHT_UP_MAX + 1 }, (_, at) => `c_${at}`);
  const items = (rev: number) => names.map((id) => inboxItem({ id, rev, head_seq: rev }));
  scriptInbox(server, items(1), () => []);
  const first = await visit();
  await first.caughtUp();
  await first.keep();
  first.close();
  server.asked.length = 0;
  scriptInbox(server, [], () => items(2));
  server.on('GET /v1/conversations/:id/changes', ({ path }) => {
    const conv = path.split('/')[3] as string;
    return { body: wireChanges([{ ...wirePost(2, 2, { conversation_id: conv }), conv }], { head_seq: 2 }) };
  });
  const client = comeBack();
  await client.caughtUp();
  assert.equal(changesAsked(), KEPT_CAUGHT_UP_MAX);
  assert.deepEqual(
    names.map((name) => client.conversations.get(name)?.rev),
    names.map(() => 2),
  );
  // After a break of this visit all of them are, as ever.
  server.asked.length = 0;
  scriptInbox(server, [], () => items(2));
  server.closeSockets(4003);
  await until('the walk after the break', () => walks().length === 1 && client.isCaughtUp);
  assert.equal(changesAsked(), names.length);
});

test('messages are kept of the newest conversations, and of the others what the list shows', async () => {
  const count = KEPT_WITH_MESSAGES_MAX + 1;
  const items = Array.from({ length: count }, (_, at) => {
    const created_at = new Date(Date.UTC(2026, 0, 1, 0, at)).toISOString();
    const last_message = wireMessage(1, { conversation_id: `c_${at}`, created_at });
    return { ...inboxItem({ id: `c_${at}`, rev: 1, head_seq: 1 }), last_message };
  });
  scriptInbox(server, items, () => []);
  const client = await visit();
  await client.caughtUp();
  await client.keep();
  const lengths = (id: string) => store.mirrors.get(id)?.messages.length;
  assert.deepEqual([store.mirrors.size, lengths('c_0'), lengths('c_1'), lengths(`c_${count - 1}`)], [count, 0, 1, 1]);
  assert.equal(store.mirrors.get('c_0')?.own?.lastMessage?.body, 'text 1');
});

test('texts of a secret chat are not kept', async () => {
  const secret = { ...inboxItem({ kind: 'secret', rev: 1, head_seq: 1 }), draft: 'hush' };
  scriptInbox(server, [{ ...secret, last_message: wireMessage(1) }], () => []);
  const client = await visit();
  await client.caughtUp();
  assert.deepEqual(textsOf(client), ['text 1']);
  await client.keep();
  const kept = store.mirrors.get(CONV);
  assert.deepEqual(
    [kept?.record.kind, kept?.messages.length, kept?.own?.lastMessage, kept?.own?.draft],
    ['secret', 0, undefined, undefined],
  );
});

test('what did not change is not saved again, and what changed is, by itself', async () => {
  scriptInbox(server, [inboxItem({ rev: 0, head_seq: 0 })], () => []);
  const client = await visit();
  await client.caughtUp();
  await client.keep();
  const { saves } = store;
  await client.keep();
  assert.equal(store.saves, saves);
  server.send(wirePost(1, 1));
  await until('it was saved', () => store.mirrors.get(CONV)?.rev === 1);
});

test('signing out forgets everything, and nothing is saved after it', async () => {
  await firstVisit(1);
  scriptInbox(server, [], () => []);
  const [client, other] = [comeBack(), comeBack()];
  await Promise.all([client.caughtUp(), other.caughtUp()]);
  await client.signOut();
  assert.deepEqual([store.mirrors.size, store.sync], [0, undefined]);
  server.send(wirePost(2, 2));
  await until('another tab knows more', () => other.conversations.get(CONV)?.rev === 2);
  await other.keep();
  assert.equal(store.mirrors.size, 0);
});

test('a session that the server ended takes what was kept with it', async () => {
  await firstVisit(1);
  server.on('POST /v1/auth/renew', () => refusal(401, 'session_revoked'));
  const client = ParleyClient.resume({
    ...optionsFor(server, { conversationStore: store }),
    session: { ...sessionOf('alice', 3), token: '' },
  });
  clients.push(client);
  const heard = hear(client);
  await until('it is over', () => heard.some((line) => line.startsWith('signed out')));
  await until('it is forgotten', () => store.sync === undefined);
});

test('a store that fails costs nothing but itself', async () => {
  scriptInbox(server, [inboxItem({ rev: 0, head_seq: 0 })], () => []);
  const trouble: string[] = [];
  store.fault = new DOMException('full', 'QuotaExceededError');
  const client = await visit();
  client.on('trouble', ({ error }) => trouble.push(error.message));
  await client.caughtUp();
  await client.keep();
  assert.equal(trouble.length, 1);
  assert.ok(store.isCleared);
  const broken = new MemoryStore();
  broken.load = async () => await Promise.reject(new Error('closed'));
  const next = comeBack({ conversationStore: broken });
  await next.caughtUp();
  assert.equal(next.conversations.size, 1);
});

test('what another version of the client kept in another form is left out', async () => {
  await firstVisit(1);
  store.mirrors.set('odd', { record: 'odd' } as never);
  scriptInbox(server, [], () => []);
  const client = comeBack();
  await client.caughtUp();
  assert.deepEqual([...client.conversations.keys()], [CONV]);
});

test('SOC-11 whoever was removed and asked in again while they were away is there, and has read nothing', async () => {
  await firstVisit(1);
  const entry = { ...inboxItem({ rev: 3, head_seq: 1 }), read: 0, unread: 0, unread_after: 1 };
  scriptInbox(server, [], () => [entry]);
  const membership = (rev: number, action: string) =>
    wireChange(rev, 'membership', {
      conversation_id: CONV,
      action,
      user: 'bob',
      participants: [{ user: 'alice', role: 'member' }],
      participant_count: action === 'removed' ? 1 : 2,
    });
  server.on('GET /v1/conversations/:id/changes', () => ({
    body: wireChanges([membership(2, 'removed'), membership(3, 'added')], { head_seq: 1 }),
  }));
  const client = comeBack();
  await client.restored();
  client.conversations.get(CONV)?.raiseWatermark('alice', { read: 1 });
  await client.caughtUp();
  assert.equal(client.conversations.get(CONV)?.rev, 3);
  assert.equal(client.conversations.get(CONV)?.watermarks.get('alice')?.read ?? 0, 0);
});

test('SOC-11 what was hidden after a message that one missed stays hidden, and comes back with the next one', async () => {
  await firstVisit(1);
  scriptInbox(server, [], () => [{ ...inboxItem({ rev: 2, head_seq: 2 }), hidden: true }]);
  server.on('GET /v1/conversations/:id/changes', () => ({ body: wireChanges([wirePost(2, 2)], { head_seq: 2 }) }));
  const client = comeBack();
  await client.caughtUp();
  assert.equal(client.conversations.get(CONV)?.isHidden, true);
  server.send(wirePost(3, 3));
  await until('the next one is here', () => client.conversations.get(CONV)?.headSeq === 3);
  assert.equal(client.conversations.get(CONV)?.isHidden, false);
});

test('what was not taken up, since the store did not answer in time, is replaced by what there is', async () => {
  await firstVisit(1);
  const ghost = structuredClone(store.mirrors.get(CONV));
  assert.ok(ghost !== undefined);
  store.mirrors.set('c_ghost', { ...ghost, record: { ...ghost.record, id: 'c_ghost' } });
  store.load = async () => await new Promise(() => undefined);
  scriptInbox(server, [inboxItem({ rev: 1, head_seq: 1 })], () => []);
  const client = comeBack();
  await client.caughtUp();
  assert.deepEqual(walks(), [null]);
  await client.keep();
  assert.deepEqual([...store.mirrors.keys()], [CONV]);
});

test('SOC-11 without a connection a slow store is waited for, and what it has is there', async () => {
  await firstVisit(1);
  const answered = Promise.withResolvers<void>();
  store.load = async () => {
    await answered.promise;
    return await MemoryStore.prototype.load.call(store);
  };
  server.refuseHandshake = () => 503;
  const timers = new ManualTimers();
  const client = comeBack({ timers });
  await timers.pass(30 * LOAD_MILLIS_MAX);
  assert.equal(client.conversations.size, 0);
  answered.resolve();
  await client.restored();
  assert.deepEqual(textsOf(client), ['text 1']);
});

test('a walk waits for a store that does not answer as long as is stated, from the opening of the socket on', async () => {
  await firstVisit(1);
  store.load = async () => await new Promise(() => undefined);
  const timers = new ManualTimers();
  const client = comeBack({ timers });
  await until('the socket is open', () => client.isConnected);
  await timers.pass(LOAD_MILLIS_MAX - 1);
  assert.deepEqual(walks(), []);
  await timers.pass(1);
  await until('the walk has begun', () => walks().length === 1);
  await client.restored();
});

test('whoever is asked into a room that has messages knows how many, and that they were before', async () => {
  scriptInbox(server, [], () => []);
  server.on('GET /v1/conversations/:id', () => ({ body: wireConversation({ rev: 12, head_seq: 10 }) }));
  server.on('GET /v1/conversations/:id/changes', () => ({ body: wireChanges([], { rev: 12, head_seq: 10 }) }));
  const client = await visit();
  await client.caughtUp();
  const participants = [{ user: 'alice', role: 'member' }];
  const data = { conversation_id: CONV, action: 'added', user: 'bob', participants, participant_count: 2 };
  server.send(wireChange(12, 'membership', data));
  await until('its record is here', () => client.conversations.get(CONV)?.conversation?.head_seq === 10);
  server.send(wirePost(13, 11));
  await until('the next one is here', () => client.conversations.get(CONV)?.headSeq === 11);
  assert.deepEqual(textsOf(client), ['text 11']);
});
