/** The words of the app in both languages, and what becomes of hostile ones, without a browser. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { CALLS_ENGLISH } from '#src/web/calls/english.ts';
import { CALLS_RUSSIAN } from '#src/web/calls/russian.ts';
import { mentionBefore, mentionsIn } from '#src/web/chat/composer/mention-words.ts';
import { CALENDAR_ENGLISH } from '#src/web/calendar/english.ts';
import { CALENDAR_RUSSIAN } from '#src/web/calendar/russian.ts';
import { MEETINGS_ENGLISH } from '#src/web/meetings/english.ts';
import { MEETINGS_RUSSIAN } from '#src/web/meetings/russian.ts';
import { ENGLISH } from '#src/web/kit/english.ts';
import { harmlessName, harmlessText } from '#src/web/kit/harmless-text.ts';
import { RUSSIAN } from '#src/web/kit/russian.ts';
import { NOTICES_ENGLISH, NOTICES_RUSSIAN } from '#src/web/worker/words.ts';

const FORM = /_(?:zero|one|two|few|many|other)$/;

/** The texts that a language lacks, or has in too few forms, or with other places to fill than the first one. */
function faultsOf(
  words: Readonly<Record<string, string>>,
  language: string,
  english: Readonly<Record<string, string>> = ENGLISH,
): string[] {
  const forms = new Intl.PluralRules(language).resolvedOptions().pluralCategories;
  const bases = new Map<string, string>(Object.entries(english).map(([key, text]) => [key.replace(FORM, ''), text]));
  const isCounted = (base: string) => Object.hasOwn(english, `${base}_other`);
  const wanted = [...bases.keys()].flatMap((base) =>
    isCounted(base) ? forms.map((form) => `${base}_${form}`) : [base],
  );
  const placesOf = (text: string) => new Set([...text.matchAll(/\{\{(\w+)\}\}/g)].map(([, name]) => name));
  return [
    ...wanted.filter((key) => (words[key] ?? '') === '').map((key) => `${key} is missing`),
    ...Object.keys(words)
      .filter((key) => !wanted.includes(key))
      .map((key) => `${key} is not used`),
    ...Object.entries(words).flatMap(([key, text]) => {
      const first = bases.get(key.replace(FORM, '')) ?? '';
      return placesOf(first).symmetricDifference(placesOf(text)).size === 0 ? [] : [`${key} has other places to fill`];
    }),
  ];
}

test('no text is missing in a language, nor a form of one by its number', () => {
  assert.deepEqual(faultsOf(ENGLISH, 'en'), []);
  assert.deepEqual(faultsOf(RUSSIAN, 'ru'), []);
  assert.deepEqual(faultsOf(CALENDAR_ENGLISH, 'en', CALENDAR_ENGLISH), []);
  assert.deepEqual(faultsOf(CALENDAR_RUSSIAN, 'ru', CALENDAR_ENGLISH), []);
  assert.deepEqual(faultsOf(CALLS_RUSSIAN, 'ru', CALLS_ENGLISH), []);
  assert.deepEqual(faultsOf(MEETINGS_ENGLISH, 'en', MEETINGS_ENGLISH), []);
  assert.deepEqual(faultsOf(MEETINGS_RUSSIAN, 'ru', MEETINGS_ENGLISH), []);
  assert.deepEqual(faultsOf(NOTICES_RUSSIAN, 'ru', NOTICES_ENGLISH), []);
  // All are looked up in one place: a text of a part would take the place of another one of that key.
  assert.deepEqual(
    Object.keys({ ...CALLS_ENGLISH, ...MEETINGS_ENGLISH }).filter((key) => Object.hasOwn(ENGLISH, key)),
    [],
  );
});

test('a missing text, form or place is found', () => {
  const { 'app.close': _closed, 'list.unread_few': _few, ...rest } = RUSSIAN;
  const found = faultsOf({ ...rest, 'list.draft': 'Черновик', 'list.other': 'лишний' }, 'ru');
  assert.deepEqual(found.toSorted(), [
    'app.close is missing',
    'list.draft has other places to fill',
    'list.other is not used',
    'list.unread_few is missing',
  ]);
});

test('a name is shown without what turns it round, hides, or piles up', () => {
  assert.equal(harmlessName('annual\u202efdp.exe'), 'annualfdp.exe');
  assert.equal(harmlessName('\u200b\u2060\u00ad\ufeff\u3164', 'somebody'), 'somebody');
  assert.equal(harmlessName(`z${'\u0301'.repeat(1_000)}`), `z${'\u0301'.repeat(4)}`);
  assert.equal(harmlessName('  a\n\u0000b  '), 'ab');
  assert.equal(harmlessName('a\u034f\u{e0001}\u{e0041}\u{e007f}b'), 'ab');
  const england = '🏴\u{e0067}\u{e0062}\u{e0065}\u{e006e}\u{e0067}\u{e007f}';
  assert.equal(harmlessName(england), england);
  // Four marks are within what writing needs, and stay.
  assert.equal(harmlessName(`a${'\u0323'.repeat(4)}`), `a${'\u0323'.repeat(4)}`);
});

test('a text keeps its lines and what joins letters, and loses what reorders it', () => {
  assert.equal(harmlessText('one\ntwo \u202ethree\u202c 👩\u200d💻'), 'one\ntwo three 👩\u200d💻');
  assert.equal(harmlessText(`x${'\u0301'.repeat(5)}y`), `x${'\u0301'.repeat(4)}y`);
});

test('who takes part is mentioned, and nobody else is', () => {
  const isThere = (user: string) => ['bob', 'a.b'].includes(user);
  assert.deepEqual(mentionsIn('Hi @bob, @BOB. @a.b. mail@bob @bobby @all', isThere, false), [
    { username: 'bob', offset: 3, length: 4 },
    { username: 'bob', offset: 9, length: 4 },
    { username: 'a.b', offset: 15, length: 4 },
  ]);
  assert.deepEqual(mentionsIn('@all', isThere, true), [{ all: true, offset: 0, length: 4 }]);
});

test('a mention is completed while it is written, and not within a word', () => {
  assert.deepEqual(mentionBefore('Look, @bo', 9), { query: 'bo', from: 6 });
  assert.deepEqual(mentionBefore('@', 1), { query: '', from: 0 });
  assert.equal(mentionBefore('mail@bo', 7), undefined);
  assert.equal(mentionBefore('@bo and', 7), undefined);
});
