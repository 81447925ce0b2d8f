/** The bars of de-personalisation, judged on generated logs by what can still be read in the outcome. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Redactor } from '#src/redaction/redactor.ts';
import { SeededRandom } from '#test/support/random.ts';
import { cleanLog } from './corpus/clean-log.ts';
import { EMBEDDINGS } from './corpus/embeddings.ts';
import { judge, judgeClean, recall, table } from './corpus/judgement.ts';
import { labelledLog, TOKEN_SHAPES } from './corpus/labelled-log.ts';
import { KEY, SPAN_CLASSES, type SpanClass } from './corpus/labels.ts';
import { leakOf, readings } from './corpus/leak-oracle.ts';

/** REDACTION_SEED has another log judged; the number is printed with what was found in it. */
const SEED = Number(process.env['REDACTION_SEED'] ?? 20_261_120);

/** Every shape meets every place that fits it this many times. */
const ROUNDS = 3;

const CLEAN_LINES = 22_000;

/** How many finds a failure shows. */
const SHOWN = 12;

const engine = new Redactor({ key: KEY });
const redact = (text: string): string => engine.text(text);
const log = labelledLog(new SeededRandom(SEED), ROUNDS);
const found = judge(redact, log);
const clean = judgeClean(redact, cleanLog(new SeededRandom(SEED + 1), CLEAN_LINES));

function first(finds: readonly string[], what = ''): string {
  const fitting = finds.filter((find) => find.startsWith(what));
  return `seed ${SEED}, ${fitting.length} finds\n${fitting.slice(0, SHOWN).join('\n')}`;
}

test('the judged log has 120 token shapes, 12 places and 10,000 values, and enough of every class', (t) => {
  t.diagnostic(`seed ${SEED}: ${found.records} records, ${found.spans} values, ${TOKEN_SHAPES.length} token shapes`);
  for (const line of table(found)) t.diagnostic(line);
  assert.ok(TOKEN_SHAPES.length >= 120);
  assert.ok(EMBEDDINGS.length >= 12);
  assert.ok(found.spans >= 10_000);
  for (const name of SPAN_CLASSES) assert.ok(found.classes[name].spans >= 100, name);
});

test('the judge sees every value in a log that nobody de-personalised', () => {
  const unseen = log.slice(0, log.length / ROUNDS).flatMap((record) => {
    const seen = readings(record.text);
    return record.labels.filter((label) => leakOf(label, seen, record.context) === undefined).map(() => record.text);
  });
  assert.deepEqual(unseen, []);
});

/** The classes of which not one value may be read, and those of which one in a thousand may. */
const PERFECT: readonly SpanClass[] = ['private-key', 'authorization', 'url-credentials', 'platform-token'];
const REQUIREMENT: Partial<Record<SpanClass, string>> = {
  text: 'RED-02',
  user: 'RED-03',
  email: 'RED-04',
  phone: 'RED-05',
  ipv4: 'RED-06',
  ipv6: 'RED-06',
};

for (const name of SPAN_CLASSES) {
  const least = PERFECT.includes(name) ? 1 : 0.999;
  test(`${REQUIREMENT[name] ?? 'RED-01'} ${least * 100} % of the class ${name} cannot be read in any encoding`, () => {
    assert.ok(recall(found.classes[name]) >= least, first(found.leaks, `${name} |`));
  });
}

for (const name of ['user', 'email', 'phone', 'ipv4'] as const) {
  test(`RED-07 99 % of the class ${name} stand under the replacement that is theirs`, () => {
    const { agreed, named } = found.classes[name];
    assert.ok(named >= 100);
    assert.ok(agreed >= named * 0.99, first(found.strangers, `${name} |`));
  });
}

test('RED-12 line breaks stay, and so does what the logging program writes before its lines', () => {
  assert.equal(found.spoilt.length, 0, first(found.spoilt));
});

test('the plain words around the values stay: 99 % of them', (t) => {
  const { plainWords, plainWordsKept } = found;
  t.diagnostic(`seed ${SEED}: ${plainWordsKept} of ${plainWords} plain words stayed`);
  assert.ok(plainWords > 10_000);
  assert.ok(plainWordsKept >= plainWords * 0.99, `${plainWordsKept} of ${plainWords}`);
});

test('ordinary lines hold no phone, no user, no address and no secret', (t) => {
  const { lines, phones, users, emails, random, others } = clean;
  t.diagnostic(
    `seed ${SEED}: ${lines} lines; phones ${phones.length}, users ${users.length}, e-mails ${emails.length}, random ${random.length}, others ${others.length}`,
  );
  assert.equal(phones.length, 0, first(phones));
  assert.equal(users.length, 0, first(users));
  assert.equal(emails.length, 0, first(emails));
  assert.equal(others.length, 0, first(others));
});

test('at most two of a thousand ordinary lines lose a piece for looking random', () => {
  assert.ok(clean.lines >= 20_000);
  assert.ok(clean.random.length <= clean.lines * 0.002, first(clean.random));
});

test('RED-12 times, identifiers, known digests, fingerprints, versions, hardware addresses, paths and hosts stay', () => {
  assert.equal(clean.lostPieces.length, 0, first(clean.lostPieces));
});
