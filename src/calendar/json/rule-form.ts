/** Recurrence rules between JSON and RRULE: the words of JSCalendar on one side, RFC 5545's on the other. */
import type { Rule as JsonRule, Weekday } from '#src/protocol/calendars/calendars.ts';
import { Refusal } from '#src/protocol/errors.ts';
import { readLocal, writeLocal, writeTime } from '../icalendar/values.ts';
import { readRule, WEEKDAYS } from '../recurrence/rule.ts';
import { instantOf, UTC, wallOf, type Zone } from '../zones/zone.ts';

/** Where a rule is written: the zone of its entry's times, undefined for floating ones, and whether it has days only. */
export interface RulePlace {
  readonly zone: Zone | undefined;
  readonly isDate: boolean;
}

const LISTS = [
  ['by_month', 'BYMONTH'],
  ['by_month_day', 'BYMONTHDAY'],
  ['by_year_day', 'BYYEARDAY'],
  ['by_week_no', 'BYWEEKNO'],
  ['by_hour', 'BYHOUR'],
  ['by_minute', 'BYMINUTE'],
  ['by_set_position', 'BYSETPOS'],
] as const;

/** The value of RRULE. @throws Refusal `field_invalid` for a rule that makes no sense with the entry's time. */
export function ruleValue(rule: JsonRule, place: RulePlace): string {
  const parts = [`FREQ=${rule.frequency.toUpperCase()}`];
  if (rule.interval !== undefined) parts.push(`INTERVAL=${rule.interval}`);
  if (rule.count !== undefined) parts.push(`COUNT=${rule.count}`);
  if (rule.until !== undefined) parts.push(`UNTIL=${untilValue(rule.until, place)}`);
  for (const [name, part] of LISTS) {
    const numbers = rule[name];
    if (numbers !== undefined) parts.push(`${part}=${numbers.join(',')}`);
  }
  if (rule.by_day !== undefined) {
    parts.push(`BYDAY=${rule.by_day.map(({ day, nth }) => `${nth ?? ''}${day.toUpperCase()}`).join(',')}`);
  }
  if (rule.first_day_of_week !== undefined) parts.push(`WKST=${rule.first_day_of_week.toUpperCase()}`);
  const value = parts.join(';');
  const isHourlyDay = place.isDate && (rule.frequency === 'hourly' || /BYHOUR|BYMINUTE/.test(value));
  if (isHourlyDay || typeof readRule(value) === 'string') throw new Refusal('field_invalid', { field: 'rule' });
  return value;
}

/** UNTIL in UTC for times with a zone, a date for whole days (RFC 5545, 3.3.10). */
function untilValue(until: string, { zone, isDate }: RulePlace): string {
  const local = readLocal(until);
  if (local === undefined || (isDate && !local.isDate)) throw new Refusal('field_invalid', { field: 'rule.until' });
  if (isDate) return writeTime({ wall: local.wall, isDate: true, isUtc: false });
  // A day as the last moment includes the whole day.
  const wall = local.isDate ? local.wall + 86_399 : local.wall;
  if (zone === undefined) return writeTime({ wall, isDate: false, isUtc: false });
  return writeTime({ wall: instantOf(zone, wall) / 1000, isDate: false, isUtc: true });
}

/** What JSON shows of an RRULE; undefined for a rule that its form does not have. */
export function ruleView(value: string, place: RulePlace): JsonRule | undefined {
  const rule = readRule(value);
  if (typeof rule === 'string' || rule.bySecond.length > 0) return undefined;
  if (rule.frequency === 'SECONDLY' || rule.frequency === 'MINUTELY') return undefined;
  const dayOf = (weekday: number) => (WEEKDAYS[weekday] ?? 'MO').toLowerCase() as Weekday;
  const lists = {
    by_month: rule.byMonth,
    by_month_day: rule.byMonthDay,
    by_year_day: rule.byYearDay,
    by_week_no: rule.byWeekNumber,
    by_hour: rule.byHour,
    by_minute: rule.byMinute,
    by_set_position: rule.bySetPosition,
  };
  return {
    frequency: rule.frequency.toLowerCase() as JsonRule['frequency'],
    ...(rule.interval === 1 ? {} : { interval: rule.interval }),
    ...(rule.count === undefined ? {} : { count: rule.count }),
    ...(rule.until === undefined ? {} : { until: untilView(rule.until, place) }),
    ...(rule.byDay.length === 0
      ? {}
      : {
          by_day: rule.byDay.map(({ weekday, ordinal }) => ({
            day: dayOf(weekday),
            ...(ordinal === 0 ? {} : { nth: ordinal }),
          })),
        }),
    ...Object.fromEntries(Object.entries(lists).filter(([, numbers]) => numbers.length > 0)),
    ...(rule.weekStart === 0 ? {} : { first_day_of_week: dayOf(rule.weekStart) }),
  };
}

function untilView(
  until: { readonly wall: number; readonly isDate: boolean; readonly isUtc: boolean },
  { zone, isDate }: RulePlace,
): string {
  if (until.isDate || isDate) return writeLocal(until.wall, true);
  return writeLocal(until.isUtc ? wallOf(zone ?? UTC, until.wall * 1000) : until.wall, false);
}
