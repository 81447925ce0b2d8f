/** The instances of a calendar object within a window of time. */
import { type CalendarObject, type Expansion, type Occurrence, type Window } from '../icalendar/calendar-object.ts';
import { type Component, propertyOf } from '../icalendar/component.ts';
import { readTime, writeLocal, writeTime } from '../icalendar/values.ts';
import { wallOf, type Zone } from '../zones/zone.ts';
import { knownZone } from '../zones/zone-resolver.ts';
import { DAY_SECONDS, mod } from './civil.ts';
import { type Extent, type Length, mostSeconds, placeAt } from './extent.ts';
import { type Exclusions, type Override, Series } from './series.ts';
import { type Rule } from './rule.ts';
import { type WallRange, walkRule } from './rule-walk.ts';
import { StepBudget } from './step-budget.ts';

/** What is taken out by an EXRULE is kept until the window's end, which costs more than a step. */
const STEPS_PER_EXCLUSION = 8;

const DAY_MILLIS = DAY_SECONDS * 1000;
/** Five weeks: in so many days a series that comes each month does come. */
const BEGINNING_MILLIS = 35 * DAY_MILLIS;

/**
 * All instances that overlap the window (RFC 4791, 9.9), the earliest `most` of them. `zone` places floating and
 * all-day times. A to-do or journal entry without dates has none.
 */
export function expand(
  object: CalendarObject,
  window: Window,
  options: { readonly zone: string; readonly most: number },
): Expansion {
  return new Expander(seriesOf(object, options.zone), window, options.most).run();
}

/** What was made of objects that are asked again and again, as long as these are kept, for one calendar's zone each. */
const keptSeries = new WeakMap<CalendarObject, { readonly zone: string; readonly series: Series }>();

function seriesOf(object: CalendarObject, zone: string): Series {
  const kept = keptSeries.get(object);
  if (kept?.zone === zone) return kept.series;
  const series = new Series(object, zone);
  // A zone of the object's own may have a thousand times as many onsets as lines: it is worked out each time.
  const isSmall = [...object.zones.keys()].every((tzid) => knownZone(tzid) !== undefined);
  if (isSmall) keptSeries.set(object, { zone, series });
  return series;
}

/** Whether the object has an instance in the window by the rules of CalDAV's time-range (RFC 4791, 9.9). */
export function overlaps(object: CalendarObject, window: Window, zone: string): boolean {
  const { kind, master } = object;
  const hasDates = master === undefined || propertyOf(master, 'DTSTART') !== undefined;
  if (hasDates || (kind === 'todo' && propertyOf(master, 'DUE') !== undefined)) {
    return nested(window).some((part) => expand(object, part, { zone, most: 1 }).occurrences.length > 0);
  }
  if (kind !== 'todo') return false;
  const [created, completed] = [stampOf(master, 'CREATED'), stampOf(master, 'COMPLETED')];
  if (created === undefined && completed === undefined) return true;
  return (
    (created === undefined || created < window.to) &&
    (completed === undefined || completed >= window.from) &&
    // With one of both alone, that one is what must lie on the right side; a to-do once completed ended there.
    (created !== undefined || (completed ?? 0) <= window.to)
  );
}

/**
 * The beginning of a long window, and then all of it: most series that are anywhere in a year are in its first weeks, and a few
 * instances are found at a tenth of what those of a year cost.
 */
function nested(window: Window): Window[] {
  const { from, to } = window;
  return to - from > 2 * BEGINNING_MILLIS ? [{ from, to: from + BEGINNING_MILLIS }, window] : [window];
}

function stampOf(component: Component, name: string): number | undefined {
  const time = readTime(propertyOf(component, name)?.value.trim() ?? '');
  return time === undefined ? undefined : time.wall * 1000;
}

/** The wall seconds of a zone in which everything lies that overlaps the window; wider than it where clocks change. */
function wallRangeOf(zone: Zone, { from, to }: Window, longest: number): WallRange {
  const offsets = (instant: number) =>
    [instant - DAY_MILLIS, instant, instant + DAY_MILLIS].map((at) => zone.offsetAt(at));
  return {
    from: Math.floor(from / 1000) + Math.min(...offsets(from)) - longest,
    to: Math.ceil(to / 1000) + Math.max(...offsets(to)),
  };
}

function isWithin(start: number, end: number, { from, to }: Window): boolean {
  return start < to && (end > from || (start === end && start >= from));
}

class Expander {
  readonly #series: Series;
  readonly #window: Window;
  readonly #most: number;
  readonly #budget = new StepBudget();
  readonly #found: Occurrence[] = [];
  readonly #seen = new Set<number>();
  #exclusions: Exclusions = { keys: new Set(), days: new Set() };
  readonly #single = new Map<number, Override>();
  readonly #singleDays = new Map<number, Override>();
  /** Overrides of this and future instances, by key. */
  #futures: Override[] = [];
  #isCut = false;

  constructor(series: Series, window: Window, most: number) {
    this.#series = series;
    this.#window = window;
    this.#most = most;
  }

  run(): Expansion {
    const { master } = this.#series;
    this.#sortOverrides();
    if (master !== undefined) {
      const lengths = [master.length, ...this.#futures.map(({ extent }) => extent.length)];
      const shifts = this.#futures.map(({ shift }) => shift);
      const plain = wallRangeOf(master.zone, this.#window, Math.max(...lengths.map(mostSeconds)));
      const range = { from: plain.from - Math.max(0, ...shifts), to: plain.to - Math.min(0, ...shifts) };
      this.#exclude(range);
      this.#take(master.start.wall, undefined);
      // A PERIOD of an RDATE may be longer than the rest: it is looked for as if it were near.
      for (const { wall, length } of this.#series.addedDates({ from: -Infinity, to: range.to }))
        this.#take(wall, length);
      for (const rule of this.#series.rules('RRULE')) this.#walk(rule, range);
    }
    for (const override of [...this.#single.values(), ...this.#singleDays.values()]) this.#takeOverride(override);
    // Without a master nobody else shows the instance that a this-and-future override begins with.
    if (master === undefined) for (const override of this.#futures) this.#takeOverride(override);
    this.#found.sort((a, b) => a.start - b.start || a.end - b.end);
    const isCut = this.#isCut || this.#budget.isSpent || this.#found.length > this.#most;
    return { occurrences: this.#found.slice(0, this.#most), isCut, unknownZones: this.#series.zones.unknownZones };
  }

  #sortOverrides(): void {
    for (const override of this.#series.overrides()) {
      if (override.isFuture) this.#futures.push(override);
      else {
        const known = override.isDay ? this.#singleDays : this.#single;
        const earlier = known.get(override.key);
        if (earlier === undefined || sequenceOf(earlier) <= sequenceOf(override)) known.set(override.key, override);
      }
    }
    this.#futures.sort((a, b) => a.key - b.key);
  }

  /** EXDATEs, and what EXRULEs make near the window. */
  #exclude(range: WallRange): void {
    const { keys, days } = this.#series.exclusions(range);
    const all = new Set(keys);
    const { master } = this.#series;
    for (const rule of master === undefined ? [] : this.#series.rules('EXRULE')) {
      const to = Math.min(range.to, this.#series.untilWall(rule));
      const start = master?.start.wall ?? 0;
      walkRule(rule, start, { from: range.from, to }, this.#budget, (wall) => {
        all.add(this.#series.keyAt(wall));
        return this.#budget.take(STEPS_PER_EXCLUSION);
      });
    }
    this.#exclusions = { keys: all, days };
  }

  #walk(rule: Rule, range: WallRange): void {
    const { master } = this.#series;
    if (master === undefined) return;
    const to = Math.min(range.to, this.#series.untilWall(rule));
    const before = this.#found.length;
    walkRule(rule, master.start.wall, { from: range.from, to }, this.#budget, (wall) => {
      this.#take(wall, undefined);
      // One more than asked for tells that there are more.
      return this.#found.length - before <= this.#most;
    });
  }

  /** One instance of the series by its wall time on the master's clock. */
  #take(wall: number, ownLength: Length | undefined): void {
    const { master } = this.#series;
    if (master === undefined) return;
    const key = this.#series.keyAt(wall);
    const day = wall - mod(wall, DAY_SECONDS);
    if (this.#seen.has(key)) return;
    this.#seen.add(key);
    if (this.#exclusions.keys.has(key) || this.#exclusions.days.has(day)) {
      // Who takes an instance out means its override too.
      this.#single.delete(key);
      return;
    }
    if (this.#single.has(key) || this.#singleDays.has(day)) return;
    const future = this.#futures.findLast((it) => it.key <= (it.isDay ? day : key));
    const place = placeAt(master.zone, wall + (future?.shift ?? 0), ownLength ?? (future?.extent ?? master).length);
    if (!isWithin(place.start, place.end, this.#window)) return;
    const recurrenceId = this.#series.isRecurring ? writeTime({ ...master.start, wall }) : undefined;
    const component = future?.component ?? master.component;
    this.#found.push(makeOccurrence(future?.extent ?? master, place, { component, recurrenceId }));
  }

  #takeOverride({ component, extent, recurrenceId, key, isDay }: Override): void {
    if (!isDay && this.#exclusions.keys.has(key)) return;
    const place = placeAt(extent.zone, extent.start.wall, extent.length);
    if (!isWithin(place.start, place.end, this.#window)) return;
    const { master } = this.#series;
    // In the master's words, so that the same instance has one name whatever its override wrote.
    const wall =
      master === undefined || isDay ? recurrenceId.wall : master.start.isDate ? key : wallOf(master.zone, key);
    const id = writeTime({ ...(master === undefined || isDay ? recurrenceId : master.start), wall });
    this.#found.push(makeOccurrence(extent, place, { component, recurrenceId: id }));
  }
}

function sequenceOf({ component }: Override): number {
  const sequence = Number(propertyOf(component, 'SEQUENCE')?.value ?? 0);
  return Number.isFinite(sequence) ? sequence : 0;
}

function makeOccurrence(
  { start, zone }: Extent,
  place: { readonly start: number; readonly end: number },
  { component, recurrenceId }: Pick<Occurrence, 'component' | 'recurrenceId'>,
): Occurrence {
  const isFloating = !start.isUtc && start.tzid === undefined;
  // A zone that only the object knows has no name to give: its times are told in UTC.
  const tz = isFloating ? undefined : (zone.name ?? 'UTC');
  const wall = zone.name === undefined && !isFloating ? place.start / 1000 : wallOf(zone, place.start);
  return {
    ...place,
    isAllDay: start.isDate,
    recurrenceId,
    component,
    localStart: writeLocal(wall, start.isDate),
    tz,
  };
}
