/** What becomes of a mail for one of its recipients, as both doors tell it. */

interface OutcomeEntry {
  /** What the sending server makes of it: it is done with, it tries again, or it tells the sender. */
  readonly standing: 'accepted' | 'later' | 'refused';
  /** Reply code and enhanced status code (RFC 3463) of LMTP. */
  readonly reply: number;
  readonly enhanced: string;
  readonly say: string;
}

const accepted = (say: string): OutcomeEntry => ({ standing: 'accepted', reply: 250, enhanced: '2.1.5', say });
const later = (reply: number, enhanced: string, say: string): OutcomeEntry => ({
  ...{ standing: 'later', reply, enhanced, say },
});
const refused = (reply: number, enhanced: string, say: string): OutcomeEntry => ({
  ...{ standing: 'refused', reply, enhanced, say },
});

export const MAIL_OUTCOMES = {
  applied: accepted('The calendar has it.'),
  unchanged: accepted('The calendar had it already.'),
  stale: accepted('The calendar has something newer.'),
  event_unknown: accepted('There is no such event, or not any more.'),

  busy: later(451, '4.3.2', 'The server is busy; try again shortly.'),
  calendar_full: later(452, '4.2.2', 'The calendar is full.'),
  encryption_locked: later(451, '4.3.2', 'Encryption at rest is locked; an owner has to unlock it.'),
  failed: later(451, '4.3.0', 'Something failed inside the server.'),
  invitations_full: later(452, '4.2.2', 'Too many invitations wait for an answer.'),
  mail_off: later(451, '4.3.5', 'Calendar mail is not set up here: trusted_authserv_id is missing.'),
  quota_exceeded: later(452, '4.2.2', 'The quota of the recipient is used up.'),
  rate_limited: later(451, '4.7.1', 'Too many messages from this domain; try again later.'),
  storage_full: later(452, '4.3.1', 'The server cannot store anything right now.'),

  attendee_mismatch: refused(550, '5.7.1', 'An answer is given for oneself only.'),
  calendar_invalid: refused(554, '5.6.0', 'The calendar message cannot be read.'),
  delegation_refused: refused(550, '5.7.1', 'Delegated answers are not taken.'),
  event_foreign: refused(550, '5.7.1', 'The event of that UID is organised by somebody else.'),
  kind_refused: refused(554, '5.6.1', 'The calendar does not take entries of this kind.'),
  mail_malformed: refused(554, '5.6.0', 'The mail is not well-formed, or has too many parts.'),
  method_mismatch: refused(554, '5.6.0', 'The METHOD of the calendar and of its part differ.'),
  method_refused: refused(
    554,
    '5.6.1',
    'Messages of this METHOD are not taken; REQUEST, CANCEL, REPLY and those of proposals are.',
  ),
  no_calendar_part: refused(554, '5.6.1', 'The mail has no calendar part with a METHOD.'),
  not_invited: refused(550, '5.7.1', 'This person is not invited to the event.'),
  organizer_mismatch: refused(550, '5.7.1', 'The sender is not the ORGANIZER of the event.'),
  range_refused: refused(554, '5.6.1', 'A RECURRENCE-ID with a RANGE is not taken.'),
  recipient_unknown: refused(550, '5.1.1', 'There is nobody of that address here.'),
  sender_invalid: refused(550, '5.7.1', 'The mail has not exactly one From address.'),
  sender_is_local: refused(550, '5.7.1', 'People of this server schedule through the server, not by mail.'),
  sender_unverified: refused(550, '5.7.1', 'Nobody that is trusted here vouches for the sender.'),
  too_large: refused(552, '5.3.4', 'The mail or its calendar is larger than one may be.'),
} as const satisfies Readonly<Record<string, OutcomeEntry>>;

export type MailOutcome = keyof typeof MAIL_OUTCOMES;
