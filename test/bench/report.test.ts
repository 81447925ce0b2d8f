/** What the benches make of their rounds: medians, ratios, bars, and what fails a run. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { OptionError, readOptions } from '#bench/harness/options.ts';
import { hashOf, numberOf, postBody, textOf } from '#bench/harness/payload.ts';
import { percentilesOf } from '#bench/harness/percentiles.ts';
import { Recorder } from '#bench/harness/recorder.ts';
import type { Machine, Size } from '#bench/harness/schema.ts';
import { isNoDifference, spreadOf } from '#bench/harness/spread.ts';
import { printReport } from '#bench/harness/table.ts';

const machine: Machine = {
  cpu: 'test',
  cores: 2,
  memoryBytes: 1,
  kernel: 'k',
  node: 'v22',
  flags: [],
  dataFileSystem: 'ext4',
  loadBefore: 0,
  serverCores: [0],
  generatorCores: [1],
};

function recorder(size: Size = 'default'): Recorder {
  return new Recorder('case', size, machine, { commit: 'abc', dirty: false });
}

function addRounds(to: Recorder, subject: string, values: number[]): void {
  values.forEach((value, round) => to.round({ case: 'a', subject, round, values: { cost: value } }));
}

test('a median of an even number of rounds is the middle of the two', () => {
  assert.deepEqual(spreadOf([4, 1, 3, 2]), { median: 2.5, low: 1, high: 4 });
  assert.deepEqual(spreadOf([9, 1, 5]), { median: 5, low: 1, high: 9 });
  assert.throws(() => spreadOf([]), RangeError);
});

test('a ratio is taken round by round, and a range that spans 1 shows no difference', () => {
  const record = recorder();
  addRounds(record, 'ours', [2, 4, 9]);
  addRounds(record, 'peer', [1, 4, 3]);
  assert.equal(record.ratio('a', 'cost', 'ours', 'peer'), 2);
  assert.deepEqual(record.report().ratios, [
    { case: 'a', metric: 'cost', of: 'ours', to: 'peer', median: 2, low: 1, high: 3 },
  ]);
  assert.equal(isNoDifference({ median: 1.1, low: 0.9, high: 1.2 }), true);
  assert.equal(isNoDifference({ median: 1.1, low: 1.05, high: 1.2 }), false);
});

test('a missed bar is reported and is no failure; a wrong delivery is one', () => {
  const record = recorder();
  record.bar('a', 'cost', 3, '≤', 2);
  record.bar('a', 'rate', 3, '≥', 3);
  assert.deepEqual(record.failures, []);
  assert.deepEqual(
    record.report().bars.map((bar) => bar.met),
    [false, true],
  );
  record.delivered('a', 'ours', hashOf([1, 2]), hashOf([1, 2, 3]));
  assert.equal(record.failures.length, 1);
  assert.match(printReport(record.report()), /MISSED a: cost 3 ≤ 2[\s\S]*FAILURES\n {2}a: ours delivered/);
});

test('a smoke run has no bars and voids nothing, but a wrong delivery fails it too', () => {
  const record = recorder('smoke');
  record.bar('a', 'cost', 3, '≤', 2);
  record.checkLag('a', 'ours', [5e6]);
  record.delivered('a', 'ours', hashOf([1]), hashOf([2]));
  const { bars, notes, failures } = record.report();
  assert.deepEqual([bars, notes, failures.length], [[], [], 1]);
});

test('a refused request fails the run, and a late generator voids its latencies', () => {
  const record = recorder();
  const empty = {
    count: 1,
    seconds: 1,
    latency: new Float64Array(1),
    intendedAt: new Float64Array(1),
    lost: 0,
    wrong: 0,
    bytes: 0,
  };
  record.checkRequests('a', 'ours', { ...empty, lag: Float64Array.of(2e6), statuses: { 201: 1 } });
  assert.match(record.report().notes[0] ?? '', /^VOID a, ours: in 1 rounds the generator was late, up to 2\.0 ms/);
  assert.deepEqual(record.failures, []);
  record.checkRequests('a', 'ours', { ...empty, lag: new Float64Array(0), statuses: { 503: 1 } });
  assert.deepEqual(record.failures, ['a: ours gave 1 answers 503 0 wrong bodies']);
});

test('percentiles keep three figures, and no samples give zeros', () => {
  const { count, p50, p99, max } = percentilesOf(Array.from({ length: 1000 }, (_, i) => (i + 1) * 1e6));
  assert.equal(count, 1000);
  assert.ok(Math.abs(p50 - 500e6) < 1e6 && Math.abs(p99 - 990e6) < 1e6 && Math.abs(max - 1e9) < 1e6);
  assert.equal(percentilesOf([]).max, 0);
});

test('a text carries its number, all texts have one length, and a set of numbers has one hash in any order', () => {
  assert.equal(numberOf(textOf(42)), 42);
  assert.equal(numberOf('hello'), -1);
  assert.equal(textOf(1).length, textOf(99_999_999).length);
  assert.equal(hashOf([3, 1, 2]), hashOf([1, 2, 3]));
  assert.notEqual(hashOf([1, 2, 2]), hashOf([1, 2]));
  assert.deepEqual(JSON.parse(postBody('r', 7)), { kind: 'text', body: textOf(7), client_msg_id: 'r-00000007' });
});

test('the command line names known benches and sizes, or says what is allowed', () => {
  const known = ['post-ack', 'port-link'];
  assert.deepEqual(readOptions(['all', '--smoke'], known), { names: known, size: 'smoke' });
  assert.deepEqual(readOptions(['port-link', '--full', '--json', 'f', '--rounds', '3'], known), {
    names: ['port-link'],
    size: 'full',
    json: 'f',
    rounds: 3,
  });
  assert.throws(() => readOptions([], known), {
    constructor: OptionError,
    message: 'Name a bench: post-ack, port-link or all.',
  });
  assert.throws(() => readOptions(['nope'], known), { message: 'There is no bench nope: post-ack, port-link or all.' });
  assert.throws(() => readOptions(['all', '--full', '--smoke'], known), {
    message: '--full and --smoke exclude each other.',
  });
  assert.throws(() => readOptions(['all', '--rounds', '0'], known), {
    message: '--rounds takes a whole number from 1 to 9999, not 0.',
  });
  assert.throws(() => readOptions(['all', '--quick'], known), OptionError);
});
