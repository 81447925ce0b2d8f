/**
 * Proves an exported copy of the audit trail, line by line: its anchor, entries that follow from each other, its end.
 * Nothing but the copy is needed for it, and no more than a line of it is held.
 */
import { z } from 'zod';
import type { AuditEntry } from '#storage/accounts/audit-chain.ts';
import { AuditWalk } from '#storage/accounts/audit-walk.ts';

/** Bytes of a line that is read: far above any entry, which holds no text of messages. Beyond it the file is refused. */
export const EXPORTED_LINE_BYTES_MAX = 16 * 1024 * 1024;

const link = { number: z.int().min(0), hash: z.string() };
const anchorLine = z.strictObject({ anchor: z.strictObject(link) });
const endLine = z.strictObject({ end: z.strictObject({ ...link, entries: z.int().min(0) }) });
/** An entry has no other field: its hash would say nothing of it. */
const entryLine = z.strictObject({
  ...link,
  at: z.string(),
  event: z.string(),
  actor: z.string(),
  address: z.string().nullable(),
  subject: z.string().nullable(),
  details: z.record(z.string(), z.unknown()),
});
const anyLine = z.union([entryLine, endLine, anchorLine]);
type ExportedLine = z.infer<typeof anyLine>;

export interface ProvenCopy {
  /** How far the chain goes; undefined without an anchor to begin behind. */
  readonly walk: AuditWalk | undefined;
  /** Where it breaks first and how, a sentence; undefined when it is whole. What is behind that place proves nothing. */
  readonly broken: string | undefined;
}

/** Walks the chain of an exported trail, given as its lines without their ends. */
export async function proveExport(lines: AsyncIterator<string>): Promise<ProvenCopy> {
  const source = new NumberedLines(lines);
  const first = await source.next();
  if (first === undefined) return { walk: undefined, broken: 'The file is empty.' };
  if (first === 'unreadable' || !('anchor' in first))
    return { walk: undefined, broken: 'Line 1 is not the anchor of an export: the beginning was cut off or changed.' };
  const walk = new AuditWalk(first.anchor);
  const broken = await breakOf(source, walk);
  const owed = walk.finish();
  // An entry has a line, and the anchor the first. What is owed stands before the place where it breaks otherwise.
  return { walk, broken: owed === undefined ? broken : unfollowed(owed - walk.anchor.number + 1, owed) };
}

async function breakOf(source: NumberedLines, walk: AuditWalk): Promise<string | undefined> {
  for (;;) {
    const line = await source.next();
    const { number: last } = walk.head;
    const place = `Line ${source.at}`;
    if (line === undefined) return `The end is missing: the file was cut off behind entry ${last}.`;
    if (line === 'unreadable') return `${place}, behind entry ${last}, was changed: it is none that an export writes.`;
    if ('anchor' in line) return `${place}, behind entry ${last}, is a second anchor.`;
    if ('end' in line) return await faultOfEnd(source, walk, line.end);
    if (line.number !== last + 1) return await faultOfOrder(source, last + 1, line.number);
    if (!walk.follow(line as AuditEntry)) return unfollowed(source.at, line.number);
  }
}

function unfollowed(line: number, entry: number): string {
  return `Line ${line}: entry ${entry} does not follow from the one before it: it was changed, or that was.`;
}

async function faultOfEnd(
  source: NumberedLines,
  walk: AuditWalk,
  end: Extract<ExportedLine, { end: unknown }>['end'],
): Promise<string | undefined> {
  const { number, hash } = walk.head;
  const place = `Line ${source.at}`;
  if (end.number !== number || end.hash !== hash || end.entries !== walk.entries)
    return `${place}: the end tells of ${end.entries} entries up to ${end.number}, which are not those before it.`;
  if ((await source.next()) !== undefined) return `Line ${source.at} stands behind the end.`;
  if (walk.isTrimUntold)
    return `The beginning was cut off: no entry tells that the trail was trimmed to ${walk.anchor.number}.`;
  return undefined;
}

/** Tells an entry that was taken out from one that stands elsewhere, by looking on. */
async function faultOfOrder(source: NumberedLines, wanted: number, found: number): Promise<string> {
  const place = `Line ${source.at}`;
  if (found < wanted) return `${place}: entry ${found} stands there again, where ${wanted} belongs.`;
  for (let line = await source.next(); line !== undefined; line = await source.next()) {
    if (line !== 'unreadable' && 'number' in line && line.number === wanted)
      return `${place}: entry ${found} is out of order: ${wanted} belongs there and stands in line ${source.at}.`;
  }
  return `${place}: entry ${wanted} is missing before entry ${found}.`;
}

/** Lines as they are read, counted from 1. */
class NumberedLines {
  readonly #lines: AsyncIterator<string>;
  #at = 0;

  constructor(lines: AsyncIterator<string>) {
    this.#lines = lines;
  }

  /** The number of the line that was read last. */
  get at(): number {
    return this.#at;
  }

  /** The next line; undefined behind the last. */
  async next(): Promise<ExportedLine | 'unreadable' | undefined> {
    const { value, done } = await this.#lines.next();
    if (done === true) return undefined;
    this.#at += 1;
    return readLine(value);
  }
}

function readLine(text: string): ExportedLine | 'unreadable' {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return 'unreadable';
  }
  // A name that stands twice, or blanks between: the hash is over what was read, and a reader may see something else.
  if (JSON.stringify(value) !== text) return 'unreadable';
  const line = anyLine.safeParse(value);
  return line.success ? (value as ExportedLine) : 'unreadable';
}
