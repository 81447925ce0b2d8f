/** Every property that the DAV door computes, as one table: name → how it is read on each kind of resource. */
import { EVERYBODY } from '#src/protocol/quotas.ts';
import { isInbox, OBJECT_BYTES_MAX } from '#storage/calendars/calendar-records.ts';
import { CalendarFault } from '../../icalendar/calendar-fault.ts';
import { COMPONENT_NAMES } from '../../icalendar/component-kinds.ts';
import { MAX_ATTENDEES, MAX_INSTANCES } from '../../icalendar/object-reader.ts';
import { MAX_DATE_TIME, MIN_DATE_TIME } from '../../icalendar/values.ts';
import { availabilityOf } from '../../availability/working-hours.ts';
import { defaultCalendarOf } from '../../calendar-access.ts';
import { COLLATIONS } from '../filter.ts';
import type { DavContext } from '../dav-context.ts';
import { homeTokenOf } from '../home-token.ts';
import { calendarHref, homeHref, principalHref, PRINCIPALS, schedulingHref } from '../paths.ts';
import { HOME_PRIVILEGES, INBOX_PRIVILEGES, OUTBOX_PRIVILEGES, privilegesOn, READ_PRIVILEGES } from './privileges.ts';
import { isReadable, type CalendarResource, type InboxResource, type Resource } from '../resources.ts';
import { newestToken } from '../sync-token.ts';
import { PUSH_PROPERTIES } from './push-properties.ts';
import { timezoneOf } from './zone-property.ts';
import { appleIcal, caldav, calendarserver, dav, type XmlName } from '../xml/xml-names.ts';
import { element, escapeText, textElement } from '../xml/xml-writer.ts';

/** Who asks, and the door they stand at. */
export interface Asking {
  readonly context: DavContext;
  readonly viewer: string;
}

/** The XML inside the property's element; undefined where the resource has no such property. */
type Read<R> = (resource: R, asking: Asking) => string | undefined;

type Of<Kind extends Resource['kind']> = Extract<Resource, { kind: Kind }>;

interface LiveProperty {
  readonly reads: { readonly [Kind in Resource['kind']]?: Read<Of<Kind>> };
  /** Properties of CalDAV stay out of `allprop` (RFC 4791, 5.2): they are long, and whoever knows them names them. */
  readonly isInAllprop: boolean;
}

const href = (path: string): string => textElement(dav('href'), path);
const everywhere = (read: Read<Resource>): LiveProperty['reads'] => ({
  root: read,
  principal: read,
  home: read,
  inbox: read,
  outbox: read,
  calendar: read,
  object: read,
});
const privileges = (names: readonly XmlName[]): string =>
  names.map((name) => element(dav('privilege'), element(name))).join('');
const reports = (names: readonly XmlName[]): string =>
  names.map((name) => element(dav('supported-report'), element(dav('report'), element(name)))).join('');
/** A value that this person's clients keep for themselves on a calendar that somebody shares with them. */
const own = ({ properties }: CalendarResource, name: XmlName): string | undefined => properties[name];
const httpDate = (millis: number): string => new Date(millis).toUTCString();

const PRINCIPAL_REPORTS = [
  dav('principal-property-search'),
  dav('principal-search-property-set'),
  dav('expand-property'),
];
const HOME_REPORTS = [
  dav('sync-collection'),
  caldav('calendar-multiget'),
  caldav('calendar-query'),
  caldav('free-busy-query'),
];
const CALENDAR_REPORTS = [
  dav('sync-collection'),
  caldav('calendar-multiget'),
  caldav('calendar-query'),
  caldav('free-busy-query'),
  dav('expand-property'),
];

/** Of what is sent; undefined of an object that cannot be, or is gone. */
function lengthOf({ collection, object }: Of<'object'>): string | undefined {
  if (object.disclosure === 'whole') return String(object.bytes);
  try {
    const length = collection.contents.bytesOf(object)?.length;
    return length === undefined ? undefined : String(length);
  } catch (error) {
    if (error instanceof CalendarFault) return undefined;
    throw error;
  }
}

/** The version of everything in a calendar: ctag and sync-token move together with `sync_seq`. */
function tokenOf({ calendar, contents }: CalendarResource, { context }: Asking): string {
  return newestToken(context.epoch, contents.scope, calendar);
}

/** Only for those who may see what is inside. */
const readable =
  (read: Read<CalendarResource>): Read<CalendarResource> =>
  (resource, asking) =>
    isReadable(resource) ? read(resource, asking) : undefined;

/** What an inbox is asked as the collection of its messages. */
const ofMessages =
  (read: Read<CalendarResource>): Read<InboxResource> =>
  ({ collection }, asking) =>
    read(collection, asking);
const onCollections = (read: Read<CalendarResource>): LiveProperty['reads'] => ({
  calendar: readable(read),
  inbox: ofMessages(read),
});

const RESOURCE: readonly [XmlName, LiveProperty['reads']][] = [
  [
    dav('resourcetype'),
    {
      root: () => '<D:collection/>',
      principal: () => '<D:principal/>',
      home: () => '<D:collection/>',
      inbox: () => '<D:collection/><C:schedule-inbox/>',
      outbox: () => '<D:collection/><C:schedule-outbox/>',
      // Where only free-busy can be asked, a calendar would be read by clients and fail.
      calendar: (resource) => (isReadable(resource) ? '<D:collection/><C:calendar/>' : '<D:collection/>'),
      object: () => '',
    },
  ],
  [
    dav('displayname'),
    {
      root: () => 'Parley',
      principal: ({ principal }) => escapeText(principal.displayName),
      home: (_, { context, viewer }) => escapeText(context.principals.find(viewer, viewer)?.displayName ?? viewer),
      calendar: (resource) => own(resource, dav('displayname')) ?? escapeText(resource.calendar.displayname),
    },
  ],
  [
    dav('creationdate'),
    {
      calendar: ({ calendar }) => new Date(calendar.createdAt).toISOString(),
      object: ({ object }) => new Date(object.createdAt).toISOString(),
    },
  ],
  [dav('getetag'), { object: ({ object }) => `"${object.etag}"` }],
  [
    dav('getcontenttype'),
    { object: ({ object }) => `text/calendar; charset=utf-8; component=${COMPONENT_NAMES[object.kind].toLowerCase()}` },
  ],
  [dav('getcontentlength'), { object: lengthOf }],
  [dav('getlastmodified'), { object: ({ object }) => httpDate(object.changedAt) }],
  [
    dav('sync-token'),
    {
      ...onCollections((resource, asking) => escapeText(tokenOf(resource, asking))),
      home: (_, { context, viewer }) => escapeText(homeTokenOf(context, viewer)),
    },
  ],
  [
    dav('supported-report-set'),
    {
      root: () => reports(PRINCIPAL_REPORTS),
      principal: () => reports(PRINCIPAL_REPORTS),
      home: () => reports([...PRINCIPAL_REPORTS, ...HOME_REPORTS]),
      inbox: () => reports(CALENDAR_REPORTS.filter((name) => name !== caldav('free-busy-query'))),
      calendar: (resource) => reports(isReadable(resource) ? CALENDAR_REPORTS : [caldav('free-busy-query')]),
    },
  ],
];

const ACCESS: readonly [XmlName, LiveProperty['reads']][] = [
  [dav('current-user-principal'), everywhere((_, { viewer }) => href(principalHref(viewer)))],
  [dav('principal-collection-set'), everywhere(() => href(PRINCIPALS))],
  [
    dav('current-user-privilege-set'),
    {
      root: () => privileges(READ_PRIVILEGES),
      principal: () => privileges(READ_PRIVILEGES),
      home: () => privileges(HOME_PRIVILEGES),
      inbox: () => privileges(INBOX_PRIVILEGES),
      outbox: () => privileges(OUTBOX_PRIVILEGES),
      calendar: (collection) => privileges(privilegesOn(collection)),
      object: ({ collection, object }) => privileges(privilegesOn(collection, object)),
    },
  ],
  [
    dav('owner'),
    {
      principal: ({ principal }) => href(principalHref(principal.user)),
      home: (_, { viewer }) => href(principalHref(viewer)),
      inbox: (_, { viewer }) => href(principalHref(viewer)),
      outbox: (_, { viewer }) => href(principalHref(viewer)),
      calendar: ({ calendar }) => href(principalHref(calendar.owner)),
      object: ({ collection }) => href(principalHref(collection.calendar.owner)),
    },
  ],
  // Apple's first question is asked at the path that the redirect leads to, so that it yields the principal too.
  [
    dav('principal-URL'),
    {
      root: (_, { viewer }) => href(principalHref(viewer)),
      principal: ({ principal }) => href(principalHref(principal.user)),
    },
  ],
  [dav('alternate-URI-set'), { principal: ({ principal }) => principal.addresses.map(href).join('') }],
  [dav('group-membership'), { principal: () => '' }],
  [dav('group-member-set'), { principal: () => '' }],
];

const PRINCIPAL: readonly [XmlName, LiveProperty['reads']][] = [
  [
    caldav('calendar-home-set'),
    {
      // Only one's own home is there; that of others would lead to 404.
      principal: ({ principal }, { viewer }) => (principal.user === viewer ? href(homeHref(viewer)) : undefined),
      root: (_, { viewer }) => href(homeHref(viewer)),
    },
  ],
  [
    caldav('calendar-availability'),
    {
      inbox: (_, { context, viewer }) => {
        const text = availabilityOf(context.calendars, viewer);
        return text === undefined ? undefined : escapeText(text);
      },
    },
  ],
  [caldav('schedule-inbox-URL'), { principal: ownScheduling('inbox') }],
  [caldav('schedule-outbox-URL'), { principal: ownScheduling('outbox') }],
  [
    caldav('schedule-default-calendar-URL'),
    {
      inbox: (_, { context, viewer }) => {
        const calendar = defaultCalendarOf(context.calendars, viewer);
        return calendar === undefined ? undefined : href(calendarHref(viewer, calendar.name));
      },
    },
  ],
  [caldav('calendar-user-address-set'), { principal: addressSet }],
  [caldav('calendar-user-type'), { principal: ({ principal }) => principal.type }],
  [
    calendarserver('email-address-set'),
    {
      principal: ({ principal }) =>
        principal.addresses
          .filter((address) => address.startsWith('mailto:'))
          .map((address) => textElement(calendarserver('email-address'), address.slice('mailto:'.length)))
          .join(''),
    },
  ],
];

/** Only one's own are there. */
function ownScheduling(kind: 'inbox' | 'outbox'): Read<Of<'principal'>> {
  return ({ principal }, { viewer }) => (principal.user === viewer ? href(schedulingHref(kind, viewer)) : undefined);
}

function addressSet({ principal }: Of<'principal'>): string {
  return [...principal.addresses, principalHref(principal.user)].map(href).join('');
}

const CALENDAR: readonly [XmlName, LiveProperty['reads']][] = [
  [calendarserver('getctag'), onCollections((resource, asking) => escapeText(tokenOf(resource, asking)))],
  [
    caldav('supported-calendar-component-set'),
    {
      ...onCollections(({ calendar }) =>
        calendar.kinds.map((kind) => element(caldav('comp'), '', { name: COMPONENT_NAMES[kind] })).join(''),
      ),
      // A home takes calendars of every kind.
      home: () =>
        Object.values(COMPONENT_NAMES)
          .map((name) => element(caldav('comp'), '', { name }))
          .join(''),
    },
  ],
  [
    caldav('calendar-description'),
    {
      calendar: (resource) =>
        own(resource, caldav('calendar-description')) ??
        (resource.calendar.description === '' ? undefined : escapeText(resource.calendar.description)),
    },
  ],
  [caldav('calendar-timezone'), { calendar: readable(({ calendar }) => escapeText(timezoneOf(calendar.zone))) }],
  [caldav('calendar-timezone-id'), { calendar: readable(({ calendar }) => escapeText(calendar.zone)) }],
  [
    caldav('supported-calendar-data'),
    onCollections(() => element(caldav('calendar-data'), '', { 'content-type': 'text/calendar', version: '2.0' })),
  ],
  [
    caldav('supported-collation-set'),
    onCollections(() => COLLATIONS.map((name) => textElement(caldav('supported-collation'), name)).join('')),
  ],
  [
    caldav('schedule-tag'),
    {
      object: ({ collection, object }) => (isInbox(collection.calendar) ? undefined : `"${object.scheduleTag}"`),
    },
  ],
  [caldav('max-resource-size'), onCollections(() => String(OBJECT_BYTES_MAX))],
  [caldav('min-date-time'), { calendar: readable(() => MIN_DATE_TIME) }],
  [caldav('max-date-time'), { calendar: readable(() => MAX_DATE_TIME) }],
  [caldav('max-attendees-per-instance'), { calendar: readable(() => String(MAX_ATTENDEES)) }],
  [caldav('max-instances'), { calendar: readable(() => String(MAX_INSTANCES)) }],
  [
    appleIcal('calendar-color'),
    {
      calendar: (resource) =>
        own(resource, appleIcal('calendar-color')) ??
        (resource.calendar.color === '' ? undefined : escapeText(resource.calendar.color)),
    },
  ],
  [
    appleIcal('calendar-order'),
    {
      calendar: (resource) => own(resource, appleIcal('calendar-order')) ?? String(resource.calendar.order),
    },
  ],
  [
    caldav('schedule-calendar-transp'),
    {
      calendar: (resource) =>
        own(resource, caldav('schedule-calendar-transp')) ??
        (resource.calendar.transparency === 'opaque' ? '<C:opaque/>' : '<C:transparent/>'),
    },
  ],
];

/** Bytes of calendars that a person has used and may still use, told to themselves alone (RFC 4331). */
const QUOTA: readonly [XmlName, LiveProperty['reads']][] = [
  [dav('quota-used-bytes'), ofOwner((use) => use.used)],
  [dav('quota-available-bytes'), ofOwner((use) => use.left)],
];

function ofOwner(read: (use: { used: number; left: number | undefined }) => number | undefined): LiveProperty['reads'] {
  const of = ({ context, viewer }: Asking): string | undefined => {
    const { calendar_bytes: most = Infinity, installation_calendar_bytes: ofAll = Infinity } = context.quotas.limits;
    const used = context.calendars.calendarUse(viewer).bytes;
    const left = Math.max(0, Math.min(most - used, ofAll - context.calendars.calendarUse(EVERYBODY).bytes));
    const value = read({ used, left: left === Infinity ? undefined : left });
    return value === undefined ? undefined : String(value);
  };
  return {
    home: (_, asking) => of(asking),
    calendar: ({ calendar }, asking) => (calendar.owner === asking.viewer ? of(asking) : undefined),
  };
}

/** What may be registered for pushes (WebDAV Push, 2.1): calendars, by whoever reads them. */
const PUSH: readonly [XmlName, LiveProperty['reads']][] = PUSH_PROPERTIES.map(([name, read]) => [
  name,
  { calendar: readable(read) },
]);

const table = (rows: readonly [XmlName, LiveProperty['reads']][], isInAllprop: boolean): [XmlName, LiveProperty][] =>
  rows.map(([name, reads]) => [name, { reads, isInAllprop }]);

const PROPERTIES: ReadonlyMap<XmlName, LiveProperty> = new Map([
  ...table(RESOURCE, true),
  ...table(ACCESS, false),
  ...table(PRINCIPAL, false),
  ...table(CALENDAR, false),
  ...table(QUOTA, false),
  ...table(PUSH, false),
]);

/** Whether the server computes it, so that no client may keep a value of that name (but those of `proppatch.ts`). */
export function isLive(name: XmlName): boolean {
  return PROPERTIES.has(name);
}

/** A property's element with its value; undefined where the resource has none. */
export function readProperty(name: XmlName, resource: Resource, asking: Asking): string | undefined {
  const read = PROPERTIES.get(name)?.reads[resource.kind] as Read<Resource> | undefined;
  const value = read === undefined ? deadValue(name, resource, asking) : read(resource, asking);
  return value === undefined ? undefined : element(name, value);
}

/** Names of the properties that a resource has: all of them, or those of `allprop`. */
export function namesOf(resource: Resource, asking: Asking, isForAllprop: boolean): XmlName[] {
  const live = [...PROPERTIES].flatMap(([name, { reads, isInAllprop }]) =>
    reads[resource.kind] !== undefined && (isInAllprop || !isForAllprop) ? [name] : [],
  );
  const dead = Object.keys(deadOf(resource, asking)) as XmlName[];
  const present = live.filter((name) => readProperty(name, resource, asking) !== undefined);
  return [...new Set([...present, ...dead])];
}

function deadValue(name: XmlName, resource: Resource, asking: Asking): string | undefined {
  const values = deadOf(resource, asking);
  return Object.hasOwn(values, name) ? values[name] : undefined;
}

/** What clients keep on a resource, without what is read as a live property. */
function deadOf(resource: Resource, { context, viewer }: Asking): Readonly<Record<string, string>> {
  if (resource.kind === 'calendar') return resource.properties;
  if (resource.kind === 'object') return resource.properties();
  if (resource.kind !== 'home' && resource.kind !== 'principal') return {};
  if (resource.kind === 'principal' && resource.principal.user !== viewer) return {};
  return context.calendars.properties(resource.href, viewer);
}
