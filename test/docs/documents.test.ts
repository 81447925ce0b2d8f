/** Holds the generated documents against the tables they come from, and that drift is noticed. */
import assert from 'node:assert/strict';
import { existsSync, readFileSync } from 'node:fs';
import { test } from 'node:test';
import { asyncApiDocument } from '#src/cli/docs/asyncapi.ts';
import { staleDocuments } from '#src/cli/docs/documents.ts';
import { openApiDocument } from '#src/cli/docs/openapi.ts';
import { danglingReferences, type JsonObject, SchemaCollector } from '#src/cli/docs/schemas.ts';
import { markdownTable, replaceBetweenMarkers, settingsTable } from '#src/cli/docs/tables.ts';
import { CLOSE_CODES } from '#src/protocol/sockets/close-codes.ts';
import { ERRORS } from '#src/protocol/errors.ts';
import { EVENT_TYPES } from '#src/protocol/sockets/events.ts';
import { COMMON_ERRORS, MESSAGING_ROUTES, SESSION_ROUTES } from '#src/protocol/routes.ts';
import { type Route } from '#src/protocol/route.ts';
import { z } from 'zod';

const ROUTES = Object.entries({ ...SESSION_ROUTES, ...MESSAGING_ROUTES }) as [string, Route][];

interface Operation {
  operationId: string;
  parameters?: { name: string; required: boolean; schema: JsonObject }[];
  requestBody?: { content: { 'application/json': { schema: JsonObject } } };
  responses: Record<string, unknown>;
  security: unknown[];
}

const openApi = openApiDocument() as unknown as { paths: Record<string, Record<string, Operation>> } & JsonObject;
const operationOf = (route: Route) => openApi.paths[route.path.replaceAll(/:(\w+)/g, '{$1}')]?.[route.method];

function read(path: string): string | undefined {
  const file = new URL(`../../${path}`, import.meta.url);
  return existsSync(file) ? readFileSync(file, 'utf8') : undefined;
}

test('the stored documents are what is generated now', () => {
  assert.deepEqual([...staleDocuments(read).keys()], [], 'run “npm run docs”');
});

test('a document that was changed by hand, or is missing, is noticed', () => {
  const changed = staleDocuments((path) => (path === 'docs/openapi.json' ? '{}' : read(path)));
  assert.deepEqual([...changed.keys()], ['docs/openapi.json']);
  const missing = staleDocuments((path) => (path === 'docs/asyncapi.json' ? undefined : read(path)));
  assert.deepEqual([...missing.keys()], ['docs/asyncapi.json']);
  // The list of codes is the only one that nothing can be made anew from: it remembers those that are no more.
  assert.throws(() => staleDocuments((path) => (path === 'docs/errors.json' ? undefined : read(path))), /never listed/);
});

test('a written document without its markers stops the generation', () => {
  assert.throws(() => replaceBetweenMarkers('# Page\n', 'config', 'x'), /has no <!-- config -->/);
  assert.throws(() => replaceBetweenMarkers('<!-- config -->\n', 'config', 'x'), /<!-- \/config -->/);
  assert.equal(
    replaceBetweenMarkers('a\n<!-- t -->\nold\n<!-- /t -->\nb', 't', 'new'),
    'a\n<!-- t -->\n\nnew\n\n<!-- /t -->\nb',
  );
});

for (const [name, route] of ROUTES) {
  test(`the OpenAPI document has ${name} with its answers and codes`, () => {
    const operation = operationOf(route);
    assert.ok(operation);
    assert.equal(operation.operationId, name);
    assert.equal(operation.requestBody !== undefined, route.body !== undefined);
    assert.deepEqual(operation.security, route.auth === 'none' ? [] : [{ session: [] }]);
    for (const status of Object.keys(route.replies)) assert.ok(status in operation.responses, status);
    for (const code of route.errors) {
      assert.ok(JSON.stringify(operation.responses[ERRORS[code].status]).includes(`"${code}"`), code);
    }
    for (const code of COMMON_ERRORS) {
      const { status } = ERRORS[code];
      if (status !== 401 || route.auth !== 'none') assert.ok(status in operation.responses, code);
    }
  });
}

test('query parameters are described as what they mean, and optional where they are', () => {
  const parameters = operationOf(MESSAGING_ROUTES.readMessages)?.parameters;
  assert.deepEqual(
    parameters?.map(({ name, required, schema }) => `${name} ${String(required)} ${String(schema['type'])}`),
    ['after_seq false integer', 'before_seq false integer', 'limit false integer'],
  );
  assert.equal(operationOf(MESSAGING_ROUTES.readChanges)?.parameters?.[0]?.required, true);
});

test('GOV-03 no form that a client sends over HTTP has an identity field', () => {
  const schemas = new SchemaCollector();
  for (const [name, route] of ROUTES) {
    if (route.body === undefined || name === 'login' || name === 'exchangeInvitation') continue;
    const text = JSON.stringify([schemas.convert(route.body, 'in'), schemas.components()]);
    for (const field of ['sender', 'from', 'user']) assert.ok(!text.includes(`"${field}":`), `${name} has ${field}`);
  }
});

test('SOC-04 the AsyncAPI document has every event, frame and close code', () => {
  const document = asyncApiDocument() as {
    components: { messages: Record<string, { payload: { properties: { type?: { const: string } } } }> };
    operations: Record<string, { messages: unknown[] }>;
    'x-close-codes': Record<string, { reconnect: boolean }>;
  };
  for (const type of EVENT_TYPES) {
    assert.equal(document.components.messages[type]?.payload.properties.type?.const, type);
  }
  assert.equal(document.operations['sendEvents']?.messages.length, EVENT_TYPES.length);
  assert.equal(document.operations['receiveFrames']?.messages.length, 2);
  assert.deepEqual(Object.keys(document['x-close-codes']).map(Number), Object.values(CLOSE_CODES));
  assert.equal(document['x-close-codes']['4002']?.reconnect, true);
  assert.equal(document['x-close-codes']['4401']?.reconnect, false);
});

test('a reference that leads nowhere is found', () => {
  const document = { a: { $ref: '#/b/c~1d' }, b: { 'c/d': {} }, e: [{ $ref: '#/b/x' }, { $ref: 'other.json' }] };
  assert.deepEqual(danglingReferences(document), ['#/b/x', 'other.json']);
});

test('one schema name for two shapes stops the generation', () => {
  const schemas = new SchemaCollector();
  const one = z.strictObject({ a: z.string() }).meta({ id: 'TwoShapes' });
  schemas.convert(z.strictObject({ one }), 'in');
  const other = z.strictObject({ b: z.string() }).meta({ id: 'TwoShapes' });
  assert.throws(() => schemas.convert(z.strictObject({ other }), 'in'), /TwoShapes stands for two/);
});

test('a schema that is sent and read stands under two names, and so does what refers to it', () => {
  const schemas = new SchemaCollector();
  const inner = z.strictObject({ a: z.string() }).meta({ id: 'Inner' });
  const outer = z.strictObject({ inner }).meta({ id: 'Outer' });
  assert.deepEqual(schemas.convert(z.array(outer), 'in')['items'], { $ref: '#/components/schemas/Outer' });
  assert.deepEqual(schemas.convert(z.array(outer), 'out')['items'], { $ref: '#/components/schemas/OuterShown' });
  const components = schemas.components();
  assert.deepEqual(Object.keys(components), ['Inner', 'InnerShown', 'Outer', 'OuterShown']);
  assert.deepEqual((components['OuterShown'] as { properties: unknown }).properties, {
    inner: { $ref: '#/components/schemas/InnerShown' },
  });
});

test('the configuration table does not depend on the machine', () => {
  const table = settingsTable();
  assert.match(table, /`PARLEY_SHARDS` \| number of cores, from 2 to 64 \|/);
  assert.match(table, /`PARLEY_MESSAGING_PORT` \| `8081` \|/);
  assert.match(table, /`PARLEY_MESSAGING_URL` \| the address it listens on \|/);
});

test('a pipe inside a table’s cell is escaped', () => {
  assert.equal(markdownTable(['a', 'b'], [['x|y', 'z']]), '| a | b |\n| --- | --- |\n| x\\|y | z |');
});
