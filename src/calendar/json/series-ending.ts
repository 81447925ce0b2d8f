/** A series that is to end at another time, and is else what it was: what was changed or left out of it by single dates stays. */
import { isDeepStrictEqual } from 'node:util';
import { type Component, propertiesOf, type Property } from '../icalendar/component.ts';
import { removeOverride } from '../icalendar/edits.ts';
import { readCalendarObject } from '../icalendar/object-reader.ts';
import { writeTime } from '../icalendar/values.ts';
import { readRule, type Rule } from '../recurrence/rule.ts';
import { walkRule } from '../recurrence/rule-walk.ts';
import { Series } from '../recurrence/series.ts';
import { StepBudget } from '../recurrence/step-budget.ts';

/** Whether a rule differs from the one of a series in nothing but its end. Of several, or of added dates, that cannot be said. */
export function endsOtherwise(component: Component, { value }: Property): boolean {
  const [rule, ...others] = propertiesOf(component, 'RRULE').map((line) => readRule(line.value));
  const next = readRule(value);
  const isAlone = others.length === 0 && propertiesOf(component, 'RDATE').length === 0;
  if (!isAlone || rule === undefined || typeof rule === 'string' || typeof next === 'string') return false;
  return propertiesOf(component, 'EXRULE').length === 0 && isDeepStrictEqual(endless(rule), endless(next));
}

function endless(rule: Rule): Rule {
  return { ...rule, count: undefined, until: undefined };
}

/** An object without the exceptions that stand for dates behind the end of its series. @throws CalendarFault. */
export function withoutLaterOverrides(bytes: Uint8Array, zone: string): Uint8Array {
  const series = new Series(readCalendarObject(bytes), zone);
  const last = lastWall(series);
  const isLater = ({ isDay, key }: { readonly isDay: boolean; readonly key: number }) =>
    key > (isDay ? last : series.keyAt(last));
  const later = last === Infinity ? [] : series.overrides().filter(isLater);
  return later.reduce((text, { recurrenceId }) => {
    return removeOverride(readCalendarObject(text), writeTime(recurrenceId), zone) ?? text;
  }, bytes);
}

/** The wall second of the last date of a series with one rule; Infinity where it has no end, or one that is too far to count to. */
function lastWall(series: Series): number {
  const { master } = series;
  const [rule] = series.rules('RRULE');
  if (master === undefined || rule === undefined || (rule.count ?? rule.until) === undefined) return Infinity;
  const [budget, { wall: start }] = [new StepBudget(), master.start];
  let last = start;
  walkRule(rule, start, { from: start, to: series.untilWall(rule) }, budget, (wall) => {
    last = wall;
    return budget.take(1);
  });
  return budget.isSpent ? Infinity : last;
}
