/** Where a vendor token is taken, and every door where it is not (VND-05, VND-06). */
import assert from 'node:assert/strict';
import { get } from 'node:http';
import { after, before, test } from 'node:test';
import { type NodeRouteForm, NODE_ROUTES } from '#src/protocol/hosts/node-routes.ts';
import { MESSAGING_ROUTES, SESSION_ROUTES } from '#src/protocol/routes.ts';
import { type Route } from '#src/protocol/route.ts';
import { request } from '#test/support/server.ts';
import { refusedUpgrade } from '#test/support/socket.ts';
import { startConsoleServer, type ConsoleServer } from './console-server.ts';

let host: ConsoleServer;
let token: string;
/** The token in each of the ways in which somebody might try it. */
let shown: Record<string, string>[];
before(async () => {
  host = await startConsoleServer({}, { shards: 2 });
  token = (host.callers.vendor_active['authorization'] as string).slice('Bearer '.length);
  shown = [{ authorization: `Bearer ${token}` }, { 'x-admin-token': token }];
});
after(async () => await host.stop());

async function refusals(base: string, route: Route | NodeRouteForm, more: Record<string, string>[] = []) {
  const url = `${base}${route.path.replaceAll(/:\w+/g, 'nothing')}`;
  const replies = [...shown, ...more].map(async (headers) => {
    const body = route.method === 'get' || route.method === 'delete' ? {} : { body: {} };
    const reply = await request<{ code: string }>(route.method.toUpperCase(), url, { headers, ...body });
    return `${reply.status} ${reply.body.code}`;
  });
  return await Promise.all(replies);
}

test('VND-06 no route of messaging takes a vendor token', async () => {
  for (const [name, route] of Object.entries<Route>(MESSAGING_ROUTES)) {
    // Who posts by a webhook shows no other credential than its URL.
    if (route.auth === 'none') continue;
    const found = await refusals(host.server.messaging, route);
    assert.deepEqual(found, ['401 token_invalid', '401 token_missing'], name);
  }
});

test('VND-06 no session of a client comes of a vendor token', async () => {
  const { coordinator } = host.server;
  assert.deepEqual(await refusals(coordinator, SESSION_ROUTES.renew), ['401 token_invalid', '401 token_missing']);
  assert.deepEqual(await refusals(coordinator, SESSION_ROUTES.logout), ['401 token_invalid', '401 token_missing']);
  const found = await refusals(coordinator, SESSION_ROUTES.login);
  assert.deepEqual(found, ['400 field_invalid', '400 field_invalid']);
});

test('VND-06 no door of nodes takes a vendor token, also as a node token', async () => {
  for (const [name, route] of Object.entries(NODE_ROUTES)) {
    if (name === 'joinNode') continue;
    const found = await refusals(host.server.coordinator, route, [{ 'x-node-token': token }]);
    assert.deepEqual(found, ['401 token_missing', '401 token_missing', '401 token_invalid'], name);
  }
});

test('VND-06 no socket opens with a vendor token', async () => {
  const { server } = host;
  const byQuery = await refusedUpgrade(server, `?token=${token}&device=d_none`);
  assert.deepEqual([byQuery.status, byQuery.body.code], [401, 'token_invalid']);
  const byHeader = await refusedUpgrade(server, '?device=d_none', { authorization: `Bearer ${token}` });
  assert.deepEqual([byHeader.status, byHeader.body.code], [401, 'token_invalid']);
});

test('VND-06 the break-glass sign-in takes no vendor token, and no query carries one', async () => {
  for (const headers of shown) {
    const url = `${host.server.coordinator}/admin/api/break-glass/login`;
    const body = { password: 'a long enough password', code: '123456' };
    const reply = await request<{ code: string }>('POST', url, { headers, body });
    assert.deepEqual([reply.status, reply.body.code], [403, 'vendor_token_forbidden']);
  }
  const query = await request<{ code: string }>('GET', `${host.server.coordinator}/admin/api/me?token=${token}`);
  assert.deepEqual([query.status, query.body.code], [401, 'token_missing']);
});

test('VND-05 a token that is wrong in one character is invalid', async () => {
  const wrong = `${token.slice(0, -1)}${token.endsWith('A') ? 'B' : 'A'}`;
  for (const headers of [{ 'x-admin-token': wrong }, { authorization: `Bearer ${wrong}` }]) {
    const reply = await request<{ code: string }>('GET', `${host.server.coordinator}/admin/api/me`, { headers });
    assert.deepEqual([reply.status, reply.body.code], [401, 'vendor_token_invalid']);
  }
});

test('VND-13 uses are in the audit trail once an hour, and refusals each time', async () => {
  const { call } = host;
  for (let i = 0; i < 3; i += 1) assert.equal((await call('vendor_active', 'GET', '/me')).status, 200);
  for (let i = 0; i < 2; i += 1) assert.equal((await call('vendor_active', 'GET', '/vendor-tokens')).status, 403);
  for (let i = 0; i < 2; i += 1) assert.equal((await call('vendor_expired', 'GET', '/me')).status, 401);
  const id = token.split('_')[2] as string;
  const entries = async (query: string) =>
    (await call<{ items: Record<string, unknown>[] }>('owner', 'GET', `/audit?${query}`)).body.items;
  const used = await entries(`event=vendor_token.used&actor=vendor:${id}`);
  assert.deepEqual(
    used.map(({ actor, address, details }) => ({ actor, address, details })),
    [{ actor: `vendor:${id}`, address: '127.0.0.1', details: { path: '/admin/api/me' } }],
  );
  const refused = await entries('event=vendor_token.refused');
  const told = refused.map(({ details }) => details as { path: string; code: string });
  const count = (path: string, code: string) => told.filter((each) => each.path === path && each.code === code).length;
  assert.equal(count('/admin/api/vendor-tokens', 'vendor_token_forbidden'), 2);
  assert.equal(count('/admin/api/me', 'vendor_token_expired'), 2);
});

test('VND-11 VND-13 the fifth journal ask in a minute is 429, and every ask stands in the trail', async () => {
  const { call } = host;
  const nodes = await call<{ items: { id: string }[] }>('owner', 'GET', '/nodes');
  const path = `/nodes/${nodes.body.items[0]?.id}/logs`;
  const ask = async () =>
    await call<{ code?: string }>('vendor_active', 'POST', path, { body: { unit: 'nginx', lines: 10 } });
  for (let i = 0; i < 4; i += 1) assert.equal((await ask()).status, 202);
  const { status, body, headers } = await ask();
  assert.deepEqual([status, body.code], [429, 'rate_limited']);
  assert.match(headers.get('retry-after') ?? '', /^[1-9]\d?$/);
  const byOwner = await call('owner', 'POST', path, { body: { unit: 'nginx', lines: 10 } });
  assert.equal(byOwner.status, 202);
  const trail = await call<{ items: { actor: string; details: object }[] }>('owner', 'GET', '/audit?event=node.logs');
  const vendors = trail.body.items.filter(({ actor }) => actor.startsWith('vendor:'));
  assert.equal(vendors.length, 4);
  assert.deepEqual([trail.body.items.length, trail.body.items[0]?.actor], [5, 'user:owner']);
});

test('VND-06 two Authorization headers are no credential, whichever of them comes first', async () => {
  const { coordinator } = host.server;
  const owner = `Bearer ${host.callers.owner['x-admin-token']}`;
  for (const values of [
    [`Bearer ${token}`, owner],
    [owner, `Bearer ${token}`],
  ]) {
    const { status, code } = await askTwice(`${coordinator}/admin/api/me`, values);
    assert.deepEqual([status, code], [401, 'token_invalid']);
  }
});

/** A request that carries `Authorization` several times, which `fetch` would join. */
async function askTwice(url: string, values: readonly string[]): Promise<{ status: number; code: string }> {
  return await new Promise((resolve, reject) => {
    const headers = ['host', new URL(url).host, ...values.flatMap((value) => ['authorization', value])];
    get(url, { agent: false, headers }, (reply) => {
      let text = '';
      reply.setEncoding('utf8').on('data', (part: string) => (text += part));
      reply.on('end', () => {
        resolve({ status: reply.statusCode as number, ...(JSON.parse(text) as { code: string }) });
      });
    }).on('error', reject);
  });
}
