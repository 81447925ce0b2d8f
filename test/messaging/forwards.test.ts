/** Forwards: the server copies what the caller may read, and says whose it is (GOV-01, GOV-02, MSG-09, ATT-01). */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Message } from '#src/protocol/conversations/messages.ts';
import { shareServer } from '#test/support/shared-server.ts';
import { connect } from '#test/support/socket.ts';
import { attach, download, upload } from './attaching.ts';
import { assertRefused, post, say, start } from './conversing.ts';

const { server, alice, bob, carol, mallory } = await shareServer(['alice', 'bob', 'carol', 'mallory'], { shards: 2 });

const room = async (people: readonly string[]) => (await start(server, alice, 'room', people)).id;
const forward = (conversation: string, seq: number, more: object = {}) => ({
  forward: { conversation_id: conversation, seq },
  ...more,
});

test('MSG-09 GOV-02 a forward has the body of its origin, and says by the server’s word whose it is', async () => {
  const [from, to] = [await room(['bob']), await room(['carol'])];
  const socket = await connect(server, carol);
  const mentions = [{ username: 'alice', offset: 0, length: 6 }];
  const origin = await post(server, bob, from, { kind: 'text', body: '@alice said', mentions });
  const posted = await post(server, alice, to, forward(from, 1));
  const { created_at: createdAt, ...rest } = posted.body;
  assert.ok(Date.parse(createdAt) >= Date.parse(origin.body.created_at));
  assert.deepEqual(
    [posted.status, rest],
    [
      201,
      {
        conversation_id: to,
        seq: 1,
        kind: 'text',
        body: '@alice said',
        sender: 'alice',
        forward: { sender: 'bob', created_at: origin.body.created_at },
      },
    ],
  );
  const event = await socket.event((one) => one.conv === to && one.type === 'message.new');
  assert.deepEqual(event.data, posted.body);
  const onwards = await post(server, carol, (await start(server, carol, 'direct', ['mallory'])).id, forward(to, 1));
  assert.deepEqual(onwards.body.forward, { sender: 'bob', created_at: origin.body.created_at });
  assert.deepEqual([onwards.body.sender, onwards.body.body], ['carol', '@alice said']);
  await socket.close();
});

test('GOV-01 GOV-03 a forward takes nothing of its origin from the client', async () => {
  const id = await room(['bob']);
  await say(server, bob, id, 'origin');
  const forms: [object, string][] = [
    [forward(id, 1, { kind: 'text' }), 'kind'],
    [forward(id, 1, { kind: 'text', body: 'made up' }), 'kind'],
    [forward(id, 1, { body: 'made up' }), 'body'],
    [forward(id, 1, { sender: 'carol' }), 'sender'],
    [forward(id, 1, { mentions: [] }), 'mentions'],
    [{ forward: { conversation_id: id, seq: 1, sender: 'carol' } }, 'forward.sender'],
    [{ forward: { conversation_id: id, seq: 1, created_at: '2020-01-01T00:00:00Z' } }, 'forward.created_at'],
  ];
  for (const [form, field] of forms) assertRefused(await post(server, alice, id, form), 400, 'field_unknown', field);
  const invalid: [object, string][] = [
    [{ forward: null }, 'forward'],
    [{ forward: { conversation_id: id } }, 'forward.seq'],
    [{ forward: { conversation_id: id, seq: 0 } }, 'forward.seq'],
    [{ forward: { conversation_id: 'elsewhere', seq: 1 } }, 'forward.conversation_id'],
  ];
  for (const [form, field] of invalid) assertRefused(await post(server, alice, id, form), 400, 'field_invalid', field);
});

test('ERR-05 one answer for what is not there, deleted, an outcome, secret, or not the caller’s to read', async () => {
  const mine = await room(['bob']);
  const theirs = (await start(server, bob, 'room', ['carol'])).id;
  await say(server, bob, theirs, 'not for alice');
  await say(server, alice, mine, 'gone');
  await server.api(alice, 'DELETE', `/v1/conversations/${mine}/messages/1`);
  await post(server, alice, mine, { kind: 'call', body: { outcome: { result: 'missed', duration: 0, flags: [] } } });
  const secret = (await start(server, alice, 'secret', ['bob'])).id;
  await say(server, bob, secret, 'between us');
  const empty = (await start(server, bob, 'room', ['alice'])).id;
  await say(server, bob, empty, 'soon over for alice');
  await server.api(bob, 'DELETE', `/v1/conversations/${empty}/participants/alice`);
  const origins: [string, number][] = [
    [theirs, 1],
    [theirs, 2],
    [mine, 1],
    [mine, 2],
    [mine, 3],
    [secret, 1],
    [empty, 1],
    ['c_0000000000000000000000', 1],
  ];
  for (const [id, seq] of origins) {
    assertRefused(await post(server, alice, mine, forward(id, seq)), 403, 'forward_forbidden', 'forward');
  }
  assertRefused(await post(server, mallory, mine, forward(mine, 2)), 403, 'conversation_forbidden');
  await say(server, alice, mine, 'for the secret chat');
  assert.equal((await post(server, alice, secret, forward(mine, 3))).status, 201);
});

test('MSG-03 a repeated forward answers the first one, whatever became of its origin', async () => {
  const id = await room(['bob']);
  await say(server, bob, id, 'origin');
  const form = forward(id, 1, { client_msg_id: 'again' });
  const first = await post(server, alice, id, form);
  await server.api(bob, 'DELETE', `/v1/conversations/${id}/messages/1`);
  const again = await post(server, alice, id, form);
  assert.deepEqual([first.status, again.status, again.body], [201, 200, first.body]);
  assert.equal(again.body.body, 'origin', 'what was passed on stays');
  assertRefused(await post(server, alice, id, forward(id, 1)), 403, 'forward_forbidden', 'forward');
});

test('MSG-10 nobody edits somebody else’s words; deleting a forward leaves no word of whose they were', async () => {
  const id = await room(['bob']);
  await say(server, bob, id, 'origin');
  await post(server, alice, id, forward(id, 1));
  const path = `/v1/conversations/${id}/messages/2`;
  assertRefused(await server.api(alice, 'PATCH', path, { body: 'made up' }), 403, 'right_missing');
  const stub = await server.api<Message>(alice, 'DELETE', path);
  assert.deepEqual([stub.body.forward, stub.body.body], [undefined, undefined]);
});

test('ATT-01 a forwarded attachment is read where it was forwarded to, also when its first message is gone', async () => {
  const [from, to] = [await room(['bob']), await room(['carol'])];
  const bytes = Buffer.from('the content of a file');
  const attachment = await upload(server, bob, bytes, 'notes.txt');
  const origin = await attach(server, bob, from, attachment, { caption: 'notes', name: 'notes.txt' });
  assert.equal((await download(server, carol, attachment, to)).status, 404);
  const posted = await post(server, alice, to, forward(from, 1));
  assert.deepEqual([posted.status, posted.body.kind, posted.body.body], [201, 'media', origin.body.body]);
  await server.api(bob, 'DELETE', `/v1/conversations/${from}/messages/1`);
  const read = await download(server, carol, attachment, to);
  assert.deepEqual([read.status, read.bytes.toString()], [200, bytes.toString()]);
  assert.equal((await download(server, mallory, attachment, to)).status, 403);
});
