/** What a thread counts, its bounds, and that it crosses to another thread (HLT-01, HLT-02, VER-05). */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Worker } from 'node:worker_threads';
import { CLOSE_CODES } from '#src/protocol/sockets/close-codes.ts';
import { ERROR_CODES, statusOf } from '#src/protocol/errors.ts';
import type { Sample, ThreadSnapshot } from '#src/telemetry/metrics.ts';
import { LABEL_VALUES_MAX, LabelledCounts } from '#src/telemetry/labelled-counts.ts';
import { mergeMetrics } from '#src/telemetry/merge.ts';
import { METRICS, SCALAR_NAMES, type ScalarName } from '#src/telemetry/metric-table.ts';
import { readSocketEnd, RETIRED_FORM_CODES, ThreadMetrics } from '#src/telemetry/thread-metrics.ts';
import { foldVersions, VERSION_LABELS_MAX } from '#src/telemetry/version-labels.ts';
import { busyThread } from './sample-figures.ts';

/** `label,label → value` of a metric, in the order of the labels. */
function read(snapshot: ThreadSnapshot, name: ScalarName): Record<string, number> {
  const samples: readonly Sample[] = snapshot.scalars[name] ?? [];
  return Object.fromEntries(samples.map(({ labels, value }) => [labels.join(','), value]));
}

test('HLT-01 what happened is counted under its labels', () => {
  const snapshot = busyThread('shard-0').snapshot();
  assert.equal(snapshot.thread, 'shard-0');
  assert.deepEqual(read(snapshot, 'parley_http_requests_total'), {
    'messaging,postMessage,201': 1,
    'messaging,unmatched,404': 1,
  });
  assert.deepEqual(read(snapshot, 'parley_protocol_client_requests_total'), { 0: 1, 1: 1 });
  assert.deepEqual(read(snapshot, 'parley_protocol_refusals_total'), {
    'path_not_found,messaging': 1,
    'call_step_is_signalling,messaging': 1,
    'frame_invalid,frame': 1,
  });
  assert.deepEqual(read(snapshot, 'parley_messaging_sockets'), { '1,browser': 1, '0,ios': 1 });
  assert.deepEqual(read(snapshot, 'parley_messaging_sockets_closed_total'), { tooSlow: 1 });
  assert.deepEqual(read(snapshot, 'parley_messaging_sockets_opened_total'), { '': 3 });
  assert.deepEqual(read(snapshot, 'parley_messaging_deliveries_total'), { '': 10 });
  assert.deepEqual(read(snapshot, 'parley_actors_mailbox_messages'), {
    'shard-0,system': 0,
    'shard-0,urgent': 1,
    'shard-0,main': 7,
  });
  assert.deepEqual(read(snapshot, 'parley_actors_mailbox_deepest_messages'), { 'shard-0': 4 });
  assert.deepEqual(read(snapshot, 'parley_log_dropped_lines_total'), { '': 5 });
  assert.equal(snapshot.histograms.parley_storage_commit_records?.[0]?.sum, 3);
  assert.equal(snapshot.histograms.parley_storage_commit_seconds?.[0]?.sum, 0.0015);
  assert.equal(snapshot.histograms.parley_messaging_post_ack_seconds?.[0]?.sum, 0.002);
});

test('every sample has as many label values as the table has labels', () => {
  const { scalars, histograms } = busyThread('main').snapshot();
  for (const name of SCALAR_NAMES) {
    for (const { labels } of scalars[name] ?? []) assert.equal(labels.length, METRICS[name].labels.length, name);
  }
  for (const [name, samples] of Object.entries(histograms)) {
    const { labels, bounds } = METRICS[name as keyof typeof histograms];
    for (const sample of samples) {
      assert.equal(sample.labels.length, labels.length, name);
      assert.equal(sample.counts.length, bounds.length + 1, name);
    }
  }
});

test('VER-05 a refused form that is gone is counted as one, at zero before the first; other 410s are not', () => {
  const metrics = new ThreadMetrics('main');
  assert.deepEqual(read(metrics.snapshot(), 'parley_protocol_retired_forms_total'), { call_step_is_signalling: 0 });
  metrics.countRefusal('call_step_is_signalling', 'messaging');
  metrics.countRefusal('client_too_old', 'upgrade');
  metrics.countRefusal('invitation_used', 'coordinator');
  assert.deepEqual(read(metrics.snapshot(), 'parley_protocol_retired_forms_total'), { call_step_is_signalling: 1 });
});

test('VER-05 every 410 of the catalogue is a retired form, or is known to be something else', () => {
  const others = ['client_too_old', 'invitation_used', 'join_token_used', 'reset_link_used', 'sign_in_over'];
  const gone = ERROR_CODES.filter((code) => statusOf(code) === 410 && !others.includes(code));
  assert.deepEqual(gone, RETIRED_FORM_CODES);
});

test('the error codes fit into one label', () => {
  assert.ok(ERROR_CODES.length <= LABEL_VALUES_MAX);
});

test('a close code says why a socket ended; any other is the peer', () => {
  for (const [reason, code] of Object.entries(CLOSE_CODES)) assert.equal(readSocketEnd(code), reason);
  assert.equal(readSocketEnd(1006), 'peer');
  assert.equal(readSocketEnd(4000), 'peer');
});

test('HLT-01 versions beyond the fiftieth are other, and our own and older ones never are', () => {
  const metrics = new ThreadMetrics('main');
  for (let version = 2; version < VERSION_LABELS_MAX + 1; version += 1) metrics.socketOpened(version, 'node');
  metrics.socketOpened(900, 'node');
  metrics.socketOpened(901, 'node');
  metrics.socketOpened(0, 'node');
  metrics.socketOpened(1, 'node');
  const sockets = read(metrics.snapshot(), 'parley_messaging_sockets');
  assert.equal(Object.keys(sockets).length, VERSION_LABELS_MAX + 1);
  assert.deepEqual(
    ['0,node', '1,node', '49,node', '50,node', '900,node', 'other,node'].map((key) => sockets[key]),
    [1, 1, 1, undefined, undefined, 3],
  );
});

test('a socket counted as other is counted down as other', () => {
  const metrics = new ThreadMetrics('main');
  for (let version = 2; version <= 60; version += 1) metrics.socketOpened(version, 'node');
  for (let version = 2; version <= 60; version += 1) metrics.socketClosed(version, 'node', 'peer');
  assert.deepEqual(new Set(Object.values(read(metrics.snapshot(), 'parley_messaging_sockets'))), new Set([0]));
});

test('the versions of several threads are folded once more, the lowest kept', () => {
  const fold = foldVersions(['other', ...Array.from({ length: 80 }, (_, i) => String(i))]);
  assert.deepEqual(['0', '1', '2', '49', '50', '79', 'other'].map(fold), [
    '0',
    '1',
    '2',
    '49',
    'other',
    'other',
    'other',
  ]);
});

test('HLT-01 threads that saw other versions together keep the bound and every socket', () => {
  const threads = [0, 1].map((thread) => {
    const metrics = new ThreadMetrics(`shard-${thread}`);
    for (let version = thread; version < 80; version += 2) metrics.socketOpened(version, 'ios');
    return metrics.snapshot();
  });
  const sockets = mergeMetrics(threads).scalars.parley_messaging_sockets ?? [];
  assert.equal(sockets.length, VERSION_LABELS_MAX + 1);
  assert.deepEqual(
    sockets.find(({ labels }) => labels[0] === 'other'),
    { labels: ['other', 'ios'], value: 30 },
  );
});

test('routes beyond the bound are unmatched', () => {
  const metrics = new ThreadMetrics('main');
  for (let i = 0; i <= 300; i += 1) metrics.countRequest('coordinator', `route${i}`, 200, 1);
  const requests = read(metrics.snapshot(), 'parley_http_requests_total');
  assert.equal(Object.keys(requests).length, 257);
  assert.equal(requests['coordinator,route255,200'], 1);
  assert.equal(requests['coordinator,route256,200'], undefined);
  assert.equal(requests['coordinator,unmatched,200'], 45);
});

test('label values beyond the bound are other, and known ones still count under their name', () => {
  const counts = new LabelledCounts(2);
  for (const value of ['a', 'b', 'c', 'd', 'a']) counts.add(value);
  assert.deepEqual(counts.samples(['x'], ['y']), [
    { labels: ['x', 'a', 'y'], value: 2 },
    { labels: ['x', 'b', 'y'], value: 1 },
    { labels: ['x', 'other', 'y'], value: 2 },
  ]);
});

test('HLT-02 snapshots of worker threads arrive whole and add up', async () => {
  const code = `
    import { parentPort } from 'node:worker_threads';
    const { busyThread } = await import(${JSON.stringify(new URL('./sample-figures.ts', import.meta.url).href)});
    const { workerData } = await import('node:worker_threads');
    parentPort.postMessage(busyThread(workerData).snapshot());
  `;
  const snapshots = await Promise.all(
    ['shard-0', 'shard-1'].map((name) => {
      const worker = new Worker(new URL(`data:text/javascript,${encodeURIComponent(code)}`), { workerData: name });
      const answer = Promise.withResolvers<ThreadSnapshot>();
      worker.once('message', answer.resolve);
      worker.once('error', answer.reject);
      return answer.promise;
    }),
  );
  assert.deepEqual(
    snapshots.map(({ thread }) => thread),
    ['shard-0', 'shard-1'],
  );
  const merged = mergeMetrics([busyThread('main').snapshot(), ...snapshots]);
  assert.deepEqual(merged.scalars.parley_messaging_deliveries_total, [{ labels: [], value: 30 }]);
  assert.deepEqual(
    merged.scalars.parley_actors_asks_pending?.map(({ labels }) => labels[0]),
    ['main', 'shard-0', 'shard-1'],
  );
  assert.equal(merged.histograms.parley_storage_commit_seconds?.[0]?.counts[4], 3);
  assert.ok((merged.scalars.parley_threads_heap_used_bytes?.[2]?.value ?? 0) > 0);
});
