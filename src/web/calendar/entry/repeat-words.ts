/** How often something comes again, in words. */
import type { CalendarWords } from '../../kit/language.ts';
import { dayWords, wallOf } from '../time.ts';
import type { Entry } from './entry-form.ts';
import { frequencyOf, nthOf, repeatOf, WEEKDAYS, type Repeat, type RepeatKind } from './repeat.ts';

/** What a kind is called for something that begins then. */
export function kindWords(kind: RepeatKind, start: string, locale: string, t: CalendarWords): string {
  if (kind === 'monthly') return t('repeat.monthly', { day: Number(start.slice(8, 10)) });
  if (kind !== 'monthly_weekday') return t(`repeat.${kind}`);
  const day = new Intl.DateTimeFormat(locale, { weekday: 'long', timeZone: 'UTC' });
  const nth = nthOf(start) as 1 | 2 | 3 | 4 | -1;
  return t(`repeat.nth.${nth}`, { day: day.format(new Date(`${start.slice(0, 10)}T00:00:00Z`)) });
}

/** The name of a day of the week: of `mo`, `Mon`. */
export function weekdayWords(at: number, locale: string, weekday: 'long' | 'short'): string {
  // The first of January of 2024 was a Monday.
  return new Intl.DateTimeFormat(locale, { weekday, timeZone: 'UTC' }).format(new Date(Date.UTC(2024, 0, 1 + at)));
}

export function repeatWords(series: Entry, ownZone: string, locale: string, t: CalendarWords): string {
  const zone = series.tz ?? ownZone;
  const start = series.date ?? (series.start_at === undefined ? '2024-01-01' : wallOf(series.start_at, zone));
  const repeat = repeatOf(series.rule, true, start);
  return [stepWords(repeat, start, locale, t), ...partsOf(repeat, locale, t)].join(', ');
}

/** `Every week`, or `Every 2 weeks`. */
function stepWords({ interval, kind }: Repeat, start: string, locale: string, t: CalendarWords): string {
  const words = kindWords(kind, start, locale, t);
  if (interval === 1 || kind === 'never' || kind === 'other') return words;
  const step = t(`repeat.step.${frequencyOf(kind)}`, { count: interval });
  return kind === 'monthly' || kind === 'monthly_weekday' ? `${words} (${step})` : step;
}

function partsOf({ count, days, end, kind, until }: Repeat, locale: string, t: CalendarWords): string[] {
  const names = days.map((day) => weekdayWords(WEEKDAYS.indexOf(day), locale, 'long'));
  return [
    ...(kind === 'weekly' ? [new Intl.ListFormat(locale).format(names)] : []),
    ...(end === 'until' ? [t('repeat.words.until', { day: dayWords(until, locale, 'medium') })] : []),
    ...(end === 'count' ? [t('repeat.words.count', { count })] : []),
  ];
}
