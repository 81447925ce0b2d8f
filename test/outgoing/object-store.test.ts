/** An object store that means harm: what it makes the server hold, against a server of this test's own (VND-10). */
import assert from 'node:assert/strict';
import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { test } from 'node:test';
import { ANSWER_BYTES_MAX, S3Store } from '#src/outgoing/object-store.ts';
import { Refusal } from '#src/protocol/errors.ts';

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
