/** The report `free-busy-query`: when a calendar is taken, without what by (RFC 4791 section 7.10). */
import { makeFreeBusy } from '../../icalendar/free-busy.ts';
import { writeCalendar } from '../../icalendar/generated-calendar.ts';
import { broken } from '../dav-refusal.ts';
import type { BusyTimes } from '../../objects/busy-times.ts';
import type { Span } from '../dav-context.ts';
import type { DavAnswer, DavRequest } from '../exchange.ts';
import { readTimeRange } from '../filter.ts';
import type { CalendarResource } from '../resources.ts';
import { caldav, dav } from '../xml/xml-names.ts';
import { childOf, type XmlElement } from '../xml/xml-reader.ts';

/** The longest span that can be asked about: a little over a year, which a yearly overview needs. [403] */
export const FREE_BUSY_MILLIS_MAX = 400 * 86_400_000;

/** Answers the report with a VFREEBUSY. @throws DavRefusal 403 `number-of-matches-within-limits` rather than half of it. */
export async function freeBusyQuery(
  { context, viewer }: DavRequest,
  root: XmlElement,
  { calendar }: CalendarResource,
): Promise<DavAnswer> {
  return await answerFreeBusy(root, async (span) => await context.busyIn(viewer, calendar, span));
}

/**
 * Answers the report on a home, by what its owner tells whoever asks for their time (RFC 6638): what others share lies in the home
 * as well, and takes the time of those others. @throws DavRefusal as `freeBusyQuery`.
 */
export async function homeFreeBusy({ context, viewer }: DavRequest, root: XmlElement): Promise<DavAnswer> {
  return await answerFreeBusy(root, async (span) => await context.ownBusyTimes(viewer, span));
}

async function answerFreeBusy(root: XmlElement, busyIn: (span: Span) => Promise<BusyTimes>): Promise<DavAnswer> {
  const element = childOf(root, caldav('time-range'));
  if (element === undefined) throw broken(caldav('valid-filter'), 'A free-busy-query has a time range.');
  const window = readTimeRange(element, { isOpen: false });
  if (window.to - window.from > FREE_BUSY_MILLIS_MAX) {
    throw broken(dav('number-of-matches-within-limits'), 'Ask about 400 days at most.');
  }
  const { periods, isCut } = await busyIn(window);
  if (isCut) throw broken(dav('number-of-matches-within-limits'), 'Too many entries in that time: ask about less.');
  const freeBusy = makeFreeBusy(periods, window, { uid: crypto.randomUUID(), stamp: Date.now() });
  return {
    status: 200,
    headers: { 'content-type': 'text/calendar; charset=utf-8' },
    body: writeCalendar([freeBusy], {}),
  };
}
