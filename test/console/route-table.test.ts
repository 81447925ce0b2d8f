/** The real table against the contract's lists: what a vendor reads how, and that nothing stands outside of it. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { CONSOLE_COMMON_ERRORS, consoleRoutes, routeFaults } from '#src/console/route-table.ts';
import type { ConsoleRoute } from '#src/console/route.ts';
import { isOpenToVendors } from '#src/console/vendor-gate.ts';
import { skeletonOf, typescriptSources } from '#test/tidy/source.ts';

const ROUTES = consoleRoutes().map(({ route }) => route);
const reads = (path: string): ConsoleRoute | undefined =>
  ROUTES.find((route) => route.method === 'get' && route.path === path);

test('VND-15 the table is one that may start', () => {
  assert.deepEqual(routeFaults(ROUTES), []);
});

test('codes that every route of the console may answer are stated once, for all of them', () => {
  const common: readonly string[] = CONSOLE_COMMON_ERRORS;
  // A public route asks for no credential, so it states what it answers itself.
  const signedIn = ROUTES.filter(({ access }) => access !== 'public');
  const again = signedIn.flatMap(({ path, errors }) =>
    errors.filter((code) => common.includes(code) && code !== 'right_missing').map((code) => `${path} ${code}`),
  );
  assert.deepEqual(again, []);
});

/** The read paths that the contract has de-personalised for a vendor token. */
const DEPERSONALISED = [
  '/agents/audit',
  '/alerts',
  '/audit',
  '/calendar/audit',
  '/client-sessions',
  '/gateways/:id/reports',
  '/logs',
  '/mail/group-bounces',
  '/mail/quarantine',
  '/mcu/live',
  '/nodes/:id/health',
  '/nodes/:id/logs',
  '/overview',
  '/servers',
  '/telemetry',
];

for (const path of DEPERSONALISED) {
  test(`RED-10 ${path} is de-personalised for a vendor token`, () => {
    assert.equal(reads(path)?.vendor, 'depersonalised');
  });
}

test('VND-07 a vendor reads whatever is open to it: no open read needs a right that it does not have', () => {
  const beyond = ROUTES.filter((route) => isOpenToVendors(route) && route.access.endsWith(':write'));
  assert.deepEqual(
    beyond.map(({ path }) => path),
    [],
  );
});

/** Where keys, secrets and access are managed: closed to a vendor token, whatever a route is called. */
const CLOSED = [
  /^\/break-glass\b/,
  /^\/second-factors?\b/,
  /^\/vendor-tokens\b/,
  /^\/encryption\b/,
  /^\/recovery\b/,
  /^\/clients\b/,
  /^\/deployments\/:\w+/,
  /^\/automations\b/,
  /^\/identity\/control\b/,
  /^\/mail\/dns\b/,
];

test('VND-09 the closed areas are closed, every route of them', () => {
  const open = ROUTES.filter((route) => CLOSED.some((area) => area.test(route.path)) && isOpenToVendors(route));
  assert.deepEqual(
    open.map(({ path }) => path),
    [],
  );
});

/** What a vendor token reads as it is: names and settings that the contract opens. Anything else must be admitted here. */
const READ_AS_THEY_ARE = [
  ...['/bots', '/bots/:id', '/console-roles', '/deployments', '/groups', '/groups/:group'],
  ...[
    '/guests',
    '/guests/:username',
    '/login',
    '/login/passkey',
    '/me',
    '/meetings',
    '/meetings/:meeting',
    '/nodes',
    '/nodes/:id',
  ],
  ...['/nodes/:id/logs', '/policies', '/population', '/settings/ai-keys', '/settings/apns'],
  ...['/settings/external-stores', '/settings/fcm', '/settings/hrms', '/settings/ldap', '/settings/sign-in'],
  ...[
    '/settings/simpleone',
    '/settings/sso',
    '/settings/tls',
    '/settings/turn',
    '/sso/providers',
    '/users',
    '/users/:username',
  ],
  '/users/:username/sessions',
];

test('VND-09 what is not de-personalised for vendors is on a list', () => {
  const open = ROUTES.filter(({ vendor }) => vendor === 'open').map(({ path }) => path);
  assert.deepEqual(open.toSorted(), READ_AS_THEY_ARE);
});

/** The paths below `/admin/api` that a source spells out. */
const spelled = (source: string) => skeletonOf(source).strings.filter((text) => text.startsWith('/admin/api'));

test('no server source spells out a path of the console but the table', () => {
  const found = [...typescriptSources()]
    .filter(([path]) => /^(?:src|actors|storage)\//.test(path) && !/^src\/(?:cli|client)\//.test(path))
    .filter(([, source]) => spelled(source).length > 0);
  assert.deepEqual(
    found.map(([path]) => path),
    ['src/console/route-table.ts'],
  );
  assert.deepEqual(spelled("app.get('/admin/api/x');\n// '/admin/api/y'"), ['/admin/api/x']);
});
