/** Pages of JSON put together from bytes: the same text as one made of strings, however long it grows. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as fc from 'fast-check';
import { JsonPage } from '#storage/conversations/json-page.ts';

const item = fc.oneof(
  fc.string({ unit: 'grapheme', maxLength: 40 }),
  // Longer than what a page has at first, two of them.
  fc.constantFrom('ж'.repeat(200_000), 'a'.repeat(300_000)),
  fc.nat({ max: Number.MAX_SAFE_INTEGER }),
  fc.constantFrom(0, 9, 10, 99, 100, 999_999_999_999_999, 10 ** 15, Number.MAX_SAFE_INTEGER),
);

test('a page is the text of its parts, and each item is found again, through growth and reuse', () => {
  fc.assert(
    fc.property(fc.array(item, { maxLength: 12 }), fc.boolean(), (parts, isCleared) => {
      const page = new JsonPage();
      if (isCleared) {
        page.text('what was begun and given up');
        page.beginItem();
        page.clear();
      }
      page.text('[');
      for (const part of parts) {
        page.beginItem();
        if (typeof part === 'number') page.number(part);
        else {
          const bytes = Buffer.from(`..${JSON.stringify(part)}`);
          page.copy(bytes, 2, bytes.length);
        }
        page.endItem();
      }
      page.text(']');
      const texts = parts.map((part) => JSON.stringify(part));
      assert.equal(page.bytes.toString('utf8'), `[${texts.join(',')}]`);
      assert.deepEqual(page.items(), texts);
      page.release();
    }),
    { numRuns: 200 },
  );
});

test('pages that are put together at once do not share memory', () => {
  const pages = Array.from({ length: 5 }, () => new JsonPage());
  for (const round of [0, 1]) {
    for (const [at, page] of pages.entries()) page.text(`${round}${at}`.repeat(10));
  }
  const texts = pages.map((page) => page.bytes.toString('utf8'));
  assert.deepEqual(
    texts,
    pages.map((_, at) => `0${at}`.repeat(10) + `1${at}`.repeat(10)),
  );
  for (const page of pages) page.release();
  assert.equal(new JsonPage().bytes.length, 0);
});
