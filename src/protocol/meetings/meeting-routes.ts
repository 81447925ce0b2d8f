/** The HTTP forms of meetings on the coordinator, as data: see `routes.ts` (MTG-01). */
import * as meetings from './meetings.ts';
import type { Route } from '../route.ts';

const missing = 'meeting_not_found';
const right = 'right_missing';
const over = 'meeting_over';

export const MEETING_ROUTES = {
  createMeeting: {
    method: 'post',
    path: '/v1/meetings',
    summary: 'Creates a meeting and its room: scheduled with a start, instant without one.',
    auth: 'session',
    body: meetings.createMeeting,
    replies: { 201: meetings.meeting },
    errors: ['participant_unknown', 'meetings_full'],
  },
  listMeetings: {
    method: 'get',
    path: '/v1/meetings',
    summary: 'Pages through the meetings that the caller takes part in.',
    auth: 'session',
    query: meetings.meetingsQuery,
    replies: { 200: meetings.meetingsReply },
    errors: ['cursor_invalid'],
  },
  readMeeting: {
    method: 'get',
    path: '/v1/meetings/:meeting',
    summary: 'Reads a meeting.',
    auth: 'session',
    replies: { 200: meetings.meeting },
    errors: [missing],
  },
  changeMeeting: {
    method: 'patch',
    path: '/v1/meetings/:meeting',
    summary: 'Changes a meeting; for its host.',
    auth: 'session',
    body: meetings.changeMeeting,
    replies: { 200: meetings.meeting },
    errors: [missing, right, over, 'participant_unknown', 'meeting_full'],
  },
  cancelMeeting: {
    method: 'post',
    path: '/v1/meetings/:meeting/cancel',
    summary: 'Cancels a meeting; for its host. Its link ends, its room stays.',
    auth: 'session',
    replies: { 200: meetings.meeting },
    errors: [missing, right],
  },
  renewMeetingLink: {
    method: 'post',
    path: '/v1/meetings/:meeting/link',
    summary: 'Makes a new link and ends the one before; for the host.',
    auth: 'session',
    replies: { 200: meetings.meeting },
    errors: [missing, right, over],
  },
  joinMeeting: {
    method: 'post',
    path: '/v1/meetings/join/:link',
    summary: 'Comes by link: into the room, or into the lobby. Ask again to hear what the host decided.',
    auth: 'session',
    replies: { 200: meetings.joinReply },
    errors: [missing, over, 'meeting_forbidden', 'meeting_full'],
  },
  admitToMeeting: {
    method: 'post',
    path: '/v1/meetings/:meeting/waiting/:username/admit',
    summary: 'Lets somebody in who waits; for the host.',
    auth: 'session',
    replies: { 200: meetings.meeting },
    errors: [missing, right, over, 'participant_not_found', 'meeting_full'],
  },
  denyMeeting: {
    method: 'post',
    path: '/v1/meetings/:meeting/waiting/:username/deny',
    summary: 'Turns somebody away who waits; for the host.',
    auth: 'session',
    replies: { 200: meetings.meeting },
    errors: [missing, right, over, 'participant_not_found'],
  },
} as const satisfies Record<string, Route>;
