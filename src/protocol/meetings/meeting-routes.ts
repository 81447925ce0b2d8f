/** The HTTP forms of meetings on the coordinator, as data: see `routes.ts` (MTG-01). */
import * as meetings from './meetings.ts';
import { route, type Route } from '../route.ts';

const missing = 'meeting_not_found';
const right = 'right_missing';
const over = 'meeting_over';
/** The room takes nobody in. */
const shut = 'conversation_archived';

export const MEETING_ROUTES = {
  createMeeting: route.post(
    '/v1/meetings',
    'Creates a meeting and its room: scheduled with a start, instant without one.',
    {
      body: meetings.createMeeting,
      replies: { 201: meetings.meeting },
      errors: ['participant_unknown', 'meetings_full', 'invitations_full', 'quota_exceeded', right],
    },
  ),
  listMeetings: route.get(
    '/v1/meetings',
    'Pages through the meetings that the caller takes part in. A page that is filtered may be short, or empty, while there are more.',
    {
      query: meetings.meetingsQuery,
      replies: { 200: meetings.meetingsReply },
      errors: ['cursor_invalid'],
    },
  ),
  readMeeting: route.get('/v1/meetings/:meeting', 'Reads a meeting.', {
    replies: { 200: meetings.meeting },
    errors: [missing],
  }),
  changeMeeting: route.patch('/v1/meetings/:meeting', 'Changes a meeting; for its host.', {
    body: meetings.changeMeeting,
    replies: { 200: meetings.meeting },
    errors: [
      missing,
      right,
      over,
      shut,
      'participant_unknown',
      'meeting_full',
      'invitation_declined',
      'invitations_full',
    ],
  }),
  cancelMeeting: route.post(
    '/v1/meetings/:meeting/cancel',
    'Cancels a meeting; for its host and the owners of its room. Its link and its calls end, its room stays.',
    { replies: { 200: meetings.meeting }, errors: [missing, right] },
  ),
  handOverMeeting: route.post(
    '/v1/meetings/:meeting/host',
    'Has another participant host it; for its host and the owners of its room.',
    {
      body: meetings.handOverMeeting,
      replies: { 200: meetings.meeting },
      errors: [missing, right, over, shut, 'participant_not_found', 'meetings_full'],
    },
  ),
  renewMeetingLink: route.post(
    '/v1/meetings/:meeting/link',
    'Makes a new link and ends the one before; for the host.',
    { replies: { 200: meetings.meeting }, errors: [missing, right, over] },
  ),
  joinMeeting: route.post(
    '/v1/meetings/join/:link',
    'Comes by link: into the room, or into the lobby. Ask again to hear what the host decided.',
    { replies: { 200: meetings.joinReply }, errors: [missing, over, shut, 'meeting_forbidden', 'meeting_full'] },
  ),
  admitToMeeting: route.post(
    '/v1/meetings/:meeting/waiting/:username/admit',
    'Lets somebody in who waits; for the host.',
    {
      replies: { 200: meetings.meeting },
      errors: [missing, right, over, shut, 'participant_not_found', 'meeting_forbidden', 'meeting_full'],
    },
  ),
  denyMeeting: route.post(
    '/v1/meetings/:meeting/waiting/:username/deny',
    'Turns somebody away who waits; for the host.',
    { replies: { 200: meetings.meeting }, errors: [missing, right, over, 'participant_not_found'] },
  ),
} as const satisfies Record<string, Route>;
