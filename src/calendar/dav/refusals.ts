/** What the rest of the server refuses, as DAV says it: a status of DAV and the precondition that does not hold. */
import { errorBody, Refusal, statusOf, type ErrorCode } from '#src/protocol/errors.ts';
import { UidTaken } from '#storage/calendars/calendar-draft.ts';
import { BASIC_CHALLENGE } from '../basic-authentication.ts';
import { CalendarFault } from '../icalendar/calendar-fault.ts';
import { DavRefusal, type RefusalDetails, type RefusalStatus } from './dav-refusal.ts';
import { encodeSegment } from './paths.ts';
import { conditionOf } from './reports/object-rows.ts';
import { caldav, dav } from './xml/xml-names.ts';
import { textElement } from './xml/xml-writer.ts';

const quota: RefusalDetails = { condition: dav('quota-not-exceeded') };

/** Codes whose status in DAV is another one than in JSON, or that have an element of their own. */
const AS_DAV: Readonly<Partial<Record<ErrorCode, readonly [RefusalStatus, RefusalDetails?]>>> = {
  answer_forbidden: [403, { condition: caldav('allowed-attendee-scheduling-object-change') }],
  body_too_large: [413],
  calendar_full: [507, quota],
  calendar_read_only: [403, { condition: dav('need-privileges') }],
  calendar_name_taken: [403, { condition: dav('resource-must-be-null') }],
  calendars_full: [507, quota],
  entry_changed: [412],
  entry_invalid: [403, { condition: caldav('valid-calendar-data') }],
  entry_kind_refused: [403, { condition: caldav('supported-calendar-component') }],
  // Of one that the asker does not see, so that nothing says where it lies.
  entry_uid_taken: [403, { condition: caldav('no-uid-conflict') }],
  entry_too_large: [403, { condition: caldav('max-resource-size') }],
  field_invalid: [403, { condition: caldav('calendar-collection-location-ok') }],
  invitation_change_forbidden: [403, { condition: caldav('allowed-attendee-scheduling-object-change') }],
  organizer_forbidden: [403, { condition: caldav('allowed-organizer-scheduling-object-change') }],
  path_not_found: [404],
  proposal_forbidden: [403, { condition: caldav('valid-scheduling-message') }],
  proposal_outdated: [403, { condition: caldav('valid-scheduling-message') }],
  properties_too_large: [507, quota],
  quota_exceeded: [507, quota],
  right_missing: [403, { condition: dav('need-privileges') }],
  sync_cursor_expired: [403, { condition: dav('valid-sync-token') }],
};

/**
 * An error as the DAV door answers it; undefined for one that nobody expected.
 * @param collection the href of the calendar that was written to, which an object in the way lies in.
 */
export function davRefusalOf(error: unknown, collection: string): DavRefusal | undefined {
  if (error instanceof DavRefusal) return error;
  if (error instanceof CalendarFault) return new DavRefusal(403, error.message, { condition: conditionOf(error) });
  if (error instanceof UidTaken) {
    const content = textElement(dav('href'), `${collection}${encodeSegment(error.other)}`);
    return new DavRefusal(403, say(error), { condition: caldav('no-uid-conflict'), content });
  }
  if (!(error instanceof Refusal)) return undefined;
  const [status, details] = AS_DAV[error.code] ?? [statusOf(error.code)];
  const headers = {
    ...(status === 401 ? { 'www-authenticate': BASIC_CHALLENGE } : {}),
    ...(error.retryAfter === undefined ? {} : { 'retry-after': String(error.retryAfter) }),
  };
  return new DavRefusal(status, say(error), { ...details, headers });
}

function say({ code }: Refusal): string {
  return errorBody(code).error;
}
