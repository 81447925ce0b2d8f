/** What /healthz answers: JSON by default, an exposition to who asks for one, and what the JSON says. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { MetricLedger } from '#src/telemetry/metric-ledger.ts';
import type { HealthBody } from '#src/telemetry/health-body.ts';
import { chooseHealthFormat } from '#src/telemetry/health-format.ts';
import { SharedAnswer } from '#src/base/shared-answer.ts';
import { healthReply } from '#src/telemetry/health-reply.ts';
import { ThreadMetrics } from '#src/telemetry/thread-metrics.ts';
import { parseExposition } from './exposition-parser.ts';
import { busyThread, INSTALLATION } from './sample-figures.ts';

function gathered(answering: string[], expected = answering) {
  return new MetricLedger().settle(
    answering.map((name) => busyThread(name).snapshot()),
    expected,
  );
}

async function body(answering: string[], expected = answering): Promise<HealthBody> {
  const reply = await healthReply(gathered(answering, expected), INSTALLATION, 'json');
  return JSON.parse(reply.body) as HealthBody;
}

test('HLT-01 CON-05 the population is told by version, by platform and by both', async () => {
  const { clients } = await body(['main', 'shard-0']);
  assert.deepEqual(clients, {
    total: 4,
    by_version: { 0: 2, 1: 2 },
    by_platform: { ios: 2, browser: 2 },
    by_version_and_platform: [
      { version: '0', platform: 'ios', count: 2 },
      { version: '1', platform: 'browser', count: 2 },
    ],
  });
});

test('CON-05 versions stand in the order of numbers, other last, and versions nobody holds are left out', async () => {
  const metrics = new ThreadMetrics('main');
  for (let version = 2; version <= 60; version += 1) metrics.socketOpened(version, 'node');
  for (let version = 11; version < 50; version += 1) metrics.socketClosed(version, 'node', 'peer');
  const reply = await healthReply(new MetricLedger().settle([metrics.snapshot()], ['main']), INSTALLATION, 'json');
  const { clients } = JSON.parse(reply.body) as HealthBody;
  assert.deepEqual(
    clients.by_version_and_platform.map(({ version }) => version),
    ['2', '3', '4', '5', '6', '7', '8', '9', '10', 'other'],
  );
  assert.equal(clients.by_version['other'], 11);
  assert.equal(clients.total, 20);
});

test('HLT-01 VER-05 refusals and retired forms are told by code', async () => {
  const { refusals, retired_forms, requests_by_version } = await body(['main', 'shard-0']);
  assert.deepEqual(refusals, { call_step_is_signalling: 2, frame_invalid: 2, path_not_found: 2 });
  assert.deepEqual(retired_forms, { call_step_is_signalling: 2 });
  assert.deepEqual(requests_by_version, { 0: 2, 1: 2 });
});

test('HLT-01 the rest of the body says what is running and how it fares', async () => {
  const health = await body(['main', 'shard-0']);
  assert.equal(health.status, 'ok');
  assert.equal(health.version, '0.1.0');
  assert.deepEqual(health.protocol, { current: 1, min: 0 });
  assert.equal(health.started_at, '2026-11-21T08:15:00.000Z');
  assert.deepEqual(health.threads, { answered: ['main', 'shard-0'], missing: [], restarts: { 'shard-1': 2 } });
  assert.deepEqual(health.sockets, { open: 4, opened: 6, closed: { tooSlow: 2 } });
  assert.deepEqual(health.messages, {
    acknowledged: 2,
    post_ack: { p50_seconds: 0.00175, p99_seconds: 0.0024850000000000002 },
    events_published: { 'message.new': 2 },
    deliveries: 20,
    dropped: { typing: 2 },
  });
  assert.deepEqual(health.actors, {
    active: { conversation: 6, person: 4 },
    mailboxes: { main: 14, system: 0, urgent: 2 },
    restarts: { conversation: 2 },
    quarantined: { person: 2 },
    asks_pending: 4,
    ask_timeouts: 2,
  });
  assert.deepEqual(health.storage, {
    commits: 2,
    records: 6,
    commit: { p50_seconds: 0.00175, p99_seconds: 0.0024850000000000002 },
    commit_failures: 2,
    archive_gaps: 0,
    archive_lag_seconds: 0,
    faults: 2,
    lanes_set_aside: 2,
  });
  assert.deepEqual(health.event_loop, {
    main: { p50_seconds: null, p99_seconds: null, recent_max_seconds: 0 },
    'shard-0': { p50_seconds: null, p99_seconds: null, recent_max_seconds: 0 },
  });
  assert.deepEqual(Object.keys(health.memory.heap_bytes), ['main', 'shard-0']);
  assert.ok(health.memory.resident_bytes > health.memory.heap_bytes['main']!);
});

test('HLT-01 a thread that did not answer is named, and the status is degraded', async () => {
  const health = await body(['main'], ['main', 'shard-0', 'shard-1']);
  assert.equal(health.status, 'degraded');
  assert.deepEqual(health.threads.answered, ['main']);
  assert.deepEqual(health.threads.missing, ['shard-0', 'shard-1']);
  assert.deepEqual(Object.keys(health.event_loop), ['main']);
});

test('HLT-02 the Accept header chooses the format, each with its content type', async () => {
  const round = gathered(['main']);
  const json = await healthReply(round, INSTALLATION, 'json');
  assert.deepEqual(json.headers, {
    'content-type': 'application/json; charset=utf-8',
    'cache-control': 'no-store',
    vary: 'accept',
  });
  const text = await healthReply(round, INSTALLATION, 'prometheus');
  assert.equal(text.headers['content-type'], 'text/plain; version=0.0.4; charset=utf-8');
  parseExposition(text.body, 'prometheus');
  const open = await healthReply(round, INSTALLATION, 'openmetrics');
  assert.equal(open.headers['content-type'], 'application/openmetrics-text; version=1.0.0; charset=utf-8');
  parseExposition(open.body, 'openmetrics');
});

const ACCEPTS: readonly (readonly [who: string, accept: string | undefined, format: string])[] = [
  ['no header', undefined, 'json'],
  ['an empty header', '', 'json'],
  ['curl', '*/*', 'json'],
  ['a browser', 'text/html,application/xhtml+xml,application/xml;q=0.9,image/webp,*/*;q=0.8', 'json'],
  ['a browser that takes no wildcard', 'text/html', 'json'],
  ['an HTTP library', 'application/json, text/plain, */*', 'json'],
  [
    'Prometheus 2',
    'application/openmetrics-text;version=1.0.0;q=0.5,application/openmetrics-text;version=0.0.1;q=0.4,text/plain;version=0.0.4;q=0.3,*/*;q=0.2',
    'openmetrics',
  ],
  ['Prometheus without OpenMetrics', 'text/plain;version=0.0.4;q=0.5,*/*;q=0.1', 'prometheus'],
  ['text and any', 'text/plain, */*', 'prometheus'],
  ['any text', 'text/*', 'prometheus'],
  ['any application', 'application/*', 'json'],
  ['upper case and spaces', ' Text/Plain ; Q = 0.9 ', 'prometheus'],
  ['JSON refused', 'application/json;q=0, */*', 'openmetrics'],
  ['everything refused', '*/*;q=0', 'json'],
  ['the most specific range counts', 'text/*;q=1, text/plain;q=0.1, application/json;q=0.2', 'json'],
  ['a weight that is no weight', 'text/plain;q=abc', 'prometheus'],
  ['rubbish', ',;/,q=1,////,text', 'json'],
  ['what stands behind too many ranges is not read', `${'a/b,'.repeat(32)}text/plain`, 'json'],
  ['the last range that is read', `${'a/b,'.repeat(31)}text/plain`, 'prometheus'],
];

for (const [who, accept, format] of ACCEPTS) {
  test(`HLT-02 ${who} gets ${format}`, () => {
    assert.equal(chooseHealthFormat(accept), format);
  });
}

test('an answer is shared by those who ask while it is awaited, is begun after all of them asked, and fails for them alone', async () => {
  const begun: number[] = [];
  let asked = 0;
  const shared = new SharedAnswer(async () => {
    const round = begun.push(asked);
    await new Promise(setImmediate);
    if (round === 2) throw new Error('this once');
    return round;
  }, 20);
  const ask = async () => {
    asked += 1;
    return await shared.read();
  };
  // After some quiet at once; those who come after it was begun get the next one.
  const first = ask();
  const second = Promise.allSettled([ask(), ask(), ask()]);
  assert.equal(await first, 1);
  assert.deepEqual([...new Set((await second).map(({ status }) => status))], ['rejected']);
  assert.equal(await ask(), 3);
  assert.deepEqual(begun, [1, 4, 5]);
});
