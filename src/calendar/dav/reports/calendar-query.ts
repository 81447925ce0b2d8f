/** The report `calendar-query`: the objects that pass a filter (RFC 4791 section 7.8). */
import { isInbox } from '#storage/calendars/calendar-records.ts';
import { CalendarFault } from '../../icalendar/calendar-fault.ts';
import { type ComponentKind, type Window } from '../../icalendar/calendar-object.ts';
import { kindOf } from '../../icalendar/component-kinds.ts';
import { broken } from '../dav-refusal.ts';
import { answerStream, type DavAnswer, type DavRequest } from '../exchange.ts';
import { Screen } from '../../icalendar/whole-text.ts';
import { readFilter, screenFor, type ComponentFilter } from '../filter.ts';
import { matches } from '../filter-matching.ts';
import type { CalendarContents, ShownObject } from '../../objects/calendar-contents.ts';
import { objectsOf } from '../properties/propfind.ts';
import { isBrief } from '../request-preferences.ts';
import { calendarsOf, isReadable, objectResource, type CalendarResource } from '../resources.ts';
import { caldav } from '../xml/xml-names.ts';
import { childOf, textOf, type XmlElement } from '../xml/xml-reader.ts';
import { knownZone } from '../../zones/zone-resolver.ts';
import { readTimezone } from '../properties/zone-property.ts';
import { objectRow, readObjectRequest, type ObjectRequest } from './object-rows.ts';

/** A span up to which the time index is asked; most objects of a calendar touch a longer one, and are read by their names. */
const INDEXED_MILLIS = 1_100 * 86_400_000;

/** Answers the report. @throws DavRefusal */
export function calendarQuery(request: DavRequest, root: XmlElement, collection: CalendarResource): DavAnswer {
  const question = readQuestion(root);
  return answerStream(request, rowsOf(request, question, collection));
}

/** Answers the report on a home: the objects of all its calendars whose contents are theirs to see. @throws DavRefusal */
export function homeQuery(request: DavRequest, root: XmlElement): DavAnswer {
  const { context, viewer } = request;
  const question = readQuestion(root);
  function* rows(): Generator<string> {
    for (const collection of calendarsOf(context, viewer).filter(isReadable))
      yield* rowsOf(request, question, collection);
  }
  return answerStream(request, rows());
}

/** What a body asks for, of whatever calendar. */
interface Question {
  readonly filter: ComponentFilter;
  /** Looks for the words that all that passes has; undefined where the filter asks for none. */
  readonly screen: Screen | undefined;
  readonly asked: ObjectRequest;
  /** Undefined where each calendar's own goes. */
  readonly zone: string | undefined;
}

/** @throws DavRefusal 403 `valid-filter` and what a zone is refused with. */
function readQuestion(root: XmlElement): Question {
  const filterElement = childOf(root, caldav('filter'));
  if (filterElement === undefined) throw broken(caldav('valid-filter'), 'A calendar-query has a filter.');
  const filter = readFilter(filterElement);
  const words = wordsOf(filter);
  const screen = words.length === 0 ? undefined : Screen.all(words);
  return { filter, screen, asked: readObjectRequest(root), zone: readZone(root) };
}

function* rowsOf(request: DavRequest, question: Question, collection: CalendarResource): Generator<string> {
  const { asked, filter } = question;
  const { calendar } = collection;
  const brief = isBrief(request.headers);
  const zone = question.zone ?? calendar.zone;
  const screen = isInbox(calendar) ? undefined : question.screen;
  const query = { filter, screen, zone, isOwnZone: zone === calendar.zone };
  for (const object of candidates(collection, query)) {
    if (object !== undefined && passes(collection, query, object))
      yield objectRow(objectResource(collection, object), { ...asked, zone }, request, brief);
    // An empty text gives other requests their turn while nothing is found.
    else yield '';
  }
}

/** What is asked for, and where whole days and floating times are. */
interface Query {
  readonly filter: ComponentFilter;
  /** Looks for what every object that passes has in a property; undefined where the filter asks for no word. */
  readonly screen: Screen | undefined;
  readonly zone: string;
  /** Whether that is where the index of the calendar has them. */
  readonly isOwnZone: boolean;
}

/** What two zones may differ by. */
const ZONE_MILLIS_MAX = 26 * 3_600_000;

/**
 * The zone that the client wants such times in (RFC 4791, 9.8; by its name RFC 7809); undefined where it says nothing.
 * @throws DavRefusal 403 `valid-calendar-data`, `valid-timezone`.
 */
function readZone(root: XmlElement): string | undefined {
  const id = textOf(root, caldav('timezone-id'));
  const named = id === undefined ? undefined : knownZone(id)?.name;
  if (id !== undefined && named === undefined) throw broken(caldav('valid-timezone'), 'The zone is not known.');
  const text = textOf(root, caldav('timezone'));
  const defined = text === undefined ? undefined : readTimezone(text);
  if (text !== undefined && defined === undefined) {
    throw broken(caldav('valid-calendar-data'), 'The timezone is a VCALENDAR with one VTIMEZONE of a known zone.');
  }
  return named ?? defined;
}

/** The kind and the span that every object which passes has; undefined where the filter leaves them open. */
interface Bounds {
  readonly kind: ComponentKind | undefined;
  readonly range: Window | undefined;
}

function boundsOf({ components }: ComponentFilter): Bounds {
  const [only] = components.filter(({ isNotDefined }) => !isNotDefined);
  if (only === undefined) return { kind: undefined, range: undefined };
  return { kind: kindOf(only.name), range: only.timeRange };
}

/** What may pass; undefined for objects that may not, so that others have their turn in between. */
function* candidates(
  { contents }: CalendarResource,
  { filter, isOwnZone, screen }: Query,
): Generator<ShownObject | undefined> {
  const { kind, range: asked } = boundsOf(filter);
  const slack = isOwnZone ? 0 : ZONE_MILLIS_MAX;
  const range = asked === undefined ? undefined : { from: asked.from - slack, to: asked.to + slack };
  const isShort = range !== undefined && range.to - range.from <= INDEXED_MILLIS;
  const isFit = (object: ShownObject) =>
    (kind === undefined || object.kind === kind) && (range === undefined || mayTouch(object, range));
  if (isShort || screen === undefined) {
    for (const object of isShort ? contents.eachBetween(range) : objectsOf(contents)) {
      const may = isFit(object) && mayMatchWords(contents, screen, object);
      yield may ? object : undefined;
    }
    return;
  }
  for (let after: string | undefined, isWhole = false; !isWhole;) {
    const page = contents.screened(screen, { after });
    for (const object of page.objects) yield isFit(object) ? object : undefined;
    // For a page in which nothing is.
    yield undefined;
    ({ isWhole, last: after } = page);
  }
}

/** Whether an object may have a time in the range, by what the store keeps of it. */
function mayTouch({ firstAt, lastAt }: ShownObject, { from, to }: Window): boolean {
  return firstAt === null || (firstAt < to && (lastAt === null || lastAt >= from));
}

/** Judged by what the viewer sees of it: a filter that met what they do not see would tell them of it. */
function passes({ contents }: CalendarResource, { filter, isOwnZone, zone }: Query, object: ShownObject): boolean {
  if (isOwnZone && isSettledByIndex(filter, object)) return true;
  try {
    const stored = contents.read(object);
    return stored !== undefined && matches(stored, filter, zone);
  } catch (error) {
    if (!(error instanceof CalendarFault)) throw error;
    // What cannot be judged is shown rather than lost.
    return true;
  }
}

/** The texts that a filter asks for in all that passes: those of parameters are written in another way, and are looked at closely. */
function wordsOf({ components, isNotDefined, properties }: ComponentFilter): Screen[] {
  if (isNotDefined) return [];
  const own = properties.flatMap(({ isNotDefined: isAbsent, textMatch: match }) =>
    isAbsent || match === undefined || match.isNegated ? [] : [screenFor(match)],
  );
  return [...own, ...components.flatMap(wordsOf)];
}

/** Whether an object has the words anywhere: what has not needs not be read. */
function mayMatchWords(contents: CalendarContents, screen: Screen | undefined, object: ShownObject): boolean {
  const text = screen === undefined ? undefined : contents.textOf(object);
  return text === undefined || screen?.has(text) !== false;
}

/** Whether a series is so dense that an instance of it begins in the range, whichever it is. */
function isSurelyIn({ beginsWithin = Infinity, firstAt, lastAt }: ShownObject, { from, to }: Window): boolean {
  return Math.min(to, lastAt ?? Infinity) - Math.max(from, firstAt ?? Infinity) >= beginsWithin;
}

/** Whether kind and span were all that is asked, of an object whose span has no gaps: then its bytes stay unread. */
function isSettledByIndex({ timeRange, properties, components }: ComponentFilter, object: ShownObject): boolean {
  if (timeRange !== undefined || properties.length > 0 || components.length > 1) return false;
  const [only] = components;
  if (only === undefined) return true;
  if (only.isNotDefined || only.properties.length > 0 || only.components.length > 0) return false;
  if (kindOf(only.name) !== object.kind) return false;
  if (only.timeRange === undefined) return true;
  // Something without length that touches an edge, or whose rules differ from those of events, is looked at closely.
  const { firstAt, lastAt, kind, recurring } = object;
  if (kind === 'event' && recurring && firstAt !== null) return isSurelyIn(object, only.timeRange);
  if (kind !== 'event' || firstAt === null || lastAt === null || lastAt === firstAt) return false;
  return firstAt < only.timeRange.to && lastAt > only.timeRange.from;
}
