/**
 * Who gets in where: every route of the console × every kind of caller, against the running server (CON-03, VND-15).
 *
 * The expected matrix is `authorisation-matrix.json`. A probe carries a field, or a query parameter, that no form has:
 * whoever is let in reads 400 for it, so that nothing is changed, and everybody else reads why not. To write the file
 * anew after routes were added or closed:
 *
 *     MATRIX=write node --test test/console/authorisation-matrix.test.ts
 *
 * That refuses to let anybody in who was not, and, into a new route, anybody but console people with a role. A
 * widening that is meant is written with `MATRIX=admit`, and shows in the file's difference.
 */
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { consoleRoutes } from '#src/console/route-table.ts';
import type { ConsoleRoute } from '#src/console/route.ts';
import { ERRORS, type ErrorCode } from '#src/protocol/errors.ts';
import { SCIM_PREFIX, SCIM_ROUTES, type ScimRoute } from '#src/scim/scim-routes.ts';
import {
  expectedOf,
  IN,
  letIn,
  readMatrix as readFile,
  rowOf,
  widenings,
  type Matrix,
} from '#test/support/caller-matrix.ts';
import { request } from '#test/support/server.ts';
import { CALLER_NAMES, type CallerName } from './callers.ts';
import { startConsoleServer, type ConsoleServer } from './console-server.ts';

const FILE = new URL('./authorisation-matrix.json', import.meta.url);
/** Who may be let into a new route without a word. */
const CONSOLE_PEOPLE: readonly string[] = ['viewer', 'administrator', 'owner', 'owner_before_step_up', 'break_glass'];

let server: ConsoleServer;
before(async () => {
  server = await startConsoleServer({}, { shards: 2 });
});
after(async () => await server.stop());

const nameOf = ({ method, path }: ConsoleRoute) => `${method.toUpperCase()} ${path}`;

async function probe(route: ConsoleRoute, caller: CallerName): Promise<string> {
  const path = route.path.replaceAll(/:\w+/g, 'nothing');
  const isRead = route.method === 'get';
  const reply = isRead
    ? await server.call<{ code: ErrorCode }>(caller, 'GET', `${path}?matrix_probe=1`)
    : await server.call<{ code: ErrorCode }>(caller, route.method.toUpperCase(), path, {
        body: { matrix_probe: true },
      });
  const { code } = reply.body;
  assert.equal(ERRORS[code].status, reply.status, `${nameOf(route)} answered ${caller} ${reply.text}`);
  const isLetIn = ['query_invalid', 'field_invalid', 'field_unknown'].includes(code);
  return isLetIn ? IN : `${reply.status} ${code}`;
}

async function readMatrix(): Promise<Matrix> {
  const matrix: Matrix = {};
  const routes = consoleRoutes().map(({ route }) => route);
  for (const route of routes.toSorted((a, b) => (nameOf(a) < nameOf(b) ? -1 : 1))) {
    const outcomes: [string, string][] = [];
    for (const caller of CALLER_NAMES) outcomes.push([caller, await probe(route, caller)]);
    matrix[nameOf(route)] = rowOf(outcomes);
  }
  return matrix;
}

test('CON-03 VND-15 every caller meets every route as the matrix says', async () => {
  const present = await readMatrix();
  const { expected, refused } = expectedOf(FILE, present, CONSOLE_PEOPLE);
  assert.deepEqual(refused, [], 'if this is meant, write with MATRIX=admit');
  assert.deepEqual(present, expected, 'if this is meant, see the head of this file');
});

test('CON-03 SCIM lets in no caller of the console or of the apps, by whichever of its routes', async () => {
  const ask = async ({ method, path }: ScimRoute, caller: CallerName) => {
    const url = `${server.server.coordinator}${SCIM_PREFIX}${path.replace(':id', 'nothing')}`;
    const options = { headers: server.callers[caller], ...(method === 'get' ? {} : { body: {} }) };
    return (await request(method.toUpperCase(), url, options)).status;
  };
  for (const caller of CALLER_NAMES) assert.equal(await ask(SCIM_ROUTES.listUsers, caller), 401, caller);
  // Fewer than one address may be refused at once.
  for (const [name, route] of Object.entries<ScimRoute>(SCIM_ROUTES)) {
    for (const caller of ['nobody', 'owner'] as const) assert.equal(await ask(route, caller), 401, name);
  }
});

test('a matrix that lets somebody in who was not is noticed', () => {
  const past: Matrix = { 'GET /a': { in: 'owner', '403 right_missing': 'viewer' } };
  assert.deepEqual(widenings(past, { 'GET /a': { in: 'owner' } }, CONSOLE_PEOPLE), []);
  assert.deepEqual(widenings(past, { 'GET /a': { in: 'viewer owner' } }, CONSOLE_PEOPLE), [
    'GET /a now lets in viewer',
  ]);
  assert.deepEqual(widenings(past, { 'GET /b': { in: 'viewer administrator owner break_glass' } }, CONSOLE_PEOPLE), []);
  assert.deepEqual(widenings(past, { 'GET /b': { in: 'vendor_active' } }, CONSOLE_PEOPLE), [
    'GET /b now lets in vendor_active',
  ]);
  assert.deepEqual(widenings(past, { 'GET /b': { in: 'nobody bot' } }, CONSOLE_PEOPLE), [
    'GET /b now lets in nobody',
    'GET /b now lets in bot',
  ]);
});

test('no matrix lets in a token of another kind, or one that is over', () => {
  const strangers = [
    'messaging_session',
    'bot',
    'service',
    'node',
    'vendor_revoked',
    'vendor_expired',
    'vendor_unknown',
  ];
  const matrix = readFile(FILE);
  const isPublic = (route: string) => letIn(matrix, route).includes('nobody');
  for (const route of Object.keys(matrix)) {
    const vendors = letIn(matrix, route).filter((who) => who.startsWith('vendor_') && who !== 'vendor_active');
    assert.deepEqual(vendors, [], route);
    if (isPublic(route)) continue;
    const found = letIn(matrix, route).filter((who) => strangers.includes(who));
    assert.deepEqual(found, [], route);
  }
});

test('VND-08 a vendor token is let into no write but the journal ask', () => {
  const matrix = readFile(FILE);
  const written = Object.keys(matrix).filter(
    (route) => !route.startsWith('GET ') && letIn(matrix, route).includes('vendor_active'),
  );
  assert.deepEqual(written, ['POST /nodes/:id/logs']);
});

test('CON-03 a viewer changes nothing', () => {
  const matrix = readFile(FILE);
  const ownDoors = /^POST \/(?:logout|second-factor\b|step-up\b|sso\/binding$)/;
  const written = Object.keys(matrix).filter((route) => {
    const who = letIn(matrix, route);
    return !route.startsWith('GET ') && who.includes('viewer') && !who.includes('nobody') && !ownDoors.test(route);
  });
  assert.deepEqual(written, ['POST /nodes/:id/logs']);
});
