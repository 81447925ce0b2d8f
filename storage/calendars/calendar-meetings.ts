/**
 * Meetings that were made for entries. What clients write into an entry binds nothing; this does:
 *
 *     meetings   [meeting]          who hosts it, and the entries that it is of
 *     bound      [calendar, entry]  the meeting that was made for the entry
 *     unsettled  [meeting]          that one of its entries changed, in the commit of the change
 */
import type { CalendarWriteSet } from './calendar-write-set.ts';
import type { CalendarReader, CalendarView } from './calendar-reader.ts';
import { entryIdOf, calendarRecordOf, type CalendarEnvironment } from './calendar-records.ts';
import { key, under } from '../engine/keys.ts';

/** Where an entry is. */
export interface EntryPlace {
  readonly calendar: string;
  readonly entry: string;
}

/** A meeting that was made for an entry, and for what was split off it. */
export interface MeetingBinding {
  readonly host: string;
  readonly entries: readonly EntryPlace[];
}

const meetingRecord = calendarRecordOf<MeetingBinding>('meeting of an entry', ['host', 'entries']);

/** A meeting of which an entry changed; `mark` says which change was the last. */
export interface UnsettledMeeting {
  readonly id: string;
  readonly mark: Buffer;
}

/** The meeting that was made for an entry. */
export function meetingOf(view: CalendarView, { calendar, entry }: EntryPlace): string | undefined {
  return view.read('bound', key(calendar, entry))?.toString();
}

export function bindingOf(view: CalendarView, meeting: string): MeetingBinding | undefined {
  const stored = view.read('meetings', key(meeting));
  return stored === undefined ? undefined : meetingRecord.decode(stored);
}

/** Notes that a meeting is of an entry, beside those that it is of already. */
export function bindMeeting(draft: CalendarWriteSet, meeting: string, host: string, place: EntryPlace): void {
  const entries = bindingOf(draft, meeting)?.entries ?? [];
  putBinding(draft, meeting, { host, entries: [...entries, place] });
}

/** Has what was split off an entry be of the same meeting, if there is one. */
export function shareMeeting(draft: CalendarWriteSet, place: EntryPlace, split: string): void {
  const meeting = meetingOf(draft, place);
  const binding = meeting === undefined ? undefined : bindingOf(draft, meeting);
  if (meeting === undefined || binding === undefined) return;
  bindMeeting(draft, meeting, binding.host, { calendar: place.calendar, entry: split });
}

/** Takes an entry from its meeting, which is to be settled then. */
export function releaseMeeting(draft: CalendarWriteSet, place: EntryPlace): void {
  const meeting = meetingOf(draft, place);
  const binding = meeting === undefined ? undefined : bindingOf(draft, meeting);
  if (meeting === undefined || binding === undefined) return;
  draft.put('bound', key(place.calendar, place.entry), null);
  putBinding(draft, meeting, { ...binding, entries: without(binding, place) });
  mark(draft, meeting, place.calendar);
}

/** Notes that an object was put or removed: the meeting of its entry, if it has one, is to follow. */
export function touchMeeting(draft: CalendarWriteSet, calendar: string, uid: string): void {
  const meeting = meetingOf(draft, { calendar, entry: entryIdOf(uid) });
  if (meeting !== undefined) mark(draft, meeting, calendar);
}

/** Has the meeting of an entry go with it to another calendar. */
export function moveMeeting(draft: CalendarWriteSet, from: string, to: string, uid: string): void {
  const [before, after] = [from, to].map((calendar) => ({ calendar, entry: entryIdOf(uid) })) as [
    EntryPlace,
    EntryPlace,
  ];
  const meeting = meetingOf(draft, before);
  const binding = meeting === undefined ? undefined : bindingOf(draft, meeting);
  if (meeting === undefined || binding === undefined || from === to) return;
  draft.put('bound', key(before.calendar, before.entry), null);
  putBinding(draft, meeting, { ...binding, entries: [...without(binding, before), after] });
}

/** Meetings of the entries of a calendar. */
export function meetingsIn({ environment }: CalendarReader, calendar: string): string[] {
  return [...environment.tables.bound.getRange(under(calendar))].map(({ value }) => value.toString());
}

/** Notes that the meetings of a calendar that is being removed are to follow. */
export function touchMeetings(draft: CalendarWriteSet, meetings: readonly string[], calendar: string): void {
  for (const meeting of meetings) mark(draft, meeting, calendar);
}

/** Meetings that are to follow their entries, some of them. */
export function unsettledMeetings({ environment }: CalendarReader, limit: number): UnsettledMeeting[] {
  return [...environment.tables.unsettled.getRange({ limit })].map((entry) => ({
    id: entry.key.toString(),
    mark: Buffer.from(entry.value),
  }));
}

/** Notes that a meeting has followed, unless something changed since; `left` are its entries now, none where it is over. */
export function settleMeeting(
  draft: CalendarWriteSet,
  { id, mark: seen }: UnsettledMeeting,
  left: readonly EntryPlace[],
): void {
  if (draft.read('unsettled', key(id))?.equals(seen) !== true) return;
  draft.put('unsettled', key(id), null);
  const binding = bindingOf(draft, id);
  if (binding === undefined) return;
  for (const { calendar, entry } of binding.entries) draft.put('bound', key(calendar, entry), null);
  if (left.length === 0) draft.put('meetings', key(id), null);
  else putBinding(draft, id, { ...binding, entries: left });
}

/** Bindings that stand on one side alone. */
export function* unpairedMeetings({ tables }: CalendarEnvironment): Generator<string> {
  for (const entry of tables.bound.getRange()) {
    const meeting = entry.value.toString();
    const stored = tables.meetings.get(key(meeting));
    const places = stored === undefined ? [] : meetingRecord.decode(stored).entries;
    const itemKey = Buffer.from(entry.key);
    if (!places.some(({ calendar, entry: one }) => key(calendar, one).equals(itemKey))) yield meeting;
  }
}

function putBinding(draft: CalendarWriteSet, meeting: string, binding: MeetingBinding): void {
  draft.put('meetings', key(meeting), meetingRecord.encode(binding));
  for (const { calendar, entry } of binding.entries) draft.put('bound', key(calendar, entry), Buffer.from(meeting));
}

function without({ entries }: MeetingBinding, place: EntryPlace): EntryPlace[] {
  return entries.filter(({ calendar, entry }) => calendar !== place.calendar || entry !== place.entry);
}

/** Another value for each change, so that whoever settled the one before sees that there is more. */
function mark(draft: CalendarWriteSet, meeting: string, calendar: string): void {
  const seq = draft.calendar(calendar)?.syncSeq ?? 'gone';
  draft.put('unsettled', key(meeting), Buffer.from(`${calendar}:${seq}:${draft.now}`));
}
