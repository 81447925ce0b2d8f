/** A certificate of an ACME authority (RFC 8555): a real server orders it of a real authority, and goes on without one. */
import 'reflect-metadata';
import assert from 'node:assert/strict';
import { webcrypto } from 'node:crypto';
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { once } from 'node:events';
import { createServer as createHttpServer, type IncomingMessage } from 'node:http';
import { get } from 'node:https';
import { createServer, type AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { text } from 'node:stream/consumers';
import { join } from 'node:path';
import { after, test, type TestContext } from 'node:test';
import { connect, type PeerCertificate } from 'node:tls';
import { SubjectAlternativeNameExtension, X509CertificateGenerator } from '@peculiar/x509';
import { CertificateRenewal, prepareAcme, renewalDue } from '#src/acme/certificate-renewal.ts';
import { readConfig } from '#src/config.ts';
import { callControl } from '#test/support/control.ts';
import { makeCertificate } from '#test/support/certificate.ts';
import { freePort, RealProgram, unlessInstalled } from '#test/support/real-program.ts';
import { startServer, type TestServer } from '#test/support/server.ts';
import { deadline, until } from '#test/support/waiting.ts';

const NAME = 'chat.parley-test.example.org';
const DAY = 86_400_000;

/** A certificate of somebody else's signature, from then on for so many days, in PEM. */
async function issue(from: number, days: number): Promise<string> {
  const algorithm = { name: 'ECDSA', namedCurve: 'P-256', hash: 'SHA-256' };
  const [own, authority] = await Promise.all(
    [1, 2].map(async () => await webcrypto.subtle.generateKey(algorithm, true, ['sign', 'verify'])),
  );
  const made = await X509CertificateGenerator.create({
    ...{ subject: 'CN=leaf', issuer: 'CN=authority', signingAlgorithm: algorithm },
    publicKey: (own as webcrypto.CryptoKeyPair).publicKey,
    signingKey: (authority as webcrypto.CryptoKeyPair).privateKey,
    notBefore: new Date(from),
    notAfter: new Date(from + days * DAY),
    extensions: [new SubjectAlternativeNameExtension([{ type: 'dns', value: NAME }])],
  });
  return made.toString('pem');
}

const folder = mkdtempSync(join(tmpdir(), 'parley-acme-'));
after(() => rmSync(folder, { recursive: true, force: true }));

/** Pebble, the authority's own test server, whose names all lead to this machine. */
class Authority {
  readonly directory: string;
  readonly environment: Readonly<Record<string, string>>;
  /** Where it looks for answers to challenges. */
  readonly httpPort: number;
  readonly #programs: readonly RealProgram[];

  private constructor(port: number, httpPort: number, chain: string, programs: readonly RealProgram[]) {
    this.directory = `https://127.0.0.1:${port}/dir`;
    this.httpPort = httpPort;
    this.environment = { NODE_EXTRA_CA_CERTS: chain, PARLEY_ALLOW_PRIVATE_TARGETS: '127.0.0.1' };
    this.#programs = programs;
  }

  static async start(): Promise<Authority> {
    const [port, management, httpPort, dns, dnsManagement] = await Promise.all(Array.from({ length: 5 }, freePort));
    const { certificate, key } = makeCertificate(Date.now(), 30, ['127.0.0.1']);
    const at = (name: string) => join(folder, name);
    writeFileSync(at('chain.pem'), certificate);
    writeFileSync(at('key.pem'), key);
    const pebble = {
      listenAddress: `127.0.0.1:${port}`,
      managementListenAddress: `127.0.0.1:${management}`,
      certificate: at('chain.pem'),
      privateKey: at('key.pem'),
      httpPort,
      tlsPort: await freePort(),
    };
    writeFileSync(at('pebble.json'), JSON.stringify({ pebble }));
    const off = ['-http01', '', '-https01', '', '-tlsalpn01', ''];
    const names = ['-dns01', `127.0.0.1:${dns}`, '-management', `127.0.0.1:${dnsManagement}`, '-defaultIPv6', ''];
    const programs = [
      new RealProgram('pebble-challtestsrv', [...names, ...off, '-defaultIPv4', '127.0.0.1']),
      // A fifth of all nonces is refused, as a busy authority may refuse one.
      new RealProgram('pebble', ['-config', at('pebble.json'), '-dnsserver', `127.0.0.1:${dns}`], {
        PEBBLE_VA_NOSLEEP: '1',
        PEBBLE_WFE_NONCEREJECT: '20',
      }),
    ];
    const authority = new Authority(port as number, httpPort as number, at('chain.pem'), programs);
    try {
      await until(() => {
        for (const program of programs) program.assertRuns();
        return programs[1]?.said.includes('ACME directory available') === true;
      }, 'pebble');
    } catch (error) {
      await authority.stop();
      throw error;
    }
    return authority;
  }

  async stop(): Promise<void> {
    for (const program of this.#programs) await program.stop();
  }
}

async function ordering(t: TestContext, environment: Record<string, string>, on?: string): Promise<TestServer> {
  const server = await startServer({
    ...(on === undefined ? {} : { folder: on }),
    environment: { PARLEY_ACME_NAMES: NAME, NODE_TLS_REJECT_UNAUTHORIZED: undefined, ...environment },
  });
  t.after(async () => await server.stop());
  return server;
}

/** What a listener shows to whoever asks for the name; nobody vouches for pebble's. */
async function shownAt(url: string): Promise<PeerCertificate> {
  const { hostname: host, port } = new URL(url);
  const socket = connect({ host, port: Number(port), servername: NAME, rejectUnauthorized: false });
  try {
    await deadline(once(socket, 'secureConnect'), 15_000, `TLS at ${url}`);
    return socket.getPeerCertificate();
  } finally {
    socket.destroy();
  }
}

/** The exposition of metrics, without a look at whom it comes from. */
async function healthAt(url: string): Promise<string> {
  const { promise, reject, resolve } = Promise.withResolvers<IncomingMessage>();
  const headers = { accept: 'text/plain' };
  get(`${url}/healthz`, { headers, rejectUnauthorized: false, agent: false }, resolve).on('error', reject);
  return await text(await promise);
}

const isPebbles = (certificate: PeerCertificate) => String(certificate.issuer.CN).startsWith('Pebble');
const pathsOf = ({ folder: data }: TestServer) =>
  ['account.pem', 'certificate.pem', 'key.pem'].map((name) => join(data, 'acme', name));

test('a certificate is renewed at a third of its life, and at once where it is its own or of other names', async () => {
  const { certificate } = makeCertificate(Date.UTC(2026, 10, 22), 89, [NAME]);
  // Signed by itself, as the one is that the server begins with.
  assert.equal(renewalDue(certificate, [NAME]), 0);
  const issued = await issue(Date.UTC(2026, 10, 1), 90);
  assert.equal(renewalDue(issued, [NAME]), Date.UTC(2026, 10, 1) + 60 * DAY);
  assert.equal(renewalDue(issued, [NAME, 'other.example.org']), 0);
});

test('names, the authority and its port are settings that are checked, and files of one’s own do not go with them', () => {
  const read = (names: string, more: object = {}) => readConfig({ PARLEY_ACME_NAMES: names, ...more });
  assert.equal(read(` ${NAME}`.trim()).acmeNames, NAME);
  const wrong = [
    'localhost',
    '*.example.org',
    '10.0.0.1',
    'Chat.example.org',
    'a..org',
    'x.org,',
    `${'n.org,'.repeat(20)}n.org`,
  ];
  for (const names of wrong) assert.throws(() => read(names), /PARLEY_ACME_NAMES/, names);
  assert.throws(
    () => read(NAME, { PARLEY_ACME_DIRECTORY_URL: 'http://authority.example.org/dir' }),
    /PARLEY_ACME_DIRECTORY_URL/,
  );
  const own = { PARLEY_TLS_CERTIFICATE_FILE: 'chain.pem', PARLEY_TLS_KEY_FILE: 'key.pem' };
  assert.throws(() => read(NAME, own), /PARLEY_ACME_NAMES and PARLEY_TLS_CERTIFICATE_FILE are both set/);
});

/** What a renewal says when its authority answers everything with that, on a clock that stands still. */
async function renewalAt(t: TestContext, answer: { status: number; headers?: object; body: string }) {
  const authority = createHttpServer((request, reply) => {
    const at = `http://127.0.0.1:${(authority.address() as AddressInfo).port}`;
    const isRead = request.url === '/dir' && answer.status !== 200;
    reply.setHeader('replay-nonce', 'a-nonce');
    if (isRead)
      return void reply.end(JSON.stringify({ newNonce: `${at}/x`, newAccount: `${at}/x`, newOrder: `${at}/x` }));
    if (request.method === 'HEAD') return void reply.end();
    return void reply.writeHead(answer.status, { ...answer.headers }).end(answer.body);
  }).listen(0, '127.0.0.1');
  await once(authority, 'listening');
  t.after(() => authority.close());
  const data = mkdtempSync(join(folder, 'data-'));
  const now = Date.UTC(2026, 10, 22);
  const said = Promise.withResolvers<{ why: string; again: string }>();
  const renewal = new CertificateRenewal({
    config: {
      acmeDirectoryUrl: `http://127.0.0.1:${(authority.address() as AddressInfo).port}/dir`,
      ...{ acmeHttpPort: await freePort(), acmeNames: NAME, allowPrivateTargets: true, host: '127.0.0.1' },
    },
    files: await prepareAcme(data, [NAME], now),
    clock: { now: () => now },
    log: { info: () => undefined, warn: (_message, facts) => said.resolve(facts as never) },
  });
  renewal.start();
  t.after(async () => await renewal.stop());
  const { again, why } = await deadline(said.promise, 15_000, 'the refusal');
  return { why, fault: renewal.fault, wait: Date.parse(again) - now };
}

test('an authority that asks to be left alone is, for as long as it says; and one that is none is said to be none', async (t) => {
  const problem = { type: 'urn:ietf:params:acme:error:rateLimited', detail: 'too many new orders' };
  const headers = { 'retry-after': '7200', 'content-type': 'application/problem+json' };
  const limited = await renewalAt(t, { status: 429, headers, body: JSON.stringify(problem) });
  const why = 'The authority answered 429 (rateLimited: too many new orders).';
  assert.deepEqual(limited, { why, fault: why, wait: 7_200_000 });
  const long = await renewalAt(t, { status: 429, headers: { 'retry-after': '999999' }, body: '{}' });
  assert.equal(long.wait, 12 * 3_600_000);
  const none = await renewalAt(t, { status: 200, body: '<html>' });
  assert.equal(none.why, 'The authority answered 200 with what is not of ACME.');
  assert.ok(none.wait > 0 && none.wait < 3_600_000, String(none.wait));
});

test('an authority that is away leaves the certificate from before, says so, and is asked again later', async (t) => {
  const directory = `https://127.0.0.1:${await freePort()}/dir`;
  const environment = { PARLEY_ACME_DIRECTORY_URL: directory, PARLEY_ALLOW_PRIVATE_TARGETS: 'true' };
  const server = await ordering(t, environment);
  const said = await until(() => server.output.find((line) => line.includes('could not be renewed')), 'the log');
  assert.match(said, /https:\/\/127\.0\.0\.1:\d+ cannot be reached \(ECONNREFUSED\)/);
  assert.match(said, /"again":"\d{4}-/);
  const shown = await shownAt(server.coordinator);
  assert.equal(shown.issuer.CN, 'Parley, self-signed');
});

test(
  'a server orders a certificate, shows it on all three listeners without a restart, and keeps it and the account for the next start',
  { skip: unlessInstalled('pebble', ['-h']) },
  async (t) => {
    const authority = await Authority.start();
    t.after(async () => await authority.stop());
    const environment = {
      ...authority.environment,
      PARLEY_ACME_DIRECTORY_URL: authority.directory,
      PARLEY_ACME_HTTP_PORT: String(authority.httpPort),
    };

    // The port is somebody else's: nothing is ordered, and the server says which port it wanted.
    const blocker = createServer().listen(authority.httpPort, '127.0.0.1');
    await once(blocker, 'listening');
    const blocked = await ordering(t, environment);
    const why = await until(() => blocked.output.find((line) => line.includes('could not be renewed')), 'the refusal');
    assert.match(why, /Port \d+ of PARLEY_ACME_HTTP_PORT cannot be listened on \(EADDRINUSE\)/);
    const first = await shownAt(blocked.coordinator);
    blocker.close();
    await blocked.end('SIGTERM');

    const server = await ordering(t, environment, blocked.folder);
    assert.equal((await shownAt(server.coordinator)).fingerprint256 === first.fingerprint256, true, 'shown until then');
    const listeners = [server.coordinator, server.messaging, server.calendar];
    await until(
      async () => {
        const shown = await Promise.all(listeners.map(shownAt));
        return shown.every(isPebbles);
      },
      `pebble's certificate; the server said ${server.output.join('\n')}`,
      60_000,
    );
    const shown = await shownAt(server.messaging);
    assert.equal(shown.subjectaltname, `DNS:${NAME}`);
    for (const path of pathsOf(server)) assert.equal(statSync(path).mode & 0o777, 0o600, path);
    assert.equal(
      server.output.some((line) => line.includes('PRIVATE KEY')),
      false,
    );
    // Nobody answers challenges any more.
    await assert.rejects(fetch(`http://127.0.0.1:${authority.httpPort}/.well-known/acme-challenge/x`));
    const account = readFileSync(pathsOf(server)[0] as string, 'utf8');
    const out = join(folder, 'backup');
    await callControl(server.folder, 'backup', { out });
    const kept = readdirSync(out, { recursive: true, encoding: 'utf8' });
    assert.deepEqual(
      kept.filter((name) => name.includes('acme') || name.endsWith('.pem')),
      [],
    );
    assert.ok(kept.includes('accounts.mdb'));
    await server.end('SIGTERM');

    const again = await ordering(t, environment, blocked.folder);
    assert.equal((await shownAt(again.coordinator)).fingerprint256, shown.fingerprint256, 'not ordered anew');
    assert.equal(readFileSync(pathsOf(again)[0] as string, 'utf8'), account);
    assert.equal(
      again.output.some((line) => line.includes('renewed')),
      false,
    );
  },
);

test(
  'a name that the authority does not find here is said with the authority’s own words, and the old certificate is shown',
  { skip: unlessInstalled('pebble', ['-h']) },
  async (t) => {
    const authority = await Authority.start();
    t.after(async () => await authority.stop());
    const elsewhere = String(await freePort());
    const server = await ordering(t, {
      ...authority.environment,
      PARLEY_ACME_DIRECTORY_URL: authority.directory,
      PARLEY_ACME_HTTP_PORT: elsewhere,
    });
    const look = () => server.output.find((line) => line.includes('could not be renewed'));
    const said = await until(look, 'the refusal', 60_000);
    assert.match(
      said,
      new RegExp(`The authority could not see that ${NAME} is this server \\((?:connection|unauthorized)`),
    );
    assert.equal(isPebbles(await shownAt(server.coordinator)), false);
    assert.match(await healthAt(server.coordinator), /^parley_tls_renewal_failing 1$/m);
  },
);
