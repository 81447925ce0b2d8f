/** Automations over the running server: made in the console, set off by what happens, sent to a receiver (VND-09). */
import assert from 'node:assert/strict';
import { createHmac } from 'node:crypto';
import { createServer } from 'node:http';
import { after, before, test } from 'node:test';
import { portOf } from '#src/http/listening-address.ts';
import { until } from '#test/support/waiting.ts';
import { startConsoleServer, type ConsoleServer } from './console-server.ts';

interface Refused {
  readonly code: string;
  readonly field?: string;
}
interface Automation {
  readonly id: string;
  readonly url: string;
  readonly secret: { set: boolean };
  readonly enabled: boolean;
}
interface Runs {
  readonly items: { id: string; state: string; event: string; message: string; attempts: number }[];
  readonly next: string | null;
}

const SECRET = 'heron signs what is sent';
let host: ConsoleServer;
let url: string;
const received: { signature: string; delivery: string; body: string }[] = [];
const receiver = createServer((request, response) => {
  const chunks: Buffer[] = [];
  request.on('data', (chunk: Buffer) => void chunks.push(chunk));
  request.on('end', () => {
    const { 'x-parley-signature': signature, 'x-parley-delivery': delivery } = request.headers;
    const body = Buffer.concat(chunks).toString('utf8');
    received.push({ signature: String(signature), delivery: String(delivery), body });
    response.end('taken');
  });
});
before(async () => {
  await new Promise<void>((resolve) => void receiver.listen(0, '127.0.0.1', resolve));
  url = `http://127.0.0.1:${portOf(receiver.address())}/hook`;
  host = await startConsoleServer({ PARLEY_ALLOW_PRIVATE_TARGETS: 'true', PARLEY_LOG_LEVEL: 'debug' });
});
after(async () => {
  await host.stop();
  receiver.closeAllConnections();
  receiver.close();
});

test('VND-09 what happens in the console is posted to the receiver, signed, and read as runs', async () => {
  const form = { name: 'hook', events: ['group.*', 'vendor_token.issued'], url, secret: SECRET };
  const made = await host.call<Automation>('administrator', 'POST', '/automations', { body: form });
  assert.equal(made.status, 201, made.text);
  const { id } = made.body;
  assert.deepEqual(made.body.secret, { set: true });
  for (const name of ['one', 'two', 'three']) {
    assert.equal((await host.call('administrator', 'POST', '/groups', { body: { name, members: [] } })).status, 201);
  }
  const runs = async (query = '') => (await host.call<Runs>('viewer', 'GET', `/automations/${id}/runs${query}`)).body;
  const all = await until(async () => {
    const { items } = await runs();
    return items.length === 3 && items.every(({ state }) => state === 'delivered') && items;
  }, 'three delivered runs');
  const names = all.map(({ message }) => (JSON.parse(message) as { details: { name: string } }).details.name);
  assert.deepEqual(names, ['three', 'two', 'one']);
  const first = await runs('?limit=2');
  assert.deepEqual(first.items, all.slice(0, 2));
  assert.deepEqual(await runs(`?limit=2&after=${first.next}`), { items: all.slice(2), next: null });
  assert.deepEqual(received.map(({ delivery }) => delivery).toSorted(), all.map((run) => run.id).toSorted());
  for (const { signature, body } of received) {
    const [, at, given] = /^t=(\d+),v1=(\w+)$/.exec(signature) ?? [];
    assert.equal(given, createHmac('sha256', SECRET).update(`${at}.${body}`).digest('hex'));
  }
  const shown = await Promise.all(
    ['/automations', `/automations/${id}`, `/automations/${id}/runs`, '/audit?limit=200', '/logs?limit=200'].map(
      async (path) => (await host.call('owner', 'GET', path)).text,
    ),
  );
  assert.deepEqual(
    [...shown, ...host.server.output].filter((text) => text.includes(SECRET)),
    [],
  );
});

test('an automation is changed, disabled and removed', async () => {
  const form = { name: 'other', events: ['user.created'], url, secret: SECRET, enabled: false };
  const { id } = (await host.call<Automation>('administrator', 'POST', '/automations', { body: form })).body;
  const path = `/automations/${id}`;
  const change = { url: 'https://hooks.example.org/x', secret: SECRET, enabled: true };
  const changed = await host.call<Automation>('administrator', 'PATCH', path, { body: change });
  assert.deepEqual([changed.body.url, changed.body.enabled], ['https://hooks.example.org/x', true]);
  assert.deepEqual((await host.call<Automation>('viewer', 'GET', path)).body, changed.body);
  assert.equal((await host.call('administrator', 'DELETE', path)).status, 204);
  for (const [method, suffix] of [
    ['GET', ''],
    ['DELETE', ''],
    ['GET', '/runs'],
  ] as const) {
    const gone = await host.call<Refused>('administrator', method, `${path}${suffix}`);
    assert.deepEqual([gone.status, gone.body.code], [404, 'automation_not_found']);
  }
  const cursor = await host.call<Refused>('viewer', 'GET', '/automations/nothing/runs?after=zero');
  assert.deepEqual([cursor.status, cursor.body.code], [400, 'cursor_invalid']);
});

test('a form names the field that is wrong', async () => {
  const form = { name: 'hook', events: ['user.created'], url, secret: SECRET };
  for (const [field, value, code] of [
    ['name', ' ', 'field_invalid'],
    ['events', [], 'field_invalid'],
    ['events', ['user.created', 'user.created'], 'field_invalid'],
    ['url', 'ftp://example.org', 'field_invalid'],
    ['url', 'https://user:word@example.org', 'field_invalid'],
    ['secret', 'too short', 'field_invalid'],
    ['owner', 'me', 'field_unknown'],
  ] as const) {
    const body = { ...form, [field]: value };
    const refused = await host.call<Refused>('administrator', 'POST', '/automations', { body });
    assert.deepEqual([refused.status, refused.body.code, refused.body.field], [400, code, field]);
  }
  const body = { ...form, events: ['automation.created'] };
  const loop = await host.call<Refused>('administrator', 'POST', '/automations', { body });
  assert.deepEqual([loop.status, loop.body.field], [400, 'events.0']);
});
