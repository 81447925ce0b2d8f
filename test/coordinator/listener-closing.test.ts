/** A listener ends also with connections that would stay for ever. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect } from 'node:net';
import { test } from 'node:test';
import Fastify from 'fastify';
import { closeListener } from '#src/http/listener-closing.ts';
import { portOf } from '#src/http/listening-address.ts';
import { deadline } from '#test/support/waiting.ts';

test('closing waits for requests that finish, and cuts a connection that never says anything', async (context) => {
  const app = Fastify({ forceCloseConnections: 'idle', return503OnClosing: false });
  const { promise: asked, resolve: isAsked } = Promise.withResolvers<void>();
  const { promise: released, resolve: release } = Promise.withResolvers<void>();
  app.get('/', async () => {
    isAsked();
    await released;
    return 'whole';
  });
  await app.listen({ host: '127.0.0.1', port: 0 });
  const port = portOf(app.server.address());
  const silent = connect(port, '127.0.0.1');
  context.after(() => void silent.destroy());
  await once(silent, 'connect');
  const answer = fetch(`http://127.0.0.1:${port}/`);
  await asked;
  const cut = once(silent, 'close');
  const closed = closeListener(app, 1);
  release();
  assert.equal(await (await answer).text(), 'whole');
  await deadline(closed, 10_000, 'the listener to close');
  await deadline(cut, 10_000, 'the silent connection to be cut');
});
