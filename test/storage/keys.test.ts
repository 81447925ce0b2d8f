/** Keys: the order of the bytes is the order of the things, and what is put in comes out. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as fc from 'fast-check';
import {
  key,
  lastPart,
  numberAt,
  numbered,
  numberedThen,
  numberOf,
  numberValue,
  under,
  underNumber,
} from '#storage/engine/keys.ts';

/** Text as keys hold it: printable ASCII, so no NUL. */
const text = fc.string({
  unit: fc.integer({ min: 0x20, max: 0x7e }).map((code) => String.fromCharCode(code)),
  maxLength: 12,
});
const number = fc.oneof(fc.integer({ min: 0, max: 300 }), fc.integer({ min: 0, max: 2 ** 48 - 1 }));

const sign = (order: number) => Math.sign(order);
const compareTexts = (a: string, b: string) => (a < b ? -1 : Number(a > b));

test('the bytes of numbered keys are ordered as their texts, then their numbers', () => {
  fc.assert(
    fc.property(text, number, text, number, (textA, numberA, textB, numberB) => {
      const order = compareTexts(textA, textB) || numberA - numberB;
      assert.equal(sign(Buffer.compare(numbered(numberA, textA), numbered(numberB, textB))), sign(order));
    }),
  );
});

test('a range holds the keys of its own parts and no others', () => {
  fc.assert(
    fc.property(text, text, number, (mine, other, last) => {
      const { start, end } = under(mine);
      const isInside = (itemKey: Buffer) => Buffer.compare(itemKey, start) >= 0 && Buffer.compare(itemKey, end) < 0;
      assert.equal(isInside(numbered(last, mine)), true);
      assert.equal(isInside(numbered(last, other)), mine === other);
      assert.equal(isInside(key(mine, other)), true);
      assert.equal(isInside(key(mine)), false);
    }),
  );
});

test('the range of a number holds what stands behind that number and no other', () => {
  fc.assert(
    fc.property(text, fc.integer({ min: 0, max: 2 ** 48 - 2 }), number, (name, mine, other) => {
      const { start, end } = underNumber(mine, name);
      const itemKey = numberedThen(other, name, '👍🏽', 'alice');
      assert.equal(Buffer.compare(itemKey, start) >= 0 && Buffer.compare(itemKey, end) < 0, mine === other);
    }),
  );
});

test('numbers and texts come out as they went in', () => {
  fc.assert(
    fc.property(text, text, number, number, (first, last, one, two) => {
      assert.equal(numberOf(numbered(one, first)), one);
      assert.equal(lastPart(key(first, last)), last);
      assert.equal(lastPart(numberedThen(one, first, '🎉', last)), last);
      assert.deepEqual([numberAt(numberValue(one, two)), numberAt(numberValue(one, two), 1)], [one, two]);
    }),
  );
});

test('the largest number that fits is 2^48 - 1, and one more is refused', () => {
  assert.equal(numberOf(numbered(2 ** 48 - 1, 'c')), 281_474_976_710_655);
  assert.throws(() => numbered(2 ** 48, 'c'), { code: 'ERR_OUT_OF_RANGE' });
});
