/** Connections that serve several requests, and requests that are given up while their write is under way. */
import assert from 'node:assert/strict';
import { connect as connectTcp } from 'node:net';
import { after, before, test } from 'node:test';
import { checkFolder } from '#storage/check/check.ts';
import { openBesideStores } from '#test/support/process.ts';
import { startServer, type Person, type TestServer } from '#test/support/server.ts';
import { deadline, PATIENCE_MILLIS, until } from '#test/support/waiting.ts';
import { headOf, RawConnection } from '#test/messaging/raw-http.ts';
import { assertRefused, post, say, start } from '#test/messaging/conversing.ts';

let server: TestServer;
let ann: Person;

before(async () => {
  server = await startServer({ shards: 2 });
  ann = await server.person('ann');
});

after(async () => {
  await server.stop();
});

/** A whole post as it goes over the wire. */
function postOf(room: string, id: string): string {
  const body = JSON.stringify({ kind: 'text', body: `text of ${id}`, client_msg_id: id });
  const headers = ['content-type: application/json', `content-length: ${body.length}`];
  return headOf(`POST /v1/conversations/${room}/messages`, ann, headers) + body;
}

test('ERR-07 answers with 204, to HEAD, to a preflight and with a body follow each other on one connection', async (t) => {
  const { id } = await start(server, ann, 'room', []);
  const connection = new RawConnection(server);
  t.after(() => connection.socket.destroy());
  for (let round = 1; round <= 3; round += 1) {
    connection.socket.write(headOf(`DELETE /v1/conversations/${id}/draft`, ann));
    assert.deepEqual(await connection.answer(), { status: 204, body: undefined });
    connection.socket.write(headOf('HEAD /healthz', ann));
    assert.deepEqual(await connection.answer({ toHead: true }), { status: 200, body: undefined });
    connection.socket.write(headOf('HEAD /v1/inbox', ann));
    assert.deepEqual(await connection.answer({ toHead: true }), { status: 404, body: undefined });
    connection.socket.write(headOf('OPTIONS /v1/inbox', undefined, ['origin: https://nobody.test']));
    assert.deepEqual(await connection.answer(), { status: 204, body: undefined });
    connection.socket.write(headOf('GET /v1/nowhere', ann));
    assertRefused(await connection.answer(), 404, 'path_not_found');
    connection.socket.write(postOf(id, `kept-${round}`));
    assert.equal(((await connection.answer()).body as { seq: number }).seq, round);
  }
});

test('ERR-07 10,000 bytes of headers leave their connection good, and more than may be end it alone', async (t) => {
  const { id } = await start(server, ann, 'room', []);
  const connection = new RawConnection(server);
  t.after(() => connection.socket.destroy());
  for (let round = 0; round < 2; round += 1) {
    connection.socket.write(headOf('GET /v1/me/capabilities', ann, [`x-padding: ${'a'.repeat(10_000)}`]));
    assert.equal((await connection.answer()).status, 200);
  }
  const large = new RawConnection(server);
  large.socket.write(headOf('GET /v1/me/capabilities', ann, [`x-padding: ${'a'.repeat(40_000)}`]));
  assert.doesNotMatch(await large.ending(), /^HTTP\/1\.1 2/);
  connection.socket.write(postOf(id, 'after'));
  assert.equal((await connection.answer()).status, 201);
});

test('MSG-03 MSG-04 a post behind one that is not answered yet ends the connection, and repeats settle both', async () => {
  const { id } = await start(server, ann, 'room', []);
  const connection = new RawConnection(server);
  // The socket library answers pipelined reads in order, and takes no request before an answer that is still to come.
  const count = 10;
  connection.socket.write(Array.from({ length: count }, (_, at) => postOf(id, `piped-${at}`)).join(''));
  assert.equal(await connection.ending(), '');
  const settled: [number, number][] = [];
  for (let at = 0; at < count; at += 1) {
    const form = { kind: 'text', body: `text of piped-${at}`, client_msg_id: `piped-${at}` };
    const { status, body } = await post(server, ann, id, form);
    settled.push([status, body.seq]);
  }
  assert.ok(settled[0]?.[0] === 200 || settled[0]?.[0] === 201);
  assert.deepEqual(
    settled.slice(1),
    Array.from({ length: count - 1 }, (_, at) => [201, at + 2]),
  );
});

test('MSG-03 MSG-04 posts given up while their write is under way are stored whole or not at all, and settled by a repeat', async () => {
  const own = await startServer({ shards: 2 });
  try {
    const person = await own.person('ann');
    const { id } = await start(own, person, 'room', []);
    await say(own, person, id, 'first', 'first');
    const base = openBesideStores(own.pid);
    const port = Number(new URL(own.messaging).port);
    const count = 200;
    const givenUp = Array.from({ length: count }, async (_, at) => {
      const tcp = connectTcp({ host: '127.0.0.1', port });
      tcp.on('error', () => undefined);
      const closed = new Promise<void>((resolve) => tcp.once('close', () => resolve()));
      const body = JSON.stringify({ kind: 'text', body: `text of ${at}`, client_msg_id: `gone-${at}` });
      const headers = ['content-type: application/json', `content-length: ${body.length}`];
      const whole = headOf(`POST /v1/conversations/${id}/messages`, person, headers) + body;
      // The kernel has the whole post, the server may have begun with it; then the connection is reset.
      await new Promise<void>((resolve) => tcp.write(whole, () => resolve()));
      if (at % 2 === 0) await new Promise((resolve) => setImmediate(resolve));
      tcp.resetAndDestroy();
      await deadline(closed, PATIENCE_MILLIS, 'the end of the connection');
    });
    await Promise.all(givenUp);
    const head = async () =>
      (await own.api<{ head_seq: number }>(person, 'GET', `/v1/conversations/${id}`)).body.head_seq;
    // What was under way is settled when a post of the same room, made later, is.
    await say(own, person, id, 'last', 'last');
    const stored = await head();
    assert.ok(stored > 2, 'none of the posts had begun');
    const statuses: number[] = [];
    for (let at = 0; at < count; at += 1) {
      const reply = await post(own, person, id, { kind: 'text', body: `text of ${at}`, client_msg_id: `gone-${at}` });
      assert.equal(reply.body.body, `text of ${at}`);
      statuses.push(reply.status);
    }
    assert.equal(statuses.filter((status) => status === 200).length, stored - 2);
    assert.equal(statuses.filter((status) => status === 201).length, count - (stored - 2));
    assert.equal(await head(), count + 2);
    await until(() => openBesideStores(own.pid) <= base + 4, 'the connections to be let go');
    assert.equal(await own.end('SIGTERM'), 0);
    assert.deepEqual((await checkFolder(own.folder)).problems, []);
  } finally {
    await own.stop();
  }
});
