/** The handlers of published feeds: for the owner of a calendar alone. */
import type { z } from 'zod';
import { formatInstant } from '#src/base/time.ts';
import type { ClientHandlers, ClientRequest } from '#src/http/client-routes.ts';
import type { FeedView, publishFeed } from '#src/protocol/calendars/calendar-files.ts';
import type { CALENDAR_ROUTES } from '#src/protocol/calendars/calendar-routes.ts';
import type { FeedRecord } from '#storage/calendars/calendar-records.ts';
import { accessCalendar } from '../calendar-access.ts';
import { byOf, calendarOf } from '../json/calendar-handlers.ts';
import type { CalendarServices } from '../calendar-services.ts';
import type { Feeds } from './feeds.ts';

type Names = 'listFeeds' | 'publishFeed' | 'revokeFeed';

export function makeFeedHandlers(
  { calendars }: CalendarServices,
  feeds: Feeds,
): ClientHandlers<Pick<typeof CALENDAR_ROUTES, Names>> {
  const owned = (request: ClientRequest) =>
    accessCalendar(calendars, request.user, calendarOf(request), 'owner').calendar.id;
  return {
    listFeeds: (request) => ({
      status: 200,
      body: { items: feeds.list(owned(request)).map(viewOf), next: null },
    }),
    publishFeed: async (request) => {
      const { feed, path } = await feeds.publish(
        owned(request),
        request.body as z.infer<typeof publishFeed>,
        byOf(request),
      );
      return { status: 201, body: { ...viewOf(feed), path } };
    },
    revokeFeed: async (request) => {
      await feeds.revoke(owned(request), request.parameters['feed'] ?? '', byOf(request));
      return { status: 204, body: undefined };
    },
  };
}

function viewOf({ id, detail, note, createdAt }: FeedRecord): FeedView {
  return { id, detail, note, created_at: formatInstant(createdAt) };
}
