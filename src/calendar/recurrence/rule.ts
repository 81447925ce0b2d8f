/** A recurrence rule (RFC 5545, 3.3.10) as data: read from its text, checked, and written. */
import { type CalendarTime, readTime, writeTime } from '../icalendar/values.ts';

export const FREQUENCIES = ['SECONDLY', 'MINUTELY', 'HOURLY', 'DAILY', 'WEEKLY', 'MONTHLY', 'YEARLY'] as const;
export type Frequency = (typeof FREQUENCIES)[number];

export const WEEKDAYS = ['MO', 'TU', 'WE', 'TH', 'FR', 'SA', 'SU'] as const;

/** One item of BYDAY. */
export interface RuleDay {
  /** 0 for Monday to 6 for Sunday. */
  readonly weekday: number;
  /** The n-th of its month or year, negative from the end; 0 for every one. */
  readonly ordinal: number;
}

/** A rule. Lists are sorted, without doubles, and empty where the rule has no such part. */
export interface Rule {
  readonly frequency: Frequency;
  readonly interval: number;
  readonly count: number | undefined;
  readonly until: CalendarTime | undefined;
  readonly byMonth: readonly number[];
  readonly byWeekNumber: readonly number[];
  readonly byYearDay: readonly number[];
  readonly byMonthDay: readonly number[];
  readonly byDay: readonly RuleDay[];
  readonly byHour: readonly number[];
  readonly byMinute: readonly number[];
  readonly bySecond: readonly number[];
  readonly bySetPosition: readonly number[];
  /** 0 for Monday to 6 for Sunday. */
  readonly weekStart: number;
}

/** A rule's interval and count: ten digits are more than the seconds of the years that calendars have. */
const WHOLE = /^\d{1,10}$/;
const BY_DAY = /^([+-]?\d{1,2})?(MO|TU|WE|TH|FR|SA|SU)$/i;

/** The bounds of each list of numbers; a minus in front of `most` allows counting from the end. */
const LISTS = {
  BYMONTH: [1, 12, false],
  BYWEEKNO: [1, 53, true],
  BYYEARDAY: [1, 366, true],
  BYMONTHDAY: [1, 31, true],
  BYHOUR: [0, 23, false],
  BYMINUTE: [0, 59, false],
  BYSECOND: [0, 60, false],
  BYSETPOS: [1, 366, true],
} as const;

/** The rule that a value of RRULE or EXRULE writes, or a sentence that says what is wrong with it. */
export function readRule(value: string): Rule | string {
  const parts = new Map<string, string>();
  for (const part of value.split(';')) {
    // Writers end rules with a semicolon, or double one.
    if (part.trim() === '') continue;
    const equals = part.indexOf('=');
    const name = part.slice(0, equals).trim().toUpperCase();
    if (equals === -1 || parts.has(name)) return `the part ${part.slice(0, 20)} is doubled or has no value`;
    parts.set(name, part.slice(equals + 1).trim());
  }
  // What is the default of RFC 7529 is what a rule means without it.
  const scale = parts.get('RSCALE')?.toUpperCase();
  if (scale !== undefined && scale !== 'GREGORIAN') return 'RSCALE is GREGORIAN, where a rule says it';
  const skip = parts.get('SKIP')?.toUpperCase();
  if (skip !== undefined && (scale === undefined || skip !== 'OMIT')) return 'SKIP is OMIT, beside RSCALE';
  const frequency = FREQUENCIES.find((it) => it === parts.get('FREQ')?.toUpperCase());
  if (frequency === undefined) return 'FREQ is missing or unknown';
  const interval = parts.get('INTERVAL') ?? '1';
  if (!WHOLE.test(interval) || Number(interval) === 0) return 'INTERVAL is a number from 1';
  const count = parts.get('COUNT');
  if (count !== undefined && (!WHOLE.test(count) || Number(count) === 0)) return 'COUNT is a number from 1';
  const untilText = parts.get('UNTIL');
  const until = untilText === undefined ? undefined : readTime(untilText);
  if (untilText !== undefined && until === undefined) return 'UNTIL is not a date or a time';
  const weekStart = WEEKDAYS.findIndex((it) => it === (parts.get('WKST') ?? 'MO').toUpperCase());
  if (weekStart === -1) return 'WKST is not a day of the week';
  const byDay = readDays(parts.get('BYDAY'));
  if (typeof byDay === 'string') return byDay;
  const lists = readLists(parts);
  if (typeof lists === 'string') return lists;
  return {
    frequency,
    interval: Number(interval),
    count: count === undefined ? undefined : Number(count),
    until,
    byMonth: lists.BYMONTH,
    byWeekNumber: lists.BYWEEKNO,
    byYearDay: lists.BYYEARDAY,
    byMonthDay: lists.BYMONTHDAY,
    byDay,
    byHour: lists.BYHOUR,
    byMinute: lists.BYMINUTE,
    // A leap second is kept as the second before it.
    bySecond: sortedUnique(lists.BYSECOND.map((second) => Math.min(second, 59))),
    bySetPosition: lists.BYSETPOS,
    weekStart,
  };
}

function readLists(parts: ReadonlyMap<string, string>): Record<keyof typeof LISTS, number[]> | string {
  const lists: Partial<Record<keyof typeof LISTS, number[]>> = {};
  for (const [name, [least, most, isSigned]] of Object.entries(LISTS)) {
    const text = parts.get(name);
    const numbers = text === undefined ? [] : text.split(',').map((it) => it.trim());
    for (const number of numbers) {
      const size = Math.abs(Number(number));
      if (!/^[+-]?\d{1,3}$/.test(number) || size < least || size > most || (number.startsWith('-') && !isSigned))
        return `${name} has ${number.slice(0, 10) || 'an empty item'}`;
    }
    lists[name as keyof typeof LISTS] = sortedUnique(numbers.map(Number));
  }
  return lists as Record<keyof typeof LISTS, number[]>;
}

function readDays(text: string | undefined): RuleDay[] | string {
  if (text === undefined) return [];
  const days = new Map<string, RuleDay>();
  for (const item of text.split(',')) {
    const [, ordinal, name] = BY_DAY.exec(item.trim()) ?? [];
    const day = {
      weekday: WEEKDAYS.findIndex((it) => it === name?.toUpperCase()),
      ordinal: ordinal === undefined ? 0 : Number(ordinal),
    };
    if (day.weekday === -1 || Math.abs(day.ordinal) > 53 || (ordinal !== undefined && day.ordinal === 0))
      return `BYDAY has ${item.slice(0, 10) || 'an empty item'}`;
    days.set(`${day.ordinal}/${day.weekday}`, day);
  }
  return [...days.values()];
}

/** The rule's value with its COUNT and UNTIL replaced by an end; the other parts stay as they were written. */
export function endRule(value: string, until: Pick<CalendarTime, 'wall' | 'isDate' | 'isUtc'>): string {
  const kept = value.split(';').filter((part) => part.trim() !== '' && !/^\s*(?:COUNT|UNTIL)\s*=/i.test(part));
  return [...kept, `UNTIL=${writeTime(until)}`].join(';');
}

function sortedUnique(numbers: readonly number[]): number[] {
  return [...new Set(numbers)].toSorted((a, b) => a - b);
}
