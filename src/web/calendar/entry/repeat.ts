/** How often an entry comes again: the common rules as a form, and the form as a rule of the server. */
import type { CalendarCallInput } from '#src/client/calendar-api.ts';
import { daysBetween, weekdayOf } from '../time.ts';

export type Rule = NonNullable<NonNullable<CalendarCallInput<'createEntry'>['body']>['rule']>;
type Weekday = NonNullable<Rule['by_day']>[number]['day'];

export const WEEKDAYS: readonly Weekday[] = ['mo', 'tu', 'we', 'th', 'fr', 'sa', 'su'];

/** `other` is a rule that this form has no words for: it stays as it is until another is chosen. */
export type RepeatKind = 'never' | 'daily' | 'weekly' | 'monthly' | 'monthly_weekday' | 'yearly' | 'other';

export interface Repeat {
  readonly kind: RepeatKind;
  readonly interval: number;
  /** Of a week; at least the day that it begins on. */
  readonly days: readonly Weekday[];
  readonly end: 'never' | 'until' | 'count';
  /** A day. */
  readonly until: string;
  readonly count: number;
}

/** What a new series is like before anything is chosen. */
export function noRepeat(start: string): Repeat {
  return { kind: 'never', interval: 1, days: [dayOf(start)], end: 'never', until: start.slice(0, 10), count: 10 };
}

function dayOf(start: string): Weekday {
  return WEEKDAYS[weekdayOf(start) - 1] as Weekday;
}

/** Which of its weekday in the month a day is, from 1; the fifth is the last one. */
export function nthOf(start: string): number {
  const nth = Math.ceil(Number(start.slice(8, 10)) / 7);
  return nth === 5 ? -1 : nth;
}

export function frequencyOf(kind: Exclude<RepeatKind, 'never' | 'other'>): 'daily' | 'weekly' | 'monthly' | 'yearly' {
  return kind === 'monthly_weekday' ? 'monthly' : kind;
}

/** The rule of a form for an entry that begins then; undefined for one that comes once. What follows from the start is left to it. */
export function ruleOf(repeat: Repeat, start: string, isAllDay: boolean): Rule | undefined {
  const { kind, interval, days, end, until, count } = repeat;
  if (kind === 'never' || kind === 'other') return undefined;
  const frequency = frequencyOf(kind);
  const isSeveral = days.length > 1 || (days.length === 1 && days[0] !== dayOf(start));
  return {
    frequency,
    ...(interval === 1 ? {} : { interval }),
    ...(kind === 'weekly' && isSeveral ? { by_day: days.map((day) => ({ day })) } : {}),
    ...(kind === 'monthly_weekday' ? { by_day: [{ day: dayOf(start), nth: nthOf(start) }] } : {}),
    ...(end === 'count' ? { count } : {}),
    ...(end === 'until' ? { until: isAllDay ? until : `${until}T23:59:59` } : {}),
  };
}

/** The form of a rule. `start` is when the series begins. */
export function repeatOf(rule: Rule | undefined, isRecurring: boolean, start: string): Repeat {
  const none = noRepeat(start);
  if (rule === undefined) return isRecurring ? { ...none, kind: 'other' } : none;
  const { frequency, interval = 1, count, until, by_day: byDay, ...rest } = rule;
  const shared = {
    ...none,
    interval,
    ...(count === undefined ? {} : { end: 'count' as const, count }),
    ...(until === undefined ? {} : { end: 'until' as const, until: until.slice(0, 10) }),
  };
  const { first_day_of_week: _first, ...parts } = rest;
  const other = { ...shared, kind: 'other' as const };
  if (Object.values(parts).some((part) => part !== undefined) || frequency === 'hourly') return other;
  if (byDay === undefined) return { ...shared, kind: frequency };
  const isPlain = byDay.every(({ nth }) => nth === undefined);
  if (frequency === 'weekly' && isPlain) return { ...shared, kind: 'weekly', days: byDay.map(({ day }) => day) };
  const [only, ...more] = byDay;
  const isOwn = only !== undefined && more.length === 0 && only.day === dayOf(start) && only.nth === nthOf(start);
  return frequency === 'monthly' && isOwn ? { ...shared, kind: 'monthly_weekday' } : other;
}

/**
 * The rule of a series that was moved by whole days, where its days have to move along; undefined where it follows its start by
 * itself, null where no rule says what is meant.
 */
export function movedRule(rule: Rule | undefined, from: string, to: string): Rule | undefined | null {
  const days = daysBetween(from, to);
  if (rule?.by_day === undefined || days === 0) return undefined;
  const moved = repeatOf(rule, true, from);
  if (moved.kind === 'weekly') {
    const next = moved.days.map((day) => WEEKDAYS[(((WEEKDAYS.indexOf(day) + days) % 7) + 7) % 7] as Weekday);
    return { ...rule, by_day: next.map((day) => ({ day })) };
  }
  if (moved.kind === 'monthly_weekday') return { ...rule, by_day: [{ day: dayOf(to), nth: nthOf(to) }] };
  return null;
}
