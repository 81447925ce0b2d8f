/** Pictures of people: PUT and DELETE /v1/me/avatar, and reading one. */
import { z } from 'zod';
import { count } from '../names.ts';

/** Pixels of each side: what a list shows, and what a page of one person does on a sharp screen. */
export const AVATAR_SIZES = [64, 256] as const;
export type AvatarSize = (typeof AVATAR_SIZES)[number];

export const avatarReply = z.strictObject({ avatar: count }).meta({ id: 'Avatar' });

export const avatarQuery = z.strictObject({ size: z.enum(['64', '256']).default('64') });

/** The number that `avatar` says, as a path segment. */
export const AVATAR_REV = /^[1-9]\d{0,15}$/;
