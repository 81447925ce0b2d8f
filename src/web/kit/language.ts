/** The language of the app: the one that the person chose, or the first of the browser's that there is. */
import { createInstance, type TFunction } from 'i18next';
import { initReactI18next } from 'react-i18next';
import { LANGUAGES, translate, type Language } from '#src/client/translations.ts';
import type { CALENDAR_ENGLISH } from '../calendar/english.ts';
import type { CALLS_ENGLISH } from '../calls/english.ts';
import type { MEETINGS_ENGLISH } from '../meetings/english.ts';
import { ENGLISH } from './english.ts';

export const LANGUAGE_KEY = 'parley.language';

/** A text that is not in the dictionary fails the type check. */
declare module 'i18next' {
  interface CustomTypeOptions {
    defaultNS: 'translation';
    resources: {
      translation: typeof ENGLISH & typeof CALLS_ENGLISH & typeof MEETINGS_ENGLISH;
      calendar: typeof CALENDAR_ENGLISH;
    };
    keySeparator: false;
    nsSeparator: false;
  }
}

export type Words = TFunction;
/** Those of the calendar, which come with it. */
export type CalendarWords = TFunction<'calendar'>;

const dictionary = createInstance();

function isLanguage(text: unknown): text is Language {
  return (LANGUAGES as readonly unknown[]).includes(text);
}

/** What the person chose on this device; undefined where they did not. */
export function chosenLanguage(): Language | undefined {
  const kept = localStorage.getItem(LANGUAGE_KEY);
  return isLanguage(kept) ? kept : undefined;
}

function languageOfBrowser(): Language {
  return navigator.languages.map((tag) => tag.split('-')[0]).find(isLanguage) ?? 'en';
}

export function currentLanguage(): Language {
  return isLanguage(dictionary.language) ? dictionary.language : 'en';
}

/** The tag of now, kept because every time of day asks for it. The browser has one list of languages until it has another. */
let locale: { readonly language: string; readonly languages: readonly string[]; readonly tag: string } | undefined;

/** The tag that dates and numbers are written by: the browser’s own form of the language where it has one, as `en-GB`. */
export function currentLocale(): string {
  const language = currentLanguage();
  const { languages } = navigator;
  if (locale?.language !== language || locale.languages !== languages) {
    const tag = languages.find((one) => one.split('-')[0] === language) ?? language;
    locale = { language, languages, tag };
  }
  return locale.tag;
}

/** The words of a part of the app, by language, and where they are looked up. */
export type WordPart = Readonly<Record<Language, () => Promise<Readonly<Record<string, string>>>>> & {
  readonly namespace: 'translation' | 'calendar' | 'console';
};

/** What every screen has: English is in the first script, for what another language might lack. */
const FIRST_WORDS: WordPart = {
  namespace: 'translation',
  en: async () => ENGLISH,
  ru: async () => (await import('./russian.ts')).RUSSIAN,
};

/** The parts that were needed so far, each with the languages that are there. */
const parts = new Map<WordPart, Set<Language>>([[FIRST_WORDS, new Set(['en'])]]);

/**
 * Has the words of a part that is loaded when somebody needs it, in English and in the language of now, and of any that is chosen
 * later. @throws Error where the English ones do not come; without the others the part is there in English.
 */
export async function addWords(part: WordPart): Promise<void> {
  await loadPart(part, 'en');
  await loadPart(part, currentLanguage()).catch((error: unknown) => reportError(error));
}

async function loadPart(part: WordPart, language: Language): Promise<void> {
  if (parts.get(part)?.has(language) === true) return;
  dictionary.addResourceBundle(language, part.namespace, await part[language](), true);
  parts.set(part, (parts.get(part) ?? new Set()).add(language));
}

/** A text of a part for those that are no component; whoever shows it draws itself anew when the language changes. */
export function wordOf(
  namespace: WordPart['namespace'],
  key: string,
  values: Readonly<Record<string, string | number>>,
): string {
  return dictionary.getFixedT(null, namespace as 'calendar')(key as never, values);
}

/** Whether there is such a text, in the language of now or in English. */
export function hasWord(namespace: WordPart['namespace'], key: string): boolean {
  return dictionary.exists(key, { ns: namespace as 'calendar' });
}

export async function startLanguage(): Promise<void> {
  const language = chosenLanguage() ?? languageOfBrowser();
  dictionary.on('languageChanged', (now) => {
    document.documentElement.lang = now;
  });
  await dictionary.use(initReactI18next).init({
    resources: { en: { translation: ENGLISH } },
    lng: 'en',
    fallbackLng: 'en',
    // Elements are made of values, never markup: nothing is to be escaped.
    interpolation: { escapeValue: false },
    keySeparator: false,
    nsSeparator: false,
  });
  await take(language);
}

async function take(language: Language): Promise<void> {
  for (const part of parts.keys()) await loadPart(part, language).catch((error: unknown) => reportError(error));
  await dictionary.changeLanguage(language);
}

/** Takes the language from now on; undefined for the browser's. */
export async function chooseLanguage(language: Language | undefined): Promise<void> {
  if (language === undefined) localStorage.removeItem(LANGUAGE_KEY);
  else localStorage.setItem(LANGUAGE_KEY, language);
  await take(language ?? languageOfBrowser());
}

/** The sentence for what a call failed with, whatever it was. */
export function sentenceOf(thrown: unknown): string {
  const isError = thrown instanceof Error;
  const code = isError && 'code' in thrown && typeof thrown.code === 'string' ? thrown.code : 'network_failed';
  return translate({ code, message: isError ? thrown.message : String(thrown) }, currentLanguage());
}
