/**
 * The endpoint of a push subscription, which anybody with a session names: it leads to no address inside, however it is written, whatever
 * its name is resolved to when it is connected to, and wherever what answers there leads on (SUR-03, FRM-05).
 */
import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type AddressInfo, type Server } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { after, before, beforeEach, test } from 'node:test';
import { start, say } from '#test/messaging/conversing.ts';
import { CERTIFICATE, LoopbackProvider, Subscription } from '#test/push/loopback-provider.ts';
import { startServer, type Person, type TestServer } from '#test/support/server.ts';
import { until } from '#test/support/waiting.ts';

const folder = mkdtempSync(join(tmpdir(), 'parley-test-'));
/** What names are resolved to, changed while the server runs, and which ones were asked for. */
const names = join(folder, 'names.json');
const asked = join(folder, 'asked');
/** A resolver in the place of the machine's: of it alone the answer changes between two connections. */
const RESOLVER = `
import { appendFileSync, readFileSync } from 'node:fs';
import dns from 'node:dns';
import { syncBuiltinESMExports } from 'node:module';
const before = dns.lookup;
dns.lookup = (name, options, answer) => {
  const addresses = JSON.parse(readFileSync(${JSON.stringify(names)}, 'utf8'))[name];
  if (addresses === undefined) return before(name, options, answer);
  appendFileSync(${JSON.stringify(asked)}, name + '\\n');
  const all = addresses.map((address) => ({ address, family: address.includes(':') ? 6 : 4 }));
  setImmediate(() => (options.all ? answer(null, all) : answer(null, all[0].address, all[0].family)));
};
syncBuiltinESMExports();
`;

let provider: LoopbackProvider;
let inner: Server;
let innerPort: number;
let innerConnections = 0;
let server: TestServer;
let ann: Person;
let ben: Person;
let cyn: Person;
const rooms = new Map<Person, string>();

before(async () => {
  const certificate = join(folder, 'certificate.pem');
  const resolver = join(folder, 'resolver.mjs');
  writeFileSync(certificate, CERTIFICATE);
  writeFileSync(resolver, RESOLVER);
  resolveTo({});
  writeFileSync(asked, '');
  provider = await LoopbackProvider.open();
  inner = createServer((socket) => {
    innerConnections += 1;
    socket.destroy();
  });
  // A dual-stack socket: what is spelt as IPv6 arrives here too.
  await new Promise<void>((resolve) => inner.listen(0, '::', resolve));
  innerPort = (inner.address() as AddressInfo).port;
  server = await startServer({
    shards: 2,
    environment: {
      NODE_EXTRA_CA_CERTS: certificate,
      NODE_OPTIONS: `--import=${pathToFileURL(resolver).href}`,
      // The provider is at a private address, and is the one that may be.
      PARLEY_ALLOW_PRIVATE_TARGETS: 'localhost',
    },
  });
  ({ ann, ben, cyn } = await server.people('ann', 'ben', 'cyn'));
  for (const who of [ben, cyn]) rooms.set(who, (await start(server, ann, 'direct', [who.username])).id);
});
beforeEach(() => {
  provider.answer = () => ({ status: 201 });
});
after(async () => {
  await server.stop();
  await provider.close();
  inner.close();
  rmSync(folder, { recursive: true, force: true });
});

function resolveTo(answers: Readonly<Record<string, readonly string[]>>): void {
  writeFileSync(names, JSON.stringify(answers));
}

const timesAsked = (name: string) =>
  readFileSync(asked, 'utf8')
    .split('\n')
    .filter((one) => one === name).length;

async function put(who: Person, endpoint: string) {
  return await server.api<{ code?: string; field?: string }>(
    who,
    'PUT',
    '/v1/push',
    new Subscription(endpoint).address,
  );
}

let pushes = 0;

/** Has a push go out to somebody, at an address that it may go to: whatever was due before is on its way by then. */
async function settle(): Promise<void> {
  pushes += 1;
  assert.equal((await put(cyn, `${provider.url}/settled/${pushes}/`)).status, 200);
  await say(server, ann, rooms.get(cyn) as string, `settled ${pushes}`);
  await provider.askedOn(`/settled/${pushes}/`, 1);
}

test('FRM-05 an endpoint that is an address inside is refused, however it is written', async () => {
  const port = innerPort;
  const spellings = [
    ...['127.0.0.1', '127.1', '0177.0.0.1', '0x7f.1', '0x7f000001', '2130706433', '017700000001', '127.0.0.1.'],
    ...['１２７.０.０.１', '127。0。0。1', '①②⑦.0.0.1', '%31%32%37.0.0.1', '0', '0.0.0.0', '127.255.255.254'],
    ...['[::1]', '[::]', '[::ffff:127.0.0.1]', '[::ffff:7f00:1]', '[0:0:0:0:0:ffff:127.0.0.1]', '[::127.0.0.1]'],
    ...['[64:ff9b::127.0.0.1]', '[2002:7f00:1::]', '[fe80::1]', '[fc00::1]', '[ff02::1]', '[2001:db8::1]'],
    ...['10.0.0.1', '172.16.0.1', '192.168.0.1', '100.64.0.1', '169.254.169.254', '[fd00:ec2::254]', '198.18.0.1'],
    ...['a.localhost', 'LOCALHOST.a.localhost', 'x.LocalHost.', 'ⓛocalhost.localhost'],
  ];
  for (const host of spellings) {
    const { body, status } = await put(ben, `https://${host}:${port}/push`);
    assert.deepEqual([status, body.code, body.field], [400, 'target_private', 'endpoint'], host);
  }
  for (const url of [
    ...[`http://push.example.org:${port}/`, `https://ann@push.example.org/`, `https://push.example.org@127.0.0.1/`],
    ...[
      'https://',
      'https:///',
      'gopher://127.0.0.1/',
      'file:///etc/passwd',
      'javascript:0',
      '//127.0.0.1/',
      'https://[::1',
    ],
    ...[
      'https://1.2.3.4.5/',
      'https://256.1.1.1/',
      `https://[fe80::1%25eth0]:${port}/`,
      'https://127.0.0.1\\@push.example.org/',
    ],
  ]) {
    const { body, status } = await put(ben, url);
    assert.equal(status, 400, url);
    assert.ok(['field_invalid', 'target_private'].includes(body.code ?? ''), `${url}: ${body.code}`);
    assert.equal(body.field, 'endpoint', url);
  }
  await settle();
  assert.equal(innerConnections, 0);
});

test('FRM-05 an endpoint whose name is resolved to an address inside by the time of the push is not connected to', async () => {
  const leads = [
    ['127.0.0.1'],
    ['93.184.216.34', '127.0.0.1'],
    ['127.0.0.1', '93.184.216.34'],
    ['::1'],
    ['::ffff:127.0.0.1'],
    ['64:ff9b::7f00:1'],
    ['0.0.0.0'],
  ];
  for (const [at, addresses] of leads.entries()) {
    const name = `rebound-${at}.example.org`;
    resolveTo({ [name]: ['93.184.216.34'] });
    assert.equal((await put(ben, `https://${name}:${innerPort}/push`)).status, 200);
    resolveTo({ [name]: addresses });
    await say(server, ann, rooms.get(ben) as string, `to ${name}`);
    await until(() => timesAsked(name) > 0, `${name} to be looked up`);
    await settle();
    assert.equal(innerConnections, 0, addresses.join());
  }
});

test('FRM-05 a push service that leads on to an address inside is not followed there', async () => {
  for (const status of [301, 302, 303, 307, 308]) {
    for (const location of [
      `https://127.0.0.1:${innerPort}/`,
      `http://[::1]:${innerPort}/`,
      `//127.0.0.1:${innerPort}/`,
    ]) {
      pushes += 1;
      const path = `/leads/${pushes}/`;
      provider.answer = (request) => (request.path === path ? { status, headers: { location } } : { status: 201 });
      assert.equal((await put(ben, `${provider.url}${path}`)).status, 200);
      await say(server, ann, rooms.get(ben) as string, `led on by ${status}`);
      await provider.askedOn(path, 1);
      await settle();
      assert.equal(innerConnections, 0, `${status} ${location}`);
    }
  }
});

test('the address inside is there, and is connected to from where it may be', async () => {
  resolveTo({ localhost: ['127.0.0.1'] });
  assert.equal((await put(ben, `https://localhost:${innerPort}/push`)).status, 200);
  await say(server, ann, rooms.get(ben) as string, 'to where it may be');
  await until(() => innerConnections > 0, 'a connection');
});
