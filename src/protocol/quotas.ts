/**
 * The table of quotas: how much of what one person, and the whole installation, may use. It stands here, where clients,
 * threads and documents read it. Limits on how often are in `rate-limits.ts`; what nobody can change is in `limits.ts`.
 *
 * Messages, meetings and sign-ins are counted by the day (UTC) and not as they are stored: a quota on what is stored
 * would silence whoever has written for years, so no messenger has one, and what fills a disk is the writing of one day.
 * The rest is counted as it is stored, and what is removed is given back in the commit that removes it.
 */
import { z } from 'zod';
import { count } from './names.ts';

interface QuotaForm {
  readonly unit: string;
  /** What is counted: what is `stored` now, or what came within the present `day` or the last `30 days`, in UTC. */
  readonly window: 'stored' | 'day' | '30 days';
  /** What a person may use unless the settings say otherwise. */
  readonly default: number;
  /** More than this cannot be set. */
  readonly most: number;
  /** Whether the settings may bound the sum of all people, too; without a setting it has no bound. */
  readonly ofAll: boolean;
  /** Who is counted for what, and why so much. */
  readonly say: string;
  /** What is refused with `quota_exceeded`, or what happens instead. */
  readonly beyond: string;
}

const GIB = 1024 ** 3;
const COUNT_MOST = 1_000_000_000;
const BYTES_MOST = 1024 ** 5;

export const QUOTAS = {
  messages: {
    ...{ unit: 'messages', window: 'day', default: 10_000, most: COUNT_MOST, ofAll: true },
    say: 'Whoever posts, forwards included; bots are bounded by their own policies. A busy person writes some hundred.',
    beyond: 'posts',
  },
  message_bytes: {
    ...{ unit: 'bytes', window: 'day', default: 64 * 1024 ** 2, most: BYTES_MOST, ofAll: true },
    say: 'As they are stored, of the same. Text of 64 MiB is fifty long novels.',
    beyond: 'posts',
  },
  attachment_bytes: {
    ...{ unit: 'bytes', window: '30 days', default: 10 * GIB, most: BYTES_MOST, ofAll: true },
    say: 'Whoever uploads; `PARLEY_ATTACHMENT_QUOTA_BYTES` sets the default. Five of the largest attachments.',
    beyond: 'uploads',
  },
  rooms: {
    ...{ unit: 'rooms', window: 'stored', default: 5_000, most: COUNT_MOST, ofAll: true },
    say: 'Whoever made the room, also that of a meeting, until it is deleted. Three a working day for six years.',
    beyond: 'new rooms and meetings',
  },
  meetings: {
    ...{ unit: 'meetings', window: 'day', default: 200, most: COUNT_MOST, ofAll: true },
    say: 'The host. A calendar that is imported with meetings in it fits.',
    beyond: 'new meetings',
  },
  calendars: {
    ...{ unit: 'calendars', window: 'stored', default: 250, most: 250, ofAll: false },
    say: 'The owner. At 250 the answer is `calendars_full` whatever is set.',
    beyond: 'new calendars',
  },
  calendar_entries: {
    ...{ unit: 'entries', window: 'stored', default: 100_000, most: COUNT_MOST, ofAll: true },
    say: 'The owner of the calendar, whoever writes it; feeds that are followed have bounds of their own. Ten a day for 27 years.',
    beyond: 'new entries; an invitation has the status 5.1',
  },
  calendar_bytes: {
    ...{ unit: 'bytes', window: 'stored', default: GIB, most: BYTES_MOST, ofAll: true },
    say: 'The same, without the states that are kept to go back to. An entry has some 500 bytes.',
    beyond: 'new entries and those that grow',
  },
  sign_ins: {
    ...{ unit: 'sign-ins', window: 'day', default: 1_000, most: COUNT_MOST, ofAll: false },
    say: 'Whoever signs in with a password. A script that does so every two minutes fits; each one is kept for 30 days.',
    beyond: 'sign-ins',
  },
  devices: {
    ...{ unit: 'devices', window: 'stored', default: 100, most: 100, ofAll: false },
    say: 'Whoever signed in on them. A script without a device id makes one each time.',
    beyond: 'nothing: the device that has not signed in for longest goes',
  },
} as const satisfies Record<string, QuotaForm>;

export type QuotaName = keyof typeof QUOTAS;
export const QUOTA_NAMES = Object.keys(QUOTAS) as QuotaName[];

type OfAll = { [Name in QuotaName]: (typeof QUOTAS)[Name]['ofAll'] extends true ? Name : never }[QuotaName];
/** A quota as settings, refusals and alerts name it: a person's, or that of all people together. */
export type QuotaField = QuotaName | `installation_${OfAll}`;

/** What each quota is now; undefined for one that bounds nobody. */
export type QuotaLimits = Readonly<Partial<Record<QuotaField, number>>>;

/** Stands for all people together where a username would stand: no username is empty. */
export const EVERYBODY = '';

/**
 * Asks whether somebody, or EVERYBODY, who has used `used` of a quota may use `adds` more.
 * @throws Refusal `quota_exceeded` with the quota as its field, and its limit.
 */
export type RequireQuota = (name: QuotaName, who: string, used: number, adds: number) => void;

/** A share of a quota from which its person is told, and the installation's raises an alert. */
export const QUOTA_WARNING_SHARE = 0.8;

const MILLIS_PER_DAY = 86_400_000;

/** The day of UTC, counted from 1970. */
export function dayOf(millis: number): number {
  return Math.floor(millis / MILLIS_PER_DAY);
}

/** How one quota stands. */
export const quotaUse = z
  .strictObject({
    quota: z.string(),
    unit: z.string(),
    window: z.enum(['stored', 'day', '30 days']),
    used: count,
    /** Null where nothing bounds it. */
    limit: count.nullable(),
    /** Whether four fifths of it are used. */
    near: z.boolean(),
  })
  .meta({ id: 'QuotaUse' });
export type QuotaUse = z.infer<typeof quotaUse>;

export const quotasReply = z.strictObject({ items: z.array(quotaUse), next: z.null() }).meta({ id: 'Quotas' });
