/** No secret that meets the console leaves it: canaries in every place for one, looked for in all that is written. */
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { consoleRoutes } from '#src/console/route-table.ts';
import { request } from '#test/support/server.ts';
import { until } from '#test/support/waiting.ts';
import { CALLER_NAMES, CALLER_PASSWORD } from './callers.ts';
import { startConsoleServer, type ConsoleServer } from './console-server.ts';

/** Each stands for the secret of one place; none looks like a credential, so that no pattern of the log hides it. */
const CANARY = {
  password: 'heron sits on the password',
  code: 'heron-in-a-code',
  query: 'heron-in-a-query',
  header: 'heron-in-a-header',
  cookie: 'heron-in-a-cookie',
  bearer: 'heron-in-a-bearer',
  adminToken: 'heron-in-an-admin-token',
  body: 'heron-in-a-body',
} as const;

let host: ConsoleServer;
const issued: string[] = [];
before(async () => {
  host = await startConsoleServer({ PARLEY_LOG_LEVEL: 'debug', PARLEY_DEBUG_HOOKS: '1' }, { shards: 2 });
});
after(async () => await host.stop());

/** Characters at the end of a token that belong to its secret, whatever its kind. */
const SECRET_TAIL = 20;

/** The secret parts of the callers' own credentials. */
const ownSecrets = () =>
  CALLER_NAMES.flatMap((name) => Object.values(host.callers[name])).map((value) => value.slice(-SECRET_TAIL));

async function signInWrongly(): Promise<void> {
  const { coordinator } = host.server;
  const body = { username: 'owner', password: CANARY.password };
  for (const path of ['/v1/auth/login', '/admin/api/login', '/admin/api/break-glass/login']) {
    await request('POST', `${coordinator}${path}`, { body: { ...body, code: CANARY.code } });
    await request('POST', `${coordinator}${path}`, { body });
  }
  await request('POST', `${coordinator}/admin/api/login`, { body: { ...body, password: CALLER_PASSWORD } });
}

async function meetEveryRoute(): Promise<void> {
  const { coordinator } = host.server;
  for (const { route } of consoleRoutes()) {
    const url = `${coordinator}/admin/api${route.path.replaceAll(/:\w+/g, 'nothing')}?token=${CANARY.query}`;
    const method = route.method.toUpperCase();
    const body = { password: CANARY.body, secret: CANARY.body, token: CANARY.body, name: CANARY.body };
    const sent = route.method === 'get' ? {} : { body };
    const headers = { 'x-canary': CANARY.header, cookie: `session=${CANARY.cookie}` };
    await request(method, url, { ...sent, headers: { ...headers, authorization: `Bearer ${CANARY.bearer}` } });
    await request(method, url, { ...sent, headers: { ...headers, 'x-admin-token': CANARY.adminToken } });
    await request(method, url, { ...sent, headers: { ...headers, ...host.callers.owner } });
    await request(method, url, { ...sent, headers: { ...headers, ...host.callers.vendor_active } });
    if (route.method !== 'get') await request(method, url, { body: `{"secret":"${CANARY.body}`, headers });
  }
}

/** Secrets that the console itself gives out. */
async function takeSecrets(): Promise<void> {
  const form = { name: 'canary', vendor: 'parley', purpose: 'to be looked for', term_days: 365 };
  const vendor = await host.call<{ token: string }>('owner', 'POST', '/vendor-tokens', { body: form });
  assert.equal(vendor.status, 201, vendor.text);
  const node = await host.call<{ join_token: string }>('owner', 'POST', '/nodes', { body: { name: 'n', roles: [] } });
  assert.equal(node.status, 201, node.text);
  issued.push(vendor.body.token.slice(-SECRET_TAIL), node.body.join_token.slice(-SECRET_TAIL));
}

test('no secret that was sent, held or given out stands in the log, the console or the audit trail', async () => {
  await signInWrongly();
  await takeSecrets();
  await meetEveryRoute();
  // Something goes wrong, too, so that there are lines with errors and stacks to look at.
  process.kill(host.server.pid, 'SIGUSR2');
  await until(() => host.server.output.some((line) => line.includes('a shard died')), 'a line of the log');
  const read = async (path: string) => (await host.call('owner', 'GET', path)).text;
  const shown = [await read('/logs?limit=200'), await read('/audit?limit=200'), await read('/overview')];
  const written = [...host.server.output, ...shown];
  const secrets = [...Object.values(CANARY), CALLER_PASSWORD, ...ownSecrets(), ...issued];
  assert.ok(secrets.every((secret) => secret.length >= 8));
  for (const secret of secrets) {
    const found = written.filter((text) => text.includes(secret) || text.includes(encodeURIComponent(secret)));
    assert.deepEqual(found, [], secret);
  }
  assert.ok(host.server.output.length > 3);
});
