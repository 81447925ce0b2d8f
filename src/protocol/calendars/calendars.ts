/** Calendars, their entries and who shares them, as the JSON door shows and takes them (SVC-05, CAL-03). */
import { z } from 'zod';
import { feedSource } from './calendar-subscriptions.ts';
import { PAGE_LENGTH_DEFAULT, PAGE_LENGTH_MAX } from '../limits.ts';
import { LOBBIES } from '../meetings/meetings.ts';
import { count, username } from '../names.ts';

/** A span of time that one range query may cover: two years. [query_invalid] */
export const RANGE_MILLIS_MAX = 732 * 86_400_000;

/** Occurrences in one range answer. More than this is cut, and `is_cut` says so. */
export const OCCURRENCES_MAX = 3_000;

/** Objects looked at for one range answer; more are cut likewise. */
export const RANGE_OBJECTS_MAX = 5_000;

/** People in one question about free and busy time. [field_invalid] */
export const FREE_BUSY_PEOPLE_MAX = 50;

/** The span of one such question: two months. [field_invalid] */
export const FREE_BUSY_MILLIS_MAX = 62 * 86_400_000;

/** Busy times of one person in one answer. More are cut, and `is_cut` says so. */
export const FREE_BUSY_PERIODS_MAX = 1_000;

/** Categories of one entry that JSON takes, and characters of one. [field_invalid] */
export const CATEGORIES_MAX = 50;
export const CATEGORY_LENGTH_MAX = 100;

/** Reminders of one entry that JSON takes: as many as go off. [field_invalid] */
export const REMINDERS_MAX = 16;

/** Seconds between an entry and a reminder of it: a year. [field_invalid] */
export const REMINDER_OFFSET_SECONDS_MAX = 366 * 86_400;

/** Attachments of one entry that JSON takes, and characters of an address or a name. [field_invalid] */
export const ENTRY_ATTACHMENTS_MAX = 50;
export const ATTACHMENT_URL_LENGTH_MAX = 2_000;
export const ATTACHMENT_NAME_LENGTH_MAX = 200;

/** Attendees of one entry that JSON takes. [field_invalid] */
export const ATTENDEES_MAX = 200;

const instant = z.iso.datetime();
const localTime = z
  .string()
  .regex(/^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}$/)
  .meta({ description: 'Wall time without a zone: `2026-11-21T09:00:00`.' });
const date = z.iso.date();
/** Whether there is such a zone is for the server to say: `field_invalid`. */
const zone = z.string().min(1).max(64).meta({ description: 'An IANA time zone: `Europe/Berlin`.' });
const color = z
  .string()
  .regex(/^(?:#[0-9A-Fa-f]{6}(?:[0-9A-Fa-f]{2})?)?$/)
  .meta({ description: '`#rrggbb`, or empty for none.' });
const shortText = (most: number) => z.string().trim().max(most);
export const calendarId = z
  .string()
  .meta({ id: 'CalendarId', description: 'A calendar identifier, made by the server.' });
const transparency = z.enum(['opaque', 'transparent']);

export const ENTRY_KINDS = ['event', 'todo', 'journal'] as const;
const kinds = z.array(z.enum(ENTRY_KINDS)).min(1).max(ENTRY_KINDS.length);

/** `delegate` writes, and sees private and confidential entries whole, which `read` and `write` do not. */
export const SHARE_ACCESS = ['read', 'write', 'delegate', 'free_busy'] as const;

export const createCalendar = z
  .strictObject({
    displayname: shortText(200).min(1),
    description: shortText(2_000).default(''),
    color: color.default(''),
    order: z.int().min(0).max(1_000_000).default(0),
    tz: zone.optional().meta({ description: 'Without it that of its owner’s profile, also when that changes.' }),
    kinds: kinds.default(['event']),
    transparency: transparency.optional().meta({ description: 'Opaque by default; transparent of a feed elsewhere.' }),
    /** A feed elsewhere that the calendar follows. Its entries are the feed's, and nobody changes them here. */
    source: feedSource.optional(),
  })
  .meta({ id: 'CreateCalendar' });

export const changeCalendar = z
  .strictObject({
    displayname: shortText(200).min(1).optional(),
    description: shortText(2_000).optional(),
    color: color.optional(),
    order: z.int().min(0).max(1_000_000).optional(),
    tz: zone.optional(),
    kinds: kinds.optional().meta({ description: 'Those of which there are entries in it stay: `entry_kind_refused`.' }),
    transparency: transparency.optional(),
  })
  .meta({ id: 'ChangeCalendar' });

export const calendar = z
  .strictObject({
    id: calendarId,
    owner: username,
    /** The last segment of its CalDAV path in the caller's home. */
    name: z.string(),
    displayname: z.string(),
    description: z.string(),
    color: z.string(),
    order: z.number(),
    tz: z.string(),
    kinds: z.array(z.enum(ENTRY_KINDS)),
    transparency,
    access: z.enum(['owner', ...SHARE_ACCESS]),
    /** Whether invitations to the caller come here. */
    is_default: z.boolean(),
    /** Whether it follows a feed elsewhere: its entries are read here and not written, by its owner neither. */
    subscribed: z.boolean(),
    created_at: z.string(),
    sync_seq: count,
  })
  .meta({ id: 'Calendar' });
export type CalendarView = z.infer<typeof calendar>;

export const calendarsReply = z.strictObject({ items: z.array(calendar), next: z.null() });

export const share = z.strictObject({ user: username, access: z.enum(SHARE_ACCESS) }).meta({ id: 'CalendarShare' });
export const putShare = z.strictObject({ access: z.enum(SHARE_ACCESS) }).meta({ id: 'PutCalendarShare' });
/** A group that a calendar is shared with; without a name once it is deleted. */
export const groupShare = z
  .strictObject({ group: z.string(), name: z.string().optional(), access: z.enum(SHARE_ACCESS) })
  .meta({ id: 'CalendarGroupShare' });
/** `items` are people, each by themselves. */
export const sharesReply = z.strictObject({ items: z.array(share), groups: z.array(groupShare), next: z.null() });

export const WEEKDAYS = ['mo', 'tu', 'we', 'th', 'fr', 'sa', 'su'] as const;
export type Weekday = (typeof WEEKDAYS)[number];
const within = (least: number, most: number, length = 400) =>
  z
    .array(
      z
        .int()
        .min(least)
        .max(most)
        .refine((number) => number !== 0 || least === 0),
    )
    .min(1)
    .max(length);

/** When an entry recurs, in the words of JSCalendar (RFC 8984, 4.3.3). Wall time of the entry's zone throughout. */
export const rule = z
  .strictObject({
    frequency: z.enum(['yearly', 'monthly', 'weekly', 'daily', 'hourly']),
    interval: z.int().min(1).max(1_000).optional(),
    /** One of both at most: how many there are, or the last moment at which one may begin. */
    count: z.int().min(1).max(100_000).optional(),
    until: z.union([localTime, date]).optional(),
    by_day: z
      .array(z.strictObject({ day: z.enum(WEEKDAYS), nth: z.int().min(-53).max(53).optional() }))
      .min(1)
      .max(100)
      .refine((days) => days.every(({ nth }) => nth !== 0))
      .optional(),
    by_month: within(1, 12, 12).optional(),
    by_month_day: within(-31, 31, 62).optional(),
    by_year_day: within(-366, 366).optional(),
    by_week_no: within(-53, 53, 106).optional(),
    by_hour: within(0, 23, 24).optional(),
    by_minute: within(0, 59, 60).optional(),
    by_set_position: within(-366, 366).optional(),
    first_day_of_week: z.enum(WEEKDAYS).optional(),
  })
  .refine((form) => form.count === undefined || form.until === undefined, { path: ['until'] })
  .meta({ id: 'RecurrenceRule' });
export type Rule = z.infer<typeof rule>;

const ANSWERS = ['accepted', 'declined', 'tentative'] as const;
/** How an attendee stands to it, as far as known: anything else that a client wrote reads as `needs_action`. */
const standing = z.enum(['needs_action', ...ANSWERS, 'delegated']);

export const person = {
  /** Their username, where the address is of this installation. */
  user: username.optional(),
  /** `mailto:ann@example.org` */
  address: z.string(),
  name: z.string().optional(),
};
/** Who wrote in somebody's name, as their delegate. */
export const sentBy = z.strictObject(person).optional();
const STATUSES = [
  'tentative',
  'confirmed',
  'cancelled',
  'needs_action',
  'in_process',
  'completed',
  'draft',
  'final',
] as const;

/** When it is: wall time with a zone, a date and days, or nothing at all. Instants stand beside both. */
export const time = {
  all_day: z.boolean(),
  start_at: z.string().optional(),
  /** The first instant that is not part of it any more. */
  end_at: z.string().optional(),
  local_start: z.string().optional(),
  /** Absent for an all-day entry and for one that floats: the same wall time wherever its reader is. */
  tz: z.string().optional(),
  date: z.string().optional(),
  days: z.int().optional(),
};
/** When a task is due, which has no start then: wall time with `tz`, or a day, and the instant beside both. */
const dueTime = {
  due_at: z.string().optional(),
  local_due: z.string().optional(),
  due_date: z.string().optional(),
};
/** At an instant, or so many seconds behind the start or the end: fewer than none are before it. */
const reminder = {
  action: z.enum(['display', 'audio', 'email']),
  at: z.string().optional(),
  offset_seconds: z.int().optional(),
  related: z.enum(['start', 'end']).optional(),
};
const attachment = { url: z.string(), name: z.string().optional(), media_type: z.string().optional() };
/** Whom the owner shares it with: CLASS of RFC 5545, 3.8.1.3. */
const visibility = z.enum(['public', 'confidential', 'private']);
const content = {
  title: z.string(),
  description: z.string().optional(),
  location: z.string().optional(),
  status: z.enum(STATUSES).optional(),
  transparency,
  /** The strictest in it, which goes for all of it. */
  visibility,
  categories: z.array(z.string()),
  /** Those that JSON has words for. */
  reminders: z.array(z.strictObject(reminder)),
  /** Files elsewhere; what stands in the entry itself is read by CalDAV. */
  attachments: z.array(z.strictObject(attachment)),
  organizer: z.strictObject({ ...person, sent_by: sentBy }).optional(),
  attendees: z.array(
    z.strictObject({
      ...person,
      sent_by: sentBy,
      answer: standing,
      /** What they added to it: of a room, why it is declined. Only the organiser has it. */
      comment: z.string().optional(),
    }),
  ),
};

/** An entry as it is stored: a single one, or a series with its rule. */
export const entry = z
  .strictObject({
    id: z.string(),
    calendar_id: calendarId,
    uid: z.string(),
    kind: z.enum(ENTRY_KINDS),
    ...time,
    ...dueTime,
    ...content,
    /** Which occurrence it is, where one was asked for. */
    recurrence_id: z.string().optional(),
    /** The meeting of this installation that it leads to. Who may come in is the meeting's to say. */
    meeting: z.strictObject({ id: z.string(), url: z.string() }).optional(),
    recurring: z.boolean(),
    /** Absent where it does not recur, and where the rule is one that this form does not have. */
    rule: rule.optional(),
    /** Occurrences that differ from the series or are left out, by their recurrence ids. */
    changed: z.array(z.string()),
    excluded: z.array(z.string()),
    etag: z.string(),
    sync_seq: count,
    created_at: z.string(),
    changed_at: z.string(),
  })
  .meta({ id: 'CalendarEntry' });
export type EntryView = z.infer<typeof entry>;

/** One occurrence within a range. Whoever may see free and busy times only gets no more than when it is. */
export const occurrence = z
  .strictObject({
    /** Of the entry; for whoever may see free and busy times only, a number that tells entries apart and leads to none. */
    entry_id: z.string(),
    /** Which occurrence of a series it is: its original start, as a change names it. */
    recurrence_id: z.string().optional(),
    ...time,
    title: z.string(),
    location: z.string().optional(),
    status: z.enum(STATUSES).optional(),
    transparency,
  })
  .meta({ id: 'CalendarOccurrence' });
export type OccurrenceView = z.infer<typeof occurrence>;

export const occurrencesReply = z.strictObject({
  items: z.array(occurrence),
  /** Whether there is more in the range than an answer holds: ask for a shorter one. */
  is_cut: z.boolean(),
  next: z.null(),
});

/** What an entry of JSON refers to: the web, and nothing that a client would run or read off its own disk. [field_invalid] */
export const ATTACHMENT_URL = /^https?:\/\/[^\s"<>\p{Cc}]+$/iu;
/** What a file is called: nothing that ends a line or a quotation, or turns the letters of its ending round. [field_invalid] */
export const ATTACHMENT_NAME = /^[^"\p{Cc}\u202A-\u202E\u2066-\u2069]+$/u;
/** Its type, without parameters. [field_invalid] */
export const ATTACHMENT_TYPE = /^[\w!#$&^.+-]{1,63}\/[\w!#$&^.+-]{1,63}$/;

/** When an entry is to be. */
export const entryTime = {
  /** Either `local_start` with `tz`, or `start_at`, or `date`; the end in the same manner. */
  local_start: localTime.optional(),
  local_end: localTime.optional(),
  tz: zone.optional(),
  start_at: instant.optional(),
  end_at: instant.optional(),
  date: date.optional(),
  days: z.int().min(1).max(3_660).optional(),
};
const entryFields = {
  title: shortText(500),
  description: z.string().max(32_000).optional(),
  location: shortText(1_000).optional(),
  status: z.enum(STATUSES).optional(),
  transparency: transparency.optional(),
  /** Of a series for all of it alone. */
  visibility: visibility.optional(),
  categories: z.array(shortText(CATEGORY_LENGTH_MAX).min(1)).max(CATEGORIES_MAX).optional(),
  ...entryTime,
  /** Of a task instead of all of these; `local_due` with `tz`. */
  due_at: instant.optional(),
  local_due: localTime.optional(),
  due_date: date.optional(),
  /** They take the place of all that are there. */
  reminders: z
    .array(
      z
        .strictObject({
          action: z.enum(['display', 'audio', 'email']).default('display'),
          at: instant.optional(),
          offset_seconds: z.int().min(-REMINDER_OFFSET_SECONDS_MAX).max(REMINDER_OFFSET_SECONDS_MAX).optional(),
          related: z.enum(['start', 'end']).optional(),
        })
        .refine(({ at, offset_seconds: offset, related }) =>
          at === undefined ? offset !== undefined : offset === undefined && related === undefined,
        ),
    )
    .max(REMINDERS_MAX)
    .optional(),
  /** References, which take the place of all that are there. */
  attachments: z
    .array(
      z.strictObject({
        url: z.string().max(ATTACHMENT_URL_LENGTH_MAX).regex(ATTACHMENT_URL),
        name: shortText(ATTACHMENT_NAME_LENGTH_MAX).regex(ATTACHMENT_NAME).optional(),
        media_type: z.string().regex(ATTACHMENT_TYPE).optional(),
      }),
    )
    .max(ENTRY_ATTACHMENTS_MAX)
    .optional(),
  /** Usernames and `mailto:` addresses. The caller organises it. */
  attendees: z
    .array(z.union([username, z.string().regex(/^mailto:[^\s@:"<>,;]{1,64}@[^\s@:"<>,;]{1,190}$/i)]))
    .max(ATTENDEES_MAX)
    .optional(),
};
/** A meeting of the caller for the entry, whose times it follows; by whom it is joined `lobby` says, else people walk in. */
const meeting = z.union([z.literal(true), z.strictObject({ lobby: z.enum(LOBBIES) })]);
/** Each way to say when excludes the others, and an end needs its start. */
export const hasOneTime = (form: { readonly [name in keyof typeof entryFields]?: unknown }): boolean => {
  const starts = [form.local_start, form.start_at, form.date, form.due_at, form.local_due, form.due_date];
  if (starts.filter((start) => start !== undefined).length > 1) return false;
  if (form.local_end !== undefined && form.local_start === undefined) return false;
  if (form.end_at !== undefined && form.start_at === undefined) return false;
  if (form.days !== undefined && form.date === undefined) return false;
  return form.tz === undefined || (form.date === undefined && form.due_date === undefined && form.due_at === undefined);
};

/** A series is counted from its start. */
const isDueAlone = (form: { readonly [name in 'due_at' | 'due_date' | 'local_due']?: string | undefined }): boolean =>
  [form.due_at, form.due_date, form.local_due].some((due) => due !== undefined);

export const createEntry = z
  .strictObject({
    kind: z.enum(ENTRY_KINDS).default('event'),
    ...entryFields,
    rule: rule.optional(),
    meeting: meeting.optional(),
  })
  .refine(hasOneTime, { path: ['local_start'] })
  .refine((form) => form.rule === undefined || !isDueAlone(form), { path: ['rule'] })
  .meta({ id: 'CreateCalendarEntry' });
export type CreateEntry = z.infer<typeof createEntry>;

export const SCOPES = ['this', 'this_and_following', 'all'] as const;
export type Scope = (typeof SCOPES)[number];
const scope = z.enum(SCOPES).default('all');
export const recurrenceId = z.string().regex(/^\d{8}(?:T\d{6}Z?)?$/);
/** `this` and `this_and_following` name the occurrence that they are about. */
const scopeIsWhole = (form: { scope: Scope; recurrence_id?: string | undefined }): boolean =>
  (form.scope === 'all') === (form.recurrence_id === undefined);

/** Fields that are left out stay. `null` takes the rule away, and makes one entry of the series. */
export const changeEntry = z
  .strictObject({
    scope,
    recurrence_id: recurrenceId.optional(),
    /** The etag of what the caller read; another one is refused with `entry_changed`. */
    etag: z.string().max(64).optional(),
    ...entryFields,
    title: shortText(500).optional(),
    rule: rule.nullable().optional(),
    /** For all of it alone; `false` ends the meeting that was made for it. */
    meeting: z.union([meeting, z.literal(false)]).optional(),
  })
  .refine(hasOneTime, { path: ['local_start'] })
  .refine(scopeIsWhole, { path: ['recurrence_id'] })
  .refine((form) => form.scope !== 'this' || form.rule === undefined, { path: ['rule'] })
  .refine((form) => form.scope === 'all' || form.meeting === undefined, { path: ['meeting'] })
  .refine((form) => form.scope === 'all' || form.visibility === undefined, { path: ['visibility'] })
  .meta({ id: 'ChangeCalendarEntry' });
export type ChangeEntry = z.infer<typeof changeEntry>;

/** `all`: what is not over yet is cancelled for those whom the owner invited, and declined to those who invited the owner. */
export const deleteCalendarQuery = z.strictObject({ notify: z.enum(['all', 'none']).optional() });

export const deleteEntryQuery = z
  .strictObject({ scope, recurrence_id: recurrenceId.optional(), etag: z.string().max(64).optional() })
  .refine(scopeIsWhole, { path: ['recurrence_id'] });
export type DeleteEntryQuery = z.infer<typeof deleteEntryQuery>;

/** One occurrence of a series, with all that is said of it. */
export const readEntryQuery = z.strictObject({ recurrence_id: recurrenceId.optional() });
export type ReadEntryQuery = z.infer<typeof readEntryQuery>;

export const rangeQuery = z.strictObject({ from: instant, to: instant });
export type RangeQuery = z.infer<typeof rangeQuery>;

export const changesQuery = z.strictObject({
  after: z.string().min(1).max(200).optional(),
  limit: z.coerce.number().int().min(1).max(PAGE_LENGTH_MAX).default(PAGE_LENGTH_DEFAULT),
});
export type ChangesQuery = z.infer<typeof changesQuery>;

export const changesReply = z.strictObject({
  items: z.array(entry),
  /** Ids of entries that are gone. */
  deleted: z.array(z.string()),
  sync_seq: count,
  /** Where to go on: at once while `more`, later for what changed since. */
  next: z.string(),
  more: z.boolean(),
});

export const invitation = z.strictObject({ calendar_id: calendarId, entry }).meta({ id: 'Invitation' });
export const invitationsQuery = z.strictObject({
  after: z.string().min(1).max(600).optional(),
  limit: z.coerce.number().int().min(1).max(PAGE_LENGTH_MAX).default(PAGE_LENGTH_DEFAULT),
});
export type InvitationsQuery = z.infer<typeof invitationsQuery>;
export const invitationsReply = z.strictObject({ items: z.array(invitation), next: z.string().nullable() });
export const answerInvitation = z
  .strictObject({ answer: z.enum(ANSWERS), recurrence_id: recurrenceId.optional() })
  .meta({ id: 'AnswerInvitation' });

export const askFreeBusy = z
  .strictObject({
    users: z.array(username).min(1).max(FREE_BUSY_PEOPLE_MAX),
    from: instant,
    to: instant,
  })
  .meta({ id: 'AskFreeBusy' });
export type AskFreeBusy = z.infer<typeof askFreeBusy>;
export const freeBusyReply = z
  .strictObject({
    items: z.array(
      z.strictObject({
        user: username,
        /** False for somebody who is not there or whom the caller may not see: one answer for both. */
        known: z.boolean(),
        busy: z.array(
          z.strictObject({
            start_at: z.string(),
            end_at: z.string(),
            tentative: z.boolean(),
            /** Outside of their working hours, or not known to be free. */
            unavailable: z.boolean(),
          }),
        ),
        is_cut: z.boolean(),
      }),
    ),
    next: z.null(),
  })
  .meta({ id: 'FreeBusyReply' });
