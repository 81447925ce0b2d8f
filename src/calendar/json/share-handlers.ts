/** The handlers of who shares a calendar. */
import type { z } from 'zod';
import type { ClientHandlers } from '#src/http/client-routes.ts';
import type { CALENDAR_ROUTES } from '#src/protocol/calendars/calendar-routes.ts';
import type { putShare } from '#src/protocol/calendars/calendars.ts';
import { GROUP_SHAREE, type ShareAccess } from '#storage/calendars/calendar-records.ts';
import { Refusal } from '#src/protocol/errors.ts';
import { accessCalendar } from '../calendar-access.ts';
import { byOf, calendarOf } from './calendar-handlers.ts';
import type { CalendarServices } from '../calendar-services.ts';

type Names =
  | 'listCalendarShares'
  | 'putCalendarShare'
  | 'deleteCalendarShare'
  | 'putCalendarGroupShare'
  | 'deleteCalendarGroupShare';

export function makeShareHandlers(services: CalendarServices): ClientHandlers<Pick<typeof CALENDAR_ROUTES, Names>> {
  const { calendars, groupName } = services;
  const viewOf = (group: string, access: ShareAccess) => {
    const name = groupName(group);
    return { group, ...(name === undefined ? {} : { name }), access };
  };
  return {
    listCalendarShares: (request) => {
      const { calendar } = accessCalendar(calendars, request.user, calendarOf(request), 'owner');
      const groups = calendars.groupSharesOf(calendar.id).map(({ access, group }) => viewOf(group, access));
      return { status: 200, body: { items: calendars.sharesOf(calendar.id), groups, next: null } };
    },
    putCalendarShare: async (request) => {
      const { access } = request.body as z.infer<typeof putShare>;
      const { username: sharee = '' } = request.parameters;
      const { calendar } = accessCalendar(calendars, request.user, calendarOf(request), 'owner');
      // One answer for nobody, for somebody out of sight and for oneself, with whom there is nothing to share.
      const visible = services.maySee(request.user, sharee);
      if (!services.isPerson(sharee) || !visible || sharee === request.user) throw new Refusal('person_forbidden');
      await calendars.change((draft) => draft.share(calendar.id, sharee, access, byOf(request)));
      return { status: 200, body: { user: sharee, access } };
    },
    deleteCalendarShare: async (request) => {
      const { username: sharee = '' } = request.parameters;
      const least = sharee === request.user ? 'free_busy' : 'owner';
      const { calendar } = accessCalendar(calendars, request.user, calendarOf(request), least);
      // What a group has is left with the group.
      const isOwners = calendar.owner === request.user;
      if (!isOwners && !calendars.isSharedWith(calendar.id, sharee)) throw new Refusal('right_missing');
      await calendars.change((draft) => draft.share(calendar.id, sharee, null, byOf(request)));
      return { status: 204, body: undefined };
    },
    putCalendarGroupShare: async (request) => {
      const { access } = request.body as z.infer<typeof putShare>;
      const { group = '' } = request.parameters;
      const { calendar } = accessCalendar(calendars, request.user, calendarOf(request), 'owner');
      // One answer for a group that is not there and one of others, who are not theirs to know.
      if (!services.memberships.isMember(request.user, group)) throw new Refusal('group_not_found');
      await calendars.change((draft) => draft.share(calendar.id, `${GROUP_SHAREE}${group}`, access, byOf(request)));
      return { status: 200, body: viewOf(group, access) };
    },
    deleteCalendarGroupShare: async (request) => {
      const { group = '' } = request.parameters;
      const { calendar } = accessCalendar(calendars, request.user, calendarOf(request), 'owner');
      await calendars.change((draft) => draft.share(calendar.id, `${GROUP_SHAREE}${group}`, null, byOf(request)));
      return { status: 204, body: undefined };
    },
  };
}
