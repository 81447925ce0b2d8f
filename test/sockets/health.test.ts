/** GET /healthz of the running server, on all three listeners, as people and as Prometheus read it. */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { after, before, test } from 'node:test';
import { callControl } from '#test/support/control.ts';
import { unlessInstalled } from '#test/support/real-program.ts';
import { startServer, request, type TestServer } from '#test/support/server.ts';
import { connect } from '#test/support/socket.ts';
import { until } from '#test/support/waiting.ts';
import { parseExposition } from '#test/telemetry/exposition-parser.ts';
import { say, start } from '#test/messaging/conversing.ts';

interface Health {
  readonly status: string;
  readonly protocol: object;
  readonly threads: { readonly answered: string[]; readonly missing: string[]; readonly restarts: object };
  readonly clients: { readonly total: number; readonly by_version_and_platform: object[] };
  readonly refusals: Record<string, number>;
  readonly sockets: { readonly open: number };
  readonly messages: { readonly acknowledged: number };
}

let server: TestServer;
before(async () => {
  server = await startServer({ shards: 2 });
});
after(async () => {
  await server.stop();
});

const bases = () => [server.messaging, server.coordinator, server.calendar];

async function health(base = server.messaging): Promise<Health> {
  return (await request<Health>('GET', `${base}/healthz`, { headers: { accept: 'application/json' } })).body;
}

async function exposition(base: string, accept: string): Promise<{ type: string; text: string }> {
  const response = await fetch(`${base}/healthz`, { headers: { accept } });
  assert.equal(response.status, 200);
  return { type: response.headers.get('content-type') ?? '', text: await response.text() };
}

test('HLT-01 HLT-02 all threads answer on all three listeners', async () => {
  for (const base of bases()) {
    const body = await health(base);
    assert.equal(body.status, 'ok');
    assert.deepEqual(body.protocol, { current: 1, min: 0 });
    assert.deepEqual(body.threads.answered.toSorted(), ['main', 'shard-0', 'shard-1']);
    assert.deepEqual(body.threads.missing, []);
  }
});

test('HLT-01 the population is counted by version and platform while sockets are open', async () => {
  const password = 'a password of hers';
  await callControl(server.folder, 'user.add', { username: 'ann', password, role: 'person' });
  const devices = [
    { platform: 'ios', version: '1' },
    { platform: 'ios', version: '1' },
    { platform: 'android', version: '0' },
    { platform: 'toaster', version: '7' },
  ];
  const sockets = [];
  for (const { platform, version } of devices) {
    const body = { username: 'ann', password, device: { name: 'one', platform } };
    const login = await request<never>('POST', `${server.coordinator}/v1/auth/login`, { body });
    assert.equal(login.status, 200, login.text);
    const person = { username: 'ann', password, session: login.body };
    sockets.push(await connect(server, person, { headers: { 'x-service-client-protocol': version } }));
  }
  for (const base of bases()) {
    const { clients, sockets: counted } = await health(base);
    assert.equal(clients.total, 4);
    assert.equal(counted.open, 4);
    assert.deepEqual(clients.by_version_and_platform, [
      { version: '0', platform: 'android', count: 1 },
      { version: '1', platform: 'ios', count: 2 },
      { version: '7', platform: 'other', count: 1 },
    ]);
  }
  for (const socket of sockets) await socket.close();
  await until(async () => (await health()).clients.total === 0, 'the population to be empty again');
});

test('HLT-01 refusals are counted by code, messages when they are acknowledged', async () => {
  const ben = await server.person('ben');
  const earlier = await health();
  const { id } = await start(server, ben, 'room', []);
  for (let count = 0; count < 3; count += 1) await say(server, ben, id, `message ${count}`);
  assert.equal((await server.api(undefined, 'GET', '/v1/inbox')).status, 401);
  assert.equal((await server.api(ben, 'GET', '/nowhere')).status, 404);
  const login = { body: { username: 'ben', password: 'not the right one' } };
  assert.equal((await request('POST', `${server.coordinator}/v1/auth/login`, login)).status, 401);
  const now = await health();
  const added = (code: string) => (now.refusals[code] ?? 0) - (earlier.refusals[code] ?? 0);
  assert.equal(added('token_missing'), 1);
  assert.equal(added('path_not_found'), 1);
  assert.equal(added('login_failed'), 1);
  assert.equal(now.messages.acknowledged - earlier.messages.acknowledged, 3);
});

test('HLT-02 Prometheus gets the text exposition, OpenMetrics on asking, on all three listeners', async () => {
  const ben = await server.person('bob');
  const socket = await connect(server, ben, { headers: { 'x-service-client-protocol': '1' } });
  for (const base of bases()) {
    const plain = await exposition(base, 'text/plain;version=0.0.4;q=0.5,*/*;q=0.1');
    assert.match(plain.type, /^text\/plain; version=0\.0\.4/);
    const open = await exposition(base, 'application/openmetrics-text;version=1.0.0,text/plain;q=0.5');
    assert.match(open.type, /^application\/openmetrics-text; version=1\.0\.0/);
    for (const families of [parseExposition(plain.text, 'prometheus'), parseExposition(open.text, 'openmetrics')]) {
      const samples = families.get('parley_messaging_sockets')?.samples.filter(({ value }) => value > 0) ?? [];
      assert.deepEqual(
        samples.map(({ labels, value }) => ({ labels, value })),
        [{ labels: { version: '1', platform: 'other' }, value: 1 }],
      );
      const threads = families.get('parley_threads_heap_used_bytes')?.samples.map(({ labels }) => labels['thread']);
      assert.deepEqual(threads?.toSorted(), ['main', 'shard-0', 'shard-1']);
    }
  }
  await socket.close();
});

test('HLT-01 however many ask at once, the figures are gathered ten times a second, and are never older than the question', async () => {
  const cat = await server.person('cat');
  const { id } = await start(server, cat, 'room', []);
  for (const base of bases()) {
    const begun = performance.now();
    const texts = await Promise.all(
      Array.from({ length: 64 }, async () => (await exposition(base, 'text/plain')).text),
    );
    const seconds = (performance.now() - begun) / 1000;
    // Each round of gathering counts the processor's time anew; the first one, and one for each tenth of a second.
    const rounds = new Set(texts).size;
    assert.ok(rounds <= 2 + seconds * 10, `${rounds} rounds in ${seconds} s`);
    const earlier = (await health(base)).messages.acknowledged;
    await say(server, cat, id, 'one more');
    assert.equal((await health(base)).messages.acknowledged, earlier + 1);
  }
});

const skip = unlessInstalled('promtool', ['--version']);

test('HLT-02 promtool finds nothing to say', { skip }, async () => {
  for (const base of bases()) {
    const { text } = await exposition(base, 'text/plain;version=0.0.4');
    const checked = spawnSync('promtool', ['check', 'metrics'], { input: text, encoding: 'utf8' });
    assert.deepEqual({ code: checked.status, said: checked.stdout + checked.stderr }, { code: 0, said: '' });
  }
});
