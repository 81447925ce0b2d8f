/** Reads of the calendar file: whose calendars, which objects, what changed, what lies in a span of time. */
import {
  ACCESS_RANK,
  ANYBODY,
  calendarRecord,
  changeRecord,
  GROUP_SHAREE,
  SHARES_PER_CALENDAR_MAX,
  isInbox,
  tombstoneRecord,
  nameInTimeKey,
  objectRecord,
  objectResource,
  propertiesRecord,
  revisionRecord,
  timeRanges,
  uidKey,
  type Access,
  type CalendarEnvironment,
  type CalendarRecord,
  type CalendarTable,
  type TombstoneRecord,
  type NamedObject,
  type ObjectRecord,
  type RevisionRecord,
  type ShareAccess,
} from './calendar-records.ts';
import { key, lastPart, numberAt, numbered, numberOf, under } from '../engine/keys.ts';

/** A calendar as one person has it. */
export interface AccessibleCalendar {
  readonly calendar: CalendarRecord;
  readonly access: Access;
}

/**
 * How far a client has read. `after` is the last change it has. `base` is the sync_seq that the calendar had when it
 * began to read from the start, as long as it has not come so far: removals up to there cannot concern it.
 */
export interface SyncPosition {
  readonly after: number;
  readonly base: number;
}

/** What two zones may differ by: from UTC-12 to UTC+14. */
const ZONE_MILLIS_MAX = 26 * 3_600_000;

/** Keys of the time index read at a time. */
const KEYS_PER_READ = 256;

/** Objects whose bytes were looked through. */
export interface LookedPage {
  readonly count: number;
  /** Their names in their order. To be asked before anything else is read. */
  readonly names: () => string[];
  /** Name of the last of them. */
  readonly last: string | undefined;
  /** Whether there is nothing behind them. */
  readonly isWhole: boolean;
}

/** Objects whose bytes are looked through at a time, and how many bytes they may have before the last of them: a millisecond. */
const LOOKS_PER_READ = 256;
const LOOKED_BYTES = 512 * 1024;

/** Where whoever has nothing begins. */
export const SYNC_START: SyncPosition = { after: 0, base: 0 };

/** Something that is no longer there. */
export interface RemovedObject {
  readonly name: string;
  readonly uid: string;
  /** Whether the name belongs to another object by now: gone by its UID, and not by its name. */
  readonly isReplaced: boolean;
  /** Whether people may have it who see nothing that is private. */
  readonly wasShown: boolean;
  /** `ObjectRecord.hiddenAt` of what it was last. */
  readonly hiddenAt: number | undefined;
}

export interface SyncPage<Changed extends NamedObject = NamedObject> {
  /** Last state of every object that changed, in the order of the changes. */
  readonly changed: readonly Changed[];
  readonly removed: readonly RemovedObject[];
  /** Where to go on from. */
  readonly position: SyncPosition;
  /** Whether there is more from there at once. */
  readonly more: boolean;
}

/** Who is in which group as of now: what is shared with a group is shared with its members as long as they are that. */
export interface GroupSharing {
  /** Ids of the groups that somebody is a member of. */
  groupsOf(user: string): Iterable<string>;
  membersOf(group: string): Iterable<string>;
  /** Whether the owner of a calendar may see somebody, by the access policies: whom they may not, they share nothing with. */
  reaches(owner: string, user: string): boolean;
}

const NO_GROUPS: GroupSharing = { groupsOf: () => [], membersOf: () => [], reaches: () => false };

/** Reads by key, which see what the reads of their source see. */
export class CalendarView {
  readonly #get: (table: CalendarTable, itemKey: Buffer) => Buffer | undefined;
  /** The calendar that was read last: a file that is taken in asks for one some hundred thousand times. */
  #read: { readonly stored: Buffer; readonly calendar: CalendarRecord } | undefined;
  protected readonly groups: GroupSharing;

  constructor(get: (table: CalendarTable, itemKey: Buffer) => Buffer | undefined, groups: GroupSharing = NO_GROUPS) {
    this.#get = get;
    this.groups = groups;
  }

  calendar(id: string): CalendarRecord | undefined {
    const stored = this.#get('calendars', key(id));
    if (stored === undefined) return undefined;
    // Its id is in its bytes.
    if (this.#read?.stored.equals(stored) !== true) this.#read = { stored, calendar: calendarRecord.decode(stored) };
    return this.#read.calendar;
  }

  /** What a person may do with a calendar; undefined where it is not there for them. */
  accessOf(user: string, id: string): Access | undefined {
    const calendar = this.calendar(id);
    // A calendar that was removed is nobody's, though its shares may still be there.
    if (calendar === undefined || isInbox(calendar)) return undefined;
    if (calendar.owner === user) return 'owner';
    const via = [...this.groups.groupsOf(user)].map((group) => this.#shareOf(id, `${GROUP_SHAREE}${group}`));
    const most = widest(via);
    const isReached = most !== undefined && this.groups.reaches(calendar.owner, user);
    return widest([this.#shareOf(id, user), isReached ? most : undefined]);
  }

  /** Whether a calendar is shared with that very person, or with that group (`@grp_…`). */
  isSharedWith(id: string, sharee: string): boolean {
    return this.#shareOf(id, sharee) !== undefined;
  }

  #shareOf(id: string, sharee: string): ShareAccess | undefined {
    return this.#get('shares', key(id, sharee))?.toString() as ShareAccess | undefined;
  }

  /** The id of a person's own calendar by its name in paths. */
  ownedByName(owner: string, name: string): string | undefined {
    return this.#get('owned', key(owner, name))?.toString();
  }

  /** Where scheduling messages to a person come in; undefined of whoever got none yet and never looked. */
  inboxOf(user: string): CalendarRecord | undefined {
    const id = this.#get('meta', key('inbox', user));
    return id === undefined ? undefined : this.calendar(id.toString());
  }

  /** Entries, and their bytes, in a person's own calendars that follow no feed; with EVERYBODY in all people's. */
  calendarUse(owner: string): { readonly entries: number; readonly bytes: number } {
    const stored = this.#get('meta', key('usage', owner));
    return stored === undefined ? { entries: 0, bytes: 0 } : { entries: numberAt(stored), bytes: numberAt(stored, 1) };
  }

  /** How many calendars a person owns. */
  calendarsOwned(owner: string): number {
    const stored = this.#get('meta', key('owned', owner));
    return stored === undefined ? 0 : numberAt(stored);
  }

  object(calendar: string, name: string): ObjectRecord | undefined {
    const stored = this.#get('objects', key(calendar, name));
    return stored === undefined ? undefined : objectRecord.decode(stored);
  }

  /** The bytes of an object, as they were put. */
  bytesOf(calendar: string, name: string): Buffer | undefined {
    return this.#get('bodies', key(calendar, name));
  }

  /** The name of the object with that UID. */
  nameByUid(calendar: string, uid: string): string | undefined {
    return this.#get('uids', uidKey(calendar, uid))?.toString();
  }

  /** The name of the object with that entry id. */
  nameByEntry(calendar: string, entry: string): string | undefined {
    return this.#get('uids', key(calendar, entry))?.toString();
  }

  /** The removal after which a name is nobody's; undefined for a name that is in use or never was. */
  removal(calendar: string, name: string): { readonly seq: number; readonly grave: TombstoneRecord } | undefined {
    const pointer = this.#get('removals', key(calendar, name));
    if (pointer === undefined) return undefined;
    const seq = numberAt(pointer);
    return { seq, grave: tombstoneRecord.decode(this.#get('graves', numbered(seq, calendar)) as Buffer) };
  }

  /** What one person's clients keep on a resource: Clark name → value. A resource is a calendar's id or a path. */
  properties(resource: string, user: string): Readonly<Record<string, string>> {
    const stored = this.#get('properties', key(resource, user));
    return stored === undefined ? {} : propertiesRecord.decode(stored).values;
  }

  /** What clients keep on an object, for everybody who sees it. */
  objectProperties(id: string, name: string): Readonly<Record<string, string>> {
    return this.properties(objectResource(id, name), ANYBODY);
  }

  /** What is stored under a key, by a file of this room that knows its table. */
  read(table: CalendarTable, itemKey: Buffer): Buffer | undefined {
    return this.#get(table, itemKey);
  }
}

declare const ownership: unique symbol;

/**
 * A calendar that belongs to the person it was read for. Scheduling looks for copies of an entry in these alone: what others
 * share with somebody holds copies of theirs, and `accessibleTo` does not give this type.
 */
export type OwnCalendar = CalendarRecord & { readonly [ownership]: true };

/** Everything there is to read, as it is on disk. Call `refresh` first to see what was committed by now. */
export class CalendarReader extends CalendarView {
  readonly environment: CalendarEnvironment;

  constructor(environment: CalendarEnvironment, groups?: GroupSharing) {
    super((table, itemKey) => environment.tables[table].get(itemKey), groups);
    this.environment = environment;
  }

  refresh(): void {
    this.environment.refresh();
  }

  /** Decoded where it lies, without a copy of its bytes: a question about a year asks for thousands. */
  override object(calendar: string, name: string): ObjectRecord | undefined {
    const stored = this.environment.tables.objects.getBinaryFast(key(calendar, name));
    return stored === undefined ? undefined : objectRecord.decode(stored);
  }

  /** Whether any calendar has an entry, or a message in an inbox. */
  get hasObjects(): boolean {
    return this.environment.tables.objects.getKeysCount({ limit: 1 }) > 0;
  }

  /** A person's own calendars by their names. */
  ownedBy(user: string): OwnCalendar[] {
    return [...this.environment.tables.owned.getRange(under(user))].flatMap(({ value }) => {
      const calendar = this.calendar(value.toString());
      return calendar === undefined ? [] : [calendar as OwnCalendar];
    });
  }

  /** A person's own calendars by their names, then those that others share with them or with a group of theirs. */
  accessibleTo(user: string): AccessibleCalendar[] {
    const { shared } = this.environment.tables;
    const own = this.ownedBy(user).map((calendar) => ({ calendar, access: 'owner' as const }));
    const sharees = [user, ...[...this.groups.groupsOf(user)].map((group) => `${GROUP_SHAREE}${group}`)];
    const ids = sharees.flatMap((one) =>
      [...shared.getKeys(under(one))].map((itemKey) => lastPart(Buffer.from(itemKey))),
    );
    const visible = [...new Set(ids)].flatMap((id) => {
      const calendar = this.calendar(id);
      const access = calendar?.owner === user ? undefined : super.accessOf(user, id);
      return calendar === undefined || access === undefined ? [] : [{ calendar, access }];
    });
    return [...own, ...visible];
  }

  /** Whether a person has a calendar of their own. */
  hasOwned(user: string): boolean {
    return [...this.environment.tables.owned.getKeys({ ...under(user), limit: 1 })].length > 0;
  }

  /** Whom a calendar is shared with: people, and groups as `@grp_…`. */
  shareesOf(id: string): { readonly sharee: string; readonly access: ShareAccess }[] {
    return [...this.environment.tables.shares.getRange(under(id))].map((entry) => ({
      sharee: lastPart(Buffer.from(entry.key)),
      access: entry.value.toString() as ShareAccess,
    }));
  }

  /** The people that a calendar is shared with, each by themselves. */
  sharesOf(id: string): { readonly user: string; readonly access: ShareAccess }[] {
    return this.shareesOf(id).flatMap(({ access, sharee }) =>
      sharee.startsWith(GROUP_SHAREE) ? [] : [{ user: sharee, access }],
    );
  }

  /** The groups that a calendar is shared with. */
  groupSharesOf(id: string): { readonly group: string; readonly access: ShareAccess }[] {
    return this.shareesOf(id).flatMap(({ access, sharee }) =>
      sharee.startsWith(GROUP_SHAREE) ? [{ group: sharee.slice(GROUP_SHAREE.length), access }] : [],
    );
  }

  /**
   * Everybody who sees the calendar, its owner first; of the members of groups no more than SHARES_PER_CALENDAR_MAX, and the others
   * hear of changes when they ask.
   */
  viewersOf(id: string): string[] {
    const calendar = this.calendar(id);
    if (calendar === undefined) return [];
    const members = new Set<string>();
    for (const { group } of this.groupSharesOf(id)) {
      for (const user of this.groups.membersOf(group)) {
        if (members.size >= SHARES_PER_CALENDAR_MAX) break;
        if (this.groups.reaches(calendar.owner, user)) members.add(user);
      }
    }
    return [...new Set([calendar.owner, ...this.sharesOf(id).map(({ user }) => user), ...members])];
  }

  /** The objects of a calendar by name, behind `after` when it is given. */
  objects(calendar: string, { after, limit }: { after?: string; limit?: number } = {}): NamedObject[] {
    const range = under(calendar);
    const start = after === undefined ? range.start : Buffer.concat([key(calendar, after), Buffer.of(0)]);
    const most = limit === undefined ? {} : { limit };
    const prefix = calendar.length + 1;
    return [...this.environment.tables.objects.getRange({ start, end: range.end, ...most })].map((entry) => ({
      name: entry.key.toString('utf8', prefix),
      ...objectRecord.decode(entry.value),
    }));
  }

  /**
   * Hands over the bytes of some objects of a calendar, by name, behind `after` when it is given: for whoever looks through all of
   * them. Whoever takes them keeps none, which are those of the next object a moment later.
   */
  lookThrough(
    calendar: string,
    take: (bytes: Buffer) => void,
    { after, limit = LOOKS_PER_READ }: { readonly after?: string | undefined; readonly limit?: number } = {},
  ): LookedPage {
    const { bodies } = this.environment.tables;
    const { end, start: first } = under(calendar);
    const start = after === undefined ? first : Buffer.concat([key(calendar, after), Buffer.of(0)]);
    const most = Math.min(limit, LOOKS_PER_READ);
    let left = LOOKED_BYTES;
    const count = bodies.walkValues({ start, end, limit: most }, (bytes) => {
      take(bytes);
      left -= bytes.length;
      return left > 0;
    });
    const prefix = calendar.length + 1;
    const namesFrom = (offset: number, limitOfNames: number) =>
      [...bodies.getKeys({ start, end, offset, limit: limitOfNames })].map((itemKey) =>
        itemKey.toString('utf8', prefix),
      );
    const isWhole = count < most && left > 0;
    const last = count === 0 ? undefined : namesFrom(count - 1, 1)[0];
    return { count, names: () => namesFrom(0, count), last, isWhole };
  }

  /**
   * The objects that have something between two instants, by the index: those whose first and last instant enclose
   * part of it, and those without a time. A series among them may still have no occurrence there, and the index of
   * whole days and floating times was made with the zone that the calendar had then: a day more is looked at.
   */
  objectsBetween(calendar: string, from: number, to: number, limit = Number.MAX_SAFE_INTEGER): NamedObject[] {
    const found: NamedObject[] = [];
    for (const object of this.eachBetween(calendar, from, to)) {
      found.push(object);
      if (found.length >= limit) break;
    }
    return found;
  }

  /** The same one by one, for whoever stops in between: no read stays open meanwhile. */
  *eachBetween(calendar: string, from: number, to: number): Generator<NamedObject> {
    const seen = new Set<string>();
    const [first, last] = [from - ZONE_MILLIS_MAX, to + ZONE_MILLIS_MAX];
    for (const { end, start } of timeRanges(calendar, first, last)) {
      for (let behind: Buffer | undefined = start; behind !== undefined;) {
        const range: { start: Buffer; end: Buffer; limit: number } = { start: behind, end, limit: KEYS_PER_READ };
        const keys: Buffer[] = [...this.environment.tables.times.getKeys(range)];
        behind = keys.length < KEYS_PER_READ ? undefined : Buffer.concat([keys.at(-1) as Buffer, Buffer.of(0)]);
        for (const itemKey of keys) {
          const name = nameInTimeKey(itemKey, calendar);
          // In two buckets at most, side by side.
          if (seen.has(name)) continue;
          seen.add(name);
          const record = this.object(calendar, name);
          if (record !== undefined && touches(record, first, last)) yield { name, ...record };
        }
      }
    }
  }

  /**
   * What changed behind a position, the last state of each name: exact, or 'expired' where removals that belong to it
   * are no longer remembered or where the position is none of this calendar.
   */
  changesSince(calendar: string, { after, base }: SyncPosition, limit: number): SyncPage | 'expired' {
    const record = this.calendar(calendar);
    if (record === undefined || after > record.syncSeq || base > record.syncSeq || base < after) return 'expired';
    const known = after === 0 ? record.syncSeq : base;
    if (known < record.floorSeq) return 'expired';
    const changed: NamedObject[] = [];
    const removed: RemovedObject[] = [];
    let last = after;
    const range = { start: numbered(after + 1, calendar), end: numbered(record.syncSeq + 1, calendar) };
    for (const entry of this.environment.tables.changes.getRange(range)) {
      const seq = numberOf(entry.key);
      const change = changeRecord.decode(entry.value);
      // A removal of before the reader began is of something that it never read.
      if (change.removed && seq <= known && known > after) continue;
      if (changed.length + removed.length >= limit) {
        return { changed, removed, position: { after: last, base: Math.max(known, last) }, more: true };
      }
      last = seq;
      const { name, uid } = change;
      const shown = { wasShown: change.wasShown !== false, hiddenAt: change.hiddenAt };
      if (change.removed) removed.push({ name, uid, isReplaced: this.object(calendar, name) !== undefined, ...shown });
      else changed.push({ name, ...(this.object(calendar, name) as ObjectRecord) });
    }
    return { changed, removed, position: { after: record.syncSeq, base: record.syncSeq }, more: false };
  }

  /** When something in a calendar was last put or removed; its making where nothing ever was. */
  changedAt({ id, createdAt }: CalendarRecord): number {
    const { start, end } = under(id);
    for (const { value } of this.environment.tables.changes.getRange({
      start: end,
      end: start,
      reverse: true,
      limit: 1,
    })) {
      const { name, removed } = changeRecord.decode(value);
      return (removed ? this.removal(id, name)?.grave.at : this.object(id, name)?.changedAt) ?? createdAt;
    }
    return createdAt;
  }

  /** Prior states of an object, there or removed, the newest first. */
  revisionsOf(calendar: string, name: string): RevisionRecord[] {
    const seqs = (this.object(calendar, name) ?? this.removal(calendar, name)?.grave)?.revisions ?? [];
    return seqs.toReversed().flatMap((seq) => {
      const stored = this.environment.tables.revisions.get(numbered(seq, calendar));
      return stored === undefined ? [] : [revisionRecord.decode(stored)];
    });
  }

  /** Objects of a person's own calendars that ask for their answer. */
  unansweredOf(user: string, { limit }: { limit: number }): { calendar: string; name: string }[] {
    const prefix = Buffer.byteLength(user) + 1;
    return [...this.environment.tables.unanswered.getKeys({ ...under(user), limit })].map((itemKey) => {
      const text = itemKey.toString('utf8', prefix);
      const split = text.indexOf('\0');
      return { calendar: text.slice(0, split), name: text.slice(split + 1) };
    });
  }

  /** Names of the objects of one calendar that ask for its owner's answer, behind `after` when it is given. */
  unansweredIn({ id, owner }: CalendarRecord, { after, limit }: { after?: string; limit: number }): string[] {
    const { start, end } = under(owner, id);
    const from = after === undefined ? start : Buffer.concat([key(owner, id, after), Buffer.of(0)]);
    return [...this.environment.tables.unanswered.getKeys({ start: from, end, limit })].map((itemKey) =>
      lastPart(Buffer.from(itemKey)),
    );
  }

  async close(): Promise<void> {
    await this.environment.close();
  }
}

function widest(all: readonly (ShareAccess | undefined)[]): ShareAccess | undefined {
  return all.reduce(
    (most, one) => (one !== undefined && (most === undefined || ACCESS_RANK[one] > ACCESS_RANK[most]) ? one : most),
    undefined,
  );
}

/** Whether an object has any of the time from one instant up to another, by its index. */
function touches({ firstAt, lastAt }: ObjectRecord, from: number, to: number): boolean {
  if (firstAt === null) return true;
  // What has no length is where it begins.
  return firstAt < to && (lastAt === null || lastAt > from || (lastAt === firstAt && firstAt >= from));
}
