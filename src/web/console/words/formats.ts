/** Dates, numbers, sizes and periods as the reader writes them. */
import { currentLocale } from '../../kit/language.ts';

export function formatTime(millis: number): string {
  return new Intl.DateTimeFormat(currentLocale(), { dateStyle: 'medium', timeStyle: 'medium' }).format(millis);
}

export function formatNumber(value: number): string {
  return new Intl.NumberFormat(currentLocale(), { maximumFractionDigits: 2 }).format(value);
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
  return new Intl.NumberFormat(currentLocale(), { style: 'unit', unit, unitDisplay: 'long' }).format(seconds / size);
}

/** What a field for date and time holds, in the reader's zone, as an instant. */
export function instantOf(local: string | undefined): string | undefined {
  const millis = local === undefined ? Number.NaN : new Date(local).getTime();
  return Number.isNaN(millis) ? undefined : new Date(millis).toISOString();
}

/** An instant as a field for date and time holds it, in the reader's zone. */
export function localTime(millis: number): string {
  const date = new Date(millis);
  return new Date(millis - date.getTimezoneOffset() * 60_000).toISOString().slice(0, 16);
}

/** Names between blanks, commas or semicolons, each once. */
export function namesIn(text: string): string[] {
  return [...new Set(text.split(/[\s,;]+/).filter((name) => name !== ''))];
}

/** The text without blanks around it; undefined where nothing is left. */
export function given(text: string): string | undefined {
  const trimmed = text.trim();
  return trimmed === '' ? undefined : trimmed;
}
