/** The histogram: which bucket takes a value, and what its quantiles say. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { countOf, Histogram, quantile } from '#src/telemetry/histogram.ts';

test('a value on a bound is in that bucket, one above it in the next, one above all in the last', () => {
  const histogram = new Histogram([1, 2, 4]);
  for (const value of [0, 1, 1.001, 2, 4, 4.001, 1e9]) histogram.observe(value);
  assert.deepEqual(histogram.sample(['a']).counts, [2, 2, 1, 2]);
  assert.deepEqual(histogram.sample(['a']).labels, ['a']);
  assert.equal(countOf(histogram.sample([])), 7);
});

test('what is no measurement is left out and spoils nothing', () => {
  const histogram = new Histogram([1]);
  for (const value of [NaN, Infinity, -Infinity, -0.001, 0.5]) histogram.observe(value);
  assert.deepEqual(histogram.sample([]), { labels: [], counts: [1, 0], sum: 0.5 });
});

test('a sample is a copy that later values do not change', () => {
  const histogram = new Histogram([1]);
  const before = histogram.sample([]);
  histogram.observe(1);
  assert.deepEqual(before, { labels: [], counts: [0, 0], sum: 0 });
});

test('a quantile is interpolated within its bucket', () => {
  assert.equal(quantile([10, 20], [4, 4, 0], 0.25), 5);
  assert.equal(quantile([10, 20], [4, 4, 0], 0.5), 10);
  assert.equal(quantile([10, 20], [4, 4, 0], 0.75), 15);
  assert.equal(quantile([10, 20], [0, 4, 0], 0.5), 15);
});

test('a quantile of nothing is null, and one beyond the last bound is that bound', () => {
  assert.equal(quantile([10, 20], [0, 0, 0], 0.5), null);
  assert.equal(quantile([10, 20], [0, 0, 3], 0.5), 20);
  assert.equal(quantile([10, 20], [99, 0, 1], 0.99), 10);
});
