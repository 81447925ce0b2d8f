/**
 * The outside judge: any value in any carrier, drawn anew in every run from a seed that it prints; REDACTION_SEED
 * repeats one. What is looked for is not what the engine says it found, but whether the value can still be read.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Redactor } from '#src/redaction/redactor.ts';
import { freshSeed, SeededRandom } from '#test/support/random.ts';
import { judge, recall } from './corpus/judgement.ts';
import { KEY, SPAN_CLASSES, type SpanClass } from './corpus/labels.ts';
import { leakOf, readings } from './corpus/leak-oracle.ts';
import { stayingRecord, unseenRecord } from './corpus/unseen-log.ts';

const SEED = Number(process.env['REDACTION_SEED'] ?? freshSeed());
const LINES = 8000;
const SHOWN = 8;
/** Classes of which not one value may be read. Of the others a whole run may read one in a thousand, and one more. */
const PERFECT: readonly SpanClass[] = ['private-key', 'authorization', 'url-credentials', 'platform-token'];

const engine = new Redactor({ key: KEY });
const random = new SeededRandom(SEED);
const records = Array.from({ length: LINES }, () => unseenRecord(random));
const found = judge((text) => engine.text(text), records);

function first(finds: readonly string[]): string {
  return `seed ${SEED}, ${finds.length} finds\n${finds.slice(0, SHOWN).join('\n')}`;
}

test('the judge reads every value of a log that nobody de-personalised', (t) => {
  t.diagnostic(`seed ${SEED}`);
  const unseen = records.slice(0, 1000).flatMap(({ text, labels, context }) => {
    const seen = readings(text);
    return labels
      .filter((label) => leakOf(label, seen, context) === undefined)
      .map(({ value }) => `${value} in ${text}`);
  });
  assert.ok(unseen.length <= 2, first(unseen));
});

for (const name of SPAN_CLASSES.filter((each) => each !== 'private-key'))
  test(`RED-01 RED-03 RED-05 RED-06 the class ${name} cannot be read in any carrier`, (t) => {
    const result = found.classes[name];
    t.diagnostic(`seed ${SEED}: ${result.spans} values, recall ${(100 * recall(result)).toFixed(2)} %`);
    assert.ok(result.spans > 50);
    const most = PERFECT.includes(name) ? 0 : 1 + result.spans / 1000;
    assert.ok(result.leaks <= most, first(found.leaks.filter((leak) => leak.startsWith(`${name} |`))));
  });

test('RED-07 one value has one pseudonym in every carrier, and lines keep their breaks and prefixes', () => {
  const named = SPAN_CLASSES.reduce((sum, name) => sum + found.classes[name].named, 0);
  assert.ok(found.strangers.length <= named / 500, first(found.strangers));
  assert.equal(found.spoilt.length, 0, first(found.spoilt));
});

test('RED-12 twice is once in every carrier', () => {
  const changed = records.flatMap(({ text }) => {
    const once = engine.text(text);
    const twice = engine.text(once);
    return twice === once ? [] : [`${text} → ${once} → ${twice}`];
  });
  assert.equal(changed.length, 0, first(changed));
});

test('99.5 % of what names nobody and opens nothing stays as it is', () => {
  const lost = Array.from({ length: LINES / 2 }, () => stayingRecord(random)).flatMap(({ text }) => {
    const outcome = engine.text(text);
    return outcome === text ? [] : [`${text} → ${outcome}`];
  });
  assert.ok(lost.length <= (LINES / 2) * 0.005, first(lost));
});
