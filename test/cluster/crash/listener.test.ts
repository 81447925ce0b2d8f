/** Whether who listens in `npm run cluster-crash -- --in-turn` hears everything, and would notice what is lost, doubled or in another order. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { startServer, type TestServer } from '#test/support/server.ts';
import { temporaryFolder } from '#test/support/temporary-folder.ts';
import { until } from '#test/support/waiting.ts';
import { faultsOf, Listener } from './listener.ts';

test('CLU-01 a listener whose host dies hears what came meanwhile, each message once and in its place', async (t) => {
  const folder = temporaryFolder(t);
  let server: TestServer | undefined = await startServer({ shards: 2, folder });
  t.after(async () => await server?.end('SIGKILL'));
  const { ann } = await server.people('ann', 'ben');
  const form = { kind: 'direct', participants: ['ben'] };
  const { body: room } = await server.api<{ id: string }>(ann, 'POST', '/v1/conversations', form);
  const listener = new Listener({ person: ann, room: room.id, hosts: () => (server === undefined ? [] : [server]) });
  t.after(async () => await listener.end());
  const acknowledged = new Map<number, string>();
  const post = async (text: string) => {
    const path = `/v1/conversations/${room.id}/messages`;
    const reply = await server?.api<{ seq: number }>(ann, 'POST', path, { kind: 'text', body: text });
    assert.equal(reply?.status, 201, reply?.text);
    acknowledged.set(reply?.body.seq ?? 0, text);
  };
  await until(() => listener.connections === 1, 'the socket');
  for (const text of ['one', 'two']) await post(text);
  await until(() => listener.last === 2, 'both messages');
  await server.end('SIGKILL');
  server = undefined;
  const again = await startServer({ shards: 2, folder });
  const missed = await again.api<{ seq: number }>(ann, 'POST', `/v1/conversations/${room.id}/messages`, {
    ...{ kind: 'text', body: 'three' },
  });
  acknowledged.set(missed.body.seq, 'three');
  server = again;
  await until(() => listener.last === 3, 'what came meanwhile');
  await post('four');
  await until(() => listener.last === 4, 'what came behind it');
  assert.deepEqual([listener.connections, listener.faults], [2, []]);
  assert.ok(listener.askedFor >= 1);
  assert.deepEqual(faultsOf(listener.heard, acknowledged), []);
});

test('what is lost, doubled, moved, changed or of nobody is a sentence each', () => {
  const acknowledged = new Map([
    [1, 'one'],
    [2, 'two'],
    [3, 'three'],
  ]);
  const said = (...heard: [number, string][]) =>
    faultsOf(
      heard.map(([seq, body]) => ({ seq, body })),
      acknowledged,
    );
  assert.deepEqual(said([1, 'one'], [2, 'two'], [3, 'three']), []);
  assert.deepEqual(said([1, 'one'], [3, 'three']), ['two, acknowledged at 2, never came']);
  assert.deepEqual(said([1, 'one'], [3, 'three'], [2, 'two']), ['two at 2 came behind what is at 3']);
  assert.deepEqual(said([1, 'one'], [2, 'two'], [3, 'three'], [4, 'one']), [
    'one came twice, at 1 and at 4',
    'one, acknowledged at 1, came at 4',
    'one at 4 was never acknowledged',
  ]);
  assert.deepEqual(said([1, 'two'], [2, 'one'], [3, 'three']), [
    'one, acknowledged at 1, came at 2',
    'two, acknowledged at 2, came at 1',
  ]);
});
