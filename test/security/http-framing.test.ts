/** Requests that two readers may take for two different ones: refused before any handler, and the connection is closed (ERR-07). */
import assert from 'node:assert/strict';
import { connect } from 'node:net';
import { test } from 'node:test';
import { shareServer } from '#test/support/shared-server.ts';
import { deadline, PATIENCE_MILLIS } from '#test/support/waiting.ts';

const { server } = await shareServer([]);
const HOST = 'host: parley.test';

const AMBIGUOUS: Readonly<Record<string, readonly [lines: readonly string[], body: string]>> = {
  'two lengths that differ': [[HOST, 'content-length: 2', 'content-length: 3'], '{}x'],
  'two lengths that agree': [[HOST, 'content-length: 2', 'content-length: 2'], '{}'],
  'a length and a coding': [[HOST, 'content-length: 2', 'transfer-encoding: chunked'], '2\r\n{}\r\n0\r\n\r\n'],
  'a coding behind chunked': [[HOST, 'transfer-encoding: chunked, identity'], '2\r\n{}\r\n0\r\n\r\n'],
  'two codings': [[HOST, 'transfer-encoding: chunked', 'transfer-encoding: identity'], '2\r\n{}\r\n0\r\n\r\n'],
  'a length that is a list': [[HOST, 'content-length: 2, 3'], '{}x'],
  'a length with a sign': [[HOST, 'content-length: +2'], '{}'],
  'another coding than chunked': [[HOST, 'transfer-encoding: xchunked'], '2\r\n{}\r\n0\r\n\r\n'],
  'two hosts': [[HOST, 'host: other.test', 'content-length: 2'], '{}'],
};

const NEXT = `GET /healthz HTTP/1.1\r\n${HOST}\r\n\r\n`;

/** Sends a request, and what comes behind it in the same breath; what is answered until the connection ends or both are. */
async function exchange(
  url: string,
  lines: readonly string[],
  body: string,
  next: string,
  path = '/v1/nothing-here',
): Promise<{ text: string; ended: boolean }> {
  const { hostname, port } = new URL(url);
  const socket = connect({ host: hostname, port: Number(port) });
  const chunks: Buffer[] = [];
  const { promise, resolve } = Promise.withResolvers<boolean>();
  socket.on('data', (bytes: Buffer) => {
    chunks.push(bytes);
    if (Buffer.concat(chunks).toString('latin1').split('HTTP/1.1 ').length > 2) resolve(false);
  });
  socket.on('error', () => resolve(true));
  socket.on('close', () => resolve(true));
  const head = [`POST ${path} HTTP/1.1`, 'content-type: application/json', ...lines, '', ''].join('\r\n');
  socket.write(`${head}${body}${next}`);
  const ended = await deadline(promise, PATIENCE_MILLIS, 'an answer');
  socket.destroy();
  return { text: Buffer.concat(chunks).toString('latin1'), ended };
}

for (const listener of ['coordinator', 'messaging', 'calendar'] as const) {
  for (const [what, [lines, body]] of Object.entries(AMBIGUOUS)) {
    test(`ERR-07 ${what} on ${listener}: refused, and nothing behind it is read`, async () => {
      const alone = await exchange(server[listener], lines, body, '');
      assert.match(alone.text, /^HTTP\/1\.1 400 /);
      // The socket library refuses one of these by itself, with a body of its own.
      assert.doesNotMatch(alone.text, /"code":"(?!request_malformed)/);
      assert.equal(alone.ended, true);
      // With more behind it the connection may be cut before the answer is out.
      const { text, ended } = await exchange(server[listener], lines, body, NEXT);
      assert.match(text, /^(?:$|HTTP\/1\.1 400 )/);
      assert.equal(ended, true, text);
      assert.ok(text.split('HTTP/1.1 ').length <= 2, text);
    });
  }
  test(`a request that nobody can misread is answered on ${listener}, and so is the next`, async () => {
    const { text } = await exchange(server[listener], [HOST, 'content-length: 2'], '{}', NEXT);
    assert.deepEqual(
      [...text.matchAll(/HTTP\/1\.1 (\d{3})/g)].map((match) => match[1]),
      ['404', '200'],
    );
  });
}

test('a header that comes twice counts once, the first', async () => {
  const [empty, bad] = ['authorization:', 'authorization: Bearer nobody'];
  for (const [lines, code] of [
    [[bad, empty], 'token_invalid'],
    [[empty, bad], 'token_missing'],
  ] as const) {
    const { text } = await exchange(
      server.messaging,
      [HOST, 'content-length: 2', ...lines],
      '{}',
      NEXT,
      '/v1/conversations',
    );
    assert.match(text, new RegExp(`^HTTP/1\\.1 401 [^]*"code":"${code}"`));
  }
});
