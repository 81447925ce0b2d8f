/** Meetings as an administrator sees them, ends them and hands them over: without their links, which let people in (MTG-01). */
import { shownOf, type MeetingRecord, type Meetings } from '#src/meetings/meetings.ts';
import * as meetings from '#src/protocol/meetings/meetings.ts';
import { consoleRoute, page, type ConsolePage, type ConsoleRoute } from '../../route.ts';

export const meetingsRoutes = {
  listMeetings: consoleRoute.get('/meetings', 'Meetings, oldest first.', {
    access: 'users:read',
    vendor: 'open',
    query: meetings.listedMeetingsQuery,
    replies: { 200: meetings.listedMeetingsReply },
  }),
  readMeeting: consoleRoute.get('/meetings/:meeting', 'One meeting.', {
    access: 'users:read',
    vendor: 'open',
    replies: { 200: meetings.listedMeeting },
    errors: ['meeting_not_found'],
  }),
  cancelMeeting: consoleRoute.post(
    '/meetings/:meeting/cancel',
    'Cancels a meeting: its link and its calls end, its room stays.',
    {
      access: 'users:write',
      vendor: 'closed',
      audit: 'meeting.cancelled',
      replies: { 200: meetings.listedMeeting },
      errors: ['meeting_not_found'],
    },
  ),
  handOverMeeting: consoleRoute.put('/meetings/:meeting/host', 'Has a participant host a meeting.', {
    access: 'users:write',
    vendor: 'closed',
    audit: 'meeting.host_changed',
    body: meetings.handOverMeeting,
    replies: { 200: meetings.listedMeeting },
    errors: ['meeting_not_found', 'meeting_over', 'conversation_archived', 'participant_not_found', 'meetings_full'],
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
    cancelMeeting: async ({ by, parameters: { meeting } }) => ({
      status: 200,
      body: viewOf(meeting, await planned.end(meeting, by)),
    }),
    handOverMeeting: async ({ body, by, parameters: { meeting } }) => ({
      status: 200,
      body: viewOf(meeting, await planned.give(meeting, body.user, by)),
    }),
  });
}

function viewOf(id: string, record: MeetingRecord) {
  const { participants, waiting } = record;
  return { ...shownOf(id, record), participant_count: participants.length, waiting_count: waiting.length };
}
