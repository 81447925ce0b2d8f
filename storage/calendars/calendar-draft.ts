/**
 * The draft of a change to the calendar file: reads what is on disk and what the changes before it decided, checks what
 * the caller expects, and holds what this change writes. Nothing is scanned: every step is a handful of keys.
 */
import { makeId } from '#src/base/ids.ts';
import { isSoundText } from '#src/base/json.ts';
import { Refusal } from '#src/protocol/errors.ts';
import { EVERYBODY, type RequireQuota } from '#src/protocol/quotas.ts';
import type { AuditActor, AuditForm } from '../accounts/audit-chain.ts';
import { resetAlarms } from './calendar-alarms.ts';
import { moveMeeting, touchMeeting } from './calendar-meetings.ts';
import { setObjectProperties } from './calendar-properties.ts';
import { dropSubscription } from './calendar-subscriptions.ts';
import type { GroupSharing } from './calendar-reader.ts';
import { CalendarWriteSet, type CalendarWrite } from './calendar-write-set.ts';
import {
  calendarRecord,
  CALENDARS_PER_PERSON_MAX,
  changeRecord,
  etagOf,
  GROUP_SHAREE,
  isInbox,
  statusEtag,
  writingOf,
  tombstoneRecord,
  NAME_BYTES_MAX,
  OBJECT_BYTES_MAX,
  objectRecord,
  OBJECTS_PER_CALENDAR_MAX,
  revisionRecord,
  REVISIONS_MAX,
  SHARES_PER_CALENDAR_MAX,
  timeKeys,
  REMOVAL_MILLIS,
  REMOVALS_MAX,
  uidKey,
  type CalendarRecord,
  type CalendarTable,
  type ChangeRecord,
  type ObjectIndex,
  type ObjectRecord,
  type ShareAccess,
} from './calendar-records.ts';

import { key, numberAt, numbered, numberOf, numberValue, under } from '../engine/keys.ts';

/** What a caller says of a calendar that is to be. */
export type CalendarForm = Pick<
  CalendarRecord,
  | 'owner'
  | 'name'
  | 'displayname'
  | 'description'
  | 'color'
  | 'order'
  | 'zone'
  | 'followsOwner'
  | 'kinds'
  | 'transparency'
  | 'subscribed'
>;
/** What may be changed of one. */
export type CalendarChange = Partial<Omit<CalendarForm, 'owner' | 'name' | 'subscribed'>>;

/** Registrations for pushes that need not be told of a change, by `registrationName`; `*` for all that there are. */
export type Untold = ReadonlySet<string> | '*';

/** What a change did to a calendar. */
export interface CalendarTouch {
  /** As it was left; one that was removed, as it was last. */
  readonly calendar: CalendarRecord;
  /** Objects were written or removed. */
  readonly isContent: boolean;
  /** What is said of the calendar itself, or who may what in it. */
  readonly isProperty: boolean;
  readonly untold: Untold | undefined;
}

/** What a caller expects of the object as it is now. Etags are without quotes. */
export interface ObjectConditions {
  /** Who is to hear nothing of this change by a push, beside what is expected of the object: see `Untold`. */
  readonly untold?: Untold | undefined;
  /** One of these etags, or `*` for any state but none. */
  readonly ifMatch?: readonly string[] | '*';
  /** None of these etags, or `*` for no object at all. */
  readonly ifNoneMatch?: readonly string[] | '*';
  readonly ifScheduleTagMatch?: string;
}

export interface PutOptions extends ObjectConditions {
  /** Keeps the schedule tag: only what an attendee says of itself changed (RFC 6638, 3.2.10). */
  readonly keepScheduleTag?: boolean;
  /**
   * What changed is what became of messages, which the server alone writes (RFC 6638, 3.2.9): the state stays the one that was
   * written last, for `If-Match` and among those to go back to. Its schedule tag stays, too.
   */
  readonly isStatus?: boolean;
}

export interface PutResult {
  readonly etag: string;
  readonly scheduleTag: string;
  readonly isNew: boolean;
  readonly syncSeq: number;
}

/** Another object of the calendar has the UID; `other` is its name, for `no-uid-conflict`. */
export class UidTaken extends Refusal {
  readonly other: string;

  constructor(other: string) {
    super('entry_uid_taken');
    this.other = other;
  }
}

/** Old removals that one new removal may forget, so that the log shrinks when it is beyond its limits. */
const FORGET_STEP = 2;
/** Old removals looked at for it: those that changes before it in the same commit forgot are passed over. */
const FORGET_LOOKED_AT_MAX = 64;

/** What reads the oldest removals that are on disk: `[calendar, seq]`. */
export interface TombstoneReader {
  (range: { start: Buffer; end: Buffer; limit: number }): Iterable<{ key: Buffer; value: Buffer }>;
}

export class CalendarDraft extends CalendarWriteSet {
  /** Calendars whose sync_seq this change raised. */
  readonly touched = new Map<string, CalendarTouch>();
  /** Owner of an inbox → topics of which a message came in or went; what else lies in an inbox is told by its copy. */
  readonly topics = new Map<string, Set<string>>();
  /** Calendar → people who saw it before this change and may not any more. */
  readonly shutOut = new Map<string, string[]>();
  readonly #graves: TombstoneReader;
  readonly #require: RequireQuota;

  constructor(
    before: ReadonlyMap<string, CalendarWrite>,
    get: (table: CalendarTable, itemKey: Buffer) => Buffer | undefined,
    graves: TombstoneReader,
    now: number,
    requireQuota: RequireQuota,
    groups?: GroupSharing,
  ) {
    super(before, get, now, groups);
    this.#graves = graves;
    this.#require = requireQuota;
  }

  /** @throws Refusal `calendars_full`, `quota_exceeded`, `calendar_name_taken`, `field_invalid`. */
  createCalendar(form: CalendarForm, by?: AuditActor): CalendarRecord {
    assertName(form.name);
    const count = this.#count('owned', form.owner);
    if (count >= CALENDARS_PER_PERSON_MAX) throw new Refusal('calendars_full');
    this.#require('calendars', form.owner, count, 1);
    if (this.ownedByName(form.owner, form.name) !== undefined) throw new Refusal('calendar_name_taken');
    const counters = { syncSeq: 1, floorSeq: 0, objects: 0, removed: 0, shares: 0, bytes: 0 };
    const calendar = { ...form, ...counters, id: makeId('cal', this.now), createdAt: this.now };
    this.put('owned', key(form.owner, form.name), Buffer.from(calendar.id));
    this.#putCount('owned', form.owner, count + 1);
    this.#putDeed(calendar, 'calendar.created', by, { name: form.name });
    return this.#putCalendar(calendar, { isProperty: true });
  }

  /** @throws Refusal `calendar_not_found`. */
  changeCalendar(id: string, change: CalendarChange, untold?: Untold): CalendarRecord {
    if (change.zone !== undefined) resetAlarms(this, id);
    // Whoever states a zone means that one, wherever the owner goes.
    const stated = change.zone === undefined ? {} : { followsOwner: false };
    return this.#putCalendar({ ...this.#next(id), ...stated, ...change }, { isProperty: true, untold });
  }

  /** Removes a calendar; its shares and objects go in steps behind it. @throws Refusal `calendar_not_found`. */
  removeCalendar(id: string, by?: AuditActor): CalendarRecord {
    const calendar = this.#next(id);
    this.put('owned', key(calendar.owner, calendar.name), null);
    this.#putCount('owned', calendar.owner, this.#count('owned', calendar.owner) - 1);
    this.put('calendars', key(id), null);
    this.put('behind', key(id), Buffer.of(1));
    this.put('meta', key('purge', id), Buffer.from(calendar.owner));
    this.#use(calendar, -calendar.objects, -calendar.bytes);
    dropSubscription(this, calendar);
    this.#putDeed(calendar, 'calendar.removed', by, { name: calendar.name, entries: calendar.objects });
    this.#touch(calendar, { isContent: true });
    return calendar;
  }

  /**
   * Lets somebody, or a group (`@grp_…`), into a calendar, changes what they may, or with null shuts them out.
   * @throws Refusal `calendar_not_found`, `shares_full`, `calendars_full` when they have as many as one may have.
   */
  share(id: string, user: string, access: ShareAccess | null, doer?: AuditActor): void {
    const calendar = this.#next(id);
    const before = this.read('shares', key(id, user));
    if (user === calendar.owner || (before === undefined && access === null)) return;
    const count = this.#count('shared', user);
    if (before === undefined && calendar.shares >= SHARES_PER_CALENDAR_MAX) throw new Refusal('shares_full');
    if (before === undefined && count >= CALENDARS_PER_PERSON_MAX) throw new Refusal('calendars_full');
    const by = (access === null ? 0 : 1) - (before === undefined ? 0 : 1);
    const value = access === null ? null : Buffer.from(access);
    this.put('shares', key(id, user), value);
    this.put('shared', key(user, id), value);
    this.#putCount('shared', user, count + by);
    const told = user.startsWith(GROUP_SHAREE) ? this.groups.membersOf(user.slice(GROUP_SHAREE.length)) : [user];
    if (access === null)
      this.shutOut.set(id, [...(this.shutOut.get(id) ?? []), ...told].slice(-SHARES_PER_CALENDAR_MAX));
    const whom = user.startsWith(GROUP_SHAREE) ? { group: user.slice(GROUP_SHAREE.length) } : { user };
    const details = { ...whom, before: before?.toString() ?? null, after: access };
    this.#putDeed(calendar, 'calendar.shared', doer, details);
    this.#putCalendar({ ...calendar, shares: calendar.shares + by }, { isProperty: true });
  }

  /** Takes a removed calendar from the list of somebody that it was shared with. */
  dropShare(id: string, user: string): void {
    if (this.read('shares', key(id, user)) === undefined) return;
    this.put('shares', key(id, user), null);
    this.put('shared', key(user, id), null);
    this.#putCount('shared', user, this.#count('shared', user) - 1);
  }

  /**
   * Puts an object, whose index the caller derived from the very bytes.
   * @throws Refusal `calendar_not_found`, `entry_changed` when a condition fails, `entry_too_large`, `calendar_full`,
   *   `quota_exceeded` (of the calendar's owner), `entry_kind_refused`, `field_invalid` for the name; UidTaken.
   */
  putObject(id: string, name: string, bytes: Uint8Array, index: ObjectIndex, options: PutOptions = {}): PutResult {
    assertName(name);
    if (bytes.length > OBJECT_BYTES_MAX) throw new Refusal('entry_too_large');
    const calendar = this.#next(id);
    const prior = this.object(id, name);
    assertConditions(prior, options);
    if (!calendar.kinds.includes(index.kind)) throw new Refusal('entry_kind_refused');
    const holder = this.nameByUid(id, index.uid);
    if (holder !== undefined && holder !== name) throw new UidTaken(holder);
    if (prior !== undefined && prior.uid !== index.uid) throw new UidTaken(name);
    if (prior === undefined && calendar.objects >= OBJECTS_PER_CALENDAR_MAX) throw new Refusal('calendar_full');
    const grows = { entries: prior === undefined ? 1 : 0, bytes: bytes.length - (prior?.bytes ?? 0) };
    // What the server itself notes in an object that is there, such as an answer, is not its owner's doing.
    if (prior === undefined || options.keepScheduleTag !== true) this.#requireRoom(calendar, grows);
    this.#use(calendar, grows.entries, grows.bytes);
    const removal = prior === undefined ? this.removal(id, name) : undefined;
    const isBack = removal?.grave.uid === index.uid;
    const seq = calendar.syncSeq;
    const isStatus = options.isStatus === true;
    const etag = isStatus && prior !== undefined ? statusEtag(prior.etag, bytes) : etagOf(bytes);
    const isTagKept = isStatus || options.keepScheduleTag === true;
    const scheduleTag = isTagKept && prior !== undefined ? prior.scheduleTag : `${seq}-${etag.slice(0, 8)}`;
    const { uid, kind, firstAt, lastAt, recurring, transparent, scheduled, unanswered, classification } = index;
    const { beginsWithin } = index;
    const record: ObjectRecord = {
      ...{ uid, kind, firstAt, lastAt, recurring, transparent, scheduled, unanswered, classification },
      beginsWithin,
      ...{ etag, scheduleTag, seq },
      ...whoHadIt(classification, prior ?? (isBack ? this.#removalOf(id, removal.seq) : undefined), seq),
      bytes: bytes.length,
      createdAt: prior?.createdAt ?? this.now,
      changedAt: this.now,
      revisions:
        prior === undefined
          ? isBack
            ? removal.grave.revisions
            : []
          : isStatus
            ? prior.revisions
            : this.#keepRevision(calendar, name, prior),
    };
    if (removal !== undefined) this.put('removals', key(id, name), null);
    if (isBack) this.#forget(id, removal.seq);
    if (prior !== undefined) this.#unlist(calendar, name, prior);
    this.put('objects', key(id, name), objectRecord.encode(record));
    this.put('bodies', key(id, name), Buffer.from(bytes));
    this.put('uids', uidKey(id, uid), Buffer.from(name));
    for (const itemKey of timeKeys(id, name, record)) this.put('times', itemKey, Buffer.of(1));
    if (unanswered) this.put('unanswered', key(calendar.owner, id, name), Buffer.of(1));
    this.put('changes', numbered(seq, id), changeRecord.encode({ name, uid, removed: false }));
    this.#putCalendar(
      {
        ...calendar,
        objects: calendar.objects + grows.entries,
        bytes: calendar.bytes + grows.bytes,
        removed: calendar.removed - (isBack ? 1 : 0),
      },
      { isContent: true, untold: options.untold },
    );
    this.#touchTopic(calendar, name, uid);
    touchMeeting(this, id, uid);
    return { etag, scheduleTag, isNew: prior === undefined, syncSeq: seq };
  }

  /**
   * Removes an object; its last states stay for recovery as long as its removal is remembered.
   * @throws Refusal `calendar_not_found`, `entry_not_found`, `entry_changed`.
   */
  removeObject(id: string, name: string, conditions: ObjectConditions = {}): { syncSeq: number } {
    const calendar = this.#next(id);
    const prior = this.object(id, name);
    if (prior === undefined) throw new Refusal('entry_not_found');
    assertConditions(prior, conditions);
    const seq = calendar.syncSeq;
    const { hiddenAt, uid, wasShown } = prior;
    const revisions = this.#keepRevision(calendar, name, prior);
    this.#unlist(calendar, name, prior);
    this.put('objects', key(id, name), null);
    this.put('bodies', key(id, name), null);
    setObjectProperties(this, id, name, {});
    this.put('removals', key(id, name), numberValue(seq));
    this.put('graves', numbered(seq, id), tombstoneRecord.encode({ name, uid, at: this.now, revisions }));
    this.put('changes', numbered(seq, id), changeRecord.encode({ name, uid, removed: true, wasShown, hiddenAt }));
    this.#use(calendar, -1, -prior.bytes);
    const { objects, removed } = calendar;
    const left = { ...calendar, objects: objects - 1, bytes: calendar.bytes - prior.bytes };
    const kept = this.#forgetOldest({ ...left, removed: removed + 1 });
    this.#putCalendar(kept, { isContent: true, untold: conditions.untold });
    this.#touchTopic(calendar, name, uid);
    touchMeeting(this, id, uid);
    return { syncSeq: seq };
  }

  /**
   * Moves an object within a calendar or to another one, where its index is this: the same bytes, the same etag.
   * @throws Refusal as of putObject and removeObject; `entry_changed` when something is there and `overwrite` is not set.
   */
  moveObject(
    from: { readonly calendar: string; readonly name: string },
    to: { readonly calendar: string; readonly name: string },
    {
      overwrite,
      index,
      ...conditions
    }: ObjectConditions & { readonly overwrite: boolean; readonly index: ObjectIndex },
  ): PutResult {
    const bytes = this.bytesOf(from.calendar, from.name);
    if (bytes === undefined) throw new Refusal('entry_not_found');
    if (from.calendar === to.calendar && from.name === to.name) throw new Refusal('field_invalid');
    const properties = this.objectProperties(from.calendar, from.name);
    this.removeObject(from.calendar, from.name, conditions);
    moveMeeting(this, from.calendar, to.calendar, index.uid);
    const put = this.putObject(to.calendar, to.name, bytes, index, {
      ...(overwrite ? {} : { ifNoneMatch: '*' }),
      untold: conditions.untold,
    });
    setObjectProperties(this, to.calendar, to.name, properties);
    return put;
  }

  /** The calendar with its sync_seq raised by this change. */
  #next(id: string): CalendarRecord {
    const calendar = this.calendar(id);
    if (calendar === undefined) throw new Refusal('calendar_not_found');
    return { ...calendar, syncSeq: calendar.syncSeq + 1 };
  }

  #putCalendar(calendar: CalendarRecord, touch: Partial<CalendarTouch>): CalendarRecord {
    this.put('calendars', key(calendar.id), calendarRecord.encode(calendar));
    // No alarm of a message goes off, and nobody is told of it but by its copy.
    if (isInbox(calendar)) return calendar;
    this.put('behind', key(calendar.id), Buffer.of(1));
    this.#touch(calendar, touch);
    return calendar;
  }

  /** Adds to what this change did to a calendar. Of a write that somebody is to hear of, and one that not, they hear. */
  #touch(calendar: CalendarRecord, { isContent = false, isProperty = false, untold }: Partial<CalendarTouch>): void {
    const before = this.touched.get(calendar.id);
    this.touched.set(calendar.id, {
      calendar,
      isContent: isContent || before?.isContent === true,
      isProperty: isProperty || before?.isProperty === true,
      untold: before === undefined || before.untold === untold ? untold : undefined,
    });
  }

  /** Notes what a message of an inbox is about: one that stands for itself has its name there. */
  #touchTopic({ id, owner }: CalendarRecord, name: string, topic: string): void {
    if (!isInbox({ id }) || topic === name) return;
    const topics = this.topics.get(owner) ?? new Set();
    this.topics.set(owner, topics.add(topic));
  }

  /** Takes an object's earlier state out of the indexes and out of the log. */
  #unlist(calendar: CalendarRecord, name: string, prior: ObjectRecord): void {
    const { id, owner } = calendar;
    this.put('uids', uidKey(id, prior.uid), null);
    for (const itemKey of timeKeys(id, name, prior)) this.put('times', itemKey, null);
    if (prior.unanswered) this.put('unanswered', key(owner, id, name), null);
    this.put('changes', numbered(prior.seq, id), null);
  }

  /** Keeps the present state as one to go back to; answers all that are kept now. What a feed said before is its own. */
  #keepRevision({ id, subscribed }: CalendarRecord, name: string, prior: ObjectRecord): number[] {
    if (subscribed === true || isInbox({ id })) return [];
    const bytes = this.bytesOf(id, name) ?? Buffer.alloc(0);
    this.put('revisions', numbered(prior.seq, id), revisionRecord.encode({ etag: prior.etag, until: this.now, bytes }));
    const kept = [...prior.revisions, prior.seq];
    for (const seq of kept.splice(0, Math.max(0, kept.length - REVISIONS_MAX))) {
      this.put('revisions', numbered(seq, id), null);
    }
    return kept;
  }

  /** What the log says of a removal. */
  #removalOf(id: string, seq: number): ChangeRecord | undefined {
    const stored = this.read('changes', numbered(seq, id));
    return stored === undefined ? undefined : changeRecord.decode(stored);
  }

  #forget(id: string, seq: number): void {
    this.put('graves', numbered(seq, id), null);
    this.put('changes', numbered(seq, id), null);
  }

  /** Forgets the oldest removals that are beyond the number or the age. */
  #forgetOldest(calendar: CalendarRecord): CalendarRecord {
    const { id } = calendar;
    let { floorSeq, removed } = calendar;
    const enough = removed - FORGET_STEP;
    for (const entry of this.#graves({ ...under(id), limit: FORGET_LOOKED_AT_MAX })) {
      if (removed === enough) break;
      const seq = numberOf(entry.key);
      // Forgotten by a change that is not on disk yet.
      if (this.read('graves', numbered(seq, id)) === undefined) continue;
      const { name, at, revisions } = tombstoneRecord.decode(entry.value);
      if (removed <= REMOVALS_MAX && at > this.now - REMOVAL_MILLIS) break;
      for (const revision of revisions) this.put('revisions', numbered(revision, id), null);
      if (this.removal(id, name)?.seq === seq) this.put('removals', key(id, name), null);
      this.#forget(id, seq);
      floorSeq = seq;
      removed -= 1;
    }
    return { ...calendar, floorSeq, removed };
  }

  /** Of a calendar, by its owner unless somebody is named. */
  #putDeed(calendar: CalendarRecord, event: string, by: AuditActor | undefined, details: AuditForm['details']): void {
    const doer = by ?? { actor: `user:${calendar.owner}`, address: null };
    this.audit({ event, ...doer, subject: `calendar:${calendar.id}`, details }, calendar.id, String(calendar.syncSeq));
  }

  /** @throws Refusal `quota_exceeded` where the owner, or everybody, has no room for so much more. */
  #requireRoom(
    { id, owner, subscribed }: CalendarRecord,
    { entries, bytes }: { entries: number; bytes: number },
  ): void {
    if (subscribed === true || isInbox({ id })) return;
    for (const who of [owner, EVERYBODY]) {
      const used = this.calendarUse(who);
      if (entries > 0) this.#require('calendar_entries', who, used.entries, entries);
      if (bytes > 0) this.#require('calendar_bytes', who, used.bytes, bytes);
    }
  }

  /** Counts entries and bytes of a calendar to its owner and to all; a feed and an inbox have bounds of their own. */
  #use({ id, owner, subscribed }: CalendarRecord, entries: number, bytes: number): void {
    if (subscribed === true || isInbox({ id })) return;
    for (const who of [owner, EVERYBODY]) {
      const used = this.calendarUse(who);
      const left = [used.entries + entries, used.bytes + bytes] as const;
      this.put('meta', key('usage', who), left[0] === 0 ? null : numberValue(...left));
    }
  }

  #count(of: 'owned' | 'shared', user: string): number {
    const stored = this.read('meta', key(of, user));
    return stored === undefined ? 0 : numberAt(stored);
  }

  #putCount(of: 'owned' | 'shared', user: string, count: number): void {
    this.put('meta', key(of, user), count === 0 ? null : numberValue(count));
  }
}

/**
 * Whether people may have a state who see nothing that is private, and since when they have it no more.
 * @param before the state before it, or the removal that it comes back from; undefined for neither.
 */
function whoHadIt(
  classification: ObjectIndex['classification'],
  before: Pick<ObjectRecord, 'classification' | 'hiddenAt' | 'wasShown'> | undefined,
  seq: number,
): Pick<ObjectRecord, 'hiddenAt' | 'wasShown'> {
  if (classification !== 'private') return { wasShown: true, hiddenAt: undefined };
  const wasShown = before !== undefined && before.wasShown !== false;
  return { wasShown, hiddenAt: wasShown ? (before.hiddenAt ?? seq) : undefined };
}

/** Holds an object, undefined for none, to what a caller expects of it. @throws Refusal `entry_changed`. */
export function assertConditions(prior: ObjectRecord | undefined, conditions: ObjectConditions): void {
  const { ifMatch, ifNoneMatch, ifScheduleTagMatch } = conditions;
  const has = (etags: readonly string[] | '*', one: (etag: string) => string) =>
    prior !== undefined && (etags === '*' || etags.map(one).includes(one(prior.etag)));
  // Clients that know no schedule tag (RFC 6638, 3.2.10), Thunderbird among them, change what they read last, and delivery
  // status comes behind their back.
  if (ifMatch !== undefined && !has(ifMatch, writingOf)) throw new Refusal('entry_changed');
  if (ifNoneMatch !== undefined && has(ifNoneMatch, (etag) => etag)) throw new Refusal('entry_changed');
  if (ifScheduleTagMatch !== undefined && prior?.scheduleTag !== ifScheduleTagMatch) throw new Refusal('entry_changed');
}

/** @throws Refusal `field_invalid` for what cannot be the last segment of a path. */
function assertName(name: string): void {
  const isSound = isSoundText(name) && name !== '' && name !== '.' && name !== '..' && !/[\p{Cc}/]/u.test(name);
  if (!isSound || Buffer.byteLength(name) > NAME_BYTES_MAX) throw new Refusal('field_invalid', { field: 'name' });
}
