/** Changes of an entry that JSON asks for, as bytes: one occurrence, that one and all that follow, or all of it. */
import { makeId } from '#src/base/ids.ts';
import type { ChangeEntry } from '#src/protocol/calendars/calendars.ts';
import { Refusal } from '#src/protocol/errors.ts';
import {
  classLines,
  peopleChanges,
  ruleChange,
  rulePlaceOf,
  stampChanges,
  timeChanges,
  withChanges,
  wordChanges,
  type Organizing,
  type PropertyChanges,
} from './entry-form.ts';
import { detailChanges, withReminders } from './entry-details.ts';
import { endsOtherwise, withoutLaterOverrides } from './series-ending.ts';
import { followSeries } from './series-following.ts';
import { expand } from '../recurrence/occurrences.ts';
import { type CalendarObject } from '../icalendar/calendar-object.ts';
import { makeProperty, propertiesOf, propertyOf, type Component } from '../icalendar/component.ts';
import {
  changeProperties,
  endSeriesBefore,
  excludeInstance,
  overrideFor,
  putOverride,
  removeOverride,
  replaceSubcomponents,
} from '../icalendar/edits.ts';
import { readCalendarObject } from '../icalendar/object-reader.ts';
import { writeCalendar } from '../icalendar/generated-calendar.ts';
import { instanceProperty } from '../icalendar/timing.ts';
import { readTime, writeDuration, writeTime, type CalendarTime } from '../icalendar/values.ts';
import { DAY_SECONDS } from '../recurrence/civil.ts';
import { extentOf } from '../recurrence/extent.ts';
import { endRule, readRule } from '../recurrence/rule.ts';
import { walkRule } from '../recurrence/rule-walk.ts';
import { Series } from '../recurrence/series.ts';
import { StepBudget } from '../recurrence/step-budget.ts';
import { instantOf } from '../zones/zone.ts';

export interface EditContext extends Organizing {
  /** Who changes it. */
  readonly user: string;
  /** The calendar's. */
  readonly zone: string;
  readonly now: number;
}

/** What becomes of an object: its new bytes, or null where nothing of it is left; and a second one that splits off. */
export interface Edited {
  readonly bytes: Uint8Array | null;
  readonly split?: { readonly uid: string; readonly bytes: Uint8Array };
}

/** A UID that nobody else makes. */
export function makeUid(now: number): string {
  return `${makeId('cal', now).slice(4)}@parley`;
}

/** Properties that make a series, which an occurrence by itself does not have. */
const SERIES_PROPERTIES: PropertyChanges = { RRULE: [], RDATE: [], EXDATE: [], EXRULE: [] };

/** @throws Refusal `entry_not_found` for an occurrence that there is not, `field_invalid`, `organizer_forbidden`. */
export function changeObject(object: CalendarObject, form: ChangeEntry, context: EditContext): Edited {
  if (form.scope === 'this') return { bytes: changeOne(object, form, form.recurrence_id ?? '', context) };
  if (form.scope === 'this_and_following') return changeFollowing(object, form, form.recurrence_id ?? '', context);
  const bytes = changeAll(object, form, context);
  return { bytes: form.visibility === undefined ? bytes : withVisibility(bytes, form.visibility) };
}

/** The exceptions of a series are as visible as it is: one that is not would name the others. */
function withVisibility(bytes: Uint8Array, visibility: NonNullable<ChangeEntry['visibility']>): Uint8Array {
  const { overrides } = readCalendarObject(bytes);
  return overrides.reduce((before, _, at) => {
    const object = readCalendarObject(before);
    return changeProperties(object, object.overrides[at] as Component, { CLASS: classLines(visibility) });
  }, bytes);
}

/** @throws Refusal `entry_not_found` for an occurrence that there is not. */
export function deleteFrom(
  object: CalendarObject,
  scope: 'this' | 'this_and_following',
  recurrenceId: string,
  { zone }: EditContext,
): Edited {
  findOccurrence(object, recurrenceId, zone);
  if (scope === 'this_and_following') return { bytes: endSeriesBefore(object, recurrenceId, zone) ?? null };
  if (object.master !== undefined) return { bytes: excludeInstance(object, recurrenceId, zone) ?? null };
  // Without a master there is nothing but single occurrences; the last one takes the object with it.
  return { bytes: object.overrides.length === 1 ? null : (removeOverride(object, recurrenceId, zone) ?? null) };
}

/** What is changed of a component, and whether occurrences move by it. */
function changesOf(component: Component, series: Series, form: ChangeEntry, context: EditContext): PropertyChanges {
  const extent = extentOf(component, series.zones);
  const kept = extent === undefined ? undefined : writeDuration(extent.length);
  const time = timeChanges(form, context.zone, kept) ?? {};
  const people = form.attendees === undefined ? {} : peopleChanges(context, form.attendees, component);
  const changes = { ...wordChanges(form), ...time, ...people, ...detailChanges(form, component, context.zone) };
  const sequence = Number(propertyOf(component, 'SEQUENCE')?.value ?? 0) || 0;
  const isRevised = 'DTSTART' in changes || form.rule !== undefined;
  const { DTSTAMP, ...stamps } = stampChanges(context.now);
  return {
    ...changes,
    ...stamps,
    // DTSTAMP says how old the organiser's words are, which are not what is changed then.
    ...(isOwnChange(form) ? {} : { DTSTAMP }),
    ...(isRevised ? { SEQUENCE: [makeProperty('SEQUENCE', String(sequence + 1))] } : {}),
  };
}

/** Fields that are each reader's own, of what somebody else organises too. */
const OWN_FIELDS: ReadonlySet<string> = new Set(['reminders', 'transparency']);

/** Whether a change is of nothing but what is each reader's own. */
export function isOwnChange({ etag: _etag, recurrence_id: _id, scope: _scope, ...fields }: ChangeEntry): boolean {
  const named = Object.entries(fields).filter(([, value]) => value !== undefined);
  return named.length > 0 && named.every(([name]) => OWN_FIELDS.has(name));
}

function remindedBy(component: Component, { reminders }: ChangeEntry, { book, user }: EditContext): Component {
  return withReminders(component, reminders, book.addressesOf(user)[0] ?? '');
}

/**
 * A series whose times or rule change for all starts afresh: its exceptions were made for the times of before. One that only ends at
 * another time has the others still.
 */
function changeAll(object: CalendarObject, form: ChangeEntry, context: EditContext): Uint8Array {
  const component = object.master;
  if (component === undefined) throw new Refusal('field_invalid', { field: 'scope' });
  const series = new Series(object, context.zone);
  const changes = changesOf(component, series, form, context);
  const isMoved = 'DTSTART' in changes;
  const rule =
    form.rule === undefined || form.rule === null ? undefined : ruleChange(form.rule, rulePlaceOf(component, series));
  const isEnd = !isMoved && rule !== undefined && endsOtherwise(component, rule);
  const isRevised = isMoved || form.rule !== undefined;
  if (isEnd || !isRevised || (!series.isRecurring && form.rule === undefined)) {
    const inPlace = changeProperties(object, component, isEnd ? { ...changes, RRULE: [rule] } : changes);
    const followed = followSeries(inPlace, component, changes, context.book);
    const changed = isEnd ? withoutLaterOverrides(followed, context.zone) : followed;
    if (form.reminders === undefined) return changed;
    const next = readCalendarObject(changed);
    return replaceSubcomponents(next, remindedBy(next.master as Component, form, context).components);
  }
  const timed = withChanges(component, { ...changes, RDATE: [], EXDATE: [], EXRULE: [] });
  return rewritten(object, remindedBy(withRule(component, timed, series, form), form, context));
}

/** A changed component with the rule that is said, or the one it has, moved as it was. */
function withRule(before: Component, component: Component, series: Series, form: ChangeEntry): Component {
  if (form.rule === undefined) return withChanges(component, movedRules(before, component, series));
  if (form.rule === null) return withChanges(component, SERIES_PROPERTIES);
  const place = rulePlaceOf(component, series);
  return withChanges(component, { ...SERIES_PROPERTIES, RRULE: [ruleChange(form.rule, place)] });
}

function rewritten(object: CalendarObject, component: Component): Uint8Array {
  const properties = object.calendar.properties.filter(({ name }) => name !== 'VERSION' && name !== 'PRODID');
  return Buffer.from(writeCalendar([component], { definitions: object.zones, properties }));
}

function changeOne(object: CalendarObject, form: ChangeEntry, recurrenceId: string, context: EditContext): Uint8Array {
  const { zone } = context;
  const found = findOccurrence(object, recurrenceId, zone);
  const base = found.override ?? occurrenceOf(object, recurrenceId, found.time, zone);
  const changes = changesOf(base, new Series(object, zone), form, context);
  return putOverride(object, recurrenceId, remindedBy(withChanges(base, changes), form, context), zone);
}

/** One occurrence of the series by itself, as it was before anybody changed it. */
function occurrenceOf(object: CalendarObject, recurrenceId: string, time: CalendarTime, zone: string): Component {
  const series = new Series(object, zone);
  const { master } = series;
  const named = master === undefined ? undefined : instanceProperty('RECURRENCE-ID', recurrenceId, master.start);
  if (master === undefined || named === undefined) throw new Refusal('entry_not_found');
  const changes = { ...SERIES_PROPERTIES, ...startAt(time, named.parameters, master.length), 'RECURRENCE-ID': [named] };
  return withChanges(master.component, changes);
}

function startAt(
  time: CalendarTime,
  parameters: ReturnType<typeof makeProperty>['parameters'],
  length: Parameters<typeof writeDuration>[0],
): PropertyChanges {
  const start = { ...makeProperty('DTSTART', writeTime(time)), parameters };
  return { DTSTART: [start], DURATION: [makeProperty('DURATION', writeDuration(length))], DTEND: [], DUE: [] };
}

/** Ends the series before an occurrence, and makes another one of it and what follows. */
function changeFollowing(
  object: CalendarObject,
  form: ChangeEntry,
  recurrenceId: string,
  context: EditContext,
): Edited {
  const { zone, now } = context;
  const { time } = findOccurrence(object, recurrenceId, zone);
  const bytes = endSeriesBefore(object, recurrenceId, zone);
  // From its first occurrence on, it is the whole series.
  if (bytes === undefined) return { bytes: changeAll(object, form, context) };
  const series = new Series(object, zone);
  const { master } = series;
  const named = master === undefined ? undefined : instanceProperty('RDATE', recurrenceId, master.start);
  if (master === undefined || named === undefined) throw new Refusal('entry_not_found');
  const uid = makeUid(now);
  const rules = propertiesOf(master.component, 'RRULE').map((line) => ({
    ...line,
    value: countedFrom(line.value, time.wall, series),
  }));
  const begun = withChanges(master.component, {
    ...startAt(time, named.parameters, master.length),
    UID: [makeProperty('UID', uid)],
    RRULE: rules,
  });
  const changes = changesOf(begun, series, form, context);
  const isRevised = 'DTSTART' in changes || form.rule !== undefined;
  const dropped = isRevised ? { RDATE: [], EXDATE: [], EXRULE: [] } : {};
  const changed = withRule(begun, withChanges(begun, { ...changes, ...dropped }), series, form);
  const component = remindedBy(changed, form, context);
  const key = series.keyOf(time);
  const later = isRevised ? [] : series.overrides().filter((one) => one.key >= key);
  const overrides = later.map((one) => withChanges(one.component, { UID: [makeProperty('UID', uid)] }));
  const split = writeCalendar([component, ...overrides], { definitions: object.zones });
  return { bytes, split: { uid, bytes: Buffer.from(split) } };
}

/** A rule that counts, as the second half of its series counts: without what was before. @throws Refusal `entry_invalid`. */
function countedFrom(value: string, wall: number, { master }: Series): string {
  const rule = readRule(value);
  if (typeof rule === 'string' || rule.count === undefined || master === undefined) return value;
  // The first one is the series' own, and the walk does not meet it.
  let before = 1;
  const budget = new StepBudget();
  walkRule(rule, master.start.wall, { from: master.start.wall, to: wall - 1 }, budget, (at) => {
    if (at < wall) before += 1;
    return at < wall;
  });
  if (budget.isSpent) throw new Refusal('entry_invalid');
  const count = Math.max(1, rule.count - before);
  return value.replace(/(^|;)\s*COUNT\s*=[^;]*/i, `$1COUNT=${count}`);
}

/** The rules of a component that was moved: the end of a series moves with its beginning, so that none is lost. */
function movedRules(before: Component, after: Component, { zones }: Series): PropertyChanges {
  const [from, to] = [extentOf(before, zones), extentOf(after, zones)];
  if (from === undefined || to === undefined) return {};
  const seconds = (instantOf(to.zone, to.start.wall) - instantOf(from.zone, from.start.wall)) / 1000;
  const RRULE = propertiesOf(after, 'RRULE').map((line) => {
    const rule = readRule(line.value);
    if (typeof rule === 'string' || rule.until === undefined) return line;
    const { until } = rule;
    // A day as an end includes the whole day.
    const wall = until.wall + seconds + (until.isDate && !to.start.isDate ? DAY_SECONDS - 1 : 0);
    if (to.start.isDate) {
      const day = Math.floor(wall / DAY_SECONDS) * DAY_SECONDS;
      return { ...line, value: endRule(line.value, { wall: day, isDate: true, isUtc: false }) };
    }
    const isFloating = !to.start.isUtc && to.start.tzid === undefined;
    const end = until.isUtc || isFloating ? wall : instantOf(to.zone, wall) / 1000;
    return { ...line, value: endRule(line.value, { wall: end, isDate: false, isUtc: !isFloating }) };
  });
  return { RRULE };
}

interface Found {
  readonly time: CalendarTime;
  readonly override: Component | undefined;
}

/** A day on both sides of an occurrence's start: no zone puts it further away. */
const AROUND_MILLIS = 86_400_000;

/** @throws Refusal `entry_not_found` where the series has no occurrence of that id. */
function findOccurrence(object: CalendarObject, recurrenceId: string, zone: string): Found {
  const series = new Series(object, zone);
  const time = readTime(recurrenceId, series.master?.start.tzid);
  if (time === undefined) throw new Refusal('entry_not_found');
  const override = overrideFor(object, recurrenceId, zone);
  if (override !== undefined) return { time, override };
  const at = instantOf(series.zones.zoneOf(time), time.wall);
  const window = { from: at - AROUND_MILLIS, to: at + AROUND_MILLIS };
  const { occurrences } = expand(object, window, { zone, most: 1_000 });
  if (!occurrences.some((one) => one.recurrenceId === recurrenceId)) throw new Refusal('entry_not_found');
  return { time, override: undefined };
}
