/** What is the same to a search and what is not, how a query is read, and that no signature ever lacks what its text has. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as fc from 'fast-check';
import { fold, foldWithPlaces } from '#storage/search/search-folding.ts';
import { addText, hasPlaces, SIGNATURE_BYTES } from '#storage/search/search-grams.ts';
import { highlight, matches, readTerms } from '#storage/search/search-query.ts';

for (const [written, folded] of [
  ['Hello WORLD', 'hello world'],
  ['Café École', 'cafe ecole'],
  ['Cafe\u0301', 'cafe'],
  ['Ёлка ещё', 'елка еще'],
  ['е\u0308лка', 'елка'],
  ['за\u0301мок', 'замок'],
  ['Мой мои', 'мой мои'],
  ['їжак і', 'їжак і'],
  ['Straße Ærø Łódź', 'strasse aero lodz'],
  ['ΣΊΣΥΦΟΣ', 'σισυφοσ'],
  ['İstanbul', 'istanbul'],
  ['ﬁn Ⅷ ½', 'fin viii 1⁄2'],
  ['ＡＢＣ１２３', 'abc123'],
  ['ｶﾞが', 'ガが'],
  ['\u1112\u1161\u11ab\u1100\u116e\u11a8', '한국'],
  ['a\u00a0b\tc\nd\u3000e', 'a b c d e'],
] as const) {
  test(`${JSON.stringify(written)} is compared as ${JSON.stringify(folded)}`, () => {
    assert.equal(fold(written), folded);
  });
}

test('й and и, が and か stay two', () => {
  assert.notEqual(fold('мой'), fold('мои'));
  assert.notEqual(fold('が'), fold('か'));
});

test('words and phrases of a query are terms, and only a pair of quotation marks means anything', () => {
  const termsOf = (query: string) => {
    const read = readTerms(query);
    return typeof read === 'string' ? read : read.terms;
  };
  assert.deepEqual(termsOf('Plan for  TODAY plan'), ['plan', 'for', 'today']);
  assert.deepEqual(termsOf('"see  you" at "Noon"'), ['see you', 'at', 'noon']);
  assert.deepEqual(termsOf('5" screen'), ['5"', 'screen']);
  assert.deepEqual(termsOf('.* (a+)+$ [^x]'), ['.*', '(a+)+$', '[^x]']);
  assert.deepEqual(termsOf('\\d{3} %'), ['\\d{3}', '%']);
});

test('two characters are enough for a search, and one that is CJK; fewer are not', () => {
  for (const query of ['a', ' b ', '"a b"', '""', '" "', 'é', '.', 'ё'])
    assert.equal(readTerms(query), 'too_short', query);
  for (const query of ['ab', '中', 'の', '한', '42', '👍', 'plan b'])
    assert.equal(typeof readTerms(query), 'object', query);
});

test('64 terms are taken, 65 are not', () => {
  const words = (count: number) => Array.from({ length: count }, (_, at) => `w${at}`).join(' ');
  assert.equal(typeof readTerms(words(64)), 'object');
  assert.equal(readTerms(words(65)), 'too_many');
  assert.equal(typeof readTerms('aa '.repeat(65)), 'object');
});

test('what was found is marked where it stands in the text as written', () => {
  assert.deepEqual(highlight('Foo ﬁnal foofoo', ['foo', 'fi'], 32), [
    [0, 3],
    [4, 5],
    [9, 12],
    [12, 15],
  ]);
  assert.deepEqual(highlight('abcabc', ['abc', 'bca'], 32), [[0, 6]]);
  assert.deepEqual(highlight('Ещё е\u0308лка', ['елка'], 32), [[4, 9]]);
  assert.deepEqual(highlight('x'.repeat(100), ['xx'], 3).length, 3);
});

const ALPHABETS = ['abAB é', 'абёйЁ ', '中文語の カ', 'aб中 \u0301', 'ab👍 \n', '한국\u1112\u1161 a'].map((letters) =>
  Array.from(letters),
);
const texts = fc
  .constantFrom(...ALPHABETS)
  .chain((letters) => fc.string({ unit: fc.constantFrom(...letters), minLength: 1, maxLength: 24 }));

// Half of the queries are cut from what was said: one made up by itself has an answer in only some three of a hundred runs.
const conversations = fc
  .tuple(
    fc.array(texts, { minLength: 1, maxLength: 6 }),
    texts,
    fc.boolean(),
    fc.nat(),
    fc.nat(),
    fc.integer({ min: 2, max: 8 }),
  )
  .map(([said, madeUp, isCut, which, from, length]) => {
    const text = said[which % said.length]!;
    const start = from % text.length;
    return { said, asked: isCut ? text.slice(start, start + length) : madeUp };
  });

test('folding what is folded changes nothing, and every unit has a place in the text it came from', () => {
  fc.assert(
    fc.property(fc.oneof(texts, fc.string({ unit: 'binary' })), (text) => {
      const { folded, starts, ends } = foldWithPlaces(text);
      assert.equal(folded, fold(text));
      assert.deepEqual([starts.length, ends.length], [folded.length, folded.length]);
      assert.ok(ends.every((end, at) => end > starts[at]! && end <= text.length));
    }),
    { numRuns: 500 },
  );
});

test('more signs than are remembered fold as they did the first time', () => {
  const signs = Array.from({ length: 2 * 16_384 }, (_, at) => `${String.fromCodePoint(0x3400 + at)}\u0332`);
  const first = signs.map(fold);
  assert.deepEqual(signs.map(fold), first);
  assert.deepEqual([fold('É\u0332'), fold('€'), fold('Ⅷ')], ['e', '€', 'viii']);
});

test('the signature of texts of several alphabets has the places of every query that one of them answers', () => {
  let hits = 0;
  fc.assert(
    fc.property(conversations, fc.boolean(), ({ said, asked }, isPhrase) => {
      const read = readTerms(isPhrase ? `"${asked}"` : asked);
      if (typeof read === 'string') return;
      const signature = new Uint8Array(SIGNATURE_BYTES);
      for (const text of said) addText(signature, fold(text));
      if (!said.some((text) => matches(fold(text), read.terms))) return;
      hits += 1;
      assert.ok(hasPlaces(signature, read.places));
    }),
    { numRuns: 3_000 },
  );
  assert.ok(hits > 300, `${hits} queries had an answer`);
});
