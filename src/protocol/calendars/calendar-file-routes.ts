/** Forms of the calendar service that are not JSON: calendar files (`text/calendar`), and the page of an RSVP link. */
import { importReport } from './calendar-files.ts';
import { route, type Route } from '../route.ts';

const missing = 'calendar_not_found';

export const CALENDAR_FILE_ROUTES = {
  importCalendar: route.post(
    '/v1/calendars/:calendar/import',
    'Imports an iCalendar file (`text/calendar`, up to 16 MiB) item by item, and reports each that could not be. ' +
      'The same file once more changes nothing; nobody is invited by an import. With `Accept: application/x-ndjson` the answer ' +
      'is lines of JSON while it goes: `{"progress":{"done","of"}}` in items, and as the last one `{"report"}` or, where it ' +
      'stopped, `{"refused":{"code","error"}}`; whoever closes the connection ends the import there.',
    {
      replies: { 200: importReport },
      errors: [
        missing,
        'right_missing',
        'calendar_read_only',
        'body_not_calendar',
        'entry_invalid',
        'entry_too_large',
        'entry_kind_refused',
        'entry_changed',
        'calendar_full',
        'quota_exceeded',
        'organizer_forbidden',
        'invitation_change_forbidden',
        'rate_limited',
      ],
    },
  ),
  exportCalendar: route.get(
    '/v1/calendars/:calendar/export',
    'The whole calendar as one iCalendar file, with an ETag; 304 while nothing changed.',
    { replies: { 200: null, 304: null }, errors: [missing, 'right_missing', 'rate_limited'] },
  ),
  readFeed: route.get('/feeds/:file', 'A published feed, for whoever has its URL, whatever version they speak.', {
    auth: 'none',
    replies: { 200: null, 304: null },
    errors: ['feed_not_found', 'rate_limited'],
  }),
  readRsvp: route.get(
    '/rsvp/:rsvp',
    'The page of an invitation by mail, for whoever has its link (`text/html`, refusals too). It changes nothing.',
    { auth: 'none', replies: { 200: null }, errors: ['rsvp_link_not_found', 'rate_limited', 'busy'] },
  ),
  answerRsvp: route.post(
    '/rsvp/:rsvp',
    'Answers as the one person that the link is for: a form with `answer` (`accepted`, `tentative`, `declined`) and ' +
      '`comment`.',
    {
      auth: 'none',
      replies: { 200: null },
      errors: ['rsvp_link_not_found', 'field_invalid', 'body_too_large', 'rate_limited', 'busy'],
    },
  ),
} as const satisfies Record<string, Route>;
