/** Answers that stream: as fast as they are read, for closed routes, and not held by who takes nothing. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect } from 'node:net';
import { test, type TestContext } from 'node:test';
import { systemClock } from '#src/base/clock.ts';
import { readConfig } from '#src/config.ts';
import { Depersonalisation } from '#src/console/depersonalisation.ts';
import { page, type ConsoleRoute } from '#src/console/route.ts';
import { addConsoleRoutes } from '#src/console/router.ts';
import { VendorGate } from '#src/console/vendor-gate.ts';
import { makeHttpSurface } from '#src/http/http-surface.ts';
import { portOf } from '#src/http/listening-address.ts';
import { deadline } from '#test/support/waiting.ts';

const LINE = `${'x'.repeat(64 * 1024)}\n`;
const route = {
  method: 'get',
  path: '/lines',
  summary: 'Lines.',
  access: 'access:write',
  vendor: 'closed',
  audit: null,
  isStream: true,
  replies: { 200: null },
  errors: [],
} as const satisfies ConsoleRoute;

async function listen(context: TestContext, stated: ConsoleRoute, count: number) {
  const { promise: left, resolve: isLeft } = Promise.withResolvers<number>();
  const lines = async function* () {
    let read = 0;
    try {
      for (; read < count; read += 1) yield LINE;
    } finally {
      isLeft(read);
    }
  };
  const unused = async () => undefined;
  const app = await makeHttpSurface({
    config: readConfig({}),
    log: { error: () => undefined, warn: () => undefined },
    health: async () => ({ headers: {}, body: '{}' }),
    allowsOrigin: () => false,
  });
  await addConsoleRoutes(
    app,
    { lines: page({ lines: stated }, { lines: () => ({ status: 200, stream: lines() }) }) },
    {
      authentication: {
        authenticate: async () => ({ kind: 'break_glass', role: 'owner', sid: 's_1', steppedUpUntil: Infinity }),
      },
      gate: new VendorGate({ used: unused, refused: unused }),
      depersonalisation: new Depersonalisation({ redactValue: async (value) => value }),
      clock: systemClock,
      streamStallMillis: 50,
    },
  );
  await app.listen({ host: '127.0.0.1', port: 0 });
  context.after(async () => {
    app.server.closeAllConnections();
    await app.close();
  });
  return { left, port: portOf(app.server.address()) };
}

test('lines arrive whole', async (context) => {
  const { left, port } = await listen(context, route, 20);
  const response = await fetch(`http://127.0.0.1:${port}/admin/api/lines`);
  assert.deepEqual([response.status, await response.text()], [200, LINE.repeat(20)]);
  assert.equal(await left, 20);
});

test('who takes nothing is cut off, and the source is read no further', async (context) => {
  const { left, port } = await listen(context, route, 100_000);
  const socket = connect(port, '127.0.0.1');
  context.after(() => void socket.destroy());
  await once(socket, 'connect');
  socket.write('GET /admin/api/lines HTTP/1.1\r\nHost: localhost\r\n\r\n');
  socket.pause();
  assert.ok((await deadline(left, 15_000, 'the stream to be left')) < 1_000);
});

test('a route that does not state its stream, or is not closed, does not stream', async (context) => {
  const { isStream: _, ...unstated } = route;
  for (const stated of [unstated, { ...route, vendor: 'depersonalised', access: 'audit:read' }] as const) {
    const { port } = await listen(context, stated, 1);
    const response = await fetch(`http://127.0.0.1:${port}/admin/api/lines`);
    assert.deepEqual([response.status, ((await response.json()) as { code: string }).code], [500, 'internal']);
  }
});
