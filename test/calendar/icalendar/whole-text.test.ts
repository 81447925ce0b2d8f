/** What tells whether a word can be in an object before it is read: it may be wrong in one way alone. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ObjectText, Screen, screenOf, TextPage } from '#src/calendar/icalendar/whole-text.ts';
import { fold } from '#storage/search/search-folding.ts';
import { freshSeed, SeededRandom } from '#test/support/random.ts';

const textOf = (...lines: string[]) =>
  new ObjectText(Buffer.from(['BEGIN:VEVENT', 'UID:one', ...lines, 'END:VEVENT', ''].join('\r\n')));
const has = (word: string, text: ObjectText) =>
  screenOf(fold(word), (whole) => fold(whole).includes(fold(word))).has(text);

test('a word of plain bytes is found in any case, and another is not', () => {
  const text = textOf('SUMMARY:About the (last) matters*');
  for (const word of ['about', 'MATTERS', '(last)', 'matters*', 'the (last) m'])
    assert.equal(has(word, text), true, word);
  for (const word of ['abouts', 'matter.', '[last]', 'm.tters', 'кухня', 'mattersſ']) {
    assert.equal(has(word, text), false, word);
  }
});

test('a word across a fold, an escape, a circumflex or in another script is found as it is read', () => {
  assert.equal(has('quincunx', textOf('SUMMARY:quin\r\n cunx')), true);
  assert.equal(has('quincunx', textOf('SUMMARY:quin\n\tcunx')), true);
  assert.equal(has('quincunx', textOf('SUMMARY:quin\r cunx')), true);
  const escaped = textOf(String.raw`SUMMARY:one\, two\; three\\four\nfive`);
  for (const word of ['one, two; three', String.raw`three\four`, 'five']) assert.equal(has(word, escaped), true, word);
  assert.equal(screenOf('four\nfive', (whole) => whole.includes('four\nfive')).has(escaped), true);
  assert.equal(has(String.raw`one\, two`, escaped), false);
  assert.equal(has('кухня', textOf('LOCATION:Кухня, второй этаж')), true);
  assert.equal(has('creme', textOf('SUMMARY:Crème brûlée')), true);
  assert.equal(has('strasse', textOf('LOCATION:Lange Straße')), true);
  const accent = Buffer.from('SUMMARY:Cr\u00e8me\r\n');
  const inCharacter = Buffer.concat([accent.subarray(0, 11), Buffer.from('\r\n '), accent.subarray(11)]);
  assert.equal(has('creme', new ObjectText(inCharacter)), true);
  assert.equal(textOf("ATTENDEE;CN=^'Al^':mailto:al@example.org").plain, undefined);
  assert.equal(textOf('SUMMARY:plain').plain === undefined, false);
});

test('a page of objects has a word exactly where each of them has it', () => {
  const seed = freshSeed();
  const random = new SeededRandom(seed);
  const parts = [
    'quin',
    'cunx',
    'QUINCUNX',
    '\r\n ',
    '\n\t',
    '\r ',
    'Crème',
    'ß',
    '^n',
    String.raw`\n`,
    String.raw`\,`,
    'last',
    ' ',
    '*',
    '',
    '0',
  ];
  const words = ['quincunx', 'creme', 'strasse', 'last', 'n*', 'one, two', 'кухня', 'u', ' x', 'begin', 'end:vevent'];
  const page = new TextPage();
  for (let round = 0; round < 300; round += 1) {
    page.clear();
    const objects = Array.from({ length: random.whole(0, 12) }, () =>
      Buffer.from(
        `BEGIN:VEVENT\r\nSUMMARY:${Array.from({ length: random.whole(0, 9) }, () => random.pick(parts)).join('')}\r\nEND:VEVENT`,
      ),
    );
    // What is handed over is the next object a moment later.
    const lent = Buffer.alloc(4096);
    for (const bytes of objects) page.add(lent.subarray(0, bytes.copy(lent)));
    lent.fill(0);
    const screens = Array.from({ length: random.whole(1, 3) }, () => {
      const word = fold(random.pick(words));
      return screenOf(word, (whole) => whole.includes('^') || fold(whole).includes(word));
    });
    const which = random.pick(['all', 'any'] as const);
    const expected = objects.flatMap((bytes, at) => {
      const isIn = (screen: Screen) => screen.has(new ObjectText(bytes));
      return (which === 'all' ? screens.every(isIn) : screens.some(isIn)) ? [at] : [];
    });
    assert.deepEqual(page.having(Screen[which](screens)), expected, `seed ${seed}, round ${round}`);
  }
});
