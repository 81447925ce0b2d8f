/** COPY and MOVE of calendar objects, within a calendar and between two (RFC 4918 sections 9.8 and 9.9). */
import { isInbox } from '#storage/calendars/calendar-records.ts';
import { DavRefusal } from './dav-refusal.ts';
import type { ObjectPlace } from './dav-context.ts';
import type { DavAnswer, DavRequest } from './exchange.ts';
import { answerStored, assertWritable, conditionsOf, requireTarget, type Target } from './objects.ts';
import { readHref, type DavPath } from './paths.ts';
import { headerOf, type Headers } from './request-preferences.ts';
import { findResource, type ObjectResource } from './resources.ts';

/**
 * Answers COPY. A UID is there once in a calendar, so a copy lies in another one.
 * @throws DavRefusal and what the writer throws.
 */
export async function copy(request: DavRequest): Promise<DavAnswer> {
  const { source, target, options } = transferOf(request);
  return answerStored(await request.context.writer.copy(request.viewer, placeOf(source), target, options));
}

/** Answers MOVE. @throws DavRefusal and what the writer throws. */
export async function move(request: DavRequest): Promise<DavAnswer> {
  const { source, target, options } = transferOf(request);
  assertWritable(source.collection, source.href);
  return answerStored(await request.context.writer.move(request.viewer, placeOf(source), target, options));
}

function placeOf({ collection, object }: ObjectResource): ObjectPlace {
  return { calendar: collection.calendar.id, name: object.name };
}

/** What goes where, and on which conditions. @throws DavRefusal */
function transferOf(request: DavRequest): {
  readonly source: ObjectResource;
  readonly target: ObjectPlace;
  readonly options: ReturnType<typeof conditionsOf> & { readonly overwrite: boolean };
} {
  const { context, viewer, path, headers, hosts } = request;
  const source: ReturnType<typeof findResource> = findResource(context, viewer, path);
  if (source.kind !== 'object' || isInbox(source.collection.calendar)) {
    throw new DavRefusal(403, 'Only calendar objects are copied and moved.');
  }
  const destination = readDestination(headers, hosts);
  if (destination !== undefined && destination.kind !== 'object') {
    throw new DavRefusal(403, 'A calendar object lies in a calendar, and takes the place of no collection.');
  }
  const { collection, file }: Target = requireTarget(request, destination);
  const target = { calendar: collection.calendar.id, name: file };
  if (source.collection.calendar.id === target.calendar && source.object.name === target.name) {
    throw new DavRefusal(403, 'The object is there already.');
  }
  return { source, target, options: { ...conditionsOf(request), overwrite: readOverwrite(headers) } };
}

/** @throws DavRefusal 400 without the header, 502 for another server. */
function readDestination(headers: Headers, hosts: readonly string[]): DavPath | undefined {
  const destination = headerOf(headers, 'destination')?.trim() ?? '';
  if (destination === '') throw new DavRefusal(400, 'The Destination header says where to.');
  const [, host] = /^[a-z][a-z0-9+.-]*:\/\/([^/?#]*)/i.exec(destination) ?? [];
  if (host !== undefined && !hosts.includes(hostOf(host))) {
    throw new DavRefusal(502, 'Objects stay on this server.');
  }
  return readHref(destination);
}

/** A host as it is compared: with its port, unless it is the one that its protocol has anyway. */
export function hostOf(host: string): string {
  return host
    .trim()
    .toLowerCase()
    .replace(/:(?:80|443)$/, '');
}

/** Whether what is there may be replaced; it may, unless the client says otherwise. @throws DavRefusal 400 */
function readOverwrite(headers: Headers): boolean {
  const value = headerOf(headers, 'overwrite')?.trim().toUpperCase() ?? 'T';
  if (value !== 'T' && value !== 'F') throw new DavRefusal(400, 'Overwrite is T or F.');
  return value === 'T';
}
