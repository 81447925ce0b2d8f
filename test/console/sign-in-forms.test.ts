import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { z } from 'zod';
import { breakGlassRoutes } from '#src/console/routes/access/break-glass.ts';
import { consoleRoleRoutes } from '#src/console/routes/access/console-roles.ts';
import { secondFactorRoutes } from '#src/console/routes/access/second-factor.ts';
import { signInRoutes } from '#src/console/routes/access/sign-in.ts';
import { ssoRoutes } from '#src/console/routes/access/sso.ts';
import { vendorTokenRoutes } from '#src/console/routes/access/vendor-tokens.ts';

const login = signInRoutes.login.body;
const LOGIN = { username: 'olga', password: 'x' };
const confirm = secondFactorRoutes.confirmSecondFactor.body;
const breakGlass = breakGlassRoutes.breakGlassLogin.body;
const callback = ssoRoutes.finishSso.query;
const CALLBACK = { code: 'c', state: 's', ticket: 't' };

const TAKEN: [what: string, schema: z.ZodType, form: object][] = [
  ['a login by password', login, LOGIN],
  ['a login with a code', login, { ...LOGIN, code: '123456' }],
  ['a login with a code in two groups', login, { ...LOGIN, code: '123 456' }],
  ['a login with a recovery code', login, { ...LOGIN, recovery_code: 'aaaa-bbbb-cccc-dddd' }],
  ['a password of 256 characters', login, { ...LOGIN, password: 'x'.repeat(256) }],
  ['a role', consoleRoleRoutes.setConsoleRole.body, { role: 'administrator' }],
  ['no role', consoleRoleRoutes.setConsoleRole.body, { role: null }],
  ['a callback', callback, { ...CALLBACK, iss: 'https://id.example.org' }],
  ['a callback of 4,096 characters', callback, { ...CALLBACK, code: 'c'.repeat(4096) }],
];

const REFUSED: [what: string, schema: z.ZodType, form: object, field: string][] = [
  ['a login without a password', login, { username: 'olga' }, 'password'],
  ['a password of 257 characters', login, { ...LOGIN, password: 'x'.repeat(257) }, 'password'],
  ['a username of 65 characters', login, { ...LOGIN, username: 'x'.repeat(65) }, 'username'],
  ['a code that is a number', login, { ...LOGIN, code: 123_456 }, 'code'],
  ['a code of five digits', login, { ...LOGIN, code: '12345' }, 'code'],
  ['an empty code', login, { ...LOGIN, code: '' }, 'code'],
  ['a code and a recovery code', login, { ...LOGIN, code: '123456', recovery_code: 'a' }, 'recovery_code'],
  ['a code of letters', confirm, { code: 'abcdef' }, 'code'],
  ['a break-glass login without a code', breakGlass, { password: 'x' }, 'code'],
  ['a break-glass password that is no text', breakGlassRoutes.setBreakGlass.body, { password: 1234567 }, 'password'],
  ['the role of vendors', consoleRoleRoutes.setConsoleRole.body, { role: 'vendor_support' }, 'role'],
  ['a callback without a ticket', callback, { code: 'c', state: 's' }, 'ticket'],
  ['a callback beyond 4,096 characters', callback, { ...CALLBACK, code: 'c'.repeat(4097) }, 'code'],
  ['a page of 201 tokens', vendorTokenRoutes.listVendorTokens.query, { limit: '201' }, 'limit'],
  ['a cursor that is no id', vendorTokenRoutes.listVendorTokens.query, { after: '../x' }, 'after'],
  ['a page of 201 second factors', secondFactorRoutes.listSecondFactors.query, { limit: '201' }, 'limit'],
];

for (const [what, schema, form] of TAKEN) {
  test(`${what} is taken`, () => {
    assert.equal(schema.safeParse(form).success, true);
  });
}

for (const [what, schema, form, field] of REFUSED) {
  test(`${what} is refused with ${field} named`, () => {
    assert.deepEqual(schema.safeParse(form).error?.issues[0]?.path, [field]);
  });
}

test('GOV-03 a login that says who it is in another field is refused', () => {
  assert.equal(login.safeParse({ ...LOGIN, role: 'owner' }).error?.issues[0]?.code, 'unrecognized_keys');
});

const ALL = { ...breakGlassRoutes, ...secondFactorRoutes, ...vendorTokenRoutes, ...ssoRoutes, ...consoleRoleRoutes };

test('VND-09 access management is closed to vendors', () => {
  const open = Object.values(ALL).filter(({ vendor }) => vendor !== 'closed');
  assert.deepEqual(
    open.map(({ path }) => path),
    ['/console-roles'],
  );
});
