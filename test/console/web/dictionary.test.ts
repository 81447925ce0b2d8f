/** The console speaks every language whole: its own texts, the server's words, and the sentences of error codes. */
import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { test } from 'node:test';
import { z } from 'zod';
import { LANGUAGES, TRANSLATIONS } from '#src/client/translations.ts';
import { PERSON_CONSOLE_ROLES } from '#src/identity/console/permissions.ts';
import { CONSOLE_COMMON_ERRORS, consoleRoutes } from '#src/console/route-table.ts';
import { BOUND_BY } from '#src/identity/single-sign-on/sso-bindings.ts';
import { CONSOLE_ENGLISH } from '#src/web/console/words/english.ts';
import { CONSOLE_RUSSIAN } from '#src/web/console/words/russian.ts';
import { CONSOLE_WORDS, sentenceOf, t, word } from '#src/web/console/words/words.ts';
import { addWords, chooseLanguage, chosenLanguage, currentLanguage, startLanguage } from '#src/web/kit/language.ts';
import { ParleyError } from '#src/client/parley-error.ts';
import { ALERT_KINDS } from '#src/monitoring/alerts.ts';
import { SETTING_SCREEN_NAMES } from '#src/settings/setting-screens.ts';
import { enroll } from '#src/protocol/directory/guests.ts';
import { NODE_ROLES } from '#src/protocol/hosts/nodes.ts';
import { POLICY_ACTIONS, POLICY_CROWDS, POLICY_EFFECTS } from '#src/protocol/directory/policy-decision.ts';
import { HOST_ROLES } from '#storage/cluster/host-roles.ts';
import { skeletonOf } from '#test/tidy/source.ts';

const DICTIONARIES = { en: CONSOLE_ENGLISH, ru: CONSOLE_RUSSIAN };
const KEYS = Object.keys(CONSOLE_ENGLISH);

for (const language of LANGUAGES) {
  test(`every text is there in ${language}, with the same places for values`, () => {
    const dictionary: Readonly<Record<string, string>> = DICTIONARIES[language];
    assert.deepEqual(Object.keys(dictionary).toSorted(), KEYS.toSorted());
    const places = (text: string) => (text.match(/\{\{\w+\}\}/g) ?? []).toSorted();
    for (const key of KEYS) {
      assert.notEqual(dictionary[key]?.trim(), '', key);
      assert.deepEqual(
        places(dictionary[key] ?? ''),
        places((CONSOLE_ENGLISH as Record<string, string>)[key] ?? ''),
        key,
      );
    }
  });

  test(`ERR-03 every code that a route of the console promises has a sentence in ${language}`, () => {
    const promised = [...CONSOLE_COMMON_ERRORS, ...consoleRoutes().flatMap(({ route }) => route.errors)];
    assert.ok(promised.length > 50);
    const sentences: Readonly<Record<string, string>> = TRANSLATIONS[language];
    assert.deepEqual(
      promised.filter((code) => !Object.hasOwn(sentences, code)),
      [],
    );
  });
}

test('Russian is Russian, but for names that are the same everywhere', () => {
  const same = Object.entries(CONSOLE_RUSSIAN).filter(
    ([, text]) => !/[а-яё]/i.test(text) && /\p{L}/u.test(text.replaceAll(/\{\{\w+\}\}/g, '')),
  );
  assert.deepEqual(same, []);
});

test('every word that the server says by itself is translated', () => {
  const kinds = enroll.options.map(({ shape }) => shape.kind.value);
  const words: Readonly<Record<string, readonly string[]>> = {
    binding: BOUND_BY,
    role: [...PERSON_CONSOLE_ROLES, 'vendor_support'],
    kind: kinds,
    alert: Object.keys(ALERT_KINDS),
    'node-role': NODE_ROLES,
    'host-role': HOST_ROLES,
    crowd: POLICY_CROWDS,
    policy: POLICY_ACTIONS,
    effect: POLICY_EFFECTS,
    settings: SETTING_SCREEN_NAMES,
  };
  for (const [prefix, values] of Object.entries(words)) {
    for (const value of values) assert.ok(KEYS.includes(`${prefix}.${value}`), `${prefix}.${value}`);
  }
});

/** The values that a field of that name may have, anywhere in a JSON schema. */
function valuesOf(schema: unknown, name: string): string[] {
  if (typeof schema !== 'object' || schema === null) return [];
  const { properties } = schema as { properties?: Readonly<Record<string, { enum?: string[] }>> };
  const own = properties?.[name]?.enum ?? [];
  return [...own, ...Object.values(schema).flatMap((part) => valuesOf(part, name))];
}

test('every state that the API answers has a word', () => {
  const shapes = consoleRoutes().flatMap(({ route }) => Object.values(route.replies).filter((shape) => shape !== null));
  const states = new Set(
    shapes.flatMap((shape) => valuesOf(z.toJSONSchema(shape, { unrepresentable: 'any' }), 'state')),
  );
  assert.ok(states.size > 15);
  const isSaid = (state: string) =>
    ['state', 'encryption', 'run'].some((prefix) => KEYS.includes(`${prefix}.${state}`));
  assert.deepEqual(
    [...states].filter((state) => !isSaid(state)),
    [],
  );
});

/** Keys that are put together of a prefix and a word of the server. */
const PREFIXES =
  /^(?:alert|audit\.trails|binding|bookers|conversation|count|crowd|effect|encryption|group|host-role|kind|member|node-role|period|policy|resource|role|run|section|settings|state|switch)\.|^(?:audit\.(?:event|actor|subject|prefix|from|to)|vendor\.years-\d)$/;

test('every text of the dictionary is said somewhere', () => {
  const web = new URL('../../../src/web/console/', import.meta.url);
  const paths = readdirSync(web, { recursive: true, encoding: 'utf8' }).filter((path) => /\.tsx?$/.test(path));
  const spoken = paths.filter((path) => !/^words\/(?:english|russian)/.test(path));
  const said = new Set(spoken.flatMap((path) => skeletonOf(readFileSync(new URL(path, web), 'utf8')).strings));
  assert.deepEqual(
    KEYS.filter((key) => !said.has(key) && !PREFIXES.test(key)),
    [],
  );
});

/** What of a browser the choice of a language needs: what it wants, and what was chosen in it. */
function inBrowser(languages: readonly string[]): void {
  const kept = new Map<string, string>();
  const storage = {
    getItem: (key: string) => kept.get(key) ?? null,
    setItem: (key: string, value: string) => void kept.set(key, value),
    removeItem: (key: string) => void kept.delete(key),
  };
  for (const [name, value] of Object.entries({
    navigator: { languages },
    localStorage: storage,
    document: { documentElement: { lang: 'en' } },
  })) {
    Object.defineProperty(globalThis, name, { value, configurable: true });
  }
}

test('texts take values, words fall back to the server’s, and errors name their field', async () => {
  inBrowser(['en']);
  await startLanguage();
  await addWords(CONSOLE_WORDS);
  assert.equal(t('people.role-asked', { user: 'ann', role: 'owner' }), 'Give ann this role in the console: owner?');
  assert.equal(
    t('people.role-asked', { user: '\u202eann\u200b', role: '<b>owner</b>' }),
    'Give ann this role in the console: <b>owner</b>?',
    'what turns the writing round is not in a sentence, and nothing is escaped twice',
  );
  assert.equal(word('state', 'active'), 'active');
  assert.equal(word('state', 'hibernating'), 'hibernating');
  assert.equal(word('state', '__proto__'), '__proto__');
  await chooseLanguage('ru');
  assert.equal(document.documentElement.lang, 'ru');
  assert.equal(word('state', 'active'), 'активен');
  const refusal = (code: string, message: string, field?: string) => new ParleyError(code, message, { field });
  assert.equal(sentenceOf(refusal('group_full', 'Full.')), TRANSLATIONS.ru.group_full);
  assert.equal(sentenceOf(refusal('of_tomorrow', 'A later code.', 'name')), 'A later code. (name)');
});

test('the language is the first that is wanted and spoken, and what was chosen before any', async () => {
  for (const [languages, spoken] of [
    [['de-AT', 'ru-RU', 'en'], 'ru'],
    [['en-GB', 'ru'], 'en'],
    [['fr'], 'en'],
    [[], 'en'],
  ] as const) {
    inBrowser(languages);
    await chooseLanguage(undefined);
    assert.equal(currentLanguage(), spoken, languages.join());
  }
  inBrowser(['en']);
  await chooseLanguage('ru');
  assert.deepEqual([chosenLanguage(), currentLanguage()], ['ru', 'ru']);
  localStorage.setItem('parley.language', '__proto__');
  assert.equal(chosenLanguage(), undefined);
});
