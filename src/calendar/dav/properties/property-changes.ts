/**
 * Changes of properties by PROPPATCH and by the requests that make a calendar. What the owner sets of a calendar is the
 * calendar's; what somebody else sets, and every name that the server does not know, stays with whoever set it.
 */
import type { CalendarChange } from '#storage/calendars/calendar-draft.ts';
import type { ComponentKind } from '#storage/calendars/calendar-records.ts';
import { kindOf } from '../../icalendar/component-kinds.ts';
import { knownZone } from '../../zones/zone-resolver.ts';
import { broken, DavRefusal } from '../dav-refusal.ts';
import { isLive } from './properties.ts';
import { readTimezone } from './zone-property.ts';
import { appleIcal, caldav, dav, type XmlName } from '../xml/xml-names.ts';
import { childOf, childrenOf, type XmlElement } from '../xml/xml-reader.ts';
import { element, escapeText } from '../xml/xml-writer.ts';

/** One property to set, or with null to remove. */
export interface PropertyChange {
  readonly name: XmlName;
  readonly value: XmlElement | null;
}

/** Characters of a name or a description. [403] */
export const DISPLAY_NAME_MAX = 255;
export const DESCRIPTION_MAX = 4_000;
/** Properties that one request may change. [400] */
export const CHANGES_MAX = 200;

/** Reads a value for the calendar's record; a text says why it cannot be. */
type Setter = (value: XmlElement | null) => CalendarChange | string;

const text = (value: XmlElement | null): string => value?.text.trim() ?? '';

const SETTERS: ReadonlyMap<XmlName, Setter> = new Map<XmlName, Setter>([
  [
    dav('displayname'),
    (value) =>
      text(value).length > DISPLAY_NAME_MAX
        ? `A name has ${DISPLAY_NAME_MAX} characters at most.`
        : { displayname: text(value) },
  ],
  [
    caldav('calendar-description'),
    (value) =>
      text(value).length > DESCRIPTION_MAX
        ? `A description has ${DESCRIPTION_MAX} characters at most.`
        : { description: text(value) },
  ],
  [
    appleIcal('calendar-color'),
    (value) => {
      const color = text(value);
      if (color !== '' && !/^#[0-9a-f]{6}(?:[0-9a-f]{2})?$/i.test(color)) return 'A colour is #rrggbb or #rrggbbaa.';
      return { color };
    },
  ],
  [
    appleIcal('calendar-order'),
    (value) => {
      const order = value === null ? 0 : Number(text(value));
      return Number.isSafeInteger(order) ? { order } : 'The order is a whole number.';
    },
  ],
  [
    caldav('schedule-calendar-transp'),
    (value) => {
      if (value !== null && childOf(value, caldav('transparent')) !== undefined) return { transparency: 'transparent' };
      if (value === null || childOf(value, caldav('opaque')) !== undefined) return { transparency: 'opaque' };
      return 'It is opaque or transparent.';
    },
  ],
  [
    caldav('calendar-timezone'),
    (value) => {
      const zone = value === null ? 'UTC' : readTimezone(value.text);
      return zone === undefined ? 'The value is a VCALENDAR with one VTIMEZONE of a known zone.' : { zone };
    },
  ],
  [
    caldav('calendar-timezone-id'),
    (value) => {
      const zone = value === null ? 'UTC' : knownZone(text(value))?.name;
      return zone === undefined ? 'The zone is not known.' : { zone };
    },
  ],
]);

const ZONE_PROPERTIES: readonly XmlName[] = [caldav('calendar-timezone'), caldav('calendar-timezone-id')];

/**
 * The changes inside `propertyupdate`, `mkcalendar` or `mkcol`, in their order.
 * @throws DavRefusal 400 for too many, or something else than `set` and `remove`.
 */
export function readChanges(root: XmlElement): PropertyChange[] {
  const changes = root.children.flatMap((child): PropertyChange[] => {
    if (child.name !== dav('set') && child.name !== dav('remove')) return [];
    const isRemoval = child.name === dav('remove');
    return childrenOf(child, dav('prop')).flatMap((prop) =>
      prop.children.map((value) => ({ name: value.name, value: isRemoval ? null : value })),
    );
  });
  if (changes.length > CHANGES_MAX) throw new DavRefusal(400, `A request may change ${CHANGES_MAX} properties.`);
  return changes;
}

/** What a list of changes comes to. */
export interface Decided {
  readonly record: CalendarChange;
  /** What stays with the person: XML, or null where it is removed. */
  readonly own: Readonly<Record<string, string | null>>;
  readonly failures: ReadonlyMap<XmlName, PropertyFailure>;
}
export interface PropertyFailure {
  readonly status: 403 | 409;
  readonly condition?: XmlName;
}

/** Decides changes on a calendar. @param isOwner whether the calendar's own record may change. */
export function decideChanges(changes: readonly PropertyChange[], isOwner: boolean): Decided {
  let record: CalendarChange = {};
  const own: Record<string, string | null> = {};
  const failures = new Map<XmlName, PropertyFailure>();
  for (const { name, value } of changes) {
    const setter = SETTERS.get(name);
    if (setter !== undefined) {
      const decided = setter(value);
      if (typeof decided === 'string') failures.set(name, { status: 409 });
      else if (isOwner) record = { ...record, ...decided };
      // The zone says when all-day entries are, for everybody.
      else if (ZONE_PROPERTIES.includes(name)) failures.set(name, { status: 403 });
      else own[name] = value === null ? null : innerXml(value);
    } else if (isLive(name)) {
      failures.set(name, { status: 403, condition: dav('cannot-modify-protected-property') });
    } else own[name] = value === null ? null : innerXml(value);
  }
  return { record, own, failures };
}

/** What a request that makes a calendar asks for; the rest of its changes is decided as on a calendar that is there. */
export function readKinds(changes: readonly PropertyChange[]): readonly ComponentKind[] | undefined {
  const set = changes.findLast(({ name }) => name === caldav('supported-calendar-component-set'))?.value;
  if (set === undefined || set === null) return undefined;
  const names = childrenOf(set, caldav('comp')).map(({ attributes }) => (attributes.get('name') ?? '').toUpperCase());
  // A client that lists VTIMEZONE or VALARM beside its kind means what may stand inside an entry.
  const kinds = [...new Set(names.flatMap((name) => kindOf(name) ?? []))];
  if (kinds.length === 0)
    throw broken(caldav('supported-calendar-component'), 'A calendar holds VEVENT, VTODO or VJOURNAL.');
  return kinds;
}

/** The content of an element as XML that stands on its own: every name with its namespace. */
function innerXml(value: XmlElement): string {
  if (value.children.length === 0) return escapeText(value.text);
  const inner = value.children.map((child) => outerXml(child)).join('');
  // Text between elements is layout, unless there is more than white space of it.
  return `${value.text.trim() === '' ? '' : escapeText(value.text)}${inner}`;
}

function outerXml(value: XmlElement): string {
  return element(value.name, innerXml(value), Object.fromEntries(value.attributes));
}
