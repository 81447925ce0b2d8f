/** What a person wants to be told of while no app of theirs is awake (GET and PUT /v1/me/notifications). */
import { z } from 'zod';
import { timeZone } from '../directory/directory.ts';
import { conversationId } from '../names.ts';

/** Messages that name the person or say one of their keywords, and those of two people, are `mentions`. */
export const NOTIFICATION_LEVELS = ['all', 'mentions', 'none'] as const;
export type NotificationLevel = (typeof NOTIFICATION_LEVELS)[number];

/** Conversations with a level of their own: more than anybody sets by hand. [field_invalid] */
export const NOTIFIED_CONVERSATIONS_MAX = 500;

/** Words and phrases that a person watches for, and characters of one. [field_invalid] */
export const KEYWORDS_MAX = 20;
export const KEYWORD_LENGTH_MAX = 50;

const level = z.enum(NOTIFICATION_LEVELS);
/** A time of day on the clock of the wall. */
const timeOfDay = z.string().regex(/^(?:[01]\d|2[0-3]):[0-5]\d$/);

/** Hours in which nothing is pushed. One that ends before it begins goes over midnight, and counts for the day it begins on. */
const quiet = z
  .strictObject({
    from: timeOfDay,
    until: timeOfDay,
    /** 1 is Monday; every day without it. */
    days: z
      .array(z.int().min(1).max(7))
      .min(1)
      .max(7)
      .refine((days) => new Set(days).size === days.length, 'Each day once.')
      .optional(),
    /** That of the profile without it, and UTC without that. */
    time_zone: timeZone.optional(),
  })
  .refine(({ from, until }) => from !== until, { path: ['until'] });
export type QuietHours = z.infer<typeof quiet>;

export const notifications = z
  .strictObject({
    level,
    quiet: quiet.nullable(),
    /** Conversation → its own level. */
    conversations: z
      .record(conversationId, level)
      .refine((levels) => Object.keys(levels).length <= NOTIFIED_CONVERSATIONS_MAX, 'Too many conversations.'),
    /** What the person watches for, as whole words: told to nobody else. Left out, there are none; in a PUT, those there are stay. */
    keywords: z
      .array(
        z
          .string()
          .trim()
          .max(KEYWORD_LENGTH_MAX)
          .regex(/[\p{L}\p{N}]/u),
      )
      .max(KEYWORDS_MAX)
      .optional(),
  })
  .meta({ id: 'Notifications' });
export const notificationsReply = z.strictObject(notifications.shape).meta({ id: 'NotificationsReply' });
export type Notifications = z.infer<typeof notifications>;
