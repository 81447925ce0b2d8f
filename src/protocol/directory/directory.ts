/** The directory: what people read of one another, and what the console reads and writes of them (DIR-01). */
import { z } from 'zod';
import { DIRECTORY_NAMES_MAX, PAGE_LENGTH_MAX, SEARCHED_NAME_LENGTH_MAX } from '../limits.ts';
import { count, username } from '../names.ts';
import { password } from '../sessions/sessions.ts';

/** An international number, `+` and 7 to 15 digits (ITU-T E.164). */
export const phone = z
  .string()
  .regex(/^\+[1-9]\d{6,14}$/)
  .meta({ id: 'Phone', description: 'A telephone number in E.164 form.' });

/** What turns the order of the letters round or hides them: a name could read as somebody else’s (UTS 55). */
const UNREADABLE = /[\p{Cc}\p{Zl}\p{Zp}\u200e\u200f\u061c\u202a-\u202e\u2066-\u2069]/u;

/** A line that people read, of so many UTF-16 units, without spaces around it; something of it is to be seen. */
export function readableText(most: number) {
  return z
    .string()
    .trim()
    .max(most)
    .refine((text) => /[\p{L}\p{N}\p{P}\p{S}]/u.test(text) && !UNREADABLE.test(text), 'A line of readable text.');
}

export const profileFields = {
  display_name: readableText(100),
  phone,
  email: z.email().max(254),
  title: readableText(100),
};

/** A zone of the IANA database by its name, such as `Europe/Berlin`; an offset is none. */
export const timeZone = z
  .string()
  .max(64)
  .regex(/^[A-Za-z][\w+/-]*$/)
  .refine(isTimeZone, 'A zone of the IANA database.')
  .meta({ id: 'TimeZone', description: 'A time zone of the IANA database.' });

/** What a person shows beside their name, until it ends. */
export const customStatus = z
  .strictObject({ text: z.string().optional(), emoji: z.string().optional(), expires_at: z.string().optional() })
  .meta({ id: 'CustomStatus' });

/** `over` is a guest whose term has ended: nothing of theirs is served until it is prolonged (GST-06). */
export const PERSON_STATES = ['active', 'blocked', 'left', 'over'] as const;

/** A person or a bot as others read them. Names are for readers: what identifies is `user`. */
export const directoryEntry = z
  .strictObject({
    user: username,
    display_name: z.string().optional(),
    phone: z.string().optional(),
    email: z.string().optional(),
    title: z.string().optional(),
    time_zone: z.string().optional(),
    status: customStatus.optional(),
    /** The number of the person's picture, for `GET /v1/avatars/{username}/{avatar}`; another one with each picture. */
    avatar: count.optional(),
    /** Of a guest, who invited them: where one person is read, and the caller may see that one too. */
    invited_by: username.optional(),
    kind: z.enum(['person', 'guest', 'bot']),
    state: z.enum(PERSON_STATES),
    /** The directory's change number at the person's last change. */
    rev: count,
  })
  .meta({ id: 'DirectoryEntry' });
export type DirectoryEntry = z.infer<typeof directoryEntry>;

const decimal = z
  .string()
  .regex(/^\d{1,16}$/)
  .transform(Number)
  .pipe(count);

/** What is searched for: names are shorter. Words beyond the eighth are passed over. */
export const nameQuery = z.string().trim().min(1).max(SEARCHED_NAME_LENGTH_MAX);

const isName = (text: string | undefined) => text === undefined || username.safeParse(text).success;

const namedUsers = z.string().refine((text) => {
  const users = text.split(',');
  return users.length <= DIRECTORY_NAMES_MAX && users.every(isName);
});

/** A username, or the `next` of a search, which carries a name and is for the server to read. */
const position = z.string().min(1).max(2048);

/**
 * GET /v1/directory: by username behind `after`; or what changed behind `after_rev`, in the order of the changes; or who
 * is called `q`, the best first; or who `users` names.
 */
export const directoryQuery = z
  .strictObject({
    q: nameQuery.optional(),
    /** Usernames with commas between them: these, as far as the caller may see them, in one page. */
    users: namedUsers.optional(),
    after: position.optional(),
    after_rev: decimal.optional(),
    limit: decimal.pipe(z.number().min(1).max(PAGE_LENGTH_MAX)).default(PAGE_LENGTH_MAX),
  })
  .refine(({ q, after, after_rev: rev }) => rev === undefined || (after === undefined && q === undefined), {
    path: ['after_rev'],
  })
  .refine(({ users, q, after, after_rev: rev }) => users === undefined || (q ?? after ?? rev) === undefined, {
    path: ['users'],
  })
  .refine(({ q, after }) => q !== undefined || isName(after), { path: ['after'] });
export type DirectoryQuery = z.infer<typeof directoryQuery>;

/**
 * A page of the people whom the caller may see; it may be shorter than asked and have a next one all the same. `rev` is
 * what to go on from once there is no next page. `scope` changes when what the caller may see may have changed by
 * rule: a client that reads another scope than before starts afresh.
 */
export const directoryReply = z
  .strictObject({ items: z.array(directoryEntry), next: z.string().nullable(), rev: count, scope: z.string() })
  .meta({ id: 'Directory' });

export type DirectoryFound = z.infer<typeof directoryReply>;

/** Console: a new person with a password that an administrator hands over. */
export const createUser = z
  .strictObject({
    username,
    password,
    display_name: profileFields.display_name.optional(),
    phone: profileFields.phone.optional(),
    email: profileFields.email.optional(),
    title: profileFields.title.optional(),
  })
  .meta({ id: 'CreateUser' });

/** Console: fields that are named change; null takes one away. */
export const changeUser = z
  .strictObject({
    display_name: profileFields.display_name.nullable().optional(),
    phone: profileFields.phone.nullable().optional(),
    email: profileFields.email.nullable().optional(),
    title: profileFields.title.nullable().optional(),
  })
  .meta({ id: 'ChangeUser' });
export type ProfileChange = z.infer<typeof changeUser>;

/** A person as the console shows them. */
export const user = z
  .strictObject({
    ...directoryEntry.shape,
    role: z.enum(['owner', 'person']),
    created_at: z.string(),
    devices: count,
    groups: z.array(z.strictObject({ id: z.string(), name: z.string() })),
  })
  .meta({ id: 'User' });
export type User = z.infer<typeof user>;

/** Orders of the console's list: by username, by name, or by the last change, the newest first. */
export const USER_ORDERS = ['user', 'name', 'changed'] as const;

/** Console: people by username, or those who are called `q`, the best first; `sort` says another order. */
export const usersQuery = z
  .strictObject({
    q: nameQuery.optional(),
    sort: z.enum(USER_ORDERS).optional(),
    after: position.optional(),
    limit: decimal.pipe(z.number().min(1).max(PAGE_LENGTH_MAX)).default(PAGE_LENGTH_MAX),
  })
  .refine(({ q, sort, after }) => q !== undefined || sort !== undefined || isName(after), { path: ['after'] });

export const usersReply = z.strictObject({ items: z.array(user), next: z.string().nullable() }).meta({ id: 'Users' });

/** A device of a person that is signed in. */
export const userSession = z
  .strictObject({
    id: z.string(),
    device_id: z.string(),
    name: z.string(),
    platform: z.string(),
    signed_in_at: z.string(),
    renewable_until: z.string(),
  })
  .meta({ id: 'UserSession' });

export const userSessionsReply = z
  .strictObject({ items: z.array(userSession), next: z.null() })
  .meta({ id: 'UserSessions' });

function isTimeZone(name: string): boolean {
  try {
    return new Intl.DateTimeFormat('en', { timeZone: name }).resolvedOptions().timeZone !== '';
  } catch {
    return false;
  }
}
