/** PROPFIND: properties of a resource and, at depth 1, of what is in it (RFC 4918 section 9.1). */
import { ensureDefaultCalendar } from '../../calendar-access.ts';
import type { CalendarContents, ShownObject } from '../../objects/calendar-contents.ts';
import { broken, DavRefusal } from '../dav-refusal.ts';
import { answerRows, answerStream, payerOf, type DavAnswer, type DavRequest } from '../exchange.ts';
import { propertyRow, type PropertyGroups } from '../xml/multistatus.ts';
import { namesOf, readProperty, type Asking } from './properties.ts';
import { readXmlBody } from '../request-body.ts';
import { depthOf, isBrief } from '../request-preferences.ts';
import {
  calendarsOf,
  findResource,
  isReadable,
  objectResource,
  type CalendarResource,
  type Resource,
} from '../resources.ts';
import { dav, type XmlName } from '../xml/xml-names.ts';
import { childOf, type XmlElement } from '../xml/xml-reader.ts';
import { element } from '../xml/xml-writer.ts';

/** Properties that one request may name: the longest question of a known client has some forty. [400] */
export const PROPERTIES_MAX = 200;
/** Objects read from the store at a time, so that no read transaction stays open while a client is slow. */
export const OBJECTS_PER_READ = 256;

/** What is asked of each resource. */
export type PropertyRequest =
  | { readonly kind: 'names' }
  | { readonly kind: 'all'; readonly include: readonly XmlName[] }
  | { readonly kind: 'some'; readonly names: readonly XmlName[] };

/** Answers PROPFIND. @throws DavRefusal */
export async function propfind(request: DavRequest): Promise<DavAnswer> {
  const { context, viewer, path, headers } = request;
  const root = await readXmlBody(request.body, payerOf(request));
  const asked = root === undefined ? ({ kind: 'all', include: [] } as const) : readPropertyRequest(root);
  // Without a header the depth would be infinite, which nobody answers; clients that leave it out mean one level.
  const depth = depthOf(headers, 1);
  if (depth === 'infinity') throw broken(dav('propfind-finite-depth'), 'Ask with Depth 0 or 1.');
  const resource = findResource(context, viewer, path);
  const brief = isBrief(headers);
  const rowOf = (found: Resource) => propertyRow(found.href, groupsOf(found, asked, request), brief);
  if (depth === 0 || resource.kind === 'object') return answerRows([rowOf(resource)]);
  if (resource.kind === 'home') {
    await ensureDefaultCalendar(context.calendars, viewer);
    return answerRows([resource, ...calendarsOf(context, viewer)].map(rowOf));
  }
  if (resource.kind === 'inbox') return answerStream(request, rowsOfCalendar(resource.collection, rowOf, resource));
  if (resource.kind !== 'calendar') return answerRows([rowOf(resource)]);
  return answerStream(request, rowsOfCalendar(resource, rowOf));
}

function* rowsOfCalendar(
  collection: CalendarResource,
  rowOf: (resource: Resource) => string,
  shown: Resource = collection,
): Generator<string> {
  yield rowOf(shown);
  if (!isReadable(collection)) return;
  for (const object of objectsOf(collection.contents)) yield rowOf(objectResource(collection, object));
}

/** All objects of a calendar that its viewer may see, read in pages. */
export function* objectsOf(contents: CalendarContents): Generator<ShownObject> {
  let after: string | undefined;
  do {
    const { objects, next } = contents.page(OBJECTS_PER_READ, after);
    yield* objects;
    after = next;
  } while (after !== undefined);
}

/**
 * What a `propfind` element asks for.
 * @throws DavRefusal 400 for a body that asks for nothing or is another element.
 */
function readPropertyRequest(root: XmlElement): PropertyRequest {
  if (root.name !== dav('propfind')) throw new DavRefusal(400, 'The body of PROPFIND is a DAV:propfind element.');
  const found = readAsked(root);
  if (found === undefined) throw new DavRefusal(400, 'A propfind asks for prop, allprop or propname.');
  return found;
}

/** What `prop`, `allprop` or `propname` inside an element ask for; undefined where there is none of them. */
export function readAsked(root: XmlElement): PropertyRequest | undefined {
  const props = childOf(root, dav('prop'));
  if (props !== undefined) return { kind: 'some', names: propertyNames(props) };
  const include = childOf(root, dav('include'));
  if (childOf(root, dav('allprop')) !== undefined) {
    return { kind: 'all', include: include === undefined ? [] : propertyNames(include) };
  }
  return childOf(root, dav('propname')) === undefined ? undefined : { kind: 'names' };
}

function propertyNames({ children }: XmlElement): XmlName[] {
  if (children.length > PROPERTIES_MAX) throw new DavRefusal(400, `A request may name ${PROPERTIES_MAX} properties.`);
  return [...new Set(children.map(({ name }) => name))];
}

/** The properties of one resource that were asked for. */
export function groupsOf(resource: Resource, asked: PropertyRequest, asking: Asking): PropertyGroups {
  if (asked.kind === 'names') {
    const names = namesOf(resource, asking, false);
    return { found: names.map((name) => element(name)).join(''), missing: [] };
  }
  const names = asked.kind === 'some' ? asked.names : [...namesOf(resource, asking, true), ...asked.include];
  let found = '';
  const missing: XmlName[] = [];
  for (const name of names) {
    const xml = readProperty(name, resource, asking);
    if (xml === undefined) missing.push(name);
    else found += xml;
  }
  return { found, missing };
}
