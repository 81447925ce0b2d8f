/** PROPPATCH: all changes of a resource's properties or none of them (RFC 4918 section 9.2). */
import { changeProperties } from '#storage/calendars/calendar-properties.ts';
import { ANYBODY, objectResource } from '#storage/calendars/calendar-records.ts';
import { readAvailability } from '../../availability/availability.ts';
import { putAvailability } from '../../availability/working-hours.ts';
import { CalendarFault } from '../../icalendar/calendar-fault.ts';
import { DavRefusal, notFound } from '../dav-refusal.ts';
import type { DavContext } from '../dav-context.ts';
import { answerRows, payerOf, type DavAnswer, type DavRequest } from '../exchange.ts';
import { propstat, responseRow } from '../xml/multistatus.ts';
import {
  decideChanges,
  readChanges,
  type Decided,
  type PropertyChange,
  type PropertyFailure,
} from './property-changes.ts';
import { untoldOf } from '../push-registration.ts';
import { readXmlBody } from '../request-body.ts';
import { isBrief } from '../request-preferences.ts';
import { findResource, isWritable, type ObjectResource, type Resource } from '../resources.ts';
import { caldav, dav, type XmlName } from '../xml/xml-names.ts';
import { element } from '../xml/xml-writer.ts';

/** Answers PROPPATCH. @throws DavRefusal */
export async function proppatch(request: DavRequest): Promise<DavAnswer> {
  const { context, viewer, headers } = request;
  const root = await readXmlBody(request.body, payerOf(request));
  if (root?.name !== dav('propertyupdate')) throw new DavRefusal(400, 'The body is a DAV:propertyupdate element.');
  const resource = findResource(context, viewer, request.path);
  const changes = readChanges(root);
  if (resource.kind === 'inbox') return await patchInbox(request, resource.href, changes);
  const decided = decideOn(resource, changes, viewer);
  const isRefused = decided.failures.size > 0;
  if (!isRefused) await store(request, resource, decided);
  if (!isRefused && isBrief(headers)) return { status: 204 };
  return answerRows([responseRow(resource.href, outcomeOf(changes, decided.failures))]);
}

/** Of one's inbox the availability alone is a client's to set (RFC 7953, 7.2.4): when one may be asked for one's time. */
async function patchInbox(request: DavRequest, href: string, changes: readonly PropertyChange[]): Promise<DavAnswer> {
  const { context, headers, viewer } = request;
  const failures = new Map<XmlName, PropertyFailure>();
  let text: string | null | undefined;
  for (const { name, value } of changes) {
    if (name !== caldav('calendar-availability'))
      failures.set(name, { status: 403, condition: dav('need-privileges') });
    else if (value === null || isAvailability(value.text)) text = value?.text ?? null;
    else failures.set(name, { status: 409, condition: caldav('valid-calendar-data') });
  }
  if (failures.size === 0 && text !== undefined) {
    const stored = text;
    await context.calendars.change((draft) => putAvailability(draft, viewer, stored));
  }
  if (failures.size === 0 && isBrief(headers)) return { status: 204 };
  return answerRows([responseRow(href, outcomeOf(changes, failures))]);
}

function isAvailability(text: string): boolean {
  try {
    readAvailability(text);
    return true;
  } catch (error) {
    if (error instanceof CalendarFault) return false;
    throw error;
  }
}

function decideOn(resource: Resource, changes: readonly PropertyChange[], viewer: string): Decided {
  if (resource.kind === 'calendar') return decideChanges(changes, resource.access === 'owner');
  const decided = decideChanges(changes, false);
  if (mayKeep(resource, viewer)) return decided;
  const failure: PropertyFailure = { status: 403, condition: dav('need-privileges') };
  return { ...decided, failures: new Map(changes.map(({ name }) => [name, failure])) };
}

/** Whether clients of the viewer may keep properties there. What is written on an object is for all who see it. */
function mayKeep(resource: Resource, viewer: string): boolean {
  if (resource.kind === 'object') return isWritable(resource.collection) && resource.object.disclosure === 'whole';
  return resource.kind === 'home' || (resource.kind === 'principal' && resource.principal.user === viewer);
}

async function store(
  { context, headers, viewer }: DavRequest,
  resource: Resource,
  { record, own }: Decided,
): Promise<void> {
  if (resource.kind === 'object') return await storeOnObject(context, viewer, resource, own);
  const key = resource.kind === 'calendar' ? resource.calendar.id : resource.href;
  await context.calendars.change((draft) => {
    if (resource.kind === 'calendar') {
      // Removed, or shared no more, since it was looked up.
      if (draft.accessOf(viewer, key) === undefined) throw notFound();
      if (Object.keys(record).length > 0) draft.changeCalendar(key, record, untoldOf(headers, viewer));
    }
    if (Object.keys(own).length > 0) changeProperties(draft, key, viewer, own);
  });
}

async function storeOnObject(
  { calendars }: DavContext,
  viewer: string,
  { collection, object }: ObjectResource,
  own: Decided['own'],
): Promise<void> {
  const { id } = collection.calendar;
  await calendars.change((draft) => {
    if (draft.accessOf(viewer, id) === undefined || draft.object(id, object.name) === undefined) throw notFound();
    changeProperties(draft, objectResource(id, object.name), ANYBODY, own);
  });
}

/** The groups of a response: what was done, or why nothing was. */
export function outcomeOf(changes: readonly PropertyChange[], failures: ReadonlyMap<XmlName, PropertyFailure>): string {
  const names = [...new Set(changes.map(({ name }) => name))];
  const failed = [...failures].map(([name, { status, condition }]) => propstat(element(name), status, condition));
  const others = names.filter((name) => !failures.has(name)).map((name) => element(name));
  // One property refused means none is changed (424).
  if (others.length > 0) failed.push(propstat(others.join(''), failures.size === 0 ? 200 : 424));
  return failed.length === 0 ? propstat('', 200) : failed.join('');
}
