/**
 * The calendar file: calendars, what is in them, who shares them, and the log of their changes.
 *
 *     put ─► draft: conditions, UID, limits ─► object, bytes, indexes, log and sync_seq in one commit ─► answered ─► told
 *
 * The main thread alone writes it, through `change` or the short forms below; whoever has a handle reads it. The log
 * holds the last change of each name, so a delta is read in its own length and the log never outgrows the calendar
 * by more than REMOVALS_MAX.
 */
import type { AuditForm, AuditActor } from '../accounts/audit-chain.ts';
import {
  CalendarDraft,
  type CalendarForm,
  type ObjectConditions,
  type PutOptions,
  type CalendarTouch,
  type PutResult,
} from './calendar-draft.ts';
import { dropInbox } from './calendar-inbox.ts';
import { meetingsIn, touchMeetings } from './calendar-meetings.ts';
import { placedRegistration, removeRegistration } from './calendar-registrations.ts';
import { CalendarReader, type AccessibleCalendar, type GroupSharing } from './calendar-reader.ts';
import {
  type Access,
  pendingAuditRecord,
  openCalendars,
  type CalendarEnvironment,
  type CalendarRecord,
  type CalendarTable,
  type ObjectIndex,
} from './calendar-records.ts';
import type { RequireQuota } from '#src/protocol/quotas.ts';
import { ChangeQueue } from '../engine/change-queue.ts';
import type { DurableWords } from '../engine/folder-logs.ts';
import { key, lastPart, under } from '../engine/keys.ts';

/** Changes that wait for their turn: all of them go into the next commit. One more is answered `busy`. */
export const CALENDAR_CHANGES_WAITING_MAX = 1_024;

/** Records of a removed calendar that one commit removes, so that no commit holds the thread for long. */
const PURGE_STEP = 500;

/** Entries handed to the audit trail at a time. */
const DEEDS_STEP = 100;

/** Tables in which the records of a calendar stand behind its id. */
const CALENDAR_PREFIXED = [
  'objects',
  'bodies',
  'uids',
  'times',
  'changes',
  'removals',
  'graves',
  'revisions',
  'properties',
  'feeds',
  'sources',
  'bound',
  'rsvps',
  'answers',
] as const satisfies readonly CalendarTable[];

export interface CalendarsOptions {
  readonly now: () => number;
  /** Where threads see how far the log is durable and archived. */
  readonly words?: DurableWords;
  /** Whether what somebody shared is there for others: not while the term of a guest is over. Everybody's by default. */
  readonly isServed?: (owner: string) => boolean;
  /** Who is in which group; without it nothing is shared with groups. */
  readonly groups?: GroupSharing;
  /** Told of every calendar that a commit changed, once it is on disk, and of those whom it shut out. */
  readonly onChange?: (touch: CalendarTouch, shutOut: readonly string[]) => void;
  /** Told of every topic of which a commit put a message into somebody’s inbox or took one out, once it is on disk. */
  readonly onTopic?: (owner: string, topic: string) => void;
  /** What people may use; without it nothing bounds them but what bounds a calendar. */
  readonly requireQuota?: RequireQuota;
  /** Writes what was done into the audit trail; resolves when it is there. */
  readonly onDeeds?: (deeds: readonly AuditForm[]) => Promise<void>;
}

/** The one writer of the calendar file. Reads what it wrote. */
export class Calendars extends CalendarReader {
  readonly #queue: ChangeQueue<CalendarTable, CalendarDraft>;
  readonly #options: CalendarsOptions;
  #purging: Promise<void> | undefined;
  #auditing: Promise<void> = Promise.resolve();
  #closed = false;

  private constructor(environment: CalendarEnvironment, options: CalendarsOptions) {
    super(environment, options.groups);
    this.#options = options;
    const { tables } = environment;
    this.#queue = new ChangeQueue({
      waitingMax: CALENDAR_CHANGES_WAITING_MAX,
      draft: (before) =>
        new CalendarDraft(
          before,
          (table, itemKey) => tables[table].get(itemKey),
          (range) => tables.graves.getRange(range),
          options.now(),
          options.requireQuota ?? (() => undefined),
          options.groups,
        ),
      commit: async (writes) => {
        await environment.commit(writes);
        environment.refresh();
      },
    });
  }

  /** As `CalendarView.accessOf`, of what is served. */
  override accessOf(user: string, id: string): Access | undefined {
    const owner = this.calendar(id)?.owner;
    return owner === undefined || !this.#isServed(user, owner) ? undefined : super.accessOf(user, id);
  }

  /** The calendars of a person's home: as `accessibleTo`, of what is served. */
  servedTo(user: string): AccessibleCalendar[] {
    return this.accessibleTo(user).filter(({ calendar }) => this.#isServed(user, calendar.owner));
  }

  #isServed(user: string, owner: string): boolean {
    return owner === user || this.#options.isServed?.(owner) !== false;
  }

  /** Opens the calendars of a data folder, whose lock the caller has, and goes on removing what was being removed. */
  static open(folder: string, options: CalendarsOptions): Calendars {
    const calendars = new Calendars(openCalendars(folder, 'write', options.words), options);
    calendars.#purge();
    calendars.#audit().catch(() => undefined);
    return calendars;
  }

  /**
   * Decides a change of any number of calendars and objects on a draft; resolves when it is on disk, all of it or none.
   * @throws Refusal what `decide` throws; `busy`, `storage_full`.
   */
  async change<T>(decide: (draft: CalendarDraft) => T): Promise<T> {
    const touched: [CalendarTouch, readonly string[]][] = [];
    const topics: (readonly [owner: string, topic: string])[] = [];
    let isAudited = false;
    const result = await this.#queue.change((draft) => {
      const decided = decide(draft);
      for (const [id, touch] of draft.touched) touched.push([touch, draft.shutOut.get(id) ?? []]);
      for (const [owner, some] of draft.topics) for (const topic of some) topics.push([owner, topic]);
      ({ isAudited } = draft);
      return decided;
    });
    for (const [touch, shutOut] of touched) this.#options.onChange?.(touch, shutOut);
    for (const [owner, topic] of topics) this.#options.onTopic?.(owner, topic);
    if (isAudited) await this.#audit();
    return result;
  }

  /** See CalendarDraft.createCalendar. */
  async createCalendar(form: CalendarForm, by?: AuditActor): Promise<CalendarRecord> {
    return await this.change((draft) => draft.createCalendar(form, by));
  }

  /** Removes a calendar at once for everybody, and what was in it soon. @throws Refusal `calendar_not_found`. */
  async removeCalendar(id: string, by?: AuditActor): Promise<void> {
    this.refresh();
    const meetings = meetingsIn(this, id);
    await this.change((draft) => {
      draft.shutOut.set(id, this.viewersOf(id));
      draft.removeCalendar(id, by);
      touchMeetings(draft, meetings, id);
    });
    this.#purge();
  }

  /** Removes a person's inbox at once, and what was in it soon. */
  async removeInbox(owner: string): Promise<void> {
    await this.change((draft) => dropInbox(draft, owner));
    this.#purge();
  }

  /** See CalendarDraft.putObject. */
  async putObject(
    calendar: string,
    name: string,
    bytes: Uint8Array,
    index: ObjectIndex,
    options: PutOptions = {},
  ): Promise<PutResult> {
    return await this.change((draft) => draft.putObject(calendar, name, bytes, index, options));
  }

  /** See CalendarDraft.removeObject. */
  async removeObject(calendar: string, name: string, conditions: ObjectConditions = {}): Promise<{ syncSeq: number }> {
    return await this.change((draft) => draft.removeObject(calendar, name, conditions));
  }

  /** Resolves when what was removed is off the disk. */
  async purged(): Promise<void> {
    await this.#purging;
  }

  /** Waits for what is being written, then closes. A removal that is under way goes on at the next start. */
  override async close(): Promise<void> {
    this.#closed = true;
    await this.#purging;
    await this.#auditing.catch(() => undefined);
    await this.#queue.settle();
    await super.close();
  }

  /**
   * Hands over what is to be audited and forgets it then. What a crash leaves between the two is handed over again at
   * the next start: an entry may be there twice and is never missing.
   */
  async #audit(): Promise<void> {
    this.#auditing = this.#auditing.then(async () => {
      for (;;) {
        const found = [...this.environment.tables.deeds.getRange({ limit: DEEDS_STEP })];
        if (found.length === 0 || this.#options.onDeeds === undefined) return;
        const keys = found.map((entry) => Buffer.from(entry.key));
        try {
          await this.#options.onDeeds(found.map(({ value }) => pendingAuditRecord.decode(value)));
        } catch {
          // They stay, and go with the next ones.
          return;
        }
        await this.#queue.change((draft) => keys.forEach((itemKey) => draft.put('deeds', itemKey, null)));
      }
    });
    await this.#auditing;
  }

  #purge(): void {
    this.#purging ??= this.#purgeAll()
      // The disk is full, say: the mark stays, and the next removal or start tries again.
      .catch(() => undefined)
      .finally(() => {
        this.#purging = undefined;
      });
  }

  async #purgeAll(): Promise<void> {
    for (;;) {
      const mark = [...this.environment.tables.meta.getRange({ ...under('purge'), limit: 1 })][0];
      if (mark === undefined) return;
      const [id, owner] = [lastPart(Buffer.from(mark.key)), mark.value.toString()];
      while (!this.#closed && (await this.#purgeStep(id, owner)));
      if (this.#closed) return;
      await this.change((draft) => draft.put('meta', key('purge', id), null));
    }
  }

  /** Removes some records of a removed calendar; answers whether there may be more. */
  async #purgeStep(id: string, owner: string): Promise<boolean> {
    const { tables } = this.environment;
    const sharees = this.shareesOf(id).map(({ sharee }) => sharee);
    if (sharees.length > 0) await this.change((draft) => sharees.forEach((sharee) => draft.dropShare(id, sharee)));
    const registered = [...tables.registrations.getRange({ ...under(id), limit: PURGE_STEP })].map(placedRegistration);
    if (registered.length > 0) {
      await this.change((draft) => registered.forEach(({ place }) => removeRegistration(draft, place)));
      return true;
    }
    const ranges = [
      ...CALENDAR_PREFIXED.map((table) => ({ table, range: under(id) })),
      { table: 'unanswered' as const, range: under(owner, id) },
    ];
    for (const { table, range } of ranges) {
      const found = [...tables[table].getKeys({ ...range, limit: PURGE_STEP })].map((itemKey) => Buffer.from(itemKey));
      if (found.length === 0) continue;
      await this.change((draft) => {
        for (const itemKey of found) draft.put(table, itemKey, null);
      });
      return true;
    }
    return false;
  }
}
