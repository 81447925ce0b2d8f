/** The handlers of invitations: which wait for an answer, and answering in one's own name (CAL-03). */
import type { z } from 'zod';
import type { ClientHandlers } from '#src/http/client-routes.ts';
import type { CALENDAR_ROUTES } from '#src/protocol/calendars/calendar-routes.ts';
import type { answerInvitation, InvitationsQuery } from '#src/protocol/calendars/calendars.ts';
import { Refusal } from '#src/protocol/errors.ts';
import { entryIdOf } from '#storage/calendars/calendar-records.ts';
import { accessCalendar, answeredBy } from '../calendar-access.ts';
import type { CalendarServices } from '../calendar-services.ts';
import { CalendarContents } from '../objects/calendar-contents.ts';
import { componentsOf } from '../objects/derivation.ts';
import { asEntry, findEntry, readEntry, readEntryLeft } from './entry-handlers.ts';
import type { CalendarObject } from '../icalendar/calendar-object.ts';
import { propertiesOf, type Component } from '../icalendar/component.ts';
import { changePerson, overrideFor } from '../icalendar/edits.ts';
import { TimeSlicer } from '../time-slicer.ts';

export function makeInvitationHandlers(
  services: CalendarServices,
): ClientHandlers<Pick<typeof CALENDAR_ROUTES, 'listInvitations' | 'answerInvitation'>> {
  const { book, calendars, writer } = services;
  return {
    listInvitations: async ({ user, query }) => {
      const { after, limit } = query as InvitationsQuery;
      const cursor = after === undefined ? undefined : readCursor(after);
      calendars.refresh();
      const slicer = new TimeSlicer({ budgets: services.budgets, user });
      const items = [];
      let next: string | null = null;
      let left = limit;
      for (const accessible of answeredBy(calendars, user)) {
        const { calendar } = accessible;
        if (left === 0 || (cursor !== undefined && calendar.id < cursor.calendar)) continue;
        const behind = cursor?.calendar === calendar.id ? { after: cursor.name } : {};
        const names = calendars.unansweredIn(calendar, { ...behind, limit: left });
        const contents = new CalendarContents(calendars, accessible);
        for (const name of names) {
          await slicer.pass();
          const stored = contents.object(name);
          if (stored === undefined) continue;
          const entry = readEntryLeft(services, calendar, contents, entryIdOf(stored.uid));
          if (entry !== undefined) items.push({ calendar_id: calendar.id, entry });
        }
        left -= names.length;
        const last = names.at(-1);
        if (left === 0 && last !== undefined) next = writeCursor(calendar.id, last);
      }
      return { status: 200, body: { items, next } };
    },
    answerInvitation: async ({ user, parameters: { calendar: id = '', entry = '' }, body }) => {
      const { answer, recurrence_id: recurrenceId } = body as z.infer<typeof answerInvitation>;
      const { calendar, contents, stored, object } = findInvitation(services, user, id, entry);
      const components = answeredIn(object, recurrenceId, calendar.zone);
      const lines = components.flatMap((component) => propertiesOf(component, 'ATTENDEE'));
      const own = lines.find(({ value }) => book.userOf(value) === calendar.owner);
      if (own === undefined) throw new Refusal('answer_forbidden');
      const changes = { PARTSTAT: answer.toUpperCase(), RSVP: undefined };
      const bytes = changePerson(object, { name: 'ATTENDEE', address: own.value }, changes, components);
      if (bytes === undefined) throw new Refusal('answer_forbidden');
      await asEntry(() => writer.put(user, id, stored.name, bytes, { ifMatch: [stored.etag] }));
      return { status: 200, body: { calendar_id: id, entry: readEntry(services, calendar, contents, entry) } };
    },
  };
}

/**
 * An entry that somebody else organises, in a calendar of the person's own, or of somebody whose delegate they are.
 * @throws Refusal `invitation_not_found`.
 */
export function findInvitation(services: CalendarServices, user: string, id: string, entry: string) {
  try {
    const accessible = accessCalendar(services.calendars, user, id, 'delegate');
    const { calendar } = accessible;
    // A feed invites nobody, whatever stands in it.
    if (calendar.subscribed === true) throw new Refusal('invitation_not_found');
    const contents = new CalendarContents(services.calendars, accessible);
    return { calendar, contents, ...findEntry(contents, entry) };
  } catch (error) {
    if (error instanceof Refusal) throw new Refusal('invitation_not_found');
    throw error;
  }
}

/** All of it, or the one occurrence, which has to be one that the invitation itself describes. */
function answeredIn(object: CalendarObject, recurrenceId: string | undefined, zone: string): readonly Component[] {
  if (recurrenceId === undefined) return componentsOf(object);
  const override = overrideFor(object, recurrenceId, zone);
  if (override === undefined) throw new Refusal('invitation_not_found');
  return [override];
}

/** A place in a list that goes over calendars. */
export function writeCursor(calendar: string, name: string): string {
  return Buffer.from(`${calendar}\0${name}`).toString('base64url');
}

/** @throws Refusal `cursor_invalid`. */
export function readCursor(cursor: string): { readonly calendar: string; readonly name: string } {
  const text = Buffer.from(cursor, 'base64url').toString('utf8');
  if (!/^cal_[0-9a-z]{22}\0[^\0]+$/.test(text)) throw new Refusal('cursor_invalid', { field: 'after' });
  const split = text.indexOf('\0');
  return { calendar: text.slice(0, split), name: text.slice(split + 1) };
}
