/** What the calendar file holds: its tables, its records with a version byte each, its keys, and the limits on all. */
import { createHash } from 'node:crypto';
import type { AuditForm } from '../accounts/audit-chain.ts';
import { logOf, type DurableWords } from '../engine/folder-logs.ts';
import { Environment, type LogOptions } from '../engine/environment.ts';
import { folderPaths } from '../engine/folder.ts';
import { key, numbered, numberedThen } from '../engine/keys.ts';
import { recordOf, type Codec } from '../engine/record-codec.ts';

export const CALENDAR_TABLES = [
  'calendars',
  'owned',
  'shares',
  'shared',
  'objects',
  'bodies',
  'uids',
  'times',
  'changes',
  'removals',
  'graves',
  'revisions',
  'unanswered',
  'properties',
  'feeds',
  'subscriptions',
  'refreshes',
  'sources',
  'meetings',
  'bound',
  'unsettled',
  'alarms',
  'alarmed',
  'behind',
  'deeds',
  'messages',
  'deliveries',
  'answers',
  'letters',
  'mails',
  'rsvps',
  'registrations',
  'meta',
] as const;
export type CalendarTable = (typeof CALENDAR_TABLES)[number];
export type CalendarEnvironment = Environment<CalendarTable>;

/** Address space: a hundred million entries. */
const MAP_BYTES = 256 * 1024 ** 3;

/** Calendars a person owns, and as many again that others share with them. [calendars_full] */
export const CALENDARS_PER_PERSON_MAX = 250;
/** Entries of a calendar: ten a day for 27 years. [calendar_full] */
export const OBJECTS_PER_CALENDAR_MAX = 100_000;
/** One object's bytes: what other servers take, and some hundred overrides of a series. [entry_too_large] */
export const OBJECT_BYTES_MAX = 512 * 1024;
/** People that a calendar is shared with. [shares_full] */
export const SHARES_PER_CALENDAR_MAX = 1_000;
/** The properties that one person's clients keep on one resource, names and values together. [properties_too_large] */
export const PROPERTIES_BYTES_MAX = 64 * 1024;
/** States of an object before its present one that are kept, so that a client that wrote over them undoes nothing. */
export const REVISIONS_MAX = 5;
/** Removals that a calendar remembers; a client that is further behind reads the whole calendar. [sync_cursor_expired] */
export const REMOVALS_MAX = 10_000;
/** How long a removal is remembered at least, while there are no more than REMOVALS_MAX: half a year. */
export const REMOVAL_MILLIS = 180 * 86_400_000;
/** A name as the last segment of a path, in bytes: what file systems of clients take. [field_invalid] */
export const NAME_BYTES_MAX = 255;

export type ComponentKind = 'event' | 'todo' | 'journal';
export const COMPONENT_KINDS = ['event', 'todo', 'journal'] as const satisfies readonly ComponentKind[];

/** What somebody who is not the owner may do. A delegate writes, and sees what is private as its owner does. */
export type ShareAccess = 'read' | 'write' | 'delegate' | 'free_busy';
export type Access = 'owner' | ShareAccess;

/** Each includes those below it. */
export const ACCESS_RANK: Readonly<Record<Access, number>> = { free_busy: 0, read: 1, write: 2, delegate: 3, owner: 4 };

/** What the name of a group begins with where it stands among the people that a calendar is shared with. No username has it. */
export const GROUP_SHAREE = '@';

export interface CalendarRecord {
  /** `cal_…`; of an inbox `inb_…`. */
  id: string;
  owner: string;
  /** The last segment of its path among the owner's calendars. */
  name: string;
  displayname: string;
  description: string;
  /** `#rrggbb` or `#rrggbbaa`; empty where nobody chose one. */
  color: string;
  order: number;
  /** IANA name, for floating times and all-day entries. */
  zone: string;
  kinds: readonly ComponentKind[];
  /** Whether its entries count as busy (`opaque`) or not. */
  transparency: 'opaque' | 'transparent';
  /** Milliseconds since 1970. */
  createdAt: number;
  /** Raised by every change, in its transaction: the cursor of JSON, the sync-token and ctag of CalDAV. */
  syncSeq: number;
  /** Highest sync_seq of a removal that is no longer remembered. */
  floorSeq: number;
  objects: number;
  /** Removals that are remembered. */
  removed: number;
  shares: number;
  /** Whether it follows a feed elsewhere, and nobody writes it by hand. */
  subscribed?: boolean;
  /** Bytes of its objects, as they are now. */
  bytes: number;
  /** Whether its zone is that of its owner's profile, until somebody states one. Absent of calendars from before. */
  followsOwner?: boolean;
}

/** Whether it is an inbox of scheduling messages, which nobody has as a calendar. */
export function isInbox({ id }: Pick<CalendarRecord, 'id'>): boolean {
  return id.startsWith('inb_');
}

/** Who is meant to see an object, by CLASS (RFC 5545, 3.8.1.3). */
export type Classification = 'public' | 'confidential' | 'private';

/** What is derived from an object's bytes so that most questions are answered without reading them. */
export interface ObjectIndex {
  readonly uid: string;
  readonly kind: ComponentKind;
  /** First instant of any occurrence, milliseconds since 1970; null for what has no time, which is in every range. */
  readonly firstAt: number | null;
  /** Instant at which the last occurrence is over; null for a series without end. */
  readonly lastAt: number | null;
  readonly recurring: boolean;
  /** Whether it leaves its time free. */
  readonly transparent: boolean;
  /** Whether it has an organizer or attendees. */
  readonly scheduled: boolean;
  /** Whether the calendar's owner is invited and has not answered. */
  readonly unanswered: boolean;
  /** Undefined of what was stored before it was kept. */
  readonly classification?: Classification | undefined;
  /**
   * Of a series: milliseconds in which an instance of it begins wherever they lie between its first and last instant. Undefined
   * where nothing is sure, of what does not recur, and of what was stored before it was kept.
   */
  readonly beginsWithin?: number | undefined;
}

export interface ObjectRecord extends ObjectIndex {
  /** Strong, without quotes: made from the bytes (`etagOf`, `statusEtag`), so other bytes have another one. */
  readonly etag: string;
  readonly scheduleTag: string;
  /** The calendar's sync_seq of its last change. */
  readonly seq: number;
  readonly bytes: number;
  readonly createdAt: number;
  readonly changedAt: number;
  /** The seqs under which its prior states are kept, oldest first. */
  readonly revisions: readonly number[];
  /**
   * Whether it was other than private at any time, so that people may have it who do not see it any more. Undefined, which
   * means that it may have been, of what was stored before this was kept.
   */
  readonly wasShown?: boolean | undefined;
  /**
   * The sync_seq by which it became private, of what was shown before: whoever has read up to there has it no more. Undefined of
   * what is shown, of what never was, and where it became so before this was kept.
   */
  readonly hiddenAt?: number | undefined;
}

/** An object where it lies. */
export interface NamedObject extends ObjectRecord {
  readonly name: string;
}

/**
 * A line of the change log. Only the last one of each name is kept, and beside it those of removals after which the
 * name was given to something else: for whoever knows objects by their UIDs.
 */
export interface ChangeRecord {
  readonly name: string;
  readonly uid: string;
  readonly removed: boolean;
  /** Of what was removed: those of the object. */
  readonly wasShown?: boolean | undefined;
  readonly hiddenAt?: number | undefined;
}

/** A removed object, under the seq of its removal. */
export interface TombstoneRecord {
  readonly name: string;
  readonly uid: string;
  /** When it was removed. */
  readonly at: number;
  readonly revisions: readonly number[];
}

/** A state that an object had. */
export interface RevisionRecord {
  readonly etag: string;
  /** When it was replaced or removed. */
  readonly until: number;
  readonly bytes: Buffer;
}

/** A published feed. */
export interface FeedRecord {
  /** `feed_…` */
  readonly id: string;
  /** SHA-256 of the token, base64url. */
  readonly hash: string;
  readonly detail: 'full' | 'free_busy';
  /** For whom it is, in the owner's words; empty where they said nothing. */
  readonly note: string;
  readonly createdAt: number;
}

/** A scheduling message that is on its way to people; `deliveries` says to whom it still has to go. */
export interface MessageRecord {
  /** Username of who sent it. */
  readonly from: string;
  /** Of iTIP; ANSWERS is the server's own, of what the others answered. */
  readonly method: 'REQUEST' | 'CANCEL' | 'REPLY' | 'COUNTER' | 'DECLINECOUNTER' | 'ANSWERS';
  readonly uid: string;
  /** Where the sender has the object that it is about. */
  readonly calendar: string;
  readonly bytes: Buffer;
}

/** One recipient of a message, under a number that keeps the order in which things were sent. */
export interface DeliveryRecord {
  /** The number of its message. */
  readonly message: number;
  readonly to: string;
  /** Whether the message goes with it. */
  readonly isLast: boolean;
}

/** What the keys of messages and of deliveries begin with; behind it is their number. */
export const SCHEDULING_QUEUE = 'd';

/** A record of this file: what is undefined is stored as that, unlike in the others. */
export function calendarRecordOf<T extends object>(noun: string, fields: readonly (keyof T & string)[]): Codec<T> {
  return recordOf<T>(noun, fields, { absent: 'undefined' });
}

export const calendarRecord = calendarRecordOf<CalendarRecord>('calendar', [
  'id',
  'owner',
  'name',
  'displayname',
  'description',
  'color',
  'order',
  'zone',
  'kinds',
  'transparency',
  'createdAt',
  'syncSeq',
  'floorSeq',
  'objects',
  'removed',
  'shares',
  // Behind the others: a calendar from before there were subscriptions has none.
  'subscribed',
  'bytes',
  'followsOwner',
]);
export const objectRecord = calendarRecordOf<ObjectRecord>('calendar object', [
  'uid',
  'kind',
  'firstAt',
  'lastAt',
  'recurring',
  'transparent',
  'scheduled',
  'unanswered',
  'etag',
  'scheduleTag',
  'seq',
  'bytes',
  'createdAt',
  'changedAt',
  'revisions',
  // Behind the others: objects from before have none of them.
  'classification',
  'wasShown',
  'hiddenAt',
  'beginsWithin',
]);
export const changeRecord = calendarRecordOf<ChangeRecord>('calendar change', [
  'name',
  'uid',
  'removed',
  'wasShown',
  'hiddenAt',
]);
export const tombstoneRecord = calendarRecordOf<TombstoneRecord>('removed object', ['name', 'uid', 'at', 'revisions']);
export const revisionRecord = calendarRecordOf<RevisionRecord>('revision', ['etag', 'until', 'bytes']);
export const messageRecord = calendarRecordOf<MessageRecord>('scheduling message', [
  'from',
  'method',
  'uid',
  'calendar',
  'bytes',
]);
export const deliveryRecord = calendarRecordOf<DeliveryRecord>('delivery', ['message', 'to', 'isLast']);
/** What is to be written into the audit trail, which lies in another file. */
export const pendingAuditRecord = calendarRecordOf<AuditForm>('deed', [
  'event',
  'actor',
  'address',
  'subject',
  'details',
]);
export const feedsRecord = calendarRecordOf<{ readonly feeds: readonly FeedRecord[] }>('feed list', ['feeds']);
/** Clark name → value as XML or text, of one person on one resource. */
export const propertiesRecord = calendarRecordOf<{ readonly values: Readonly<Record<string, string>> }>(
  'property set',
  ['values'],
);

/** Whose properties those of an object are. */
export const ANYBODY = '';

/** An object as a resource that properties are kept on. It lies under its calendar, and goes with it. */
export function objectResource(calendar: string, name: string): string {
  return `${calendar}\0${name}`;
}

/** The strong etag of bytes, without quotes. */
export function etagOf(bytes: Uint8Array): string {
  return createHash('sha256').update(bytes).digest('base64url').slice(0, 27);
}

/** Between the two parts of an etag. No hash has it. */
const STATUS_MARK = '~';

/**
 * The etag of bytes in which the server alone wrote what became of messages, since somebody wrote the state of `etag`: that
 * one's, a mark, and the bytes' own.
 */
export function statusEtag(etag: string, bytes: Uint8Array): string {
  return `${writingOf(etag)}${STATUS_MARK}${etagOf(bytes)}`;
}

/** The part of an etag that says whose writing it is: the same as long as the server alone added delivery status. */
export function writingOf(etag: string): string {
  return etag.split(STATUS_MARK)[0] as string;
}

/** The part of an etag that is made from the bytes. */
export function bytesEtagOf(etag: string): string {
  return etag.slice(etag.indexOf(STATUS_MARK) + 1);
}

/** What an object is called where names of clients are not: 43 characters, the same in every calendar. */
export function entryIdOf(uid: string): string {
  return createHash('sha256').update(uid).digest('base64url');
}

/** Where a UID is looked up. Hashed, because a UID may be longer than a key. */
export function uidKey(calendar: string, uid: string): Buffer {
  return key(calendar, entryIdOf(uid));
}

/** Widths of the time buckets: 25 days, 199 days, 4 years, 35 years. An object lies in two buckets of one width at most. */
const BUCKET_MILLIS = [2 ** 31, 2 ** 34, 2 ** 37, 2 ** 40] as const;
/** Behind the widths: what is longer than all of them or has no end, by its start; and what has no time. */
const LONG = BUCKET_MILLIS.length;
const TIMELESS = LONG + 1;
/** Instants are counted from the year 1 here, so that no bucket is negative. What lies beyond is taken to the border. */
const EARLIEST = -62_135_596_800_000;
const LATEST = 253_402_300_799_999;

function bucketAt(millis: number, width: number): number {
  return Math.floor((Math.min(Math.max(millis, EARLIEST), LATEST) - EARLIEST) / width);
}

function timeKey(calendar: string, level: number, bucket: number, name: string): Buffer {
  return numberedThen(bucket, `${calendar}\0${level}`, name);
}

/** The keys of the time index under which an object is found. */
export function timeKeys(calendar: string, name: string, { firstAt, lastAt }: ObjectIndex): Buffer[] {
  if (firstAt === null) return [timeKey(calendar, TIMELESS, 0, name)];
  const last = Math.max(firstAt, lastAt ?? LATEST);
  for (const [level, width] of BUCKET_MILLIS.entries()) {
    const [from, to] = [bucketAt(firstAt, width), bucketAt(last, width)];
    if (to === from) return [timeKey(calendar, level, from, name)];
    if (to === from + 1) return [timeKey(calendar, level, from, name), timeKey(calendar, level, to, name)];
  }
  return [timeKey(calendar, LONG, bucketAt(firstAt, BUCKET_MILLIS[0]), name)];
}

/** The key ranges in which everything lies that touches the time from one instant to another. */
export function timeRanges(calendar: string, from: number, to: number): { start: Buffer; end: Buffer }[] {
  const range = (level: number, first: number, last: number) => ({
    start: numbered(first, calendar, String(level)),
    end: numbered(last + 1, calendar, String(level)),
  });
  return [
    ...BUCKET_MILLIS.map((width, level) => range(level, bucketAt(from, width), bucketAt(to, width))),
    range(LONG, 0, bucketAt(to, BUCKET_MILLIS[0])),
    range(TIMELESS, 0, 0),
  ];
}

/** The object's name in a key of the time index: behind calendar, level and bucket. */
export function nameInTimeKey(itemKey: Buffer, calendar: string): string {
  return itemKey.toString('utf8', calendar.length + 3 + 6);
}

export function openCalendars(
  folder: string,
  access: LogOptions['access'] = 'read',
  words?: DurableWords,
): CalendarEnvironment {
  const log = logOf(folder, 'calendar', access, words);
  return new Environment(folderPaths(folder).calendar, CALENDAR_TABLES, {
    mapBytes: MAP_BYTES,
    walked: ['bodies'],
    log,
  });
}
