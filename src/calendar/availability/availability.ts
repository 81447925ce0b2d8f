/**
 * When somebody may be asked for their time at all (RFC 7953): read from a VCALENDAR of VAVAILABILITY, and worked out for a window.
 * Pure.
 */
import { CalendarFault } from '../icalendar/calendar-fault.ts';
import type { CalendarObject, Window } from '../icalendar/calendar-object.ts';
import {
  makeComponent,
  makeProperty,
  propertiesOf,
  propertyOf,
  textOf,
  type Component,
} from '../icalendar/component.ts';
import { readComponents, sourceOf } from '../icalendar/component-reader.ts';
import { joinPeriods, type BusyPeriod, type BusyType } from '../icalendar/free-busy.ts';
import { writeCalendar } from '../icalendar/generated-calendar.ts';
import { readCalendarObject } from '../icalendar/object-reader.ts';
import { expand } from '../recurrence/occurrences.ts';

/** Bytes of somebody's availability: thirty times, and a zone of a client's own. [409] */
export const AVAILABILITY_BYTES_MAX = 32 * 1024;
/** VAVAILABILITY and AVAILABLE components of one person, all together: each may cost ten milliseconds of the pool to expand. [409] */
export const AVAILABILITY_PARTS_MAX = 30;
/** Times of one AVAILABLE in a window: four a day of two months. Behind them nothing is known to be free. */
export const AVAILABLE_TIMES_MAX = 250;

/** A VAVAILABILITY: what is not available in its time is of its type. */
interface AvailabilityBlock {
  /** 1 counts before 9, and 9 before one without a priority. */
  readonly rank: number;
  readonly type: BusyType;
  /** As an event; undefined where it has no bounds. */
  readonly bounds: CalendarObject | undefined;
  /** Whether it ends; one that begins alone goes on for ever. */
  readonly hasEnd: boolean;
  /** Its AVAILABLE components, as events. */
  readonly available: readonly CalendarObject[];
}

/** @throws CalendarFault. */
export function readAvailability(text: string): AvailabilityBlock[] {
  const bytes = Buffer.from(text);
  if (bytes.length > AVAILABILITY_BYTES_MAX)
    throw new CalendarFault('max-resource-size', `An availability has ${AVAILABILITY_BYTES_MAX} bytes at most`);
  const [calendar, second] = readComponents(sourceOf(bytes));
  const blocks = calendar?.components.filter(({ name }) => name === 'VAVAILABILITY') ?? [];
  if (calendar === undefined || second !== undefined || blocks.length === 0)
    throw new CalendarFault('valid-calendar-data', 'It is one VCALENDAR with VAVAILABILITY');
  const parts = blocks.reduce((sum, { components }) => sum + components.length, blocks.length);
  if (parts > AVAILABILITY_PARTS_MAX)
    throw new CalendarFault('valid-calendar-data', `There are more than ${AVAILABILITY_PARTS_MAX} components`);
  const zones = new Map(
    calendar.components.flatMap((component) => {
      const tzid = component.name === 'VTIMEZONE' ? textOf(component, 'TZID') : undefined;
      return tzid === undefined ? [] : [[tzid, component] as const];
    }),
  );
  return blocks.map((block) => readBlock(block, zones));
}

function readBlock(block: Component, zones: ReadonlyMap<string, Component>): AvailabilityBlock {
  const priority = Number(propertyOf(block, 'PRIORITY')?.value.trim() ?? '0');
  if (!Number.isInteger(priority) || priority < 0 || priority > 9)
    throw new CalendarFault('valid-calendar-data', 'PRIORITY is 0 to 9');
  const hasEnd = ['DTEND', 'DURATION'].some((name) => propertyOf(block, name) !== undefined);
  const hasStart = propertyOf(block, 'DTSTART') !== undefined;
  if (hasEnd && !hasStart) throw new CalendarFault('valid-calendar-data', 'VAVAILABILITY ends and does not begin');
  const byUid = Map.groupBy(
    block.components.filter(({ name }) => name === 'AVAILABLE'),
    (available) => textOf(available, 'UID') ?? '',
  );
  // What is shorter than days is no time to be asked for anything, and dear to expand.
  if (block.components.some(isShorterThanDays))
    throw new CalendarFault('valid-calendar-data', 'AVAILABLE recurs by days, weeks, months or years');
  return {
    rank: priority === 0 ? 10 : priority,
    type: typeOf(block),
    bounds: hasStart ? eventOf([block], ['DTSTART', 'DTEND', 'DURATION'], zones) : undefined,
    hasEnd,
    available: [...byUid].flatMap(([uid, parts]) =>
      // Without a UID each stands for itself.
      (uid === '' ? parts.map((part) => [part]) : [parts]).map((own) => eventOf(own, TIMES, zones)),
    ),
  };
}

function isShorterThanDays(available: Component): boolean {
  return propertiesOf(available, 'RRULE').some(({ value }) => /FREQ=(?:HOURLY|MINUTELY|SECONDLY)/i.test(value));
}

const TIMES = ['DTSTART', 'DTEND', 'DURATION', 'RRULE', 'RDATE', 'EXDATE', 'RECURRENCE-ID'];

function typeOf(block: Component): BusyType {
  const said = propertyOf(block, 'BUSYTYPE')?.value.trim().toUpperCase();
  return said === 'BUSY' || said === 'BUSY-TENTATIVE' ? said : 'BUSY-UNAVAILABLE';
}

/** Components as one event of those properties: what recurs is read, held to its limits and expanded by one reader. */
function eventOf(
  components: readonly Component[],
  names: readonly string[],
  zones: ReadonlyMap<string, Component>,
): CalendarObject {
  const events = components.map(({ properties }) =>
    makeComponent('VEVENT', [
      makeProperty('UID', 'availability'),
      ...properties.filter(({ name }) => names.includes(name)),
    ]),
  );
  return readCalendarObject(Buffer.from(writeCalendar(events, { definitions: zones })));
}

/** An availability, and when it is asked about. */
export interface AvailabilityQuestion {
  readonly text: string;
  readonly window: Window;
  /** The person's, for floating times. */
  readonly zone: string;
}

export interface UnavailableTimes {
  readonly periods: readonly BusyPeriod[];
  /** Whether there is more than was looked at. */
  readonly isCut: boolean;
  /** Milliseconds that it took, for whoever pays. */
  readonly millis: number;
}

/** @throws CalendarFault. */
export function answerAvailability({ text, window, zone }: AvailabilityQuestion): UnavailableTimes {
  const began = performance.now();
  const found = unavailableTimes(readAvailability(text), window, zone);
  return { ...found, millis: performance.now() - began };
}

/**
 * When nobody is to be asked for, in a window, and whether there is more than was looked at. `zone` is the person's, for floating
 * times. A block of a higher priority counts alone as long as it lasts (RFC 7953, 4).
 */
function unavailableTimes(
  blocks: readonly AvailabilityBlock[],
  window: Window,
  zone: string,
): { readonly periods: readonly BusyPeriod[]; readonly isCut: boolean } {
  let periods: BusyPeriod[] = [];
  let isCut = false;
  for (const { available, bounds, hasEnd, type } of blocks.toSorted((a, b) => b.rank - a.rank)) {
    const lasting = lastingIn(bounds, hasEnd, window, zone);
    if (lasting === undefined) continue;
    const free: BusyPeriod[] = [];
    for (const one of available) {
      const found = expand(one, lasting, { zone, most: AVAILABLE_TIMES_MAX });
      isCut ||= found.isCut;
      free.push(...found.occurrences.map(({ end, start }) => ({ start, end, type: 'BUSY' as const })));
    }
    const outside = periods.flatMap((period) => cutOut(period, [{ start: lasting.from, end: lasting.to }]));
    const whole = { start: lasting.from, end: lasting.to, type };
    periods = [...outside, ...cutOut(whole, joinPeriods(free))];
  }
  return { periods: joinPeriods(periods), isCut };
}

/** As much of the window as a block is about. */
function lastingIn(
  bounds: CalendarObject | undefined,
  hasEnd: boolean,
  window: Window,
  zone: string,
): Window | undefined {
  if (bounds === undefined) return window;
  // What only begins has no length as an event, and lasts from there on.
  const [found] = expand(bounds, { from: -LATEST, to: LATEST }, { zone, most: 1 }).occurrences;
  const from = Math.max(window.from, found?.start ?? window.to);
  const to = Math.min(window.to, hasEnd ? (found?.end ?? window.to) : window.to);
  return from < to ? { from, to } : undefined;
}

/** Around every time that a calendar can name. */
const LATEST = 253_402_300_799_999;

/** What is left of a period without some spans, which are in order and apart from each other. */
function cutOut(period: BusyPeriod, spans: readonly { readonly start: number; readonly end: number }[]): BusyPeriod[] {
  const left: BusyPeriod[] = [];
  let { start } = period;
  for (const span of spans) {
    if (span.end <= start || span.start >= period.end) continue;
    if (span.start > start) left.push({ ...period, start, end: span.start });
    start = span.end;
  }
  if (start < period.end) left.push({ ...period, start });
  return left;
}
