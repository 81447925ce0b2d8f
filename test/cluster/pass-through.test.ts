/**
 * What a host that follows hands on, byte for byte: a leader that reads as strictly as one can, and clients that write what no client
 * library would. However a client writes, the leader reads one request for each that was handed on, with this host's word about where it
 * came from (CLU-01, ERR-07).
 */
import assert from 'node:assert/strict';
import { connect, createServer, type AddressInfo, type Server, type Socket } from 'node:net';
import { after, afterEach, before, test } from 'node:test';
import { PassThrough } from '#src/cluster/pass-through.ts';
import { until } from '#test/support/waiting.ts';

/** What one connection of the leader's read. */
interface Read {
  readonly head: string;
  readonly body: string;
}

/** Reads requests off one connection, by the one way in which each of them ends; anything else breaks the test. */
class Reading {
  readonly requests: Read[] = [];
  #left = '';

  constructor(socket: Socket, answer: (read: Read) => string) {
    socket.on('error', () => undefined);
    socket.on('data', (bytes: Buffer) => {
      this.#left += bytes.toString('latin1');
      for (let read = this.#take(); read !== undefined; read = this.#take()) {
        this.requests.push(read);
        socket.write(answer(read));
      }
    });
  }

  /** What was read and is no whole request. */
  get left(): string {
    return this.#left;
  }

  #take(): Read | undefined {
    const end = this.#left.indexOf('\r\n\r\n');
    if (end === -1) return undefined;
    const head = this.#left.slice(0, end);
    const body = this.#left.slice(end + 4);
    const [length = '0'] = valuesOf(head, 'content-length');
    const isChunked = valuesOf(head, 'transfer-encoding').length > 0;
    const size = isChunked ? chunkedLength(body) : Number(length);
    if (size === undefined || body.length < size) return undefined;
    this.#left = body.slice(size);
    return { head, body: body.slice(0, size) };
  }
}

/** How many bytes a chunked body has up to its end; undefined before it has ended. */
function chunkedLength(body: string): number | undefined {
  for (let at = 0; ;) {
    const line = body.indexOf('\r\n', at);
    if (line === -1) return undefined;
    const size = Number.parseInt(body.slice(at, line), 16);
    at = line + 2 + size + 2;
    if (size === 0) return at;
  }
}

function valuesOf(head: string, name: string): string[] {
  const lines = head.split('\r\n').slice(1);
  return lines.filter((line) => line.toLowerCase().startsWith(`${name}:`)).map((line) => line.split(':', 2)[1]!.trim());
}

const OK = 'HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok';
const INNER = 'GET /inner HTTP/1.1\r\nhost: parley.test\r\nx-forwarded-for: 192.0.2.66\r\n\r\n';

let leader: Server;
let passing: PassThrough;
let answer: (read: Read) => string = () => OK;
const readings: Reading[] = [];
const sockets = new Set<Socket>();

before(async () => {
  leader = createServer((socket) => {
    sockets.add(socket);
    socket.once('close', () => sockets.delete(socket));
    readings.push(new Reading(socket, (read) => answer(read)));
  });
  await new Promise<void>((resolve) => leader.listen(0, '127.0.0.1', resolve));
  const { port } = leader.address() as AddressInfo;
  passing = await PassThrough.open({
    service: 'messaging',
    host: '127.0.0.1',
    port: 0,
    headers: { 'x-service-protocol': '1' },
    certificate: () => undefined,
    leader: () => ({
      host: 'leader',
      address: '127.0.0.1',
      ports: { coordinator: port, messaging: port, calendar: port },
      tls: false,
    }),
    health: () => ({ status: 'ok', version: '0' }) as ReturnType<Parameters<typeof PassThrough.open>[0]['health']>,
  });
});

afterEach(() => {
  answer = () => OK;
  readings.splice(0, readings.length, ...readings.filter(({ left }) => left === ''));
  for (const reading of readings) reading.requests.length = 0;
});

after(async () => {
  await passing.close();
  for (const socket of sockets) socket.destroy();
  leader.close();
});

/** Writes bytes from an address, and what is answered up to so many answers or the connection's end. */
async function exchange(bytes: string, answers = 1): Promise<{ text: string; ended: boolean }> {
  const socket = connect({ host: '127.0.0.1', port: passing.port, localAddress: '127.0.0.9' });
  const seen = { text: '', ended: false };
  socket.on('data', (chunk: Buffer) => {
    seen.text += chunk.toString('latin1');
  });
  socket.on('error', () => undefined);
  socket.on('close', () => {
    seen.ended = true;
  });
  socket.write(Buffer.from(bytes, 'latin1'));
  await until(() => seen.ended || seen.text.split('HTTP/1.1 ').length > answers, 'an answer');
  const answered = { ...seen };
  socket.destroy();
  return answered;
}

/** The heads that the leader read, over all connections; each has to have come from this host with the client's address. */
function heads(): string[] {
  const read = readings.flatMap(({ requests }) => requests.map(({ head }) => head));
  for (const head of read) {
    const from = valuesOf(head, 'x-forwarded-for');
    assert.equal(from.length, 1, head);
    assert.equal(from[0]?.split(', ').at(-1), '127.0.0.9', head);
    assert.ok(valuesOf(head, 'content-length').length + valuesOf(head, 'transfer-encoding').length <= 1, head);
  }
  return read.map((head) => head.split(' HTTP/', 1)[0] as string);
}

/** A request that is asked behind an attack: it is answered as what it is, whichever connection it is handed on over. */
async function assertNextIsRead(): Promise<void> {
  const { text } = await exchange('GET /next HTTP/1.1\r\nhost: parley.test\r\n\r\n');
  assert.match(text, /^HTTP\/1\.1 200 /);
  assert.equal(heads().filter((line) => line === 'GET /next').length, 1, heads().join('\n'));
  assert.deepEqual(
    readings.map(({ left }) => left),
    readings.map(() => ''),
  );
}

for (const method of ['GET', 'HEAD', 'DELETE', 'OPTIONS', 'TRACE', 'POST', 'PUT', 'PATCH', 'REPORT']) {
  for (const named of ['content-length', 'Content-Length, close', 'transfer-encoding', 'x-forwarded-for, host']) {
    test(`CLU-01 the body of a ${method} whose connection names ${named} is no request of its own`, async () => {
      answer = ({ head }) => (head.startsWith('HEAD') ? 'HTTP/1.1 200 OK\r\n\r\n' : OK);
      const lines = [`${method} /outer HTTP/1.1`, 'host: parley.test', `connection: ${named}`];
      await exchange([...lines, `content-length: ${INNER.length}`, '', INNER].join('\r\n'));
      assert.deepEqual(heads(), [`${method} /outer`]);
      assert.ok(readings.some(({ requests }) => requests.some(({ body }) => body.includes(INNER))));
      await assertNextIsRead();
    });
  }
}

const UPGRADES = ['websocket', 'h2c', 'websocket, h2c', 'TLS/1.0'];
for (const upgrade of UPGRADES) {
  for (const method of ['GET', 'POST']) {
    for (const coding of ['length', 'chunks']) {
      test(`CLU-01 a ${method} with a body by ${coding} that asks for ${upgrade} eats nobody’s next request`, async () => {
        const head = [`${method} /outer HTTP/1.1`, 'host: parley.test', 'connection: Upgrade', `upgrade: ${upgrade}`];
        const body =
          coding === 'length'
            ? [`content-length: ${INNER.length}`, '', INNER]
            : ['transfer-encoding: chunked', '', `${INNER.length.toString(16)}\r\n${INNER}\r\n0\r\n\r\n`];
        const { text } = await exchange([...head, ...body].join('\r\n'));
        assert.match(text, /^HTTP\/1\.1 200 /);
        assert.deepEqual(heads(), [`${method} /outer`]);
        const bodies = readings.flatMap(({ requests }) => requests.map((read) => read.body));
        assert.ok(bodies[0]?.includes(INNER), bodies[0]);
        await assertNextIsRead();
      });
    }
  }
}

/** What two readers may end at two places. */
const AMBIGUOUS: Readonly<Record<string, readonly string[]>> = {
  'two lengths that differ': ['content-length: 3', 'content-length: 4'],
  'two lengths that agree': ['content-length: 3', 'content-length: 3'],
  'a list of lengths': ['content-length: 3, 3'],
  'a length with a sign': ['content-length: +3'],
  'a length in hexadecimal': ['content-length: 0x3'],
  'a length with a space before its colon': ['content-length : 3'],
  'a length and a coding': ['content-length: 3', 'transfer-encoding: chunked'],
  'two codings': ['transfer-encoding: chunked', 'transfer-encoding: chunked'],
  'a coding behind chunked': ['transfer-encoding: chunked, identity'],
  'a coding that is not chunked': ['transfer-encoding: xchunked'],
  'the coding identity': ['transfer-encoding: identity'],
  'a coding before chunked': ['transfer-encoding: gzip, chunked'],
  'a coding in quotes': ['transfer-encoding: "chunked"'],
  'a coding behind a vertical tab': ['transfer-encoding: \u000Bchunked'],
  'a coding with a space before its colon': ['transfer-encoding : chunked'],
  'a coding on a folded line': ['transfer-encoding:', ' chunked'],
  'a folded line': ['x-one: two', ' transfer-encoding: chunked'],
  'a line that ends in a bare LF': ['x-one: two\nx-forwarded-for: 192.0.2.66'],
  'a line with a bare CR': ['x-one: two\rx-forwarded-for: 192.0.2.66'],
  'a zero byte': ['x-one: two\0'],
  'a name that is empty': [': two'],
  'two hosts': ['host: other.test', 'content-length: 3'],
};
for (const [what, lines] of Object.entries(AMBIGUOUS)) {
  test(`ERR-07 ${what}: refused with a code before anything is handed on, and nothing behind it is read`, async () => {
    const head = ['POST /outer HTTP/1.1', 'host: parley.test', ...lines, '', ''].join('\r\n');
    const { ended, text } = await exchange(`${head}3\r\nabc\r\n0\r\n\r\n${INNER}`, 2);
    assert.match(text, /^HTTP\/1\.1 400 [^]*"code":"request_malformed"/);
    assert.match(text, /x-service-protocol: 1/);
    assert.ok(ended, text);
    assert.deepEqual(heads(), []);
    await assertNextIsRead();
  });
}

const CHUNKS: Readonly<Record<string, string>> = {
  'an extension with a bare LF': '3;\nabc\r\n0\r\n\r\n',
  'an extension with a quote that does not end': '3;a="\r\nabc\r\n0\r\n\r\n',
  'lines that end in LF': '3\nabc\n0\n\n',
  'a size of more than 64 bits': '10000000000000003\r\nabc\r\n0\r\n\r\n',
  'a size with a sign': '+3\r\nabc\r\n0\r\n\r\n',
  'a size that says too little': '2\r\nabc\r\n0\r\n\r\n',
};
for (const [what, chunks] of Object.entries(CHUNKS)) {
  test(`CLU-01 chunks with ${what} end the connection, and nothing behind them is a request`, async () => {
    const head = 'POST /outer HTTP/1.1\r\nhost: parley.test\r\ntransfer-encoding: chunked\r\n\r\n';
    const { ended, text } = await exchange(`${head}${chunks}${INNER}`, 2);
    assert.match(text, /^HTTP\/1\.1 400 [^]*"code":"request_malformed"/);
    assert.ok(ended, text);
    assert.deepEqual(heads(), []);
    await until(() => readings.every(({ left }) => left === '') || sockets.size < readings.length, 'the cut');
    const cut = readings.filter(({ left }) => left !== '').map(({ left }) => left);
    for (const left of cut) assert.doesNotMatch(left, /inner/, left);
    readings.splice(0, readings.length, ...readings.filter(({ left }) => left === ''));
    await assertNextIsRead();
  });
}

test('CLU-01 whatever a client writes of where it comes from, on whichever request of a connection, this host’s word stands last', async () => {
  const forged = [
    [],
    ['x-forwarded-for: 192.0.2.66'],
    ['X-Forwarded-For: 192.0.2.66', 'x-forwarded-for: 192.0.2.67'],
    ['x-forwarded-for: 192.0.2.66', 'connection: x-forwarded-for'],
    ['x-forwarded-for: 192.0.2.66,', 'x_forwarded_for: 192.0.2.67'],
    ['x-forwarded-for:', 'connection: keep-alive, X-FORWARDED-FOR'],
  ];
  const requests = forged.map((lines, at) => {
    const body = at % 2 === 0 ? [] : ['content-length: 3'];
    const head = [`${at % 2 === 0 ? 'GET' : 'POST'} /${at} HTTP/1.1`, 'host: parley.test', ...body, ...lines];
    return [...head, '', at % 2 === 0 ? '' : 'abc'].join('\r\n');
  });
  const { text } = await exchange(requests.join(''), requests.length);
  assert.equal(text.split('HTTP/1.1 200 ').length - 1, requests.length, text);
  assert.deepEqual(heads().toSorted(), ['GET /0', 'GET /2', 'GET /4', 'POST /1', 'POST /3', 'POST /5']);
  const written = readings.flatMap(({ requests: read }) =>
    read.map(({ head }) => valuesOf(head, 'x-forwarded-for')[0]),
  );
  assert.deepEqual(written.map(String).toSorted(), [
    '127.0.0.9',
    '127.0.0.9',
    '192.0.2.66, 127.0.0.9',
    '192.0.2.66, 127.0.0.9',
    '192.0.2.66, 192.0.2.67, 127.0.0.9',
    '192.0.2.66,, 127.0.0.9',
  ]);
});

test('CLU-01 a request that is cut at any of its bytes is one request or none', async () => {
  const whole = [
    ...['POST /cut HTTP/1.1', 'host: parley.test', 'transfer-encoding: chunked', 'connection: keep-alive', '', ''],
  ].join('\r\n');
  const bytes = `${whole}3;a=b\r\nabc\r\n0\r\nx-trailer: c\r\n\r\n`;
  for (let at = 1; at < bytes.length; at += 1) {
    const socket = connect({ host: '127.0.0.1', port: passing.port, localAddress: '127.0.0.9' });
    let text = '';
    socket.on('data', (chunk: Buffer) => {
      text += chunk.toString('latin1');
    });
    socket.setNoDelay(true);
    await new Promise<void>((resolve) => socket.write(bytes.slice(0, at), () => setImmediate(resolve)));
    // In two parts it is what it is in one.
    socket.write(bytes.slice(at));
    await until(() => text.includes('ok'), `an answer to what was cut at ${at}`);
    socket.destroy();
    // Cut off for good, it is none.
    const gone = connect({ host: '127.0.0.1', port: passing.port, localAddress: '127.0.0.9' });
    gone.on('error', () => undefined);
    gone.end(bytes.slice(0, at));
    gone.resume();
    await until(() => gone.destroyed, 'the end of what was cut off');
  }
  assert.deepEqual(
    heads(),
    Array.from({ length: bytes.length - 1 }, () => 'POST /cut'),
  );
  for (const { requests } of readings) for (const { body } of requests) assert.equal(body, '3\r\nabc\r\n0\r\n\r\n');
  readings.splice(0, readings.length, ...readings.filter(({ left }) => left === ''));
  await assertNextIsRead();
});

test('ERR-07 a head of more bytes than the services take, one without a host and an expectation are refused with a code', async () => {
  for (const [what, bytes] of [
    ['too long', `GET / HTTP/1.1\r\nhost: parley.test\r\nx-long: ${'x'.repeat(32 * 1024)}\r\n\r\n`],
    ['without a host', 'GET / HTTP/1.1\r\n\r\n'],
    ['an expectation', 'POST / HTTP/1.1\r\nhost: parley.test\r\nexpect: miracles\r\ncontent-length: 2\r\n\r\n{}'],
    ['a tunnel', 'CONNECT other.test:80 HTTP/1.1\r\nhost: other.test\r\n\r\n'],
  ] as const) {
    const { ended, text } = await exchange(bytes, 2);
    assert.match(text, /^HTTP\/1\.1 400 [^]*"code":"request_malformed"/, what);
    assert.ok(ended, what);
  }
  const { text } = await exchange(`GET / HTTP/1.1\r\nhost: parley.test\r\nx: ${'x'.repeat(31 * 1024)}\r\n\r\n`);
  assert.match(text, /^HTTP\/1\.1 200 /);
  assert.deepEqual(heads(), ['GET /']);
});

test('CLU-01 a body that the leader refuses before its end leaves the connection to the requests behind it', async () => {
  const early = createServer((socket) => {
    socket.on('error', () => undefined);
    socket.once('data', () => socket.write('HTTP/1.1 400 Bad Request\r\ncontent-length: 2\r\n\r\nno'));
    socket.resume();
  });
  await new Promise<void>((resolve) => early.listen(0, '127.0.0.1', resolve));
  const { port } = early.address() as AddressInfo;
  const other = await PassThrough.open({
    ...{ service: 'messaging', host: '127.0.0.1', port: 0, headers: {}, certificate: () => undefined },
    leader: () => ({
      host: 'leader',
      address: '127.0.0.1',
      ports: { coordinator: port, messaging: port, calendar: port },
      tls: false,
    }),
    health: () => ({ status: 'ok', version: '0' }) as ReturnType<Parameters<typeof PassThrough.open>[0]['health']>,
  });
  const socket = connect({ host: '127.0.0.1', port: other.port });
  let text = '';
  socket.on('data', (chunk: Buffer) => {
    text += chunk.toString('latin1');
  });
  const length = 4_000_000;
  socket.write(`POST /large HTTP/1.1\r\nhost: parley.test\r\ncontent-length: ${length}\r\n\r\n${'x'.repeat(length)}`);
  socket.write('GET /behind HTTP/1.1\r\nhost: parley.test\r\n\r\n');
  await until(() => text.split('HTTP/1.1 400 ').length === 3, 'both answers');
  socket.destroy();
  await other.close();
  early.close();
});

test('CLU-01 who asks for a socket and goes before it is answered keeps none of the leader’s', async () => {
  answer = () => '';
  const head = ['GET /v1/ws HTTP/1.1', 'host: parley.test', 'connection: Upgrade', 'upgrade: websocket', '', ''];
  const held = sockets.size;
  const clients = Array.from({ length: 20 }, () => {
    const socket = connect({ host: '127.0.0.1', port: passing.port, localAddress: '127.0.0.9' });
    socket.on('error', () => undefined);
    socket.write(head.join('\r\n'));
    return socket;
  });
  await until(() => heads().length === 20, 'the upgrades to be handed on');
  for (const client of clients) client.resetAndDestroy();
  await until(() => sockets.size <= held, 'the leader’s sockets to end');
});

test('CLU-01 a connection to the leader that is used again and again gathers nothing', async () => {
  const warnings: Error[] = [];
  const warned = (warning: Error) => warnings.push(warning);
  process.on('warning', warned);
  for (let count = 0; count < 30; count += 1) await exchange('GET /again HTTP/1.1\r\nhost: parley.test\r\n\r\n');
  assert.ok(readings.some(({ requests }) => requests.length > 11));
  await new Promise((resolve) => setImmediate(resolve));
  process.off('warning', warned);
  assert.deepEqual(
    warnings.map(({ message }) => message),
    [],
  );
});
