/** The handlers of who shares a calendar. */
import type { z } from 'zod';
import type { ClientHandlers } from '#src/http/client-routes.ts';
import type { CALENDAR_ROUTES } from '#src/protocol/calendars/calendar-routes.ts';
import type { putShare } from '#src/protocol/calendars/calendars.ts';
import { Refusal } from '#src/protocol/errors.ts';
import { accessCalendar } from '../calendar-access.ts';
import { byOf, calendarOf } from './calendar-handlers.ts';
import type { CalendarServices } from '../calendar-services.ts';

type Names = 'listCalendarShares' | 'putCalendarShare' | 'deleteCalendarShare';

export function makeShareHandlers(services: CalendarServices): ClientHandlers<Pick<typeof CALENDAR_ROUTES, Names>> {
  const { calendars } = services;
  return {
    listCalendarShares: (request) => {
      const { calendar } = accessCalendar(calendars, request.user, calendarOf(request), 'owner');
      return { status: 200, body: { items: calendars.sharesOf(calendar.id), next: null } };
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
      await calendars.change((draft) => draft.share(calendar.id, sharee, null, byOf(request)));
      return { status: 204, body: undefined };
    },
  };
}
