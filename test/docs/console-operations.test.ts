/** The console's routes in the API document: all of them, with who may call them and what they answer. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { openApiDocument } from '#src/cli/docs/openapi.ts';
import { consoleRoutes } from '#src/console/route-table.ts';
import { isOpenToVendors } from '#src/console/vendor-gate.ts';
import { ERRORS } from '#src/protocol/errors.ts';

interface Operation {
  operationId: string;
  description: string;
  responses: Record<string, unknown>;
  security: Record<string, unknown>[];
}

const { paths } = openApiDocument() as { paths: Record<string, Record<string, Operation>> };
const operationOf = (path: string, method: string) =>
  paths[`/admin/api${path.replaceAll(/:(\w+)/g, '{$1}')}`]?.[method];

test('the OpenAPI document has every console route with its answers, codes and tokens', () => {
  for (const { page, name, route } of consoleRoutes()) {
    const operation = operationOf(route.path, route.method);
    assert.ok(operation, `${page}.${name}`);
    assert.equal(operation.operationId, `${page}.${name}`);
    for (const status of Object.keys(route.replies)) assert.ok(status in operation.responses, `${name} ${status}`);
    for (const code of route.errors) {
      assert.ok(JSON.stringify(operation.responses[ERRORS[code].status]).includes(`"${code}"`), `${name} ${code}`);
    }
    const tokens = operation.security.flatMap((each) => Object.keys(each));
    assert.equal(tokens.includes('console'), route.access !== 'public', name);
    assert.equal(tokens.includes('vendor'), route.access !== 'public' && isOpenToVendors(route), name);
  }
});

test('a route says in words who may call it, how a vendor reads it and what it audits', () => {
  assert.equal(
    operationOf('/audit', 'get')?.description,
    'Needs `audit:read`. A vendor token reads it de-personalised.',
  );
  assert.equal(
    operationOf('/vendor-tokens', 'post')?.description,
    'Needs `access:write`. Closed to vendor tokens. Audited as `vendor_token.issued`.',
  );
});
