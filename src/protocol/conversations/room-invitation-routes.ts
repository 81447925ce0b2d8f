/** Invitations to rooms: the forms by which people see whom they were asked by, and say yes or no. */
import { z } from 'zod';
import { count, username } from '../names.ts';
import { route, type Route } from '../route.ts';
import { conversation, ROLES } from './conversations.ts';

const invitation = {
  /** Who asked. */
  by: username,
  /** What the person will be there. */
  role: z.enum(ROLES),
  created_at: z.string(),
  /** After it the invitation is over. */
  expires_at: z.string(),
};

/** An invitation as the invited person sees it: nothing of the room but this. */
export const roomInvitation = z
  .strictObject({ conversation_id: z.string(), title: z.string().optional(), participant_count: count, ...invitation })
  .meta({ id: 'RoomInvitation' });
export type RoomInvitation = z.infer<typeof roomInvitation>;

const pendingInvitation = z.strictObject({ user: username, ...invitation }).meta({ id: 'PendingInvitation' });
export type PendingInvitation = z.infer<typeof pendingInvitation>;

const NOT_FOUND = 'invitation_not_found';

export const ROOM_INVITATION_ROUTES = {
  readRoomInvitations: route.get('/v1/room-invitations', 'Rooms that the caller is invited to, the newest first.', {
    replies: { 200: z.strictObject({ items: z.array(roomInvitation), next: z.null() }) },
  }),
  acceptRoomInvitation: route.post(
    '/v1/room-invitations/:id/accept',
    'Takes part in a room that the caller is invited to. Whoever takes part already is answered with the room.',
    { replies: { 200: conversation }, errors: [NOT_FOUND, 'conversation_archived', 'conversation_full'] },
  ),
  declineRoomInvitation: route.post(
    '/v1/room-invitations/:id/decline',
    'Says no to an invitation. Who asked is told, and does not ask into this room again for 30 days.',
    { replies: { 204: null }, errors: [NOT_FOUND] },
  ),
  readPendingInvitations: route.get(
    '/v1/conversations/:id/invitations',
    'Who is invited to a room and has not answered, by username: for those who may add or remove people.',
    {
      replies: { 200: z.strictObject({ items: z.array(pendingInvitation), next: z.null() }) },
      errors: ['conversation_forbidden', 'right_missing'],
    },
  ),
  withdrawRoomInvitation: route.delete(
    '/v1/conversations/:id/invitations/:username',
    'Takes an invitation back: for who asked, and for those who may remove people.',
    { replies: { 204: null }, errors: ['conversation_forbidden', 'right_missing', NOT_FOUND] },
  ),
} as const satisfies Record<string, Route>;
