/** The calendar service as the client asks it: each call typed by the protocol's routes. */
import type { z } from 'zod';
import type { CALENDAR_ROUTES, CalendarRoute } from '#src/protocol/calendars/calendar-routes.ts';
import type { ImportProgress, ImportReport } from '#src/protocol/calendars/calendar-files.ts';
import { readImportLines } from './calendar-import.ts';
import { fillPath, type Infer, type NamesIn } from './calls.ts';
import type { Http } from './connection/http.ts';
import type { Session } from './connection/session.ts';

/** How long the server may take for the largest file. */
const FILE_MILLIS_MAX = 120_000;

type Routes = typeof CALENDAR_ROUTES;

/** Written out for the reason that `CALLS` is: the route table would bring the schema library along. */
const CALENDAR_CALLS: { readonly [Name in CalendarRoute]: readonly [Routes[Name]['method'], Routes[Name]['path']] } = {
  listCalendars: ['get', '/v1/calendars'],
  createCalendar: ['post', '/v1/calendars'],
  readCalendar: ['get', '/v1/calendars/:calendar'],
  changeCalendar: ['patch', '/v1/calendars/:calendar'],
  deleteCalendar: ['delete', '/v1/calendars/:calendar'],
  readSubscription: ['get', '/v1/calendars/:calendar/subscription'],
  changeSubscription: ['patch', '/v1/calendars/:calendar/subscription'],
  refreshSubscription: ['post', '/v1/calendars/:calendar/subscription/refresh'],
  listCalendarShares: ['get', '/v1/calendars/:calendar/shares'],
  putCalendarShare: ['put', '/v1/calendars/:calendar/shares/:username'],
  deleteCalendarShare: ['delete', '/v1/calendars/:calendar/shares/:username'],
  putCalendarGroupShare: ['put', '/v1/calendars/:calendar/shares/groups/:group'],
  deleteCalendarGroupShare: ['delete', '/v1/calendars/:calendar/shares/groups/:group'],
  listFeeds: ['get', '/v1/calendars/:calendar/feeds'],
  publishFeed: ['post', '/v1/calendars/:calendar/feeds'],
  revokeFeed: ['delete', '/v1/calendars/:calendar/feeds/:feed'],
  readRange: ['get', '/v1/calendars/:calendar/entries'],
  createEntry: ['post', '/v1/calendars/:calendar/entries'],
  readEntry: ['get', '/v1/calendars/:calendar/entries/:entry'],
  changeEntry: ['patch', '/v1/calendars/:calendar/entries/:entry'],
  deleteEntry: ['delete', '/v1/calendars/:calendar/entries/:entry'],
  readCalendarChanges: ['get', '/v1/calendars/:calendar/changes'],
  searchEntries: ['get', '/v1/entries'],
  listInvitations: ['get', '/v1/invitations'],
  answerInvitation: ['put', '/v1/invitations/:calendar/:entry/answer'],
  listResources: ['get', '/v1/resources'],
  readWorkingHours: ['get', '/v1/working-hours'],
  putWorkingHours: ['put', '/v1/working-hours'],
  deleteWorkingHours: ['delete', '/v1/working-hours'],
  findTime: ['post', '/v1/find-time'],
  proposeTime: ['post', '/v1/invitations/:calendar/:entry/proposals'],
  listProposals: ['get', '/v1/proposals'],
  answerProposal: ['put', '/v1/proposals/:proposal/answer'],
  removeProposal: ['delete', '/v1/proposals/:proposal'],
  askFreeBusy: ['post', '/v1/free-busy'],
};

/** What a calendar call takes: every path parameter by name, and the body and query of its route. */
export interface CalendarCallInput<Name extends CalendarRoute> {
  readonly params: { readonly [P in NamesIn<Routes[Name]['path']>]: string };
  readonly body?: Routes[Name] extends { body: infer Schema extends z.ZodType } ? z.input<Schema> : undefined;
  readonly query?: Readonly<Record<string, string | number | undefined>>;
}
/** What a calendar call answers when it succeeds. */
export type CalendarReplyOf<Name extends CalendarRoute> = Infer<Routes[Name]['replies'][keyof Routes[Name]['replies']]>;

export type CalendarDelta = CalendarReplyOf<'readCalendarChanges'>;

export class CalendarApi {
  readonly #session: Session;
  readonly #http: Http;

  constructor(session: Session, http: Http) {
    this.#session = session;
    this.#http = http;
  }

  /** Any call of the protocol's route table, with the session's credential. @throws ParleyError */
  async call<Name extends CalendarRoute>(name: Name, input: CalendarCallInput<Name>): Promise<CalendarReplyOf<Name>> {
    const [method, path] = CALENDAR_CALLS[name];
    const { params, query, body } = input;
    const request = { method, path: fillPath(path, params), query, body };
    return (await this.#session.request(this.#http, request)) as CalendarReplyOf<Name>;
  }

  /**
   * Imports an iCalendar file, item by item; the same file once more changes nothing.
   * @param onProgress told how many items are done, of how many.
   * @throws ParleyError `body_not_calendar`, `body_too_large` and what any call may fail with.
   */
  async importFile(
    calendar: string,
    file: Blob | string,
    onProgress?: (progress: ImportProgress) => void,
  ): Promise<ImportReport> {
    const bytes = new Blob([file], { type: 'text/calendar' });
    const path = fillPath('/v1/calendars/:calendar/import', { calendar });
    const accept = onProgress === undefined ? 'application/json' : 'application/x-ndjson';
    const headers = { 'content-type': 'text/calendar', accept };
    const request = { method: 'post', path, headers, bytes, millisMax: FILE_MILLIS_MAX };
    const response = await this.#session.authorized((token) => this.#http.exchange({ ...request, token }));
    if (onProgress !== undefined) return await readImportLines(response, onProgress);
    return (await response.json()) as ImportReport;
  }

  /** The whole calendar as an iCalendar file. @throws ParleyError */
  async exportFile(calendar: string): Promise<Blob> {
    const path = fillPath('/v1/calendars/:calendar/export', { calendar });
    const request = { method: 'get', path, millisMax: FILE_MILLIS_MAX };
    const response = await this.#session.authorized((token) => this.#http.exchange({ ...request, token }));
    return await response.blob();
  }

  /**
   * What changed in a calendar behind a cursor, page by page, or everything without one. Keep `next` of the last page.
   * @throws ParleyError `sync_cursor_expired`: forget what is known of the calendar and begin without a cursor.
   */
  async *changes(calendar: string, after?: string): AsyncGenerator<CalendarDelta, void, undefined> {
    for (let cursor = after; ;) {
      const page = await this.call('readCalendarChanges', { params: { calendar }, query: { after: cursor } });
      yield page;
      if (!page.more) return;
      cursor = page.next;
    }
  }
}
