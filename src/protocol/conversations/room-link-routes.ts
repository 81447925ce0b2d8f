/** Links that let people of the organisation into a room unasked: their forms, and who may make and take them away. */
import { z } from 'zod';
import {
  ROOM_LINK_SECONDS_DEFAULT,
  ROOM_LINK_SECONDS_MAX,
  ROOM_LINK_USES_DEFAULT,
  ROOM_LINK_USES_MAX,
} from '../limits.ts';
import { count, username } from '../names.ts';
import { route, type Route } from '../route.ts';
import { conversation } from './conversations.ts';

/** POST /v1/conversations/{id}/links. */
export const makeRoomLink = z
  .strictObject({
    /** How long it lets people in. */
    seconds: z.int().min(60).max(ROOM_LINK_SECONDS_MAX).default(ROOM_LINK_SECONDS_DEFAULT),
    /** How many people it lets in. */
    uses: z.int().min(1).max(ROOM_LINK_USES_MAX).default(ROOM_LINK_USES_DEFAULT),
  })
  .meta({ id: 'MakeRoomLink' });
export type MakeRoomLink = z.infer<typeof makeRoomLink>;

export const roomLink = z
  .strictObject({
    id: z.string(),
    /** Who made it. */
    by: username,
    created_at: z.string(),
    expires_at: z.string(),
    uses: z.int().min(1),
    used: count,
  })
  .meta({ id: 'RoomLink' });
export type RoomLink = z.infer<typeof roomLink>;

/** The secret itself is in this answer and nowhere else. */
const madeRoomLink = roomLink.extend({ link: z.string() }).meta({ id: 'MadeRoomLink' });

const forbidden = 'conversation_forbidden';
const missing = 'room_link_not_found';

export const ROOM_LINK_ROUTES = {
  makeRoomLink: route.post(
    '/v1/conversations/:id/links',
    'Makes a link that lets people of the organisation into a room. It is shown in this answer only.',
    {
      rate: 'create',
      body: makeRoomLink,
      replies: { 201: madeRoomLink },
      errors: [forbidden, 'conversation_archived', 'participants_fixed', 'right_missing', 'room_links_full'],
    },
  ),
  readRoomLinks: route.get(
    '/v1/conversations/:id/links',
    'The links into a room that let people in: the caller’s own, and all of them for those who may remove people.',
    {
      replies: { 200: z.strictObject({ items: z.array(roomLink), next: z.null() }) },
      errors: [forbidden, 'right_missing'],
    },
  ),
  revokeRoomLink: route.delete(
    '/v1/conversations/:id/links/:link',
    'Takes a link away: for who made it, and for those who may remove people.',
    { replies: { 204: null }, errors: [forbidden, 'right_missing', missing] },
  ),
  joinByRoomLink: route.post(
    '/v1/room-links/:link/join',
    'Comes into the room that a link leads to. Who takes part already stays as they are.',
    { replies: { 200: conversation }, errors: [missing, 'conversation_archived', 'conversation_full', 'rate_limited'] },
  ),
} as const satisfies Record<string, Route>;
