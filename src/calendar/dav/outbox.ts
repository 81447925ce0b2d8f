/**
 * POST to the outbox: when people are free or busy, asked for an appointment with them (RFC 6638, 5), and another time for one
 * (RFC 5546, 3.2.7), which no writing of an object says.
 */
import { FREE_BUSY_MILLIS_MAX } from '#src/protocol/calendars/calendars.ts';
import { propertiesOf, propertyOf, textOf, type Component } from '../icalendar/component.ts';
import { readComponents, sourceOf } from '../icalendar/component-reader.ts';
import { makeFreeBusy } from '../icalendar/free-busy.ts';
import { writeCalendar } from '../icalendar/generated-calendar.ts';
import { readTime } from '../icalendar/values.ts';
import { broken, type DavRefusal } from './dav-refusal.ts';
import type { Span } from './dav-context.ts';
import { answerXml, type DavAnswer, type DavRequest } from './exchange.ts';
import { caldav, dav, DECLARATIONS } from './xml/xml-names.ts';
import { element, textElement } from './xml/xml-writer.ts';

/** People in one question; a client asks about those of one appointment. [403] */
export const OUTBOX_ATTENDEES_MAX = 100;

/** A question: its attendees with names and addresses, and a zone. [403] */
export const QUESTION_BYTES_MAX = 64 * 1024;

const INVALID_USER = '3.7;Invalid calendar user';
/** Half an answer would show time as free that nobody looked at (RFC 5546 section 3.6). */
const TOO_MUCH = '5.1;Too many entries in that time: ask about less';

/** Answers POST to the outbox. Appointments themselves are put into a calendar: the server tells their people. @throws DavRefusal */
export async function askOutbox(request: DavRequest): Promise<DavAnswer> {
  const { body, context, viewer } = request;
  if (body.length > QUESTION_BYTES_MAX) {
    throw broken(caldav('max-resource-size'), `A question may have ${QUESTION_BYTES_MAX} bytes.`);
  }
  const [calendar] = readComponents(sourceOf(body));
  const method = calendar === undefined ? undefined : textOf(calendar, 'METHOD')?.trim().toUpperCase();
  if (method === 'COUNTER') return await propose(request, calendar as Component, 'ORGANIZER');
  if (method === 'DECLINECOUNTER') return await propose(request, calendar as Component, 'ATTENDEE');
  const asked = readQuestion(calendar, method);
  const own = context.principals.find(viewer, viewer)?.addresses ?? [];
  const organizer = propertyOf(asked, 'ORGANIZER')?.value.trim() ?? '';
  if (!own.includes(organizer.toLowerCase())) {
    throw broken(caldav('organizer-allowed'), 'You ask in your own name.');
  }
  const span = spanOf(asked);
  const attendees = [...new Set(propertiesOf(asked, 'ATTENDEE').map(({ value }) => value.trim()))];
  if (attendees.length === 0 || attendees.length > OUTBOX_ATTENDEES_MAX) {
    throw invalid(`A question is about one to ${OUTBOX_ATTENDEES_MAX} attendees.`);
  }
  const about = { uid: textOf(asked, 'UID') ?? '', stamp: Date.now(), organizer };
  const rows: string[] = [];
  for (const attendee of attendees) {
    const busy = await context.busyTimes(viewer, attendee, span);
    const recipient = element(caldav('recipient'), textElement(dav('href'), attendee));
    const answer =
      busy === undefined || busy.isCut
        ? textElement(caldav('request-status'), busy === undefined ? INVALID_USER : TOO_MUCH)
        : textElement(caldav('request-status'), '2.0;Success') +
          textElement(
            caldav('calendar-data'),
            writeCalendar([makeFreeBusy(busy.periods, span, { ...about, attendee })], { method: 'REPLY' }),
          );
    rows.push(element(caldav('response'), recipient + answer));
  }
  return answerXml(200, `<C:schedule-response${DECLARATIONS}>${rows.join('')}</C:schedule-response>`);
}

/** Sends a proposal, or the answer to one. @throws Refusal as `DavContext.propose`; CalendarFault. */
async function propose(
  { body, context, viewer }: DavRequest,
  { components }: Component,
  to: 'ATTENDEE' | 'ORGANIZER',
): Promise<DavAnswer> {
  await context.propose(viewer, body);
  const [about] = components.filter(({ name }) => name === 'VEVENT');
  const address = about === undefined ? undefined : propertyOf(about, to)?.value.trim();
  const recipient = element(caldav('recipient'), textElement(dav('href'), address ?? ''));
  const row = element(caldav('response'), recipient + textElement(caldav('request-status'), '2.0;Success'));
  return answerXml(200, `<C:schedule-response${DECLARATIONS}>${row}</C:schedule-response>`);
}

/** @throws DavRefusal. */
function readQuestion(calendar: Component | undefined, method: string | undefined): Component {
  const asked = calendar?.components.find(({ name }) => name === 'VFREEBUSY');
  if (asked === undefined || method !== 'REQUEST')
    throw invalid('The outbox takes a VFREEBUSY with METHOD:REQUEST, and proposals of another time.');
  return asked;
}

function spanOf(asked: Component): Span {
  const [from, to] = ['DTSTART', 'DTEND'].map((name) => {
    const time = readTime(propertyOf(asked, name)?.value.trim() ?? '');
    return time?.isUtc === true ? time.wall * 1000 : undefined;
  });
  if (from === undefined || to === undefined || to <= from || to - from > FREE_BUSY_MILLIS_MAX) {
    throw invalid(`DTSTART and DTEND are in UTC, ${FREE_BUSY_MILLIS_MAX / 86_400_000} days apart at most.`);
  }
  return { from, to };
}

function invalid(text: string): DavRefusal {
  return broken(caldav('valid-scheduling-message'), text);
}
