/**
 * The configurations of `docs/deploy` for nginx, Caddy and HAProxy in front of a real server: everything a client does goes
 * through them, from an address of its own.
 */
import assert from 'node:assert/strict';
import { randomBytes, randomUUID } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { METHODS } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { SETTINGS } from '#src/config.ts';
import type { Session } from '#src/protocol/sessions/sessions.ts';
import { makeBot, trailOf } from '#test/support/bots.ts';
import { plantOwner, consoleOf, type ConsoleServer } from '#test/support/console.ts';
import { startServer, type Person } from '#test/support/server.ts';
import { attach, idOf } from '../messaging/attaching.ts';
import { start } from '../messaging/conversing.ts';
import { unlessInstalled } from '#test/support/real-program.ts';
import { readDeployed, startCaddy, startHaproxy, startNginx, type Layout, type Proxy } from './proxy.ts';
import { RemoteClient } from './remote-client.ts';

const MIB = 1024 * 1024;
/** Larger than nginx takes by default, which is 1 MiB. */
const ATTACHMENT = randomBytes(3 * MIB);
/** An address for documentation (RFC 5737), which a client claims to have. */
const CLAIMED = '203.0.113.7';

const folder = mkdtempSync(join(tmpdir(), 'parley-proxies-'));
const data = join(folder, 'data');
const consoleToken = await plantOwner(data);
const server = await startServer({ folder: data, environment: { PARLEY_TRUSTED_PROXIES: '127.0.0.1' } });
const site: ConsoleServer = { server, console: consoleOf(server, consoleToken), stop: async () => undefined };
after(async () => {
  await server.stop();
  rmSync(folder, { recursive: true, force: true });
});
const { ada, bob } = await server.people('ada', 'bob');
const room = await start(server, ada, 'room', ['bob'], 'Room');
const bot = await makeBot(site, 'probe', ['messages:read'], [room.id]);
const added = { participants: [bot.username] };
assert.equal((await server.api(ada, 'POST', `/v1/conversations/${room.id}/participants`, added)).status, 200);

interface PathItem {
  readonly servers: readonly { readonly url: string }[];
}
const SERVICE_OF_PORT = { 8080: 'coordinator', 8081: 'messaging', 8082: 'calendar' } as const;
const { paths } = JSON.parse(readFileSync(new URL('../../docs/openapi.json', import.meta.url), 'utf8')) as {
  paths: Record<string, PathItem>;
};
/** Every route that one service has, with a value in the place of each parameter. */
const ROUTES = Object.entries(paths).flatMap(([path, { servers, ...operations }]) => {
  const [port, ...more] = servers.map(({ url }) => Number(new URL(url).port) as keyof typeof SERVICE_OF_PORT);
  if (port === undefined || more.length > 0) return [];
  return Object.keys(operations)
    .filter((method) => METHODS.includes(method.toUpperCase()))
    .map((method) => ({
      method: method.toUpperCase(),
      path: path.replaceAll(/\{\w+\}/g, '1'),
      service: SERVICE_OF_PORT[port],
    }));
});

const LAYOUTS: readonly Layout[] = ['one-name', 'three-names'];
const PROXIES = [
  { name: 'nginx', startProxy: startNginx, layouts: LAYOUTS, skip: unlessInstalled('nginx', ['-v']) },
  { name: 'Caddy', startProxy: startCaddy, layouts: LAYOUTS, skip: unlessInstalled('caddy', ['version']) },
  { name: 'HAProxy', startProxy: startHaproxy, layouts: LAYOUTS.slice(0, 1), skip: unlessInstalled('haproxy', ['-v']) },
];

for (const [at, { layouts, name, startProxy, skip }] of PROXIES.entries()) {
  for (const [of, layout] of layouts.entries()) {
    describe(`${name}, ${layout}`, { skip }, () => {
      const client = new RemoteClient(`127.0.0.${10 + 2 * at + of}`);
      const secrets: string[] = [];
      let proxy: Proxy;
      before(async () => {
        proxy = await startProxy(server, layout, mkdtempSync(join(folder, `${at}${of}-`)));
      });
      after(async () => {
        client.close();
        await proxy.stop();
      });
      addMessagingTests(client, () => proxy, secrets);
      addServiceTests(client, () => proxy, secrets);
    });
  }
}

/** Signs somebody in through the proxy. */
async function signIn(client: RemoteClient, coordinator: string, { password, username }: Person): Promise<Session> {
  const reply = await client.call('POST', `${coordinator}/v1/auth/login`, { body: { username, password } });
  assert.equal(reply.status, 200, reply.text);
  return JSON.parse(reply.text) as Session;
}

/** What people do in conversations; every token that went through the proxy is added to `secrets`. */
function addMessagingTests(client: RemoteClient, theProxy: () => Proxy, secrets: string[]): void {
  test('people sign in, post, and hear of posts over the socket', async () => {
    const proxy = theProxy();
    const [hers, his] = [await signIn(client, proxy.coordinator, ada), await signIn(client, proxy.coordinator, bob)];
    secrets.push(hers.token, his.token);
    const socket = await client.socket(`${proxy.messaging}/v1/ws?token=${his.token}&device=${his.device_id}`);
    const posted = await client.call('POST', `${proxy.messaging}/v1/conversations/${room.id}/messages`, {
      token: hers.token,
      body: { kind: 'text', body: 'Hello', client_msg_id: randomUUID() },
    });
    assert.equal(posted.status, 201, posted.text);
    const { seq } = JSON.parse(posted.text) as { seq: number };
    assert.equal(
      (await socket.event((event) => event.type === 'message.new' && event.seq === seq)).data['body'],
      'Hello',
    );
    await socket.close();
  });

  test('an attachment larger than what proxies take by default goes up and comes down', async () => {
    const { coordinator, messaging } = theProxy();
    const { token } = await signIn(client, coordinator, ada);
    const tus = { 'tus-resumable': '1.0.0', 'content-type': 'application/offset+octet-stream' };
    const begun = await client.call('POST', `${messaging}/v1/attachments`, {
      token,
      headers: { ...tus, 'upload-length': String(ATTACHMENT.length) },
      body: ATTACHMENT.subarray(0, 2 * MIB),
    });
    assert.equal(begun.status, 201, begun.text);
    assert.equal(begun.headers['upload-offset'], String(2 * MIB));
    const path = begun.headers.location ?? '';
    const rest = await client.call('PATCH', `${messaging}${path}`, {
      token,
      headers: { ...tus, 'upload-offset': String(2 * MIB) },
      body: ATTACHMENT.subarray(2 * MIB),
    });
    assert.equal(rest.status, 204, rest.text);
    const attachment = idOf(path);
    assert.equal((await attach(server, ada, room.id, attachment)).status, 201);
    const url = `${messaging}/v1/attachments/${attachment}?conversation=${room.id}`;
    const content = await client.call('GET', url, { token });
    assert.equal(content.status, 200);
    assert.ok(content.bytes.equals(ATTACHMENT));
  });

  test('the audit trail has the address of the client, whatever it says of itself', async () => {
    const proxy = theProxy();
    const forged = { 'x-forwarded-for': `${CLAIMED}, 127.0.0.1`, 'x-real-ip': CLAIMED, forwarded: `for=${CLAIMED}` };
    const made = await client.call('POST', `${proxy.coordinator}/admin/api/groups`, {
      headers: { ...forged, 'x-admin-token': consoleToken },
      body: { name: `from ${client.address}` },
    });
    assert.equal(made.status, 201, made.text);
    secrets.push(consoleToken);
    const trail = await site.console<{ items: { event: string; address: string }[] }>('GET', '/audit?limit=1');
    const [entry] = trail.body.items;
    assert.deepEqual([entry?.event, entry?.address], ['group.created', client.address]);

    const noted = (await trailOf(site, bot, 0)).length;
    const url = `${proxy.messaging}/v1/conversations/${room.id}/messages`;
    assert.equal((await client.call('GET', url, { token: bot.token, headers: forged })).status, 200);
    assert.equal((await trailOf(site, bot, noted + 1)).at(-1)?.address, client.address);
  });
}

/** The other services, and what of all that stands in the logs. */
function addServiceTests(client: RemoteClient, theProxy: () => Proxy, secrets: readonly string[]): void {
  test('calendars are found by the well-known path, and read by their hrefs', async () => {
    const { calendar, coordinator } = theProxy();
    const { token } = await signIn(client, coordinator, ada);
    const made = await client.call('POST', `${coordinator}/v1/app-passwords`, { token, body: { name: 'phone' } });
    assert.equal(made.status, 201, made.text);
    const { password } = JSON.parse(made.text) as { password: string };
    const authorization = `Basic ${Buffer.from(`ada:${password}`).toString('base64')}`;
    const headers = { authorization, depth: '0', 'content-type': 'application/xml' };
    const body = Buffer.from('<propfind xmlns="DAV:"><prop><current-user-principal/></prop></propfind>');
    const found = await client.call('PROPFIND', `${calendar}/.well-known/caldav`, { headers, body });
    assert.deepEqual([found.status, found.headers.location], [308, '/dav/']);
    for (const path of ['/dav/', '/', '/principals/']) {
      const read = await client.call('PROPFIND', `${calendar}${path}`, { headers, body });
      assert.equal(read.status, 207, `${path}: ${read.text}`);
      assert.match(read.text, /<d:href>\/dav\/principals\/ada\/<\/d:href>|>\/dav\/principals\/ada\/</);
    }
  });

  test('every route is answered by the service that has it, and those for services by nobody', async () => {
    const proxy = theProxy();
    const misled: string[] = [];
    for (const { method, path, service } of ROUTES) {
      const reply = await client.call(method, `${proxy[service]}${path}`);
      const isInside = path.startsWith('/v1/internal/');
      const isAnswered = reply.headers['x-service-protocol'] !== undefined;
      const isMissing = reply.status === 404 && (method === 'HEAD' || reply.text.includes('path_not_found'));
      if ((isAnswered && !isMissing) === isInside)
        misled.push(`${method} ${path}: ${reply.status} ${reply.text.slice(0, 80)}`);
    }
    assert.ok(ROUTES.length > 100, String(ROUTES.length));
    assert.deepEqual(misled, []);
  });

  test('pages open, plain HTTP leads to HTTPS, and browsers are told to stay there', async () => {
    const { coordinator, plain } = theProxy();
    const page = await client.call('GET', `${coordinator}/`, { headers: { accept: 'text/html' } });
    assert.equal(page.status, 200);
    assert.equal(page.headers['strict-transport-security'], 'max-age=31536000');
    assert.match((await client.call('GET', `${coordinator}/console/`)).text, /<title>Parley/);
    const moved = await client.call('GET', `${plain}/console/?a=1`);
    assert.equal(moved.status, 308);
    const { host, pathname, protocol, search } = new URL(moved.headers.location ?? '');
    assert.deepEqual(
      [protocol, host.split(':')[0], pathname + search],
      ['https:', 'chat.example.org', '/console/?a=1'],
    );
  });

  test('nothing that lets anybody in stands in the logs', async () => {
    const proxy = theProxy();
    const asked = ['/v1/enroll/inv_canary', '/v1/meetings/join/canary', '/v1/nothing?canary=1'];
    for (const path of asked) await client.call('GET', `${proxy.coordinator}${path}`);
    await client.call('POST', `${proxy.messaging}/v1/hooks/canary`);
    for (const path of ['/feeds/canary.ics', '/rsvp/canary']) await client.call('GET', `${proxy.calendar}${path}`);
    const log = proxy.log();
    assert.ok(log.includes('/v1/nothing') && log.includes(client.address), log.slice(0, 2000));
    for (const secret of ['canary', ...secrets]) assert.ok(!log.includes(secret), `the log has ${secret}`);
  });
}

test('HAProxy waits longer than the server lets sockets be silent and requests take', () => {
  const text = readDeployed('haproxy/haproxy.cfg');
  for (const directive of ['client', 'server', 'tunnel']) {
    const seconds = Number(new RegExp(`^ {4}timeout ${directive} (\\d+)s$`, 'm').exec(text)?.[1]);
    assert.ok(seconds > Math.max(SETTINGS.socketIdleSeconds.default, SETTINGS.requestSeconds.default), directive);
  }
});

test('nginx waits longer than the server lets sockets be silent and requests take', () => {
  const text = readDeployed('nginx/parley-proxy.conf');
  for (const directive of ['proxy_read_timeout', 'proxy_send_timeout']) {
    const seconds = Number(new RegExp(`^${directive} (\\d+)s;$`, 'm').exec(text)?.[1]);
    assert.ok(seconds > Math.max(SETTINGS.socketIdleSeconds.default, SETTINGS.requestSeconds.default), directive);
  }
});
