import assert from 'node:assert/strict';
import { once } from 'node:events';
import { Agent, get, type IncomingMessage } from 'node:http';
import { test } from 'node:test';
import { JournalChunks, CHUNKS_BYTES_MAX } from '#src/hosts/journal-chunks.ts';
import { ASK_MILLIS, NodeAsks, OPEN_ASKS_MAX, POLLS_MAX, REDELIVER_MILLIS, type Ask } from '#src/hosts/node-asks.ts';
import { Refusal, type ErrorCode } from '#src/protocol/errors.ts';
import { cutJournal } from '#src/protocol/hosts/journal-text.ts';
import { ASK_POLL_MILLIS, JOURNAL_BODY_BYTES_MAX, JOURNAL_CHUNK_BYTES_MAX } from '#src/protocol/hosts/nodes.ts';
import { until } from '#test/support/waiting.ts';
import { HandClock } from './coordinator-fixture.ts';
import { OWNER, startNodePlane, VENDOR } from './node-fixture.ts';

const refusal = (code: ErrorCode) => (error: unknown) => {
  assert.ok(error instanceof Refusal, String(error));
  assert.equal(error.code, code);
  return true;
};
const ASK = { unit: 'postfix@-.service', lines: 100 };

test('NOD-01 VND-12 VND-13 an ask reaches the node at once, and its chunk is shared', async (context) => {
  const { accounts, ask, door, join, waitForAsks } = await startNodePlane(context);
  const { id, token } = await join('mail-1');
  const { answer } = await waitForAsks(token);
  const asked = await ask('nodes', 'askForJournal', { by: VENDOR, id, body: ASK });
  assert.equal(asked.status, 202);
  const { id: askId } = asked.body;
  assert.deepEqual(asked.body, {
    id: askId,
    unit: 'postfix@-.service',
    lines: 100,
    actor: 'vendor:vst_1',
    asked_at: '2026-11-21T08:00:00.000Z',
    expires_at: '2026-11-21T08:01:00.000Z',
  });
  const { event, actor, address, subject, details } = accounts.auditEntries({ limit: 1 })[0] ?? assert.fail();
  assert.deepEqual(
    { event, actor, address, subject, details },
    {
      event: 'node.logs',
      actor: 'vendor:vst_1',
      address: '192.0.2.7',
      subject: `node:${id}`,
      details: { node: id, unit: 'postfix@-.service', lines: 100 },
    },
  );
  assert.deepEqual((await answer).json.items, [{ id: askId, kind: 'journal', ...ASK }]);
  const before = (await ask('nodes', 'readJournal', { id })).body;
  assert.deepEqual([before.chunk, before.open.length], [null, 1]);
  const text = '2026-11-21T07:59:59+0000 mail-1 postfix[1]: to=<alice@example.org>\n';
  assert.equal((await door('POST', 'self/journal', { token, body: { ask: askId, text } })).status, 200);
  for (const by of [OWNER, VENDOR]) {
    assert.deepEqual((await ask('nodes', 'readJournal', { by, id })).body, {
      chunk: {
        ask: askId,
        unit: 'postfix@-.service',
        lines: 100,
        actor: 'vendor:vst_1',
        asked_at: '2026-11-21T08:00:00.000Z',
        received_at: '2026-11-21T08:00:00.000Z',
        journal: text,
        problem: null,
        cut_bytes: 0,
      },
      open: [],
    });
  }
});

test('NOD-01 an agent that lies about its asks changes nothing', async (context) => {
  const { ask, door, join } = await startNodePlane(context);
  const [one, two] = [await join('one'), await join('two')];
  const { body } = await ask('nodes', 'askForJournal', { id: one.id, body: ASK });
  const post = async (token: string, given: string) => {
    const { status, json } = await door('POST', 'self/journal', { token, body: { ask: given, text: 'lies' } });
    return [status, json.code ?? 'ok'];
  };
  assert.deepEqual(await post(one.token, body.id), [404, 'ask_not_found'], 'before it was fetched');
  assert.equal((await door('GET', 'self/asks', { token: one.token })).json.items.length, 1);
  assert.deepEqual(await post(two.token, body.id), [404, 'ask_not_found'], "another node's");
  assert.deepEqual(await post(one.token, `ask_${'0'.repeat(22)}`), [404, 'ask_not_found'], 'never made');
  assert.deepEqual(await post(one.token, body.id), [200, 'ok']);
  assert.deepEqual(await post(one.token, body.id), [404, 'ask_not_found'], 'a second time');
  assert.equal((await ask('nodes', 'readJournal', { id: two.id })).body.chunk, null);
});

test('an ask that nobody answers expires, and its place is free again', async (context) => {
  const { accounts, ask, clock, door, join } = await startNodePlane(context);
  const { id, token } = await join('one');
  const open = async () => (await ask('nodes', 'askForJournal', { id, body: ASK })).body.id as string;
  const first = await open();
  for (let at = 1; at < OPEN_ASKS_MAX; at += 1) await open();
  const entries = accounts.auditHead.number;
  await assert.rejects(open(), (error) => {
    assert.equal((error as Refusal).retryAfter, 60);
    return refusal('asks_full')(error);
  });
  assert.equal(accounts.auditHead.number, entries, 'what was not asked is not audited');
  assert.equal((await door('GET', 'self/asks', { token })).json.items.length, OPEN_ASKS_MAX);
  clock.advance(ASK_MILLIS / 1000);
  const late = await door('POST', 'self/journal', { token, body: { ask: first, text: '' } });
  assert.deepEqual([late.status, late.json.code], [404, 'ask_not_found']);
  assert.deepEqual((await ask('nodes', 'readJournal', { id })).body, { chunk: null, open: [] });
  await open();
});

test('VND-11 a vendor asks four times a minute, an administrator as often as there is room', async (context) => {
  const { ask, clock, door, join } = await startNodePlane(context);
  const [{ id }, other] = [await join('one'), await join('two')];
  for (let at = 0; at < 4; at += 1) await ask('nodes', 'askForJournal', { by: VENDOR, id, body: ASK });
  await assert.rejects(ask('nodes', 'askForJournal', { by: VENDOR, id: other.id, body: ASK }), refusal('rate_limited'));
  await ask('nodes', 'askForJournal', { by: OWNER, id, body: ASK });
  clock.advance(60);
  await ask('nodes', 'askForJournal', { by: VENDOR, id: other.id, body: ASK });
  assert.equal((await door('GET', 'self/asks', { token: other.token })).json.items.length, 1);
});

test('an ask is given again when the poll that took it is not followed by an answer', async () => {
  const clock = new HandClock();
  const asks = new NodeAsks(clock);
  const { signal } = new AbortController();
  const ask = asks.reserve('n', { ...ASK, actor: 'user:root' });
  assert.deepEqual(asks.openOf('n'), [], 'a reserved ask is nobody’s yet');
  asks.publish(ask);
  assert.equal((await asks.poll('n', signal)).length, 1);
  const waits = asks.poll('n', signal);
  asks.close();
  assert.deepEqual(await waits, [], 'it is not given twice at once');
  clock.advance(REDELIVER_MILLIS / 1000);
  assert.deepEqual(
    (await asks.poll('n', signal)).map(({ id }) => id),
    [ask.id],
  );
});

test('a connection that is kept for many polls gathers nothing, and one that hangs up leaves no poll', async (context) => {
  const { ask, asks, join, port } = await startNodePlane(context);
  const { id, token } = await join('one');
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  context.after(() => agent.destroy());
  const poll = () =>
    get({ port, host: '127.0.0.1', path: '/v1/nodes/self/asks', headers: { 'x-node-token': token }, agent });
  // One more than the listeners that Node lets gather without a warning, which would fail this file.
  const ports = new Set<number | undefined>();
  for (let at = 0; at < 12; at += 1) {
    const { id: askId } = (await ask('nodes', 'askForJournal', { id, body: ASK })).body;
    const [answer] = (await once(poll(), 'response')) as [IncomingMessage];
    ports.add(answer.socket.localPort);
    answer.resume();
    await once(answer, 'end');
    asks.settle(id, askId);
  }
  assert.equal(ports.size, 1);
  const waiting = poll();
  waiting.on('error', () => undefined);
  await until(() => asks.waitingPolls === 1, 'the poll to wait');
  waiting.destroy();
  await until(() => asks.waitingPolls === 0, 'the poll to be gone');
});

test('a poll ends by its time, by its caller, by newer polls, and by the end of the server', async (context) => {
  context.mock.timers.enable({ apis: ['setTimeout'] });
  const asks = new NodeAsks(new HandClock());
  const { signal } = new AbortController();
  const timed = asks.poll('n', signal);
  context.mock.timers.tick(ASK_POLL_MILLIS);
  assert.deepEqual(await timed, []);
  const gone = new AbortController();
  const left = asks.poll('n', gone.signal);
  gone.abort();
  assert.deepEqual(await left, []);
  const polls = Array.from({ length: POLLS_MAX + 1 }, () => asks.poll('n', signal));
  assert.deepEqual(await polls[0], []);
  assert.equal(asks.waitingPolls, POLLS_MAX);
  asks.close();
  assert.deepEqual(await Promise.all(polls), [[], [], [], [], []]);
  assert.deepEqual([asks.waitingPolls, await asks.poll('n', signal)], [0, []]);
});

test('an oversized journal loses lines at its start and says so', async (context) => {
  const { ask, chunks, door, join } = await startNodePlane(context);
  const { id, token } = await join('one');
  const send = async (text: string, problem?: string) => {
    const asked = await ask('nodes', 'askForJournal', { id, body: ASK });
    await door('GET', 'self/asks', { token });
    return await door('POST', 'self/journal', { token, body: { ask: asked.body.id, text, problem } });
  };
  const line = `${'x'.repeat(1023)}\n`;
  assert.equal((await send(line.repeat(1024))).status, 200);
  assert.deepEqual([chunks.last(id)?.cutBytes, chunks.oversized], [0, 0]);
  assert.equal((await send(`first\n${line.repeat(1023)}last\n`, 'slow disk')).status, 200);
  assert.equal(chunks.last(id)?.cutBytes, 0);
  assert.equal((await send(`first\n${line.repeat(1024)}`)).status, 200);
  const { text = '', cutBytes } = chunks.last(id) ?? {};
  assert.ok(Buffer.byteLength(text) <= JOURNAL_CHUNK_BYTES_MAX);
  assert.equal(text, `[1030 bytes cut here]\n${line.repeat(1023)}`);
  assert.deepEqual([cutBytes, chunks.oversized], [1030, 1]);
  const large = await send('x'.repeat(JOURNAL_BODY_BYTES_MAX));
  assert.deepEqual([large.status, large.json.code], [400, 'body_too_large']);
});

test('one line that is too long is cut between characters', () => {
  const { text, cutBytes } = cutJournal('я'.repeat(JOURNAL_CHUNK_BYTES_MAX));
  assert.match(text, /^\[\d+ bytes cut here\]\nя+$/);
  assert.ok(Buffer.byteLength(text) <= JOURNAL_CHUNK_BYTES_MAX);
  assert.equal(Buffer.byteLength(text.slice(text.indexOf('\n') + 1)) + cutBytes, 2 * JOURNAL_CHUNK_BYTES_MAX);
});

test('the chunks of all nodes together are bounded; the one that came first goes', () => {
  const chunks = new JournalChunks(new HandClock());
  const fits = CHUNKS_BYTES_MAX / JOURNAL_CHUNK_BYTES_MAX;
  const text = 'x'.repeat(JOURNAL_CHUNK_BYTES_MAX);
  for (let at = 0; at <= fits; at += 1) chunks.put({ node: `n${at}` } as Ask, text, undefined);
  assert.equal(chunks.last('n0'), undefined);
  assert.equal(chunks.last('n1')?.text.length, JOURNAL_CHUNK_BYTES_MAX);
  assert.equal(chunks.last(`n${fits}`)?.text.length, JOURNAL_CHUNK_BYTES_MAX);
});
