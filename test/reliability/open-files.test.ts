/** A server that may open no more files: whoever is connected goes on, whoever comes waits, and it recovers by itself. */
import assert from 'node:assert/strict';
import { connect as connectTcp, type Socket } from 'node:net';
import { test } from 'node:test';
import { limitProcess, openFiles } from '#test/support/process.ts';
import { startServer, type Person, type TestServer } from '#test/support/server.ts';
import { connect } from '#test/support/socket.ts';
import { until } from '#test/support/waiting.ts';
import { RawConnection, headOf } from '#test/messaging/raw-http.ts';
import { say, start } from '#test/messaging/conversing.ts';

/** Connections that come at once, far more than the files that are left. */
const CALLERS = 120;
/** Files that are left when they come. */
const LEFT = 24;

/** A caller with a connection of its own, and whether it was answered. */
interface Caller {
  readonly tcp: Socket;
  isServed: boolean;
}

function call(server: TestServer, person: Person): Caller {
  const tcp = connectTcp({ host: '127.0.0.1', port: Number(new URL(server.messaging).port) });
  const caller: Caller = { tcp, isServed: false };
  tcp.on('error', () => undefined);
  tcp.on('data', () => (caller.isServed = true));
  tcp.write(headOf('GET /v1/me/capabilities', person));
  return caller;
}

test('without files for new connections those that are open go on, and new ones follow when there are again', async (t) => {
  const server = await startServer({ shards: 2 });
  t.after(() => server.stop());
  const { ann, ben, cas } = await server.people('ann', 'ben', 'cas');
  const { id: room } = await start(server, ann, 'room', ['ben']);
  const socket = await connect(server, ben);
  const poster = new RawConnection(server);
  t.after(() => poster.socket.destroy());
  let posted = 0;
  // On a connection that is open already: a new one might have to wait.
  const post = async (): Promise<number> => {
    posted += 1;
    const body = JSON.stringify({ kind: 'text', body: `post ${posted}` });
    const headers = ['content-type: application/json', `content-length: ${body.length}`];
    poster.socket.write(headOf(`POST /v1/conversations/${room}/messages`, ann, headers) + body);
    return (await poster.answer()).status;
  };
  assert.equal(await post(), 201);
  limitProcess(server.pid, 'nofile', openFiles(server.pid) + LEFT);
  const callers = Array.from({ length: CALLERS }, () => call(server, cas));
  t.after(() => callers.forEach(({ tcp }) => tcp.destroy()));
  await until(() => callers.filter(({ isServed }) => isServed).length >= LEFT / 2, 'some to be served');
  for (let count = 0; count < 20; count += 1) assert.equal(await post(), 201);
  const heard = await socket.eventsOf('message.new', posted);
  assert.deepEqual(
    heard.map(({ seq }) => seq),
    Array.from({ length: posted }, (_, index) => index + 1),
  );
  const waiting = callers.filter(({ isServed }) => !isServed);
  assert.ok(waiting.length >= CALLERS - 2 * LEFT, `${waiting.length} callers wait`);
  assert.equal(socket.closed, undefined);
  // Whoever gives up makes room for one that waits, and with a higher limit all that wait are served.
  for (const { isServed, tcp } of callers) if (isServed) tcp.destroy();
  await until(() => waiting.some(({ isServed }) => isServed), 'one that waited to be served');
  limitProcess(server.pid, 'nofile', 1024);
  await until(() => waiting.every(({ isServed }) => isServed), 'all that waited to be served');
  await say(server, ann, room, 'over a new connection');
  await socket.event((event) => event.data['body'] === 'over a new connection');
  assert.equal(socket.closed, undefined);
  assert.equal(await server.end('SIGTERM'), 0);
});
