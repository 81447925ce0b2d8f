/** What the console says, in the reader's language, and dates and numbers as the reader writes them. */
import { languageOf, translate, type Language } from '#src/client/translations.ts';
import { ENGLISH, type Dictionary, type Key } from './english.ts';
import { RUSSIAN } from './russian.ts';

export type { Key } from './english.ts';

export const DICTIONARIES: Readonly<Record<Language, Dictionary>> = { en: ENGLISH, ru: RUSSIAN };

/** Languages by their own names. */
export const LANGUAGE_NAMES: Readonly<Record<Language, string>> = { en: 'English', ru: 'Русский' };

let language: Language = 'en';

export function currentLanguage(): Language {
  return language;
}

export function setLanguage(chosen: Language): void {
  language = chosen;
}

/** The first of the wanted languages that the console speaks; English where it speaks none. */
export function languageFor(wanted: readonly (string | null)[]): Language {
  return wanted.map(languageOf).find((each) => each !== undefined) ?? 'en';
}

/** A text of the dictionary, with `{name}` replaced by a value. */
export function t(key: Key, values: Readonly<Record<string, string | number>> = {}): string {
  const text: string = DICTIONARIES[language][key];
  return text.replaceAll(/\{(\w+)\}/g, (whole, name: string) => String(values[name] ?? whole));
}

/** A word of the server, such as a state: translated where the dictionary has it under the prefix, as it is elsewhere. */
export function word(prefix: string, value: string): string {
  const entries: Readonly<Record<string, string>> = DICTIONARIES[language];
  const key = `${prefix}.${value}`;
  return Object.hasOwn(entries, key) ? (entries[key] as string) : value;
}

/** What went wrong, for a reader. */
export function sentenceOf(error: {
  readonly code?: string;
  readonly message: string;
  readonly field?: string | undefined;
}): string {
  const { code = 'unknown', field, message } = error;
  const sentence = translate({ code, message }, language);
  return field === undefined ? sentence : `${sentence} (${field})`;
}

/** An instant in the reader's zone and form, with its machine-readable form beside it. */
export function when(instant: string | null | undefined): Node | null {
  const time = instant === null || instant === undefined ? Number.NaN : Date.parse(instant);
  if (Number.isNaN(time)) return null;
  const shown = document.createElement('time');
  shown.dateTime = instant as string;
  shown.title = instant as string;
  shown.textContent = formatTime(time);
  return shown;
}

export function formatTime(millis: number): string {
  return new Intl.DateTimeFormat(localeTag(), { dateStyle: 'medium', timeStyle: 'medium' }).format(millis);
}

export function formatNumber(value: number): string {
  return new Intl.NumberFormat(localeTag(), { maximumFractionDigits: 2 }).format(value);
}

/** A size in binary units, such as 12 MiB. */
export function formatBytes(bytes: number): string {
  const units = ['B', 'KiB', 'MiB', 'GiB', 'TiB', 'PiB'];
  const power = bytes < 1 ? 0 : Math.min(Math.floor(Math.log2(bytes) / 10), units.length - 1);
  return `${formatNumber(bytes / 1024 ** power)} ${units[power] ?? ''}`;
}

/** A duration in milliseconds; a dash where it was not measured. */
export function formatSeconds(seconds: number | null): string {
  return seconds === null ? '—' : `${formatNumber(seconds * 1000)} ms`;
}

const PERIODS = [
  ['day', 86_400],
  ['hour', 3_600],
  ['minute', 60],
  ['second', 1],
] as const;

/** A time in the largest unit that holds it whole, such as 30 days. */
export function formatPeriod(seconds: number): string {
  const [unit, size] = PERIODS.find(([, each]) => seconds % each === 0) ?? PERIODS[3];
  return new Intl.NumberFormat(localeTag(), { style: 'unit', unit, unitDisplay: 'long' }).format(seconds / size);
}

/** The browser's own form of the language, such as en-GB, so that dates look as everywhere else on this device. */
function localeTag(): string {
  const wanted = typeof navigator === 'undefined' ? [] : navigator.languages;
  return wanted.find((tag) => tag.toLowerCase().split('-')[0] === language) ?? language;
}
