/** Which days a rule's BYMONTH, BYWEEKNO, BYYEARDAY, BYMONTHDAY and BYDAY let through. */
import { civilOf, dayNumber, daysInMonth, daysInYear, mod, weekdayOf } from './civil.ts';
import { type Rule } from './rule.ts';

/** How the ordinals of BYDAY count; `none` reads `2MO` as `MO`, as they mean nothing in shorter periods. */
type OrdinalScope = 'month' | 'year' | 'none';

/** A rule's day parts, with what they leave open taken from the first instance (RFC 5545, 3.3.10). */
export class DayFilter {
  /** Months by bit; all of them where the rule names none. */
  readonly months: number;
  /** The one day of a month that passes, where nothing else is asked: no day needs to be looked at. */
  readonly onlyMonthDay: number | undefined;
  readonly #rule: Rule;
  readonly #scope: OrdinalScope;
  readonly #byDay: readonly { readonly weekday: number; readonly ordinal: number }[];
  /** Weekdays by bit, for a BYDAY without ordinals. */
  readonly #weekdays: number | undefined;
  readonly #monthDays: readonly number[];

  constructor(rule: Rule, startDay: number) {
    const start = civilOf(startDay);
    const hasDays =
      rule.byWeekNumber.length > 0 || rule.byYearDay.length > 0 || rule.byMonthDay.length > 0 || rule.byDay.length > 0;
    const isYearly = rule.frequency === 'YEARLY';
    const isMonthly = rule.frequency === 'MONTHLY';
    let byDay = rule.byDay;
    let byMonth = rule.byMonth;
    this.#monthDays = rule.byMonthDay;
    if (!hasDays && (isYearly || isMonthly)) this.#monthDays = [start.day];
    if (!hasDays && isYearly && byMonth.length === 0) byMonth = [start.month];
    const needsWeekday =
      (!hasDays && rule.frequency === 'WEEKLY') ||
      // A week number alone leaves the day of the week open.
      (isYearly &&
        rule.byWeekNumber.length > 0 &&
        byDay.length === 0 &&
        rule.byMonthDay.length === 0 &&
        rule.byYearDay.length === 0);
    if (needsWeekday && byDay.length === 0) byDay = [{ weekday: weekdayOf(startDay), ordinal: 0 }];
    this.#rule = rule;
    this.months = byMonth.length === 0 ? 0b1_1111_1111_1110 : byMonth.reduce((bits, month) => bits | (1 << month), 0);
    this.#scope = isMonthly || (isYearly && byMonth.length > 0) ? 'month' : isYearly ? 'year' : 'none';
    if (rule.byWeekNumber.length > 0) this.#scope = 'none';
    this.#byDay = byDay;
    const hasOrdinals = this.#scope !== 'none' && byDay.some(({ ordinal }) => ordinal !== 0);
    this.#weekdays = hasOrdinals ? undefined : byDay.reduce((bits, { weekday }) => bits | (1 << weekday), 0);
    if (byDay.length === 0) this.#weekdays = 0b111_1111;
    const [only, second] = this.#monthDays;
    this.onlyMonthDay =
      byDay.length === 0 &&
      rule.byWeekNumber.length === 0 &&
      rule.byYearDay.length === 0 &&
      second === undefined &&
      only !== undefined &&
      only > 0
        ? only
        : undefined;
  }

  /** Whether the day, of that month and year, passes. */
  passes(day: number, year: number, month: number): boolean {
    if ((this.months & (1 << month)) === 0) return false;
    const weekday = weekdayOf(day);
    if (this.#weekdays !== undefined && (this.#weekdays & (1 << weekday)) === 0) return false;
    const monthStart = dayNumber(year, month, 1);
    const length = daysInMonth(year, month);
    const ofMonth = day - monthStart + 1;
    if (this.#monthDays.length > 0 && !hasEither(this.#monthDays, ofMonth, length)) return false;
    if (this.#weekdays === undefined && !this.#isNth(day, weekday, ofMonth, length, year)) return false;
    const { byYearDay, byWeekNumber } = this.#rule;
    if (byYearDay.length > 0) {
      if (!hasEither(byYearDay, day - dayNumber(year, 1, 1) + 1, daysInYear(year))) return false;
    }
    return byWeekNumber.length === 0 || this.#isInWeek(day);
  }

  #isNth(day: number, weekday: number, ofMonth: number, monthLength: number, year: number): boolean {
    const isOfMonth = this.#scope === 'month';
    const place = isOfMonth ? ofMonth : day - dayNumber(year, 1, 1) + 1;
    const length = isOfMonth ? monthLength : daysInYear(year);
    const fromStart = Math.floor((place - 1) / 7) + 1;
    const fromEnd = -Math.floor((length - place) / 7) - 1;
    return this.#byDay.some(
      (it) => it.weekday === weekday && (it.ordinal === 0 || it.ordinal === fromStart || it.ordinal === fromEnd),
    );
  }

  #isInWeek(day: number): boolean {
    const { weekStart, byWeekNumber } = this.#rule;
    // A week belongs to the year that has its fourth day (ISO 8601, with any first day).
    const start = day - mod(weekdayOf(day) - weekStart, 7);
    const { year } = civilOf(start + 3);
    const first = firstWeek(year, weekStart);
    return hasEither(byWeekNumber, (start - first) / 7 + 1, (firstWeek(year + 1, weekStart) - first) / 7);
  }
}

/** The first day of week 1 of a year. */
function firstWeek(year: number, weekStart: number): number {
  const fourth = dayNumber(year, 1, 4);
  return fourth - mod(weekdayOf(fourth) - weekStart, 7);
}

/** Whether the list has the place, counted from 1 or as a negative one from the end. */
function hasEither(list: readonly number[], place: number, length: number): boolean {
  return list.includes(place) || list.includes(place - length - 1);
}
