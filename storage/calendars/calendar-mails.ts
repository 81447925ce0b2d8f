/**
 * Mail of the calendar that is still to leave, and the links by which people outside answer:
 *
 *     letters  ['l', number]      what is said, once for all who get it
 *     letters  ['n', number]      how many of them still have to get it
 *     mails    ['m', number]      one recipient of a letter, in the order in which they were sent
 *     rsvps    [calendar, hash]   whose answer a link is for; hash is of its secret
 */
import type { CalendarWriteSet } from './calendar-write-set.ts';
import { calendarRecordOf, type CalendarEnvironment } from './calendar-records.ts';
import type { CalendarReader } from './calendar-reader.ts';
import type { Findings } from '../engine/findings.ts';
import { key, numberAt, numbered, numberOf, numberValue, under } from '../engine/keys.ts';

export interface QueuedMailRecord {
  /** Of a scheduling message its method; a reminder goes to whom it is from. */
  readonly kind: 'REQUEST' | 'CANCEL' | 'REPLY' | 'COUNTER' | 'DECLINECOUNTER' | 'REMINDER';
  /** Username of on whose behalf it is sent. */
  readonly from: string;
  readonly uid: string;
  /** Where they have the object that it is about. */
  readonly calendar: string;
  /** iCalendar, or of a reminder JSON. */
  readonly bytes: Buffer;
  /** What of an invitation is another than before, as JSON; absent for who gets a first one. */
  readonly revisions?: string | undefined;
}

export interface MailRecord {
  readonly letter: number;
  /** `mailto:…` in lower case. */
  readonly to: string;
  /** When it was sent, milliseconds since 1970. */
  readonly at: number;
}

export interface NumberedMail extends MailRecord {
  readonly seq: number;
}

/** Whose answer a link is for. */
export interface RsvpRecord {
  readonly uid: string;
  /** `mailto:…` in lower case. */
  readonly attendee: string;
  /** Milliseconds since 1970. */
  readonly expiresAt: number;
}

const letterRecord = calendarRecordOf<QueuedMailRecord>('letter', [
  ...(['kind', 'from', 'uid', 'calendar', 'bytes'] as const),
  // Behind the others: letters from before have none.
  'revisions',
]);
const mailRecord = calendarRecordOf<MailRecord>('mail', ['letter', 'to', 'at']);
const rsvpRecord = calendarRecordOf<RsvpRecord>('RSVP link', ['uid', 'attendee', 'expiresAt']);

/** Rows looked at behind a new link's: the hashes being random, links that are over go as fast as new ones come. */
const RSVPS_LOOKED_AT = 4;

/** Puts a letter on its way to some people; `next` gives rising numbers, higher than all that are in use. */
export function putMail(
  draft: CalendarWriteSet,
  letter: QueuedMailRecord,
  recipients: readonly string[],
  next: () => number,
): void {
  if (recipients.length === 0) return;
  const number = next();
  draft.put('letters', numbered(number, 'l'), letterRecord.encode(letter));
  draft.put('letters', numbered(number, 'n'), numberValue(recipients.length));
  for (const to of recipients) {
    draft.put('mails', numbered(next(), 'm'), mailRecord.encode({ letter: number, to, at: draft.now }));
  }
}

/** Strikes a mail off, and with the last one its letter. */
export function dropMail(draft: CalendarWriteSet, { seq, letter }: NumberedMail): void {
  draft.put('mails', numbered(seq, 'm'), null);
  const stored = draft.read('letters', numbered(letter, 'n'));
  const left = stored === undefined ? 0 : numberAt(stored) - 1;
  draft.put('letters', numbered(letter, 'n'), left > 0 ? numberValue(left) : null);
  if (left <= 0) draft.put('letters', numbered(letter, 'l'), null);
}

/** Mails behind a number, in their order. */
export function* mailsBehind({ environment }: CalendarReader, seq: number): Generator<NumberedMail> {
  const range = { start: numbered(seq + 1, 'm'), end: under('m').end };
  for (const { key: itemKey, value } of environment.tables.mails.getRange(range)) {
    yield { seq: numberOf(Buffer.from(itemKey)), ...mailRecord.decode(value) };
  }
}

export function queuedMailOf(reader: CalendarReader, number: number): QueuedMailRecord | undefined {
  const stored = reader.read('letters', numbered(number, 'l'));
  return stored === undefined ? undefined : letterRecord.decode(stored);
}

/** Makes a link known, and forgets some of the calendar's that are over. */
export function putRsvp(
  reader: CalendarReader,
  draft: CalendarWriteSet,
  { calendar, hash }: { readonly calendar: string; readonly hash: string },
  record: RsvpRecord,
): void {
  const range = { start: key(calendar, hash), end: under(calendar).end, limit: RSVPS_LOOKED_AT };
  for (const { key: itemKey, value } of reader.environment.tables.rsvps.getRange(range)) {
    if (rsvpRecord.decode(value).expiresAt <= draft.now) draft.put('rsvps', Buffer.from(itemKey), null);
  }
  // A calendar that is gone takes its links along, once.
  if (draft.calendar(calendar) !== undefined) draft.put('rsvps', key(calendar, hash), rsvpRecord.encode(record));
}

export function rsvpOf(reader: CalendarReader, calendar: string, hash: string): RsvpRecord | undefined {
  const stored = reader.read('rsvps', key(calendar, hash));
  return stored === undefined ? undefined : rsvpRecord.decode(stored);
}

/** Looks for mails without a letter, and for letters whose count is not that of their mails. */
export function checkMails({ tables }: CalendarEnvironment, findings: Findings): void {
  const counts = new Map<number, number>();
  for (const { key: itemKey, value } of tables.mails.getRange()) {
    const seq = numberOf(Buffer.from(itemKey));
    const mail = findings.attempt('mails', [seq], () => mailRecord.decode(value));
    if (mail === undefined) continue;
    counts.set(mail.letter, (counts.get(mail.letter) ?? 0) + 1);
    if (tables.letters.get(numbered(mail.letter, 'l')) === undefined) findings.add('mails', [seq], 'has no letter');
  }
  for (const { key: itemKey, value } of tables.letters.getRange(under('l'))) {
    const number = numberOf(Buffer.from(itemKey));
    findings.attempt('letters', [number], () => letterRecord.decode(value));
    const left = tables.letters.get(numbered(number, 'n'));
    const counted = left === undefined ? 0 : numberAt(left);
    const found = counts.get(number) ?? 0;
    if (counted !== found || found === 0) findings.add('letters', [number], `counts ${counted} mails and has ${found}`);
  }
  checkLinks(tables, findings);
}

/** Links to answer by: readable, and of a calendar that is there or being removed. */
function checkLinks(tables: CalendarEnvironment['tables'], findings: Findings): void {
  for (const { key: itemKey, value } of tables.rsvps.getRange()) {
    const [calendar = ''] = Buffer.from(itemKey).toString().split('\0', 1);
    findings.attempt('rsvps', [calendar], () => rsvpRecord.decode(value));
    const isThere = tables.calendars.get(key(calendar)) !== undefined;
    if (!isThere && tables.meta.get(key('purge', calendar)) === undefined) {
      findings.add('rsvps', [calendar], 'is of no calendar');
    }
  }
}
