/** The exposition: valid in both formats, the same metrics as the table and the page, nothing for promtool to say. */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { renderExposition } from '#src/telemetry/exposition.ts';
import { MetricLedger } from '#src/telemetry/metric-ledger.ts';
import type { MetricSnapshot } from '#src/telemetry/metrics.ts';
import { metricDocument } from '#src/telemetry/metric-document.ts';
import { METRIC_NAMES, METRICS } from '#src/telemetry/metric-table.ts';
import { addProcessMetrics } from '#src/telemetry/process-metrics.ts';
import { unlessInstalled } from '#test/support/real-program.ts';
import { parseExposition } from './exposition-parser.ts';
import { busyThread, INSTALLATION } from './sample-figures.ts';

const FORMATS = ['prometheus', 'openmetrics'] as const;

function allFigures(): MetricSnapshot {
  const answers = ['main', 'shard-0'].map((name) => busyThread(name).snapshot());
  return addProcessMetrics(new MetricLedger().settle(answers, ['main', 'shard-0', 'shard-1']), INSTALLATION);
}

/** The name of a metric's family: OpenMetrics names a counter without its suffix. */
function familyName(name: string, format: (typeof FORMATS)[number]): string {
  return format === 'openmetrics' ? name.replace(/_total$/, '') : name;
}

for (const format of FORMATS) {
  test(`HLT-02 the ${format} exposition is valid and has every metric of the table, each with a sample`, async () => {
    const families = parseExposition(await renderExposition(allFigures(), format), format);
    assert.deepEqual([...families.keys()].toSorted(), METRIC_NAMES.map((name) => familyName(name, format)).toSorted());
    for (const name of METRIC_NAMES) {
      const { type, help, labels } = METRICS[name];
      const family = families.get(familyName(name, format));
      assert.equal(family?.type, type, name);
      assert.equal(family.help, help, name);
      assert.ok(family.samples.length > 0, `${name} has no sample: the test data must have something in every metric`);
      for (const sample of family.samples) {
        const { le: _, ...own } = sample.labels;
        assert.deepEqual(Object.keys(own), labels, name);
      }
    }
  });

  test(`HLT-02 the ${format} exposition of a server that has done nothing is valid`, async () => {
    const families = parseExposition(await renderExposition({ scalars: {}, histograms: {} }, format), format);
    assert.equal(families.size, METRIC_NAMES.length);
  });
}

test('HLT-02 the figures of all threads are in the exposition', async () => {
  const families = parseExposition(await renderExposition(allFigures(), 'prometheus'), 'prometheus');
  const value = (name: string, labels: Record<string, string> = {}) =>
    families
      .get(name.replace(/_(?:bucket|sum|count)$/, ''))
      ?.samples.find((sample) => sample.name === name && JSON.stringify(sample.labels) === JSON.stringify(labels))
      ?.value;
  assert.equal(value('parley_messaging_sockets', { version: '1', platform: 'browser' }), 2);
  assert.equal(value('parley_protocol_refusals_total', { code: 'frame_invalid', surface: 'frame' }), 2);
  assert.equal(value('parley_actors_mailbox_messages', { thread: 'shard-0', lane: 'main' }), 7);
  assert.equal(value('parley_storage_commit_records_sum'), 6);
  assert.equal(value('parley_storage_commit_records_count'), 2);
  assert.equal(value('parley_storage_commit_records_bucket', { le: '2' }), 0);
  assert.equal(value('parley_storage_commit_records_bucket', { le: '4' }), 2);
  assert.equal(value('parley_storage_commit_records_bucket', { le: '+Inf' }), 2);
  assert.equal(value('parley_threads_answered'), 2);
  assert.equal(value('parley_threads_missing'), 1);
  assert.equal(value('parley_process_start_time_seconds'), 1_795_248_900);
  assert.equal(value('parley_process_build_info', { version: '0.1.0', protocol: '1', protocol_min: '0' }), 1);
  assert.ok((value('parley_process_resident_memory_bytes') ?? 0) > 1_000_000);
});

test('label values with quotes, backslashes and line feeds arrive as they were', async () => {
  const odd = 'a"b\\c\nd\\n}e,f="';
  const metrics = { scalars: { parley_actors_active: [{ labels: [odd], value: 1 }] }, histograms: {} };
  for (const format of FORMATS) {
    const families = parseExposition(await renderExposition(metrics, format), format);
    assert.deepEqual(families.get('parley_actors_active')?.samples[0]?.labels, { actor: odd });
  }
});

test('two renderings at once do not mix, though prom-client renames counters in place', async () => {
  const [openmetrics, prometheus] = await Promise.all([
    renderExposition(allFigures(), 'openmetrics'),
    renderExposition(allFigures(), 'prometheus'),
  ]);
  assert.ok(parseExposition(openmetrics, 'openmetrics').has('parley_http_requests'));
  assert.ok(parseExposition(prometheus, 'prometheus').has('parley_http_requests_total'));
});

const skip = unlessInstalled('promtool', ['--version']);

test('HLT-02 promtool has nothing to say', { skip }, async () => {
  for (const metrics of [allFigures(), { scalars: {}, histograms: {} }]) {
    const text = await renderExposition(metrics, 'prometheus');
    const { status, stdout, stderr } = spawnSync('promtool', ['check', 'metrics'], { input: text, encoding: 'utf8' });
    assert.equal(stdout + stderr, '');
    assert.equal(status, 0);
  }
});

test('docs/metrics.md is the table of metrics', () => {
  const page = readFileSync(new URL('../../docs/metrics.md', import.meta.url), 'utf8');
  assert.equal(page, metricDocument(), 'docs/metrics.md is out of date: run "npm run docs".');
  const named = new Set([...page.matchAll(/`(parley_[a-z_]+)`/g)].map(([, name]) => name));
  assert.deepEqual(named, new Set(METRIC_NAMES));
});

test('names and helps keep the rules of the table', () => {
  for (const name of METRIC_NAMES) {
    const { type, help, labels } = METRICS[name];
    assert.match(name, /^parley(?:_[a-z]+)+$/);
    assert.equal(name.endsWith('_total'), type === 'counter', name);
    assert.match(help, /^[A-Z0-9][^"\\\n]*\.$/, name);
    for (const label of labels) assert.match(label, /^[a-z_]+$/);
    assert.doesNotMatch(name, /_(?:bucket|sum|count|created|millis|ms|kib)(?:_total)?$/);
  }
});
