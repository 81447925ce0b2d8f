/** Texts longer than a line may be, cut keys, and texts of two bytes a character: nothing of them comes out raw. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Redactor } from '#src/redaction/redactor.ts';
import { LINE_BYTES_MAX } from '#src/redaction/stream.ts';
import { freshSeed, SeededRandom } from '#test/support/random.ts';
import { BASE64, drawMixed } from './corpus/alphabets.ts';
import { KEY } from './corpus/labels.ts';
import { inPieces, randomCuts } from './corpus/splitting.ts';
import { unseenRecord } from './corpus/unseen-log.ts';

const SEED = Number(process.env['REDACTION_SEED'] ?? freshSeed());
const engine = new Redactor({ key: KEY });
const random = new SeededRandom(SEED);

/** Words up to so many bytes. */
function filling(bytes: number): string {
  return 'heron gull '.repeat(Math.ceil(bytes / 11)).slice(0, bytes);
}

test('a log in pieces comes out as the whole, and so does one with a line across the longest one held', () => {
  const records = Array.from({ length: 1500 }, () => unseenRecord(random).text);
  const long = `${filling(LINE_BYTES_MAX - 40)} password="hunter2can and more of it" user=alicecan`;
  const log = Buffer.from([...records, long, ...records.slice(0, 100)].join('\n'));
  const whole = engine.bytes(log).toString('latin1');
  for (const count of [1, 7, 200]) {
    const cuts = [...randomCuts(random, log.length, count)];
    assert.ok(inPieces(engine.stream(), log, cuts) === whole, `seed ${SEED}: ${count} cuts`);
  }
});

test('RED-01 a value across the place where a longer line is cut is hidden on both sides', () => {
  for (let before = 0; before <= 60; before += 1) {
    const line = `${filling(LINE_BYTES_MAX - before)} password="hunter2can rest of it" done`;
    const outcome = engine.text(line);
    assert.doesNotMatch(outcome, /hunter2|2can|rest of/, `${before} bytes before`);
    assert.ok(outcome.endsWith(' done'));
  }
});

test('RED-01 a secret without spaces that is longer than a line may be is hidden to its end', () => {
  const secret = drawMixed(random, BASE64, 2000).repeat(700).replaceAll('/', 'x').replaceAll('+', 'y');
  const outcome = engine.text(`token=${secret} done`);
  assert.ok(secret.length > LINE_BYTES_MAX);
  assert.match(outcome, /^token=(?:\[REDACTED:[a-z]+\])+ done$/);
});

test('RED-01 a text that begins inside of a key hides its tail, however long the text is', () => {
  for (const bytes of [1000, LINE_BYTES_MAX + 5000]) {
    const tail = `${drawMixed(random, BASE64, 64)}\nQm4Zx7Tb2Wn8Lf5Rk1Yc6A==\n-----END PRIVATE KEY-----\n`;
    const outcome = engine.text(tail + 'ordinary line\n'.repeat(Math.ceil(bytes / 14)));
    assert.doesNotMatch(outcome, /Qm4Zx7|END PRIVATE/, `${bytes} bytes, seed ${SEED}`);
    assert.ok(outcome.endsWith('ordinary line\n'));
  }
});

/** What programs put around each line of a key. */
const AROUND: Readonly<Record<string, (line: string, at: number) => string>> = {
  'JSON of a container': (line) => JSON.stringify({ log: `${line}\n`, stream: 'stdout', time: '2026-11-22T10:00:00Z' }),
  'numbers of lines': (line, at) => `${at + 1}:${line}`,
  'numbers of lines and a file': (line, at) => `key.pem:${at + 1}:${line}`,
  'strings of Python': (line) => `    '${line}\\n'`,
  'a cell of psql': (line) => ` ${line.padEnd(64)} +`,
  'the prefix of a journal': (line) => `Nov 22 10:00:00 host app[7]: ${line}`,
};

for (const [name, write] of Object.entries(AROUND))
  test(`RED-01 every line of a key is hidden behind ${name}, the last short one too`, () => {
    const body = [drawMixed(random, BASE64, 64), drawMixed(random, BASE64, 64), 'Qm4Zx7Tb2Wn8Lf5Rk1Yc6A=='];
    const key = ['-----BEGIN PRIVATE KEY-----', ...body, '-----END PRIVATE KEY-----'];
    const outcome = engine.text([...key.map(write), 'ready: step done'].join('\n'));
    for (const line of body) assert.ok(!outcome.includes(line.slice(2, 10)), `seed ${SEED}: ${outcome}`);
    assert.ok(outcome.endsWith('\nready: step done'));
  });

test('words behind the beginning of a key that never ends stay', () => {
  const after = ['host app: ready', 'host app: done', '{"a":"Pass"}', 'host app: Test'];
  const text = ['host app: -----BEGIN PRIVATE KEY-----', ...after].join('\n');
  assert.equal(engine.text(text), ['host app: [REDACTED:private-key]', ...after].join('\n'));
});

test('RED-03 RED-06 a text of two bytes a character comes out as one, of either order and however it is cut', () => {
  const text = 'user=alicecan from 203.0.113.77\nпользователь=елена done\n';
  const clean = engine.text(text);
  for (const mark of ['\ufeff', '']) {
    const little = Buffer.from(mark + text.repeat(4), 'utf16le');
    const outcome = Buffer.from(inPieces(engine.stream(), little, randomCuts(random, little.length, 9)), 'latin1');
    assert.equal(outcome.toString('utf16le'), mark + clean.repeat(4), `seed ${SEED}`);
    const big = Buffer.from(little).swap16();
    assert.equal(engine.bytes(big).swap16().toString('utf16le'), mark + clean.repeat(4));
  }
});

test('a value that is too deep, or holds itself, is hidden as a whole and does not throw', () => {
  let deep: unknown = 'alicecan';
  for (let depth = 0; depth < 70; depth += 1) deep = [deep];
  assert.doesNotMatch(JSON.stringify(engine.value({ user: deep })), /alicecan/);
  let deeper: unknown = 'alicecan';
  for (let depth = 0; depth < 20_000; depth += 1) deeper = { a: deeper };
  assert.equal(engine.value(deeper), '[REDACTED:text]');
  const own: Record<string, unknown> = {};
  own['own'] = own;
  assert.equal(engine.value(own), '[REDACTED:text]');
  assert.equal(engine.value(undefined), undefined);
});
