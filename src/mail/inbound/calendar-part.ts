/**
 * The calendar message in a mail: its parts are found by their boundaries alone, and the one that counts is decoded. So
 * what a mail carries beside it costs no more than being looked over.
 */
import PostalMime from 'postal-mime';
import { bareOf, type HeaderField, readHeader, wordOf } from './header-fields.ts';
import type { MailOutcome } from './outcomes.ts';

/** Parts within parts: mixed, related, alternative, and what gateways wrap around. [mail_malformed] */
export const MAIL_DEPTH_MAX = 8;
/** Parts of a mail: an invitation with its files has ten. [mail_malformed] */
export const MAIL_PARTS_MAX = 100;
/** Lines that begin as a boundary does, of which most belong to no other part. [mail_malformed] */
export const BOUNDARY_LINES_MAX = 1_000;
/** Bytes of the calendars that are decoded, with their encoding: what an entry may have, in base64. [too_large] */
export const CALENDAR_PART_BYTES_MAX = 768 * 1024;
/** Lines of them, which is what decoding costs: an entry of the largest size in base64. [too_large] */
export const CALENDAR_PART_LINES_MAX = 10_000;

/** A message as it came, decoded to UTF-8. */
export interface CalendarPart {
  /** In upper case: REQUEST, REPLY. */
  readonly method: string;
  readonly bytes: Uint8Array;
}

/** A leaf of the tree of parts. */
interface Leaf {
  readonly body: Buffer;
  readonly type: ContentType;
  /** Content-Transfer-Encoding; empty where the body is as it is. */
  readonly encoding: string;
}

interface ContentType {
  /** As the field has it. */
  readonly value: string;
  /** `text/calendar`, in lower case. */
  readonly name: string;
  readonly parameters: ReadonlyMap<string, string>;
}

/** The first calendar with a method, or why there is none. */
export async function calendarPart(mail: Buffer): Promise<CalendarPart | MailOutcome> {
  const leaves: Leaf[] = [];
  if (!collect(mail, 0, leaves, { parts: 0, lines: 0 })) return 'mail_malformed';
  const left = { bytes: CALENDAR_PART_BYTES_MAX, lines: CALENDAR_PART_LINES_MAX };
  for (const leaf of leaves) {
    if (leaf.type.name !== 'text/calendar') continue;
    left.bytes -= leaf.body.length;
    left.lines -= left.bytes < 0 ? 0 : linesOf(leaf.body);
    if (left.bytes < 0 || left.lines < 0) return 'too_large';
    const bytes = await decoded(leaf);
    if (bytes === undefined) return 'mail_malformed';
    const stated = leaf.type.parameters.get('method')?.trim().toUpperCase();
    const own = /^METHOD(?:;[^:\r\n]*)?:[ \t]*([\w-]+)[ \t]*$/im.exec(Buffer.from(bytes).toString('latin1'))?.[1];
    const method = own?.toUpperCase();
    if (stated === undefined && method === undefined) continue;
    return method === undefined || (stated !== undefined && stated !== method) ? 'method_mismatch' : { method, bytes };
  }
  return 'no_calendar_part';
}

/** What was met in a mail so far. */
interface Seen {
  parts: number;
  /** Lines that begin as a boundary does. */
  lines: number;
}

/** Adds the leaves of a part in their order; false where there are more, or deeper ones, than a mail may have. */
function collect(bytes: Buffer, depth: number, leaves: Leaf[], seen: Seen): boolean {
  seen.parts += 1;
  const header = readHeader(bytes);
  if (header === undefined || depth > MAIL_DEPTH_MAX || seen.parts > MAIL_PARTS_MAX) return false;
  const body = bytes.subarray(header.bodyStart);
  const type = contentType(header.fields);
  if (type === undefined) return true;
  const boundary = type.name.startsWith('multipart/') ? type.parameters.get('boundary') : undefined;
  if (boundary === undefined || boundary === '') {
    // A mail within a mail is somebody else's: it stays closed.
    const encoding = header.fields.find(({ name }) => name === 'content-transfer-encoding')?.value ?? '';
    leaves.push({ body, type, encoding });
    return true;
  }
  const parts = partsOf(body, boundary, seen);
  return parts?.every((part) => collect(part, depth + 1, leaves, seen)) ?? false;
}

/** What stands between the lines of a boundary (RFC 2046, 5.1.1); undefined where too many lines look like one. */
function partsOf(body: Buffer, boundary: string, seen: Seen): Buffer[] | undefined {
  const mark = Buffer.from(`--${boundary}`, 'latin1');
  const parts: Buffer[] = [];
  let start: number | undefined;
  for (let at = body.indexOf(mark); at >= 0; at = body.indexOf(mark, at + mark.length)) {
    if (at > 0 && body[at - 1] !== 0x0a) continue;
    seen.lines += 1;
    if (seen.lines > BOUNDARY_LINES_MAX) return undefined;
    const newline = body.indexOf('\n', at);
    const lineEnd = newline < 0 ? body.length : newline;
    // A longer boundary that begins alike is another part's.
    const rest = body.toString('latin1', at + mark.length, Math.min(lineEnd, at + mark.length + 80));
    const isLast = /^--[ \t]*\r?$/.test(rest);
    if (!isLast && !/^[ \t]*\r?$/.test(rest)) continue;
    if (start !== undefined) parts.push(body.subarray(start, endBefore(body, at, start)));
    if (isLast) return parts;
    start = lineEnd + 1;
  }
  // Some writers leave the last boundary out.
  if (start !== undefined && start < body.length) parts.push(body.subarray(start));
  return parts;
}

/** The end of line in front of a boundary belongs to the boundary. */
function endBefore(body: Buffer, at: number, start: number): number {
  const end = body[at - 2] === 0x0d ? at - 2 : at - 1;
  return Math.max(start, end);
}

/** Undefined where it cannot be read; text where a part says nothing. */
function contentType(fields: readonly HeaderField[]): ContentType | undefined {
  const value = fields.find(({ name }) => name === 'content-type')?.value ?? 'text/plain';
  const bare = bareOf(value);
  const [name = '', ...rest] = bare?.text.split(';') ?? [];
  if (bare === undefined) return undefined;
  const parameters = new Map<string, string>();
  for (const part of rest) {
    const [, key, text] = /^\s*([\w*-]+)\s*=\s*(.*?)\s*$/.exec(part) ?? [];
    if (key !== undefined && text !== undefined && !parameters.has(key.toLowerCase()))
      parameters.set(key.toLowerCase(), wordOf(text, bare));
  }
  return { value: value.trim(), name: name.trim().toLowerCase(), parameters };
}

function linesOf(bytes: Buffer): number {
  let count = 0;
  for (let at = bytes.indexOf(0x0a); at >= 0; at = bytes.indexOf(0x0a, at + 1)) count += 1;
  return count;
}

/** The text of a leaf in UTF-8, whatever its transfer encoding and its charset. */
async function decoded({ body, encoding, type }: Leaf): Promise<Uint8Array | undefined> {
  // The library keeps every line of what is not encoded by itself, which costs ten times what base64 does.
  const isEncoded = /base64|quoted-printable/i.test(encoding);
  const content = isEncoded ? body : Buffer.from(body.toString('base64'), 'latin1');
  const transfer = isEncoded ? encoding.trim() : 'base64';
  const head = `Content-Type: ${type.value}\r\nContent-Transfer-Encoding: ${transfer}\r\n\r\n`;
  try {
    const bytes = Buffer.concat([Buffer.from(head, 'latin1'), content]);
    const { attachments } = await PostalMime.parse(bytes, { maxNestingDepth: 0, maxRfc822NestingDepth: 0 });
    const text = attachments[0]?.content;
    return text === undefined || typeof text === 'string' ? undefined : new Uint8Array(text);
  } catch {
    return undefined;
  }
}
