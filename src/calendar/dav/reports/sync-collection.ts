/** The report `sync-collection`: what changed behind a token (RFC 6578). */
import { SYNC_START, type SyncPage, type SyncPosition } from '#storage/calendars/calendar-reader.ts';
import type { ShownObject } from '../../objects/calendar-contents.ts';
import { broken, DavRefusal } from '../dav-refusal.ts';
import { answerStream, type DavAnswer, type DavRequest } from '../exchange.ts';
import { statusRow, syncTokenElement } from '../xml/multistatus.ts';
import { encodeSegment } from '../paths.ts';
import { OBJECTS_PER_READ } from '../properties/propfind.ts';
import { isBrief } from '../request-preferences.ts';
import { objectResource, type CalendarResource } from '../resources.ts';
import { invalidSyncToken, readSyncToken, writeSyncToken } from '../sync-token.ts';
import { dav } from '../xml/xml-names.ts';
import { childOf, textOf, type XmlElement } from '../xml/xml-reader.ts';
import { objectRow, readObjectRequest, type ObjectRequest } from './object-rows.ts';

/** Answers the report. @throws DavRefusal 403 valid-sync-token for a token that is too old or none of this calendar. */
export function syncCollection(request: DavRequest, root: XmlElement, collection: CalendarResource): DavAnswer {
  const { context } = request;
  const { contents } = collection;
  const token = textOf(root, dav('sync-token')) ?? '';
  const level = textOf(root, dav('sync-level'));
  // A calendar has one level, so both values that there are mean the same.
  if (level !== undefined && !['1', 'infinite', 'infinity'].includes(level)) {
    throw new DavRefusal(400, 'The sync-level is 1.');
  }
  const position = token === '' ? SYNC_START : readSyncToken(context.epoch, contents.scope, token);
  const limit = readLimit(root);
  // The first page is read here: whether the token is good is known before the answer begins.
  const first = contents.changesSince(position, Math.min(limit, OBJECTS_PER_READ));
  if (first === 'expired') throw invalidSyncToken();
  const asked = readObjectRequest(root);
  let reached: SyncPosition = first.position;
  function* rows(): Generator<string> {
    let page = first as SyncPage<ShownObject>;
    let left = limit;
    for (;;) {
      yield* changeRows(collection, page, asked, request);
      reached = page.position;
      left -= page.changed.length + page.removed.length;
      if (!page.more) return;
      const next = left > 0 ? contents.changesSince(reached, Math.min(left, OBJECTS_PER_READ)) : 'expired';
      // Cut short: the token says up to where, and asking with it goes on from there (RFC 6578, 3.6).
      if (next === 'expired') {
        yield statusRow(collection.href, 507, dav('number-of-matches-within-limits'));
        return;
      }
      page = next;
    }
  }
  return answerStream(request, rows(), () => syncTokenElement(writeSyncToken(context.epoch, contents.scope, reached)));
}

/** The rows of a page of changes. */
export function changeRows(
  collection: CalendarResource,
  { changed, removed }: SyncPage<ShownObject>,
  asked: ObjectRequest,
  request: DavRequest,
): string[] {
  const brief = isBrief(request.headers);
  return [
    ...changed.map((object) => objectRow(objectResource(collection, object), asked, request, brief)),
    ...removed.map(({ name }) => statusRow(`${collection.href}${encodeSegment(name)}`, 404)),
  ];
}

/** How many rows the client takes. @throws DavRefusal 403 for none, which would never come to an end. */
export function readLimit(root: XmlElement): number {
  const limit = childOf(root, dav('limit'));
  const text = limit === undefined ? undefined : textOf(limit, dav('nresults'));
  if (text === undefined) return Number.POSITIVE_INFINITY;
  const count = /^\d{1,9}$/.test(text) ? Number(text) : 0;
  if (count < 1) throw broken(dav('number-of-matches-within-limits'), 'The limit is a number from 1 on.');
  return count;
}
