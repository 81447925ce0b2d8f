/** The index row of a calendar object: what a store keeps to find it without reading it. */
import { type CalendarObject, type ObjectIndex } from '../icalendar/calendar-object.ts';
import { classificationOf } from '../icalendar/classification.ts';
import { type Component, propertiesOf, propertyOf, textOf } from '../icalendar/component.ts';
import { DAY_SECONDS } from './civil.ts';
import { coveringSpan } from './covering-span.ts';
import { mostSeconds, placeAt } from './extent.ts';
import { type Rule } from './rule.ts';
import { lastByCount, walkRule } from './rule-walk.ts';
import { Series } from './series.ts';
import { StepBudget } from './step-budget.ts';

/** What the store keeps of an object to find it without reading it; `calendarZone` places floating and all-day times. */
export function indexOf(object: CalendarObject, calendarZone: string): ObjectIndex {
  const series = new Series(object, calendarZone);
  const components = [...(object.master === undefined ? [] : [object.master]), ...object.overrides];
  const [described] = components;
  const bounds = boundsOf(series);
  const organizer = components.map((it) => propertyOf(it, 'ORGANIZER')).find((it) => it !== undefined);
  const attendees = components.flatMap((it) => propertiesOf(it, 'ATTENDEE')).map(({ value }) => addressOf(value));
  return {
    uid: object.uid,
    kind: object.kind,
    summary: described === undefined ? '' : (textOf(described, 'SUMMARY') ?? ''),
    ...bounds,
    isRecurring: series.isRecurring,
    beginsWithin: coveringSpan(series, bounds.last),
    isTransparent: described !== undefined && hasValue(described, 'TRANSP', 'TRANSPARENT'),
    // Where one instance still takes place, it does.
    isCancelled: components.length > 0 && components.every((it) => hasValue(it, 'STATUS', 'CANCELLED')),
    ...(organizer === undefined ? {} : { organizer: addressOf(organizer.value) }),
    attendees: [...new Set(attendees)],
    classification: classificationOf(components),
    hasAlarms: components.some((it) => it.components.some(({ name }) => name === 'VALARM')),
  };
}

/** A calendar address in the one form that addresses are compared in. */
export function addressOf(value: string): string {
  return value.trim().toLowerCase();
}

function hasValue(component: Component, name: string, value: string): boolean {
  return propertyOf(component, name)?.value.trim().toUpperCase() === value;
}

function boundsOf(series: Series): { readonly first: number; readonly last: number | null } {
  let [first, last] = [Infinity, -Infinity];
  const widen = ({ start, end }: { readonly start: number; readonly end: number }) => {
    first = Math.min(first, start);
    last = Math.max(last, end);
  };
  const overrides = series.overrides();
  for (const { extent } of overrides) widen(placeAt(extent.zone, extent.start.wall, extent.length));
  const { master } = series;
  // A to-do without dates is always due: it is in every window until it is read.
  if (master === undefined && series.object.master !== undefined) return { first: Number.MIN_SAFE_INTEGER, last: null };
  if (master === undefined) return { first, last };
  const { zone, length } = master;
  const futures = overrides.filter(({ isFuture }) => isFuture);
  const shifts = futures.map(({ shift }) => shift);
  const longest = Math.max(mostSeconds(length), ...futures.map(({ extent }) => mostSeconds(extent.length)));
  const everywhere = { from: -Infinity, to: Infinity };
  const dates = series.addedDates(everywhere);
  for (const added of [{ wall: master.start.wall, length }, ...dates])
    widen(placeAt(zone, added.wall, added.length ?? length));
  let isEndless = false;
  const budget = new StepBudget();
  for (const rule of series.rules('RRULE')) {
    const wall = lastWall(rule, master.start.wall, series.untilWall(rule), budget);
    if (wall === undefined) isEndless = true;
    else
      widen({ start: placeAt(zone, wall, length).start, end: placeAt(zone, wall, { days: 0, seconds: longest }).end });
  }
  const [early, late] = [Math.min(0, ...shifts), Math.max(0, ...shifts)];
  // Moved instances may meet another offset of their zone's clock: a day covers it.
  const slack = shifts.length === 0 ? 0 : DAY_SECONDS;
  return {
    first: first + (early - slack) * 1000,
    last: isEndless ? null : last + (late + slack) * 1000,
  };
}

/** No instance of the rule begins after this; undefined when it does not end, or to count it would cost too much. */
function lastWall(rule: Rule, start: number, until: number, budget: StepBudget): number | undefined {
  const counted = lastByCount(rule, start);
  if (counted !== undefined) return Math.min(counted, until);
  if (until !== Infinity) return Math.max(start, until);
  if (rule.count === undefined) return undefined;
  let last = start;
  walkRule(rule, start, { from: start, to: Infinity }, budget, (wall) => {
    last = wall;
    return true;
  });
  return budget.isSpent ? undefined : last;
}
