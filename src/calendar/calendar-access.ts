/** Which calendars are there for a person, what they may in them, and the calendar that everybody has. */
import {
  ACCESS_RANK,
  type Access,
  type CalendarRecord,
  type ComponentKind,
} from '#storage/calendars/calendar-records.ts';
import type { AccessibleCalendar, OwnCalendar } from '#storage/calendars/calendar-reader.ts';
import type { CalendarForm } from '#storage/calendars/calendar-draft.ts';
import { ensureInbox } from '#storage/calendars/calendar-inbox.ts';
import type { Calendars } from '#storage/calendars/calendars.ts';
import { isId, makeId } from '#src/base/ids.ts';
import { Refusal } from '#src/protocol/errors.ts';

/** The store without what is in calendars: a door that has no more than this cannot pass the boundary by. */
export type CalendarsAlone = Omit<
  Calendars,
  | 'bytesOf'
  | 'changesSince'
  | 'eachBetween'
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
  | 'unansweredIn'
  | 'unansweredOf'
>;

/** The name in paths of the calendar that everybody has, and that invitations come to. */
export const DEFAULT_CALENDAR = 'default';

/** The name in paths of the list that tasks come to, of whoever has one. */
export const TASK_LIST = 'tasks';

/**
 * Has those calendars of a person that nobody stated a zone of be in the one of their profile: what takes whole days is at other
 * instants by it. Nothing to do is nothing written.
 */
export async function followOwnersZone(
  calendars: CalendarsAlone,
  user: string,
  zone: string | undefined,
): Promise<void> {
  calendars.refresh();
  const moved = zone === undefined ? [] : calendars.ownedBy(user).filter((one) => follows(one) && one.zone !== zone);
  if (zone === undefined || moved.length === 0) return;
  await calendars.change((draft) => {
    for (const { id } of moved) {
      const calendar = draft.calendar(id);
      // Somebody may have stated one, or removed it, this very moment.
      if (calendar !== undefined && follows(calendar)) draft.changeCalendar(id, { zone, followsOwner: true });
    }
  });
}

/** Of a calendar from before that was kept: one that is as it was made. */
function follows({ followsOwner, name, zone }: CalendarRecord): boolean {
  return followsOwner ?? (name === DEFAULT_CALENDAR && zone === 'UTC');
}

/** Makes a person's own calendar when they come for the first time. @param zone of their profile, which it follows. */
export async function ensureDefaultCalendar(calendars: CalendarsAlone, user: string, zone?: string): Promise<void> {
  await followOwnersZone(calendars, user, zone);
  if (calendars.ownedByName(user, DEFAULT_CALENDAR) !== undefined || calendars.hasOwned(user)) return;
  try {
    await calendars.createCalendar({
      owner: user,
      name: DEFAULT_CALENDAR,
      displayname: 'Calendar',
      description: '',
      color: '',
      order: 0,
      zone: zone ?? 'UTC',
      followsOwner: true,
      kinds: ['event'],
      transparency: 'opaque',
    });
  } catch (error) {
    // Two programs that come at once: the other one made it.
    if (!(error instanceof Refusal && error.code === 'calendar_name_taken')) throw error;
  }
}

/** Makes a person's inbox when they come for the first time: clients read it before anything is in it. */
export async function ensureOwnInbox(calendars: CalendarsAlone, user: string, zone = 'UTC'): Promise<void> {
  calendars.refresh();
  if (calendars.inboxOf(user) !== undefined) return;
  await calendars.change((draft) => ensureInbox(draft, user, zone));
}

/** Makes a list for a person who is asked to do something and has no calendar that takes tasks. @throws Refusal `calendars_full`. */
export async function ensureTaskList(calendars: CalendarsAlone, user: string): Promise<void> {
  calendars.refresh();
  if (defaultCalendarOf(calendars, user, 'todo') !== undefined) return;
  const form: Omit<CalendarForm, 'name'> = {
    owner: user,
    displayname: 'Tasks',
    description: '',
    color: '',
    order: 0,
    zone: defaultCalendarOf(calendars, user)?.zone ?? 'UTC',
    followsOwner: true,
    kinds: ['todo'],
    transparency: 'opaque',
  };
  try {
    await calendars.createCalendar({ ...form, name: TASK_LIST });
  } catch (error) {
    if (!(error instanceof Refusal && error.code === 'calendar_name_taken')) throw error;
    calendars.refresh();
    if (defaultCalendarOf(calendars, user, 'todo') !== undefined) return;
    // A calendar of that name, which takes no tasks.
    await calendars.createCalendar({ ...form, name: makeId('cal', Date.now()).slice(4) });
  }
}

/**
 * The calendar that invitations of a kind to a person come to: the one everybody has, the list of tasks, or the first of their
 * own that takes them.
 */
export function defaultCalendarOf(
  calendars: CalendarsAlone,
  user: string,
  kind: ComponentKind = 'event',
): CalendarRecord | undefined {
  for (const name of kind === 'todo' ? [TASK_LIST, DEFAULT_CALENDAR] : [DEFAULT_CALENDAR]) {
    const id = calendars.ownedByName(user, name);
    const calendar = id === undefined ? undefined : calendars.calendar(id);
    if (calendar?.kinds.includes(kind) === true && calendar.subscribed !== true) return calendar;
  }
  return writableOwn(calendars, user).find(({ kinds }) => kinds.includes(kind));
}

/** The calendars in whose owner's name a person answers: their own, and those of which they are the delegate, by id. */
export function answeredBy(calendars: CalendarsAlone, user: string): AccessibleCalendar[] {
  return calendars
    .servedTo(user)
    .filter(({ access, calendar }) => ACCESS_RANK[access] >= ACCESS_RANK.delegate && calendar.subscribed !== true)
    .toSorted((one, other) => (one.calendar.id < other.calendar.id ? -1 : 1));
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
  if (ACCESS_RANK[access] < ACCESS_RANK[least]) throw new Refusal('right_missing');
  if (least === 'write' && calendar.subscribed === true) throw new Refusal('calendar_read_only');
  return { calendar, access };
}
