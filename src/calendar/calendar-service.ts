/** The calendar service: its routes on the listener that it is given (SVC-01, SVC-05). */
import type { FastifyInstance } from 'fastify';
import { addClientRoutes, type Authenticate } from '#src/http/client-routes.ts';
import { CALENDAR_ROUTES } from '#src/protocol/calendars/calendar-routes.ts';
import { addDavRoutes } from './dav/routes.ts';
import { makeAvailabilityHandlers } from './json/availability-handlers.ts';
import { makeCalendarHandlers } from './json/calendar-handlers.ts';
import type { CalendarServices } from './calendar-services.ts';
import { makeChangeHandlers } from './json/change-handlers.ts';
import { makeEntryHandlers } from './json/entry-handlers.ts';
import { makeFreeBusyHandlers } from './json/free-busy-handlers.ts';
import { makeFeedHandlers } from './ics/feed-handlers.ts';
import { paceOf } from './pace.ts';
import { Feeds } from './ics/feeds.ts';
import { addFileRoutes } from './ics/file-routes.ts';
import { makeInvitationHandlers } from './json/invitation-handlers.ts';
import { makeResourceHandlers } from './json/resource-handlers.ts';
import { makeProposalHandlers } from './json/proposal-handlers.ts';
import { makeSearchHandlers } from './json/search-handlers.ts';
import { makeShareHandlers } from './json/share-handlers.ts';
import { makeSubscriptionHandlers } from './subscriptions/subscription-handlers.ts';
import type { Subscriptions } from './subscriptions/subscriptions.ts';

/** Adds every route of the calendar to an app. `authenticate` judges session tokens as the coordinator does. */
export async function addCalendarService(
  app: FastifyInstance,
  services: CalendarServices,
  subscriptions: Subscriptions,
  authenticate: Authenticate,
): Promise<void> {
  const feeds = new Feeds(services);
  const handlers = {
    ...makeAvailabilityHandlers(services),
    ...makeCalendarHandlers(services, subscriptions),
    ...makeChangeHandlers(services),
    ...makeEntryHandlers(services),
    ...makeFeedHandlers(services, feeds),
    ...makeFreeBusyHandlers(services),
    ...makeInvitationHandlers(services),
    ...makeResourceHandlers(services),
    ...makeProposalHandlers(services),
    ...makeSearchHandlers(services),
    ...makeShareHandlers(services),
    ...makeSubscriptionHandlers(services, subscriptions),
  };
  const pace = paceOf(services.limiter);
  addClientRoutes(app, CALENDAR_ROUTES, handlers, authenticate, async (user, { method }) => await pace(user, method));
  await addFileRoutes(app, services, feeds, authenticate);
  await addDavRoutes(app, services.dav);
  app.addHook('onClose', async () => {
    // What is being delivered and sent is read on the pool.
    await Promise.all([services.deliveries.close(), services.mail.close()]);
    await services.pool.close();
  });
}
