/** What became of a message, written into the object of whoever sent it (SCHEDULE-STATUS: RFC 6638, 3.2.9). */
import type { CalendarDraft } from '#storage/calendars/calendar-draft.ts';
import { readCalendarObject } from '../icalendar/object-reader.ts';
import { propertiesOf, type Property } from '../icalendar/component.ts';
import { replaceLines } from '../icalendar/edits.ts';
import { instancesOf } from './instances.ts';
import { identityOf, type Recipients, withParameters } from './people.ts';

export interface DeliveryStatus {
  /** An answer has its status at the organiser, all else at the attendee. */
  readonly method: 'REQUEST' | 'CANCEL' | 'REPLY';
  /** The object of the sender. */
  readonly calendar: string;
  readonly uid: string;
  /** Of whom it was for. */
  readonly identity: string;
  readonly status: string;
  readonly recipients: Recipients;
}

/**
 * Writes it, where the object and that person in it are still there: no new state of it for whoever organises. @throws CalendarFault, and
 * what the draft refuses.
 */
export function noteStatus(draft: CalendarDraft, { calendar, uid, ...what }: DeliveryStatus): void {
  const name = draft.nameByUid(calendar, uid);
  const stored = name === undefined ? undefined : draft.object(calendar, name);
  const bytes = name === undefined ? undefined : draft.bytesOf(calendar, name);
  if (name === undefined || stored === undefined || bytes === undefined) return;
  const noted = withStatus(bytes, what, draft.calendar(calendar)?.zone ?? 'UTC');
  if (noted !== undefined) draft.putObject(calendar, name, noted, stored, { isStatus: true });
}

/** The object with the status; undefined where that person is not in it, or it says so already. */
function withStatus(
  bytes: Uint8Array,
  { identity, method, recipients, status }: Omit<DeliveryStatus, 'calendar' | 'uid'>,
  zone: string,
): Uint8Array | undefined {
  const object = readCalendarObject(bytes);
  const edits = instancesOf(object, zone).flatMap(({ component }) =>
    propertiesOf(component, method === 'REPLY' ? 'ORGANIZER' : 'ATTENDEE')
      .filter((line) => identityOf(recipients, line.value) === identity)
      .map((line): [Property, Property] => [line, withParameters(line, { 'SCHEDULE-STATUS': status })]),
  );
  if (edits.length === 0) return undefined;
  const noted = replaceLines(object, edits);
  return Buffer.compare(noted, bytes) === 0 ? undefined : noted;
}
