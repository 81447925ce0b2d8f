/**
 * The answer 207: one `response` for each resource, written as a stream, so that a calendar of any size is never held as
 * one text and its first bytes leave before its last row is read.
 */
import type { TimeSlicer } from '../../time-slicer.ts';
import { dav, DECLARATIONS, type XmlName } from './xml-names.ts';
import { element, escapeText } from './xml-writer.ts';

/** Characters gathered before they are handed to the connection. */
const CHUNK_LENGTH = 32 * 1024;

const HEAD = `<?xml version="1.0" encoding="utf-8"?>\n<D:multistatus${DECLARATIONS}>`;

const REASONS: Readonly<Record<number, string>> = {
  200: 'OK',
  403: 'Forbidden',
  404: 'Not Found',
  409: 'Conflict',
  424: 'Failed Dependency',
  507: 'Insufficient Storage',
};

function statusElement(status: number): string {
  return `<D:status>HTTP/1.1 ${status} ${REASONS[status] ?? 'Status'}</D:status>`;
}

/** A row about a resource as a whole: absent (404), or the collection itself when an answer was cut short (507). */
export function statusRow(href: string, status: number, condition?: XmlName): string {
  const error = condition === undefined ? '' : `<D:error>${element(condition)}</D:error>`;
  return `<D:response><D:href>${escapeText(href)}</D:href>${statusElement(status)}${error}</D:response>`;
}

/** Properties of one resource, by how it went with them. */
export interface PropertyGroups {
  /** XML of the properties that were found. */
  readonly found: string;
  /** Names of those that are not there. */
  readonly missing: readonly XmlName[];
}

/**
 * A row of properties.
 * @param isBrief leaves the missing ones out (`Prefer: return=minimal`, `Brief: t`).
 */
export function propertyRow(href: string, { found, missing }: PropertyGroups, isBrief: boolean): string {
  const absent = isBrief || missing.length === 0 ? '' : propstat(missing.map((name) => element(name)).join(''), 404);
  // A row must say something: an empty group of found properties stands where nothing else does.
  const present = found !== '' || absent === '' ? propstat(found, 200) : '';
  return `<D:response><D:href>${escapeText(href)}</D:href>${present}${absent}</D:response>`;
}

/** A group of properties with one status, for rows that are put together by hand. */
export function propstat(properties: string, status: number, condition?: XmlName): string {
  const error = condition === undefined ? '' : `<D:error>${element(condition)}</D:error>`;
  return `<D:propstat><D:prop>${properties}</D:prop>${statusElement(status)}${error}</D:propstat>`;
}

/** A `response` around groups that are written already. */
export function responseRow(href: string, content: string): string {
  return `<D:response><D:href>${escapeText(href)}</D:href>${content}</D:response>`;
}

/** Rows, each read when it is its turn to be written. */
export type Rows = Iterable<string>;

/**
 * The document in chunks, with a turn for other requests between slices of work.
 * @param tail what stands behind the rows, asked when they are written: the sync-token.
 */
export async function* multistatus(
  rows: Rows,
  slicer: TimeSlicer,
  tail: () => string = () => '',
): AsyncGenerator<string> {
  let chunk = HEAD;
  // The first chunk leaves with the first row, so that the client sees that its answer has begun.
  let length = 0;
  for (const row of rows) {
    chunk += row;
    if (chunk.length > length) {
      yield chunk;
      chunk = '';
      length = CHUNK_LENGTH;
    }
    // A row is a few microseconds most often, and waiting for nothing is not free.
    if (slicer.isOver) await slicer.pass();
  }
  yield `${chunk}${tail()}</D:multistatus>\n`;
}

/** The whole document at once, for answers of a bounded, small number of rows. */
export function smallMultistatus(rows: readonly string[], tail = ''): string {
  return `${HEAD}${rows.join('')}${tail}</D:multistatus>\n`;
}

/** The sync-token behind the rows of a sync-collection (RFC 6578 section 6.4). */
export function syncTokenElement(token: string): string {
  return element(dav('sync-token'), escapeText(token));
}
