/** The engine beside independent readers of the same values: ipaddr.js for addresses, libphonenumber-js for phones. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import ipaddr from 'ipaddr.js';
import { parsePhoneNumberFromString } from 'libphonenumber-js/max';
import { Redactor } from '#src/redaction/redactor.ts';
import { SeededRandom } from '#test/support/random.ts';
import { digest, KEY } from './corpus/labels.ts';

const SEED = Number(process.env['REDACTION_SEED'] ?? 20_261_120);
const random = new SeededRandom(SEED);
const engine = new Redactor({ key: KEY });

/** An address of eight groups, many of them zero, so that every shortening is met. */
function groups(): number[] {
  const lead = random.pick([0x2001, 0x2a02, 0xfd00, 0xfe80, 0x2606]);
  return [lead, ...Array.from({ length: 7 }, () => (random.chance(0.45) ? 0 : random.whole(1, 0xffff)))];
}

test('RED-06 an IPv6 address is cut to its /48 as ipaddr.js reads it', () => {
  for (let round = 0; round < 2000; round += 1) {
    const parts = groups();
    const address = new ipaddr.IPv6(parts);
    const network = new ipaddr.IPv6([...parts.slice(0, 3), 0, 0, 0, 0, 0]).toRFC5952String();
    const writings = [
      address.toRFC5952String(),
      parts.map((part) => part.toString(16).padStart(4, '0')).join(':'),
      address.toNormalizedString(),
      address.toString().toUpperCase(),
    ];
    for (const written of writings) {
      assert.equal(engine.text(`peer ${written} is up`), `peer ${network} is up`, `seed ${SEED}: ${written}`);
    }
  }
});

test('RED-06 an IPv4 address keeps its /24 as ipaddr.js reads it, and what is none for it stays', () => {
  for (let round = 0; round < 2000; round += 1) {
    const octets = Array.from({ length: 4 }, () => random.whole(0, random.pick([255, 255, 300])));
    const written = octets.join('.');
    // 127.0.0.1 and 0.0.0.0 stay by the rule; nothing else that ipaddr.js accepts does.
    const stays = !ipaddr.IPv4.isValidFourPartDecimal(written) || written === '127.0.0.1' || written === '0.0.0.0';
    const expected = stays ? written : `${octets.slice(0, 3).join('.')}.x`;
    assert.equal(engine.text(`peer ${written} is up`), `peer ${expected} is up`, `seed ${SEED}`);
  }
});

/**
 * Where the two part, and why: an address inside an address keeps its IPv4 network, because that is what a reader of a
 * log needs; a 6to4 address holds the whole IPv4 address in its first 48 bits, so that cutting to the /48 hides nothing.
 */
const INSIDE: readonly (readonly [string, string])[] = [
  ['::ffff:203.0.113.77', '::ffff:203.0.113.x'],
  ['::ffff:cb00:714d', '::ffff:203.0.113.x'],
  ['64:ff9b::203.0.113.77', '64:ff9b::'],
];

for (const [written, expected] of INSIDE) {
  test(`RED-06 ${written} becomes ${expected}`, () => {
    assert.equal(engine.text(`peer ${written} is up`), `peer ${expected} is up`);
  });
}

test('RED-06 an address of 6to4 does not show the last octet of the IPv4 address in it', () => {
  assert.doesNotMatch(engine.text('peer 2002:cb00:714d::1 is up'), /714d/u);
});

const COUNTRIES = [
  ['+7', '9', 9],
  ['+1', '212', 7],
  ['+49', '30', 8],
  ['+44', '20', 8],
  ['+380', '50', 7],
  ['+375', '29', 7],
  ['+998', '90', 7],
] as const;

test('RED-05 a phone has the digits that libphonenumber-js reads', () => {
  let read = 0;
  for (let round = 0; round < 1500; round += 1) {
    const [code, area, rest] = random.pick(COUNTRIES);
    const digits = Array.from({ length: rest }, () => String(random.whole(2, 9))).join('');
    const national = `${area}${digits}`;
    const written = random.pick([
      `${code}${national}`,
      `${code} ${national.slice(0, 3)} ${national.slice(3, 6)} ${national.slice(6)}`,
      `${code}-${national.slice(0, 3)}-${national.slice(3, 6)}-${national.slice(6)}`,
      `${code} (${national.slice(0, 3)}) ${national.slice(3)}`,
    ]);
    const parsed = parsePhoneNumberFromString(written);
    if (parsed === undefined) continue;
    read += 1;
    const expected = `tel-${digest(parsed.number.slice(1))}`;
    assert.equal(engine.text(`call ${written} ended`), `call ${expected} ended`, `seed ${SEED}: ${written}`);
  }
  assert.ok(read > 1000);
});

/**
 * A leading 8 of eleven digits is Russian to the engine; libphonenumber-js needs to be told the country. It also reads
 * numbers without any mark, which a log is full of: those are no phones here.
 */
test('RED-05 the Russian 8 is read as libphonenumber-js reads it in Russia', () => {
  for (let round = 0; round < 500; round += 1) {
    const digits = `9${Array.from({ length: 9 }, () => String(random.whole(0, 9))).join('')}`;
    const [a, b, c, d] = [digits.slice(0, 3), digits.slice(3, 6), digits.slice(6, 8), digits.slice(8)];
    const written = random.pick([
      `8 (${a}) ${b}-${c}-${d}`,
      `8(${a})${b}${c}${d}`,
      `8-${a}-${b}-${c}-${d}`,
      `8${digits}`,
    ]);
    const parsed = parsePhoneNumberFromString(written, 'RU');
    assert.ok(parsed !== undefined);
    assert.equal(
      engine.text(`call ${written} ended`),
      `call tel-${digest(parsed.number.slice(1))} ended`,
      `seed ${SEED}: ${written}`,
    );
  }
});

for (const line of [
  'sum 2125550123 of 9161234567',
  'at 1790000000 and 1790000000123',
  'blk_8916123456789012 moved',
  'id 12345678901234567890',
]) {
  test(`RED-05 digits without a mark are no phone: ${line}`, () => {
    assert.equal(engine.text(line), line);
  });
}
