/** The report `calendar-multiget`: the objects that the client names (RFC 4791 section 7.9). */
import { DavRefusal } from '../dav-refusal.ts';
import { answerStream, type DavAnswer, type DavRequest } from '../exchange.ts';
import { statusRow } from '../xml/multistatus.ts';
import { readHref } from '../paths.ts';
import { isBrief } from '../request-preferences.ts';
import { collectionAt, isReadable, objectResource, type CalendarResource } from '../resources.ts';
import { dav } from '../xml/xml-names.ts';
import { childrenOf, type XmlElement } from '../xml/xml-reader.ts';
import { objectRow, readObjectRequest, type ObjectRequest } from './object-rows.ts';

/**
 * Characters of one answer: beyond it objects are answered 507 and asked for again. Clients ask for 50 to 100 at once, and
 * the largest hundred have 50 MiB.
 */
export const MULTIGET_LENGTH_MAX = 64 * 1024 * 1024;

/** Answers the report. @throws DavRefusal */
export function multiget(request: DavRequest, root: XmlElement): DavAnswer {
  const asked = readObjectRequest(root);
  const hrefs = new Set(childrenOf(root, dav('href')).map(({ text }) => text.trim()));
  if (hrefs.size === 0) throw new DavRefusal(400, 'A multiget names the objects it asks for.');
  return answerStream(request, rows(request, hrefs, asked));
}

/** The rows of each object once, however often and in whatever spelling it is named. */
function* rows(request: DavRequest, hrefs: Iterable<string>, asked: ObjectRequest): Generator<string> {
  const brief = isBrief(request.headers);
  const calendars = new Map<string, CalendarResource | undefined>();
  const answered = new Set<string>();
  let length = 0;
  for (const href of hrefs) {
    const found = find(request, href, calendars);
    if (found !== undefined) {
      if (answered.has(found.href)) continue;
      answered.add(found.href);
    }
    if (length > MULTIGET_LENGTH_MAX) {
      yield statusRow(href, 507);
      continue;
    }
    // A row for an object that is not there names it as it was asked for, so that the client finds it again.
    const row = found === undefined ? statusRow(href, 404) : objectRow(found, asked, request, brief);
    length += row.length;
    yield row;
  }
}

function find(
  { context, viewer }: DavRequest,
  href: string,
  calendars: Map<string, CalendarResource | undefined>,
): ReturnType<typeof objectResource> | undefined {
  let path;
  try {
    path = readHref(href);
  } catch {
    // Broken percent-encoding names nothing, and is no reason to refuse the other hrefs.
    return undefined;
  }
  if ((path?.kind !== 'object' && path?.kind !== 'message') || path.user !== viewer) return undefined;
  // No calendar has an empty name.
  const name = path.kind === 'object' ? path.calendar : '';
  if (!calendars.has(name)) calendars.set(name, collectionAt(context, viewer, path));
  const collection = calendars.get(name);
  if (collection === undefined || !isReadable(collection)) return undefined;
  const object = collection.contents.object(path.file);
  return object === undefined ? undefined : objectResource(collection, object);
}
