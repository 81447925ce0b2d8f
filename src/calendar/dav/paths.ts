/**
 * Paths of the DAV door. Principal, home and calendar are three different URLs: clients of Apple never settle when two of
 * them are the same. A path is written in one form only, and read in every encoding.
 */
import { DavRefusal } from './dav-refusal.ts';

export type DavPath =
  /** `/`, `/dav/`, `/principals/`, `/dav/principals/`, `/dav/calendars/`: where clients look for the principal. */
  | { readonly kind: 'root'; readonly href: string }
  | { readonly kind: 'principal'; readonly user: string }
  | { readonly kind: 'home'; readonly user: string }
  /** Where scheduling messages come in and go out (RFC 6638). */
  | { readonly kind: 'inbox'; readonly user: string }
  | { readonly kind: 'outbox'; readonly user: string }
  /** A message in the inbox. */
  | { readonly kind: 'message'; readonly user: string; readonly file: string }
  | { readonly kind: 'calendar'; readonly user: string; readonly calendar: string }
  /** Of pushes, by the calendar's id and that of the push resource. */
  | { readonly kind: 'registration'; readonly user: string; readonly calendar: string; readonly id: string }
  | { readonly kind: 'object'; readonly user: string; readonly calendar: string; readonly file: string };

/** Characters of one segment, decoded: what file systems and clients take. [404] */
export const SEGMENT_LENGTH_MAX = 255;

/** Paths outside the door's own folder where clients of Apple look for the principal when they skip the redirect. */
export const WALKED_PATHS: readonly string[] = ['/', '/principals', '/principals/'];
export const DAV_ROOT = '/dav/';
export const PRINCIPALS = '/dav/principals/';
const CALENDARS = '/dav/calendars/';
const AREAS = ['principals', 'calendars', 'inbox', 'outbox', 'push'] as const;

/** One segment, percent-encoded but for the unreserved characters of RFC 3986. */
export function encodeSegment(segment: string): string {
  // What most clients name their objects by needs nothing of it.
  if (PLAIN_SEGMENT.test(segment)) return segment;
  const encoded = encodeURIComponent(segment);
  return encoded.replaceAll(/[!'()*]/g, (character) => `%${character.charCodeAt(0).toString(16).toUpperCase()}`);
}

const PLAIN_SEGMENT = /^[\w.~-]*$/;

export const principalHref = (user: string): string => `${PRINCIPALS}${encodeSegment(user)}/`;
export const homeHref = (user: string): string => `${CALENDARS}${encodeSegment(user)}/`;
export const schedulingHref = (kind: 'inbox' | 'outbox', user: string): string =>
  `${DAV_ROOT}${kind}/${encodeSegment(user)}/`;
export const calendarHref = (user: string, calendar: string): string => `${homeHref(user)}${encodeSegment(calendar)}/`;

export function objectHref(user: string, calendar: string, file: string): string {
  return `${calendarHref(user, calendar)}${encodeSegment(file)}`;
}

export function registrationHref({
  calendar,
  id,
  user,
}: Omit<Extract<DavPath, { kind: 'registration' }>, 'kind'>): string {
  return `${DAV_ROOT}push/${[user, calendar, id].map(encodeSegment).join('/')}`;
}

/** The one form of a path, as every answer writes it. */
export function hrefOf(path: DavPath): string {
  switch (path.kind) {
    case 'root':
      return path.href;
    case 'principal':
      return principalHref(path.user);
    case 'home':
      return homeHref(path.user);
    case 'inbox':
    case 'outbox':
      return schedulingHref(path.kind, path.user);
    case 'message':
      return `${schedulingHref('inbox', path.user)}${encodeSegment(path.file)}`;
    case 'calendar':
      return calendarHref(path.user, path.calendar);
    case 'object':
      return objectHref(path.user, path.calendar, path.file);
    case 'registration':
      return registrationHref(path);
    default:
      return path satisfies never;
  }
}

/**
 * What a request's path names; undefined for one that cannot name anything here. A collection's slash may be missing.
 * @throws DavRefusal 400 for a broken percent-encoding and for a fragment.
 */
export function readPath(target: string): DavPath | undefined {
  // Part of no request (RFC 9110, 7.1): whoever sends one means something inside, and not the whole of it.
  if (target.includes('#')) throw new DavRefusal(400, 'A fragment names nothing on a server.');
  const [pathname] = target.split('?', 1) as [string];
  if (WALKED_PATHS.includes(pathname))
    return { kind: 'root', href: pathname.endsWith('/') ? pathname : `${pathname}/` };
  const segments = pathname.split('/').map(decodeSegment);
  if (segments.length > 2 && segments.at(-1) === '') segments.pop();
  const [start, root, named, user, calendar, file, ...more] = segments;
  const area = AREAS.find((one) => one === named);
  if (start !== '' || root !== 'dav' || more.length > 0) return undefined;
  if (named === undefined) return { kind: 'root', href: DAV_ROOT };
  if (area === undefined) return undefined;
  const isScheduling = area === 'inbox' || area === 'outbox';
  if (area === 'push') {
    const isWhole = [user, calendar, file].every((segment) => segment !== undefined && isName(segment));
    return isWhole
      ? { kind: 'registration', user: user as string, calendar: calendar as string, id: file as string }
      : undefined;
  }
  if (user === undefined) {
    return isScheduling ? undefined : { kind: 'root', href: area === 'principals' ? PRINCIPALS : CALENDARS };
  }
  if ([user, calendar, file].some((segment) => segment !== undefined && !isName(segment))) return undefined;
  if (isScheduling && calendar === undefined) return { kind: area, user };
  if (isScheduling) {
    const isMessage = area === 'inbox' && file === undefined;
    return isMessage ? { kind: 'message', user, file: calendar as string } : undefined;
  }
  if (area === 'principals') return calendar === undefined ? { kind: 'principal', user } : undefined;
  if (calendar === undefined) return { kind: 'home', user };
  return file === undefined ? { kind: 'calendar', user, calendar } : { kind: 'object', user, calendar, file };
}

/**
 * What an href in a body or a header names: an absolute path, or a URL of this server.
 * @throws DavRefusal 400 for a broken percent-encoding.
 */
export function readHref(href: string): DavPath | undefined {
  const absolute = /^https?:\/\/[^/?#]*(.*)$/is.exec(href);
  return readPath(absolute === null ? href : absolute[1] === '' ? '/' : (absolute[1] as string));
}

function decodeSegment(segment: string): string {
  try {
    return decodeURIComponent(segment);
  } catch {
    throw new DavRefusal(400, 'The path is not valid percent-encoded UTF-8.');
  }
}

// A control or a slash inside a name is nothing that a client could write into a path again.
// oxlint-disable-next-line no-control-regex -- These are the characters to refuse.
const NOT_IN_NAME = /[\u0000-\u001f\u007f/]/;

function isName(segment: string): boolean {
  return (
    segment !== '' &&
    segment !== '.' &&
    segment !== '..' &&
    segment.length <= SEGMENT_LENGTH_MAX &&
    !NOT_IN_NAME.test(segment)
  );
}
