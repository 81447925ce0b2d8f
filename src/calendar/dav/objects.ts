/** Single objects: GET and HEAD, PUT, DELETE, each with its conditions. */
import type { ObjectConditions } from '#storage/calendars/calendar-draft.ts';
import { isInbox, OBJECT_BYTES_MAX } from '#storage/calendars/calendar-records.ts';
import { removeCalendar } from './collections.ts';
import { ALLOWED } from './compliance.ts';
import { broken, DavRefusal, needPrivileges, notFound } from './dav-refusal.ts';
import type { StoredObject } from './dav-context.ts';
import type { DavAnswer, DavRequest } from './exchange.ts';
import { hrefOf, type DavPath } from './paths.ts';
import { unregister, untoldOf } from './push-registration.ts';
import { assertConditions, headerOf, namesEtag, wantsRepresentation } from './request-preferences.ts';
import { findCalendar, findResource, isWritable, type CalendarResource } from './resources.ts';
import { caldav, dav } from './xml/xml-names.ts';

const CALENDAR = 'text/calendar; charset=utf-8';

/** Answers GET and HEAD of an object. @throws DavRefusal 405 for a collection. */
export function get(request: DavRequest): DavAnswer {
  const { context, viewer, path, headers } = request;
  const resource = findResource(context, viewer, path);
  if (resource.kind !== 'object') {
    throw new DavRefusal(405, 'Collections are read with PROPFIND and REPORT.', { headers: { allow: ALLOWED } });
  }
  const { object, collection } = resource;
  const tag = isInbox(collection.calendar) ? {} : { 'schedule-tag': `"${object.scheduleTag}"` };
  const own = { etag: `"${object.etag}"`, ...tag };
  const noneMatch = headerOf(headers, 'if-none-match');
  if (noneMatch !== undefined && namesEtag(noneMatch, object.etag)) return { status: 304, headers: own };
  assertConditions({ 'if-match': headers['if-match'] }, object.etag);
  const body = collection.contents.bytesOf(object);
  if (body === undefined) throw notFound();
  const modified = new Date(object.changedAt).toUTCString();
  return { status: 200, headers: { ...own, 'content-type': CALENDAR, 'last-modified': modified }, body };
}

/** Answers PUT. @throws DavRefusal and what the writer throws. */
export async function put(request: DavRequest): Promise<DavAnswer> {
  const { context, viewer, path, headers, body } = request;
  const target = requireTarget(request, path);
  const type = headerOf(headers, 'content-type');
  if (type !== undefined && !/^\s*text\/calendar\s*(?:;|$)/i.test(type)) {
    throw broken(caldav('supported-calendar-data'), 'A calendar object is sent as text/calendar.');
  }
  if (body.length > OBJECT_BYTES_MAX) {
    throw broken(caldav('max-resource-size'), `An object may have ${OBJECT_BYTES_MAX} bytes.`);
  }
  const { id } = target.collection.calendar;
  const stored = await context.writer.put(viewer, id, target.file, body, conditionsOf(request));
  const answer = answerStored(stored);
  if (!wantsRepresentation(headers)) return answer;
  const written = target.collection.contents.object(target.file);
  const bytes = written === undefined ? undefined : target.collection.contents.bytesOf(written);
  if (written === undefined || bytes === undefined) return answer;
  const represented = { ...answer.headers, etag: `"${written.etag}"`, 'content-type': CALENDAR };
  return { status: stored.isNew ? 201 : 200, headers: represented, body: bytes };
}

export function answerStored({ etag, scheduleTag, isNew }: StoredObject): DavAnswer {
  return {
    status: isNew ? 201 : 204,
    headers: { ...(etag === undefined ? {} : { etag: `"${etag}"` }), 'schedule-tag': `"${scheduleTag}"` },
  };
}

/** Answers DELETE of an object, a calendar or a registration for pushes. @throws DavRefusal and what the writer throws. */
export async function remove(request: DavRequest): Promise<DavAnswer> {
  const { context, viewer, path, headers } = request;
  if (path?.kind === 'registration') return await unregister(request, path);
  const resource = findResource(context, viewer, path);
  if (resource.kind === 'calendar') await removeCalendar(request, resource);
  else if (resource.kind === 'object' && isInbox(resource.collection.calendar)) {
    const { collection, object } = resource;
    await context.calendars.removeObject(collection.calendar.id, object.name, conditionsOf(request));
  } else if (resource.kind === 'object') {
    assertWritable(resource.collection, resource.href);
    const { collection, object } = resource;
    const isSilent = headerOf(headers, 'schedule-reply')?.trim().toUpperCase() === 'F';
    await context.writer.remove(viewer, collection.calendar.id, object.name, conditionsOf(request), { isSilent });
  } else throw needPrivileges(resource.href, dav('unbind'));
  return { status: 204 };
}

/** A place for an object in a calendar that the viewer may write. */
export interface Target {
  readonly collection: CalendarResource;
  readonly file: string;
}

/** Where an object is to be put. @throws DavRefusal 409 without a calendar there, 403 without the right. */
export function requireTarget({ context, viewer }: DavRequest, path: DavPath | undefined): Target {
  if (path === undefined) throw new DavRefusal(409, 'There is no calendar for you at this place.');
  // Messages are put there by the server alone (RFC 6638, 2.2).
  if (path.kind === 'message') throw needPrivileges(hrefOf(path), dav('bind'));
  if (path.kind !== 'object')
    throw new DavRefusal(405, 'This is no place for an object.', { headers: { allow: ALLOWED } });
  const collection = path.user === viewer ? findCalendar(context, viewer, path.calendar) : undefined;
  if (collection === undefined) throw new DavRefusal(409, 'There is no calendar for you at this place.');
  assertWritable(collection, hrefOf(path));
  return { collection, file: path.file };
}

export function assertWritable(collection: CalendarResource, href: string): void {
  if (!isWritable(collection)) throw needPrivileges(href, dav('write-content'));
}

/** What the client expects of the object as it is now, and who need not hear; of COPY and MOVE, of the one that they are about. */
export function conditionsOf({ headers, viewer }: DavRequest): ObjectConditions {
  const match = etagsOf(headerOf(headers, 'if-match'));
  const noneMatch = etagsOf(headerOf(headers, 'if-none-match'));
  const scheduleTag = headerOf(headers, 'if-schedule-tag-match')?.trim();
  return {
    untold: untoldOf(headers, viewer),
    ...(match === undefined ? {} : { ifMatch: match }),
    ...(noneMatch === undefined ? {} : { ifNoneMatch: noneMatch }),
    ...(scheduleTag === undefined ? {} : { ifScheduleTagMatch: scheduleTag.replace(/^"(.*)"$/, '$1') }),
  };
}

/** The etags of a header without their quotes. Clients that drop the quotes mean the same. */
function etagsOf(header: string | undefined): readonly string[] | '*' | undefined {
  if (header === undefined) return undefined;
  if (header.trim() === '*') return '*';
  return header.split(',').map((part) =>
    part
      .trim()
      .replace(/^W\//, '')
      .replace(/^"(.*)"$/, '$1'),
  );
}
