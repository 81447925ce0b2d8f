/** Search as the SDK asks it and reads its answer. */
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { ParleyError } from '#src/client/parley-error.ts';
import type { ParleyClient } from '#src/client/parley-client.ts';
import { scriptInbox, signInTo } from './connected-client.ts';
import { CONV, wireMessage } from './samples.ts';
import { refusal, ScriptedServer } from './scripted-server.ts';

let server: ScriptedServer;
let client: ParleyClient;

before(async () => {
  server = await new ScriptedServer().listen();
  scriptInbox(server, [], () => []);
  client = await signInTo(server);
  await client.caughtUp();
});
after(async () => {
  client.close();
  await server.close();
});

test('a search asks by instants, and reads messages with their marks and where to go on', async () => {
  const found = { ...wireMessage(3, { body: 'plan B', created_at: '2026-11-21T08:00:00Z' }), highlights: [[0, 4]] };
  server.on('GET /v1/search', () => ({ body: { items: [found], next: 'more' } }));
  const at = Date.UTC(2026, 10, 1);
  const page = await client.search('plan "for today"', {
    sender: 'bob',
    after: at,
    before: at + 1_000,
    limit: 5,
    cursor: 'c',
  });
  assert.deepEqual(Object.fromEntries(server.asked.at(-1)?.query ?? []), {
    q: 'plan "for today"',
    after: '2026-11-01T00:00:00.000Z',
    before: '2026-11-01T00:00:01.000Z',
    sender: 'bob',
    limit: '5',
    cursor: 'c',
  });
  const [item] = page.items;
  assert.deepEqual([item?.conversation_id, item?.seq, item?.createdAt], [CONV, 3, Date.UTC(2026, 10, 21, 8)]);
  assert.deepEqual([item?.highlights, page.next], [[[0, 4]], 'more']);
});

test('a server without search says so by its code', async () => {
  server.on('GET /v1/search', () => refusal(404, 'search_disabled'));
  await assert.rejects(
    client.search('plan'),
    (error) => error instanceof ParleyError && error.code === 'search_disabled',
  );
});
