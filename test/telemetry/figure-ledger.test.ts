/** The ledger: sums over threads that end, come back or do not answer never fall (HLT-02). */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { MetricLedger } from '#src/telemetry/metric-ledger.ts';
import type { ThreadSnapshot } from '#src/telemetry/metrics.ts';

function snapshot(thread: string, born: number, sequence: number, deliveries: number, pending = 0): ThreadSnapshot {
  return {
    thread,
    born,
    sequence,
    scalars: {
      parley_messaging_deliveries_total: [{ labels: [], value: deliveries }],
      parley_actors_asks_pending: [{ labels: [thread], value: pending }],
    },
    histograms: { parley_storage_commit_records: [{ labels: [], counts: [deliveries, 0], sum: deliveries }] },
  };
}

const THREADS = ['main', 'shard-0'];

function deliveriesOf(ledger: MetricLedger, answers: ThreadSnapshot[]): number | undefined {
  return ledger.settle(answers, THREADS).metrics.scalars.parley_messaging_deliveries_total?.[0]?.value;
}

test('a round in which all answer has none missing and adds all up', () => {
  const { metrics, answered, missing } = new MetricLedger().settle(
    [snapshot('shard-0', 2, 1, 5, 1), snapshot('main', 1, 1, 7, 2)],
    THREADS,
  );
  assert.deepEqual(answered, ['main', 'shard-0']);
  assert.deepEqual(missing, []);
  assert.deepEqual(metrics.scalars.parley_messaging_deliveries_total, [{ labels: [], value: 12 }]);
  assert.deepEqual(metrics.histograms.parley_storage_commit_records, [{ labels: [], counts: [12, 0], sum: 12 }]);
});

test('a thread that does not answer is named; its counters stand as last known and its gauges are left out', () => {
  const ledger = new MetricLedger();
  ledger.settle([snapshot('main', 1, 1, 7, 2), snapshot('shard-0', 2, 1, 5, 1)], THREADS);
  const { metrics, answered, missing } = ledger.settle([snapshot('main', 1, 2, 8, 3)], THREADS);
  assert.deepEqual(answered, ['main']);
  assert.deepEqual(missing, ['shard-0']);
  assert.deepEqual(metrics.scalars.parley_messaging_deliveries_total, [{ labels: [], value: 13 }]);
  assert.deepEqual(metrics.histograms.parley_storage_commit_records, [{ labels: [], counts: [13, 0], sum: 13 }]);
  assert.deepEqual(metrics.scalars.parley_actors_asks_pending, [{ labels: ['main'], value: 3 }]);
});

test('a thread that never answered is missing from the first round on', () => {
  assert.deepEqual(new MetricLedger().settle([], THREADS).missing, ['main', 'shard-0']);
});

test('what a restarted thread had counted before is kept, over any number of restarts', () => {
  const ledger = new MetricLedger();
  assert.equal(deliveriesOf(ledger, [snapshot('main', 1, 1, 7), snapshot('shard-0', 2, 1, 5)]), 12);
  assert.equal(deliveriesOf(ledger, [snapshot('main', 1, 2, 7), snapshot('shard-0', 3, 1, 1)]), 13);
  assert.equal(deliveriesOf(ledger, [snapshot('main', 1, 3, 7), snapshot('shard-0', 4, 1, 2)]), 15);
  const { metrics } = ledger.settle([snapshot('main', 1, 4, 7), snapshot('shard-0', 4, 2, 2, 9)], THREADS);
  assert.deepEqual(metrics.histograms.parley_storage_commit_records, [{ labels: [], counts: [15, 0], sum: 15 }]);
  assert.deepEqual(
    metrics.scalars.parley_actors_asks_pending?.find(({ labels }) => labels[0] === 'shard-0'),
    { labels: ['shard-0'], value: 9 },
  );
});

test('an answer that comes late, from an earlier round or an ended thread, replaces nothing newer', () => {
  const ledger = new MetricLedger();
  ledger.settle([snapshot('main', 1, 1, 7), snapshot('shard-0', 2, 1, 5)], THREADS);
  assert.equal(deliveriesOf(ledger, [snapshot('main', 1, 3, 9), snapshot('shard-0', 3, 1, 1)]), 15);
  assert.equal(deliveriesOf(ledger, [snapshot('main', 1, 2, 8), snapshot('shard-0', 2, 2, 5)]), 15);
});
