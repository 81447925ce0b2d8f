/** Times of entries as this browser shows and takes them: instants of the server, wall time of a zone for people. */
import { Temporal } from 'temporal-polyfill';

/** When an entry is, as every record of the calendar says it. */
export interface Span {
  readonly all_day: boolean;
  readonly start_at?: string | undefined;
  readonly end_at?: string | undefined;
  readonly tz?: string | undefined;
  readonly date?: string | undefined;
  readonly days?: number | undefined;
}

/** The zone of the device: the hours of its clock are those that its person lives by. */
export function ownZone(): string {
  return Temporal.Now.timeZoneId();
}

/** `YYYY-MM-DDTHH:mm` in the zone. */
export function wallOf(instant: string, zone: string): string {
  return Temporal.Instant.from(instant).toZonedDateTimeISO(zone).toPlainDateTime().toString().slice(0, 16);
}

/** The instant of a wall time, as the server takes it; of one that a change of clocks leaves out, the one behind it. */
export function instantOf(wall: string, zone: string): string {
  return Temporal.PlainDateTime.from(wall).toZonedDateTime(zone).toInstant().toString();
}

export function addDays(date: string, days: number): string {
  return Temporal.PlainDate.from(date).add({ days }).toString();
}

export function daysBetween(from: string, to: string): number {
  return Temporal.PlainDate.from(from.slice(0, 10)).until(to.slice(0, 10)).days;
}

export function addMinutes(wall: string, minutes: number): string {
  return Temporal.PlainDateTime.from(wall).add({ minutes }).toString().slice(0, 16);
}

export function minutesBetween(from: string, to: string): number {
  return Temporal.PlainDateTime.from(from).until(to, { largestUnit: 'minutes' }).minutes;
}

/** 1 is Monday, 7 is Sunday. */
export function weekdayOf(date: string): number {
  return Temporal.PlainDate.from(date.slice(0, 10)).dayOfWeek;
}

export function today(zone: string): string {
  return Temporal.Now.plainDateISO(zone).toString();
}

/** On which day weeks begin where the locale is at home: 0 is Sunday. */
export function firstDayOf(locale: string): number {
  const place = new Intl.Locale(locale) as Intl.Locale & { getWeekInfo?: () => { firstDay: number } };
  return (place.getWeekInfo?.().firstDay ?? 1) % 7;
}

/** A day of the calendar, in words. */
export function dayWords(
  date: string,
  locale: string,
  style: Intl.DateTimeFormatOptions['dateStyle'] = 'full',
): string {
  const format = new Intl.DateTimeFormat(locale, { dateStyle: style, timeZone: 'UTC' });
  return format.format(new Date(`${date.slice(0, 10)}T00:00:00Z`));
}

/** When something is, in words of the locale and the zone: `Monday, 23 November 2026, 09:00 – 10:00`. */
export function spanWords(span: Span, locale: string, zone: string): string {
  if (span.all_day && span.date !== undefined) {
    const days = new Intl.DateTimeFormat(locale, { dateStyle: 'full', timeZone: 'UTC' });
    const last = addDays(span.date, (span.days ?? 1) - 1);
    return days.formatRange(new Date(`${span.date}T00:00:00Z`), new Date(`${last}T00:00:00Z`));
  }
  if (span.start_at === undefined) return '';
  const [start, end] = [new Date(span.start_at), new Date(span.end_at ?? span.start_at)];
  const times = new Intl.DateTimeFormat(locale, { dateStyle: 'full', timeStyle: 'short', timeZone: zone });
  return times.formatRange(start, end);
}

/** Hours and minutes, as of a clock. */
export function clockWords(instant: string, locale: string, zone: string): string {
  return new Intl.DateTimeFormat(locale, { timeStyle: 'short', timeZone: zone }).format(new Date(instant));
}

/** All zones that the browser knows, with the one that is chosen. */
export function zonesWith(chosen: string): string[] {
  return [...new Set([...Intl.supportedValuesOf('timeZone'), 'UTC', chosen])].toSorted();
}
