/** Every code that a person can meet has a sentence in every language. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { CLIENT_ERRORS, clientError, ParleyError } from '#src/client/parley-error.ts';
import { LANGUAGES, translate, TRANSLATIONS } from '#src/client/translations.ts';
import { ERROR_CODES, ERRORS, RETIRED_CODES } from '#src/protocol/errors.ts';

const wanted = [...ERROR_CODES, ...Object.keys(CLIENT_ERRORS)].toSorted();

for (const language of LANGUAGES) {
  test(`ERR-03 every code has a sentence in ${language}, and no sentence is for a code that is none`, () => {
    assert.deepEqual(Object.keys(TRANSLATIONS[language]).toSorted(), wanted);
    const sentences = Object.values(TRANSLATIONS[language]);
    assert.deepEqual(
      sentences.filter((sentence) => !/^\p{Lu}.*\.$/u.test(sentence)),
      [],
    );
    assert.equal(new Set(sentences).size, sentences.length);
  });
}

test('ERR-03 English is the catalogue’s own wording, and Russian is Russian', () => {
  for (const code of ERROR_CODES) assert.equal(TRANSLATIONS.en[code], ERRORS[code].error);
  assert.deepEqual(
    Object.values(TRANSLATIONS.ru).filter((sentence) => !/[а-яё]/.test(sentence)),
    [],
  );
});

test('the client’s own codes take none of the catalogue’s names, retired ones included', () => {
  const taken = new Set<string>([...ERROR_CODES, ...RETIRED_CODES]);
  assert.deepEqual(
    Object.keys(CLIENT_ERRORS).filter((code) => taken.has(code)),
    [],
  );
});

test('a code that came later reads as the sentence that the server sent along', () => {
  const later = new ParleyError('poll_closed', 'The poll is closed.', { status: 409 });
  assert.equal(translate(later, 'ru'), 'The poll is closed.');
  const inherited = new ParleyError('constructor', 'Not a code.', { status: 400 });
  assert.equal(translate(inherited, 'ru'), 'Not a code.');
  assert.equal(translate(clientError('network_failed'), 'ru'), 'Не удалось связаться с сервером.');
});
