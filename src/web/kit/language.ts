/** The language of the app: the one that the person chose, or the first of the browser's that there is. */
import i18next, { type TFunction } from 'i18next';
import { initReactI18next } from 'react-i18next';
import { LANGUAGES, translate, type Language } from '#src/client/translations.ts';
import { ENGLISH } from './english.ts';
import { RUSSIAN } from './russian.ts';

const KEPT = 'parley.language';

export type Words = TFunction;

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
  return isLanguage(i18next.language) ? i18next.language : 'en';
}

export async function startLanguage(): Promise<void> {
  const language = chosenLanguage() ?? languageOfBrowser();
  i18next.on('languageChanged', (now) => {
    document.documentElement.lang = now;
  });
  await i18next.use(initReactI18next).init({
    resources: { en: { translation: ENGLISH }, ru: { translation: RUSSIAN } },
    lng: language,
    fallbackLng: 'en',
    // Elements are made of values, never markup: nothing is to be escaped.
    interpolation: { escapeValue: false },
    keySeparator: false,
    nsSeparator: false,
  });
}

/** Takes the language from now on; undefined for the browser's. */
export async function chooseLanguage(language: Language | undefined): Promise<void> {
  if (language === undefined) localStorage.removeItem(KEPT);
  else localStorage.setItem(KEPT, language);
  await i18next.changeLanguage(language ?? languageOfBrowser());
}

/** The sentence for what a call failed with, whatever it was. */
export function sentenceOf(thrown: unknown): string {
  const isError = thrown instanceof Error;
  const code = isError && 'code' in thrown && typeof thrown.code === 'string' ? thrown.code : 'network_failed';
  return translate({ code, message: isError ? thrown.message : String(thrown) }, currentLanguage());
}
