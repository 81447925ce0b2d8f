/** REPORT: finds the report that a body asks for, and holds it to the resources that answer it (RFC 3253 section 3.6). */
import { isInbox } from '#storage/calendars/calendar-records.ts';
import { broken, DavRefusal, needPrivileges } from '../dav-refusal.ts';
import { payerOf, type DavAnswer, type DavRequest } from '../exchange.ts';
import { readXmlBody } from '../request-body.ts';
import { depthOf } from '../request-preferences.ts';
import { findResource, isReadable, type CalendarResource, type HomeResource, type Resource } from '../resources.ts';
import { caldav, dav, type XmlName } from '../xml/xml-names.ts';
import type { XmlElement } from '../xml/xml-reader.ts';
import { calendarQuery, homeQuery } from './calendar-query.ts';
import { freeBusyQuery, homeFreeBusy } from './free-busy.ts';
import { homeSync } from './home-sync.ts';
import { multiget } from './multiget.ts';
import { expandProperty, matchPrincipal, searchPrincipals, searchProperties } from './principal-reports.ts';
import { syncCollection } from './sync-collection.ts';

type CalendarReport = (
  request: DavRequest,
  root: XmlElement,
  collection: CalendarResource,
) => DavAnswer | Promise<DavAnswer>;
type AnyReport = (request: DavRequest, root: XmlElement, resource: Resource) => DavAnswer;

const CALENDAR_REPORTS: ReadonlyMap<XmlName, CalendarReport> = new Map<XmlName, CalendarReport>([
  [dav('sync-collection'), syncCollection],
  [caldav('calendar-multiget'), multiget],
  [caldav('calendar-query'), calendarQuery],
  [caldav('free-busy-query'), freeBusyQuery],
]);

const REPORTS: ReadonlyMap<XmlName, AnyReport> = new Map<XmlName, AnyReport>([
  [dav('expand-property'), expandProperty],
  [dav('principal-match'), matchPrincipal],
  [dav('principal-property-search'), searchPrincipals],
  [dav('principal-search-property-set'), searchProperties],
]);

type HomeReport = (request: DavRequest, root: XmlElement, home: HomeResource) => DavAnswer | Promise<DavAnswer>;

const HOME_REPORTS: ReadonlyMap<XmlName, HomeReport> = new Map<XmlName, HomeReport>([
  [dav('sync-collection'), homeSync],
  [caldav('calendar-query'), homeQuery],
  // The hrefs say where (RFC 4791, 7.9).
  [caldav('calendar-multiget'), multiget],
  [caldav('free-busy-query'), homeFreeBusy],
]);

/** Answers REPORT. @throws DavRefusal */
export async function report(request: DavRequest): Promise<DavAnswer> {
  const { context, viewer, path, headers } = request;
  const root = await readXmlBody(request.body, payerOf(request));
  if (root === undefined) throw new DavRefusal(400, 'A REPORT has a body that says which.');
  // Clients send 0, 1, infinity or nothing for one and the same report, so it decides nothing; it must be a depth, though.
  depthOf(headers, 0);
  const resource = findResource(context, viewer, path);
  const forAny = REPORTS.get(root.name);
  if (forAny !== undefined) return forAny(request, root, resource);
  const forHome = resource.kind === 'home' ? HOME_REPORTS.get(root.name) : undefined;
  if (forHome !== undefined) return await forHome(request, root, resource as HomeResource);
  const forCalendar = CALENDAR_REPORTS.get(root.name);
  const collection = resource.kind === 'object' || resource.kind === 'inbox' ? resource.collection : resource;
  const isAnswered = collection.kind === 'calendar' && !(forCalendar === freeBusyQuery && isInbox(collection.calendar));
  if (forCalendar === undefined || !isAnswered) {
    throw broken(dav('supported-report'), 'This report is not answered here.');
  }
  if (!isReadable(collection) && forCalendar !== freeBusyQuery) throw needPrivileges(collection.href, dav('read'));
  return await forCalendar(request, root, collection);
}
