/** Which bytes of a file a request is for (RFC 9110, 14): all of them, or one range. */
import { Refusal } from '#src/protocol/errors.ts';

export interface ByteRange {
  readonly start: number;
  /** The last byte, included; start - 1 for none. */
  readonly end: number;
}

/**
 * The range that a Range header asks for; undefined for the whole file. Several ranges are answered with the whole
 * file, as the rules allow: no player sends them.
 * @throws Refusal `range_invalid` for what is no range of bytes, and for one that begins behind the end.
 */
export function readRange(header: string, bytes: number): ByteRange | undefined {
  if (header === '') return undefined;
  const [, list] = /^bytes=(.*)$/i.exec(header.trim()) ?? [];
  if (list === undefined) throw new Refusal('range_invalid');
  const ranges = list.split(',').map((text) => text.trim());
  if (ranges.length > 1 && ranges.every((text) => /^(?:\d+-\d*|-\d+)$/.test(text))) return undefined;
  const [, first = '', last = ''] = /^(\d{0,16})-(\d{0,16})$/.exec(list.trim()) ?? [];
  if (first === '' && last === '') throw new Refusal('range_invalid');
  const range =
    first === ''
      ? { start: Math.max(0, bytes - Number(last)), end: bytes - 1 }
      : { start: Number(first), end: last === '' ? bytes - 1 : Math.min(Number(last), bytes - 1) };
  // A suffix of nothing is no bytes, and a range that ends before it begins is none.
  if (range.start >= bytes || range.end < range.start) throw new Refusal('range_invalid');
  return range;
}

/** Whether an If-None-Match names this tag, weakly compared. */
export function matchesTag(header: string, tag: string): boolean {
  if (header.trim() === '*') return true;
  return header.split(',').some((one) => one.trim().replace(/^W\//, '') === tag);
}
