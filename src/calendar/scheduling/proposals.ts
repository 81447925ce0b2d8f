/**
 * Another time, proposed by who is invited and answered by who organises (RFC 5546, 3.2.7 and 3.2.8):
 *
 *     attendee ─► COUNTER ─► organiser's inbox ─► accepted: the entry moves, and everybody is told
 *                                              └► declined: DECLINECOUNTER ─► attendee's inbox
 *
 * The proposal that waits is the message in the inbox: there is no other record of it.
 */
import type { Clock } from '#src/base/clock.ts';
import { Refusal, type ErrorCode } from '#src/protocol/errors.ts';
import { ACCESS_RANK, type CalendarRecord } from '#storage/calendars/calendar-records.ts';
import type { CalendarDraft } from '#storage/calendars/calendar-draft.ts';
import type { Calendars } from '#storage/calendars/calendars.ts';
import type { AddressBook } from '../address-book.ts';
import { answeredBy } from '../calendar-access.ts';
import { CalendarFault } from '../icalendar/calendar-fault.ts';
import type { Property } from '../icalendar/component.ts';
import { CalendarContents } from '../objects/calendar-contents.ts';
import type { DerivationPool } from '../objects/derivation-pool.ts';
import { TimeSlicer } from '../time-slicer.ts';
import type { WorkBudgets } from '../work-budget.ts';
import { placeOf, type Place } from './delivery-calendar.ts';
import { declineOf, isCurrent, readProposal, type Proposal } from './itip-counter.ts';
import { isProposal, type OutsideWord } from './itip-inbound.ts';
import type { OutsideMail } from './outside-mail.ts';
import type { Recipients } from './people.ts';
import { topicOf } from './proposal-intake.ts';
import type { Scheduler } from './scheduler.ts';

export interface ProposalsOptions {
  readonly book: AddressBook;
  readonly budgets: WorkBudgets;
  readonly calendars: Calendars;
  readonly clock: Clock;
  readonly isPerson: (user: string) => boolean;
  readonly mail: OutsideMail;
  readonly pool: DerivationPool;
  readonly scheduler: Scheduler;
}

/** What an attendee asks for. */
export interface Wish {
  /** As the series writes it; undefined for all of it. */
  readonly recurrenceId: string | undefined;
  /** DTSTART and DURATION. */
  readonly when: readonly Property[];
  readonly comment: string;
}

/** A message about another time in somebody's inbox, and the entry that it is about. */
export interface KeptProposal extends Proposal {
  /** As whoever reads it names it: the number of the message, behind the calendar where the inbox is not their own. */
  readonly id: string;
  readonly inbox: string;
  /** Whose inbox it is, and in whose name it is answered. */
  readonly inboxOf: string;
  /** Of the message. */
  readonly name: string;
  readonly bytes: Buffer;
  readonly calendar: CalendarRecord;
  /** Of the entry. */
  readonly entry: { readonly name: string; readonly etag: string };
}

/** What a proposal is refused with that is none. */
const REFUSALS: Partial<Record<OutsideWord, ErrorCode>> = {
  event_unknown: 'invitation_not_found',
  stale: 'proposal_outdated',
};

export class Proposals {
  readonly #options: ProposalsOptions;

  constructor(options: ProposalsOptions) {
    this.#options = options;
  }

  /**
   * Proposes another time for what somebody else organises, to them, in the name of whose calendar the invitation lies in.
   * @param by the owner, or their delegate.
   * @throws Refusal `invitation_not_found`, `proposal_forbidden`, `proposal_outdated`, `busy`; CalendarFault.
   */
  async propose(by: string, calendar: CalendarRecord, name: string, wish: Wish): Promise<void> {
    const user = calendar.owner;
    const { calendars, clock, pool } = this.#options;
    const copy = calendars.bytesOf(calendar.id, name);
    if (copy === undefined || calendars.object(calendar.id, name)?.scheduled !== true)
      throw new Refusal('invitation_not_found');
    const organizer = await this.#organizerOf(copy, user);
    const { zone } = calendar;
    const recipients = this.#known(user, organizer);
    const parts = {
      copy,
      zone,
      recipients,
      from: user,
      to: organizer,
      sentBy: this.#sentBy(by, user),
      now: clock.now(),
    };
    const counter = accepted(await pool.propose({ ...parts, ...wish }));
    const { uid } = calendars.object(calendar.id, name) ?? { uid: '' };
    await this.#send({ user, calendar: calendar.id, uid, method: 'COUNTER', bytes: counter, to: organizer });
  }

  /**
   * Sends a COUNTER or DECLINECOUNTER of a program’s.
   * @throws Refusal as `propose`; CalendarFault.
   */
  async post(user: string, bytes: Uint8Array): Promise<void> {
    const { calendars, clock, pool } = this.#options;
    const { method, uid } = await pool.inspect(bytes);
    if (!isProposal(method)) throw new Refusal('proposal_forbidden');
    // As the message would come to it: an attendee’s own copy, or what is organised.
    const place = await placeOf(this.#options, user, { method: method === 'COUNTER' ? 'CANCEL' : 'COUNTER', uid });
    const copy = place?.name === undefined ? undefined : calendars.bytesOf(place.calendar.id, place.name);
    if (place?.name === undefined || copy === undefined || place.isScheduled !== true)
      throw new Refusal('invitation_not_found');
    const attendee = method === 'COUNTER' ? undefined : attendeeIn(bytes, place);
    const to = attendee === undefined ? await this.#organizerOf(copy, user) : this.#identityOf(attendee);
    const { calendar } = place;
    const task = { message: bytes, copy, zone: calendar.zone, recipients: this.#known(user, to), from: user, to };
    const taken = accepted(await pool.takeProposal({ ...task, now: clock.now() }));
    await this.#send({ user, calendar: calendar.id, uid, method, bytes: taken, to }, (draft) => {
      const inbox = method === 'COUNTER' ? undefined : draft.inboxOf(user);
      const name = inbox === undefined ? undefined : draft.nameByUid(inbox.id, topicOf('COUNTER', uid, to));
      if (inbox !== undefined && name !== undefined) draft.removeObject(inbox.id, name);
    });
  }

  /**
   * What waits in somebody’s inbox, and in those of people whose delegate they are in the calendar that it is about, and still is
   * about what takes place; each inbox’s oldest first.
   */
  async list(user: string): Promise<KeptProposal[]> {
    const { budgets, calendars } = this.#options;
    calendars.refresh();
    const owners = new Set([user, ...answeredBy(calendars, user).map(({ calendar }) => calendar.owner)]);
    const slicer = new TimeSlicer({ budgets, user });
    const found: KeptProposal[] = [];
    for (const owner of owners) found.push(...(await this.#listed(user, owner, slicer)));
    return found;
  }

  async #listed(user: string, owner: string, slicer: TimeSlicer): Promise<KeptProposal[]> {
    const { calendars } = this.#options;
    const inbox = calendars.inboxOf(owner);
    if (inbox === undefined) return [];
    const contents = new CalendarContents(calendars, { calendar: inbox, access: 'owner' });
    const found: (KeptProposal & { readonly seq: number })[] = [];
    for (let after: string | undefined; ;) {
      const { next, objects } = contents.page(PAGE, after);
      for (const { name, seq, uid } of objects) {
        if (!PROPOSING.test(uid)) continue;
        await slicer.pass();
        const kept = await this.#read(user, inbox, name);
        if (kept !== undefined) found.push({ ...kept, seq });
      }
      if (next === undefined) return found.toSorted((one, other) => one.seq - other.seq);
      after = next;
    }
  }

  /** One of them, by its id. @throws Refusal `proposal_not_found`, also of one that is of the other method. */
  async find(user: string, id: string, method: 'COUNTER' | 'DECLINECOUNTER'): Promise<KeptProposal> {
    const { calendars } = this.#options;
    const [, calendar, number = ''] = PROPOSAL_ID.exec(id) ?? [];
    calendars.refresh();
    const owner = calendar === undefined ? user : calendars.calendar(calendar)?.owner;
    const inbox = owner === undefined ? undefined : calendars.inboxOf(owner);
    const kept = inbox === undefined || number === '' ? undefined : await this.#read(user, inbox, `${number}.ics`);
    if (kept?.method !== method || kept.id !== id) throw new Refusal('proposal_not_found');
    return kept;
  }

  /** Takes a message from the inbox that it is in. @throws Refusal `proposal_not_found` of one that went meanwhile; `busy`. */
  async remove({ inbox, name }: KeptProposal): Promise<void> {
    await this.#options.calendars.change((draft) => {
      if (draft.object(inbox, name) === undefined) throw new Refusal('proposal_not_found');
      draft.removeObject(inbox, name);
    });
  }

  /**
   * Tells who proposed that their time is not taken. @param by who organises, or their delegate.
   * @throws Refusal `busy`, `entry_not_found` of one that went meanwhile.
   */
  async decline(by: string, kept: KeptProposal, comment: string): Promise<void> {
    const { clock } = this.#options;
    const user = kept.inboxOf;
    const bytes = declineOf(kept.bytes, { now: clock.now(), comment, sentBy: this.#sentBy(by, user) });
    const to = this.#identityOf(kept.attendee);
    const sending = { user, calendar: kept.calendar.id, uid: kept.uid, method: 'DECLINECOUNTER' as const, bytes, to };
    await this.#send(sending, (draft) => draft.removeObject(kept.inbox, kept.name));
  }

  /** A message of an inbox as somebody has it: its owner, or who is their delegate where the entry lies. */
  async #read(user: string, inbox: CalendarRecord, name: string): Promise<KeptProposal | undefined> {
    const { calendars } = this.#options;
    const { owner } = inbox;
    const bytes = calendars.bytesOf(inbox.id, name);
    if (bytes === undefined) return undefined;
    try {
      const proposal = readProposal(bytes, inbox.zone);
      if (proposal === undefined || !isProposal(proposal.method)) return undefined;
      const place = await placeOf(this.#options, owner, { method: proposal.method, uid: proposal.uid });
      const copy = place?.name === undefined ? undefined : calendars.bytesOf(place.calendar.id, place.name);
      if (place !== undefined && owner !== user && !this.#isDelegate(user, owner, place.calendar)) return undefined;
      if (place?.name === undefined || copy === undefined) return undefined;
      if (!isCurrent(proposal, copy, place.calendar.zone, (address) => this.#identityOf(address))) return undefined;
      const entry = { name: place.name, etag: place.etag ?? '' };
      const number = name.slice(0, -'.ics'.length);
      const id = owner === user ? number : `${place.calendar.id}-${number}`;
      return { ...proposal, id, inbox: inbox.id, inboxOf: owner, name, bytes, calendar: place.calendar, entry };
    } catch (error) {
      // An object that no reader takes any more has nothing proposed of it.
      if (error instanceof CalendarFault) return undefined;
      throw error;
    }
  }

  /** Identity of who organises a copy, whom mail or the server reaches. @throws Refusal `proposal_forbidden`. */
  async #organizerOf(copy: Uint8Array, user: string): Promise<string> {
    const { book, mail, pool } = this.#options;
    const { participations } = await pool.derive(copy, 'UTC');
    const address = participations.find(({ organizer }) => organizer !== undefined)?.organizer;
    const whose = address === undefined ? undefined : book.userOf(address);
    const isByMail = address !== undefined && mail.isOn() && mail.takes(address) && mail.roomOf(user) > 0;
    if (address === undefined || whose === user || (whose === undefined && !isByMail))
      throw new Refusal('proposal_forbidden');
    return whose ?? address;
  }

  /** Whether somebody acts for the owner of an inbox in a calendar that is that owner’s. */
  #isDelegate(user: string, owner: string, { id, owner: whose }: CalendarRecord): boolean {
    const access = whose === owner ? this.#options.calendars.accessOf(user, id) : undefined;
    return access !== undefined && ACCESS_RANK[access] >= ACCESS_RANK.delegate;
  }

  /** The address of who writes in somebody’s name; undefined where that is their own. */
  #sentBy(by: string, user: string): string | undefined {
    return by === user ? undefined : this.#options.book.addressesOf(by)[0];
  }

  #identityOf(address: string): string {
    return this.#options.book.userOf(address) ?? address;
  }

  /** The addresses of people, or an address that is nobody’s here. */
  #known(...identities: readonly string[]): Recipients {
    const { book } = this.#options;
    const of = (identity: string) => (identity.includes(':') ? [identity] : book.addressesOf(identity));
    return Object.fromEntries(
      identities.flatMap((identity) =>
        of(identity).map((address) => [address, { identity, status: '', isReachable: true }] as const),
      ),
    );
  }

  /** Puts a message on its way with what else follows. Whom no way leads to is told nothing. */
  async #send(
    { bytes, calendar, method, to, uid, user }: Sent,
    also: (draft: CalendarDraft) => void = () => undefined,
  ): Promise<void> {
    const { calendars, mail, scheduler } = this.#options;
    const isReached = !to.includes(':') || (mail.isOn() && mail.takes(to) && mail.roomOf(user) > 0);
    const messages = isReached ? [{ method, bytes, recipients: [to] }] : [];
    await calendars.change((draft) => {
      also(draft);
      scheduler.send(draft, { bytes: undefined, from: user, uid, calendar, messages });
    });
    scheduler.told();
  }
}

interface Sent {
  readonly user: string;
  readonly calendar: string;
  readonly uid: string;
  readonly method: 'COUNTER' | 'DECLINECOUNTER';
  readonly bytes: Uint8Array;
  /** Identity of whom it is for. */
  readonly to: string;
}

/** Messages looked through together. */
const PAGE = 100;
const PROPOSING = /^(?:COUNTER|DECLINECOUNTER):/;
/** `KeptProposal.id`. */
const PROPOSAL_ID = /^(?:(cal_[0-9a-z]{22})-)?([1-9]\d{0,14})$/;

/** @throws Refusal `invitation_not_found`, `proposal_outdated`, `proposal_forbidden`. */
function accepted(taken: Uint8Array | OutsideWord): Uint8Array {
  if (typeof taken === 'string') throw new Refusal(REFUSALS[taken] ?? 'proposal_forbidden');
  return taken;
}

/** Whose proposal a message declines: the one attendee that it names. @throws Refusal `proposal_forbidden`. */
function attendeeIn(bytes: Uint8Array, { calendar }: Place): string {
  const attendee = readProposal(bytes, calendar.zone)?.attendee ?? '';
  if (attendee === '') throw new Refusal('proposal_forbidden');
  return attendee;
}
