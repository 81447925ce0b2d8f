/** The value types of RFC 5545, 3.3 that say when: dates, times, durations, offsets; read, checked and written. */
import { civilOf, dayNumber, daysInMonth, DAY_SECONDS, mod } from '../recurrence/civil.ts';
import { CalendarFault } from './calendar-fault.ts';
import { parameterOf, type Property } from './component.ts';

/** The years that times may lie in: 1601 is where writers of Windows begin, and four digits end in 9999. */
export const MIN_YEAR = 1601;
export const MAX_YEAR = 9999;
/** `min-date-time` and `max-date-time` of CalDAV, as iCalendar writes them. */
export const MIN_DATE_TIME = '16010101T000000Z';
export const MAX_DATE_TIME = '99991231T235959Z';

/** A DATE or DATE-TIME as written. */
export interface CalendarTime {
  /** Seconds of wall time since 1970-01-01T00:00:00 in its own zone; a date is its midnight. */
  readonly wall: number;
  readonly isDate: boolean;
  readonly isUtc: boolean;
  /** Undefined for dates, UTC and floating times. */
  readonly tzid: string | undefined;
}

/** A DURATION: its days count on the wall's clock and its seconds exactly (RFC 5545, 3.3.6). Both have its sign. */
export interface CalendarDuration {
  readonly days: number;
  readonly seconds: number;
}

const DURATION = /^([+-]?)P(?:(\d{1,6})W)?(?:(\d{1,7})D)?(?:T(?:(\d{1,8})H)?(?:(\d{1,9})M)?(?:(\d{1,10})S)?)?$/i;
const OFFSET = /^([+-])(\d{2}):?(\d{2}):?(\d{2})?$/;

/** Wall seconds of a written DATE or DATE-TIME; undefined when it is none, or no such date exists. */
export function readTime(text: string, tzid?: string): CalendarTime | undefined {
  const { length } = text;
  const isDate = length === 8;
  if (!isDate && length !== 15 && length !== 16) return undefined;
  // Read digit by digit: an object may have tens of thousands of times, and every query reads them.
  const [y, m, d] = [digits(text, 0, 4), digits(text, 4, 2), digits(text, 6, 2)];
  if (y < 0 || m < 1 || m > 12 || d < 1 || d > daysInMonth(y, m)) return undefined;
  const days = dayNumber(y, m, d);
  if (isDate) return { wall: days * DAY_SECONDS, isDate: true, isUtc: false, tzid: undefined };
  const [h, min, s] = [digits(text, 9, 2), digits(text, 11, 2), digits(text, 13, 2)];
  const isUtc = length === 16;
  if ((text.charCodeAt(8) | 32) !== 116 || (isUtc && (text.charCodeAt(15) | 32) !== 122)) return undefined;
  if (h < 0 || h > 23 || min < 0 || min > 59 || s < 0 || s > 60) return undefined;
  // A leap second is read as the second before it, as every clock shows it.
  const wall = days * DAY_SECONDS + h * 3600 + min * 60 + Math.min(s, 59);
  return { wall, isDate: false, isUtc, tzid: isUtc ? undefined : tzid };
}

/** The number that so many digits write; negative when one of them is none. */
function digits(text: string, at: number, count: number): number {
  let number = 0;
  for (let index = at; index < at + count; index += 1) {
    const digit = text.charCodeAt(index) - 48;
    if (digit < 0 || digit > 9) return -1;
    number = number * 10 + digit;
  }
  return number;
}

/** The DATE or DATE-TIME of a property; throws CalendarFault where it is none or lies outside the years kept. */
export function timeOf(property: Property): CalendarTime {
  return timesOf(property)[0] ?? fail(property, 'is not a date or a time');
}

/** Each comma-joined DATE or DATE-TIME of a property (EXDATE, RDATE); throws CalendarFault. Periods give their start. */
export function timesOf(property: Property): CalendarTime[] {
  const tzid = parameterOf(property, 'TZID');
  const isDate = parameterOf(property, 'VALUE')?.toUpperCase() === 'DATE';
  // Some writers leave an empty EXDATE where they took the last one out.
  const parts = property.value.split(',').filter((part) => part.trim() !== '');
  return parts.map((part) => {
    const text = part.trim();
    const slash = text.indexOf('/');
    const time = readTime(slash === -1 ? text : text.slice(0, slash), tzid);
    if (time === undefined) return fail(property, 'is not a date or a time');
    const { year } = civilOf(Math.floor(time.wall / DAY_SECONDS));
    if (year < MIN_YEAR)
      throw new CalendarFault('min-date-time', `${property.name} is before ${MIN_YEAR}`, property.line);
    return isDate && !time.isDate ? dateOf(time) : time;
  });
}

/** The day of a time as it is written. */
export function dateOf(time: CalendarTime): CalendarTime {
  return { wall: Math.floor(time.wall / DAY_SECONDS) * DAY_SECONDS, isDate: true, isUtc: false, tzid: undefined };
}

/** A DURATION; undefined when it is none. */
export function readDuration(text: string): CalendarDuration | undefined {
  const match = DURATION.exec(text.trim());
  if (match === null || !/\d/.test(text) || /T$/i.test(text.trim())) return undefined;
  const [, sign, weeks = '0', days = '0', hours = '0', minutes = '0', seconds = '0'] = match;
  const by = sign === '-' ? -1 : 1;
  const total = Number(hours) * 3600 + Number(minutes) * 60 + Number(seconds);
  // `+ 0` turns a negative zero into a zero.
  return { days: by * (Number(weeks) * 7 + Number(days)) + 0, seconds: by * total + 0 };
}

/** A duration as it is written: `P1D`, `-PT15M`, `P1DT2H`. */
export function writeDuration({ days, seconds }: CalendarDuration): string {
  const sign = days < 0 || seconds < 0 ? '-' : '';
  const [d, s] = [Math.abs(days), Math.abs(seconds)];
  const [hours, minutes, rest] = [Math.floor(s / 3600), Math.floor(s / 60) % 60, s % 60];
  const time = `${hours === 0 ? '' : `${hours}H`}${minutes === 0 ? '' : `${minutes}M`}${rest === 0 ? '' : `${rest}S`}`;
  if (time !== '') return `${sign}P${d === 0 ? '' : `${d}D`}T${time}`;
  return d === 0 ? 'PT0S' : `${sign}P${d}D`;
}

/** A UTC offset in seconds; seconds within it are read, as zones of before 1900 have them. */
export function readOffset(text: string): number | undefined {
  const match = OFFSET.exec(text.trim());
  if (match === null) return undefined;
  const [, sign, hours, minutes, seconds = '0'] = match;
  const total = Number(hours) * 3600 + Number(minutes) * 60 + Number(seconds);
  return total >= DAY_SECONDS ? undefined : (sign === '-' ? -total : total) + 0;
}

/** Wall seconds as a DATE: `20261121`. */
export function writeDate(wall: number): string {
  const { year, month, day } = civilOf(Math.floor(wall / DAY_SECONDS));
  return `${pad(year, 4)}${pad(month)}${pad(day)}`;
}

/** Wall seconds as a DATE-TIME: `20261121T090000`. */
export function writeDateTime(wall: number): string {
  const second = mod(wall, DAY_SECONDS);
  return `${writeDate(wall)}T${pad(Math.floor(second / 3600))}${pad(Math.floor(second / 60) % 60)}${pad(second % 60)}`;
}

/** An instant in milliseconds as a DATE-TIME in UTC: `20261121T080000Z`. */
export function writeInstant(millis: number): string {
  return `${writeDateTime(Math.floor(millis / 1000))}Z`;
}

/** A time as it is written, without its TZID, which is a parameter. */
export function writeTime(time: Pick<CalendarTime, 'wall' | 'isDate' | 'isUtc'>): string {
  if (time.isDate) return writeDate(time.wall);
  return time.isUtc ? `${writeDateTime(time.wall)}Z` : writeDateTime(time.wall);
}

/** Wall seconds as JSON has them: `2026-11-21T09:00:00`, or `2026-11-21` for a date. */
export function writeLocal(wall: number, isDate: boolean): string {
  const text = writeDateTime(wall);
  const date = `${text.slice(0, 4)}-${text.slice(4, 6)}-${text.slice(6, 8)}`;
  return isDate ? date : `${date}T${text.slice(9, 11)}:${text.slice(11, 13)}:${text.slice(13, 15)}`;
}

/** Wall seconds of `2026-11-21T09:00:00` or `2026-11-21`; undefined when it is neither or no such date exists. */
export function readLocal(text: string): { readonly wall: number; readonly isDate: boolean } | undefined {
  if (!/^\d{4}-\d{2}-\d{2}(?:T\d{2}:\d{2}:\d{2})?$/.test(text)) return undefined;
  const time = readTime(text.replace(/[-:]/g, ''));
  return time === undefined ? undefined : { wall: time.wall, isDate: time.isDate };
}

function pad(value: number, width = 2): string {
  return String(value).padStart(width, '0');
}

function fail(property: Property, what: string): never {
  throw new CalendarFault('valid-calendar-data', `${property.name} ${what}`, property.line);
}
