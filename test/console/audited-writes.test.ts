/** Every write leaves the event that its route states, in the commit of its change, by who did it (CON-04, VND-13). */
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { consoleRoutes } from '#src/console/route-table.ts';
import { CALLER_PASSWORD, type CallerName } from './callers.ts';
import { startConsoleServer, type ConsoleServer } from './console-server.ts';

let host: ConsoleServer;
before(async () => {
  host = await startConsoleServer();
});
after(async () => await host.stop());

interface Write {
  /** Page and name of the route. */
  readonly route: string;
  readonly who: CallerName;
  /** The path, with what earlier writes made in place of its parameters. */
  readonly path: (made: Readonly<Record<string, string>>) => string;
  readonly body?: object;
  /** The actor that the trail names, where it is not the owner. */
  readonly actor?: string;
  /** Where the answer's id is kept for later writes. */
  readonly keep?: string;
}

const token = { name: 'audited', vendor: 'parley', purpose: 'to be in the trail', term_days: 365 };
const WRITES: readonly Write[] = [
  { route: 'vendorTokens.issueVendorToken', who: 'owner', path: () => '/vendor-tokens', body: token, keep: 'token' },
  { route: 'vendorTokens.revokeVendorToken', who: 'owner', path: ({ token: id }) => `/vendor-tokens/${id}/revoke` },
  { route: 'nodes.createNode', who: 'owner', path: () => '/nodes', body: { name: 'made', roles: [] }, keep: 'node' },
  { route: 'nodes.revokeNode', who: 'break_glass', path: ({ node }) => `/nodes/${node}`, actor: 'break-glass' },
  { route: 'groups.createGroup', who: 'owner', path: () => '/groups', body: { name: 'made' }, keep: 'group' },
  { route: 'groups.deleteGroup', who: 'owner', path: ({ group }) => `/groups/${group}` },
  {
    route: 'consoleRoles.setConsoleRole',
    who: 'owner',
    path: () => '/console-roles/someone',
    body: { role: 'viewer' },
  },
  {
    route: 'secondFactor.setUpSecondFactor',
    who: 'before_second_factor',
    path: () => '/second-factor/setup',
    actor: 'user:newcomer',
  },
  {
    route: 'signIn.login',
    who: 'nobody',
    path: () => '/login',
    body: { username: 'viewer', password: CALLER_PASSWORD },
    actor: 'user:viewer',
  },
  { route: 'signIn.logout', who: 'viewer', path: () => '/logout', actor: 'user:viewer' },
];

test('a write leaves its event, with who did it and from where', async () => {
  const routes = new Map(consoleRoutes().map(({ page, name, route }) => [`${page}.${name}`, route]));
  const made: Record<string, string> = {};
  for (const { route: name, who, path, body, actor = 'user:owner', keep } of WRITES) {
    const route = routes.get(name);
    assert.ok(route, name);
    const sent = body === undefined ? {} : { body };
    const reply = await host.call<{ id: string }>(who, route.method.toUpperCase(), path(made), sent);
    assert.ok(reply.status < 300, `${name} answered ${reply.status} ${reply.text}`);
    if (keep !== undefined) made[keep] = reply.body.id;
    const trail = await host.call<{ items: object[] }>('owner', 'GET', `/audit?event=${route.audit}&limit=1`);
    const [entry] = trail.body.items as { event: string; actor: string; address: string }[];
    assert.deepEqual([entry?.event, entry?.actor, entry?.address], [route.audit, actor, '127.0.0.1'], name);
  }
});

test('a write that is refused leaves nothing', async () => {
  const count = async () =>
    (await host.call<{ items: { number: number }[] }>('owner', 'GET', '/audit?limit=1')).body.items[0]?.number;
  const past = await count();
  const refused = [
    await host.call('owner', 'POST', '/vendor-tokens', { body: { ...token, term_days: 364 } }),
    await host.call('administrator', 'POST', '/vendor-tokens', { body: token }),
    await host.call('break_glass', 'POST', '/vendor-tokens', { body: token }),
    await host.call('owner', 'DELETE', '/groups/nothing'),
  ];
  assert.deepEqual(
    refused.map(({ status }) => status),
    [400, 403, 403, 404],
  );
  assert.equal(await count(), past);
});
