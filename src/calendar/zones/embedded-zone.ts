/** A zone that an object defines itself, by its VTIMEZONE: the last resort, for what no database knows. */
import { type Component, propertiesOf, propertyOf } from '../icalendar/component.ts';
import { type CalendarTime, readOffset, readTime } from '../icalendar/values.ts';
import { dayNumber, DAY_SECONDS } from '../recurrence/civil.ts';
import { readRule } from '../recurrence/rule.ts';
import { walkRule } from '../recurrence/rule-walk.ts';
import { type StepBudget } from '../recurrence/step-budget.ts';
import { type Zone } from './zone.ts';

/** Onsets are made up to here; after it the last one holds. */
const LAST_YEAR = 2100;
const LAST_WALL = dayNumber(LAST_YEAR, 12, 31) * DAY_SECONDS;

/**
 * Onsets of all zones that one object defines. Two yearly rules from 1601, as Exchange writes them, have a thousand;
 * past this a zone's definition counts as none.
 */
export const MAX_ONSETS = 8_000;

/** What all embedded zones of one object may still cost. */
export interface ZoneBudget {
  onsets: number;
  readonly steps: StepBudget;
}

interface Onset {
  readonly instant: number;
  readonly offset: number;
}

/** The zone that a VTIMEZONE defines; undefined when it defines none, or is dearer than the budget. */
export function embeddedZone(definition: Component, budget: ZoneBudget): Zone | undefined {
  const onsets: Onset[] = [];
  let first: { readonly instant: number; readonly from: number } | undefined;
  for (const observance of definition.components) {
    if (observance.name !== 'STANDARD' && observance.name !== 'DAYLIGHT') continue;
    const from = readOffset(propertyOf(observance, 'TZOFFSETFROM')?.value ?? '');
    const to = readOffset(propertyOf(observance, 'TZOFFSETTO')?.value ?? '');
    const start = readTime(propertyOf(observance, 'DTSTART')?.value.trim() ?? '');
    if (to === undefined || start === undefined) continue;
    const before = from ?? to;
    const instant = (start.wall - before) * 1000;
    if (first === undefined || instant < first.instant) first = { instant, from: before };
    if (!collectOnsets(observance, start, { before, to }, onsets, budget)) return undefined;
  }
  if (first === undefined) return undefined;
  onsets.sort((a, b) => a.instant - b.instant);
  return new EmbeddedZone(onsets, first.from);
}

/** Adds the onsets of one observance; false when the budget is spent. */
function collectOnsets(
  observance: Component,
  start: CalendarTime,
  offsets: { readonly before: number; readonly to: number },
  onsets: Onset[],
  budget: ZoneBudget,
): boolean {
  // An onset is written on the clock that it ends, but in UTC where a Z says so.
  const add = (wall: number, isUtc: boolean): boolean => {
    budget.onsets -= 1;
    onsets.push({ instant: (isUtc ? wall : wall - offsets.before) * 1000, offset: offsets.to });
    return budget.onsets > 0;
  };
  let isWithin = add(start.wall, start.isUtc);
  for (const property of propertiesOf(observance, 'RRULE')) {
    const rule = readRule(property.value);
    if (typeof rule === 'string') continue;
    const { until } = rule;
    const untilWall =
      until === undefined
        ? LAST_WALL
        : until.isUtc
          ? until.wall + offsets.before
          : until.wall + (until.isDate ? DAY_SECONDS - 1 : 0);
    const range = { from: start.wall, to: Math.min(LAST_WALL, untilWall) };
    walkRule(rule, start.wall, range, budget.steps, (wall) => (isWithin = add(wall, false)));
  }
  for (const property of propertiesOf(observance, 'RDATE')) {
    // A definition is read as far as it makes sense: what it is needed for is seldom the part that does not.
    for (const text of property.value.split(',')) {
      const time = readTime(text.trim().split('/', 1)[0] ?? '');
      if (time !== undefined && !add(time.wall, time.isUtc)) return false;
    }
  }
  return isWithin && !budget.steps.isSpent;
}

class EmbeddedZone implements Zone {
  readonly name = undefined;
  readonly #onsets: readonly Onset[];
  readonly #before: number;

  /** `onsets` by instant; `before` is the offset before the first of them. */
  constructor(onsets: readonly Onset[], before: number) {
    this.#onsets = onsets;
    this.#before = before;
  }

  offsetAt(instant: number): number {
    let [low, high] = [0, this.#onsets.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      if ((this.#onsets[middle]?.instant ?? Infinity) <= instant) low = middle + 1;
      else high = middle;
    }
    return this.#onsets[low - 1]?.offset ?? this.#before;
  }
}
