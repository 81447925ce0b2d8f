/** Calendars made and removed: MKCALENDAR (RFC 4791), extended MKCOL (RFC 5689), DELETE. */
import type { AuditActor } from '#storage/accounts/audit-chain.ts';
import { changeProperties } from '#storage/calendars/calendar-properties.ts';
import { COMPONENT_KINDS } from '#storage/calendars/calendar-records.ts';
import { Refusal } from '#src/protocol/errors.ts';
import { broken, DavRefusal, notFound } from './dav-refusal.ts';
import { answerXml, payerOf, type DavAnswer, type DavRequest } from './exchange.ts';
import { decideChanges, readChanges, readKinds } from './properties/property-changes.ts';
import { outcomeOf } from './properties/proppatch.ts';
import { readXmlBody } from './request-body.ts';
import { headerOf } from './request-preferences.ts';
import { findCalendar, type CalendarResource } from './resources.ts';
import { caldav, dav, DECLARATIONS, partsOf, type XmlName } from './xml/xml-names.ts';
import { childOf, type XmlElement } from './xml/xml-reader.ts';

/** Properties that a request may set of a calendar only when it makes it. */
const AT_CREATION: readonly XmlName[] = [caldav('supported-calendar-component-set'), dav('resourcetype')];

/** Answers MKCALENDAR. @throws DavRefusal */
export async function makeCalendar(request: DavRequest): Promise<DavAnswer> {
  const root = await readXmlBody(request.body, payerOf(request));
  if (root !== undefined && root.name !== caldav('mkcalendar')) {
    throw new DavRefusal(400, 'The body of MKCALENDAR is a mkcalendar element.');
  }
  return await create(request, root, caldav('mkcalendar-response'), () =>
    broken(dav('resource-must-be-null'), 'Something is there already.'),
  );
}

/** Answers MKCOL, which must ask for a calendar: there are no other collections. @throws DavRefusal */
export async function makeCollection(request: DavRequest): Promise<DavAnswer> {
  const root = await readMkcolBody(request);
  const taken = () => new DavRefusal(405, 'Something is there already.');
  // What is asked for is looked at behind the place: clients try MKCOL to learn whether a collection exists.
  if (isTaken(request)) throw taken();
  const type =
    root === undefined ? undefined : readChanges(root).find(({ name }) => name === dav('resourcetype'))?.value;
  if (type === undefined || type === null || childOf(type, caldav('calendar')) === undefined) {
    throw broken(dav('valid-resourcetype'), 'Only calendars can be made here.');
  }
  return await create(request, root, dav('mkcol-response'), taken);
}

/** A body that nobody can read is of an unknown media type (RFC 4918, 9.3), whatever else is wrong with it. */
async function readMkcolBody(request: DavRequest): Promise<XmlElement | undefined> {
  const unknown = () => new DavRefusal(415, 'The body of MKCOL is a DAV:mkcol element.');
  let root: XmlElement | undefined;
  try {
    root = await readXmlBody(request.body, payerOf(request));
  } catch (error) {
    const isXml = /^\s*(?:(?:application|text)\/xml|[^;]*\+xml)\s*(?:;|$)/i.test(
      headerOf(request.headers, 'content-type') ?? 'text/xml',
    );
    throw isXml ? error : unknown();
  }
  if (root !== undefined && root.name !== dav('mkcol')) throw unknown();
  return root;
}

function isTaken({ context, viewer, path }: DavRequest): boolean {
  if (path?.kind !== 'calendar') return path?.kind === 'root' || path?.kind === 'home';
  return path.user === viewer && findCalendar(context, viewer, path.calendar) !== undefined;
}

async function create(
  request: DavRequest,
  root: XmlElement | undefined,
  response: XmlName,
  taken: () => DavRefusal,
): Promise<DavAnswer> {
  const { context, viewer, path } = request;
  if (isTaken(request)) throw taken();
  if (path?.kind === 'object' && path.user === viewer && findCalendar(context, viewer, path.calendar) === undefined) {
    throw new DavRefusal(409, 'There is no collection that it would lie in.');
  }
  if (path?.kind !== 'calendar' || path.user !== viewer) {
    throw broken(caldav('calendar-collection-location-ok'), 'Calendars are made in one’s own home.');
  }
  const changes = root === undefined ? [] : readChanges(root);
  const kinds = readKinds(changes) ?? COMPONENT_KINDS;
  const settable = changes.filter(({ name }) => !AT_CREATION.includes(name));
  const { record, own, failures } = decideChanges(settable, true);
  if (failures.size > 0) return answerXml(403, responseElement(response, outcomeOf(settable, failures)));
  await context.calendars.change((draft) => {
    const { id } = draft.createCalendar(
      {
        ...{ displayname: path.calendar, description: '', color: '', order: 0, transparency: 'opaque' },
        ...{ zone: context.zoneOf(viewer) ?? 'UTC', followsOwner: record.zone === undefined },
        ...record,
        owner: viewer,
        name: path.calendar,
        kinds,
      },
      byOf(request),
    );
    if (Object.keys(own).length > 0) changeProperties(draft, id, viewer, own);
  });
  return { status: 201, headers: { 'cache-control': 'no-cache' } };
}

/** On whose behalf something is done, for the audit trail. */
function byOf({ viewer, address }: DavRequest): AuditActor {
  return { actor: `user:${viewer}`, address };
}

function responseElement(name: XmlName, content: string): string {
  const tag = `${name === dav('mkcol-response') ? 'D' : 'C'}:${partsOf(name).local}`;
  return `<${tag}${DECLARATIONS}>${content}</${tag}>`;
}

/**
 * Removes a calendar: for everybody where it is one's own, from one's home where it is somebody else's. A client cannot say whom to
 * tell, so everybody is told of whom removing each meeting would tell (RFC 6638, 3.2.3.2).
 * @throws DavRefusal
 */
export async function removeCalendar(request: DavRequest, { calendar, access }: CalendarResource): Promise<void> {
  const { context, viewer } = request;
  if (access === 'owner') {
    const isSilent = headerOf(request.headers, 'schedule-reply')?.trim().toUpperCase() === 'F';
    return await context.removeCalendar({ calendar, by: byOf(request), notify: 'all', isSilent });
  }
  await context.calendars.change((draft) => {
    if (draft.accessOf(viewer, calendar.id) === undefined) throw notFound();
    // What a group has is left with the group.
    if (!draft.isSharedWith(calendar.id, viewer)) throw new Refusal('right_missing');
    draft.share(calendar.id, viewer, null, byOf(request));
  });
}
