/**
 * Twice is once for whole logs, whose lines leave something to each other, and no line of a private key can be read in
 * any of its writings. The log is drawn from one seed; REDACTION_SEED draws another.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Redactor } from '#src/redaction/redactor.ts';
import { SeededRandom } from '#test/support/random.ts';
import { KEY } from './corpus/labels.ts';
import { leakOf, readings } from './corpus/leak-oracle.ts';
import { privateKeyRecords } from './corpus/private-keys.ts';
import { unseenRecord } from './corpus/unseen-log.ts';
import { PREFIXES } from './corpus/unseen-carriers.ts';

const SEED = Number(process.env['REDACTION_SEED'] ?? 20_261_123);
const LOGS = 120;
const RECORDS = 40;
const ROUNDS = 4;
const SHOWN = 4;

const engine = new Redactor({ key: KEY });
const random = new SeededRandom(SEED);

function first(finds: readonly string[]): string {
  return `seed ${SEED}, ${finds.length} finds\n${finds.slice(0, SHOWN).join('\n')}`;
}

/** The lines that a second pass changes, with the one before each. */
function changedLines(text: string): string[] {
  const once = engine.text(text);
  const lines = once.split('\n');
  const twice = engine.text(once).split('\n');
  return lines.flatMap((line, at) => (twice[at] === line ? [] : [`${lines[at - 1] ?? ''}⏎${line} → ${twice[at]}`]));
}

test('RED-12 a log of many records is the same the second time', (t) => {
  t.diagnostic(`seed ${SEED}`);
  const changed = Array.from({ length: LOGS }, () =>
    Array.from({ length: RECORDS }, () => unseenRecord(random).text).join('\n'),
  ).flatMap(changedLines);
  assert.equal(changed.length, 0, first(changed));
});

/** Keys in every writing, alone and behind every prefix that one line may have. */
const keys = Array.from({ length: ROUNDS }, () => privateKeyRecords(random))
  .flat()
  .flatMap(({ name, text, labels }) =>
    text.includes('\n')
      ? [{ name, text, labels }]
      : PREFIXES.map((prefix) => ({ name, text: prefix(random) + text, labels })),
  );

test('RED-01 no line of a private key can be read in any writing behind any prefix', (t) => {
  t.diagnostic(`seed ${SEED}: ${keys.length} keys`);
  const leaks = keys.flatMap(({ name, text, labels }) => {
    const seen = readings(engine.text(text));
    return labels.filter((label) => leakOf(label, seen, '') !== undefined).map(({ value }) => `${name}: ${value}`);
  });
  assert.equal(leaks.length, 0, first(leaks));
});

test('RED-12 a private key in any writing is the same the second time', () => {
  const changed = keys.flatMap(({ name, text }) => changedLines(text).map((line) => `${name}: ${line}`));
  assert.equal(changed.length, 0, first(changed));
});

/** Each changed on its second reading once: what was put into a line read as something else. */
const ONCE: Readonly<Record<string, string>> = {
  'a number in angle brackets is no element with a text below it':
    'Contact: <sip:+79161234567>\nUser-Agent: PBX 9.24\n',
  'an address cut to its network is no group of a number': 'to 203.0.113.7:8443 46.162.57.9:52166 by',
  'a mark behind the sign of a name is no token': 'TOKEN_TYPE=bearer PASSWD=lamplight CLIENT=x',
  'a key in the first line has its own beginning':
    'INFO {"private_key":"-----BEGIN EC PRIVATE KEY-----\\nQm4Zx7Tb2Wn8Lf5Rk1Yc6Hd3Jg9Pv0Sa2EuQm4Zx7Tb2Wn8Lf5Rk1Yc6Hd3Jg9\\nPv0Sa2Eu==\\n-----END EC PRIVATE KEY-----\\n","n":5}',
  'a row of marks is no line of names': 'login\tkalomi\nitem\tlamplight\nfrom,10.0.0.7,x\na,b,c',
};

for (const [name, text] of Object.entries(ONCE))
  test(`RED-12 ${name}`, () => {
    assert.deepEqual(changedLines(text), []);
  });

test('RED-01 a key as a list of lines in one line goes whole', () => {
  const line =
    "lines=['-----BEGIN EC PRIVATE KEY-----\\n', 'AlQUzEuJzPFhtBNowC==\\n', '-----END EC PRIVATE KEY-----\\n']";
  assert.equal(engine.text(line), "lines=['[REDACTED:private-key]\\n']");
});
