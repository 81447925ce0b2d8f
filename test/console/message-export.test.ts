/** The export of messages over the running server: whole, in order, bounded, audited before it begins. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect } from 'node:net';
import { after, before, test } from 'node:test';
import { EXPORT_PAGE, EXPORTS_MAX } from '#src/compliance/message-export.ts';
import { attach, upload } from '#test/messaging/attaching.ts';
import type { Person } from '#test/support/server.ts';
import { until } from '#test/support/waiting.ts';
import { CALLER_PASSWORD } from './callers.ts';
import { startConsoleServer, type ConsoleServer } from './console-server.ts';

const POSTED = 8 * EXPORT_PAGE + 7;
/** As long as a text may be: so that an export is more than what fits into the connection. */
const LONG = 'heron '.repeat(2_600);

let host: ConsoleServer;
let someone: Person;
let room: string;
before(async () => {
  // Far less than an export may take: the deadline of requests is not that of streams.
  host = await startConsoleServer({ PARLEY_REQUEST_SECONDS: '1' }, { shards: 2 });
  const session = await host.server.signIn('someone', CALLER_PASSWORD);
  someone = { username: 'someone', password: CALLER_PASSWORD, session };
  const form = { kind: 'room', title: 'exported', participants: ['viewer'] };
  room = (await host.server.api<{ id: string }>(someone, 'POST', '/v1/conversations', form)).body.id;
  for (let n = 1; n <= POSTED; n += 1) await post(n, n % 10 === 0 ? LONG : `message ${n}`);
});
after(async () => await host.stop());

async function post(n: number, body: string): Promise<void> {
  const form = { kind: 'text', body, client_msg_id: `m-${n}` };
  const reply = await host.server.api(someone, 'POST', `/v1/conversations/${room}/messages`, form);
  assert.equal(reply.status, 201, reply.text);
}

interface Line {
  readonly conversation?: { id: string; head_seq: number };
  readonly participant?: { user: string };
  readonly message?: { seq: number; sender: string; created_at: string };
  readonly end?: { messages: number };
}
const open = async (query: string, signal?: AbortSignal) =>
  await fetch(`${host.server.coordinator}/admin/api/message-export?${query}`, {
    headers: host.callers.owner,
    ...(signal === undefined ? {} : { signal }),
  });
const linesOf = (text: string) =>
  text
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line) as Line);
const started = async () => {
  const path = '/audit?event=message_export.started&limit=200';
  return (await host.call<{ items: { about: string; details: object }[] }>('owner', 'GET', path)).body.items;
};

test('an export of several pages is whole and in order while posts go on', async () => {
  const response = await open(`conversation=${room}`);
  assert.deepEqual([response.status, response.headers.get('content-type')], [200, 'application/x-ndjson']);
  assert.equal((await started())[0]?.about, `conversation:${room}`);
  const [text] = await Promise.all([
    response.text(),
    (async () => {
      for (let n = POSTED + 1; n <= POSTED + 40; n += 1) await post(n, 'meanwhile');
    })(),
  ]);
  const lines = linesOf(text);
  const head = lines[0]?.conversation?.head_seq as number;
  const messages = lines.flatMap(({ message }) => (message === undefined ? [] : [message]));
  assert.deepEqual(
    messages.map(({ seq }) => seq),
    Array.from({ length: head }, (_, at) => at + 1),
  );
  assert.ok(messages.length >= POSTED);
  assert.deepEqual(lines.at(-1), { end: { messages: head } });
  const people = lines.flatMap(({ participant }) => (participant === undefined ? [] : [participant.user]));
  assert.deepEqual(people, ['someone', 'viewer']);
});

test('an export keeps to its instants', async () => {
  const all = linesOf(await (await open(`conversation=${room}`)).text());
  const messages = all.flatMap(({ message }) => (message === undefined ? [] : [message]));
  const [from, to] = [messages[60]?.created_at as string, messages[120]?.created_at as string];
  const query = `conversation=${room}&from=${encodeURIComponent(from)}&to=${encodeURIComponent(to)}`;
  const lines = linesOf(await (await open(query)).text());
  const found = lines.flatMap(({ message }) => (message === undefined ? [] : [message.seq]));
  const expected = messages.filter(({ created_at: at }) => at >= from && at < to).map(({ seq }) => seq);
  assert.deepEqual(found, expected);
  assert.deepEqual(lines.at(-1), { end: { messages: expected.length } });
});

test('a secret chat is exported like any other: it is two people’s, and the server reads it', async () => {
  const chat = { kind: 'secret', participants: ['viewer'] };
  const { id } = (await host.server.api<{ id: string }>(someone, 'POST', '/v1/conversations', chat)).body;
  const form = { kind: 'text', body: 'between the two of us', client_msg_id: 'secret' };
  assert.equal((await host.server.api(someone, 'POST', `/v1/conversations/${id}/messages`, form)).status, 201);
  assert.ok((await (await open(`conversation=${id}`)).text()).includes('"between the two of us"'));
});

test('an export of nothing, or of no instant, is refused and not audited', async () => {
  const earlier = (await started()).length;
  for (const [query, status, code] of [
    ['conversation=c_0123456789abcdefghjkmn', 403, 'conversation_forbidden'],
    ['conversation=nothing', 400, 'query_invalid'],
    [`conversation=${room}&from=yesterday`, 400, 'query_invalid'],
    [`conversation=${room}&pages=2`, 400, 'query_invalid'],
    ['', 400, 'query_invalid'],
  ] as const) {
    const response = await open(query);
    assert.deepEqual([response.status, ((await response.json()) as { code: string }).code], [status, code], query);
  }
  assert.equal((await started()).length, earlier);
});

test('exports that nobody reads to the end take their places until they are left', async () => {
  // Enough that the connection cannot hold it all.
  for (let n = 0; n < 400; n += 1) await post(10_000 + n, LONG);
  const stop = new AbortController();
  // Kept until the end: a response that is collected as garbage is cancelled.
  const held: Response[] = [];
  for (let n = 0; n < EXPORTS_MAX; n += 1) held.push(await open(`conversation=${room}`, stop.signal));
  assert.deepEqual(
    held.map(({ status }) => status),
    held.map(() => 200),
  );
  const from = performance.now();
  for (let n = 0; performance.now() - from < 1_500; n += 1) await post(20_000 + n, 'the deadline of requests passes');
  const busy = await open(`conversation=${room}`);
  assert.deepEqual([busy.status, ((await busy.json()) as { code: string }).code], [503, 'busy']);
  assert.equal(held.length, EXPORTS_MAX);
  stop.abort();
  await until(async () => {
    const response = await open(`conversation=${room}`);
    await response.text();
    return response.status === 200;
  }, 'a place for another export');
});

test('a caller who is gone before the first line leaves no place taken', async () => {
  const { hostname, port } = new URL(host.server.coordinator);
  const { 'x-admin-token': token } = host.callers.owner;
  const count = (await started()).length;
  for (let n = 0; n < 4 * EXPORTS_MAX; n += 1) {
    const socket = connect(Number(port), hostname);
    await once(socket, 'connect');
    const head = `GET /admin/api/message-export?conversation=${room} HTTP/1.1\r\nHost: h\r\nX-Admin-Token: ${token}\r\n\r\n`;
    await new Promise<void>((resolve) => void socket.write(head, () => resolve()));
    socket.destroy();
  }
  await until(async () => (await started()).length > count, 'the first of them to be audited');
  const { text } = await until(async () => {
    const answers = await Promise.all([open(`conversation=${room}`), open(`conversation=${room}`)]);
    const texts = await Promise.all(answers.map(async (response) => await response.text()));
    return answers.every(({ status }) => status === 200) && { text: texts[0] ?? '' };
  }, 'both places to be free');
  assert.ok(text.endsWith('}}\n'));
});

test('an export says who was there when each message was posted, and which content a file has', async () => {
  const form = { kind: 'room', title: 'comings and goings', participants: [] };
  const { id } = (await host.server.api<{ id: string }>(someone, 'POST', '/v1/conversations', form)).body;
  const at = `/v1/conversations/${id}`;
  const ok = async (method: string, path: string, body?: object) => {
    const reply = await host.server.api<{ seq?: number }>(someone, method, `${at}${path}`, body);
    assert.ok(reply.status < 300, reply.text);
  };
  await ok('POST', '/messages', { kind: 'text', body: 'alone' });
  await ok('POST', '/participants', { participants: ['viewer'] });
  await ok('POST', '/messages', { kind: 'text', body: 'together' });
  const attachment = await upload(host.server, someone, Buffer.from('abc'), 'a.txt');
  const posted = await attach(host.server, someone, id, attachment);
  assert.equal(posted.status, 201, posted.text);
  await ok('DELETE', '/participants/viewer');
  await ok('POST', '/messages', { kind: 'text', body: 'alone again' });
  const text = await (await open(`conversation=${id}`)).text();
  interface Tell {
    readonly membership?: { action: string; participants: { user: string }[]; after_seq: number };
    readonly message?: { seq: number };
    readonly content?: string;
  }
  const told = text
    .trimEnd()
    .split('\n')
    .flatMap((raw) => {
      const { content, membership, message } = JSON.parse(raw) as Tell;
      if (message !== undefined) return [content === undefined ? message.seq : [message.seq, content]];
      if (membership === undefined) return [];
      return [[membership.action, membership.after_seq, ...membership.participants.map(({ user }) => user)]];
    });
  assert.deepEqual(told, [
    ['joined', 0, 'someone'],
    1,
    ['joined', 1, 'viewer'],
    2,
    // BLAKE3 of abc, behind its b.
    [3, 'b6437b3ac38465133ffb63b75273a8db548c558465d79db03fd359c6cd5bd9d85'],
    ['removed', 3, 'viewer'],
    4,
  ]);
});
