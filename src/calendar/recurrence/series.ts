/** A calendar object as a series: its rules, its added and taken out dates, its overrides, keyed by instance. */
import { type CalendarObject } from '../icalendar/calendar-object.ts';
import { type Component, parameterOf, propertiesOf, propertyOf } from '../icalendar/component.ts';
import { type CalendarTime, dateOf, timeOf, timesOf } from '../icalendar/values.ts';
import { instantOf, wallOf, type Zone } from '../zones/zone.ts';
import { ZoneResolver } from '../zones/zone-resolver.ts';
import { DAY_SECONDS, mod } from './civil.ts';
import { type Extent, extentOf, type Length, periodLength } from './extent.ts';
import { readRule, type Rule } from './rule.ts';
import { type WallRange } from './rule-walk.ts';

/** A component that stands for one instance, or for one and all after it. */
export interface Override {
  readonly component: Component;
  readonly extent: Extent;
  readonly recurrenceId: CalendarTime;
  /** The instance that it stands for, as `Series.keyOf` says it; a whole day where `isDay`. */
  readonly key: number;
  /** A DATE for a series of times: it means whatever instance is on that day. */
  readonly isDay: boolean;
  readonly isFuture: boolean;
  /** For those after it: how far it moves them, in wall seconds. */
  readonly shift: number;
}

/** A date that the series has beside its rules. */
export interface AddedDate {
  readonly wall: number;
  /** Where the RDATE is a PERIOD. */
  readonly length: Length | undefined;
}

/** What takes instances out. */
export interface Exclusions {
  readonly keys: ReadonlySet<number>;
  readonly days: ReadonlySet<number>;
}

/** The last second that an end within a day includes. */
const DAY_END = DAY_SECONDS - 1;

/** The parts of an object that make its instances, read on demand. */
export class Series {
  readonly object: CalendarObject;
  readonly zones: ZoneResolver;
  /** Undefined without a master, or with one without dates. */
  readonly master: (Extent & { readonly component: Component }) | undefined;
  readonly isRecurring: boolean;
  readonly #rules = new Map<string, readonly Rule[]>();

  constructor(object: CalendarObject, calendarZone: string) {
    this.object = object;
    this.zones = new ZoneResolver(object.zones, calendarZone);
    const { master } = object;
    const extent = master === undefined ? undefined : extentOf(master, this.zones);
    this.master = master === undefined || extent === undefined ? undefined : { ...extent, component: master };
    this.isRecurring =
      object.overrides.length > 0 ||
      (master !== undefined && (propertyOf(master, 'RRULE') ?? propertyOf(master, 'RDATE')) !== undefined);
  }

  /** The rules of that name; they were checked when the object was read. */
  rules(name: 'RRULE' | 'EXRULE'): readonly Rule[] {
    const known = this.#rules.get(name);
    if (known !== undefined) return known;
    const component = this.master?.component;
    const rules = (component === undefined ? [] : propertiesOf(component, name))
      .map((property) => readRule(property.value))
      .filter((rule) => typeof rule !== 'string');
    this.#rules.set(name, rules);
    return rules;
  }

  /** The last wall second, on the master's clock, that a rule's UNTIL includes. */
  untilWall({ until }: Rule): number {
    if (until === undefined || this.master === undefined) return Infinity;
    const { start, zone } = this.master;
    if (start.isDate) return this.#dayOf(until) + DAY_END;
    if (until.isDate) return until.wall + DAY_END;
    return until.isUtc ? wallOf(zone, until.wall * 1000) : until.wall;
  }

  /**
   * Which instance a time means, however it is written: for a series of days the wall second of the day, for one of
   * times the instant. A time without a zone is on the master's clock.
   */
  keyOf(time: CalendarTime): number {
    if (this.master === undefined) return instantOf(this.zones.zoneOf(time), time.wall);
    if (this.master.start.isDate) return this.#dayOf(time);
    return instantOf(this.#zoneOf(time), time.wall);
  }

  /** The key of the instance that a rule puts at a wall time of the master's clock. */
  keyAt(wall: number): number {
    if (this.master === undefined || this.master.start.isDate) return wall;
    return instantOf(this.master.zone, wall);
  }

  /** Whether a DATE is meant for a series of times. */
  isDayKey(time: CalendarTime): boolean {
    return time.isDate && this.master !== undefined && !this.master.start.isDate;
  }

  overrides(): Override[] {
    const found: Override[] = [];
    for (const component of this.object.overrides) {
      const extent = extentOf(component, this.zones);
      const property = propertyOf(component, 'RECURRENCE-ID');
      if (extent === undefined || property === undefined) continue;
      const recurrenceId = timeOf(property);
      const isDay = this.isDayKey(recurrenceId);
      const isFuture = parameterOf(property, 'RANGE')?.toUpperCase() === 'THISANDFUTURE';
      const key = isDay ? recurrenceId.wall : this.keyOf(recurrenceId);
      const shift = isFuture ? this.#shiftOf(extent, recurrenceId) : 0;
      found.push({ component, extent, recurrenceId, key, isDay, isFuture, shift });
    }
    return found;
  }

  /** EXDATEs near the range; those of other years are not placed. */
  exclusions(range: WallRange): Exclusions {
    const keys = new Set<number>();
    const days = new Set<number>();
    for (const time of this.#times('EXDATE', range)) {
      if (this.isDayKey(time)) days.add(time.wall);
      else keys.add(this.keyOf(time));
    }
    return { keys, days };
  }

  /** RDATEs near the range. */
  addedDates(range: WallRange): AddedDate[] {
    const { master } = this;
    if (master === undefined) return [];
    return propertiesOf(master.component, 'RDATE').flatMap((property) => {
      const parts = property.value.split(',').filter((part) => part.trim() !== '');
      return timesOf(property).flatMap((time, at) => {
        if (!isNear(time, range)) return [];
        return [
          { wall: this.#wallOf(time, master), length: periodLength(parts[at] ?? '', property, time, this.zones) },
        ];
      });
    });
  }

  #times(name: string, range: WallRange): CalendarTime[] {
    const component = this.master?.component;
    if (component === undefined) return [];
    return propertiesOf(component, name).flatMap((property) => timesOf(property).filter((time) => isNear(time, range)));
  }

  /** The wall time on the master's clock of an added date. */
  #wallOf(time: CalendarTime, master: Extent): number {
    if (master.start.isDate) return this.#dayOf(time);
    if (time.isDate) return time.wall + mod(master.start.wall, DAY_SECONDS);
    return this.#zoneOf(time) === master.zone ? time.wall : wallOf(master.zone, this.keyOf(time));
  }

  #zoneOf(time: CalendarTime): Zone {
    const isFloating = !time.isUtc && time.tzid === undefined;
    return isFloating && this.master !== undefined ? this.master.zone : this.zones.zoneOf(time);
  }

  /**
   * The day that a time means in a series of days. Midnight is that day whatever zone it names, as writers put one
   * there; another time of UTC is some place's midnight, and the calendar's zone is the best guess of which.
   */
  #dayOf(time: CalendarTime): number {
    const isMidnight = mod(time.wall, DAY_SECONDS) === 0;
    if (!time.isUtc || isMidnight) return dateOf(time).wall;
    const wall = wallOf(this.zones.calendarZone, time.wall * 1000);
    return Math.floor(wall / DAY_SECONDS) * DAY_SECONDS;
  }

  #shiftOf({ start, zone }: Extent, recurrenceId: CalendarTime): number {
    const from = this.master === undefined ? zone : this.master.zone;
    if (start.isDate || recurrenceId.isDate) return start.wall - recurrenceId.wall;
    return wallOf(from, instantOf(zone, start.wall)) - wallOf(from, this.keyOf(recurrenceId));
  }
}

/** Two days cover every difference of clocks. */
function isNear(time: CalendarTime, range: WallRange): boolean {
  return time.wall >= range.from - 2 * DAY_SECONDS && time.wall <= range.to + 2 * DAY_SECONDS;
}
