/** Retention, purges, holds and erasure over the running server with two shards, restarts and kills included. */
import assert from 'node:assert/strict';
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { INSTALLATION, pendings } from '#src/compliance/retention-shortening.ts';
import { RETENTION_SECONDS_MAX, RETENTION_SECONDS_MIN } from '#src/protocol/limits.ts';
import { Accounts } from '#storage/accounts/accounts.ts';
import { shareRestartedServer } from '#test/console/console-server.ts';
import { age } from '#test/support/ageing.ts';
import { request, type Person } from '#test/support/server.ts';
import { connect } from '#test/support/socket.ts';
import { until } from '#test/support/waiting.ts';
import { attach, download, upload } from './attaching.ts';
import { assertRefused, post, say, start } from './conversing.ts';
import { searchAll } from './searching.ts';

const LANES = 4;
const DAY_MILLIS = 86_400_000;

const scene = await shareRestartedServer({}, { shards: 2 });
const { ask, callers, folder } = scene;
let { server } = scene;
const { alice, bob } = await server.people('alice', 'bob');

async function again(signal?: NodeJS.Signals, meanwhile?: () => Promise<void>): Promise<void> {
  server = await scene.restart(signal, meanwhile);
}

/** A room with forty messages of alice and bob by turns. */
async function fullRoom(): Promise<string> {
  const { id } = await start(server, alice, 'room', ['bob'], 'Aged');
  for (let n = 1; n <= 40; n += 1) await say(server, n % 2 === 1 ? alice : bob, id, `herring ${n}`, `m-${n}`);
  return id;
}

// One restart makes the messages of three rooms a day older; in two of them three more are said since.
const files = await start(server, alice, 'room', ['bob'], 'Files');
const attachment = await upload(server, bob, Buffer.from('the file of bob'), 'bob.txt');
const posted = await attach(server, bob, files.id, attachment);
const mentions = [{ username: 'alice', offset: 0, length: 6 }];
await post(server, bob, files.id, { kind: 'text', body: '@alice kipper', mentions, reply_to: 1 });
const [onHold, shortened] = [await fullRoom(), await fullRoom()];
await again('SIGTERM', async () => {
  await age(folder, LANES, { conversation: files.id, upTo: 2, millis: DAY_MILLIS });
  for (const conversation of [onHold, shortened])
    await age(folder, LANES, { conversation, upTo: 40, millis: DAY_MILLIS });
});
for (const id of [onHold, shortened]) for (let n = 41; n <= 43; n += 1) await say(server, bob, id, `herring ${n}`);

async function seqsOf(who: Person, id: string): Promise<number[]> {
  const page = await server.api<{ items: { seq: number }[] }>(who, 'GET', `/v1/conversations/${id}/messages?limit=100`);
  return page.body.items.map(({ seq }) => seq);
}

const found = async (who: Person, q: string) => await searchAll(server, who, { q });

/** Messages that went off the disk since the server started. */
async function purgedMessages(): Promise<number> {
  const text = await (await fetch(`${server.messaging}/healthz`, { headers: { accept: 'text/plain' } })).text();
  return Number(/^parley_storage_purged_messages_total (\d+)/m.exec(text)?.[1] ?? Number.NaN);
}

test('how long messages are kept is said by a room’s owner and by either of a secret pair, within its limits', async () => {
  const { id } = await start(server, alice, 'room', ['bob'], 'Limits');
  const path = `/v1/conversations/${id}/retention`;
  const put = async (who: Person, seconds: unknown) => await server.api(who, 'PUT', path, { seconds });
  assertRefused(await put(bob, 60), 403, 'right_missing');
  for (const wrong of [RETENTION_SECONDS_MIN - 1, RETENTION_SECONDS_MAX + 1, 90.5, '60', undefined]) {
    assertRefused(await put(alice, wrong), 400, 'field_invalid', 'seconds');
  }
  assertRefused(
    await server.api(alice, 'PUT', '/v1/conversations/c_none/retention', { seconds: 60 }),
    403,
    'conversation_forbidden',
  );
  const socket = await connect(server, bob);
  const set = await put(alice, RETENTION_SECONDS_MAX);
  assert.deepEqual([set.status, set.body['retention_seconds']], [200, RETENTION_SECONDS_MAX]);
  const told = await socket.event((event) => event.type === 'conversation.updated' && event.conv === id);
  assert.equal((told.data as { retention_seconds?: number }).retention_seconds, RETENTION_SECONDS_MAX);
  await socket.close();
  const taken = await put(alice, null);
  assert.deepEqual([taken.status, taken.body['retention_seconds']], [200, undefined]);
  const pair = await start(server, alice, 'secret', ['bob']);
  const secret = `/v1/conversations/${pair.id}/retention`;
  assert.equal((await server.api(bob, 'PUT', secret, { seconds: RETENTION_SECONDS_MIN })).status, 200);
  assert.equal((await server.api(alice, 'PUT', secret, { seconds: null })).status, 200);
});

test('what is over its time is read, found, forwarded, exported and downloaded by nobody from that answer on', async () => {
  const { id } = files;
  const other = await start(server, alice, 'room', [], 'Other');
  assert.equal(posted.status, 201, posted.text);
  assert.equal((await server.api(alice, 'PUT', `/v1/conversations/${id}/pins/2`)).status, 204);
  await say(server, bob, id, 'a new kipper');
  const rev = (await server.api(alice, 'GET', `/v1/conversations/${id}`)).body['rev'] as number;
  assert.equal((await download(server, alice, attachment, id)).status, 200);
  const at = `/v1/conversations/${id}`;
  assert.equal((await server.api(alice, 'PUT', `${at}/retention`, { seconds: 3_600 })).status, 200);
  assert.deepEqual(await seqsOf(bob, id), [3]);
  assertRefused(await server.api(bob, 'GET', `${at}/messages/2`), 404, 'message_not_found');
  assertRefused(await server.api(bob, 'GET', `${at}/messages/1/replies`), 404, 'message_not_found');
  assertRefused(
    await server.api(bob, 'PUT', `${at}/messages/2/reactions/${encodeURIComponent('👍')}`),
    404,
    'message_not_found',
  );
  assert.deepEqual((await server.api(alice, 'GET', `${at}/pins`)).body['items'], []);
  assert.deepEqual((await server.api(alice, 'GET', '/v1/mentions')).body['items'], []);
  assert.deepEqual(
    (await found(alice, 'kipper')).map(({ seq }) => seq),
    [3],
  );
  const forward = { forward: { conversation_id: id, seq: 2 } };
  assertRefused(await post(server, alice, other.id, forward), 403, 'forward_forbidden', 'forward');
  assertRefused(await download(server, alice, attachment, id), 404, 'attachment_not_found');
  const changes = await server.api<{ complete: boolean; items: unknown[] }>(alice, 'GET', `${at}/changes?after_rev=0`);
  assert.deepEqual([changes.body.complete, changes.body.items], [false, []]);
  const since = await server.api<{ complete: boolean; items: { type: string; data: object }[] }>(
    alice,
    'GET',
    `${at}/changes?after_rev=${rev}`,
  );
  assert.deepEqual(
    since.body.items.map(({ type }) => type),
    ['purge', 'conversation.updated'],
  );
  assert.deepEqual(since.body.items[0]?.data, { conversation_id: id, before_seq: 3 });
  const exported = await fetch(`${server.coordinator}/admin/api/message-export?conversation=${id}`, {
    headers: callers.owner,
  });
  const lines = (await exported.text())
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line) as { message?: { seq: number } });
  assert.deepEqual(
    lines.flatMap(({ message }) => (message === undefined ? [] : [message.seq])),
    [3],
  );
  assertRefused(
    await post(server, bob, id, { kind: 'text', body: 'x', client_msg_id: posted.body.client_msg_id }),
    409,
    'message_removed',
  );
  // The content goes with its last reference.
  await until(
    async () => (await readdir(join(folder, 'blobs'), { recursive: true })).every((name) => !/[0-9a-f]{64}/.test(name)),
    'the content to go',
  );
});

test('a legal hold is an owner’s, keeps everything, and is in the audit trail', async () => {
  const id = onHold;
  const hold = `/conversations/${id}/hold`;
  assertRefused(await ask('administrator', 'PUT', hold, { held: true }), 403, 'right_missing');
  assertRefused(await ask('owner', 'PUT', '/conversations/none/hold', { held: true }), 403, 'conversation_forbidden');
  assert.equal((await ask('owner', 'PUT', hold, { held: true })).status, 204);
  assert.equal((await server.api(alice, 'PUT', `/v1/conversations/${id}/retention`, { seconds: 3_600 })).status, 200);
  const purge = `/v1/conversations/${id}/messages?before_seq=10`;
  assertRefused(await server.api(alice, 'DELETE', purge), 409, 'conversation_held');
  assert.equal((await seqsOf(bob, id)).length, 43);
  assert.deepEqual((await ask('owner', 'PUT', '/retention/hold', { held: true })).body, {
    seconds: null,
    held: true,
    pending: null,
  });
  assert.equal((await ask('owner', 'PUT', hold, { held: false })).status, 204);
  assert.equal((await seqsOf(bob, id)).length, 43);
  assert.deepEqual((await ask('owner', 'PUT', '/retention/hold', { held: false })).body, {
    seconds: null,
    held: false,
    pending: null,
  });
  assert.deepEqual(await seqsOf(bob, id), [41, 42, 43]);
  const trail = await ask<{ items: { about: string }[] }>('owner', 'GET', '/audit?event=legal_hold.changed&limit=10');
  assert.deepEqual(
    trail.body.items.map(({ about }) => about),
    ['installation', `conversation:${id}`, 'installation', `conversation:${id}`],
  );
});

/** Ends the server, has a shortening that waits be due so many milliseconds from now, and starts it again. */
async function dueIn(millis: number, signal?: NodeJS.Signals): Promise<void> {
  await again(signal, async () => {
    const accounts = await Accounts.open(folder);
    const pending = accounts.document(pendings, INSTALLATION);
    assert.ok(pending !== undefined, 'A shortening outlives its server.');
    await accounts.change((draft) => {
      draft.putDocument(pendings, INSTALLATION, { ...pending, dueAt: Date.now() + millis });
    });
    await accounts.close();
  });
}

const SHORTER = { seconds: 3_600, confirm: '1 hour' };

test('VND-17 a shorter time for all messages is counted, typed, waits a day, is taken back, and counts after a restart', async () => {
  const id = shortened;
  assert.equal((await ask('viewer', 'PUT', '/settings/retention', { seconds: 3_600 })).status, 403);
  for (const seconds of [RETENTION_SECONDS_MIN - 1, RETENTION_SECONDS_MAX + 1]) {
    assertRefused(await ask('owner', 'PUT', '/settings/retention', { seconds }), 400, 'field_invalid', 'seconds');
    const shortening = { seconds, confirm: `${seconds} seconds` };
    assertRefused(await ask('owner', 'PUT', '/retention/shortening', shortening), 400, 'field_invalid', 'seconds');
    assertRefused(await ask('owner', 'GET', `/retention/preview?seconds=${seconds}`), 400, 'query_invalid', 'seconds');
  }
  assertRefused(
    await ask('owner', 'PUT', '/settings/retention', { seconds: 3_600 }),
    409,
    'retention_shortens',
    'seconds',
  );
  assertRefused(await ask('administrator', 'GET', '/retention/preview?seconds=3600'), 403, 'right_missing');
  assert.deepEqual((await ask('owner', 'GET', '/retention/preview?seconds=3600')).body, {
    seconds: 3_600,
    confirm: '1 hour',
    messages: 40,
    conversations: 1,
    complete: true,
  });
  const plan = async (body: object) =>
    await ask<{ pending: Record<string, string> }>('owner', 'PUT', '/retention/shortening', body);
  for (const confirm of ['', '60 minutes', '1 hours', '3600 seconds']) {
    assertRefused(await plan({ ...SHORTER, confirm }), 400, 'field_invalid', 'confirm');
  }
  assertRefused(await ask('administrator', 'PUT', '/retention/shortening', SHORTER), 403, 'right_missing');
  const planned = (await plan(SHORTER)).body.pending;
  const wait = Date.parse(planned['due_at'] ?? '') - Date.parse(planned['requested_at'] ?? '');
  assert.deepEqual([planned['seconds'], planned['requested_by'], wait], [3_600, 'user:owner', DAY_MILLIS]);
  const kept = { seconds: null, held: false, pending: null };
  assert.deepEqual((await ask('viewer', 'GET', '/retention')).body, { ...kept, pending: planned });
  assertRefused(await ask('administrator', 'DELETE', '/retention/shortening'), 403, 'right_missing');
  assertRefused(await ask('owner_before_step_up', 'DELETE', '/retention/shortening'), 403, 'step_up_required');
  assert.notEqual((await ask<{ pending: unknown }>('owner', 'GET', '/retention')).body.pending, null);
  assert.deepEqual((await ask('owner', 'DELETE', '/retention/shortening')).body, kept);
  assert.equal((await plan(SHORTER)).status, 200);
  await dueIn(3_600_000);
  assert.equal((await seqsOf(bob, id)).length, 43);
  assert.equal(await purgedMessages(), 0);
  await dueIn(-1_000, 'SIGKILL');
  const socket = await connect(server, bob);
  const now = { seconds: 3_600, held: false, pending: null };
  const rule = async () => (await ask<{ pending: object | null }>('viewer', 'GET', '/retention')).body;
  await until(async () => (await rule()).pending === null, 'the day to be over');
  assert.deepEqual(await rule(), now);
  await until(async () => (await seqsOf(bob, id)).length === 3, 'every thread to read by the rule');
  // Counted from the kill on.
  await until(async () => (await purgedMessages()) >= 40, 'the messages to be off the disk');
  await socket.close();
  const trail = await ask<{ items: { event: string; actor: string }[] }>('owner', 'GET', '/audit?limit=10');
  assert.deepEqual(
    trail.body.items.filter(({ event }) => event.startsWith('retention.')).map(({ actor, event }) => [event, actor]),
    [
      ['retention.shortened', 'server'],
      ['retention.shortening_planned', 'user:owner'],
      ['retention.shortening_taken_back', 'user:owner'],
      ['retention.shortening_planned', 'user:owner'],
    ],
  );
});

test('a longer time counts at once, takes back what waits, and brings nothing back; the rule goes on after a kill', async () => {
  const { id } = await start(server, alice, 'room', ['bob'], 'Longer');
  await say(server, alice, id, 'herring');
  const before = (await found(alice, 'herring')).length;
  const planned = await ask('owner', 'PUT', '/retention/shortening', { seconds: 60, confirm: '1 minute' });
  assert.equal(planned.status, 200, planned.text);
  for (const seconds of [3_600, 7_200]) {
    const shortening = { seconds, confirm: `${seconds / 3_600} hours` };
    assertRefused(await ask('owner', 'PUT', '/retention/shortening', shortening), 400, 'field_invalid', 'seconds');
  }
  assert.equal((await ask('owner', 'PUT', '/settings/retention', { seconds: 7_200 })).status, 200);
  const longer = { seconds: 7_200, held: false, pending: null };
  assert.deepEqual((await ask('viewer', 'GET', '/retention')).body, longer);
  await again('SIGKILL');
  assert.deepEqual((await ask('viewer', 'GET', '/retention')).body, longer);
  assert.equal((await ask('owner', 'PUT', '/settings/retention', { seconds: null })).status, 200);
  assert.equal((await found(alice, 'herring')).length, before);
});

test('an owner takes away what lies in front of a seq, and nobody else', async () => {
  const { id } = await start(server, alice, 'room', ['bob'], 'Purged');
  for (let n = 1; n <= 35; n += 1) await say(server, bob, id, `sprat ${n}`, `s-${n}`);
  const path = `/v1/conversations/${id}/messages`;
  assertRefused(await server.api(bob, 'DELETE', `${path}?before_seq=5`), 403, 'right_missing');
  assertRefused(await server.api(alice, 'DELETE', path), 400, 'query_invalid', 'before_seq');
  assertRefused(await server.api(alice, 'DELETE', `${path}?before_seq=0`), 400, 'query_invalid', 'before_seq');
  assert.equal((await server.api(alice, 'DELETE', `${path}?before_seq=34`)).status, 204);
  assert.deepEqual(await seqsOf(bob, id), [34, 35]);
  assertRefused(
    await post(server, bob, id, { kind: 'text', body: 'x', client_msg_id: 's-33' }),
    409,
    'message_removed',
  );
  assert.equal((await say(server, bob, id, 'next')).seq, 36);
  assert.equal((await server.api(alice, 'DELETE', `${path}?before_seq=34`)).status, 204);
});

test('a person is erased: what they said and did is gone, stubs keep the order, and a kill in the middle is made good', async () => {
  const carol = await server.person('carol');
  const rooms: string[] = [];
  for (let n = 0; n < 6; n += 1) {
    const { id } = await start(server, alice, 'room', ['carol', 'bob'], `Room ${n}`);
    rooms.push(id);
    for (let k = 1; k <= 45; k += 1) await say(server, k % 3 === 0 ? bob : carol, id, `pilchard ${k}`);
    const emoji = ['👍', '🎉'];
    for (const one of emoji) {
      const reacted = await server.api(
        carol,
        'PUT',
        `/v1/conversations/${id}/messages/3/reactions/${encodeURIComponent(one)}`,
      );
      assert.equal(reacted.status, 200);
    }
    assert.equal((await server.api(carol, 'PUT', `/v1/conversations/${id}/draft`, { body: 'unsent' })).status, 200);
  }
  const held = rooms[5] as string;
  assert.equal((await ask('owner', 'PUT', `/conversations/${held}/hold`, { held: true })).status, 204);
  assertRefused(await ask('administrator', 'POST', '/users/carol/erase'), 403, 'right_missing');
  assertRefused(await ask('owner', 'POST', '/users/nobody/erase'), 404, 'person_not_found');
  assertRefused(await ask('owner', 'GET', '/erasures/ers_none'), 404, 'erasure_not_found');
  const begun = await ask<{ id: string; state: string }>('owner', 'POST', '/users/carol/erase');
  assert.equal(begun.status, 202, JSON.stringify(begun.body));
  assertRefused(await server.api(carol, 'GET', '/v1/inbox'), 401, 'session_revoked');
  await again('SIGKILL');
  const path = `/erasures/${begun.body.id}`;
  const waiting = await until(async () => {
    const { body } = await ask<{ state: string; held: number; conversations: number }>('owner', 'GET', path);
    return body.state === 'waiting' ? body : undefined;
  }, 'the erasure to wait for the hold');
  assert.deepEqual([waiting.conversations, waiting.held], [6, 1]);
  for (const id of rooms.slice(0, 5)) {
    const page = await server.api<{
      items: { sender: string; body?: string; deleted_at?: string; reactions?: unknown }[];
    }>(bob, 'GET', `/v1/conversations/${id}/messages?limit=100`);
    assert.equal(page.body.items.length, 45);
    for (const message of page.body.items) {
      assert.equal(message.deleted_at !== undefined, message.sender === 'carol');
      assert.equal(message.body === undefined, message.sender === 'carol');
      assert.equal(message.reactions, undefined);
    }
  }
  const kept = await found(bob, 'pilchard');
  assert.ok(kept.length > 0);
  const user = await ask('owner', 'GET', '/users/carol');
  assert.deepEqual([user.body['state'], user.body['display_name'] ?? null, user.body['devices']], ['left', null, 0]);
  // Asked again, it is the same erasure; the name is nobody else's.
  assert.equal((await ask<{ id: string }>('owner', 'POST', '/users/carol/erase')).body.id, begun.body.id);
  const list = await ask<{ items: { id: string }[] }>('owner', 'GET', '/erasures');
  assert.deepEqual(
    list.body.items.map(({ id }) => id),
    [begun.body.id],
  );
  const login = { username: 'carol', password: carol.password };
  assertRefused(await request('POST', `${server.coordinator}/v1/auth/login`, { body: login }), 401, 'login_failed');
  const trail = await ask<{ items: { event: string }[] }>('owner', 'GET', '/audit?event=user.erasure_waits&limit=10');
  assert.equal(trail.body.items.length, 1);
});
