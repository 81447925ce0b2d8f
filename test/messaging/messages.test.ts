/** Posting, editing, deleting and reading messages, as clients see it over HTTP and the socket (MSG, SUR). */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Placement } from '#actors/runtime/placement.ts';
import type { Message } from '#src/protocol/conversations/messages.ts';
import type { Session } from '#src/protocol/sessions/sessions.ts';
import { request, startServer, type Person } from '#test/support/server.ts';
import { shareServer } from '#test/support/shared-server.ts';
import { connect } from '#test/support/socket.ts';
import { temporaryFolder } from '#test/support/temporary-folder.ts';
import { upload } from './attaching.ts';
import { anotherDevice, assertRefused, heardUpTo, post, say, start } from './conversing.ts';

const INSTANT = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z$/;
const OUTCOME = { result: 'completed', duration: 12.5, flags: ['video'] };

const { server, alice, bob, mallory } = await shareServer(['alice', 'bob', 'mallory'], { shards: 2 });

interface Changes {
  readonly complete: boolean;
  readonly items: readonly { readonly type: string; readonly data: Message }[];
}

const room = async (title = 'room') => (await start(server, alice, 'room', ['bob'], title)).id;

async function history(conversation: string, query: string, who = bob) {
  const path = `/v1/conversations/${conversation}/messages?${query}`;
  const reply = await server.api<{ items: Message[]; next: string | null }>(who, 'GET', path);
  assert.equal(reply.status, 200, reply.text);
  return { seqs: reply.body.items.map((item) => item.seq), next: reply.body.next, items: reply.body.items };
}

test('MSG-01 MSG-02 each kind a client may post is stored and delivered with its body as it was posted', async () => {
  const id = await room();
  const socket = await connect(server, bob);
  const attachment = await upload(server, alice, Buffer.from('abc'), 'a.png');
  const forms = [
    { kind: 'text', body: 'жук 🐞' },
    { kind: 'media', body: { attachment, name: 'a.png', type: 'text/plain', size: 3, caption: 'c' } },
    { kind: 'location', body: { latitude: 59.9, longitude: 30.3, accuracy: 5 } },
    { kind: 'contact', body: { name: 'Carol', phones: ['+79991234567'] } },
    { kind: 'call', body: { outcome: OUTCOME } },
    { kind: 'system', body: { outcome: OUTCOME } },
  ];
  for (const [index, form] of forms.entries()) {
    const reply = await post(server, alice, id, form);
    assert.equal(reply.status, 201, reply.text);
    const { created_at: createdAt, ...rest } = reply.body;
    assert.match(createdAt, INSTANT);
    assert.deepEqual(rest, { conversation_id: id, seq: index + 1, ...form, sender: 'alice' });
    const event = await socket.event((one) => one.conv === id && one.seq === index + 1);
    assert.deepEqual([event.type, event.data], ['message.new', reply.body]);
  }
  await socket.close();
});

test('MSG-02 a kind outside the whitelist is refused and stores nothing', async () => {
  const id = await room();
  for (const kind of ['poll', 'TEXT', '', 'constructor', 7, null, ['text']]) {
    assertRefused(await post(server, alice, id, { kind, body: 'x' }), 400, 'message_kind_unknown', 'kind');
  }
  assertRefused(await post(server, alice, id, { body: 'x' }), 400, 'field_invalid', 'kind');
  assert.deepEqual((await history(id, 'limit=10')).seqs, []);
});

test('MSG-03 a repeat answers the first message, also with another body, another device and a renewed token', async () => {
  const id = await room();
  const first = await post(server, alice, id, { kind: 'text', body: 'one', client_msg_id: 'k' });
  assert.equal(first.status, 201);
  const again = (who: Person, body: unknown) => post(server, who, id, { kind: 'text', body, client_msg_id: 'k' });
  const repeats = [
    await again(alice, 'one'),
    await again(alice, 'two'),
    await again(await anotherDevice(server, alice), 'three'),
  ];
  const renewed = await request<Session>('POST', `${server.coordinator}/v1/auth/renew`, { token: alice.session.token });
  assert.equal(renewed.status, 200, renewed.text);
  repeats.push(await again({ ...alice, session: renewed.body }, 'four'));
  for (const repeat of repeats) assert.deepEqual([repeat.status, repeat.body], [200, first.body]);
  assert.deepEqual((await history(id, 'limit=10')).items, [first.body]);
});

test('MSG-03 the same client_msg_id of another sender or in another conversation is another message', async () => {
  const [id, other] = [await room(), await room()];
  const replies = [
    await post(server, alice, id, { kind: 'text', body: 'a', client_msg_id: 'shared' }),
    await post(server, bob, id, { kind: 'text', body: 'b', client_msg_id: 'shared' }),
    await post(server, alice, other, { kind: 'text', body: 'c', client_msg_id: 'shared' }),
  ];
  assert.deepEqual(
    replies.map(({ status, body }) => [status, body.seq, body.body, body.sender]),
    [
      [201, 1, 'a', 'alice'],
      [201, 2, 'b', 'bob'],
      [201, 1, 'c', 'alice'],
    ],
  );
});

test('MSG-03 64 posts of one client_msg_id at once store one message, and one event tells of it', async () => {
  const id = await room();
  const socket = await connect(server, bob);
  const form = (n: number) => ({ kind: 'text', body: `copy ${n}`, client_msg_id: 'at-once' });
  const replies = await Promise.all(Array.from({ length: 64 }, (_, n) => post(server, alice, id, form(n))));
  assert.equal(replies.filter((reply) => reply.status === 201).length, 1);
  assert.equal(replies.filter((reply) => reply.status === 200).length, 63);
  for (const reply of replies) assert.deepEqual(reply.body, replies[0]?.body);
  assert.deepEqual(
    (await heardUpTo(server, socket, alice, id)).filter((type) => type === 'message.new'),
    ['message.new'],
  );
  assert.deepEqual((await history(id, 'limit=10')).seqs, [1, 2]);
  await socket.close();
});

test('MSG-03 a repeat of a message that was edited or deleted answers it as it stands, and brings nothing back', async () => {
  const id = await room();
  await say(server, alice, id, 'old', 'edited');
  await say(server, alice, id, 'gone', 'deleted');
  await server.api(alice, 'PATCH', `/v1/conversations/${id}/messages/1`, { body: 'new' });
  await server.api(alice, 'DELETE', `/v1/conversations/${id}/messages/2`);
  assert.equal((await say(server, alice, id, 'old', 'edited')).body, 'new');
  const repeat = await post(server, alice, id, { kind: 'text', body: 'gone', client_msg_id: 'deleted' });
  assert.deepEqual([repeat.status, repeat.body.seq, repeat.body.body], [200, 2, undefined]);
  assert.deepEqual((await history(id, 'limit=10')).seqs, [1, 2]);
});

test('MSG-04 seq is dense under 200 concurrent posts on both shards, and every reader hears it in order', async () => {
  const placement = new Placement(2, 4);
  const rooms: string[] = [];
  // A new room's shard is drawn, so rooms are made until both shards have one.
  for (const shard of [0, 1]) {
    for (;;) {
      const id = await room(`on shard ${shard}`);
      if (placement.shardOf(`conversation:${id}`) === shard) {
        rooms.push(id);
        break;
      }
    }
  }
  const socket = await connect(server, bob);
  const posts = Array.from({ length: 200 }, (_, n) =>
    post(server, n % 3 === 0 ? bob : alice, rooms[n % 2] as string, { kind: 'text', body: `${n}` }),
  );
  const replies = await Promise.all(posts);
  const dense = Array.from({ length: 100 }, (_, n) => n + 1);
  await socket.eventsOf('message.new', 200);
  for (const id of rooms) {
    const seqs = replies.filter((reply) => reply.body.conversation_id === id).map((reply) => reply.body.seq);
    assert.deepEqual(
      seqs.toSorted((a, b) => a - b),
      dense,
    );
    assert.deepEqual((await history(id, 'limit=200&after_seq=0')).seqs, dense);
    const heard = socket.events.filter((event) => event.type === 'message.new' && event.conv === id);
    assert.deepEqual(
      heard.map((event) => event.seq),
      dense,
    );
  }
  await socket.close();
});

test('MSG-05 system from a client is forbidden, except as a call outcome', async () => {
  const id = await room();
  for (const body of ['alice left', { text: 'x' }, undefined, null, []]) {
    assertRefused(await post(server, alice, id, { kind: 'system', body }), 403, 'system_kind_forbidden');
  }
  assert.equal((await post(server, alice, id, { kind: 'system', body: { outcome: OUTCOME } })).body.seq, 1);
});

test('MSG-06 a call step is gone from messages, wherever it hides; the sentence names POST /v1/signal', async () => {
  const id = await room();
  const steps = [
    { kind: 'call', action: 'invite', body: { outcome: OUTCOME } },
    { kind: 'call', body: { action: 'invite' } },
    { kind: 'text', body: '{"action":"invite","video":true}' },
    { kind: 'text', body: ' \n{"action":"invite"}' },
    { kind: 'text', body: '{"\\u0061ction":"invite"}' },
    { kind: 'system', body: { action: 'end', outcome: OUTCOME } },
    { action: 'cancel' },
  ];
  for (const form of steps) {
    const reply = await post(server, alice, id, form);
    assertRefused(reply, 410, 'call_step_is_signalling');
    assert.match(reply.text, /POST \/v1\/signal/);
  }
  await say(server, alice, id, 'the word "action" in a sentence, {"action": even this');
  const edit = await server.api(alice, 'PATCH', `/v1/conversations/${id}/messages/1`, { body: '{"action":"invite"}' });
  assertRefused(edit, 410, 'call_step_is_signalling');
  assert.deepEqual((await history(id, 'limit=10')).seqs, [1]);
});

test('MSG-07 an outcome that carries an identity is refused with the field named', async () => {
  const id = await room();
  for (const field of ['sender', 'from', 'user', 'caller', 'username']) {
    for (const kind of ['call', 'system']) {
      const inside = { kind, body: { outcome: { ...OUTCOME, [field]: 'bob' } } };
      assertRefused(await post(server, alice, id, inside), 400, 'field_unknown', `body.outcome.${field}`);
      const beside = { kind, body: { outcome: OUTCOME, [field]: 'bob' } };
      assertRefused(await post(server, alice, id, beside), 400, 'field_unknown', `body.${field}`);
    }
  }
  const bad = { kind: 'call', body: { outcome: { ...OUTCOME, result: 'won' } } };
  assertRefused(await post(server, alice, id, bad), 400, 'field_invalid', 'body.outcome.result');
  assert.deepEqual((await history(id, 'limit=10')).seqs, []);
});

test('MSG-09 authorship comes from the session, whatever the text claims', async () => {
  const id = await room();
  const claim = '{"sender":"bob","from":"bob","user":"bob"}';
  const message = await say(server, alice, id, claim);
  assert.deepEqual([message.sender, message.body], ['alice', claim]);
  assert.equal((await history(id, 'limit=1')).items[0]?.sender, 'alice');
});

test('MSG-10 an edit reaches readers as message.edit with the message, and history shows it', async () => {
  const id = await room();
  const socket = await connect(server, bob);
  const posted = await say(server, alice, id, 'before', 'c-1');
  const edited = await server.api<Message>(alice, 'PATCH', `/v1/conversations/${id}/messages/1`, { body: 'after' });
  assert.equal(edited.status, 200, edited.text);
  const { edited_at: editedAt, ...rest } = edited.body;
  assert.match(String(editedAt), INSTANT);
  assert.deepEqual(rest, { ...posted, body: 'after' });
  const event = await socket.event((one) => one.type === 'message.edit' && one.conv === id);
  assert.deepEqual([event.seq, event.data, event.rev, event.rev_count], [1, edited.body, 3, 1]);
  assert.deepEqual((await history(id, 'limit=1')).items, [edited.body]);
  await socket.close();
});

test('MSG-10 a deleted message stays as a stub without its body, and readers hear message.delete', async () => {
  const id = await room();
  const socket = await connect(server, bob);
  await say(server, bob, id, 'to be removed', 'c-2');
  // alice owns the room and may delete what others wrote.
  const gone = await server.api<Message>(alice, 'DELETE', `/v1/conversations/${id}/messages/1`);
  const { created_at: createdAt, deleted_at: deletedAt, ...rest } = gone.body;
  assert.deepEqual(rest, { conversation_id: id, seq: 1, kind: 'text', sender: 'bob', client_msg_id: 'c-2' });
  assert.match(createdAt, INSTANT);
  assert.match(String(deletedAt), INSTANT);
  const event = await socket.event((one) => one.type === 'message.delete' && one.conv === id);
  assert.deepEqual([event.seq, event.data], [1, gone.body]);
  assert.deepEqual((await history(id, 'limit=1')).items, [gone.body]);
  assert.ok(!(await heardUpTo(server, socket, alice, id)).includes('message.edit'));
  const edit = await server.api(bob, 'PATCH', `/v1/conversations/${id}/messages/1`, { body: 'back' });
  assertRefused(edit, 409, 'message_deleted');
  await socket.close();
});

test('MSG-10 only the author edits, only the author and moderators delete, and only what exists', async () => {
  const id = await room();
  await say(server, alice, id, 'of alice');
  const path = `/v1/conversations/${id}/messages`;
  assertRefused(await server.api(bob, 'PATCH', `${path}/1`, { body: 'x' }), 403, 'right_missing');
  assertRefused(await server.api(bob, 'DELETE', `${path}/1`), 403, 'right_missing');
  assertRefused(await server.api(mallory, 'PATCH', `${path}/1`, { body: 'x' }), 403, 'conversation_forbidden');
  assertRefused(await server.api(mallory, 'DELETE', `${path}/1`), 403, 'conversation_forbidden');
  for (const seq of ['2', '0', '-1', '1.5', 'x', '01', '9007199254740993', '99999999999999999999']) {
    assertRefused(await server.api(alice, 'PATCH', `${path}/${seq}`, { body: 'x' }), 404, 'message_not_found');
    assertRefused(await server.api(alice, 'DELETE', `${path}/${seq}`), 404, 'message_not_found');
    assertRefused(await server.api(alice, 'GET', `${path}/${seq}`), 404, 'message_not_found');
  }
  await post(server, alice, id, { kind: 'call', body: { outcome: OUTCOME } });
  await post(server, alice, id, { kind: 'location', body: { latitude: 1, longitude: 2 } });
  assertRefused(await server.api(alice, 'PATCH', `${path}/2`, { body: 'x' }), 403, 'right_missing');
  assertRefused(await server.api(alice, 'PATCH', `${path}/3`, { body: 'x' }), 400, 'field_invalid', 'body');
  assertRefused(
    await server.api(alice, 'PATCH', `${path}/1`, { body: { latitude: 1, longitude: 2 } }),
    400,
    'field_invalid',
    'body',
  );
  assert.equal(
    (await history(id, 'limit=10')).items.some((item) => item.edited_at !== undefined),
    false,
  );
});

test('MSG-12 history pages in both directions, and a missing range comes exactly', async () => {
  const id = await room();
  for (let n = 1; n <= 10; n += 1) await say(server, alice, id, `m ${n}`);
  const page = async (query: string) => {
    const { seqs, next } = await history(id, query);
    return [seqs, next];
  };
  assert.deepEqual(await page('limit=4'), [[7, 8, 9, 10], '7']);
  assert.deepEqual(await page('limit=4&before_seq=7'), [[3, 4, 5, 6], '3']);
  assert.deepEqual(await page('limit=4&before_seq=3'), [[1, 2], null]);
  assert.deepEqual(await page('limit=4&after_seq=0'), [[1, 2, 3, 4], '4']);
  assert.deepEqual(await page('limit=4&after_seq=8'), [[9, 10], null]);
  assert.deepEqual(await page('limit=3&after_seq=4'), [[5, 6, 7], '7']);
  assert.deepEqual(await page('limit=10&after_seq=0'), [[1, 2, 3, 4, 5, 6, 7, 8, 9, 10], null]);
  assert.deepEqual(await page('after_seq=10'), [[], null]);
  assert.deepEqual(await page('before_seq=1'), [[], null]);
  assert.deepEqual(await page('after_seq=9007199254740991'), [[], null]);
  assert.deepEqual(await page('limit=200'), [[1, 2, 3, 4, 5, 6, 7, 8, 9, 10], null]);
  const one = await server.api<Message>(bob, 'GET', `/v1/conversations/${id}/messages/5`);
  assert.equal(one.body.body, 'm 5');
});

test('MSG-12 SOC-11 pages and changes of more than a megabyte reach many at once as they were posted', async () => {
  const id = await room();
  const before = await server.api<{ rev: number }>(bob, 'GET', `/v1/conversations/${id}`);
  // Three bytes a character, and a mark of its own at either end of each.
  const bodies = Array.from({ length: 40 }, (_, n) => `${n} ${'語'.repeat(15_000)} ${n}`);
  for (const body of bodies) await say(server, alice, id, body);
  await server.api(bob, 'PUT', `/v1/conversations/${id}/messages/3/reactions/${encodeURIComponent('👍')}`);
  const reads = Array.from({ length: 12 }, async (_, at) => {
    const limit = 1 + ((at * 7) % 40);
    const who = at % 2 === 0 ? alice : bob;
    const [page, changes] = await Promise.all([
      history(id, `limit=${limit}&after_seq=0`, who),
      server.api<Changes>(who, 'GET', `/v1/conversations/${id}/changes?after_rev=${before.body.rev}`),
    ]);
    const texts = page.items.map(({ body }) => body);
    assert.deepEqual(texts, bodies.slice(0, limit));
    const { complete, items } = changes.body;
    const posts = items.filter(({ type }) => type === 'message.new');
    assert.deepEqual([complete, items.length, posts.map(({ data }) => data.body)], [true, 41, bodies]);
    const reactions = [page.items[2] ?? posts[2]?.data, posts[2]?.data].map((message) => message?.reactions);
    const shown = [{ emoji: '👍', count: 1, users: ['bob'] }];
    assert.deepEqual(reactions, [shown, shown]);
  });
  await Promise.all(reads);
});

test('MSG-12 a page is bounded: a limit beyond 200, or a query that says two things, is refused', async () => {
  const id = await room();
  const bad: [string, string][] = [
    ['limit=201', 'limit'],
    ['limit=0', 'limit'],
    ['limit=-1', 'limit'],
    ['limit=1e2', 'limit'],
    ['limit=', 'limit'],
    ['after_seq=x', 'after_seq'],
    ['after_seq=9007199254740992', 'after_seq'],
    ['before_seq=0', 'before_seq'],
    ['after_seq=1&before_seq=3', 'before_seq'],
    ['after=1', 'after'],
    ['limit=5&limit=6', 'limit'],
  ];
  for (const [query, field] of bad) {
    const reply = await server.api(bob, 'GET', `/v1/conversations/${id}/messages?${query}`);
    assertRefused(reply, 400, 'query_invalid', field);
  }
});

test('SUR-01 FRM-04 of signals and frames no byte is in the data folder, while of a message there is', async (t) => {
  const folder = temporaryFolder(t);
  const own = await startServer({ shards: 2, folder });
  t.after(() => own.end('SIGKILL'));
  const people = await own.people('alice', 'bob');
  const { id } = await start(own, people.alice, 'direct', ['bob']);
  const [ofAlice, ofBob] = [await connect(own, people.alice), await connect(own, people.bob)];
  const stanza = {
    to: id,
    kind: 'call',
    step: 'invite',
    call: 'marker-of-a-call',
    seq: 1,
    body: { video: false, room: 'marker-of-a-signal' },
  };
  assert.equal((await own.api(people.alice, 'POST', '/v1/signal', stanza)).status, 202);
  await ofBob.event('signal');
  // Its outcome is a message, which does not name it: the server knows from signalling alone which call it is about.
  assert.equal(
    (await own.api(people.alice, 'POST', '/v1/signal', { ...stanza, step: 'cancel', seq: 2, body: {} })).status,
    202,
  );
  const outcome = { kind: 'call', body: { outcome: { result: 'cancelled', duration: 0, flags: [] } } };
  const posted = await post(own, people.alice, id, outcome);
  assert.equal(posted.status, 201, posted.text);
  const again = await post(own, people.alice, id, outcome);
  assert.deepEqual([again.status, again.body.seq], [200, posted.body.seq], 'the server knows it');
  ofAlice.send({ kind: 'typing', conv: id });
  await ofBob.event('typing');
  ofAlice.send({ kind: 'typing', conv: id, text: 'marker-of-a-frame' });
  await ofAlice.event('error');
  await say(own, people.alice, id, 'marker-of-a-message');
  await own.stop();
  const files = readdirSync(folder, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile());
  const bytes = files.map((file) => readFileSync(join(file.parentPath, file.name)));
  const holds = (marker: string) => bytes.some((content) => content.includes(marker));
  assert.equal(holds('marker-of-a-message'), true);
  for (const marker of ['marker-of-a-signal', 'marker-of-a-call', 'marker-of-a-frame', 'typing']) {
    assert.equal(holds(marker), false, marker);
  }
  assert.equal(
    own.output.some((line) => line.includes('marker-of')),
    false,
  );
});
