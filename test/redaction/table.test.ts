/** The table of rules by its own examples, and each row by its absence: a row that nothing misses is none. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Redactor } from '#src/redaction/redactor.ts';
import type { Row } from '#src/redaction/rules/rows.ts';
import { marker } from '#src/redaction/spans.ts';
import { TABLE } from '#src/redaction/rules/table.ts';
import { KEY } from './corpus/labels.ts';

const REPLACED = String.raw`"?(?:\[REDACTED:[a-z-]+\]|(?:u|tel)-[0-9a-f]{8}|x+)"?`;

function nameOf(row: Row): string {
  switch (row.kind) {
    case 'name':
      return `name ${row.name} (${row.class})`;
    case 'token':
      return `token ${row.literal} (${row.class})`;
    case 'phrase':
      return `phrase ${row.phrase.slice(0, 60)}`;
    case 'option':
      return `option ${row.option} of ${row.programs.slice(0, 40)}`;
    case 'special':
      return `${row.does} behind ${row.literal}`;
    case 'shape':
      return `form ${row.pattern}`;
    case 'wrapper':
      return `wrapper ${row.pattern}`;
    case 'sign':
      return `sign ${row.sign}`;
    case 'word':
      return `word ${row.word}`;
    default:
      throw new Error('There is no such row.');
  }
}

function escaped(text: string): string {
  return text.replaceAll(/[.*+?^${}()|[\]\\/]/g, String.raw`\$&`);
}

/** What an example must come out as: all as it is but for what stands between the signs. */
function expected(row: Row, example: string): RegExp {
  const own = row.kind === 'token' || row.kind === 'shape' ? escaped(marker(row.class)) : REPLACED;
  const pieces = example.split(/«[^»]*»/u).map(escaped);
  return new RegExp(`^${pieces.join(own)}$`, 'u');
}

/** The examples of a row that do not come out as they must. */
function failures(engine: Redactor, row: Row): string[] {
  const failed: string[] = [];
  for (const example of row.go) {
    const outcome = engine.text(example.replaceAll(/[«»]/gu, ''));
    if (!expected(row, example).test(outcome)) failed.push(`${example} → ${outcome}`);
    else if (engine.text(outcome) !== outcome) failed.push(`${outcome} → ${engine.text(outcome)}`);
  }
  for (const example of row.stay ?? []) {
    const outcome = engine.text(example);
    if (outcome !== example) failed.push(`${example} → ${outcome}`);
  }
  return failed;
}

const engine = new Redactor({ key: KEY });

test('every row of the table has examples, and they come out as it says', (t) => {
  t.diagnostic(`${TABLE.length} rows`);
  assert.ok(TABLE.length >= 250);
  const failed = TABLE.flatMap((row) => failures(engine, row).map((failure) => `${nameOf(row)}: ${failure}`));
  assert.deepEqual(failed, []);
  assert.deepEqual(TABLE.filter(({ go, stay = [] }) => go.length + stay.length === 0).map(nameOf), []);
});

test('a row that is taken out is missed by its own examples', () => {
  const unmissed: string[] = [];
  for (const [at, row] of TABLE.entries()) {
    const without = new Redactor({ key: KEY, rows: TABLE.toSpliced(at, 1) });
    if (failures(without, row).length === 0) unmissed.push(nameOf(row));
  }
  assert.deepEqual(unmissed, []);
});
