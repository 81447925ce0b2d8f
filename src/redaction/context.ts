/** What the rules of a scan share: the text, what was put in place of what, and who gives names. */
import type { KeyCache } from './keys.ts';
import type { ValueRules } from './json-walk.ts';
import type { Pseudonyms } from './pseudonyms.ts';
import type { Span, Spans } from './spans.ts';
import type { TokenTable } from './token-shapes.ts';

export interface Context {
  readonly source: string;
  readonly spans: Spans;
  readonly pseudonyms: Pseudonyms;
  readonly keys: KeyCache;
  readonly tokens: TokenTable;
  /** The line that was asked for last: a long one with many keys is measured once. */
  readonly line: { from: number; to: number };
  /** What JSON is walked with. */
  readonly rules: ValueRules;
  /** Scans a text that was decoded out of this one: what would be replaced, by places in that text. */
  readonly scanNested: (text: string) => readonly Span[];
}

/** Where the line around a place ends. */
export function lineEnd(context: Context, from: number): number {
  const { line } = context;
  if (from < line.from || from > line.to) {
    line.from = from;
    line.to = lineEndOf(context.source, from);
  }
  return line.to;
}

/** The same for a text that is not being scanned. */
export function lineEndOf(source: string, from: number): number {
  const end = source.indexOf('\n', from);
  const stop = end === -1 ? source.length : end;
  return stop > from && source.charCodeAt(stop - 1) === 13 ? stop - 1 : stop;
}

/** Bytes that are searched one by one. */
const NEAR = 16;

/** The first place of a text within bounds, or -1. What is searched is what is between them, not the rest of the log. */
export function indexWithin(source: string, text: string, from: number, to: number): number {
  let start = from;
  if (text.length === 1) {
    // Most of what is looked for is near: a loop is there before a slice is made.
    const byte = text.charCodeAt(0);
    for (const near = Math.min(to, from + NEAR); start < near; start += 1)
      if (source.charCodeAt(start) === byte) return start;
    if (start >= to) return -1;
  }
  const at = source.slice(start, to).indexOf(text);
  return at === -1 ? -1 : start + at;
}
