/**
 * What a path is to the person who asks. Everybody has one home, with their own calendars and those that others share
 * with them; nothing of anybody else's home is there for them.
 */
import { isInbox, type Access, type CalendarRecord } from '#storage/calendars/calendar-records.ts';
import type { AccessibleCalendar } from '#storage/calendars/calendar-reader.ts';
import type { CalendarContents, ShownObject } from '../objects/calendar-contents.ts';
import type { DavContext, Principal } from './dav-context.ts';
import { notFound } from './dav-refusal.ts';
import { calendarHref, encodeSegment, homeHref, hrefOf, principalHref, schedulingHref, type DavPath } from './paths.ts';

/** Clark name → value, as XML. */
type Values = Readonly<Record<string, string>>;

export interface RootResource {
  readonly kind: 'root';
  readonly href: string;
}
export interface PrincipalResource {
  readonly kind: 'principal';
  readonly href: string;
  readonly principal: Principal;
}
export interface HomeResource {
  readonly kind: 'home';
  readonly href: string;
}
export interface InboxResource {
  readonly kind: 'inbox';
  readonly href: string;
  /** What is in it: messages, which are read as the objects of a calendar are, and removed. */
  readonly collection: CalendarResource;
}
export interface OutboxResource {
  readonly kind: 'outbox';
  readonly href: string;
}
export interface CalendarResource {
  readonly kind: 'calendar';
  readonly href: string;
  readonly calendar: CalendarRecord;
  readonly access: Access;
  /** Clark name → value: what this person's clients keep on it. */
  readonly properties: Values;
  /** What is in it, as the viewer may see it. */
  readonly contents: CalendarContents;
}
export interface ObjectResource {
  readonly kind: 'object';
  readonly href: string;
  readonly collection: CalendarResource;
  readonly object: ShownObject;
  /** What clients keep on it; looked up when it is asked for, and once. */
  readonly properties: () => Values;
}
export type Resource =
  | RootResource
  | PrincipalResource
  | HomeResource
  | InboxResource
  | OutboxResource
  | CalendarResource
  | ObjectResource;

/** The name of a calendar in its viewer's home: its own, or its id where it is somebody else's. */
export function segmentOf({ calendar, access }: AccessibleCalendar): string {
  return access === 'owner' ? calendar.name : calendar.id;
}

/** A calendar of the viewer's own home; undefined where it has none of that name. */
export function findCalendar(context: DavContext, viewer: string, name: string): CalendarResource | undefined {
  const { calendars } = context;
  const id = calendars.ownedByName(viewer, name) ?? name;
  const access = calendars.accessOf(viewer, id);
  const calendar = access === undefined ? undefined : calendars.calendar(id);
  if (access === undefined || calendar === undefined) return undefined;
  // Its owner finds it by its name alone: one resource has one URL.
  if (access === 'owner' && calendar.name !== name) return undefined;
  return calendarResource(context, viewer, { calendar, access });
}

function calendarResource(
  { calendars, contentsOf }: Pick<DavContext, 'calendars' | 'contentsOf'>,
  viewer: string,
  accessible: AccessibleCalendar,
): CalendarResource {
  return {
    kind: 'calendar',
    href: calendarHref(viewer, segmentOf(accessible)),
    ...accessible,
    properties: calendars.properties(accessible.calendar.id, viewer),
    contents: contentsOf(accessible),
  };
}

/** The viewer's own inbox; nobody comes to anybody else's. Undefined of who never signed in here. */
function findInbox({ calendars, contentsOf }: DavContext, viewer: string): InboxResource | undefined {
  const calendar = calendars.inboxOf(viewer);
  if (calendar === undefined) return undefined;
  const href = schedulingHref('inbox', viewer);
  const contents = contentsOf({ calendar, access: 'owner' });
  const collection: CalendarResource = { kind: 'calendar', href, calendar, access: 'owner', properties: {}, contents };
  return { kind: 'inbox', href, collection };
}

/** Where the objects at such a path lie: a calendar of the viewer's home, or the inbox. */
export function collectionAt(
  context: DavContext,
  viewer: string,
  path: Extract<DavPath, { kind: 'calendar' | 'object' | 'message' }>,
): CalendarResource | undefined {
  if (path.kind === 'message') return findInbox(context, viewer)?.collection;
  return findCalendar(context, viewer, path.calendar);
}

/** All calendars of the viewer's home. */
export function calendarsOf(context: DavContext, viewer: string): CalendarResource[] {
  return context.calendars.servedTo(viewer).map((accessible) => calendarResource(context, viewer, accessible));
}

export function objectResource(collection: CalendarResource, object: ShownObject): ObjectResource {
  let kept: Values | undefined;
  const properties = () => (kept ??= collection.contents.propertiesOf(object));
  return { kind: 'object', href: `${collection.href}${encodeSegment(object.name)}`, collection, object, properties };
}

/** Whether the viewer may see what is in the calendar, and not only when its owner is busy. */
export function isReadable({ access }: CalendarResource): boolean {
  return access !== 'free_busy';
}

export function isWritable({ access, calendar }: CalendarResource): boolean {
  return calendar.subscribed !== true && !isInbox(calendar) && access !== 'read' && access !== 'free_busy';
}

/**
 * What the path names for the viewer.
 * @throws DavRefusal 404 for what is absent and what is not theirs.
 */
export function findResource(context: DavContext, viewer: string, path: DavPath | undefined): Resource {
  const found = path === undefined ? undefined : lookUp(context, viewer, path);
  if (found === undefined) throw notFound();
  return found;
}

function lookUp(context: DavContext, viewer: string, path: DavPath): Resource | undefined {
  if (path.kind === 'root') return path;
  if (path.kind === 'principal') {
    const principal = context.principals.find(viewer, path.user);
    return principal === undefined ? undefined : { kind: 'principal', href: principalHref(path.user), principal };
  }
  // It is ended, and nothing else.
  if (path.user !== viewer || path.kind === 'registration') return undefined;
  if (path.kind === 'home') return { kind: 'home', href: homeHref(viewer) };
  if (path.kind === 'outbox') return { kind: 'outbox', href: hrefOf(path) };
  if (path.kind === 'inbox') return findInbox(context, viewer);
  const collection = collectionAt(context, viewer, path);
  if (collection === undefined || path.kind === 'calendar') return collection;
  if (!isReadable(collection)) return undefined;
  const object = collection.contents.object(path.file);
  return object === undefined ? undefined : objectResource(collection, object);
}
