/** An object or a message as people outside are shown it: in a mail, and on the page where they answer. */
import { indexOf } from '../recurrence/object-index.ts';
import { readCalendarObject } from '../icalendar/object-reader.ts';
import {
  parameterOf,
  propertiesOf,
  propertyOf,
  type Property,
  textOf,
  type Component,
} from '../icalendar/component.ts';
import { replaceLines } from '../icalendar/edits.ts';
import { extentOf, placeAt, type Extent } from '../recurrence/extent.ts';
import { ZoneResolver } from '../zones/zone-resolver.ts';
import { UTC, wallOf } from '../zones/zone.ts';
import { type Instance, instancesOf, said, WHOLE } from './instances.ts';
import { lineOf, withParameters } from './people.ts';

export interface Described {
  readonly bytes: Uint8Array;
  /** The calendar's. */
  readonly zone: string;
  /** Whose answer is looked for, in lower case. */
  readonly attendee?: string;
  /** How the addresses of this installation are written to people outside; without it the bytes stay as they are. */
  readonly addresses?: OutsideAddresses;
}

export interface OutsideAddresses {
  /** The installation's own, `mailto:…`: who sends on behalf of the organiser, and stands in for one without any. */
  readonly sender: string;
  /** Address in lower case → the one that mail reaches. */
  readonly mailOf: Readonly<Record<string, string>>;
}

/** Where and when on the clock of a zone. */
export interface When {
  /** Wall seconds since 1970. */
  readonly start: number;
  /** Wall seconds; of whole days the last day's. */
  readonly end: number;
  readonly isAllDay: boolean;
  /** The zone's name; empty for whole days and floating times. */
  readonly zone: string;
}

export interface Description {
  readonly title: string;
  readonly location: string;
  readonly notes: string;
  readonly when: When | undefined;
  readonly isRecurring: boolean;
  readonly isCancelled: boolean;
  readonly isRevised: boolean;
  /** When the last of it is over, milliseconds since 1970; null for never. */
  readonly last: number | null;
  /** Address in lower case and name, as the object has them. */
  readonly organizer: string | undefined;
  readonly organizerName: string | undefined;
  /** Who speaks in the name of the organiser, or of who sent a REPLY: an address in lower case. */
  readonly sentBy: string | undefined;
  /** PARTSTAT of the attendee, or of who sent a REPLY; undefined where they are not invited, or to nothing that takes place. */
  readonly answer: string | undefined;
  /** What is sent. */
  readonly bytes: Uint8Array;
}

/** @throws CalendarFault. */
export function describe({ addresses, attendee, bytes, zone }: Described): Description {
  const object = readCalendarObject(bytes, { isMessage: true });
  const instances = instancesOf(object, zone);
  const { isCancelled, isRecurring, last } = indexOf(object, zone);
  const [first] = instances;
  const component = first?.component;
  const text = (name: string) => (component === undefined ? '' : (textOf(component, name) ?? ''));
  const organizer = component === undefined ? undefined : propertyOf(component, 'ORGANIZER');
  // An answer is from the one person that it names.
  const [replied] = component === undefined || object.method !== 'REPLY' ? [] : propertiesOf(component, 'ATTENDEE');
  const whose = attendee ?? replied?.value.trim().toLowerCase();
  const proposing = component === undefined ? undefined : propertyOf(component, 'ATTENDEE');
  const speaker = object.method === 'REPLY' ? replied : object.method === 'COUNTER' ? proposing : organizer;
  const sentBy = speaker === undefined ? undefined : parameterOf(speaker, 'SENT-BY');
  const extent = component === undefined ? undefined : extentOf(component, new ZoneResolver(object.zones, zone));
  return {
    title: text('SUMMARY'),
    location: text('LOCATION'),
    notes: text('DESCRIPTION'),
    when: extent === undefined ? undefined : whenOf(extent),
    isRecurring,
    isCancelled: isCancelled || object.method === 'CANCEL',
    isRevised: instances.some(({ sequence }) => sequence > 0),
    last,
    organizer: organizer?.value.trim().toLowerCase(),
    organizerName: organizer === undefined ? undefined : parameterOf(organizer, 'CN'),
    sentBy: sentBy?.trim().toLowerCase(),
    answer: whose === undefined ? undefined : answerOf(instances, whose),
    bytes: addresses === undefined ? bytes : readdressed(object, addresses, bytes),
  };
}

/** An extent as a mail says it. */
export function whenOf({ length, start, zone }: Extent): When {
  const span = placeAt(zone, start.wall, length);
  if (start.isDate) {
    const days = Math.max(1, length.days);
    return { start: start.wall, end: start.wall + (days - 1) * DAY_SECONDS, isAllDay: true, zone: '' };
  }
  const isFloating = !start.isUtc && start.tzid === undefined;
  if (isFloating) return { start: start.wall, end: wallOf(zone, span.end), isAllDay: false, zone: '' };
  // A zone that only the object knows tells its readers nothing.
  const known = zone.name === undefined ? UTC : zone;
  return {
    ...{ start: wallOf(known, span.start), end: wallOf(known, span.end), isAllDay: false },
    zone: zone.name ?? 'UTC',
  };
}

const DAY_SECONDS = 86_400;

/** What somebody answered: to the series, or to the first instance that they are invited to. */
function answerOf(instances: readonly Instance[], attendee: string): string | undefined {
  const invited = instances.flatMap(({ component, isCancelled, key }) => {
    const line = isCancelled ? undefined : lineOf({}, component, attendee);
    return line === undefined ? [] : [{ key, answer: said(line, 'PARTSTAT', 'NEEDS-ACTION') }];
  });
  return (invited.find(({ key }) => key === WHOLE) ?? invited[0])?.answer;
}

/** Everybody under an address that mail reaches, and the organiser with who sends for them (RFC 6047, 2.3). */
function readdressed(
  object: ReturnType<typeof readCalendarObject>,
  { mailOf, sender }: OutsideAddresses,
  bytes: Uint8Array,
): Uint8Array {
  const components: Component[] = [...(object.master === undefined ? [] : [object.master]), ...object.overrides];
  const edits = components.flatMap((component) =>
    ['ORGANIZER', 'ATTENDEE'].flatMap((name) =>
      propertiesOf(component, name).flatMap((line): [Property, Property][] => {
        const address = line.value.trim().toLowerCase();
        const known = Object.hasOwn(mailOf, address) ? mailOf[address] : undefined;
        const isFromAttendee = object.method === 'REPLY' || object.method === 'COUNTER';
        const isOrganizer = name === 'ORGANIZER' && !isFromAttendee;
        const value = known ?? (isOrganizer && !address.startsWith('mailto:') ? sender : undefined);
        const isOnBehalf = isOrganizer && (value ?? address) !== sender;
        if (value === undefined && !isOnBehalf) return [];
        const by = { ...line, value: value ?? line.value };
        return [[line, isOnBehalf ? withParameters(by, { 'SENT-BY': sender }) : by]];
      }),
    ),
  );
  return edits.length === 0 ? bytes : replaceLines(object, edits);
}
