/** Bytes on the servers' ports that are hardly HTTP. */
import { connect } from 'node:net';
import type { SeededRandom } from '#test/support/random.ts';

/** Whoever has not answered or closed by then is waiting for the rest of a request, and is left. */
const ANSWER_MILLIS = 150;

const SHOTS: readonly string[] = [
  'GET / HTTP/1.1\r\n\r\n',
  'GET /healthz HTTP/9.9\r\nhost: x\r\n\r\n',
  'GET\r\n\r\n',
  'BREW /v1/inbox HTTP/1.1\r\nhost: x\r\n\r\n',
  'GET /v1/inbox HTTP/1.1\r\nhost: x\r\nbad header\r\n\r\n',
  'GET /v1/inbox HTTP/1.1\r\nhost: x\r\n folded: y\r\n\r\n',
  'POST /v1/signal HTTP/1.1\r\nhost: x\r\ncontent-length: -1\r\n\r\n',
  'POST /v1/signal HTTP/1.1\r\nhost: x\r\ncontent-length: 5\r\ncontent-length: 6\r\n\r\nhello!',
  'POST /v1/signal HTTP/1.1\r\nhost: x\r\ncontent-length: 99999999999999999999\r\n\r\n{}',
  'POST /v1/signal HTTP/1.1\r\nhost: x\r\ntransfer-encoding: chunked\r\n\r\nZZ\r\n{}\r\n0\r\n\r\n',
  'POST /v1/signal HTTP/1.1\r\nhost: x\r\ntransfer-encoding: chunked\r\ncontent-length: 4\r\n\r\n2\r\n{}\r\n0\r\n\r\n',
  'POST /v1/auth/login HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\ncontent-length: 100\r\n\r\n{"a"',
  'GET /v1/ws HTTP/1.1\r\nhost: x\r\nupgrade: websocket\r\nconnection: upgrade\r\nsec-websocket-key: x\r\n\r\n',
  `GET /v1/inbox HTTP/1.1\r\nhost: x\r\nx: ${'y'.repeat(20_000)}\r\n\r\n`,
  `GET /${'z'.repeat(9_000)} HTTP/1.1\r\nhost: x\r\n\r\n`,
  'GET /v1/inbox HTTP/1.1\r\nhost: x\r\nauthorization: Bearer \u0000\u0001\r\n\r\n',
  '\u0016\u0003\u0001\u0002\u0000\u0001\u0000',
  '\r\n\r\n\r\n',
];

/** Statuses of the contract, and three that the socket library itself answers to what it cannot parse. */
const STATUSES = new Set([200, 400, 401, 403, 404, 410, 429, 503, 413, 431, 505]);

/** Sends broken HTTP, sometimes damaged further. Answers what was wrong with the reply, or undefined. */
export async function shootRaw(base: string, random: SeededRandom): Promise<string | undefined> {
  const { hostname, port } = new URL(base);
  const text = random.pick(SHOTS);
  const bytes = Buffer.from(text, 'latin1');
  if (random.chance(0.3)) bytes[random.whole(0, bytes.length - 1)] = random.whole(0, 255);
  const answer = await exchange(hostname, Number(port), bytes);
  if (answer === '') return undefined;
  const status = Number(/^HTTP\/1\.1 (\d{3}) /.exec(answer)?.[1] ?? 0);
  if (STATUSES.has(status)) return undefined;
  return `${JSON.stringify(text.slice(0, 200))} answered ${JSON.stringify(answer.slice(0, 300))}`;
}

async function exchange(host: string, port: number, bytes: Buffer): Promise<string> {
  const { promise, resolve } = Promise.withResolvers<string>();
  let answer = '';
  const socket = connect({ host, port });
  const late = setTimeout(() => socket.destroy(), ANSWER_MILLIS);
  socket.on('data', (chunk: Buffer) => {
    answer += chunk.toString('latin1');
    socket.end();
  });
  socket.on('error', () => undefined);
  socket.on('close', () => {
    clearTimeout(late);
    resolve(answer);
  });
  socket.write(bytes);
  return await promise;
}
