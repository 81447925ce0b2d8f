/**
 * Who gets in where on all listeners but the console's API, which has a matrix of its own: every route of every table, the doors of
 * CalDAV and SCIM, and those that stand in no table × every kind of caller, against the running server.
 *
 * The expected matrix is `caller-matrix.json`; a route without its row fails. How it is written anew: `caller-matrix.ts` of the support
 * folder. A probe carries a field and a parameter that no form has, so that nothing is changed by whom it lets in.
 */
import assert from 'node:assert/strict';
import { globSync, readFileSync } from 'node:fs';
import { after, before, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { METHODS, REFUSED_METHODS } from '#src/calendar/dav/compliance.ts';
import { ROUTE_TABLES } from '#src/cli/docs/openapi.ts';
import type { Route } from '#src/protocol/route.ts';
import { SCIM_PREFIX, SCIM_ROUTES, type ScimRoute } from '#src/scim/scim-routes.ts';
import { CALLER_PASSWORD } from '#test/console/callers.ts';
import { startConsoleServer, type ConsoleServer } from '#test/console/console-server.ts';
import { expectedOf, IN, letIn, readMatrix, rowOf, widenings, type Matrix } from '#test/support/caller-matrix.ts';
import { request } from '#test/support/server.ts';

const FILE = new URL('./caller-matrix.json', import.meta.url);
const MAIL = 'm'.repeat(43);
const MESSAGING = 'n'.repeat(43);
const ROOT = fileURLToPath(new URL('../../', import.meta.url));

type Listener = 'coordinator' | 'messaging' | 'calendar';
interface Door {
  readonly name: string;
  readonly listener: Listener;
  readonly method: string;
  readonly path: string;
  /** Whether it takes a body of JSON. */
  readonly hasBody: boolean;
}

/** Below the prefixes of CalDAV: its root, a home, a calendar and an object of the one who signs in by an app password. */
const DAV_PATHS = [
  '/dav/',
  '/dav/calendars/someone/',
  '/dav/calendars/someone/nothing/',
  '/dav/calendars/someone/nothing/x.ics',
  '/dav/calendars/owner/',
  '/dav/push/owner/cal_0/x',
];
/**
 * What stands in no table, by the file that adds it. The test of sources below holds the list of files, so that none is added
 * without a row here.
 */
const BESIDE_TABLES: Readonly<Record<string, readonly (readonly [Listener, string])[]>> = {
  'src/calendar/dav/routes.ts': [...METHODS, ...REFUSED_METHODS].flatMap((method) =>
    [...DAV_PATHS, '/.well-known/caldav'].map((path) => ['calendar', `${method} ${path}`] as const),
  ),
  'src/compliance/own-data/own-data-route.ts': [['coordinator', 'GET /v1/me/export']],
  'src/console/web-pages.ts': [['coordinator', 'GET /console/']],
  'src/directory/enrollment-page.ts': [['coordinator', 'GET /v1/enroll/nothing']],
  // The routes of the tables are added by this one.
  'src/http/client-routes.ts': [],
  'src/http/http-surface.ts': [
    ['coordinator', 'GET /healthz'],
    ['calendar', 'GET /healthz'],
  ],
  'src/messaging/http/http-surface.ts': [
    ['messaging', 'GET /healthz'],
    ['messaging', 'GET /v1/nothing'],
  ],
  'src/messaging/sockets/sockets.ts': [['messaging', 'GET /v1/ws']],
  'src/monitoring/client-telemetry.ts': [['coordinator', 'POST /v1/telemetry']],
  'src/server/front-page.ts': [['coordinator', 'GET /']],
  'src/server/web-app.ts': [['coordinator', 'GET /app/']],
};

/** Add the routes of tables that have a matrix, or rows here, of their own. */
const OTHER_TABLES = [
  'src/console/router.ts',
  'src/calendar/mail/mail-routes.ts',
  'src/emoji/custom-emoji-routes.ts',
  'src/server/account/avatar-routes.ts',
  'src/scim/scim-service.ts',
  'src/hosts/node-routes.ts',
];

function everyDoor(): Door[] {
  const tables = ROUTE_TABLES.flatMap(([, listener, routes]) =>
    Object.values(routes as Readonly<Record<string, Route>>).map(({ body, method, path }): Door => {
      const upper = method.toUpperCase();
      return { name: `${listener} ${upper} ${path}`, listener, method: upper, path, hasBody: body !== undefined };
    }),
  );
  const scim = Object.values<ScimRoute>(SCIM_ROUTES).map((route): Door => {
    const [method, path] = [route.method.toUpperCase(), `${SCIM_PREFIX}${route.path}`];
    return {
      name: `coordinator ${method} ${path}`,
      listener: 'coordinator',
      method,
      path,
      hasBody: route.hasBody === true,
    };
  });
  const beside = Object.values(BESIDE_TABLES)
    .flat()
    .map(([listener, name]): Door => {
      const [method = '', path = ''] = name.split(' ');
      return {
        name: `${listener} ${name}`,
        listener,
        method,
        path,
        hasBody: method === 'POST' && listener !== 'calendar',
      };
    });
  const doors = new Map([...tables, ...scim, ...beside].map((door) => [door.name, door]));
  return [...doors.values()].toSorted((a, b) => (a.name < b.name ? -1 : 1));
}

let site: ConsoleServer;
let callers: Readonly<Record<string, Readonly<Record<string, string>>>>;
before(async () => {
  site = await startConsoleServer(
    { PARLEY_SERVICE_TOKENS: JSON.stringify({ mail: MAIL, messaging: MESSAGING }) },
    { shards: 2 },
  );
  const { coordinator } = site.server;
  const bearer = (token: string) => ({ authorization: `Bearer ${token}` });
  const made = await request<{ password: string }>('POST', `${coordinator}/v1/app-passwords`, {
    body: { name: 'a calendar app' },
    headers: site.callers.messaging_session,
  });
  assert.equal(made.status, 201, made.text);
  const client = await site.call<{ token: string }>('owner', 'POST', '/scim-clients', { body: { name: 'people' } });
  assert.equal(client.status, 201, client.text);
  const invitation = await site.call<{ url: string }>('owner', 'POST', '/enroll', {
    body: { kind: 'guest', phone: '+4915112345678', guest_until: new Date(Date.now() + 86_400_000).toISOString() },
  });
  assert.equal(invitation.status, 201, invitation.text);
  const exchange = { body: { username: 'guest', password: CALLER_PASSWORD } };
  const guest = await request('POST', `${coordinator}${new URL(invitation.body.url).pathname}`, exchange);
  assert.equal(guest.status, 201, guest.text);
  const ended = await site.server.signIn('someone', CALLER_PASSWORD);
  await request('POST', `${coordinator}/v1/auth/logout`, { body: {}, token: ended.token });
  callers = {
    ...site.callers,
    guest: bearer((await site.server.signIn('guest', CALLER_PASSWORD)).token),
    service: bearer(MESSAGING),
    // The console's header opens nothing elsewhere; nor does its token in the place of another.
    owner: bearer(site.callers.owner['x-admin-token'] ?? ''),
    ended_session: bearer(ended.token),
    refresh_token: bearer(ended.refresh_token ?? ''),
    app_password: { authorization: `Basic ${Buffer.from(`someone:${made.body.password}`).toString('base64')}` },
    mail_service: bearer(MAIL),
    scim_client: bearer(client.body.token),
  };
});
after(async () => await site.stop());

/** Codes of 403 that say what somebody may not do there, and not that they may not come: a stranger to a room is one of its people. */
async function probe({ hasBody, listener, method, path }: Door, caller: string): Promise<string> {
  const url = `${site.server[listener]}${path.replaceAll(/:\w+/g, 'nothing')}?matrix_probe=1`;
  const body = hasBody ? { body: JSON.stringify({ matrix_probe: true }) } : {};
  const headers = { ...callers[caller], ...(hasBody ? { 'content-type': 'application/json' } : {}) };
  const reply = await fetch(url, { method, headers, redirect: 'manual', ...body });
  const text = await reply.text();
  assert.ok(reply.status < 500, `${method} ${path} answered ${caller} ${reply.status} ${text}`);
  if (reply.status !== 401 && reply.status !== 403) return IN;
  const [, code = ''] = /"code":"(\w+)"/.exec(text) ?? [];
  return `${reply.status} ${code}`.trim();
}

test('CON-03 VND-15 every caller meets every route of every listener as the matrix says', async () => {
  const present: Matrix = {};
  for (const door of everyDoor()) {
    const outcomes: [string, string][] = [];
    for (const caller of Object.keys(callers)) outcomes.push([caller, await probe(door, caller)]);
    present[door.name] = rowOf(outcomes);
  }
  const { expected, refused } = expectedOf(FILE, present, ['messaging_session']);
  assert.deepEqual(refused, [], 'if this is meant, write with MATRIX=admit');
  assert.deepEqual(Object.keys(present), Object.keys(expected), 'a route has no row: write it with MATRIX=write');
  assert.deepEqual(present, expected, 'if this is meant, see the head of this file');
});

test('CON-03 whatever adds a route beside the tables is known, and so has its rows here', () => {
  // A table's entry begins with `route.` or `consoleRoute.`; what registers one has another name before the dot.
  const adding =
    /\.route\(|(?<!oute)\.(?:get|post|put|patch|delete|del|head|options|any|all|ws)\((?:\s*['"`]\/|path\b|`\/)/;
  const found = globSync('src/**/*.ts', { cwd: ROOT })
    .filter((path) => !/^src\/(?:web|client|cli)\//.test(path) && adding.test(readFileSync(`${ROOT}${path}`, 'utf8')))
    .toSorted();
  assert.deepEqual(found, [...Object.keys(BESIDE_TABLES), ...OTHER_TABLES].toSorted());
});

const STRANGERS = [
  'nobody',
  'vendor_active',
  'vendor_revoked',
  'vendor_expired',
  'vendor_unknown',
  'ended_session',
  'refresh_token',
];

test('VND-15 outside the console a vendor token, an ended session and a token of renewal open what everybody may, and nothing else', () => {
  const matrix = readMatrix(FILE);
  for (const route of Object.keys(matrix)) {
    const found = letIn(matrix, route).filter((who) => STRANGERS.includes(who));
    assert.ok(found.length === 0 || found.length === STRANGERS.length, `${route} lets in ${found.join(' ')}`);
  }
});

test('CRD-05 each credential opens the doors that it is for', () => {
  const matrix = readMatrix(FILE);
  const isPublic = (route: string) => letIn(matrix, route).includes('nobody');
  const doorsOf = (who: string) =>
    Object.keys(matrix).filter((route) => !isPublic(route) && letIn(matrix, route).includes(who));
  const outside = (who: string, own: RegExp) => doorsOf(who).filter((route) => !own.test(route));
  assert.deepEqual(outside('scim_client', / \/scim\/v2\//), []);
  assert.deepEqual(outside('app_password', /^calendar [A-Z]+ \/(?:dav\/|\.well-known)/), []);
  assert.deepEqual(outside('node', / \/v1\/nodes\/self\//), []);
  assert.deepEqual(doorsOf('mail_service'), ['calendar POST /v1/mail']);
  assert.deepEqual(outside('service', / \/v1\/internal\//), []);
  assert.deepEqual(doorsOf('viewer'), []);
  assert.deepEqual(doorsOf('administrator'), []);
  assert.deepEqual(doorsOf('owner'), []);
  assert.deepEqual(doorsOf('break_glass'), []);
  for (const who of ['scim_client', 'app_password', 'node', 'service', 'guest', 'bot', 'messaging_session']) {
    assert.ok(doorsOf(who).length > 0, `${who} is let in nowhere`);
  }
});

test('a route without its row, and one that lets in more, are noticed', () => {
  const past: Matrix = { 'coordinator GET /a': { in: 'messaging_session' } };
  assert.deepEqual(widenings(past, { 'coordinator GET /b': { in: 'messaging_session' } }, ['messaging_session']), []);
  assert.deepEqual(widenings(past, { 'coordinator GET /a': { in: 'messaging_session bot' } }, ['messaging_session']), [
    'coordinator GET /a now lets in bot',
  ]);
  assert.deepEqual(
    everyDoor().filter(({ name }) => !Object.hasOwn(readMatrix(FILE), name)),
    [],
  );
});
