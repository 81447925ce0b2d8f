/** Implicit scheduling (RFC 6638): what is told to whom when a person changes an object, decided before it is written. */
import type { Clock } from '#src/base/clock.ts';
import { noteAnswer } from '#storage/calendars/calendar-answers.ts';
import type { CalendarDraft } from '#storage/calendars/calendar-draft.ts';
import type { Access, CalendarRecord } from '#storage/calendars/calendar-records.ts';
import type { AddressBook } from '../address-book.ts';
import type { Participation } from '../objects/derivation.ts';
import type { DerivationPool } from '../objects/derivation-pool.ts';
import type { Deliveries } from './deliveries.ts';
import type { SchedulingMessage } from './messages.ts';
import { isOutside, type OutsideMail, PENDING, UNDELIVERED, UNKNOWN } from './outside-mail.ts';
import type { Recipients } from './people.ts';

export interface SchedulerOptions {
  readonly pool: DerivationPool;
  readonly book: AddressBook;
  readonly clock: Clock;
  readonly deliveries: Deliveries;
  /** The way to people outside. */
  readonly mail: OutsideMail;
  /** Whether somebody is there whom the organiser may invite, by the access policies. */
  readonly mayInvite: (organizer: string, user: string) => boolean;
}

/** A state of an object. */
export interface ObjectState {
  readonly bytes: Uint8Array;
  readonly participations: readonly Participation[];
}

/** A change of an object by a person. */
export interface WrittenChange {
  readonly user: string;
  readonly calendar: CalendarRecord;
  /** Theirs to the calendar: a delegate answers for its owner (RFC 6638, 2.1). */
  readonly access: Access;
  /** Whether it is the owner's copy of what somebody else organises, even where that is who writes. */
  readonly isAttendees: boolean;
  readonly uid: string;
  readonly before: ObjectState | undefined;
  /** Undefined where it is removed. */
  readonly after: ObjectState | undefined;
}

/** What follows from a change. */
export interface Plan {
  /** What is stored; undefined where the object is removed. */
  readonly bytes: Uint8Array | undefined;
  readonly from: string;
  readonly uid: string;
  readonly calendar: string;
  readonly messages: readonly SchedulingMessage[];
  /** Whether the organiser's own answer is another. */
  readonly isAnswered?: boolean;
}

/** Delivered: its recipient is of the installation, and the message is in the same commit (RFC 6638, 3.2.9). */
const DELIVERED = '1.2';

export class Scheduler {
  readonly #options: SchedulerOptions;

  constructor(options: SchedulerOptions) {
    this.#options = options;
  }

  /** Undefined where a change is nobody else's business. @throws CalendarFault; Refusal `busy`. */
  async plan(change: WrittenChange): Promise<Plan | undefined> {
    const { user, calendar, access, isAttendees, uid, before, after } = change;
    const { book, clock, mail, pool } = this.#options;
    const organizer = organizerOf(after) ?? organizerOf(before);
    if (organizer === undefined) return undefined;
    const whose = book.userOf(organizer);
    // Whoever writes in somebody's calendar may do so for what that person organises; their delegate answers for them, too.
    const isOrganizers = !isAttendees && whose !== undefined && (whose === user || whose === calendar.owner);
    if (!isOrganizers && access !== 'owner' && access !== 'delegate') return undefined;
    const own = isOrganizers ? whose : calendar.owner;
    const scheduled = await pool.schedule({
      sentBy: own === user ? undefined : book.addressesOf(user)[0],
      ...{ kind: 'schedule', role: isOrganizers ? 'organizer' : 'attendee', own },
      ...{ before: before?.bytes, after: after?.bytes, zone: calendar.zone, now: clock.now() },
      mailRoom: mail.roomOf(own),
      recipients: isOrganizers ? this.#invited(own, [before, after]) : this.#organizer(organizer, own),
    });
    return { ...scheduled, from: own, uid, calendar: calendar.id };
  }

  /** Puts what follows from a change on its way in the very commit of it; `told` when that is on disk. @throws Refusal `busy`. */
  send(draft: CalendarDraft, plan: Plan | undefined): void {
    if (plan === undefined) return;
    const { deliveries, mail } = this.#options;
    if (plan.isAnswered === true) noteAnswer(draft, { calendar: plan.calendar, organizer: plan.from, uid: plan.uid });
    const to = (isWanted: (identity: string) => boolean) => ({
      ...plan,
      messages: plan.messages.map((message) => ({ ...message, recipients: message.recipients.filter(isWanted) })),
    });
    // What one of them refuses is refused whole, with the change.
    mail.send(draft, to(isOutside));
    deliveries.send(
      draft,
      to((identity) => !isOutside(identity)),
    );
  }

  /** Delivers what was sent. */
  told(): void {
    this.#options.deliveries.wake();
    this.#options.mail.wake();
  }

  #invited(organizer: string, states: readonly (ObjectState | undefined)[]): Recipients {
    const { book, mail, mayInvite } = this.#options;
    const isOn = mail.isOn();
    const people = states.flatMap((state) => state?.participations ?? []);
    const addresses = new Set(
      people.flatMap(({ organizer: address, attendees }) => [
        ...(address === undefined ? [] : [address]),
        ...attendees.map((attendee) => attendee.address),
      ]),
    );
    return Object.fromEntries(
      [...addresses].map((address) => {
        const identity = book.userOf(address);
        if (identity === undefined && isOn && mail.takes(address))
          return [address, { identity: address, status: PENDING, isReachable: true }];
        const status = identity !== undefined && mayInvite(organizer, identity) ? DELIVERED : UNKNOWN;
        return [address, { identity: identity ?? address, status, isReachable: identity !== undefined }];
      }),
    );
  }

  /** The organiser of what one is invited to, and oneself. */
  #organizer(address: string, attendee: string): Recipients {
    const { book, mail } = this.#options;
    const identity = book.userOf(address);
    const isByMail = identity === undefined && mail.isOn() && mail.takes(address);
    const byMail = mail.roomOf(attendee) > 0 ? PENDING : UNDELIVERED;
    const status = identity !== undefined ? DELIVERED : isByMail ? byMail : UNKNOWN;
    const organizer = { identity: identity ?? address, status, isReachable: identity !== undefined };
    const self = { identity: attendee, status: UNKNOWN, isReachable: false };
    const own = book.addressesOf(attendee).map((one) => [one, self] as const);
    return { ...Object.fromEntries(own), [address]: organizer };
  }
}

function organizerOf(state: ObjectState | undefined): string | undefined {
  return state?.participations.find(({ organizer }) => organizer !== undefined)?.organizer;
}
