/** Meetings as an administrator sees them: without their links, which let people in (MTG-01). */
import { shownOf, type MeetingRecord, type Meetings } from '#src/meetings/meetings.ts';
import * as meetings from '#src/protocol/meetings/meetings.ts';
import { consoleRoute, page, type ConsolePage, type ConsoleRoute } from '../../route.ts';

export const meetingsRoutes = {
  listMeetings: consoleRoute.get('/meetings', 'Meetings, oldest first.', {
    access: 'users:read',
    vendor: 'open',
    query: meetings.meetingsQuery,
    replies: { 200: meetings.listedMeetingsReply },
  }),
  readMeeting: consoleRoute.get('/meetings/:meeting', 'One meeting.', {
    access: 'users:read',
    vendor: 'open',
    replies: { 200: meetings.listedMeeting },
    errors: ['meeting_not_found'],
  }),
} as const satisfies Record<string, ConsoleRoute>;

export function makeMeetingsPage({ meetings: planned }: { readonly meetings: Meetings }): ConsolePage {
  return page(meetingsRoutes, {
    listMeetings: ({ query }) => {
      const found = planned.listAll(query.after, query.limit);
      const items = found.map(({ id, document }) => viewOf(id, document));
      return { status: 200, body: { items, next: found.length < query.limit ? null : (found.at(-1)?.id ?? null) } };
    },
    readMeeting: ({ parameters: { meeting } }) => ({
      status: 200,
      body: viewOf(meeting, planned.readAny(meeting)),
    }),
  });
}

function viewOf(id: string, record: MeetingRecord) {
  const { participants, waiting } = record;
  return { ...shownOf(id, record), participant_count: participants.length, waiting_count: waiting.length };
}
