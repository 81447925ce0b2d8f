/** What a client learns: live, through gaps, and after breaks, against a scripted server over real sockets. */
import assert from 'node:assert/strict';
import { afterEach, beforeEach, test } from 'node:test';
import type { ParleyClient } from '#src/client/parley-client.ts';
import { until } from './condition.ts';
import { hear, inboxItem, inboxOf, scriptInbox, signInTo } from './connected-client.ts';
import { CONV, wireChange, wireChanges, wireConversation, wireMessage, wirePost } from './samples.ts';
import { refusal, ScriptedServer } from './scripted-server.ts';

let server: ScriptedServer;
const clients: ParleyClient[] = [];

beforeEach(async () => {
  server = await new ScriptedServer().listen();
});
afterEach(async () => {
  for (const client of clients.splice(0)) client.close();
  await server.close();
});

async function signIn(): Promise<ParleyClient> {
  const client = await signInTo(server);
  clients.push(client);
  return client;
}

/** A client that knows one room at rev 3 with three messages. */
async function inRoom(since: () => object[] = () => []): Promise<{ client: ParleyClient; heard: string[] }> {
  scriptInbox(server, [inboxItem({ rev: 3, head_seq: 3 })], since);
  const client = await signIn();
  await client.caughtUp();
  return { client, heard: hear(client) };
}

const changesAsked = () =>
  server.asked.flatMap(({ path, query }) => (path.endsWith('/changes') ? [query.get('after_rev')] : []));

test('live events are told in order, repeats once, and types that came later are ignored', async () => {
  const { client, heard } = await inRoom();
  server.send(wirePost(4, 4));
  server.send(wirePost(4, 4));
  server.send(wireChange(5, 'poll.opened', { poll: 1 }));
  server.send({ type: 'weather.changed', ts: 1, data: {} });
  server.send('not JSON');
  server.send({ type: 'error', ts: 1, data: { code: 'frame_invalid', error: 'No.' } });
  server.send(wirePost(6, 5));
  await until('the last one arrived', () => heard.includes('new 5 at 6'));
  assert.deepEqual(heard, ['new 4 at 4', 'error frame_invalid', 'new 5 at 6']);
  assert.deepEqual(changesAsked(), []);
  assert.equal(client.conversations.get(CONV)?.rev, 6);
});

test('SOC-11 a gap is filled from the changes, and everything is told once and in order', async () => {
  const { heard } = await inRoom();
  const items = [wirePost(4, 4), wirePost(5, 5), wirePost(6, 6)];
  server.on('GET /v1/conversations/:id/changes', () => ({ body: wireChanges(items, { head_seq: 6 }) }));
  server.send(items[2]);
  server.send(wirePost(7, 7));
  await until('all were told', () => heard.includes('new 7 at 7'));
  assert.deepEqual(heard, ['new 4 at 4', 'new 5 at 5', 'new 6 at 6', 'new 7 at 7']);
  assert.deepEqual(changesAsked(), ['3']);
});

test('SOC-11 after a break only what changed is read, and what was missed is told once and in order', async () => {
  const { client, heard } = await inRoom(() => [inboxItem({ rev: 6, head_seq: 5 })]);
  const edited = wireMessage(4, { body: 'new', edited_at: '2026-11-21T08:01:00Z' });
  const items = [wirePost(4, 4), wirePost(5, 5), wireChange(6, 'message.edit', edited, { seq: 4 })];
  server.on('GET /v1/conversations/:id/changes', () => {
    // The socket is ahead of the answer, as it is on a busy server.
    server.send(items[2]);
    server.send(wirePost(7, 6));
    return { body: wireChanges(items, { head_seq: 5, watermarks: [{ user: 'bob', delivered: 5, read: 5 }] }) };
  });
  server.closeSockets(4003);
  await until('the last one was told', () => heard.includes('new 6 at 7'));
  await client.caughtUp();
  assert.deepEqual(
    heard.filter((line) => !line.startsWith('watermarks')),
    ['new 4 at 4', 'new 5 at 5', 'edit 4 at 6', 'new 6 at 7'],
  );
  assert.deepEqual(changesAsked(), ['3']);
  assert.equal(server.asked.findLast(({ path }) => path === '/v1/inbox')?.query.get('after'), 'sync-2');
  const mirror = client.conversations.get(CONV);
  assert.deepEqual(
    mirror?.messages.map(({ seq, body }) => `${seq} ${body as string}`),
    ['4 new', '5 text 5', '6 text 6'],
  );
  assert.deepEqual(mirror?.watermarks.get('bob'), { delivered: 5, read: 5 });
});

test('SOC-11 receipts missed while away are learnt although they move no rev', async () => {
  const { client, heard } = await inRoom(() => [inboxItem({ rev: 3, head_seq: 3 })]);
  const watermarks = [{ user: 'bob', delivered: 3, read: 2 }];
  server.on('GET /v1/conversations/:id/changes', () => ({
    body: wireChanges([], { rev: 3, head_seq: 3, watermarks }),
  }));
  server.closeSockets(1001);
  await until('the watermarks were told', () => heard.includes(`watermarks ${CONV}`));
  assert.deepEqual(client.conversations.get(CONV)?.watermarks.get('bob'), { delivered: 3, read: 2 });
});

for (const [title, more, record] of [
  ['complete: false', { complete: false, rev: 2000, head_seq: 1500 }, { rev: 2000, head_seq: 1500 }],
  ['another epoch', { rev: 2, head_seq: 1500, epoch: 'ep_2' }, { rev: 2, head_seq: 1500, epoch: 'ep_2' }],
] as const) {
  test(`SOC-11 ${title} starts afresh from the newest page, and goes on from there`, async () => {
    const { client, heard } = await inRoom(() => [inboxItem(record)]);
    server.on('GET /v1/conversations/:id/changes', () => ({ body: wireChanges([], more) }));
    server.on('GET /v1/conversations/:id', () => ({ body: wireConversation({ ...record, title: 'Later' }) }));
    const page = [1499, 1500].map((seq) => wireMessage(seq));
    server.on('GET /v1/conversations/:id/messages', () => ({ body: { items: page, next: '1499' } }));
    server.closeSockets(4002);
    await until('it started afresh', () => heard.includes(`afresh ${CONV}`));
    await client.caughtUp();
    const mirror = client.conversations.get(CONV);
    assert.deepEqual(
      mirror?.messages.map(({ seq }) => seq),
      [1499, 1500],
    );
    assert.equal(mirror?.conversation?.title, 'Later');
    assert.equal(mirror?.epoch, wireConversation(record).epoch);
    server.send(wirePost(record.rev + 1, 1501));
    await until('the next one was told', () => heard.includes(`new 1501 at ${record.rev + 1}`));
    assert.deepEqual(heard, [`afresh ${CONV}`, `new 1501 at ${record.rev + 1}`]);
  });
}

test('SOC-11 a cursor that the server no longer takes leads to a whole walk, and who is not named is gone', async () => {
  const { client, heard } = await inRoom();
  let isRestored = false;
  server.on('GET /v1/inbox', ({ query }) => {
    if (query.get('after') !== null) return refusal(400, 'cursor_invalid');
    isRestored = true;
    return inboxOf(inboxItem({ id: 'c_other', rev: 1 }));
  });
  server.closeSockets(4003);
  await until('it walked from the start', () => isRestored && heard.includes(`gone ${CONV}`));
  assert.deepEqual([...client.conversations.keys()], ['c_other']);
});

test('SOC-11 what a walk reads of a conversation is told with the person’s own state of it, before it is caught up', async () => {
  const { client } = await inRoom(() => [
    { ...inboxItem({ rev: 3, head_seq: 3 }), draft: 'half a th', mention_count: 2 },
  ]);
  const told: unknown[] = [];
  client.on('inbox-entry', ({ entry: { conversation, draft, mentions } }) =>
    told.push([conversation.id, draft, mentions]),
  );
  client.on('caught-up', () => told.push('caught up'));
  server.closeSockets(1001);
  await until('it is caught up', () => told.includes('caught up'));
  assert.deepEqual(told, [[CONV, 'half a th', 2], 'caught up']);
});

test('the inbox is walked page by page, and an interrupted catch-up is tried again', async () => {
  const pages: Record<string, object> = {
    '': { items: [inboxItem({ id: 'c_1' })], next: 'page-2', sync: 'first' },
    'page-2': { items: [inboxItem({ id: 'c_2' }), { gone: 'c_9' }], next: null, sync: 'second' },
  };
  let failures = 2;
  server.on('GET /v1/inbox', ({ query }) => {
    if (query.get('after') === 'page-2' && (failures -= 1) >= 0) return failures === 1 ? 'cut' : refusal(503, 'busy');
    return { body: pages[query.get('after') ?? ''] ?? { items: [], next: null, sync: 'third' } };
  });
  const client = await signIn();
  await client.caughtUp();
  assert.deepEqual([...client.conversations.keys()].toSorted(), ['c_1', 'c_2']);
  server.closeSockets(4003);
  await until('it walked again', () => server.asked.some(({ query }) => query.get('after') === 'first'));
});

test('no more than eight conversations are caught up at once', async () => {
  const ids = Array.from({ length: 20 }, (_, index) => `c_${index}`);
  scriptInbox(
    server,
    ids.map((id) => inboxItem({ id, rev: 1 })),
    () => ids.map((id) => inboxItem({ id, rev: 2 })),
  );
  const client = await signIn();
  await client.caughtUp();
  let running = 0;
  let most = 0;
  server.on('GET /v1/conversations/:id/changes', async ({ path }) => {
    running += 1;
    most = Math.max(most, running);
    await new Promise((resolve) => setImmediate(resolve));
    await until('the others are there as well', () => most === 8 || running === 8);
    running -= 1;
    const conv = path.split('/')[3];
    return { body: wireChanges([{ ...wireChange(2, 'pin', { seq: 1, user: 'bob', pinned: true }), conv }]) };
  });
  server.closeSockets(4003);
  await until('all are caught up', () => [...client.conversations.values()].every(({ rev }) => rev === 2));
  assert.equal(most, 8);
});

test('a conversation first heard of by an event is told of at once, and its record read', async () => {
  const client = await signIn();
  await client.caughtUp();
  const heard = hear(client);
  server.on('GET /v1/conversations/:id', () => ({ body: wireConversation({ rev: 9, head_seq: 4 }) }));
  server.on('GET /v1/conversations/:id/changes', () => ({ body: wireChanges([], { rev: 9, head_seq: 4 }) }));
  server.send(wirePost(9, 4));
  await until('its record was read', () => client.conversations.get(CONV)?.conversation?.title === 'Room');
  assert.deepEqual(heard, ['new 4 at 9']);
});

test('leaving, a deletion and an inbox that says so end a conversation', async () => {
  const rooms = ['c_left', 'c_deleted', 'c_gone'];
  scriptInbox(
    server,
    rooms.map((id) => inboxItem({ id })),
    () => [{ gone: 'c_gone' }],
  );
  const client = await signIn();
  await client.caughtUp();
  const heard = hear(client);
  const participants = [{ user: 'alice', role: 'member' }];
  const removal = { action: 'removed', user: 'bob', participants, participant_count: 1 };
  server.send({ ...wireChange(1, 'membership', removal), conv: 'c_left' });
  server.send({ ...wireChange(1, 'conversation.deleted', { conversation_id: 'c_deleted' }), conv: 'c_deleted' });
  await until('two are gone', () => heard.includes('gone c_deleted'));
  server.closeSockets(4003);
  await until('all are gone', () => heard.includes('gone c_gone'));
  assert.deepEqual(heard, ['removed at 1', 'gone c_left', 'gone c_deleted', 'gone c_gone']);
  assert.deepEqual([...client.conversations.keys()], []);
});

test('a page of history is answered whole, and joins the mirror where it touches', async () => {
  const { client } = await inRoom();
  server.on('GET /v1/conversations/:id/messages', ({ query }) => {
    const seqs = query.get('before_seq') === null ? [2, 3] : [1];
    return { body: { items: seqs.map((seq) => wireMessage(seq)), next: seqs[0] === 1 ? null : '2' } };
  });
  const mirror = client.conversations.get(CONV);
  const newest = await client.history(CONV, { limit: 2 });
  assert.equal(newest.next, 2);
  assert.deepEqual(
    mirror?.messages.map(({ seq }) => seq),
    [2, 3],
  );
  assert.equal((await client.history(CONV, { beforeSeq: 2 })).next, null);
  assert.deepEqual(
    mirror?.messages.map(({ seq }) => seq),
    [1, 2, 3],
  );
});

test('waking finds out what a socket that only seems open has missed, and replaces it', async () => {
  let walks = 0;
  const { client, heard } = await inRoom(() => ((walks += 1) === 2 ? [inboxItem({ rev: 4, head_seq: 4 })] : []));
  server.on('GET /v1/conversations/:id/changes', () => ({ body: wireChanges([wirePost(4, 4)], { head_seq: 4 }) }));
  client.wake();
  await until('it looked', () => walks === 1);
  await client.caughtUp();
  client.wake();
  await until('it was told', () => heard.includes('new 4 at 4'));
  await until('there is another socket', () => server.handshakes.length === 2 && client.isConnected);
  await until('it walked again', () => walks === 3);
});

test('waking while the first walk is under way begins none, and takes the socket for no dead one', async () => {
  const walk = Promise.withResolvers<void>();
  let walks = 0;
  scriptInbox(server, [inboxItem({ rev: 3, head_seq: 3 })], () => []);
  const client = await signIn();
  await client.caughtUp();
  const heard = hear(client);
  server.on('GET /v1/inbox', async () => {
    walks += 1;
    await walk.promise;
    return inboxOf(inboxItem({ rev: 4, head_seq: 4 }));
  });
  server.on('GET /v1/conversations/:id/changes', () => ({ body: wireChanges([wirePost(4, 4)], { head_seq: 4 }) }));
  server.closeSockets(1001);
  await until('it walks again', () => walks === 1);
  client.wake();
  walk.resolve();
  await client.caughtUp();
  assert.deepEqual(heard, ['new 4 at 4']);
  assert.deepEqual([walks, server.handshakes.length, client.isConnected], [1, 2, true]);
});

test('waking twice in a row finds out what waking once does', async () => {
  const { client, heard } = await inRoom();
  const second = Promise.withResolvers<void>();
  const inbox = { body: { items: [], next: null, sync: 'sync-3' } };
  let walks = 0;
  server.on('GET /v1/inbox', async ({ query }) => {
    walks += 1;
    if (query.get('after') === 'page-2') await second.promise;
    return walks === 1
      ? { body: { items: [inboxItem({ rev: 4, head_seq: 4 })], next: 'page-2', sync: 'sync-3' } }
      : inbox;
  });
  server.on('GET /v1/conversations/:id/changes', () => ({ body: wireChanges([wirePost(4, 4)], { head_seq: 4 }) }));
  client.wake();
  await until('the second page is asked for', () => walks === 2);
  assert.deepEqual(heard, ['new 4 at 4']);
  client.wake();
  await until('there is another socket', () => server.handshakes.length === 2);
  second.resolve();
});

test('a gap that was filled earlier says nothing of the socket that is doubted', async () => {
  const { client, heard } = await inRoom();
  const items = [wirePost(4, 4), wirePost(5, 5)];
  server.on('GET /v1/conversations/:id/changes', () => ({ body: wireChanges(items, { head_seq: 5 }) }));
  server.send(items[1]);
  await until('both were told', () => heard.includes('new 5 at 5'));
  client.on('caught-up', () => heard.push('caught up'));
  client.wake();
  await until('it looked', () => heard.includes('caught up'));
  assert.deepEqual([server.handshakes.length, client.isConnected], [1, true]);
});
