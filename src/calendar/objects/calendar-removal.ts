/** Removing a calendar of one's own, and who is told that the meetings in it do not take place. */
import type { Clock } from '#src/base/clock.ts';
import { Refusal } from '#src/protocol/errors.ts';
import type { AuditActor } from '#storage/accounts/audit-chain.ts';
import type { CalendarRecord, NamedObject } from '#storage/calendars/calendar-records.ts';
import type { ObjectConditions } from '#storage/calendars/calendar-draft.ts';
import type { Calendars } from '#storage/calendars/calendars.ts';
import type { AddressBook } from '../address-book.ts';
import { CalendarFault } from '../icalendar/calendar-fault.ts';
import { TimeSlicer } from '../time-slicer.ts';
import type { WorkBudgets } from '../work-budget.ts';
import type { DerivationPool } from './derivation-pool.ts';

export interface CalendarRemovalParts {
  readonly calendars: Calendars;
  /** Removes an object as a person, and tells whom that concerns. */
  readonly writer: {
    remove(
      user: string,
      calendar: string,
      name: string,
      conditions: ObjectConditions,
      options: { readonly isSilent: boolean },
    ): Promise<void>;
  };
  readonly pool: Pick<DerivationPool, 'derive'>;
  readonly book: AddressBook;
  readonly budgets: WorkBudgets;
  readonly clock: Clock;
}

export interface CalendarRemoval {
  /** One's own. */
  readonly calendar: CalendarRecord;
  readonly by: AuditActor;
  /** Undefined asks for an answer where it has meetings that others would miss. */
  readonly notify: 'all' | 'none' | undefined;
  /** Whether what others organise goes without an answer to them (RFC 6638, 8.1). */
  readonly isSilent?: boolean;
}

/** Objects looked at together. */
const PAGE = 500;

/**
 * With `all` each meeting that is not over is removed as by itself (RFC 6638, 3.2.3.2): whom the owner invited reads that it is
 * cancelled, and who invited the owner that they decline. A crash in between leaves the calendar with those that were not removed
 * yet. What is over is told to nobody.
 * @throws Refusal `calendar_has_meetings`, `calendar_not_found`, `busy`.
 */
export async function removeOwnCalendar(
  parts: CalendarRemovalParts,
  { by, calendar, isSilent = false, notify }: CalendarRemoval,
): Promise<void> {
  const { calendars, writer } = parts;
  const { id, owner } = calendar;
  if (notify !== 'none') {
    for await (const { name } of comingMeetings(parts, calendar, notify === undefined)) {
      if (notify === undefined) throw new Refusal('calendar_has_meetings');
      await removeMeeting(writer, owner, id, name, isSilent);
    }
  }
  await calendars.removeCalendar(id, by);
}

async function removeMeeting(
  writer: CalendarRemovalParts['writer'],
  owner: string,
  calendar: string,
  name: string,
  isSilent: boolean,
): Promise<void> {
  try {
    await writer.remove(owner, calendar, name, {}, { isSilent });
  } catch (error) {
    // Somebody removed it meanwhile, or nobody can read it any more, who it is for included: it goes with its calendar.
    const isGone = error instanceof Refusal && error.code === 'entry_not_found';
    if (!isGone && !(error instanceof CalendarFault)) throw error;
  }
}

/** Objects with people that take place some time from now, or those alone of them that the owner organises for others. */
async function* comingMeetings(
  parts: CalendarRemovalParts,
  { id, owner, zone }: CalendarRecord,
  isOrganized: boolean,
): AsyncGenerator<NamedObject> {
  const { book, budgets, calendars, clock, pool } = parts;
  const slicer = new TimeSlicer({ budgets, user: owner });
  for (let after: string | undefined; ;) {
    calendars.refresh();
    const page = calendars.objects(id, { limit: PAGE, ...(after === undefined ? {} : { after }) });
    for (const object of page) {
      if (!object.scheduled || (object.lastAt !== null && object.lastAt < clock.now())) continue;
      const bytes = isOrganized ? calendars.bytesOf(id, object.name) : undefined;
      if (!isOrganized || (bytes !== undefined && (await isForOthers(pool, book, owner, bytes, zone)))) yield object;
      await slicer.pass();
    }
    if (page.length < PAGE) return;
    after = page.at(-1)?.name;
  }
}

async function isForOthers(
  pool: CalendarRemovalParts['pool'],
  book: AddressBook,
  owner: string,
  bytes: Uint8Array,
  zone: string,
): Promise<boolean> {
  try {
    const { index, participations } = await pool.derive(bytes, zone);
    return (
      !index.isCancelled &&
      participations.some(
        ({ attendees, organizer }) =>
          organizer !== undefined &&
          book.userOf(organizer) === owner &&
          attendees.some(({ address }) => book.userOf(address) !== owner),
      )
    );
  } catch (error) {
    if (error instanceof CalendarFault) return false;
    throw error;
  }
}
