/** The three listeners over TLS: what they show, what they speak, and what becomes of connections when the files change. */
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { once } from 'node:events';
import {
  chmodSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { connect as connectHttp2, type ClientHttp2Session } from 'node:http2';
import { Agent, get } from 'node:https';
import { connect as connectTcp } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { connect, setDefaultCACertificates, type ConnectionOptions, type TLSSocket } from 'node:tls';
import { HTTP2_STREAMS_MAX } from '#src/http/tls-server.ts';
import { HEADER_BYTES_MAX } from '#src/http/http-surface.ts';
import { EARLIER_APPS_MAX } from '#src/messaging/listener.ts';
import { makeCertificate } from '#test/support/certificate.ts';
import { callControl } from '#test/support/control.ts';
import { readMetric } from '#test/support/metrics.ts';
import { BARE_ENVIRONMENT, programOf } from '#test/support/program.ts';
import { request } from '#test/support/server.ts';
import { shareServer } from '#test/support/shared-server.ts';
import { connect as connectSocket } from '#test/support/socket.ts';
import { deadline, until } from '#test/support/waiting.ts';

const REQUEST_SECONDS = 2;
const PARLEY = programOf(new URL('../../src/cli/parley.ts', import.meta.url));

/** What the server begins with is made by its own command, into a folder of its own. */
const folder = mkdtempSync(join(tmpdir(), 'parley-tls-'));
after(() => rmSync(folder, { recursive: true, force: true }));
const selfSign = (): string =>
  execFileSync(process.execPath, [...PARLEY, 'tls', 'self-signed', '--out', folder, '--hosts', 'localhost,127.0.0.1'], {
    env: BARE_ENVIRONMENT,
    encoding: 'utf8',
    stdio: 'pipe',
  });
const said = selfSign();
const paths = { chain: join(folder, 'certificate.pem'), key: join(folder, 'key.pem') };

/** Certificates that tests go over to, by number: each trusted by this process from the start. */
// Whom one is issued by is looked up by name, so each has a name of its own.
const others = Array.from({ length: EARLIER_APPS_MAX + 2 }, (_, at) =>
  makeCertificate(Date.now(), 30, [`tls-${at}.example.org`, 'localhost', '127.0.0.1']),
);
setDefaultCACertificates([readFileSync(paths.chain, 'utf8'), ...others.map(({ certificate }) => certificate)]);

const { server, anna, boris } = await shareServer(['anna', 'boris'], {
  shards: 2,
  environment: {
    PARLEY_TLS_CERTIFICATE_FILE: paths.chain,
    PARLEY_TLS_KEY_FILE: paths.key,
    PARLEY_REQUEST_SECONDS: String(REQUEST_SECONDS),
    PARLEY_DEBUG_HOOKS: '1',
  },
});
const LISTENERS = [server.coordinator, server.messaging, server.calendar];
const FASTIFY = [server.coordinator, server.calendar];
const portOf = (url: string): number => Number(new URL(url).port);

/** A handshake with a listener. Rejects with the alert where the server refuses. */
async function shake(url: string, options: ConnectionOptions = {}): Promise<TLSSocket> {
  const socket = connect({ host: '127.0.0.1', port: portOf(url), ...options });
  await deadline(once(socket, 'secureConnect'), 15_000, 'a handshake');
  socket.on('error', () => undefined);
  return socket;
}

/** The fingerprint that a new connection sees, with a name (SNI) and without one. */
async function fingerprints(url: string): Promise<Set<string>> {
  const seen = new Set<string>();
  for (const options of [{ servername: 'localhost' }, {}]) {
    const socket = await shake(url, options);
    seen.add(socket.getPeerX509Certificate()?.fingerprint256 ?? '');
    socket.destroy();
  }
  return seen;
}

/** Puts texts in the place of the files, as renewal programs do, and answers the fingerprint of the certificate. */
function replaceFiles({ certificate, key }: { certificate: string; key: string }): void {
  for (const [path, text] of [
    [paths.chain, certificate],
    [paths.key, key],
  ] as const) {
    writeFileSync(`${path}.new`, text, { mode: 0o600 });
    renameSync(`${path}.new`, path);
  }
}

/** Waits until new connections to all three listeners, on every thread, see one certificate that they did not see before. */
async function renewed(before: string): Promise<string> {
  return await until(async () => {
    // Several times: each connection to the messaging port meets one of its threads.
    const seen = await Promise.all(
      [...LISTENERS, server.messaging, server.messaging, server.messaging].map(fingerprints),
    );
    const all = new Set(seen.flatMap((one) => [...one]));
    return all.size === 1 && !all.has(before) && [...all][0];
  }, 'the new certificate on all listeners');
}

/** One request over an HTTP/2 connection. */
async function ask(session: ClientHttp2Session, headers: Record<string, string>, body?: string) {
  const stream = session.request(headers, { endStream: body === undefined });
  if (body !== undefined) stream.end(body);
  const answered = once(stream, 'response') as Promise<[Record<string, string>]>;
  let text = '';
  stream.setEncoding('utf8').on('data', (part: string) => (text += part));
  const ended = once(stream, 'end');
  const [head] = await deadline(answered, 15_000, 'an answer over HTTP/2');
  await ended;
  return { status: Number(head[':status']), head, text };
}

test('the command makes files that only their owner reads, says the fingerprint, and writes over nothing', async () => {
  assert.equal(statSync(paths.key).mode & 0o777, 0o600);
  const [fingerprint] = await fingerprints(server.coordinator);
  assert.ok(said.includes(`  ${fingerprint}\n`), said);
  assert.ok(said.includes(`  PARLEY_TLS_CERTIFICATE_FILE=${paths.chain}\n`), said);
  const before = [readFileSync(paths.chain, 'utf8'), readFileSync(paths.key, 'utf8')];
  assert.throws(selfSign, { status: 1 });
  assert.deepEqual([readFileSync(paths.chain, 'utf8'), readFileSync(paths.key, 'utf8')], before);
});

test('all three listeners speak TLS 1.2 and 1.3 and nothing older, and say https of themselves', async () => {
  for (const url of LISTENERS) {
    assert.match(url, /^https:\/\/127\.0\.0\.1:\d+$/);
    for (const version of ['TLSv1.2', 'TLSv1.3'] as const) {
      const socket = await shake(url, { minVersion: version, maxVersion: version });
      assert.equal(socket.getProtocol(), version);
      socket.destroy();
    }
    const old = { minVersion: 'TLSv1', maxVersion: 'TLSv1.1', ciphers: 'DEFAULT@SECLEVEL=0' } as const;
    await assert.rejects(shake(url, old), /protocol version/);
  }
  const { url } = (await callControl(server.folder, 'invite.owner', {})) as { url: string };
  assert.ok(url.startsWith(`${server.coordinator}/v1/enroll/`), url);
});

test('the probe of the image passes on a server that speaks TLS', async () => {
  const dockerfile = readFileSync(new URL('../../Dockerfile', import.meta.url), 'utf8');
  const [, command = ''] = /^ +CMD (\["node", "-e", .*\])$/m.exec(dockerfile) ?? [];
  const [, ...args] = JSON.parse(command) as string[];
  const env = { PARLEY_MESSAGING_PORT: String(portOf(server.messaging)), PARLEY_TLS_CERTIFICATE_FILE: paths.chain };
  // It throws where the probe fails, as it does where it is not told of TLS.
  execFileSync(process.execPath, args, { env });
  const { PARLEY_MESSAGING_PORT } = env;
  assert.throws(() => execFileSync(process.execPath, args, { env: { PARLEY_MESSAGING_PORT } }), { status: 1 });
});

test('every answer tells browsers to come over TLS for a year, and an ordinary page may call', async () => {
  for (const url of LISTENERS) {
    for (const path of ['/healthz', '/nowhere']) {
      const { headers } = await request('GET', `${url}${path}`, { headers: { origin: server.coordinator } });
      assert.equal(headers.get('strict-transport-security'), 'max-age=31536000');
      assert.equal(headers.get('access-control-allow-origin'), server.coordinator);
    }
  }
});

test('plain HTTP on a port of TLS gets no answer', async () => {
  for (const url of LISTENERS) {
    const socket = connectTcp(portOf(url), '127.0.0.1');
    let answer = '';
    socket.setEncoding('latin1').on('data', (text: string) => (answer += text));
    socket.on('error', () => undefined);
    socket.write('GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n');
    await deadline(once(socket, 'close'), 15_000, `the connection to ${url} to end`);
    assert.doesNotMatch(answer, /HTTP/);
  }
});

test('the coordinator and the calendar speak HTTP/2 and HTTP/1.1, the messaging service HTTP/1.1', async () => {
  for (const url of LISTENERS) {
    const socket = await shake(url, { ALPNProtocols: ['h2', 'http/1.1'] });
    assert.equal(socket.alpnProtocol, url === server.messaging ? false : 'h2');
    socket.destroy();
  }
  for (const url of FASTIFY) {
    const session = connectHttp2(url);
    const health = await ask(session, { ':path': '/healthz' });
    assert.deepEqual([health.status, JSON.parse(health.text).status], [200, 'ok']);
    const unknown = await ask(session, { ':path': '/nowhere' });
    assert.deepEqual([unknown.status, JSON.parse(unknown.text).code], [404, 'path_not_found']);
    assert.equal(session.remoteSettings.maxConcurrentStreams, HTTP2_STREAMS_MAX);
    assert.equal(session.remoteSettings.maxHeaderListSize, HEADER_BYTES_MAX);
    session.close();
  }
});

test('over HTTP/2 a body is read, a refusal has its code, and what never becomes a request is refused', async () => {
  const session = connectHttp2(server.coordinator);
  const login = { ':method': 'POST', ':path': '/v1/auth/login', 'content-type': 'application/json' };
  const body = (password: string) => JSON.stringify({ username: 'anna', password });
  const wrong = await ask(session, login, body('not hers at all'));

  assert.deepEqual([wrong.status, JSON.parse(wrong.text).code], [401, 'login_failed']);
  const right = await ask(session, login, body(anna.password));
  assert.equal(right.status, 200);
  const expects = await ask(session, { ...login, expect: 'the moon' }, body(anna.password));
  assert.deepEqual([expects.status, JSON.parse(expects.text).code], [400, 'request_malformed']);
  const tunnel = await ask(session, { ':method': 'CONNECT', ':authority': 'example.org:443' });
  assert.deepEqual([tunnel.status, JSON.parse(tunnel.text).code], [400, 'request_malformed']);
  // A body that does not come: the stream is answered, and the connection is none the worse.
  const slow = session.request(login, { endStream: false });
  const [head] = (await deadline(once(slow, 'response'), 15_000, 'an answer to a body that never comes')) as [
    Record<string, string>,
  ];
  assert.equal(Number(head[':status']), 503);
  slow.close();
  assert.equal((await ask(session, { ':path': '/healthz' })).status, 200);
  session.close();
});

test('over TLS the bounds of HTTP/1.1 hold: headers, slow requests, and connections that say nothing', async () => {
  for (const url of FASTIFY) {
    const large = await shake(url, { ALPNProtocols: ['http/1.1'] });
    let answer = '';
    large.setEncoding('latin1').on('data', (text: string) => (answer += text));
    large.write(`GET /healthz HTTP/1.1\r\nHost: x\r\nX-Large: ${'x'.repeat(HEADER_BYTES_MAX)}\r\n\r\n`);
    await deadline(once(large, 'close'), 15_000, 'headers that are too large to be refused');
    assert.match(answer, /^HTTP\/1\.1 400 .*"code":"request_malformed"/s);
  }
  const cut = LISTENERS.flatMap((url) => [
    async () => {
      const slow = await shake(url, { ALPNProtocols: ['http/1.1'] });
      slow.write('GET /healthz HTTP/1.1\r\nHost: x\r\n');
      slow.resume();
      await deadline(once(slow, 'close'), 30_000, `a request to ${url} that does not come to its end to be cut`);
    },
    async () => {
      const silent = connectTcp(portOf(url), '127.0.0.1');
      silent.resume();
      silent.on('error', () => undefined);
      await deadline(once(silent, 'close'), 30_000, `a handshake with ${url} that does not begin to be cut`);
    },
    async () => {
      const unused = await shake(url, { ALPNProtocols: ['http/1.1'] });
      let answer = '';
      unused.setEncoding('latin1').on('data', (text: string) => (answer += text));
      await deadline(once(unused, 'close'), 30_000, `a connection to ${url} that is not used to be cut`);
      assert.equal(answer, '', url);
    },
  ]);
  await Promise.all(cut.map(async (run) => await run()));
});

test('a new certificate reaches all listeners, and connections from before live on and hear what comes', async () => {
  const room = await server.api<{ id: string }>(anna, 'POST', '/v1/conversations', {
    kind: 'direct',
    participants: ['boris'],
  });
  const conv = room.body.id;
  const before = [...(await fingerprints(server.messaging))][0] as string;
  const socket = await connectSocket(server, boris);
  const session = connectHttp2(server.coordinator);
  await ask(session, { ':path': '/healthz' });
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  const kept = async (): Promise<{ port: number | undefined; status: number | undefined }> => {
    const { promise, resolve, reject } = Promise.withResolvers<{
      port: number | undefined;
      status: number | undefined;
    }>();
    get(`${server.messaging}/healthz`, { agent }, (response) => {
      const { localPort: port } = response.socket;
      response.resume().on('end', () => resolve({ port, status: response.statusCode }));
    }).on('error', reject);
    return await promise;
  };
  const first = await kept();

  replaceFiles(others[0] as (typeof others)[0]);
  const now = await renewed(before);
  assert.notEqual(now, before);
  assert.deepEqual(await kept(), first);
  assert.equal((await ask(session, { ':path': '/healthz' })).status, 200);
  // The two sockets are with the library's app of one certificate and of another: what is published reaches both.
  const newer = await connectSocket(server, anna);
  const body = { kind: 'text', body: 'over the new one', client_msg_id: 'tls-1' };
  assert.equal((await server.api(anna, 'POST', `/v1/conversations/${conv}/messages`, body)).status, 201);
  await socket.event('message.new');
  await newer.event('message.new');
  assert.equal(socket.closed, undefined);

  const [end] = Object.values(await readMetric(server, 'parley_tls_certificate_end_time_seconds'));
  assert.ok(Math.abs((end as number) - (Date.now() / 1000 + 30 * 86_400)) < 3600);
  assert.deepEqual(
    readdirSync(server.folder).filter((name) => name.endsWith('.pem')),
    [],
  );
  for (const one of [socket, newer]) await one.close();
  session.close();
  agent.destroy();
});

test('files that cannot be served change nothing, are told of, and are taken once they are mended', async () => {
  const unusable = async () => Object.values(await readMetric(server, 'parley_tls_certificate_unusable'))[0];
  const before = [...(await fingerprints(server.messaging))][0] as string;
  assert.equal(await unusable(), 0);
  const [one, other] = [others[1], others[2]] as [(typeof others)[0], (typeof others)[0]];
  replaceFiles({ certificate: one.certificate, key: other.key });
  await until(async () => (await unusable()) === 1, 'the metric to tell of files that cannot be served');
  const warned = await until(
    () => server.output.find((line) => line.includes('the certificate’s files cannot be served')),
    'the log to say so',
  );
  assert.match(JSON.parse(warned).why, /do not belong together/);
  assert.doesNotMatch(server.output.join('\n'), /PRIVATE KEY/);
  // A thread that dies meanwhile comes back with what the others show.
  // The connection that asks may be one that the thread takes along.
  const restarts = async () => await readMetric(server, 'parley_threads_restarts_total').catch(() => undefined);
  server.process.kill('SIGUSR2');
  await until(async () => (await restarts())?.['shard-0'] === 1, 'the shard to be back');
  for (const url of [...LISTENERS, server.messaging, server.messaging]) {
    assert.deepEqual([...(await fingerprints(url))], [before]);
  }
  replaceFiles(one);
  chmodSync(paths.key, 0o644);
  const open = 'is open to everybody';
  await until(() => server.output.some((line) => line.includes(open)), 'the log to say what is wrong now');
  chmodSync(paths.key, 0o600);
  await renewed(before);
  await until(async () => (await unusable()) === 0, 'the metric to tell that they are mended');
});

test('beyond four earlier certificates, the connections of the oldest are closed and those of the others live on', async () => {
  let present = [...(await fingerprints(server.messaging))][0] as string;
  const oldest = await connectSocket(server, anna);
  const newer = [];
  for (const certificate of others.slice(2, 2 + EARLIER_APPS_MAX)) {
    replaceFiles(certificate);
    present = await renewed(present);
    if (newer.length === 0) newer.push(await connectSocket(server, boris));
  }
  assert.equal(oldest.closed, undefined);
  replaceFiles(others[0] as (typeof others)[0]);
  await renewed(present);
  await oldest.closing();
  assert.equal(newer[0]?.closed, undefined);
  await newer[0]?.close();
});
