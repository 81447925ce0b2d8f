/** An object store that means harm: what it makes the server hold, against a server of this test's own (VND-10). */
import assert from 'node:assert/strict';
import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { test, type TestContext } from 'node:test';
import {
  ANSWER_BYTES_MAX,
  OBJECT_STORE_FAILURES,
  OBJECT_STORE_REST_MILLIS,
  OBJECT_STORE_SOCKETS_MAX,
  S3Store,
} from '#src/outgoing/object-store.ts';
import { Refusal } from '#src/protocol/errors.ts';
import { until } from '#test/support/waiting.ts';

const PIECE = Buffer.alloc(256 * 1024, ' ');
/** Where the store gives up by itself; what lies in the buffers of both ends is far below. */
const GIVEN_MAX = 16 * ANSWER_BYTES_MAX;

for (const status of [200, 500]) {
  test(`VND-10 an answer ${status} without end is cut off, and not held`, async (t) => {
    let given = 0;
    const pour = (response: ServerResponse): void => {
      while (!response.destroyed && given < GIVEN_MAX) {
        given += PIECE.length;
        if (!response.write(PIECE)) return;
      }
      response.end();
    };
    const server = createServer((_, response) => {
      response.writeHead(status, { 'content-type': 'application/xml' });
      response.on('drain', () => pour(response));
      pour(response);
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const endpoint = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    const key = { accessKeyId: 'heron', secretAccessKey: 'egret' };
    const store = new S3Store(
      { endpoint, region: 'us-east-1', bucket: 'parley', ...key },
      { allowPrivateTargets: true, now: Date.now },
    );
    t.after(() => {
      store.close();
      server.closeAllConnections();
      server.close();
    });
    await assert.rejects(store.remove('an-object'), (error: unknown) => {
      return error instanceof Refusal && error.code === 'object_store_unavailable';
    });
    assert.ok(given < GIVEN_MAX, `${given} bytes were taken`);
  });
}

/** A store that a test answers for, and the client of it. */
async function storeOf(
  t: TestContext,
  answer: (response: ServerResponse) => void,
  now: () => number = Date.now,
): Promise<S3Store> {
  const server = createServer((_, response) => answer(response));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const endpoint = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const key = { accessKeyId: 'heron', secretAccessKey: 'egret' };
  const target = { endpoint, region: 'us-east-1', bucket: 'parley', ...key };
  const store = new S3Store(target, { allowPrivateTargets: true, now });
  t.after(() => {
    store.close();
    server.closeAllConnections();
    server.close();
  });
  return store;
}

const found = (response: ServerResponse) =>
  response.writeHead(206, { 'content-length': '4', 'content-range': 'bytes 0-3/4' }).end('egg.');
const unavailable = { code: 'object_store_unavailable' };

test('VND-10 a store that failed so often in a row is left alone for its time, and asked again then', async (t) => {
  let [asked, now, isAway] = [0, 0, true];
  const answer = (response: ServerResponse) => {
    asked += 1;
    if (isAway) response.writeHead(503).end();
    else found(response);
  };
  const store = await storeOf(t, answer, () => now);
  const read = async () => (await store.read('an-object', 0, 3)).toString();
  for (let failure = 1; failure < OBJECT_STORE_FAILURES; failure += 1) await assert.rejects(read(), unavailable);
  isAway = false;
  // One less than that is forgotten with a success.
  assert.equal(await read(), 'egg.');
  isAway = true;
  for (let failure = 0; failure < OBJECT_STORE_FAILURES; failure += 1) await assert.rejects(read(), unavailable);
  isAway = false;
  const before = asked;
  now += OBJECT_STORE_REST_MILLIS - 1;
  await assert.rejects(read(), unavailable);
  assert.equal(asked, before);
  now += 1;
  assert.equal(await read(), 'egg.');
  assert.equal(asked, before + 1);
});

test('VND-10 a store has so many requests of one thread at once, and one more when one is answered', async (t) => {
  const held: ServerResponse[] = [];
  let [open, most] = [0, 0];
  const store = await storeOf(t, (response) => {
    open += 1;
    most = Math.max(most, open);
    held.push(response);
  });
  const reads = Array.from({ length: OBJECT_STORE_SOCKETS_MAX + 1 }, async () => await store.read('an-object', 0, 3));
  const release = (response: ServerResponse | undefined) => {
    open -= 1;
    if (response !== undefined) found(response);
  };
  await until(() => held.length === OBJECT_STORE_SOCKETS_MAX, 'as many requests as there may be');
  release(held[0]);
  await until(() => held.length === OBJECT_STORE_SOCKETS_MAX + 1, 'the last one');
  for (const response of held.slice(1)) release(response);
  assert.equal((await Promise.all(reads)).length, OBJECT_STORE_SOCKETS_MAX + 1);
  assert.equal(most, OBJECT_STORE_SOCKETS_MAX);
});
