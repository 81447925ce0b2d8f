/** The handler of a calendar's changes: exact, or refused where it cannot be (CAL-01). */
import type { ClientHandlers } from '#src/http/client-routes.ts';
import type { CALENDAR_ROUTES } from '#src/protocol/calendars/calendar-routes.ts';
import type { ChangesQuery, EntryView } from '#src/protocol/calendars/calendars.ts';
import { Refusal } from '#src/protocol/errors.ts';
import { entryIdOf, type CalendarRecord } from '#storage/calendars/calendar-records.ts';
import { SYNC_START, type SyncPosition } from '#storage/calendars/calendar-reader.ts';
import { accessCalendar } from '../calendar-access.ts';
import { calendarOf } from './calendar-handlers.ts';
import type { CalendarServices } from '../calendar-services.ts';
import { readEntryLeft } from './entry-handlers.ts';
import { CalendarContents, type ShownObject } from '../objects/calendar-contents.ts';
import { TimeSlicer } from '../time-slicer.ts';

export function makeChangeHandlers(
  services: CalendarServices,
): ClientHandlers<Pick<typeof CALENDAR_ROUTES, 'readCalendarChanges'>> {
  const { calendars, epoch } = services;
  return {
    readCalendarChanges: async (request) => {
      const { after, limit } = request.query as ChangesQuery;
      const accessible = accessCalendar(calendars, request.user, calendarOf(request), 'read');
      const { calendar } = accessible;
      const contents = new CalendarContents(calendars, accessible);
      const position = after === undefined ? SYNC_START : readCursor(epoch, contents.scope, after);
      const page = contents.changesSince(position, limit);
      if (page === 'expired') throw new Refusal('sync_cursor_expired');
      const items = await readAll(services, request.user, calendar, contents, page.changed);
      // What was removed and is back under another name is among the items, now or on a later page.
      const gone = page.removed.filter(({ uid }) => contents.nameByUid(uid) === undefined);
      const body = {
        items,
        deleted: [...new Set(gone.map(({ uid }) => entryIdOf(uid)))],
        sync_seq: page.position.after,
        next: writeCursor(epoch, contents.scope, page.position),
        more: page.more,
      };
      return { status: 200, body };
    },
  };
}

/** Entries as they are by now. One that went meanwhile is among the removals of the next page. */
async function readAll(
  services: CalendarServices,
  user: string,
  calendar: CalendarRecord,
  contents: CalendarContents,
  changed: readonly ShownObject[],
): Promise<EntryView[]> {
  const items: EntryView[] = [];
  const slicer = new TimeSlicer({ budgets: services.budgets, user });
  for (const { uid } of changed) {
    const item = readEntryLeft(services, calendar, contents, entryIdOf(uid));
    if (item !== undefined) items.push(item);
    await slicer.pass();
  }
  return items;
}

/** Opaque to callers: the epoch tells a data folder from the same one restored from a backup. */
export function writeCursor(epoch: string, scope: string, { after, base }: SyncPosition): string {
  return Buffer.from(`${epoch}:${scope}:${after}-${base}`).toString('base64url');
}

/**
 * @throws Refusal `cursor_invalid` for what is no cursor of this calendar, `sync_cursor_expired` for another epoch's and for one of
 *   whoever saw another part of it.
 */
export function readCursor(epoch: string, scope: string, cursor: string): SyncPosition {
  const text = Buffer.from(cursor, 'base64url').toString('latin1');
  const match = /^([\w-]{1,64}):(cal_[0-9a-z]{22})(-shown)?:(\d{1,15})-(\d{1,15})$/.exec(text);
  const [, of, id, part = '', after, base] = match ?? [];
  if (id === undefined || !scope.startsWith(id)) throw new Refusal('cursor_invalid', { field: 'after' });
  if (of !== epoch || `${id}${part}` !== scope) throw new Refusal('sync_cursor_expired');
  return { after: Number(after), base: Number(base) };
}
