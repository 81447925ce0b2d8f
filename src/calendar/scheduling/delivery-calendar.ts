/** Where somebody has an object that others tell them of, or is to have it. */
import { Refusal } from '#src/protocol/errors.ts';
import type { CalendarRecord } from '#storage/calendars/calendar-records.ts';
import type { Calendars } from '#storage/calendars/calendars.ts';
import type { AddressBook } from '../address-book.ts';
import { defaultCalendarOf, ensureDefaultCalendar, ensureTaskList } from '../calendar-access.ts';

export interface PlacingOptions {
  readonly calendars: Calendars;
  readonly book: Pick<AddressBook, 'zoneOf'>;
  /** Whether somebody is there who may get a calendar for what they are invited to. */
  readonly isPerson: (user: string) => boolean;
}

/** A calendar, and the object in it when it is there. */
export interface Place {
  readonly calendar: CalendarRecord;
  readonly name?: string;
  readonly etag?: string;
  /** Whether the server schedules for that object. */
  readonly isScheduled?: boolean;
}

/** The line that a message of tasks has; what only looks like one is refused by the calendar that it comes to. */
const TASK = /^BEGIN:VTODO\s*$/im;

/**
 * The place of a message's object; undefined where there is none and the message makes none.
 * @throws Refusal `calendar_not_found` where they have no calendar for it.
 */
export async function placeOf(
  { book, calendars, isPerson }: PlacingOptions,
  user: string,
  { bytes, method, uid }: { readonly method: string; readonly uid: string; readonly bytes?: Uint8Array },
): Promise<Place | undefined> {
  calendars.refresh();
  for (const { calendar, access } of calendars.servedTo(user)) {
    // What a feed says of people is said by nobody.
    if (calendar.subscribed === true) continue;
    // Whoever organises may do so in a calendar that others let them write; what one is invited to is in an own one.
    const isToOrganizer = method === 'REPLY' || method === 'COUNTER';
    const isOrganizers = isToOrganizer && (access === 'write' || access === 'delegate');
    if (access !== 'owner' && !isOrganizers) continue;
    const name = calendars.nameByUid(calendar.id, uid);
    const found = name === undefined ? undefined : calendars.object(calendar.id, name);
    if (name !== undefined && found !== undefined)
      return { calendar, name, etag: found.etag, isScheduled: found.scheduled };
  }
  if (method !== 'REQUEST') return undefined;
  // Whoever left while it was on its way gets no calendar any more.
  if (isPerson(user)) await ensureDefaultCalendar(calendars, user, book.zoneOf(user));
  const isTask = bytes !== undefined && TASK.test(Buffer.from(bytes).toString('latin1'));
  if (isTask && isPerson(user)) await ensureTaskList(calendars, user);
  calendars.refresh();
  const calendar = defaultCalendarOf(calendars, user, isTask ? 'todo' : 'event');
  if (calendar === undefined) throw new Refusal('calendar_not_found');
  return { calendar };
}
