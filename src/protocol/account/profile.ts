/** What a person says of themselves (GET and PATCH /v1/me), and how long a status of theirs lasts. */
import { z } from 'zod';
import { isEmoji } from '../conversations/messages.ts';
import { customStatus, directoryEntry, phone, readableText, timeZone } from '../directory/directory.ts';

/** A status is set for a meeting or a holiday; a longer one is a title. [field_invalid] */
export const STATUS_DAYS_MAX = 366;

/** Fields that people change themselves, unless the settings take one away. */
export const OWN_FIELDS = ['display_name', 'title', 'phone', 'time_zone', 'language', 'status'] as const;
/** What the settings may take away from people, the picture with it. */
export const OWN_SETTINGS = [...OWN_FIELDS, 'avatar'] as const;
export type OwnField = (typeof OWN_SETTINGS)[number];

const instant = z.iso.datetime();

/** A language tag (BCP 47), stored in its canonical form: `de-ch` is `de-CH`. */
const language = z
  .string()
  .max(35)
  .transform((tag, context) => {
    try {
      const [canonical] = Intl.getCanonicalLocales(tag);
      if (canonical !== undefined) return canonical;
    } catch {
      // Not well-formed: refused below.
    }
    context.addIssue({ code: 'custom', message: 'A language tag such as de-CH.' });
    return z.NEVER;
  });

const status = z
  .strictObject({
    text: readableText(100).optional(),
    emoji: z.string().refine(isEmoji, 'One emoji.').optional(),
    /** When it ends by itself. */
    expires_at: instant.optional(),
  })
  .refine(({ emoji, text }) => emoji !== undefined || text !== undefined, { path: ['text'] });

/** PATCH /v1/me: fields that are named change; null takes one away. */
export const changeOwnProfile = z
  .strictObject({
    display_name: readableText(100).nullable().optional(),
    title: readableText(100).nullable().optional(),
    phone: phone.nullable().optional(),
    time_zone: timeZone.nullable().optional(),
    language: language.nullable().optional(),
    status: status.nullable().optional(),
    /** Whether the person wants to be asked before anybody adds them to a room, whatever the installation's rule. */
    asked_first: z.boolean().nullable().optional(),
  })
  .meta({ id: 'ChangeOwnProfile' });
export type ChangeOwnProfile = z.infer<typeof changeOwnProfile>;

export const ownProfile = z
  .strictObject({
    ...directoryEntry.shape,
    language: z.string().optional(),
    status: customStatus.optional(),
    /** Left out where the person goes by the installation's rule. */
    asked_first: z.literal(true).optional(),
    /** Whether the person has shown that the address is theirs; left out without one. */
    email_confirmed: z.boolean().optional(),
    created_at: z.string(),
    /** What the person may change themselves. */
    may_change: z.array(z.enum(OWN_SETTINGS)),
  })
  .meta({ id: 'OwnProfile' });
export type OwnProfile = z.infer<typeof ownProfile>;
