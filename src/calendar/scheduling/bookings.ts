/**
 * Rooms and resources answer invitations by themselves: what is free and within the rules is accepted, anything else declined with
 * the reason.
 *
 *     REQUEST ─► copy ─► parts ─► rules, then what else is in the calendar ─► copy and REPLY in one commit
 *
 * The commit holds only for the state of the calendar that was looked at (`syncSeq`), so of two bookings at once one is decided
 * behind the other.
 */
import type { Clock } from '#src/base/clock.ts';
import type { ManagedResource } from '#src/protocol/directory/resources.ts';
import type { CalendarRecord } from '#storage/calendars/calendar-records.ts';
import type { Calendars } from '#storage/calendars/calendars.ts';
import type { AddressBook } from '../address-book.ts';
import type { BusyPeriod } from '../icalendar/free-busy.ts';
import { busyTimes } from '../objects/busy-times.ts';
import type { DerivationPool } from '../objects/derivation-pool.ts';
import { TimeSlicer } from '../time-slicer.ts';
import type { BookedPart, BookingAnswer, BookingParts } from './booking-parts.ts';
import type { Recipients } from './people.ts';

/**
 * Occurrences of one booking: each weekday of two years, and each is held against the calendar. What has more is declined.
 */
export const BOOKED_OCCURRENCES_MAX = 600;

/** What is looked at together of the calendar: a month, which has some hundred bookings. */
const LOOKED_AT_MILLIS = 31 * 86_400_000;
const DAY_MILLIS = 86_400_000;
const MINUTE_MILLIS = 60_000;
/** Behind everything that a calendar holds: the end of the year 9999. */
const LATEST = 253_402_300_799_999;

/** What the organiser reads beside a refusal. */
export const BOOKING_REASONS = {
  forbidden: 'You may not book this.',
  over: 'This is over.',
  recurring: 'Series cannot be booked here.',
  too_long: 'This takes longer than one booking may.',
  too_far: 'This lies further ahead than can be booked.',
  too_many: 'This has more occurrences than one booking may.',
  taken: 'It is taken at that time.',
  unknown: 'There is too much in that time to say that it is free.',
} as const;
type BookingReason = keyof typeof BOOKING_REASONS;

export interface BookingsOptions {
  readonly calendars: Calendars;
  readonly pool: DerivationPool;
  readonly book: AddressBook;
  readonly clock: Clock;
  /** A room or resource of that name; undefined for anything else. */
  readonly resource: (user: string) => ManagedResource | undefined;
  /** Whether somebody may book it now. */
  readonly mayBook: (person: string, user: string) => boolean;
}

/** An invitation of a resource as it comes to its calendar. */
export interface Booking {
  readonly calendar: CalendarRecord;
  readonly uid: string;
  /** The copy as it would be, unanswered. */
  readonly bytes: Uint8Array;
  readonly organizer: string;
  readonly resource: ManagedResource;
  readonly recipients: Recipients;
}

export interface DecidedBooking {
  /** The copy; undefined where nothing of it is booked. */
  readonly bytes: Uint8Array | undefined;
  /** To the organiser; undefined where everything is answered as before. */
  readonly reply: Uint8Array | undefined;
}

export class Bookings {
  readonly #options: BookingsOptions;

  constructor(options: BookingsOptions) {
    this.#options = options;
  }

  /** A room or resource of that name; undefined for anything else. */
  resource(user: string): ManagedResource | undefined {
    return this.#options.resource(user);
  }

  /** Decides a booking by the calendar as it is on disk; to be written only while that has the same `syncSeq`. @throws CalendarFault; Refusal `busy`. */
  async decide(booking: Booking): Promise<DecidedBooking> {
    const { clock, pool } = this.#options;
    const { bytes, calendar, recipients, resource } = booking;
    const copy = { bytes, zone: calendar.zone, recipients, own: resource.user };
    const now = clock.now();
    const window = { from: now, to: LATEST };
    const asked = await pool.readBooking({ ...copy, window, most: BOOKED_OCCURRENCES_MAX });
    const reasons = await this.#reasonsOf(booking, asked, now);
    const answers: Record<string, BookingAnswer> = {};
    for (const { key, partstat, spans } of asked.parts) {
      const reason = reasons.get(key);
      // What is over stays as it was answered while it was not.
      if (reason === undefined && spans.length === 0 && partstat !== 'NEEDS-ACTION') continue;
      const said = reason ?? (spans.length === 0 ? 'over' : undefined);
      answers[key] =
        said === undefined
          ? { partstat: 'ACCEPTED', reason: '' }
          : { partstat: 'DECLINED', reason: BOOKING_REASONS[said] };
    }
    const answered = await pool.answerBooking({ ...copy, now, answers });
    const isBooked = asked.parts.some(({ key, partstat }) => (answers[key]?.partstat ?? partstat) === 'ACCEPTED');
    return { bytes: isBooked ? answered.bytes : undefined, reply: answered.reply };
  }

  /** Why parts are declined; those that are not in it are not. */
  async #reasonsOf(booking: Booking, asked: BookingParts, now: number): Promise<Map<string, BookingReason>> {
    const { mayBook } = this.#options;
    const { organizer, resource } = booking;
    const reasons = new Map<string, BookingReason>();
    for (const part of asked.parts) {
      const reason = mayBook(organizer, resource.user) ? ruleBroken(resource, asked, part, now) : 'forbidden';
      if (reason !== undefined) reasons.set(part.key, reason);
    }
    const open = asked.parts.filter(({ key }) => !reasons.has(key));
    const spans = open.flatMap(({ key, spans: own }) => own.map((span) => ({ ...span, key })));
    for (const group of together(spans.toSorted((a, b) => a.start - b.start))) {
      const undecided = group.filter(({ key }) => !reasons.has(key));
      const [from, to] = [undecided[0]?.start, Math.max(...undecided.map(({ end }) => end))];
      if (from === undefined || from >= to) continue;
      const { isCut, periods } = await this.#taken(booking, { from, to });
      for (const span of undecided) {
        const isTaken = periods.some((period) => touches(period, span));
        if (isTaken || isCut) reasons.set(span.key, isTaken ? 'taken' : 'unknown');
      }
    }
    return reasons;
  }

  /** When the resource is taken by anything else: by the one answer to that question. */
  async #taken({ resource: { user }, uid }: Booking, window: { readonly from: number; readonly to: number }) {
    const { book, calendars } = this.#options;
    const addresses = book.addressesOf(user);
    return await busyTimes(this.#options, calendars.ownedBy(user), {
      ...{ window, addresses, except: uid },
      // The server's own work, bounded by the occurrences: an organiser who rests would hold up whoever books behind them.
      slicer: new TimeSlicer(),
    });
  }
}

/** The rule that a part is against, by what can be said without looking at the calendar. */
function ruleBroken(
  { advance_days_max: days, duration_minutes_max: minutes, recurring }: ManagedResource,
  { isCut, isRecurring }: BookingParts,
  { spans }: BookedPart,
  now: number,
): BookingReason | undefined {
  if (isRecurring && !recurring) return 'recurring';
  if (minutes !== null && spans.some(({ end, start }) => end - start > minutes * MINUTE_MILLIS)) return 'too_long';
  if (spans.some(({ end }) => end > now + days * DAY_MILLIS)) return 'too_far';
  return isCut ? 'too_many' : undefined;
}

/** Spans in groups that are looked at by one question each. */
function* together<Span extends { readonly start: number; readonly end: number }>(
  spans: readonly Span[],
): Generator<readonly Span[]> {
  let group: Span[] = [];
  for (const span of spans) {
    const [first] = group;
    if (first !== undefined && span.end - first.start > LOOKED_AT_MILLIS) {
      yield group;
      group = [];
    }
    group.push(span);
  }
  if (group.length > 0) yield group;
}

function touches(period: BusyPeriod, { end, start }: { readonly start: number; readonly end: number }): boolean {
  return period.start < end && period.end > start;
}
