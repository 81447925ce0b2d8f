/** The report `free-busy-query`: when a calendar is taken, without what by (RFC 4791 section 7.10). */
import type { NamedObject } from '#storage/calendars/calendar-records.ts';
import { CalendarFault } from '../../icalendar/calendar-fault.ts';
import { expand } from '../../recurrence/occurrences.ts';
import { type Occurrence, type Window } from '../../icalendar/calendar-object.ts';
import { textOf } from '../../icalendar/component.ts';
import { writeInstant } from '../../icalendar/values.ts';
import { TimeSlicer } from '../../time-slicer.ts';
import { broken } from '../dav-refusal.ts';
import type { DavContext } from '../dav-context.ts';
import type { DavAnswer, DavRequest } from '../exchange.ts';
import { readTimeRange } from '../filter.ts';
import { readStored } from '../../objects/object-cache.ts';
import type { CalendarResource } from '../resources.ts';
import { caldav, dav } from '../xml/xml-names.ts';
import { childOf, type XmlElement } from '../xml/xml-reader.ts';

/** The longest span that can be asked about: a little over a year, which a yearly overview needs. [403] */
export const FREE_BUSY_MILLIS_MAX = 400 * 86_400_000;
/** Instances of one object that are shown in the span: one every hour. Later ones are left out. */
const INSTANCES_MAX = 10_000;

type BusyType = 'BUSY' | 'BUSY-TENTATIVE';

/** Answers the report with a VFREEBUSY. @throws DavRefusal */
export async function freeBusyQuery(
  { context }: DavRequest,
  root: XmlElement,
  { calendar }: CalendarResource,
): Promise<DavAnswer> {
  const element = childOf(root, caldav('time-range'));
  if (element === undefined) throw broken(caldav('valid-filter'), 'A free-busy-query has a time range.');
  const window = readTimeRange(element, { isOpen: false });
  if (window.to - window.from > FREE_BUSY_MILLIS_MAX) {
    throw broken(dav('number-of-matches-within-limits'), 'Ask about 400 days at most.');
  }
  const periods: Record<BusyType, Window[]> = { BUSY: [], 'BUSY-TENTATIVE': [] };
  // A calendar whose entries do not count leaves all of its owner's time free.
  const objects =
    calendar.transparency === 'transparent'
      ? []
      : context.calendars.objectsBetween(calendar.id, window.from, window.to);
  const slicer = new TimeSlicer();
  for (const object of objects) {
    await slicer.pass();
    if (object.kind !== 'event') continue;
    for (const { start, end, component } of occurrencesOf(context, calendar, object, window)) {
      const type = busyTypeOf(component);
      if (type !== undefined && end > start)
        periods[type].push({ from: Math.max(start, window.from), to: Math.min(end, window.to) });
    }
  }
  return { status: 200, headers: { 'content-type': 'text/calendar; charset=utf-8' }, body: write(window, periods) };
}

function occurrencesOf(
  context: DavContext,
  { id, zone }: { readonly id: string; readonly zone: string },
  object: NamedObject,
  window: Window,
): readonly Occurrence[] {
  try {
    const stored = readStored(context, id, object);
    if (stored === undefined) return [];
    // A series that costs too much to be followed takes nothing from the others.
    return expand(stored, window, { zone, most: INSTANCES_MAX }).occurrences;
  } catch (error) {
    if (error instanceof CalendarFault) return [];
    throw error;
  }
}

function busyTypeOf(component: Occurrence['component']): BusyType | undefined {
  if (textOf(component, 'TRANSP')?.toUpperCase() === 'TRANSPARENT') return undefined;
  const status = textOf(component, 'STATUS')?.toUpperCase();
  if (status === 'CANCELLED') return undefined;
  return status === 'TENTATIVE' ? 'BUSY-TENTATIVE' : 'BUSY';
}

/** Periods in their order, those that touch made one. */
export function mergePeriods(periods: readonly Window[]): Window[] {
  const merged: { from: number; to: number }[] = [];
  for (const { from, to } of periods.toSorted((one, other) => one.from - other.from)) {
    const last = merged.at(-1);
    if (last !== undefined && from <= last.to) last.to = Math.max(last.to, to);
    else merged.push({ from, to });
  }
  return merged;
}

function write(window: Window, periods: Readonly<Record<BusyType, readonly Window[]>>): string {
  const lines = (['BUSY', 'BUSY-TENTATIVE'] as const).flatMap((type) =>
    mergePeriods(periods[type]).map(
      ({ from, to }) => `FREEBUSY${type === 'BUSY' ? '' : `;FBTYPE=${type}`}:${writeInstant(from)}/${writeInstant(to)}`,
    ),
  );
  return [
    'BEGIN:VCALENDAR',
    'VERSION:2.0',
    'PRODID:-//Parley//Calendar//EN',
    'BEGIN:VFREEBUSY',
    `UID:${crypto.randomUUID()}`,
    `DTSTAMP:${writeInstant(Date.now())}`,
    `DTSTART:${writeInstant(window.from)}`,
    `DTEND:${writeInstant(window.to)}`,
    ...lines,
    'END:VFREEBUSY',
    'END:VCALENDAR',
    '',
  ].join('\r\n');
}
