/** PROPPATCH: all changes of a resource's properties or none of them (RFC 4918 section 9.2). */
import { changeProperties } from '#storage/calendars/calendar-properties.ts';
import { ANYBODY, objectResource } from '#storage/calendars/calendar-records.ts';
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
import { readXmlBody } from '../request-body.ts';
import { isBrief } from '../request-preferences.ts';
import { findResource, isWritable, type ObjectResource, type Resource } from '../resources.ts';
import { dav, type XmlName } from '../xml/xml-names.ts';
import { element } from '../xml/xml-writer.ts';

/** Answers PROPPATCH. @throws DavRefusal */
export async function proppatch(request: DavRequest): Promise<DavAnswer> {
  const { context, viewer, headers } = request;
  const root = await readXmlBody(request.body, payerOf(request));
  if (root?.name !== dav('propertyupdate')) throw new DavRefusal(400, 'The body is a DAV:propertyupdate element.');
  const resource = findResource(context, viewer, request.path);
  const changes = readChanges(root);
  const decided = decideOn(resource, changes, viewer);
  const isRefused = decided.failures.size > 0;
  if (!isRefused) await store(request, resource, decided);
  if (!isRefused && isBrief(headers)) return { status: 204 };
  return answerRows([responseRow(resource.href, outcomeOf(changes, decided.failures))]);
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

async function store({ context, viewer }: DavRequest, resource: Resource, { record, own }: Decided): Promise<void> {
  if (resource.kind === 'object') return await storeOnObject(context, viewer, resource, own);
  const key = resource.kind === 'calendar' ? resource.calendar.id : resource.href;
  await context.calendars.change((draft) => {
    if (resource.kind === 'calendar') {
      // Removed, or shared no more, since it was looked up.
      if (draft.accessOf(viewer, key) === undefined) throw notFound();
      if (Object.keys(record).length > 0) draft.changeCalendar(key, record);
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
