/**
 * What the DAV door says it can do, in the `DAV` and `Allow` headers. Clients act on every word of it: `calendar-auto-schedule` keeps
 * Thunderbird from sending invitations itself, so a word stands here when all of what it means works.
 */

/** In this order: Thunderbird reads the protocol's version from the first one. */
const CLASSES: readonly string[] = [
  '1',
  '3',
  'extended-mkcol',
  'calendar-access',
  'calendar-schedule',
  'calendar-auto-schedule',
  'calendar-availability',
  'webdav-push',
];

export const COMPLIANCE: string = CLASSES.join(', ');

/** Methods that some resource of the door answers. Each has its handler in `routes.ts`, by the type of that table. */
export const METHODS = [
  'OPTIONS',
  'GET',
  'HEAD',
  'PUT',
  'DELETE',
  'PROPFIND',
  'PROPPATCH',
  'REPORT',
  'MKCALENDAR',
  'MKCOL',
  'COPY',
  'MOVE',
  'POST',
] as const;
/** In the `Allow` header, of one form everywhere: Evolution takes a calendar for writable when PUT stands in its own. */
export const ALLOWED: string = METHODS.join(', ');
/** Methods of WebDAV that are known and answered nowhere (405): nothing here is locked, and rights are given in JSON. */
export const REFUSED_METHODS = ['PATCH', 'LOCK', 'UNLOCK', 'ACL'] as const;
