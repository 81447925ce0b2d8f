/** The strict parser refuses what a scraper would: without this, a lenient one would prove nothing. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parseExposition } from './exposition-parser.ts';

const HEAD = '# HELP h Help.\n# TYPE h histogram\n';
const BROKEN: readonly (readonly [what: string, text: string, error: RegExp])[] = [
  ['no line feed at the end', '# HELP a A.\n# TYPE a gauge\na 1', /no line feed/],
  ['a TYPE without HELP', '# TYPE a gauge\na 1\n', /TYPE without HELP/],
  ['a family twice', '# HELP a A.\n# TYPE a gauge\na 1\n# HELP a A.\n# TYPE a gauge\n', /Two families/],
  ['a sample of another family', '# HELP a A.\n# TYPE a gauge\nb 1\n', /Stray sample/],
  ['a series twice', '# HELP a A.\n# TYPE a gauge\na{x="1"} 1\na{x="1"} 2\n', /same series twice/],
  ['a label twice', '# HELP a A.\n# TYPE a gauge\na{x="1",x="2"} 1\n', /label x twice/],
  ['a quote that is not escaped', '# HELP a A.\n# TYPE a gauge\na{x="1"2"} 1\n', /Not a label list/],
  ['a value that is no number', '# HELP a A.\n# TYPE a gauge\na Nan\n', /Not a sample/],
  ['a counter below zero', '# HELP a A.\n# TYPE a counter\na -1\n', /below zero/],
  ['a histogram without +Inf', `${HEAD}h_bucket{le="1"} 1\nh_sum 1\nh_count 1\n`, /no bucket \+Inf/],
  ['a bucket that falls', `${HEAD}h_bucket{le="1"} 2\nh_bucket{le="+Inf"} 1\nh_sum 1\nh_count 1\n`, /a bucket falls/],
  [
    'bounds that fall',
    `${HEAD}h_bucket{le="2"} 1\nh_bucket{le="1"} 1\nh_bucket{le="+Inf"} 1\nh_sum 1\nh_count 1\n`,
    /do not rise/,
  ],
  ['a count that is not +Inf', `${HEAD}h_bucket{le="+Inf"} 1\nh_sum 1\nh_count 2\n`, /not the count/],
];

for (const [what, text, error] of BROKEN) {
  test(`the parser refuses ${what}`, () => {
    assert.throws(() => parseExposition(text, 'prometheus'), error);
  });
}

test('the parser refuses OpenMetrics without an end', () => {
  assert.throws(() => parseExposition('# HELP a A.\n# TYPE a gauge\na 1\n', 'openmetrics'), /# EOF/);
});
