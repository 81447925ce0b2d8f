/** The handlers of entries: creating, reading, changing, deleting, and what is in a span of time. */
import type { ClientHandlers, ClientRequest } from '#src/http/client-routes.ts';
import { parseInstant } from '#src/base/time.ts';
import type { CALENDAR_ROUTES } from '#src/protocol/calendars/calendar-routes.ts';
import {
  OCCURRENCES_MAX,
  RANGE_MILLIS_MAX,
  RANGE_OBJECTS_MAX,
  type ChangeEntry,
  type CreateEntry,
  type DeleteEntryQuery,
  type EntryView,
  type OccurrenceView,
  type RangeQuery,
  type ReadEntryQuery,
} from '#src/protocol/calendars/calendars.ts';
import { Refusal } from '#src/protocol/errors.ts';
import type { AccessibleCalendar } from '#storage/calendars/calendar-reader.ts';
import { entryIdOf, writingOf, type CalendarRecord } from '#storage/calendars/calendar-records.ts';
import type { CalendarDraft } from '#storage/calendars/calendar-draft.ts';
import { shareMeeting } from '#storage/calendars/calendar-meetings.ts';
import { accessCalendar } from '../calendar-access.ts';
import { calendarOf } from './calendar-handlers.ts';
import type { CalendarServices } from '../calendar-services.ts';
import { busyTypeOf } from '../objects/busy-times.ts';
import { CalendarContents, type ShownObject } from '../objects/calendar-contents.ts';
import type { DerivedOccurrence } from '../objects/derivation.ts';
import {
  peopleChanges,
  ruleChange,
  rulePlaceOf,
  stampChanges,
  timeChanges,
  withChanges,
  wordChanges,
} from './entry-form.ts';
import { detailChanges, withReminders } from './entry-details.ts';
import { entryView, occurrenceTime, statusView } from './entry-view.ts';
import { CalendarFault } from '../icalendar/calendar-fault.ts';
import { readCalendarObject } from '../icalendar/object-reader.ts';
import type { CalendarObject, Window } from '../icalendar/calendar-object.ts';
import { COMPONENT_NAMES } from '../icalendar/component-kinds.ts';
import { arrangeMeeting, type MeetingWish, type WithMeeting } from '../meetings/entry-meetings.ts';
import { overrideFor } from '../icalendar/edits.ts';
import { singleOccurrence } from '../scheduling/single-occurrence.ts';
import { makeComponent, makeProperty } from '../icalendar/component.ts';
import { writeCalendar } from '../icalendar/generated-calendar.ts';
import { writeInstant } from '../icalendar/values.ts';
import { Series } from '../recurrence/series.ts';
import { changeObject, deleteFrom, isOwnChange, makeUid, type EditContext } from './series-edits.ts';
import { TimeSlicer } from '../time-slicer.ts';

type Names = 'readRange' | 'createEntry' | 'readEntry' | 'changeEntry' | 'deleteEntry';

export function makeEntryHandlers(services: CalendarServices): ClientHandlers<Pick<typeof CALENDAR_ROUTES, Names>> {
  const { calendars, writer } = services;
  const contentsOf = (accessible: AccessibleCalendar) => new CalendarContents(calendars, accessible);
  return {
    readRange: async (request) => {
      const { from, to } = rangeOf(request.query as RangeQuery);
      const accessible = accessCalendar(calendars, request.user, calendarOf(request), 'free_busy');
      const body = await occurrencesBetween(services, request.user, accessible, { from, to });
      return { status: 200, body: { ...body, next: null } };
    },
    createEntry: async (request) => {
      const form = request.body as CreateEntry;
      const accessible = accessCalendar(calendars, request.user, calendarOf(request), 'write');
      const { calendar } = accessible;
      const uid = makeUid(services.clock.now());
      const made = createdObject(form, uid, contextOf(services, request.user, accessible));
      const { bytes, note, undo } = await arrange(services, request.user, calendar, uid, form.meeting, made);
      const put = { name: `${uid}.ics`, bytes, conditions: { ifNoneMatch: '*' as const } };
      await orUndo(undo, () => writer.putAll(request.user, calendar.id, [put], note));
      return { status: 201, body: readEntry(services, calendar, contentsOf(accessible), entryIdOf(uid)) };
    },
    readEntry: (request) => {
      const accessible = accessCalendar(calendars, request.user, calendarOf(request), 'read');
      const { calendar } = accessible;
      const { recurrence_id: recurrenceId } = request.query as ReadEntryQuery;
      return {
        status: 200,
        body: readEntry(services, calendar, contentsOf(accessible), entryOf(request), recurrenceId),
      };
    },
    changeEntry: async (request) => {
      const { etag } = request.body as ChangeEntry;
      return { status: 200, body: await onPresentState(etag, async () => await changeEntry(services, request)) };
    },
    deleteEntry: async (request) => {
      const { scope, recurrence_id: recurrenceId = '', etag } = request.query as DeleteEntryQuery;
      const accessible = accessCalendar(calendars, request.user, calendarOf(request), 'write');
      const { calendar } = accessible;
      await onPresentState(etag, async () => {
        const { stored, object } = findWritable(contentsOf(accessible), entryOf(request), etag);
        const context = contextOf(services, request.user, accessible);
        const bytes = scope === 'all' ? null : inContract(() => deleteFrom(object, scope, recurrenceId, context)).bytes;
        const conditions = { ifMatch: [stored.etag] };
        if (bytes === null) await writer.remove(request.user, calendar.id, stored.name, conditions);
        else await asEntry(() => writer.put(request.user, calendar.id, stored.name, bytes, conditions));
      });
      return { status: 204, body: undefined };
    },
  };
}

async function changeEntry(services: CalendarServices, request: ClientRequest): Promise<EntryView> {
  const { calendars, writer } = services;
  const { user } = request;
  const form = request.body as ChangeEntry;
  const accessible = accessCalendar(calendars, user, calendarOf(request), 'write');
  const { calendar } = accessible;
  const contents = new CalendarContents(calendars, accessible);
  const { stored, object } = findWritable(contents, entryOf(request), form.etag);
  const context = contextOf(services, user, accessible);
  if (!isOwnChange(form)) assertOrganizes(context, object);
  const { bytes: changed, split } = inContract(() => changeObject(object, form, context));
  const arranged = await arrange(services, user, calendar, stored.uid, form.meeting, changed as Uint8Array);
  const put = { name: stored.name, bytes: arranged.bytes, conditions: { ifMatch: [stored.etag] } };
  const entry = entryIdOf(stored.uid);
  if (split === undefined) {
    await orUndo(arranged.undo, () => writer.putAll(user, calendar.id, [put], arranged.note));
    return readEntry(services, calendar, contents, entry);
  }
  const other = entryIdOf(split.uid);
  const second = { name: `${split.uid}.ics`, bytes: split.bytes, conditions: { ifNoneMatch: '*' as const } };
  // What splits off leads to the same meeting, which goes on as long as either does.
  const note = (draft: CalendarDraft) => shareMeeting(draft, { calendar: calendar.id, entry }, other);
  await asEntry(() => writer.putAll(user, calendar.id, [put, second], note));
  return readEntry(services, calendar, contents, other);
}

/** An entry with the meeting that is wished for. @throws Refusal as `arrangeMeeting`; `entry_invalid`. */
async function arrange(
  services: CalendarServices,
  host: string,
  { id, zone }: CalendarRecord,
  uid: string,
  wish: MeetingWish,
  bytes: Uint8Array,
): Promise<WithMeeting> {
  const place = { calendar: id, entry: entryIdOf(uid) };
  return await asEntry(() => arrangeMeeting(services, { host, place, wish, zone }, bytes));
}

/** Times that a change is made anew. Then the caller hears `entry_changed`. */
const MADE_TIMES_MAX = 4;

/** Who names no state means the present one: what the server writes of others meanwhile is no conflict of theirs. */
async function onPresentState<T>(etag: string | undefined, action: () => Promise<T>): Promise<T> {
  for (let times = 1; ; times += 1) {
    try {
      return await action();
    } catch (error) {
      const isOfOthers = etag === undefined && error instanceof Refusal && error.code === 'entry_changed';
      if (!isOfOthers || times === MADE_TIMES_MAX) throw error;
    }
  }
}

/** What a change of an entry goes by, whoever makes it. A delegate organises in the name of whose calendar it is. */
export function contextOf(
  { book, clock, mayInvite }: CalendarServices,
  user: string,
  { access, calendar: { owner, zone } }: AccessibleCalendar,
): EditContext {
  const organizers = access === 'delegate' ? [owner, user] : [user];
  return { book, user, organizers, zone, now: clock.now(), mayInvite };
}

function entryOf({ parameters: { entry = '' } }: ClientRequest): string {
  return entry;
}

function createdObject(form: CreateEntry, uid: string, context: EditContext): Uint8Array {
  const stamp = writeInstant(context.now);
  const bare = makeComponent(COMPONENT_NAMES[form.kind], [
    makeProperty('UID', uid),
    makeProperty('CREATED', stamp),
    makeProperty('SEQUENCE', '0'),
  ]);
  const time = timeChanges(form, context.zone, undefined);
  if (time === undefined && form.kind === 'event') throw new Refusal('field_invalid', { field: 'local_start' });
  const people = form.attendees === undefined ? {} : peopleChanges(context, form.attendees, undefined);
  const details = detailChanges(form, bare, context.zone);
  const changes = { ...stampChanges(context.now), ...time, ...wordChanges(form), ...people, ...details };
  const timed = withReminders(
    withChanges(bare, changes),
    form.reminders,
    context.book.addressesOf(context.user)[0] ?? '',
  );
  if (form.rule === undefined) return Buffer.from(writeCalendar([timed]));
  const object = readCalendarObject(Buffer.from(writeCalendar([timed])));
  const rule = ruleChange(form.rule, rulePlaceOf(timed, new Series(object, context.zone)));
  return Buffer.from(writeCalendar([withChanges(timed, { RRULE: [rule] })]));
}

export interface FoundEntry {
  readonly stored: ShownObject;
  readonly object: CalendarObject;
}

/** As `findEntry`, for a change. @throws as it does; `right_missing` where its time alone is shown. */
function findWritable(contents: CalendarContents, entry: string, etag: string | undefined): FoundEntry {
  const found = findEntry(contents, entry, etag);
  if (found.stored.disclosure === 'time') throw new Refusal('right_missing');
  return found;
}

/** @throws Refusal `entry_not_found`, `entry_changed` for another etag than the caller's. */
export function findEntry(contents: CalendarContents, entry: string, etag?: string): FoundEntry {
  const name = /^[\w-]{43}$/.test(entry) ? contents.nameByEntry(entry) : undefined;
  const stored = name === undefined ? undefined : contents.object(name);
  if (stored === undefined) throw new Refusal('entry_not_found');
  if (etag !== undefined && writingOf(etag) !== writingOf(stored.etag)) throw new Refusal('entry_changed');
  try {
    const bytes = contents.bytesOf(stored);
    if (bytes === undefined) throw new Refusal('entry_not_found');
    return { stored, object: readCalendarObject(bytes) };
  } catch (error) {
    // What no reader takes any more is there for CalDAV, as bytes, and hides none of the others here.
    throw error instanceof CalendarFault ? new Refusal('entry_not_found') : error;
  }
}

/** @throws Refusal `entry_not_found`. */
export function readEntry(
  services: CalendarServices,
  calendar: CalendarRecord,
  contents: CalendarContents,
  entry: string,
  recurrenceId?: string,
): EntryView {
  services.calendars.refresh();
  const { stored, object } = findEntry(contents, entry);
  const { book, meetings } = services;
  if (recurrenceId === undefined) return entryView(calendar, stored, object, book, meetings);
  const { zone } = calendar;
  const component = overrideFor(object, recurrenceId, zone) ?? singleOccurrence(object, recurrenceId, zone);
  if (component === undefined) throw new Refusal('entry_not_found');
  return entryView(calendar, stored, object, book, meetings, { recurrenceId, component });
}

/** The entry as it is by now; undefined of one that went since it was listed. */
export function readEntryLeft(
  services: CalendarServices,
  calendar: CalendarRecord,
  contents: CalendarContents,
  entry: string,
): EntryView | undefined {
  try {
    return readEntry(services, calendar, contents, entry);
  } catch (error) {
    // Reading sees what was committed this very moment, so to look first would say nothing.
    if (error instanceof Refusal && error.code === 'entry_not_found') return undefined;
    throw error;
  }
}

/** What somebody else organises is theirs to change; an answer has a route of its own. @throws Refusal `organizer_forbidden`. */
function assertOrganizes({ book, organizers }: EditContext, object: CalendarObject): void {
  const lines = [object.master, ...object.overrides].flatMap(
    (component) => component?.properties.filter(({ name }) => name === 'ORGANIZER') ?? [],
  );
  if (lines.some(({ value }) => !organizers.includes(book.userOf(value) ?? '')))
    throw new Refusal('organizer_forbidden');
}

/** What of a change the model refuses is the form's fault. @throws Refusal `entry_invalid`. */
export function inContract<T>(action: () => T): T {
  try {
    return action();
  } catch (error) {
    throw error instanceof CalendarFault ? new Refusal('entry_invalid') : error;
  }
}

/** Writes an entry; where that fails, what was made for it is undone, or, if that fails too, ended at the next start. */
async function orUndo(undo: () => Promise<void>, action: () => Promise<unknown>): Promise<void> {
  try {
    await asEntry(action);
  } catch (error) {
    await undo().catch(() => undefined);
    throw error;
  }
}

/** @throws Refusal `entry_invalid` for what the model refuses. */
export async function asEntry<T>(action: () => Promise<T>): Promise<T> {
  try {
    return await action();
  } catch (error) {
    throw error instanceof CalendarFault ? new Refusal('entry_invalid') : error;
  }
}

function rangeOf({ from, to }: RangeQuery): { from: number; to: number } {
  const [first, last] = [parseInstant(from), parseInstant(to)];
  if (first === undefined) throw new Refusal('query_invalid', { field: 'from' });
  if (last === undefined || last <= first || last - first > RANGE_MILLIS_MAX) {
    throw new Refusal('query_invalid', { field: 'to' });
  }
  return { from: first, to: last };
}

async function occurrencesBetween(
  services: CalendarServices,
  user: string,
  accessible: AccessibleCalendar,
  window: Window,
): Promise<{ items: OccurrenceView[]; is_cut: boolean }> {
  const { access, calendar } = accessible;
  const isFreeBusyOnly = access === 'free_busy';
  // Its entries take nobody's time, as in every answer about free and busy times.
  if (isFreeBusyOnly && calendar.transparency === 'transparent') return { items: [], is_cut: false };
  const contents = new CalendarContents(services.calendars, accessible);
  const addresses = services.book.addressesOf(calendar.owner);
  const objects = contents.between(window, RANGE_OBJECTS_MAX + 1);
  const found: { entry: string; occurrence: DerivedOccurrence }[] = [];
  let isCut = objects.length > RANGE_OBJECTS_MAX;
  const slicer = new TimeSlicer({ budgets: services.budgets, user });
  for (const object of objects.slice(0, RANGE_OBJECTS_MAX)) {
    const expansion = await contents.occurrences(services.pool, object, window, { most: OCCURRENCES_MAX, addresses });
    if (expansion === undefined) continue;
    isCut ||= expansion.isCut;
    // A digest of its UID would name it to whoever knows that, and be the same in the calendars of all who take part.
    const entry = isFreeBusyOnly ? String(object.seq) : entryIdOf(object.uid);
    for (const occurrence of expansion.occurrences) {
      // Whoever may know when somebody is busy hears nothing of what leaves them free.
      const isShown = !isFreeBusyOnly || (object.kind === 'event' && busyTypeOf(occurrence) !== undefined);
      if (isShown) found.push({ entry, occurrence });
    }
    await slicer.pass();
  }
  found.sort((one, other) => one.occurrence.start - other.occurrence.start);
  const items = found
    .slice(0, OCCURRENCES_MAX)
    .map(({ entry, occurrence }) => occurrenceView(entry, occurrence, isFreeBusyOnly));
  return { items, is_cut: isCut || found.length > OCCURRENCES_MAX };
}

function occurrenceView(entry: string, occurrence: DerivedOccurrence, isFreeBusyOnly: boolean): OccurrenceView {
  const { recurrenceId, location, title, isTransparent } = occurrence;
  const status = statusView(occurrence.status);
  const shown = isFreeBusyOnly
    ? { title: '' }
    : { title, ...(location === undefined ? {} : { location }), ...(status === undefined ? {} : { status }) };
  return {
    entry_id: entry,
    ...(recurrenceId === undefined ? {} : { recurrence_id: recurrenceId }),
    ...occurrenceTime(occurrence),
    ...shown,
    transparency: isTransparent ? 'transparent' : 'opaque',
  };
}
