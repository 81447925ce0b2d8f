/**
 * Writing objects, for every door: read, judged by who may say what, indexed and put in one commit. What the scheduling
 * of invitations follows from.
 */
import {
  bytesEtagOf,
  etagOf,
  OBJECT_BYTES_MAX,
  type Access,
  type CalendarRecord,
  type ObjectIndex,
  type ObjectRecord,
} from '#storage/calendars/calendar-records.ts';
import { assertConditions, type CalendarDraft, type ObjectConditions } from '#storage/calendars/calendar-draft.ts';
import { setObjectProperties } from '#storage/calendars/calendar-properties.ts';
import type { Calendars } from '#storage/calendars/calendars.ts';
import type { Clock } from '#src/base/clock.ts';
import { Refusal } from '#src/protocol/errors.ts';
import type { AddressBook } from '../address-book.ts';
import { accessCalendar, writableOwn } from '../calendar-access.ts';
import { disclosureOf } from '../icalendar/classification.ts';
import type { ObjectIndex as ModelIndex } from '../icalendar/calendar-object.ts';
import { audienceOf, CalendarContents } from './calendar-contents.ts';
import type { Participation } from './derivation.ts';
import type { DerivationPool } from './derivation-pool.ts';
import type { ObjectPlace, StoredObject, TransferOptions } from '../dav/dav-context.ts';
import { awaitsAnswer, isKeptAlone, judgeWriting } from './identity.ts';
import { storedIndex } from './stored-index.ts';
import type { ObjectState, Plan, Scheduler } from '../scheduling/scheduler.ts';

export interface ObjectWriterOptions {
  readonly calendars: Calendars;
  readonly pool: DerivationPool;
  readonly book: AddressBook;
  readonly scheduler: Scheduler;
  readonly clock: Clock;
}

/** An object to put, and what is expected of the one that is there. */
export interface ObjectPut {
  readonly name: string;
  readonly bytes: Uint8Array;
  readonly conditions: ObjectConditions;
}

/** An object that may be put as it is. */
export interface JudgedObject {
  readonly bytes: Uint8Array;
  readonly index: ObjectIndex;
  /** Whether the server changed what came. */
  readonly isCorrected: boolean;
  /** The etag that the object had when it was judged; undefined where there was none. */
  readonly judgedEtag: string | undefined;
  /** Whether somebody else organises it. */
  readonly isInvitation: boolean;
  /** What others are told of it, in the same commit. */
  readonly plan: Plan | undefined;
}

/** A state of an object, and whether the server schedules for it. */
interface KnownState extends ObjectState {
  readonly isScheduled: boolean;
}

/** Times that an object is judged anew because somebody changed it in between. Then the caller hears `busy`. */
const JUDGED_TIMES_MAX = 4;

/** How an object comes to be judged. */
interface Judging {
  readonly isImported?: boolean;
  readonly isMoved?: boolean;
  /** Whether what its writer had dropped was put back: there is no second time. */
  readonly isRestored?: boolean;
}

export class CalendarObjectWriter {
  readonly #options: ObjectWriterOptions;

  constructor(options: ObjectWriterOptions) {
    this.#options = options;
  }

  /**
   * Puts an object as a person.
   * @throws Refusal `calendar_not_found`, `right_missing`, `organizer_forbidden`, those of the store; UidTaken;
   *   CalendarFault for bytes that are no calendar object resource.
   */
  async put(
    user: string,
    calendar: string,
    name: string,
    bytes: Uint8Array,
    conditions: ObjectConditions,
  ): Promise<StoredObject> {
    const [stored] = await this.putAll(user, calendar, [{ name, bytes, conditions }]);
    return stored as StoredObject;
  }

  /** Puts several objects of one calendar in one commit, all or none, and what `also` changes. @throws as `put`. */
  async putAll(
    user: string,
    calendar: string,
    puts: readonly ObjectPut[],
    also: (draft: CalendarDraft) => void = () => undefined,
  ): Promise<StoredObject[]> {
    accessCalendar(this.#options.calendars, user, calendar, 'write');
    for (let times = 0; times < JUDGED_TIMES_MAX; times += 1) {
      const judged: (JudgedObject & ObjectPut)[] = [];
      for (const put of puts) judged.push({ ...put, ...(await this.judge(user, calendar, put.name, put.bytes)) });
      const stored = await this.#options.calendars.change((draft) => {
        // Judged against a state that is gone.
        if (judged.some(({ name, judgedEtag }) => draft.object(calendar, name)?.etag !== judgedEtag)) return undefined;
        const results = judged.map(({ name, bytes, index, conditions, isInvitation, isCorrected, plan }) => {
          const options = { ...conditions, keepScheduleTag: isInvitation };
          const put = draft.putObject(calendar, name, bytes, index, options);
          this.#options.scheduler.send(draft, plan);
          return { ...put, etag: isCorrected ? undefined : put.etag };
        });
        also(draft);
        return results;
      });
      if (stored === undefined) continue;
      this.#options.scheduler.told();
      return stored;
    }
    throw new Refusal('busy');
  }

  /**
   * Removes an object. Whoever it was organised for, or by, is told, unless `isSilent`: an attendee may remove a copy
   * without an answer (RFC 6638, 8.1).
   * @throws Refusal `calendar_not_found`, `right_missing`, `entry_not_found`, `entry_changed`, `busy`.
   */
  async remove(
    user: string,
    calendarId: string,
    name: string,
    conditions: ObjectConditions,
    { isSilent = false }: { readonly isSilent?: boolean } = {},
  ): Promise<void> {
    const { calendars, scheduler } = this.#options;
    const { calendar, access } = accessCalendar(calendars, user, calendarId, 'write');
    for (let times = 0; times < JUDGED_TIMES_MAX; times += 1) {
      assertSees(new CalendarContents(calendars, { calendar, access }), name);
      const prior = calendars.object(calendarId, name);
      const before = prior?.scheduled === true ? await this.#stateOf(calendarId, name) : undefined;
      const isElsewhere =
        prior !== undefined &&
        writableOwn(calendars, calendar.owner)
          .filter(({ id }) => id !== calendarId)
          .some(({ id }) => calendars.nameByUid(id, prior.uid) !== undefined);
      // What lies in another calendar of theirs as well is not over.
      const uid = prior?.uid ?? '';
      const isAttendees = this.#isAttendees({ user, access, uid, organizer: organizerOf(before?.participations) });
      const change = { user, calendar, access, uid, before, after: undefined, isAttendees };
      const found = before === undefined || isElsewhere ? undefined : await scheduler.plan(change);
      const plan = isSilent && found?.messages.every(({ method }) => method === 'REPLY') === true ? undefined : found;
      const isRemoved = await calendars.change((draft) => {
        const isOther = draft.object(calendarId, name)?.etag !== prior?.etag;
        // What others are told of it is of that state, and whoever does not see all may not see the next one.
        if (isOther && (prior?.scheduled === true || audienceOf(access) !== 'insider')) return false;
        draft.removeObject(calendarId, name, conditions);
        scheduler.send(draft, plan);
        return true;
      });
      if (!isRemoved) continue;
      scheduler.told();
      return;
    }
    throw new Refusal('busy');
  }

  /**
   * Puts an object that the person may read into a calendar that they may write, as any writing there is judged, with
   * what clients keep on it. @throws as `put`; `entry_not_found`, and `entry_changed` where a condition fails.
   */
  async copy(user: string, from: ObjectPlace, to: ObjectPlace, options: TransferOptions): Promise<StoredObject> {
    const { calendars } = this.#options;
    assertSees(new CalendarContents(calendars, accessCalendar(calendars, user, from.calendar, 'read')), from.name);
    const [source, bytes] = [calendars.object(from.calendar, from.name), calendars.bytesOf(from.calendar, from.name)];
    if (source === undefined || bytes === undefined) throw new Refusal('entry_not_found');
    assertConditions(source, options);
    const kept = calendars.objectProperties(from.calendar, from.name);
    const { overwrite, untold } = options;
    const conditions: ObjectConditions = { untold, ...(overwrite ? {} : { ifNoneMatch: '*' }) };
    const put = { name: to.name, bytes, conditions };
    const [stored] = await this.putAll(user, to.calendar, [put], (draft) => {
      setObjectProperties(draft, to.calendar, to.name, kept);
    });
    return stored as StoredObject;
  }

  /** Moves an object between calendars that the person may write. @throws as `put` and `remove`. */
  async move(user: string, from: ObjectPlace, to: ObjectPlace, options: TransferOptions): Promise<StoredObject> {
    const { calendars } = this.#options;
    assertSees(new CalendarContents(calendars, accessCalendar(calendars, user, from.calendar, 'write')), from.name);
    accessCalendar(calendars, user, to.calendar, 'write');
    const bytes = calendars.bytesOf(from.calendar, from.name);
    if (bytes === undefined) throw new Refusal('entry_not_found');
    const { index, isCorrected } = await this.judge(user, to.calendar, to.name, bytes, { isMoved: true });
    // What was answered to somebody else is theirs: it does not move into another person's calendar.
    if (isCorrected) throw new Refusal('organizer_forbidden');
    return await calendars.change((draft) => {
      if (bytesEtagOf(draft.object(from.calendar, from.name)?.etag ?? '') !== etagOf(bytes))
        throw new Refusal('entry_changed');
      return draft.moveObject(from, to, { ...options, index });
    });
  }

  /**
   * Reads an object and holds it to the rules of identity. `isImported`: it comes in a file, and tells nobody anything; `isMoved`: it
   * is moved as it is.
   * @throws as `put`.
   */
  async judge(
    user: string,
    calendarId: string,
    name: string,
    bytes: Uint8Array,
    { isImported = false, isMoved = false, isRestored = false }: Judging = {},
  ): Promise<JudgedObject> {
    const { book, calendars, clock, pool, scheduler } = this.#options;
    const { calendar, access } = accessCalendar(calendars, user, calendarId, 'write');
    if (bytes.length > OBJECT_BYTES_MAX) throw new Refusal('entry_too_large');
    const { index, participations } = await pool.derive(bytes, calendar.zone);
    calendars.refresh();
    const prior = calendars.object(calendarId, name);
    this.#assertShown(calendar, access, { name, prior, index });
    const isScheduled = hasPeople(participations);
    const isJudged = isScheduled || prior?.scheduled === true;
    const before = isJudged ? await this.#before(user, calendarId, name, index.uid) : undefined;
    const known = before === undefined || !hasPeople(before.participations) ? undefined : before;
    const isOver = index.last !== null && index.last < clock.now();
    const of = { user, owner: calendar.owner, before: known, after: participations, isImported, isOver };
    if (isKeptAlone(book, of)) return unscheduled(bytes, index, prior);
    const { owner } = calendar;
    const people = { before: before?.participations ?? [], after: participations };
    const corrections = judgeWriting(book, { user, owner, isDelegate: access === 'delegate', isMoved, ...people });
    const organizer = organizerOf(participations);
    const whose = organizer === undefined ? undefined : book.userOf(organizer);
    const isAttendees = this.#isAttendees({ user, access, uid: index.uid, organizer });
    const isOthers = isAttendees || (whose !== user && whose !== owner);
    if (before?.isScheduled === true && whose !== undefined && isOthers) {
      const change = { before: before.bytes, after: bytes, zone: calendar.zone };
      const left = await pool.leftOfOrganizers(change);
      if (left === 'not all' || (left !== 'all' && isRestored)) throw new Refusal('invitation_change_forbidden');
      if (left !== 'all') {
        const judging = { isImported, isMoved, isRestored: true };
        const judged = await this.judge(user, calendarId, name, left.restored, judging);
        return { ...judged, isCorrected: true };
      }
    }
    const corrected = corrections.length === 0 ? bytes : await pool.correct(bytes, corrections);
    const after = { bytes: corrected, participations };
    const change = { user, calendar, access, uid: index.uid, before, after, isAttendees };
    const plan = isJudged ? await scheduler.plan(change) : undefined;
    const stored = plan?.bytes ?? corrected;
    const isUnanswered = !index.isCancelled && awaitsAnswer(book, owner, participations);
    return {
      bytes: stored,
      index: storedIndex(index, isScheduled, isUnanswered),
      isCorrected: stored !== bytes && Buffer.compare(stored, bytes) !== 0,
      judgedEtag: prior?.etag,
      // Whoever writes for the owner what the owner organises writes as their organiser (RFC 6638, 3.2.10).
      isInvitation: organizer !== undefined && isOthers,
      plan,
    };
  }

  /**
   * Whoever does not see what is private writes over nothing of it, and nothing that would be gone from them once it is
   * written. @throws Refusal `right_missing`, `entry_uid_taken` without saying by what.
   */
  #assertShown(
    calendar: CalendarRecord,
    access: Access,
    { index, name, prior }: { name: string; prior: ObjectRecord | undefined; index: ModelIndex },
  ): void {
    const { calendars } = this.#options;
    if (disclosureOf(audienceOf(access), index.classification) !== 'whole') throw new Refusal('right_missing');
    const contents = new CalendarContents(calendars, { calendar, access });
    if (prior !== undefined && contents.object(name)?.disclosure !== 'whole') throw new Refusal('right_missing');
    const holder = calendars.nameByUid(calendar.id, index.uid);
    const isHidden = holder !== undefined && contents.object(holder) === undefined;
    if (isHidden) throw new Refusal('entry_uid_taken');
  }

  /**
   * Whether what a delegate organises is the owner's copy of it: their own object lies in a calendar of theirs, and they answer for
   * the owner by this one.
   */
  #isAttendees(of: { user: string; access: Access; uid: string; organizer: string | undefined }): boolean {
    const { book, calendars } = this.#options;
    if (of.access !== 'delegate' || of.organizer === undefined || book.userOf(of.organizer) !== of.user) return false;
    return writableOwn(calendars, of.user).some(({ id }) => calendars.nameByUid(id, of.uid) !== undefined);
  }

  /** What the server knows of it: the object that is there, or the same one in another own calendar. */
  async #before(user: string, calendarId: string, name: string, uid: string): Promise<KnownState | undefined> {
    const { calendars } = this.#options;
    const stored = await this.#stateOf(calendarId, name);
    if (stored !== undefined) return stored;
    const holder = writableOwn(calendars, user)
      .map(({ id }) => ({ id, name: calendars.nameByUid(id, uid) }))
      .find((one) => one.name !== undefined);
    return holder?.name === undefined ? undefined : await this.#stateOf(holder.id, holder.name);
  }

  async #stateOf(calendar: string, name: string): Promise<KnownState | undefined> {
    const { calendars, pool } = this.#options;
    const bytes = calendars.bytesOf(calendar, name);
    if (bytes === undefined) return undefined;
    const isScheduled = calendars.object(calendar, name)?.scheduled === true;
    return { bytes, isScheduled, participations: (await pool.derive(bytes, 'UTC')).participations };
  }
}

/** @throws Refusal `entry_not_found` for what is hidden from them, `right_missing` for what shows its time alone. */
function assertSees(contents: CalendarContents, name: string): void {
  const object = contents.object(name);
  if (object === undefined) throw new Refusal('entry_not_found');
  if (object.disclosure === 'time') throw new Refusal('right_missing');
}

/** What is stored as it came, and tells nobody anything. */
function unscheduled(bytes: Uint8Array, index: ModelIndex, prior: ObjectRecord | undefined): JudgedObject {
  const state = { bytes, index: storedIndex(index, false, false), judgedEtag: prior?.etag };
  return { ...state, isCorrected: false, isInvitation: true, plan: undefined };
}

function organizerOf(participations: readonly Participation[] = []): string | undefined {
  return participations.find(({ organizer }) => organizer !== undefined)?.organizer;
}

function hasPeople(participations: readonly Participation[]): boolean {
  return participations.some(({ organizer, attendees }) => organizer !== undefined || attendees.length > 0);
}
