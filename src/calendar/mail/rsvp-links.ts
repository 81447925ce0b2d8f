/**
 * Links by which people outside answer without an account. Whoever has one may say what that one person answers to that
 * one entry, and nothing else: it is a bearer capability. It is over with its time, the entry, or the invitation.
 */
import { createHash, randomBytes } from 'node:crypto';
import type { AddressBook } from '../address-book.ts';
import type { DerivationPool } from '../objects/derivation-pool.ts';
import { CalendarFault } from '../icalendar/calendar-fault.ts';
import type { Description } from '../scheduling/describing.ts';
import type { Clock } from '#src/base/clock.ts';
import { RSVP_LINK_DAYS_MAX } from '#src/protocol/limits.ts';
import type { CalendarDraft } from '#storage/calendars/calendar-draft.ts';
import { putRsvp, rsvpOf } from '#storage/calendars/calendar-mails.ts';
import type { CalendarRecord } from '#storage/calendars/calendar-records.ts';
import type { Calendars } from '#storage/calendars/calendars.ts';

const SECRET_BYTES = 32;
const DAY_MILLIS = 86_400_000;
/** A calendar's id without its prefix, then the secret. */
const TOKEN = /^([0-9a-z]{22})([\w-]{43})$/;

export interface RsvpLinksOptions {
  readonly calendars: Calendars;
  readonly pool: Pick<DerivationPool, 'describe'>;
  readonly book: AddressBook;
  /** Whether somebody is there whose meeting it may be. */
  readonly isPerson: (user: string) => boolean;
  readonly clock: Clock;
}

/** An invitation that a link leads to, as it is now. */
export interface OpenInvitation {
  readonly calendar: CalendarRecord;
  readonly uid: string;
  readonly bytes: Uint8Array;
  /** `mailto:…` in lower case: who answers. */
  readonly attendee: string;
  /** Username of who organises it. */
  readonly organizer: string;
  readonly description: Description;
}

/** A link's secret; it is stored as its hash alone. */
export function makeRsvpSecret(): string {
  return randomBytes(SECRET_BYTES).toString('base64url');
}

export class RsvpLinks {
  readonly #options: RsvpLinksOptions;

  constructor(options: RsvpLinksOptions) {
    this.#options = options;
  }

  /** Makes a link's secret known in a change, and answers its token. */
  put(draft: CalendarDraft, secret: string, about: { calendar: string; uid: string; attendee: string }): string {
    const { attendee, calendar, uid } = about;
    const expiresAt = draft.now + RSVP_LINK_DAYS_MAX * DAY_MILLIS;
    putRsvp(this.#options.calendars, draft, { calendar, hash: hashOf(secret) }, { uid, attendee, expiresAt });
    return `${calendar.slice('cal_'.length)}${secret}`;
  }

  /** What a token leads to; undefined for one that never was, and for one that is over. @throws Refusal `busy`. */
  async open(token: string): Promise<OpenInvitation | undefined> {
    const { book, calendars, clock, isPerson, pool } = this.#options;
    const [, id = '', secret = ''] = TOKEN.exec(token) ?? [];
    calendars.refresh();
    const calendar = calendars.calendar(`cal_${id}`);
    const rsvp = calendar === undefined ? undefined : rsvpOf(calendars, calendar.id, hashOf(secret));
    if (calendar === undefined || rsvp === undefined || rsvp.expiresAt <= clock.now()) return undefined;
    const name = calendars.nameByUid(calendar.id, rsvp.uid);
    const bytes = name === undefined ? undefined : calendars.bytesOf(calendar.id, name);
    if (bytes === undefined) return undefined;
    const { attendee, uid } = rsvp;
    try {
      const description = await pool.describe({ bytes, zone: calendar.zone, attendee });
      const { answer, isCancelled, last } = description;
      const organizer = description.organizer === undefined ? undefined : book.userOf(description.organizer);
      const isOver = isCancelled || answer === undefined || (last !== null && last <= clock.now());
      if (isOver || organizer === undefined || !isPerson(organizer)) return undefined;
      return { calendar, uid, bytes, attendee, organizer, description };
    } catch (error) {
      if (error instanceof CalendarFault) return undefined;
      throw error;
    }
  }
}

function hashOf(secret: string): string {
  return createHash('sha256').update(secret).digest('base64url');
}
