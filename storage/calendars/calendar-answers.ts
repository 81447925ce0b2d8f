/**
 * Answers in an organiser's object that the other attendees are still to be shown:
 *
 *     answers   [calendar, entry]   whose object it is, its UID, and when the first of these answers came
 *
 * Noted in the commit of the answer; struck off in the commit that puts it on its way to the others.
 */
import type { CalendarWriteSet } from './calendar-write-set.ts';
import type { CalendarReader } from './calendar-reader.ts';
import { entryIdOf, calendarRecordOf, type CalendarEnvironment } from './calendar-records.ts';
import type { Findings } from '../engine/findings.ts';
import { key } from '../engine/keys.ts';

/** An object with answers that the others do not know of. */
export interface AnsweredObject {
  /** The calendar that it was in when it was answered. */
  readonly calendar: string;
  readonly uid: string;
  /** Username of who organises it. */
  readonly organizer: string;
}

export interface NotedAnswers extends AnsweredObject {
  /** When the first of them came, milliseconds since 1970. */
  readonly since: number;
}

const answersRecord = calendarRecordOf<Omit<NotedAnswers, 'calendar'>>('note of answers', [
  'since',
  'organizer',
  'uid',
]);

/** Notes that an object was answered. What was noted before keeps its time: late answers delay no earlier ones. */
export function noteAnswer(draft: CalendarWriteSet, { calendar, organizer, uid }: AnsweredObject): void {
  const itemKey = keyOf({ calendar, uid });
  if (draft.read('answers', itemKey) !== undefined) return;
  draft.put('answers', itemKey, answersRecord.encode({ since: draft.now, organizer, uid }));
}

/** Strikes a note off. */
export function strikeAnswers(draft: CalendarWriteSet, noted: AnsweredObject): void {
  draft.put('answers', keyOf(noted), null);
}

/** Some notes, in the order of their keys, behind one of them. */
export function notedAnswers({ environment }: CalendarReader, limit: number, behind?: AnsweredObject): NotedAnswers[] {
  const start = behind === undefined ? Buffer.alloc(0) : Buffer.concat([keyOf(behind), Buffer.of(0)]);
  return [...environment.tables.answers.getRange({ start, limit })].map(({ key: itemKey, value }) => ({
    calendar: calendarIn(itemKey),
    ...answersRecord.decode(value),
  }));
}

/** Looks for notes that cannot be read or are of no calendar. One whose object was removed is struck off when it is due. */
export function checkAnswers({ tables }: CalendarEnvironment, findings: Findings): void {
  for (const { key: itemKey, value } of tables.answers.getRange()) {
    const calendar = calendarIn(itemKey);
    const noted = findings.attempt('answers', [calendar], () => answersRecord.decode(value));
    if (noted === undefined) continue;
    const isThere = tables.calendars.get(key(calendar)) !== undefined;
    if (!isThere && tables.meta.get(key('purge', calendar)) === undefined) {
      findings.add('answers', [calendar, noted.uid], 'is of no calendar');
    } else if (!keyOf({ calendar, uid: noted.uid }).equals(itemKey)) {
      findings.add('answers', [calendar, noted.uid], 'stands under another entry');
    }
  }
}

function keyOf({ calendar, uid }: Pick<AnsweredObject, 'calendar' | 'uid'>): Buffer {
  return key(calendar, entryIdOf(uid));
}

function calendarIn(itemKey: Buffer): string {
  return Buffer.from(itemKey).toString('utf8').split('\0')[0] ?? '';
}
