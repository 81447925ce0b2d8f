/** What a viewer may do with a resource, in the words of WebDAV's access control (RFC 3744, RFC 4791 section 6.1). */
import type { AccessibleCalendar } from '#storage/calendars/calendar-reader.ts';
import { isInbox, type Access } from '#storage/calendars/calendar-records.ts';
import type { ShownObject } from '../../objects/calendar-contents.ts';
import { caldav, dav, type XmlName } from '../xml/xml-names.ts';

const READ = [dav('read'), dav('read-current-user-privilege-set'), caldav('read-free-busy')];
// Thunderbird takes a calendar for writable by any of `write`, `write-content`, `write-properties` and `all`.
const WRITE = [...READ, dav('write'), dav('write-content'), dav('write-properties'), dav('bind'), dav('unbind')];

const PRIVILEGES: Readonly<Record<Access, readonly XmlName[]>> = {
  owner: [...WRITE, dav('all')],
  delegate: WRITE,
  write: WRITE,
  read: READ,
  free_busy: [caldav('read-free-busy')],
};

/**
 * On a calendar and what is in it. One that follows a feed nobody writes; its owner names and removes it all the same. What
 * shows its time alone is written by nobody who sees no more of it.
 */
export function privilegesOn(
  { access, calendar }: AccessibleCalendar,
  object?: Pick<ShownObject, 'disclosure'>,
): readonly XmlName[] {
  if (object?.disclosure === 'time' || isInbox(calendar)) return READ;
  return calendar.subscribed === true && access !== 'free_busy' ? READ : PRIVILEGES[access];
}

/** On principals and the paths above the homes. */
export const READ_PRIVILEGES: readonly XmlName[] = [dav('read'), dav('read-current-user-privilege-set')];
/** On the collections of scheduling: reading, and each its own way of a message. What is in the inbox is taken out of it. */
export const INBOX_PRIVILEGES: readonly XmlName[] = [
  ...READ,
  dav('write-properties'),
  caldav('schedule-deliver'),
  dav('unbind'),
];
export const OUTBOX_PRIVILEGES: readonly XmlName[] = [...READ, caldav('schedule-send')];
/** On one's own home: calendars are made and removed there. */
export const HOME_PRIVILEGES: readonly XmlName[] = WRITE;
