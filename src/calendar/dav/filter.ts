/** The filter of a calendar-query (RFC 4791 section 9.7), read from XML into a form that is quick to ask. */
import { screenOf, type Screen } from '../icalendar/whole-text.ts';
import type { Window } from '../icalendar/calendar-object.ts';
import { readTime } from '../icalendar/values.ts';
import { broken } from './dav-refusal.ts';
import { caldav, partsOf } from './xml/xml-names.ts';
import { childOf, type XmlElement } from './xml/xml-reader.ts';

/** Filters of one query together. The deepest question of a known client has nine. [valid-filter] */
export const FILTERS_MAX = 64;

/** The ends of a range that leaves them open, in milliseconds: the years that iCalendar can write. */
const EARLIEST = -62_135_596_800_000;
const LATEST = 253_402_300_799_000;

export interface TextMatch {
  readonly text: string;
  readonly isNegated: boolean;
  readonly collation: Collation;
}

export interface ParameterFilter {
  readonly name: string;
  readonly isNotDefined: boolean;
  readonly textMatch: TextMatch | undefined;
}

export interface PropertyFilter extends ParameterFilter {
  readonly timeRange: Window | undefined;
  readonly parameters: readonly ParameterFilter[];
}

export interface ComponentFilter {
  readonly name: string;
  readonly isNotDefined: boolean;
  readonly timeRange: Window | undefined;
  readonly properties: readonly PropertyFilter[];
  readonly components: readonly ComponentFilter[];
}

export const COLLATIONS = ['i;ascii-casemap', 'i;octet', 'i;unicode-casemap'] as const;
export type Collation = (typeof COLLATIONS)[number];

/**
 * The filter for VCALENDAR.
 * @throws DavRefusal 403 valid-filter, supported-collation.
 */
export function readFilter(filter: XmlElement): ComponentFilter {
  const [top, ...others] = filter.children.filter(({ name }) => name === caldav('comp-filter'));
  if (top === undefined || others.length > 0) throw invalid('A filter has one comp-filter, for VCALENDAR.');
  const counter = { left: FILTERS_MAX };
  if (nameOf(top) !== 'VCALENDAR') throw invalid('The outermost comp-filter is for VCALENDAR.');
  return readComponentFilter(top, counter);
}

function readComponentFilter(element: XmlElement, counter: { left: number }): ComponentFilter {
  const properties: PropertyFilter[] = [];
  const components: ComponentFilter[] = [];
  for (const child of element.children) {
    if (child.name === caldav('comp-filter')) components.push(readInner(element, child, counter));
    else if (child.name === caldav('prop-filter')) properties.push(readPropertyFilter(child, counter));
    else assertKnown(child, ['time-range', 'is-not-defined']);
  }
  const { name, isNotDefined } = readHead(element, counter);
  const timeRange = readTimeRangeOf(element);
  if (timeRange !== undefined && !TIMED.has(name)) throw invalid(`A ${name} has no time to be in a range.`);
  return { name, isNotDefined, timeRange, properties, components };
}

/** The components that a standard one may have (RFC 5545, 3.6); where others lie nobody knows. */
const INNER: ReadonlyMap<string, readonly string[]> = new Map([
  ['VCALENDAR', ['VEVENT', 'VTODO', 'VJOURNAL', 'VFREEBUSY', 'VTIMEZONE', 'VAVAILABILITY']],
  ['VEVENT', ['VALARM']],
  ['VTODO', ['VALARM']],
  ['VJOURNAL', []],
  ['VFREEBUSY', []],
  ['VTIMEZONE', ['STANDARD', 'DAYLIGHT']],
  ['VALARM', []],
]);
/** Components that RFC 4791, 9.9 gives a time, and no others. */
const TIMED = new Set(['VEVENT', 'VTODO', 'VJOURNAL', 'VFREEBUSY', 'VALARM']);
const STANDARD = new Set([...INNER.values()].flat());

/** A filter for what can lie there: another one is no filter (RFC 4791, 7.8). @throws DavRefusal 403 valid-filter. */
function readInner(parent: XmlElement, child: XmlElement, counter: { left: number }): ComponentFilter {
  const [outer, inner] = [nameOf(parent), nameOf(child)];
  const isMisplaced = STANDARD.has(inner) && INNER.get(outer)?.includes(inner) === false;
  if (isMisplaced) throw invalid(`There is no ${inner} in a ${outer}.`);
  return readComponentFilter(child, counter);
}

function nameOf({ attributes }: XmlElement): string {
  return attributes.get('name')?.toUpperCase() ?? '';
}

function readPropertyFilter(element: XmlElement, counter: { left: number }): PropertyFilter {
  const parameters: ParameterFilter[] = [];
  for (const child of element.children) {
    if (child.name === caldav('param-filter')) {
      for (const inner of child.children) assertKnown(inner, ['is-not-defined', 'text-match']);
      parameters.push({ ...readHead(child, counter), textMatch: readTextMatch(child) });
    } else assertKnown(child, ['time-range', 'is-not-defined', 'text-match']);
  }
  const timeRange = readTimeRangeOf(element);
  const head = readHead(element, counter);
  if (timeRange !== undefined && TEXTS.has(head.name)) throw invalid(`${head.name} is no time.`);
  return { ...head, timeRange, textMatch: readTextMatch(element), parameters };
}

/** Properties that are texts, so that no time range can be about them. */
const TEXTS = new Set([
  ...['SUMMARY', 'DESCRIPTION', 'LOCATION', 'COMMENT', 'CATEGORIES', 'CLASS', 'STATUS', 'TRANSP', 'UID', 'URL'],
  ...['ATTENDEE', 'ORGANIZER', 'CONTACT', 'RESOURCES', 'PRIORITY', 'SEQUENCE', 'PERCENT-COMPLETE', 'GEO', 'ATTACH'],
]);

function readHead(element: XmlElement, counter: { left: number }): { name: string; isNotDefined: boolean } {
  counter.left -= 1;
  if (counter.left < 0) throw invalid(`A query may have ${FILTERS_MAX} filters.`);
  const name = element.attributes.get('name');
  if (name === undefined || name === '') throw invalid('A filter must say by its name what it is for.');
  const isNotDefined = childOf(element, caldav('is-not-defined')) !== undefined;
  if (isNotDefined && element.children.length > 1) throw invalid('What is to be missing has nothing to be asked of.');
  return { name: name.toUpperCase(), isNotDefined };
}

function assertKnown({ name }: XmlElement, known: readonly string[]): void {
  const { uri, local } = partsOf(name);
  // Extensions of other namespaces would narrow the answer; leaving them out silently would answer another question.
  if (known.some((allowed) => name === caldav(allowed))) return;
  throw broken(caldav('supported-filter'), `The filter ${uri === '' ? local : name} is not known.`);
}

function readTextMatch(element: XmlElement): TextMatch | undefined {
  const match = childOf(element, caldav('text-match'));
  if (match === undefined) return undefined;
  const collation = match.attributes.get('collation') ?? 'i;ascii-casemap';
  const known = collation === 'default' ? 'i;ascii-casemap' : COLLATIONS.find((name) => name === collation);
  if (known === undefined) throw broken(caldav('supported-collation'), 'The collation is not known.');
  return { text: match.text, isNegated: match.attributes.get('negate-condition') === 'yes', collation: known };
}

function readTimeRangeOf(element: XmlElement): Window | undefined {
  const range = childOf(element, caldav('time-range'));
  return range === undefined ? undefined : readTimeRange(range);
}

/**
 * The span that `start` and `end` of an element name; one of the two may be missing.
 * @throws DavRefusal 403 valid-filter for anything but UTC date-times in their order.
 */
export function readTimeRange({ attributes }: XmlElement, { isOpen = true } = {}): Window {
  const [start, end] = [attributes.get('start'), attributes.get('end')];
  if (start === undefined && end === undefined) throw invalid('A time range has a start, an end, or both.');
  if (!isOpen && (start === undefined || end === undefined)) throw invalid('This time range has a start and an end.');
  const from = start === undefined ? EARLIEST : readUtc(start);
  const to = end === undefined ? LATEST : readUtc(end);
  if (from === undefined || to === undefined) throw invalid('Start and end are written as 20260131T120000Z.');
  if (from >= to) throw invalid('The end of a time range lies behind its start.');
  return { from, to };
}

/** Milliseconds of an iCalendar date-time in UTC; undefined for anything else. */
function readUtc(text: string): number | undefined {
  const time = readTime(text);
  return time?.isUtc === true ? time.wall * 1000 : undefined;
}

function invalid(text: string): Error {
  return broken(caldav('valid-filter'), text);
}

/** Whether the text holds the one that is looked for, under the rules of its collation. */
export function matchesText({ text, isNegated, collation }: TextMatch, value: string): boolean {
  const fold = FOLDINGS[collation];
  return fold(value).includes(fold(text)) !== isNegated;
}

/** Whether an object can have the text that is looked for. */
export function screenFor({ text, collation }: TextMatch): Screen {
  const fold = FOLDINGS[collation];
  const word = fold(text);
  return screenOf(word, (whole) => fold(whole).includes(word));
}

// oxlint-disable-next-line no-control-regex -- All of ASCII is meant.
const IS_ASCII = /^[\u0000-\u007f]*$/;

const FOLDINGS: Readonly<Record<Collation, (text: string) => string>> = {
  'i;octet': (text) => text,
  // Of letters of ASCII alone it is what the engine does at once.
  'i;ascii-casemap': (text) =>
    IS_ASCII.test(text) ? text.toLowerCase() : text.replaceAll(/[A-Z]+/g, (letters) => letters.toLowerCase()),
  'i;unicode-casemap': (text) => text.normalize('NFKD').toUpperCase(),
};
