/** Incoming webhooks on a server with two shards: who makes one, what it can do, and how it ends (BOT-01). */
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { TEXT_LENGTH_MAX } from '#src/protocol/limits.ts';
import type { Message } from '#src/protocol/conversations/messages.ts';
import {
  WEBHOOK_FORM_BYTES_MAX,
  WEBHOOK_POSTS_BURST,
  WEBHOOKS_PER_CONVERSATION_MAX,
  type MadeWebhook,
  type Webhook,
} from '#src/protocol/bots/webhooks.ts';
import { startConsoleServer, type ConsoleServer } from '#test/support/console.ts';
import type { ShownEntry } from '#test/support/bots.ts';
import { request, type Person, type Reply } from '#test/support/server.ts';
import { connect } from '#test/support/socket.ts';
import { until } from '#test/support/waiting.ts';
import { assertRefused, start } from './conversing.ts';

let running: ConsoleServer;
let people: Record<'alice' | 'bob' | 'carol', Person>;
before(async () => {
  running = await startConsoleServer({ shards: 2, environment: { PARLEY_TRUSTED_PROXIES: '127.0.0.1,10.0.0.0/8' } });
  people = await running.server.people('alice', 'bob', 'carol');
});
after(async () => await running.stop());

async function room(): Promise<string> {
  return (await start(running.server, people.alice, 'room', ['bob'], 'Room')).id;
}

async function make(conversation: string, name = 'Deploys', who = people.alice): Promise<Reply<MadeWebhook>> {
  return await running.server.api(who, 'POST', `/v1/conversations/${conversation}/webhooks`, { name });
}

async function made(conversation: string, name?: string): Promise<MadeWebhook> {
  const reply = await make(conversation, name);
  assert.equal(reply.status, 201, reply.text);
  return reply.body;
}

async function send(webhook: Pick<MadeWebhook, 'path'>, body: unknown, headers = {}): Promise<Reply<Message>> {
  return await running.server.api(undefined, 'POST', webhook.path, body, headers);
}

async function list(conversation: string): Promise<Webhook[]> {
  const path = `/v1/conversations/${conversation}/webhooks`;
  return (await running.server.api<{ items: Webhook[] }>(people.alice, 'GET', path)).body.items;
}

test('BOT-01 a webhook posts as its own bot into its room, and everybody there reads it', async () => {
  const conversation = await room();
  const webhook = await made(conversation);
  const socket = await connect(running.server, people.bob);
  const posted = await send(webhook, { text: 'It is out.', client_msg_id: 'one' });
  assert.equal(posted.status, 201, posted.text);
  assert.deepEqual(Object.keys(posted.body), ['conversation_id', 'seq', 'created_at']);
  const { data } = await socket.event((event) => event.type === 'message.new' && event.conv === conversation, 'it');
  assert.deepEqual([data['sender'], data['body'], data['kind']], [webhook.sender, 'It is out.', 'text']);
  assert.ok(webhook.sender.startsWith('bot.'));
  const again = await send(webhook, { text: 'Something else.', client_msg_id: 'one' });
  assert.deepEqual([again.status, again.body], [200, posted.body]);
  const entry = await request('GET', `${running.server.coordinator}/v1/directory/${webhook.sender}`, {
    token: people.bob.session.token,
  });
  assert.deepEqual([entry.body['display_name'], entry.body['kind']], ['Deploys', 'bot']);
  await socket.close();
});

test('BOT-01 who may not manage a room makes, lists and revokes no webhook of it', async () => {
  const conversation = await room();
  const webhook = await made(conversation);
  const path = `/v1/conversations/${conversation}/webhooks`;
  const attempts = [
    ['POST', path, { name: 'Mine' }],
    ['GET', path, undefined],
    ['DELETE', `${path}/${webhook.id}`, undefined],
  ] as const;
  for (const [method, where, body] of attempts) {
    assertRefused(await running.server.api(people.bob, method, where, body), 403, 'right_missing');
    assertRefused(await running.server.api(people.carol, method, where, body), 403, 'conversation_forbidden');
  }
  const direct = (await start(running.server, people.alice, 'direct', ['bob'])).id;
  assertRefused(await make(direct), 409, 'participants_fixed');
  for (const name of ['', ' ', 'a\nb', 'x'.repeat(101)]) {
    assertRefused(await make(conversation, name), 400, 'field_invalid', 'name');
  }
  assertRefused(await running.server.api(undefined, 'GET', webhook.path), 404, 'method_not_found');
});

test('BOT-01 a webhook is revoked at once, and its bot leaves the room', async () => {
  const conversation = await room();
  const webhook = await made(conversation);
  const other = await made(await room());
  const path = `/v1/conversations/${conversation}/webhooks`;
  const foreign = await running.server.api(people.alice, 'DELETE', `${path}/${other.id}`);
  assertRefused(foreign, 404, 'webhook_not_found');
  assert.equal((await running.server.api(people.alice, 'DELETE', `${path}/${webhook.id}`)).status, 204);
  assertRefused(await send(webhook, { text: 'late' }), 404, 'webhook_not_found');
  assert.deepEqual(await list(conversation), []);
  const { body } = await running.server.api<{ items: { user: string }[] }>(
    people.alice,
    'GET',
    `/v1/conversations/${conversation}/participants`,
  );
  assert.deepEqual(
    body.items.map(({ user }) => user),
    ['alice', 'bob'],
  );
});

test('BOT-01 removing its bot from the room silences a webhook', async () => {
  const conversation = await room();
  const webhook = await made(conversation);
  const path = `/v1/conversations/${conversation}/participants/${webhook.sender}`;
  assert.equal((await running.server.api(people.alice, 'DELETE', path)).status, 204);
  assertRefused(await send(webhook, { text: 'still here' }), 403, 'conversation_forbidden');
});

test('BOT-01 hostile bodies and tokens at a webhook are refused with their codes', async () => {
  const webhook = await made(await room());
  const cases: [
    body: unknown,
    code: Parameters<typeof assertRefused>[2],
    field?: string | undefined,
    status?: number,
  ][] = [
    [{ text: '' }, 'field_invalid', 'text'],
    [{ text: 'x'.repeat(TEXT_LENGTH_MAX + 1) }, 'field_invalid', 'text'],
    [{ text: 'hello', sender: 'alice' }, 'field_unknown', 'sender'],
    [{ text: 'hello', name: 'alice' }, 'field_unknown', 'name'],
    [{ text: 'hello', client_msg_id: 'two words' }, 'field_invalid', 'client_msg_id'],
    ['{"text":"hel', 'body_invalid_json'],
    [{ text: '{"action":"invite"}' }, 'call_step_is_signalling', undefined, 410],
    [{ text: 'x'.repeat(140_000) }, 'body_too_large'],
  ];
  for (const [body, code, field, status = 400] of cases) assertRefused(await send(webhook, body), status, code, field);
  const [id, secret] = [webhook.token.slice(0, 27), webhook.token.slice(28)];
  for (const token of [
    id,
    `${id}_`,
    `${id}_${'A'.repeat(43)}`,
    `hook_${'0'.repeat(22)}_${secret}`,
    'x'.repeat(4_000),
  ]) {
    assertRefused(await send({ path: `/v1/hooks/${token}` }, { text: 'hello' }), 404, 'webhook_not_found');
  }
  // A webhook's token is no bot's.
  const asBot = await running.server.api(undefined, 'GET', '/v1/inbox', undefined, {
    authorization: `Bearer bot_${webhook.token.slice('hook_'.length)}`,
  });
  assertRefused(asBot, 401, 'token_invalid');
});

const FORM = { 'content-type': 'application/x-www-form-urlencoded' };
const inForm = (value: unknown) =>
  `payload=${encodeURIComponent(typeof value === 'string' ? value : JSON.stringify(value))}`;

/** Sends bytes as they are. */
async function sendForm(
  webhook: Pick<MadeWebhook, 'path'>,
  body: string | Buffer,
  headers: Readonly<Record<string, string>> = FORM,
): Promise<Reply<Message>> {
  return await request('POST', `${running.server.messaging}${webhook.path}`, { body, headers });
}

test('BOT-01 a webhook takes its JSON in a form, as senders for other servers have it', async () => {
  const conversation = await room();
  const webhook = await made(conversation);
  const text = 'It is out: 1 + 1 = 2 & more, 100% «наконец» 🎉';
  const posted = await sendForm(webhook, inForm({ text, client_msg_id: 'one' }));
  assert.equal(posted.status, 201, posted.text);
  const spaced = await sendForm(webhook, 'payload=%7B%22text%22%3A+%22two+words%22%7D', {
    'content-type': 'application/x-www-form-urlencoded; charset=UTF-8',
  });
  assert.equal(spaced.status, 201, spaced.text);
  // As long as a text may be, each character nine bytes of the form.
  const long = '字'.repeat(TEXT_LENGTH_MAX);
  assert.equal((await sendForm(webhook, inForm({ text: long }))).status, 201);
  const { body } = await running.server.api<{ items: Message[] }>(
    people.bob,
    'GET',
    `/v1/conversations/${conversation}/messages`,
  );
  assert.deepEqual(
    body.items.map((message) => message.body),
    [text, 'two words', long],
  );
  assert.equal((await sendForm(webhook, inForm({ text: 'again', client_msg_id: 'one' }))).status, 200);
});

test('BOT-01 hostile forms at a webhook are refused with their codes, and nowhere else is a form taken', async () => {
  const webhook = await made(await room());
  const good = inForm({ text: 'hello' });
  const cases: [
    body: string | Buffer,
    code: Parameters<typeof assertRefused>[2],
    field?: string | undefined,
    status?: number,
  ][] = [
    ['', 'field_invalid', 'payload'],
    ['&', 'field_invalid', 'payload'],
    ['payload', 'body_invalid_json'],
    ['payload=', 'body_invalid_json'],
    ['payload={"text":"hel', 'body_invalid_json'],
    [`${good}&${good}`, 'field_invalid', 'payload'],
    [`${good}&`, 'field_invalid', 'payload'],
    [`${good}&text=hello`, 'field_unknown', 'text'],
    [`token=secret&${good}`, 'field_unknown', 'token'],
    ['text=hello', 'field_unknown', 'text'],
    ['__proto__=x', 'field_unknown', '__proto__'],
    ['%00=x', 'field_invalid', 'payload'],
    [`${'x'.repeat(5_000)}=1`, 'field_unknown', 'x'.repeat(100)],
    ['payload=%7B%22text%22%3A%22%', 'body_invalid_utf8'],
    ['payload=%FF', 'body_invalid_utf8'],
    ['payload=%ED%A0%80', 'body_invalid_utf8'],
    [Buffer.from('payload=\xff', 'latin1'), 'body_invalid_utf8'],
    [inForm('{"text":"\\ud800"}'), 'body_invalid_json'],
    [inForm('{"text":"\\u0000"}'), 'body_invalid_json'],
    [inForm('{"__proto__":{"text":"x"}}'), 'body_invalid_json'],
    [inForm(`${'['.repeat(50)}${']'.repeat(50)}`), 'body_invalid_json'],
    [inForm({ text: 'hello', user: 'alice' }), 'field_unknown', 'user'],
    [inForm({ text: '{"action":"invite"}' }), 'call_step_is_signalling', undefined, 410],
    [`payload=${'x'.repeat(WEBHOOK_FORM_BYTES_MAX - 'payload='.length)}`, 'body_invalid_json'],
    [`payload=${'x'.repeat(WEBHOOK_FORM_BYTES_MAX - 'payload='.length + 1)}`, 'body_too_large'],
  ];
  for (const [body, code, field, status = 400] of cases) {
    const reply = await sendForm(webhook, body);
    assertRefused(reply, status, code, field);
  }
  const odd = { 'content-type': 'application/x-www-form-urlencoded; charset=latin1' };
  assertRefused(await sendForm(webhook, good, odd), 400, 'body_not_json');
  const multipart = { 'content-type': 'multipart/form-data; boundary=x' };
  assertRefused(await sendForm(webhook, good, multipart), 400, 'body_not_json');
  const post = { path: `/v1/conversations/${webhook.conversation_id}/messages` };
  const authorization = `Bearer ${people.alice.session.token}`;
  assertRefused(
    await sendForm(post, inForm({ kind: 'text', body: 'x' }), { ...FORM, authorization }),
    400,
    'body_not_json',
  );
});

test('BOT-01 a webhook has a rate of its own: one post beyond it is 429 with the seconds to wait', async () => {
  const webhook = await made(await room());
  const replies: Reply<Message>[] = [];
  // One a second comes back meanwhile.
  for (
    let number = 0;
    replies.every(({ status }) => status === 201) && number <= 2 * WEBHOOK_POSTS_BURST;
    number += 1
  ) {
    replies.push(await send(webhook, { text: `number ${number}` }));
  }
  assert.ok(replies.slice(0, WEBHOOK_POSTS_BURST).every(({ status }) => status === 201));
  const refused = replies.find(({ status }) => status !== 201);
  assert.ok(refused !== undefined);
  assertRefused(refused, 429, 'rate_limited');
  assert.ok(Number(refused.headers.get('retry-after')) >= 1);
});

test('BOT-01 a room has so many webhooks and no more', async () => {
  const conversation = await room();
  for (let number = 0; number < WEBHOOKS_PER_CONVERSATION_MAX; number += 1) {
    // In the console, so that no person's rate is met.
    const reply = await running.console('POST', `/conversations/${conversation}/webhooks`, { name: `n${number}` });
    assert.equal(reply.status, 201, reply.text);
  }
  assertRefused(await make(conversation), 409, 'webhooks_full');
});

test('BOT-01 the console makes, lists and revokes webhooks, and never shows a token again', async () => {
  const conversation = await room();
  const path = `/conversations/${conversation}/webhooks`;
  const reply = await running.console<MadeWebhook>('POST', path, { name: 'Alarms' });
  assert.equal(reply.status, 201, reply.text);
  assert.equal((await send(reply.body, { text: 'fire' })).status, 201);
  const listed = await until(async () => {
    const found = await running.console<{ items: Webhook[] }>('GET', path);
    return found.body.items[0]?.last_used_at === null ? undefined : found;
  }, 'the last use');
  assert.ok(!listed.text.includes(reply.body.token.slice(28)));
  assert.deepEqual(Object.keys(listed.body.items[0] ?? {}), [
    ...['id', 'name', 'conversation_id', 'sender', 'created_by', 'created_at', 'last_used_at', 'last_used_address'],
  ]);
  const own = listed.body.items[0];
  const all = await running.console<{ items: Webhook[]; next: string | null }>('GET', '/webhooks');
  assert.deepEqual(
    all.body.items.find(({ id }) => id === reply.body.id),
    own,
  );
  assert.ok(all.body.items.some(({ conversation_id: id }) => id !== conversation));
  const first = await running.console<{ items: Webhook[]; next: string | null }>('GET', '/webhooks?limit=1');
  assert.deepEqual([first.body.items, first.body.next], [all.body.items.slice(0, 1), all.body.items[0]?.id]);
  const second = await running.console<{ items: Webhook[] }>('GET', `/webhooks?limit=1&after=${first.body.next}`);
  assert.deepEqual(second.body.items, all.body.items.slice(1, 2));
  assert.equal((await running.console('DELETE', `${path}/${reply.body.id}`)).status, 204);
  assertRefused(await running.console('DELETE', `${path}/${reply.body.id}`), 404, 'webhook_not_found');
  assert.deepEqual((await running.console('GET', '/conversations/none/webhooks')).body, { items: [], next: null });
  const absent = `/conversations/c_${'0'.repeat(22)}/webhooks`;
  assertRefused(await running.console('POST', absent, { name: 'Lost' }), 403, 'conversation_forbidden');
});

test('CRD-04 a post by a webhook is in the audit trail, with the address behind the proxies that are trusted', async () => {
  const webhook = await made(await room());
  const behind: [forwarded: string, address: string][] = [
    ['203.0.113.7', '203.0.113.7'],
    // What is left of the first that is not trusted anybody may have written.
    ['8.8.8.8, 203.0.113.8, 10.1.2.3', '203.0.113.8'],
    ['nonsense', '127.0.0.1'],
    ['', '127.0.0.1'],
  ];
  for (const [forwarded] of behind) {
    assert.equal((await send(webhook, { text: 'hi' }, { 'x-forwarded-for': forwarded })).status, 201);
  }
  const entries = await until(async () => {
    const path = `/audit?actor=webhook:${webhook.id}&limit=50`;
    const { body } = await running.console<{ items: ShownEntry[] }>('GET', path);
    return body.items.length >= behind.length ? body.items.toReversed() : undefined;
  }, 'the entries');
  // Each shard hands over what came to it, so that two of one moment may stand the other way round.
  assert.deepEqual(
    entries.map(({ address, event, about }) => `${event} ${address} ${about}`).toSorted(),
    behind.map(([, address]) => `webhook.request ${address} conversation:${webhook.conversation_id}`).toSorted(),
  );
});
