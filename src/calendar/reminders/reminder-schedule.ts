/**
 * Reminders: which alarms are due, told to whom the calendar belongs. What follows from a change is worked out behind its
 * commit, from the log of changes; a crash in between is caught up with at the next start.
 *
 *     change ─► [object, behind] ─► alarms of what changed ─► [due] ─► its time ─► told ─► [next due]
 *
 * An alarm is told before that is noted: a crash between the two tells it once more, under the same id. One by e-mail is
 * put on its way in the commit that notes it.
 */
import { createHash } from 'node:crypto';
import type { Clock } from '#src/base/clock.ts';
import { formatInstant } from '#src/base/time.ts';
import type { ReminderData } from '#src/protocol/sockets/events.ts';
import { oneSample } from '#src/telemetry/metrics.ts';
import {
  alarmPosition,
  calendarsBehind,
  dueAlarms,
  dueOf,
  forgetAlarms,
  moveAlarmPosition,
  nextDue,
  putAlarm,
  resetAlarms,
  type PendingAlarm,
} from '#storage/calendars/calendar-alarms.ts';
import { entryIdOf, type CalendarRecord, type NamedObject } from '#storage/calendars/calendar-records.ts';
import type { Calendars } from '#storage/calendars/calendars.ts';
import type { AddressBook } from '../address-book.ts';
import type { DerivationPool } from '../objects/derivation-pool.ts';
import { CalendarFault } from '../icalendar/calendar-fault.ts';
import type { EmailAlarm, OutsideMail } from '../scheduling/outside-mail.ts';
import { CoalescingJob } from '../coalescing-job.ts';
import type { AlarmAnswer, DueAlarm } from './alarm-times.ts';

/** What went off longer ago, while the server was down, tells nobody anything any more: it is dropped. */
export const LATE_MILLIS_MAX = 3_600_000;
/** Later than this is told to be late. */
const LATE_MILLIS = 60_000;
/** How long changes are gathered: many writers share a commit for the alarms of what they wrote. */
const GATHERED_MILLIS = 100;
/** Objects of one step, after which others have their turn. */
const STEP = 50;
/** The longest that the schedule sleeps: a clock that is set shows by then. */
const SLEEP_MILLIS_MAX = 60_000;
/** How long nothing is told after the start: apps that lost their sockets have new ones by then. */
const START_MILLIS = 5_000;
/** How long it waits after a step failed: the disk is full, say. */
const RETRY_MILLIS = 5_000;

/** A reminder on its way to somebody's sockets. */
export interface Reminded {
  readonly user: string;
  readonly reminder: ReminderData;
}

/** An alarm that apps are told of. */
type ToldAlarm = DueAlarm & Pick<ReminderData, 'action'>;

/** An object after its alarms went off. */
interface Rung {
  /** When its next one is due. */
  readonly due: number | null;
  readonly emails: readonly EmailAlarm[];
}

export interface ReminderScheduleOptions {
  readonly calendars: Calendars;
  readonly pool: Pick<DerivationPool, 'alarms'>;
  readonly book: AddressBook;
  /** Whether somebody is there to be told. */
  readonly isPerson: (user: string) => boolean;
  /** Resolves when it is sure to be told. */
  readonly tell: (reminded: Reminded) => Promise<void>;
  /** Takes alarms by e-mail. */
  readonly mail: Pick<OutsideMail, 'remind' | 'wake'>;
  readonly clock: Clock;
  readonly log: { warn(message: string, fields?: Readonly<Record<string, unknown>>): void };
}

export class ReminderSchedule {
  readonly #options: ReminderScheduleOptions;
  readonly #work = new CoalescingJob(async () => await this.#run());
  readonly #tellsFrom: number;
  #gathering: NodeJS.Timeout | undefined;
  #dropped = 0;

  constructor(options: ReminderScheduleOptions) {
    this.#options = options;
    this.#tellsFrom = options.clock.now() + START_MILLIS;
  }

  /** For the metrics. */
  get metrics() {
    return { parley_calendar_reminders_dropped_total: oneSample(this.#dropped) };
  }

  /** Looks what there is to do. */
  wake(): void {
    this.#work.wake();
  }

  /** Looks what there is to do behind a change, and those that come with it. */
  changed(): void {
    if (this.#work.isStopped) return;
    this.#gathering ??= setTimeout(() => {
      this.#gathering = undefined;
      this.wake();
    }, GATHERED_MILLIS);
  }

  /** Ends after the step that is under way. */
  async stop(): Promise<void> {
    clearTimeout(this.#gathering);
    await this.#work.stop();
  }

  async #run(): Promise<number> {
    try {
      while (!this.#work.isStopped && ((await this.#catchUp()) || (await this.#ring())))
        await new Promise(setImmediate);
      const due = this.#work.isStopped ? undefined : nextDue(this.#options.calendars);
      if (due === undefined) return SLEEP_MILLIS_MAX;
      const at = Math.max(due, this.#tellsFrom);
      return Math.max(0, Math.min(SLEEP_MILLIS_MAX, at - this.#options.clock.now()));
    } catch (error) {
      this.#options.log.warn('reminders are late', { error });
      return RETRY_MILLIS;
    }
  }

  /** Works out the alarms of some objects that changed; answers whether there was anything to do. */
  async #catchUp(): Promise<boolean> {
    const { calendars } = this.#options;
    calendars.refresh();
    const [id] = calendarsBehind(calendars, 1);
    if (id === undefined) return false;
    const calendar = calendars.calendar(id);
    if (calendar === undefined) {
      await calendars.change((draft) => forgetAlarms(calendars, draft, id, STEP));
      return true;
    }
    const position = alarmPosition(calendars, id);
    const { since } = position;
    const page = calendars.changesSince(id, position, STEP);
    if (page === 'expired') {
      // Removals that nobody remembers leave alarms of nothing, which are met when they are due.
      await calendars.change((draft) => resetAlarms(draft, id));
      return true;
    }
    const next: [string, number | null][] = [];
    for (const object of page.changed) {
      const due = dueOf(calendars, id, object.name);
      // What was due before the change and is not told yet is still to be told.
      const after = Math.max(since, Math.min(object.changedAt, (due ?? Infinity) - 1));
      next.push([object.name, (await this.#ask(calendar, object, after, after)).next]);
    }
    await calendars.change((draft) => {
      for (const [name, due] of next) putAlarm(draft, id, name, due);
      for (const { name, isReplaced } of page.removed) if (!isReplaced) putAlarm(draft, id, name, null);
      moveAlarmPosition(draft, id, { ...page.position, since });
    });
    return true;
  }

  /**
   * Tells some of what is due; answers whether anything was.
   * @throws Error where something could not be told: it stays due.
   */
  async #ring(): Promise<boolean> {
    const { calendars, clock, mail } = this.#options;
    const now = clock.now();
    const pending = now < this.#tellsFrom ? [] : dueAlarms(calendars, now, STEP);
    const next: [PendingAlarm, number | null][] = [];
    const mailed: EmailAlarm[] = [];
    let failure: Error | undefined;
    for (const alarm of pending) {
      try {
        const { due, emails } = await this.#ringOne(alarm, now);
        next.push([alarm, due]);
        mailed.push(...emails);
      } catch (error) {
        failure = error as Error;
      }
    }
    if (next.length > 0) {
      await calendars.change((draft) => {
        for (const [{ calendar, name }, due] of next) putAlarm(draft, calendar, name, due);
        mail.remind(draft, mailed);
      });
      calendars.refresh();
      mail.wake();
    }
    if (failure !== undefined) throw failure;
    return next.length > 0;
  }

  /** Tells what is due of one object; answers when its next alarm is, and what is due by e-mail. */
  async #ringOne({ calendar: id, name, due }: PendingAlarm, now: number): Promise<Rung> {
    const { calendars, log } = this.#options;
    const calendar = calendars.calendar(id);
    const object = calendars.object(id, name);
    if (calendar === undefined || object === undefined) return { due: null, emails: [] };
    const answer = await this.#ask(calendar, { name, ...object }, due - 1, now);
    const told = answer.due.filter(({ at }) => at >= now - LATE_MILLIS_MAX);
    const emails: EmailAlarm[] = [];
    for (const one of told) {
      const { action, location, start, title } = one;
      const { owner, zone } = calendar;
      if (action !== 'email') await this.#tell(calendar, object.uid, { ...one, action }, now);
      else emails.push({ owner, calendar: id, uid: object.uid, title, location, start, zone });
    }
    const dropped = answer.due.length - told.length;
    this.#dropped += dropped;
    if (dropped > 0) log.warn('reminders were due while nobody could be told', { dropped });
    return { due: answer.next, emails };
  }

  async #ask(calendar: CalendarRecord, { name }: NamedObject, after: number, until: number): Promise<AlarmAnswer> {
    const { book, calendars, pool } = this.#options;
    const bytes = calendars.bytesOf(calendar.id, name);
    if (bytes === undefined || !/valarm/i.test(bytes.toString('latin1'))) return { due: [], next: null };
    const addresses = book.addressesOf(calendar.owner);
    try {
      return await pool.alarms({ bytes, zone: calendar.zone, after, until, addresses });
    } catch (error) {
      // An object that nobody can read reminds of nothing, and keeps no other from it.
      if (error instanceof CalendarFault) return { due: [], next: null };
      throw error;
    }
  }

  async #tell({ id, owner }: CalendarRecord, uid: string, due: ToldAlarm, now: number): Promise<void> {
    const { isPerson, tell } = this.#options;
    if (!isPerson(owner)) return;
    const { action, alarm, at, location, recurrenceId, start, title } = due;
    const which = [id, uid, recurrenceId ?? '', alarm, String(at)].join('\0');
    const reminder: ReminderData = {
      reminder_id: createHash('sha256').update(which).digest('base64url').slice(0, 22),
      calendar_id: id,
      entry_id: entryIdOf(uid),
      ...(recurrenceId === undefined ? {} : { recurrence_id: recurrenceId }),
      ...(start === undefined ? {} : { start_at: formatInstant(start) }),
      title: title.slice(0, TEXT_LENGTH_MAX),
      ...(location === undefined ? {} : { location: location.slice(0, TEXT_LENGTH_MAX) }),
      action,
      remind_at: formatInstant(at),
      late: now - at > LATE_MILLIS,
    };
    await tell({ user: owner, reminder });
  }
}

/** Characters of a title or a place in a reminder: what is shown of it. */
const TEXT_LENGTH_MAX = 500;
