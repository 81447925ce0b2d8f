/** Calendar objects for tests, written short. */
import { expand } from '#src/calendar/recurrence/occurrences.ts';
import { indexOf } from '#src/calendar/recurrence/object-index.ts';
import { readCalendarObject } from '#src/calendar/icalendar/object-reader.ts';
import { type Expansion } from '#src/calendar/icalendar/calendar-object.ts';

/** A VCALENDAR of those components, each the lines of a VEVENT without UID, or whole where it begins with BEGIN. */
export function calendarText(...components: string[]): string {
  const bodies = components.map((it) => {
    const lines = it.trim().split(/\n\s*/);
    return lines[0]?.startsWith('BEGIN:') === true
      ? lines
      : ['BEGIN:VEVENT', 'UID:series@example.org', ...lines, 'END:VEVENT'];
  });
  return ['BEGIN:VCALENDAR', 'VERSION:2.0', ...bodies.flat(), 'END:VCALENDAR', ''].join('\r\n');
}

/** The object of that text. */
export function objectOf(...components: string[]) {
  return readCalendarObject(Buffer.from(calendarText(...components)));
}

/** The instances between two instants (`2026-11-01`, in UTC) with Berlin as the calendar's zone. */
export function expanded(components: readonly string[], from: string, to: string, zone = 'Europe/Berlin'): Expansion {
  return expand(objectOf(...components), { from: Date.parse(from), to: Date.parse(to) }, { zone, most: 3000 });
}

/** The starts of those instances in UTC: `2026-11-01T08:00Z`. */
export function startsOf(components: readonly string[], from: string, to: string, zone?: string): string[] {
  return expanded(components, from, to, zone).occurrences.map(({ start }) => minute(start));
}

/** The index row of those components. */
export function indexed(components: readonly string[], zone = 'Europe/Berlin') {
  return indexOf(objectOf(...components), zone);
}

/** An instant as `2026-11-01T08:00Z`. */
export function minute(instant: number): string {
  return `${new Date(instant).toISOString().slice(0, 16)}Z`;
}
