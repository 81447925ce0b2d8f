/**
 * Has meetings follow the entries that they were made for: what an entry's commit noted is carried out behind it, also
 * after a crash. Meetings that no entry knows of are ended at the start: they were made for one that was never written.
 */
import type { Clock } from '#src/base/clock.ts';
import type { MeetingPlan } from '#src/meetings/entry-meetings.ts';
import {
  bindingOf,
  settleMeeting,
  unsettledMeetings,
  type UnsettledMeeting,
  type EntryPlace,
} from '#storage/calendars/calendar-meetings.ts';
import type { Calendars } from '#storage/calendars/calendars.ts';
import type { DerivationPool } from '../objects/derivation-pool.ts';
import { CalendarFault } from '../icalendar/calendar-fault.ts';
import { CoalescingJob } from '../coalescing-job.ts';
import { planOf, type EntryMeetings } from './entry-meetings.ts';

/** Meetings of one step, after which others have their turn. */
const STEP = 50;
/** How long it waits after a step failed: the disk is full, say. */
const RETRY_MILLIS = 5_000;

export interface MeetingFollowerOptions {
  readonly calendars: Calendars;
  readonly meetings: EntryMeetings;
  readonly pool: Pick<DerivationPool, 'derive'>;
  readonly clock: Clock;
  readonly log: { warn(message: string, fields?: Readonly<Record<string, unknown>>): void };
}

export class MeetingFollower {
  readonly #options: MeetingFollowerOptions;
  readonly #startedAt: number;
  readonly #work = new CoalescingJob(async () => await this.#run());
  #isSwept = false;

  constructor(options: MeetingFollowerOptions) {
    this.#options = options;
    this.#startedAt = options.clock.now();
  }

  /** Looks what there is to do. */
  wake(): void {
    this.#work.wake();
  }

  /** Ends after the meeting that is under way. */
  async stop(): Promise<void> {
    await this.#work.stop();
  }

  async #run(): Promise<number | undefined> {
    try {
      if (!this.#isSwept) await this.#sweep();
      while (await this.#settleSome()) await new Promise(setImmediate);
      return undefined;
    } catch (error) {
      this.#options.log.warn('meetings do not follow their entries', { error });
      return RETRY_MILLIS;
    }
  }

  /** Ends the meetings of before the start that are of no entry. */
  async #sweep(): Promise<void> {
    const { calendars, meetings } = this.#options;
    for (let after: string | undefined; ;) {
      const page = meetings.list(after, STEP);
      for (const { id, madeAt } of page) {
        if (this.#work.isStopped) return;
        if (madeAt < this.#startedAt && bindingOf(calendars, id) === undefined) await meetings.cancel(id);
      }
      after = page.at(-1)?.id;
      if (after === undefined) break;
      await new Promise(setImmediate);
    }
    this.#isSwept = true;
  }

  /** Answers whether there may be more. */
  async #settleSome(): Promise<boolean> {
    const { calendars } = this.#options;
    calendars.refresh();
    const found = unsettledMeetings(calendars, STEP);
    for (const meeting of found) {
      if (this.#work.isStopped) return false;
      await this.#settle(meeting);
    }
    return found.length > 0;
  }

  async #settle(unsettled: UnsettledMeeting): Promise<void> {
    const { calendars, meetings } = this.#options;
    const { id } = unsettled;
    const binding = bindingOf(calendars, id);
    let left: EntryPlace[] = [];
    if (binding !== undefined) {
      const planned: [EntryPlace, MeetingPlan][] = [];
      for (const place of binding.entries) {
        const plan = await this.#planOf(place);
        if (plan !== undefined) planned.push([place, plan]);
      }
      left = planned.map(([place]) => place);
      const plan = planned[0]?.[1];
      if (plan === undefined) await meetings.cancel(id);
      else if (!(await meetings.follow(id, plan))) left = [];
    }
    await calendars.change((draft) => settleMeeting(draft, unsettled, left));
  }

  /** When an entry is; undefined where it is gone or cancelled. */
  async #planOf({ calendar: id, entry }: EntryPlace): Promise<MeetingPlan | undefined> {
    const { calendars, pool } = this.#options;
    const calendar = calendars.calendar(id);
    const name = calendar === undefined ? undefined : calendars.nameByEntry(id, entry);
    const bytes = name === undefined ? undefined : calendars.bytesOf(id, name);
    if (calendar === undefined || bytes === undefined) return undefined;
    try {
      return planOf((await pool.derive(bytes, calendar.zone)).index);
    } catch (error) {
      // What nobody can read any more leads nobody anywhere.
      if (error instanceof CalendarFault) return undefined;
      throw error;
    }
  }
}
