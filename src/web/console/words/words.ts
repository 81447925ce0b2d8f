/** What the console says, in the reader's language. */
import { ParleyError } from '#src/client/parley-error.ts';
import { translate } from '#src/client/translations.ts';
import { harmlessName } from '../../kit/harmless-text.ts';
import { currentLanguage, hasWord, wordOf, type WordPart } from '../../kit/language.ts';
import { CONSOLE_ENGLISH, type Key } from './english.ts';

export type { Key } from './english.ts';

const NAMESPACE = 'console';

export const CONSOLE_WORDS: WordPart = {
  namespace: NAMESPACE,
  en: async () => CONSOLE_ENGLISH,
  ru: async () => (await import('./russian.ts')).CONSOLE_RUSSIAN,
};

/** A text of the dictionary, with `{{name}}` replaced by a value. Whoever shows it is drawn anew when the language changes. */
export function t(key: Key, values: Readonly<Record<string, string | number>> = {}): string {
  const shown = Object.entries(values).map(([name, value]) => [
    name,
    typeof value === 'string' ? harmlessIn(value) : value,
  ]);
  return wordOf(NAMESPACE, key, Object.fromEntries(shown));
}

/** What people named, within a sentence of the console's own. */
function harmlessIn(text: string): string {
  return text === '' ? '' : harmlessName(text);
}

/** A word of the server, such as a state: translated where the dictionary has it under the prefix, as it is elsewhere. */
export function word(prefix: string, value: string): string {
  const key = `${prefix}.${value}`;
  return hasWord(NAMESPACE, key) ? wordOf(NAMESPACE, key, {}) : value;
}

/** A translation where there is one, the server's own sentence where not. */
export function wordOr(prefix: string, value: string, otherwise: string): string {
  const found = word(prefix, value);
  return found === value ? otherwise : found;
}

/** What went wrong, for a reader; with the name of the field that is to blame, where there is one. */
export function sentenceOf(thrown: unknown): string {
  const isError = thrown instanceof Error;
  const code = isError && 'code' in thrown && typeof thrown.code === 'string' ? thrown.code : 'unknown';
  const sentence = translate({ code, message: isError ? thrown.message : String(thrown) }, currentLanguage());
  const field = thrown instanceof ParleyError ? thrown.field : undefined;
  return field === undefined ? sentence : `${sentence} (${field})`;
}
