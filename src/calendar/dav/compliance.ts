/**
 * What the DAV door says it can do, in the `DAV` header. Clients act on every word of it: `calendar-auto-schedule` keeps
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
];

export const COMPLIANCE: string = CLASSES.join(', ');
