/** The language of the app: the one that the person chose, or the first of the browser's that there is. */
import { createInstance, type TFunction } from 'i18next';
import { initReactI18next } from 'react-i18next';
import { LANGUAGES, translate, type Language } from '#src/client/translations.ts';
import type { CALENDAR_ENGLISH } from './calendar-english.ts';
import type { CALLS_ENGLISH } from '../calls/english.ts';
import { ENGLISH } from './english.ts';

const KEPT = 'parley.language';

/** A text that is not in the dictionary fails the type check. */
declare module 'i18next' {
  interface CustomTypeOptions {
    defaultNS: 'translation';
    resources: { translation: typeof ENGLISH & typeof CALLS_ENGLISH; calendar: typeof CALENDAR_ENGLISH };
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
  const kept = localStorage.getItem(KEPT);
  return isLanguage(kept) ? kept : undefined;
}

function languageOfBrowser(): Language {
  return navigator.languages.map((tag) => tag.split('-')[0]).find(isLanguage) ?? 'en';
}

export function currentLanguage(): Language {
  return isLanguage(dictionary.language) ? dictionary.language : 'en';
}

/** The tag that dates and numbers are written by: the browser’s own form of the language where it has one, as `en-GB`. */
export function currentLocale(): string {
  const language = currentLanguage();
  return navigator.languages.find((tag) => tag.split('-')[0] === language) ?? language;
}

/** The words of a part of the app that is loaded when somebody needs it, by language. */
export type WordPart = Readonly<Record<Language, () => Promise<Readonly<Record<string, string>>>>>;

const parts = new Set<WordPart>();

/** Has the words of a part, in English and in the language of now, and of any that is chosen later. @throws Error where they do not come. */
export async function addWords(part: WordPart): Promise<void> {
  await loadPart(part, 'en');
  parts.add(part);
  await loadPart(part, currentLanguage()).catch((error: unknown) => reportError(error));
}

async function loadPart(part: WordPart, language: Language): Promise<void> {
  dictionary.addResourceBundle(language, 'translation', await part[language](), true);
}

/** Whoever reads English loads no other words; English is always there, for what another language might lack. */
async function loadWords(language: Language): Promise<void> {
  if (isCalendarThere) await loadCalendarWordsIn(language);
  if (language === 'en' || dictionary.hasResourceBundle(language, 'translation')) return;
  const words = await import('./russian.ts').catch((error: unknown) => reportError(error));
  // Without them the app is there in English, and not an empty page.
  if (words !== undefined) dictionary.addResourceBundle(language, 'translation', words.RUSSIAN);
}

/** Whether the calendar was opened, so that its words are wanted in every language that is chosen. */
let isCalendarThere = false;

/** The words of the calendar: only who opens it waits for them. */
export async function loadCalendarWords(): Promise<void> {
  isCalendarThere = true;
  await loadCalendarWordsIn('en');
  await loadCalendarWordsIn(currentLanguage());
}

async function loadCalendarWordsIn(language: Language): Promise<void> {
  if (dictionary.hasResourceBundle(language, 'calendar')) return;
  if (language === 'en') {
    dictionary.addResourceBundle('en', 'calendar', (await import('./calendar-english.ts')).CALENDAR_ENGLISH);
    return;
  }
  const words = await import('./calendar-russian.ts').catch((error: unknown) => reportError(error));
  if (words !== undefined) dictionary.addResourceBundle(language, 'calendar', words.CALENDAR_RUSSIAN);
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
  await loadWords(language);
  for (const part of parts) await loadPart(part, language).catch((error: unknown) => reportError(error));
  await dictionary.changeLanguage(language);
}

/** Takes the language from now on; undefined for the browser's. */
export async function chooseLanguage(language: Language | undefined): Promise<void> {
  if (language === undefined) localStorage.removeItem(KEPT);
  else localStorage.setItem(KEPT, language);
  await take(language ?? languageOfBrowser());
}

/** The sentence for what a call failed with, whatever it was. */
export function sentenceOf(thrown: unknown): string {
  const isError = thrown instanceof Error;
  const code = isError && 'code' in thrown && typeof thrown.code === 'string' ? thrown.code : 'network_failed';
  return translate({ code, message: isError ? thrown.message : String(thrown) }, currentLanguage());
}
