/**
 * Who may say what in an object (GOV-01, CAL-03): ORGANIZER and ATTENDEE are claims of identity. A person organises as
 * one of their own addresses and answers for themselves; what they write of others in this installation is put back to
 * what the server knows of them. A delegate does both in the owner's name as well, in the owner's calendar, and SENT-BY says who
 * it was (RFC 5545, 3.2.18). The one place for both doors.
 *
 * Addresses of nobody here are not judged: what an outside attendee answered is the organiser's own note, and an
 * invitation from outside comes with whatever organiser it has.
 */
import { Refusal } from '#src/protocol/errors.ts';
import type { AddressBook } from '../address-book.ts';
import type { Attendee, Correction, Participation } from './derivation.ts';

export interface Writing {
  /** Who writes. */
  readonly user: string;
  /** Whose calendar it is. */
  readonly owner: string;
  /** Whether the owner has made them their delegate there. */
  readonly isDelegate: boolean;
  /** What is there now: in this calendar, or where the same invitation is in another one of theirs. */
  readonly before: readonly Participation[];
  readonly after: readonly Participation[];
  /** Whether it is written to another place as it is, which says nothing of it anew. */
  readonly isMoved?: boolean;
}

/** What nobody has said yet. */
const UNANSWERED = 'NEEDS-ACTION';

/**
 * What of an object that a person writes has to be put back, in the order of the bytes.
 * @throws Refusal `organizer_forbidden` where they organise as somebody else, or take over what somebody else organises.
 */
export function judgeWriting(book: AddressBook, writing: Writing): Correction[] {
  const { user, owner, isDelegate, before, after } = writing;
  const identityOf = (address: string) => book.userOf(address) ?? address;
  const isOwnName = (identity: string | undefined) => identity === user || (isDelegate && identity === owner);
  const organizers = new Set(before.flatMap(({ organizer }) => (organizer === undefined ? [] : identityOf(organizer))));
  for (const { organizer } of after) {
    const whose = organizer === undefined ? undefined : identityOf(organizer);
    if (organizers.size > 0) {
      const gaveUp = whose === undefined && [...organizers].every(isOwnName);
      if (!gaveUp && !(whose !== undefined && organizers.has(whose))) throw new Refusal('organizer_forbidden');
    } else if (organizer !== undefined && !isOwnName(whose) && book.userOf(organizer) !== undefined) {
      throw new Refusal('organizer_forbidden');
    }
  }
  return after.flatMap((participation) => {
    const { organizer, recurrenceId } = participation;
    const organizedHereByOther = organizer !== undefined && ![undefined, user].includes(book.userOf(organizer));
    const answers = participation.attendees.flatMap((attendee): Correction[] => {
      const whose = identityOf(attendee.address);
      const isOutside = book.userOf(attendee.address) === undefined;
      if (isOutside && !organizedHereByOther) return [];
      const known = knownAnswer(before, recurrenceId, (address) => identityOf(address) === whose);
      const partstat = isOwnName(whose) ? attendee.partstat : (known?.partstat ?? UNANSWERED);
      const isSaidNow = partstat !== (known?.partstat ?? UNANSWERED);
      // That the organiser comes is said with the meeting, by whom it says.
      const isOrganizers = organizer !== undefined && whose === identityOf(organizer);
      const sentBy = isOrganizers
        ? undefined
        : isSaidNow
          ? sentByOf(book, user, whose, attendee.sentBy)
          : known?.sentBy;
      if (attendee.partstat === partstat && attendee.sentBy === sentBy) return [];
      return [{ start: attendee.start, partstat, sentBy }];
    });
    return [...correctedOrganizer(book, participation, writing), ...answers];
  });
}

/** The organiser's line where it names somebody else than who has written in their name. */
function correctedOrganizer(
  book: AddressBook,
  { organizer, organizerSentBy, organizerStart, recurrenceId }: Participation,
  { before, isMoved, owner, user }: Writing,
): Correction[] {
  const whose = organizer === undefined ? undefined : book.userOf(organizer);
  if (whose === undefined || organizerStart === undefined) return [];
  const known =
    before.find((one) => one.recurrenceId === recurrenceId) ?? before.find((one) => one.recurrenceId === undefined);
  const isWriters = isMoved !== true && (whose === user || whose === owner);
  const sentBy = isWriters ? sentByOf(book, user, whose, organizerSentBy) : known?.organizerSentBy;
  return sentBy === organizerSentBy ? [] : [{ start: organizerStart, partstat: undefined, sentBy }];
}

/**
 * SENT-BY of what somebody says in a name (RFC 5545, 3.2.18): whoever speaks for another is named by it, and whoever speaks for
 * themselves names nobody of the installation. What a client writes there of people outside is its writer's own note.
 */
function sentByOf(book: AddressBook, user: string, whose: string, claimed: string | undefined): string | undefined {
  const named = claimed === undefined ? undefined : book.userOf(claimed);
  if (whose === user) return named === undefined || named === user ? claimed : undefined;
  return named === user ? claimed : book.addressesOf(user)[0];
}

/** What is known of an attendee's answer: for the occurrence, or else for the series. */
function knownAnswer(
  before: readonly Participation[],
  recurrenceId: string | undefined,
  isThem: (address: string) => boolean,
): Attendee | undefined {
  const of = (participation: Participation | undefined): Attendee | undefined =>
    participation?.attendees.find(({ address }) => isThem(address));
  const one = of(before.find((participation) => participation.recurrenceId === recurrenceId));
  return one ?? of(before.find((participation) => participation.recurrenceId === undefined));
}

/** A writing that may be of something which the server has no part in. */
export interface Keeping {
  /** Who writes, and whose calendar it is. */
  readonly user: string;
  readonly owner: string;
  /** What is there now; undefined for nothing that people take part in. */
  readonly before: { readonly isScheduled: boolean } | undefined;
  readonly after: readonly Participation[];
  /** Whether it comes in a file, by which nobody is told anything. */
  readonly isImported: boolean;
  /** Whether all of it is over. */
  readonly isOver: boolean;
}

/**
 * Whether somebody puts what a colleague organises into their own calendar as it is, and nothing of it is scheduled: history
 * that they take along from another server, a file, or what their client says the server is not the agent of (RFC 6638, 7.1).
 * The claims in it are its writer's words: nobody is told of it, and it stays so until its organiser invites them by it.
 */
export function isKeptAlone(book: AddressBook, { after, before, isImported, isOver, owner, user }: Keeping): boolean {
  const organizers = after.flatMap(({ organizer }) => organizer ?? []);
  const isColleagues =
    organizers.length > 0 && organizers.every((one) => ![undefined, user].includes(book.userOf(one)));
  if (user !== owner || !isColleagues || before?.isScheduled === true) return false;
  const isOthersAgent = after.every(({ agent, organizer }) => organizer === undefined || agent !== 'SERVER');
  return before !== undefined || isImported || isOver || isOthersAgent;
}

/** Whether a person is invited by somebody else and has not answered, to anything in it. */
export function awaitsAnswer(book: AddressBook, user: string, participations: readonly Participation[]): boolean {
  return participations.some(({ organizer, attendees }) => {
    if (organizer === undefined || book.userOf(organizer) === user) return false;
    return attendees.some(({ address, partstat }) => partstat === UNANSWERED && book.userOf(address) === user);
  });
}
