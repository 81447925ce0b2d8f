/** What holds of de-personalisation whatever the log: twice is once, pieces are the whole, JSON stays JSON. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as fc from 'fast-check';
import { Redactor } from '#src/redaction/redactor.ts';
import { SeededRandom } from '#test/support/random.ts';
import { labelledLog } from './corpus/labelled-log.ts';
import { digest, KEY } from './corpus/labels.ts';
import { leakOf, readings } from './corpus/leak-oracle.ts';
import { inPieces, randomCuts } from './corpus/splitting.ts';

const SEED = Number(process.env['REDACTION_SEED'] ?? 20_261_120);
const SHOWN = 8;

const engine = new Redactor({ key: KEY });
const random = new SeededRandom(SEED);
const log = labelledLog(random.fork(), 1);

function first(finds: readonly string[]): string {
  return `seed ${SEED}, ${finds.length} finds\n${finds.slice(0, SHOWN).join('\n')}`;
}

/** Log-like texts: pieces of real records between whatever fast-check thinks of. */
const logText = fc
  .array(
    fc.oneof(
      fc.nat(log.length - 1).map((at) => log[at]?.text ?? ''),
      fc.string({ unit: 'grapheme', maxLength: 40 }),
      fc.constantFrom(
        '\n',
        '\r\n',
        ' ',
        '"',
        '\\',
        '{"a":"',
        '"}',
        '=',
        '%',
        ': ',
        '-----BEGIN PRIVATE KEY-----',
        '\u0000',
        '@',
        'user=',
      ),
    ),
    { maxLength: 12 },
  )
  .map((pieces) => pieces.join(''));

const property = { seed: SEED, numRuns: 250 };

test('de-personalising twice changes nothing more, record by record', () => {
  const changed: string[] = [];
  for (const { text, shape, embedding } of log) {
    const once = engine.text(text);
    const twice = engine.text(once);
    if (twice !== once) changed.push(`${shape} | ${embedding} | ${JSON.stringify(once)} → ${JSON.stringify(twice)}`);
  }
  assert.equal(changed.length, 0, first(changed));
});

test('de-personalising twice changes nothing more, whatever the text', () => {
  fc.assert(
    fc.property(logText, (text) => {
      const once = engine.text(text);
      assert.equal(engine.text(once), once);
    }),
    property,
  );
});

test('the line breaks stay, whatever the text', () => {
  fc.assert(
    fc.property(logText, (text) => {
      assert.equal(engine.text(text).split('\n').length, text.split('\n').length);
    }),
    property,
  );
});

/** One value of every class, escapes, a key over several lines, Cyrillic and a line without an end. */
const SAMPLE = [
  'Nov 20 10:00:01 mx1 sshd[7]: Failed password for invalid user alice.petrov from 203.0.113.77 port 4242 ssh2',
  '{"level":30,"req":{"headers":{"authorization":"Bearer 9fKq3ZtB7xLm2Vw8","cookie":"sid=Zk3mQ9vT1x; lang=ru"}},"phone":79161234567}',
  'ошибка входа login="иван" e-mail Boris.Okafor@example.org тел. +7 (916) 123-45-67 адрес 2001:db8:12:9a0f::77e1',
  '-----BEGIN RSA PRIVATE KEY-----',
  'MIIEpAIBAAKCAQEA0Z3VS5JJcds3xfnxzl2Qw8sT7mPq1uYbV4nK6rD9hE0fGjLa',
  'Xo2Wc5Rk8TzB1yNvM3qHs7JpU9iQe4FgA6dLxZtCbO0mYhKwVrSnEjP2u5lDf8Ga',
  '-----END RSA PRIVATE KEY-----',
  '"GET /v1/ws?token=Vb7Kq2Zt9xLm3Ww8Rf5Tn1Yc6Hd4Jg0P&device=d_1 HTTP/1.1" 101 0',
  'dsn postgres://app:s3cr3tPw%40x@db1/main AKIAZ7QK2M4N6P3R5T2V password="two words" svc_vst_k3v9_Qm4Zx7Tb2Wn8Lf5Rk1Yc6Hd3Jg9Pv0Sa2Eu',
  'Subject: =?UTF-8?B?0LfQsNGA0L/Qu9Cw0YLQsA==?=',
  ' =?UTF-8?B?0L7RgtC/0YPRgdC6?=',
  'type=USER_LOGIN msg=audit(1.2:3): acct=6976616E20706574726F76 addr=198.51.100.23',
  'proc ghp_R7kQ2mZ9tXb4Wn8Lf5Vk1Yc6Hd3Jg0Pv2Sa quoted=3Dalice=40example.org eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiJhbGljZSJ9.Qm4Zx7Tb2Wn8Lf5Rk1Yc',
  '\u001fpartial user=katya.moreau',
].join('\n');

test('a log cut in two at any byte comes out as the whole', () => {
  const sample = Buffer.from(SAMPLE);
  const whole = engine.bytes(sample).toString('latin1');
  assert.notEqual(whole, sample.toString('latin1'));
  const different: string[] = [];
  for (let cut = 0; cut <= sample.length; cut += 1) {
    const outcome = inPieces(engine.stream(), sample, [cut]);
    if (outcome !== whole)
      different.push(`cut at ${cut}: ${sample.subarray(Math.max(0, cut - 30), cut + 30).toString('utf8')}`);
  }
  assert.equal(different.length, 0, first(different));
});

test('a record of any shape cut in two at any byte comes out as the whole', () => {
  const different: string[] = [];
  const short = log.filter(({ text }) => text.length <= 320);
  for (let round = 0; round < 150; round += 1) {
    const { text, shape, embedding } = random.pick(short);
    const record = Buffer.from(`${text}\n`);
    const whole = engine.bytes(record).toString('latin1');
    for (let cut = 0; cut <= record.length; cut += 1) {
      const isWhole = inPieces(engine.stream(), record, [cut]) === whole;
      if (!isWhole) different.push(`${shape} | ${embedding} | cut at ${cut} | ${JSON.stringify(text)}`);
    }
  }
  assert.equal(different.length, 0, first(different));
});

test('any text in any pieces comes out as the whole', () => {
  fc.assert(
    fc.property(logText, fc.array(fc.nat(2000), { maxLength: 6 }), (text, places) => {
      const whole = Buffer.from(text);
      const cuts = places.map((place) => Math.min(place, whole.length)).toSorted((left, right) => left - right);
      assert.equal(inPieces(engine.stream(), whole, cuts), engine.bytes(whole).toString('latin1'));
    }),
    property,
  );
});

test('a log that arrives byte by byte comes out as the whole', () => {
  const sample = Buffer.from(SAMPLE);
  const cuts = Array.from({ length: sample.length }, (_, at) => at);
  assert.equal(inPieces(engine.stream(), sample, cuts), engine.bytes(sample).toString('latin1'));
});

test('a long log cut anywhere comes out as the whole, and the text as the bytes', () => {
  const long = Buffer.from(log.map(({ text }) => text).join('\n'));
  const whole = engine.bytes(long).toString('latin1');
  assert.equal(Buffer.from(engine.text(long.toString('utf8'))).toString('latin1'), whole);
  for (let round = 0; round < 3; round += 1) {
    const cuts = randomCuts(random, long.length, random.pick([3, 40, 900]));
    assert.ok(
      inPieces(engine.stream(), long, cuts) === whole,
      `seed ${SEED}, round ${round}: the pieces differ from the whole`,
    );
  }
});

test('a stream gives out what it has read, but for the last of it', () => {
  const stream = engine.stream();
  const lines = Buffer.from('Nov 20 10:00:01 mx1 app[7]: step done user=alice after three\n'.repeat(1000));
  const heldMost = 256 * 1024;
  let read = 0;
  let given = 0;
  for (let round = 0; round < 64; round += 1) {
    read += engine.bytes(lines).length;
    given += stream.push(lines).length;
    assert.ok(read - given <= heldMost, `${read - given} bytes are held back`);
  }
  assert.equal(given + stream.end().length, read);
});

test('a value across the border of a block is found wherever the border lies', () => {
  const token = 'ghp_R7kQ2mZ9tXb4Wn8Lf5Vk1Yc6Hd3Jg0Pv2Sa';
  for (const border of [4096, 16_384, 65_536, 131_072]) {
    for (let before = 0; before <= token.length; before += 3) {
      const filling = 'step done '.repeat(border / 10 + 1).slice(0, border - before - 1);
      const outcome = engine.text(`${filling} ${token} end\n`);
      assert.equal(
        leakOf({ class: 'api-key', kind: 'secret', value: token }, [outcome], filling),
        undefined,
        `${border} - ${before}`,
      );
      assert.ok(outcome.startsWith(filling.slice(0, -1)) && outcome.endsWith(' end\n'));
    }
  }
});

test('bytes that are no UTF-8 stay as they are around what is replaced', () => {
  const [before, after] = [Buffer.from([0xcf, 0xf0, 0xe8, 0x20]), Buffer.from([0x20, 0xff, 0xfe, 0x80, 0x0a])];
  const outcome = engine.bytes(Buffer.concat([before, Buffer.from('user=alice'), after]));
  assert.equal(
    outcome.toString('hex'),
    Buffer.concat([before, Buffer.from(`user=u-${digest('alice')}`), after]).toString('hex'),
  );
});

/** The objects, lists and counts of a JSON value without what it says. */
function skeleton(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(skeleton);
  if (value !== null && typeof value === 'object') return Object.values(value).map(skeleton);
  return 0;
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

test('a line of JSON stays JSON of the same form', () => {
  let lines = 0;
  const broken: string[] = [];
  for (const { text, embedding } of log) {
    const before = parsed(text);
    if (before === null || typeof before !== 'object') continue;
    lines += 1;
    const outcome = engine.text(text);
    const after = parsed(outcome);
    // A message as an array of bytes may come back as an array of another length, or as the text it held.
    const isSame =
      embedding === 'journal bytes' ||
      text.includes('"MESSAGE":[') ||
      JSON.stringify(skeleton(after)) === JSON.stringify(skeleton(before));
    if (after === undefined || !isSame) broken.push(`${text} → ${outcome}`);
  }
  assert.ok(lines > 1000);
  assert.equal(broken.length, 0, first(broken));
});

test('JSON of any kind stays JSON', () => {
  fc.assert(
    fc.property(fc.json({ maxDepth: 4 }), logText, (json, text) => {
      const line = JSON.stringify({ any: JSON.parse(json) as unknown, msg: text, user: text, to: [text] });
      assert.deepEqual(skeleton(JSON.parse(engine.text(line))), skeleton(JSON.parse(line)));
    }),
    property,
  );
});

test('a JSON value walked by its structure hides what its text hides', () => {
  const leaks: string[] = [];
  for (const { text, labels, context, embedding } of log) {
    const value = parsed(text);
    if (value === null || typeof value !== 'object') continue;
    const outcome = JSON.stringify(engine.value(value));
    const seen = readings(outcome);
    for (const label of labels) {
      const leak = leakOf(label, seen, context);
      if (leak !== undefined) leaks.push(`${label.class} | ${embedding} | ${leak} | ${text} → ${outcome}`);
    }
  }
  assert.equal(leaks.length, 0, first(leaks));
});

test('a JSON value keeps its numbers, truths and nothings', () => {
  const value = {
    level: 30,
    time: 1_790_000_000_000,
    ok: true,
    none: null,
    list: [1, 2.5, 'done'],
    deep: { count: 0 },
  };
  assert.deepEqual(engine.value(value), value);
});

test('a value that changes over and over, and lines that open what nothing closes, are no depth of calls', () => {
  for (const piece of [
    'password -> x -> ',
    'password: "a" -> ',
    '["user"]=>\n',
    '[["user", ',
    'body: "\n',
    'secret=[',
  ]) {
    const once = engine.text(piece.repeat(20_000));
    assert.equal(engine.text(once), once, piece);
  }
});
