/** The handlers of subscriptions: for the owner of a calendar alone, since the address of a feed may be a secret. */
import type { ClientHandlers, ClientRequest } from '#src/http/client-routes.ts';
import type { CALENDAR_ROUTES } from '#src/protocol/calendars/calendar-routes.ts';
import type { ChangeSubscription } from '#src/protocol/calendars/calendar-subscriptions.ts';
import { accessCalendar } from '../calendar-access.ts';
import { byOf, calendarOf } from '../json/calendar-handlers.ts';
import type { CalendarServices } from '../calendar-services.ts';
import type { Subscriptions } from './subscriptions.ts';

type Names = 'readSubscription' | 'changeSubscription' | 'refreshSubscription';

export function makeSubscriptionHandlers(
  { calendars }: CalendarServices,
  subscriptions: Subscriptions,
): ClientHandlers<Pick<typeof CALENDAR_ROUTES, Names>> {
  const owned = (request: ClientRequest) =>
    accessCalendar(calendars, request.user, calendarOf(request), 'owner').calendar;
  return {
    readSubscription: (request) => ({ status: 200, body: subscriptions.read(owned(request)) }),
    changeSubscription: async (request) => {
      const form = request.body as ChangeSubscription;
      return { status: 200, body: await subscriptions.change(owned(request), form, byOf(request)) };
    },
    refreshSubscription: async (request) => ({
      status: 202,
      body: await subscriptions.refresh(owned(request)),
    }),
  };
}
