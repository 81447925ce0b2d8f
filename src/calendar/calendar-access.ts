/** Which calendars are there for a person, what they may in them, and the calendar that everybody has. */
import type { Access, CalendarRecord } from '#storage/calendars/calendar-records.ts';
import type { AccessibleCalendar, OwnCalendar } from '#storage/calendars/calendar-reader.ts';
import type { Calendars } from '#storage/calendars/calendars.ts';
import { isId } from '#src/base/ids.ts';
import { Refusal } from '#src/protocol/errors.ts';

/** The store without what is in calendars: a door that has no more than this cannot pass the boundary by. */
export type CalendarsAlone = Omit<
  Calendars,
  | 'bytesOf'
  | 'changesSince'
  | 'environment'
  | 'nameByEntry'
  | 'nameByUid'
  | 'object'
  | 'objectProperties'
  | 'objects'
  | 'objectsBetween'
  | 'read'
  | 'removal'
  | 'revisionsOf'
  | 'unansweredOf'
>;

/** The name in paths of the calendar that everybody has, and that invitations come to. */
export const DEFAULT_CALENDAR = 'default';

/** What each kind of access includes. */
const RANK: Readonly<Record<Access, number>> = { free_busy: 0, read: 1, write: 2, delegate: 3, owner: 4 };

/** Makes a person's own calendar when they come for the first time. */
export async function ensureDefaultCalendar(calendars: CalendarsAlone, user: string): Promise<void> {
  calendars.refresh();
  if (calendars.ownedByName(user, DEFAULT_CALENDAR) !== undefined || calendars.hasOwned(user)) return;
  try {
    await calendars.createCalendar({
      owner: user,
      name: DEFAULT_CALENDAR,
      displayname: 'Calendar',
      description: '',
      color: '',
      order: 0,
      zone: 'UTC',
      kinds: ['event'],
      transparency: 'opaque',
    });
  } catch (error) {
    // Two programs that come at once: the other one made it.
    if (!(error instanceof Refusal && error.code === 'calendar_name_taken')) throw error;
  }
}

/** The calendar that invitations to a person come to: the one everybody has, or the first of what is left. */
export function defaultCalendarOf(calendars: CalendarsAlone, user: string): CalendarRecord | undefined {
  const id = calendars.ownedByName(user, DEFAULT_CALENDAR);
  if (id !== undefined) return calendars.calendar(id);
  return writableOwn(calendars, user).find(({ kinds }) => kinds.includes('event'));
}

/** A person's own calendars but those that follow a feed, whose entries nobody here wrote. */
export function writableOwn(calendars: CalendarsAlone, user: string): OwnCalendar[] {
  return calendars.ownedBy(user).filter(({ subscribed }) => subscribed !== true);
}

/**
 * A calendar as the person has it.
 * @throws Refusal `calendar_not_found` for one that is not there and one that is not theirs, `right_missing`,
 *   `calendar_read_only` for `write` of one that follows a feed.
 */
export function accessCalendar(calendars: CalendarsAlone, user: string, id: string, least: Access): AccessibleCalendar {
  calendars.refresh();
  const calendar = isId('cal', id) ? calendars.calendar(id) : undefined;
  const access = calendar === undefined ? undefined : calendars.accessOf(user, id);
  if (calendar === undefined || access === undefined) throw new Refusal('calendar_not_found');
  if (RANK[access] < RANK[least]) throw new Refusal('right_missing');
  if (least === 'write' && calendar.subscribed === true) throw new Refusal('calendar_read_only');
  return { calendar, access };
}
