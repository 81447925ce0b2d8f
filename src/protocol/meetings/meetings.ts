/** Meetings: a room with a link and a lobby; its media goes by call signalling (MTG-01). */
import { z } from 'zod';
import { PAGE_LENGTH_MAX, PARTICIPANTS_PER_REQUEST_MAX, TITLE_LENGTH_MAX } from '../limits.ts';
import { conversationId, count, username } from '../names.ts';

/** People who wait in one lobby; a host cannot look through more. [meeting_full] */
export const MEETING_WAITING_MAX = 200;

/** People whom a meeting knows by name. [meeting_full] */
export const MEETING_PARTICIPANTS_MAX = PARTICIPANTS_PER_REQUEST_MAX;

/** Meetings that one person hosts and has not cancelled. [meetings_full] */
export const MEETINGS_PER_HOST_MAX = 1_000;

/** Who of those who come by link waits for the host: nobody, guests, everybody. */
export const LOBBIES = ['open', 'people', 'everyone_waits'] as const;
export type Lobby = (typeof LOBBIES)[number];

const title = z.string().trim().min(1).max(TITLE_LENGTH_MAX);
const instant = z.iso.datetime();
const participants = z.array(username).max(MEETING_PARTICIPANTS_MAX);

/** POST /v1/meetings: scheduled with a start, instant without one. The caller hosts it. */
export const createMeeting = z
  .strictObject({
    title,
    starts_at: instant.optional(),
    ends_at: instant.optional(),
    lobby: z.enum(LOBBIES).default('people'),
    participants: participants.default([]),
  })
  .refine((form) => form.ends_at === undefined || form.starts_at !== undefined, { path: ['starts_at'] })
  .meta({ id: 'CreateMeeting' });
export type CreateMeeting = z.infer<typeof createMeeting>;

/** PATCH /v1/meetings/{meeting}. People are added, also those who were taken out or turned away; who is in the room is taken out of the room. */
export const changeMeeting = z
  .strictObject({
    title: title.optional(),
    starts_at: instant.optional(),
    ends_at: instant.optional(),
    lobby: z.enum(LOBBIES).optional(),
    add: participants.optional(),
  })
  .meta({ id: 'ChangeMeeting' });
export type ChangeMeeting = z.infer<typeof changeMeeting>;

/** What everybody who may see a meeting reads of it. */
const shown = {
  id: z.string(),
  title: z.string(),
  kind: z.enum(['scheduled', 'instant']),
  state: z.enum(['open', 'cancelled']),
  host: username,
  starts_at: z.string().optional(),
  ends_at: z.string().optional(),
  lobby: z.enum(LOBBIES),
  created_at: z.string(),
};

/** What stands before the link of a meeting in its URL. */
export const JOIN_PATH = '/v1/meetings/join/';

export const meeting = z
  .strictObject({
    ...shown,
    /** What stands behind `/v1/meetings/join/`; for participants. */
    link: z.string(),
    conversation_id: z.string(),
    participants: z.array(username),
    /** For the host. */
    waiting: z.array(username).optional(),
    rev: count,
  })
  .meta({ id: 'Meeting' });
export type MeetingView = z.infer<typeof meeting>;

const decimal = z
  .string()
  .regex(/^\d{1,16}$/)
  .transform(Number)
  .pipe(count);

/** All meetings, for the console. */
export const listedMeetingsQuery = z.strictObject({
  after: z.string().max(64).optional(),
  limit: decimal.pipe(z.number().min(1).max(PAGE_LENGTH_MAX)).default(PAGE_LENGTH_MAX),
});
export const meetingsQuery = listedMeetingsQuery.extend({
  /** Only those whose room it is. */
  conversation: conversationId.optional(),
  /** Only those that the caller hosts and in whose lobby somebody waits. */
  waiting: z.literal('true').optional(),
});
export const meetingsReply = z
  .strictObject({ items: z.array(meeting), next: z.string().nullable() })
  .meta({ id: 'Meetings' });

/** POST /v1/meetings/join/{link}: in the room, or in the lobby until the host decides. */
export const joinReply = z
  .discriminatedUnion('status', [
    z.strictObject({ status: z.literal('admitted'), meeting }),
    z.strictObject({ status: z.literal('waiting'), title: z.string() }),
  ])
  .meta({ id: 'MeetingJoin' });

/** POST /v1/meetings/{meeting}/host: who hosts it from now on. */
export const handOverMeeting = z.strictObject({ user: username }).meta({ id: 'HandOverMeeting' });

/**
 * What the data of a `membership` event says that is of a meeting and of no conversation: somebody waits in its lobby, was let
 * in or turned away; somebody else hosts it; it was cancelled. `user` is who waits, came, hosts or hosted.
 */
export const meetingNews = z.strictObject({
  meeting_id: z.string(),
  action: z.enum(['waiting', 'admitted', 'denied', 'host', 'ended']),
  user: username,
});
export type MeetingNews = z.infer<typeof meetingNews>;

/** A meeting as the console shows it: without its link, which lets people in. */
export const listedMeeting = z
  .strictObject({
    ...shown,
    participant_count: count,
    waiting_count: count,
  })
  .meta({ id: 'ListedMeeting' });
export const listedMeetingsReply = z
  .strictObject({ items: z.array(listedMeeting), next: z.string().nullable() })
  .meta({ id: 'ListedMeetings' });
