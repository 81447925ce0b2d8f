/**
 * How dense a series is: a span so long that, wherever it lies between the series' first and last instant, an instance begins in
 * it. Whoever asks for a longer time knows that the series is there without reading it.
 */
import { propertiesOf, propertyOf } from '../icalendar/component.ts';
import { timesOf, type CalendarTime } from '../icalendar/values.ts';
import { DAY_SECONDS } from './civil.ts';
import { mostSeconds, placeAt } from './extent.ts';
import { type Rule } from './rule.ts';
import { type Series } from './series.ts';

/** The longest month and the longest year, in days. */
const MONTH_DAYS = 31;
const YEAR_DAYS = 366;
/** A day that every month has. */
const LAST_SURE_DAY = 28;
/** A weekday that every month has so often, from either end. */
const LAST_SURE_ORDINAL = 4;
/** What clocks that change, and a calendar that gets another zone, may move an instance by. */
const SLACK_SECONDS = 2 * DAY_SECONDS;

/**
 * Milliseconds; undefined of what does not recur by one plain rule, and where nothing is sure.
 * @param last the series' last instant; null where it has none, or where to count to it would cost too much.
 */
export function coveringSpan(series: Series, last: number | null): number | undefined {
  const { master, object } = series;
  if (master === undefined || object.kind !== 'event') return undefined;
  const [rule, second] = series.rules('RRULE');
  const isPlain = second === undefined && propertyOf(master.component, 'EXRULE') === undefined;
  if (rule === undefined || !isPlain) return undefined;
  const isEndless = rule.count === undefined && rule.until === undefined;
  // It ends, and nobody knows when.
  if (!isEndless && last === null) return undefined;
  const days = daysBetween(rule, master.start);
  if (days === undefined || !isSureWithin(series, isEndless)) return undefined;
  // All that are taken out, or are somewhere else, may lie one behind the other.
  const gone = propertiesOf(master.component, 'EXDATE').reduce((sum, property) => sum + timesOf(property).length, 0);
  const between = (gone + object.overrides.length + 1) * days * DAY_SECONDS + SLACK_SECONDS;
  // Of a series that ends, the last instant is the end of its last instance, which began its length before.
  const seconds = isEndless ? between : between + mostSeconds(master.length);
  return seconds * 1000;
}

/** Whether first and last instant are those of the rule, and of nothing that lies far from it. */
function isSureWithin(series: Series, isEndless: boolean): boolean {
  const { master, object } = series;
  if (master === undefined) return false;
  if (object.overrides.length === 0 && propertyOf(master.component, 'RDATE') === undefined) return true;
  if (!isEndless || propertyOf(master.component, 'RDATE') !== undefined) return false;
  const { start } = placeAt(master.zone, master.start.wall, master.length);
  return series
    .overrides()
    .every(
      ({ extent, isFuture }) => !isFuture && placeAt(extent.zone, extent.start.wall, extent.length).start >= start,
    );
}

/** Days from the beginning of an instance to that of the next at most; undefined where a rule leaves out what it likes. */
function daysBetween(rule: Rule, start: CalendarTime): number | undefined {
  const { byDay, byMonthDay, frequency, interval } = rule;
  const isOpen = [rule.byMonth, rule.byWeekNumber, rule.byYearDay, rule.bySetPosition].every(
    (list) => list.length === 0,
  );
  const isOnce = [rule.byHour, rule.byMinute, rule.bySecond].every((list) => list.length <= 1);
  if (!isOpen || !isOnce) return undefined;
  const isBare = byDay.length === 0 && byMonthDay.length === 0;
  if (frequency === 'DAILY') return isBare ? interval : undefined;
  // Instances of a week or a month lie anywhere in it.
  if (frequency === 'WEEKLY') return byMonthDay.length === 0 ? (interval + 1) * 7 : undefined;
  if (frequency === 'MONTHLY') return isInEveryMonth(rule, start) ? (interval + 1) * MONTH_DAYS : undefined;
  if (frequency === 'YEARLY') return isBare && dayOfMonth(start) <= LAST_SURE_DAY ? interval * YEAR_DAYS : undefined;
  return undefined;
}

function isInEveryMonth({ byDay, byMonthDay }: Rule, start: CalendarTime): boolean {
  if (byDay.length > 0)
    return byMonthDay.length === 0 && byDay.some(({ ordinal }) => Math.abs(ordinal) <= LAST_SURE_ORDINAL);
  if (byMonthDay.length > 0) return byMonthDay.some((day) => Math.abs(day) <= LAST_SURE_DAY);
  return dayOfMonth(start) <= LAST_SURE_DAY;
}

function dayOfMonth({ wall }: CalendarTime): number {
  return new Date(wall * 1000).getUTCDate();
}
