/** Working hours of a week, as JSON has them, written as a VAVAILABILITY and read from one that says nothing else. */
import type { z } from 'zod';
import type { putWorkingHours } from '#src/protocol/calendars/availability.ts';
import { WEEKDAYS, type Weekday } from '#src/protocol/calendars/calendars.ts';
import type { CalendarDraft } from '#storage/calendars/calendar-draft.ts';
import { changeProperties } from '#storage/calendars/calendar-properties.ts';
import type { CalendarsAlone } from '../calendar-access.ts';
import {
  makeComponent,
  makeProperty,
  parameterOf,
  propertiesOf,
  propertyOf,
  type Component,
} from '../icalendar/component.ts';
import { readComponents, sourceOf } from '../icalendar/component-reader.ts';
import { writeCalendar } from '../icalendar/generated-calendar.ts';
import { readTime } from '../icalendar/values.ts';

export type WorkingHours = z.infer<typeof putWorkingHours>;

/** Where a person's availability is kept among what their clients keep: it goes with the person. */
const RESOURCE = 'availability';
const NAME = 'text';

/** Somebody's availability as it was stored; undefined where they said nothing. */
export function availabilityOf(calendars: CalendarsAlone, user: string): string | undefined {
  return calendars.properties(RESOURCE, user)[NAME];
}

/** Stores an availability that was read before, or with null none. @throws Refusal `properties_too_large`. */
export function putAvailability(draft: CalendarDraft, user: string, text: string | null): void {
  changeProperties(draft, RESOURCE, user, { [NAME]: text });
}

/** The Monday from which hours count: before everything that is asked for. */
const MONDAY = Date.UTC(1970, 0, 5);
const DAY_MILLIS = 86_400_000;

/** The VCALENDAR of working hours: outside of them their owner is unavailable. */
export function writeWorkingHours({ hours, tz }: WorkingHours): string {
  const available = hours.map(({ day, from, to }, index) => {
    const date = (offset: number) =>
      new Date(MONDAY + (WEEKDAYS.indexOf(day) + offset) * DAY_MILLIS).toISOString().slice(0, 10).replaceAll('-', '');
    const at = (time: string) => (time === '24:00' ? `${date(1)}T000000` : `${date(0)}T${time.replace(':', '')}00`);
    const zoned = (name: string, time: string) => makeProperty(name, at(time), [['TZID', tz]]);
    return makeComponent('AVAILABLE', [
      makeProperty('UID', `hours-${index}`),
      ...[zoned('DTSTART', from), zoned('DTEND', to)],
      makeProperty('RRULE', 'FREQ=WEEKLY'),
    ]);
  });
  return writeCalendar([makeComponent('VAVAILABILITY', [makeProperty('UID', 'working-hours')], available)]);
}

/** The hours of a stored availability; undefined for one that says more than hours of a week in one zone. */
export function readWorkingHours(text: string): WorkingHours | undefined {
  const [calendar] = readComponents(sourceOf(Buffer.from(text)));
  const blocks = calendar?.components.filter(({ name }) => name === 'VAVAILABILITY') ?? [];
  const [block, second] = blocks;
  const isBounded = ['DTSTART', 'DTEND', 'DURATION', 'BUSYTYPE'].some(
    (name) => block !== undefined && propertyOf(block, name) !== undefined,
  );
  if (block === undefined || second !== undefined || isBounded) return undefined;
  const parts = block.components.filter(({ name }) => name === 'AVAILABLE').map(hoursIn);
  const zones = new Set(parts.map((part) => part?.tz));
  const [tz] = zones;
  if (zones.size !== 1 || tz === undefined) return undefined;
  return { tz, hours: parts.flatMap((part) => part?.hours ?? []) };
}

const CODES = WEEKDAYS.map((day) => day.toUpperCase());

/** One AVAILABLE as hours of weekdays; undefined where it is anything else. */
function hoursIn(available: Component): WorkingHours | undefined {
  const [start, end] = [propertyOf(available, 'DTSTART'), propertyOf(available, 'DTEND')];
  const tz = start === undefined ? undefined : parameterOf(start, 'TZID');
  const others = ['RDATE', 'EXDATE', 'RECURRENCE-ID'].some((name) => propertyOf(available, name) !== undefined);
  const rules = propertiesOf(available, 'RRULE');
  const rule = new Map(
    rules[0]?.value
      .toUpperCase()
      .split(';')
      .map((part) => part.split('=') as [string, string]),
  );
  const [from, to] = [start, end].map((one) => (one === undefined ? undefined : readTime(one.value.trim(), tz)));
  const isPlain = [...rule.keys()].every((name) => ['FREQ', 'BYDAY', 'INTERVAL', 'WKST'].includes(name));
  const isWeekly = rule.get('FREQ') === 'WEEKLY' && (rule.get('INTERVAL') ?? '1') === '1';
  if (from === undefined || to === undefined || from.isDate || tz === undefined || end === undefined) return undefined;
  if (others || rules.length !== 1 || !isPlain || !isWeekly || parameterOf(end, 'TZID') !== tz) return undefined;
  // Walls count seconds; the week of 1970 began on a Thursday.
  const days = Math.floor(from.wall / 86_400);
  const own = CODES[(((days + 3) % 7) + 7) % 7] ?? '';
  const named = rule.get('BYDAY')?.split(',') ?? [own];
  const length = to.wall - days * 86_400;
  if (length > 86_400 || length <= from.wall - days * 86_400 || named.some((code) => !CODES.includes(code)))
    return undefined;
  const times = { from: clockOf(from.wall - days * 86_400), to: clockOf(length) };
  return { tz, hours: named.map((code) => ({ day: code.toLowerCase() as Weekday, ...times })) };
}

function clockOf(seconds: number): string {
  const two = (number: number) => String(Math.floor(number)).padStart(2, '0');
  return `${two(seconds / 3_600)}:${two((seconds % 3_600) / 60)}`;
}
