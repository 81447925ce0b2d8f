/** Where a line begins and ends: what the line before it left, bodies of keys, and JSON that must stay JSON. */
import { cutBlockLine, cutPartLine } from './blocks.ts';
import { lineEnd, type Context } from './context.ts';
import { isJson, keepsJson, putJson } from './json-lines.ts';
import { isUnreadable } from './letter-pairs.ts';
import { KEY_LINES_MAX, keyPart, orphanStart, type LineState } from './private-keys.ts';
import { markerEnd } from './spans.ts';

/** A full line of a key's body has 64 characters; a shorter line is none. */
const BODY_LINE_MIN = 64;

/** Scans the log's own prefix of a line, from its beginning to a place, as any text. */
export type ScanPrefix = (start: number, end: number) => void;

/** The end of a line of JSON: where the rules of text would break it, its tokens are walked instead. */
export function endJson({ source, spans, rules }: Context): void {
  const start = spans.jsonStart;
  if (start === -1 || keepsJson(source, start, spans.places)) return;
  const newline = source.indexOf('\n', start);
  const end = newline === -1 ? source.length : newline;
  if (spans.last > end || !isJson(source.slice(start, end))) return;
  spans.rewindLine();
  putJson(rules, spans, start, end);
}

/** The beginning of a line: what the line before it left, and the body of a key whose beginning is missing. */
export function beginLine(context: Context, state: LineState, start: number, scanPrefix: ScanPrefix): number {
  const { source } = context;
  endJson(context);
  if (start >= source.length) return start;
  context.spans.beginLine(start);
  if (state.isSubject) {
    const first = source.charCodeAt(start);
    state.isSubject = first === 32 || first === 9;
    if (state.isSubject) return cutFolded(context, start);
  }
  if (state.keyLines > 0) return cutKeyLine(context, state, start, scanPrefix);
  if (state.pairLines > 0) state.pairLines -= 1;
  const below =
    state.block !== undefined
      ? cutBlockLine(context, state, state.block, start)
      : state.part === undefined
        ? -1
        : cutPartLine(context, state, start);
  if (below !== -1) return below;
  const stop = lineEnd(context, start);
  if (stop - start < BODY_LINE_MIN) return start;
  const orphan = orphanStart(source, start, stop);
  if (orphan === -1) return start;
  state.keyLines = KEY_LINES_MAX;
  state.strangeLines = 0;
  state.isOrphan = true;
  state.hasPrefix = orphan > start;
  if (orphan === start) return context.spans.secret(start, stop, 'random');
  if (!isUnreadable(source, orphan, stop)) return start;
  scanPrefix(start, orphan);
  return orphan >= context.spans.last ? context.spans.secret(orphan, stop, 'random') : start;
}

/** A Subject that goes on in this line. */
function cutFolded(context: Context, start: number): number {
  const { source } = context;
  let from = start;
  while (source.charCodeAt(from) === 32 || source.charCodeAt(from) === 9) from += 1;
  const stop = lineEnd(context, from);
  if (stop <= from || markerEnd(source, from) !== -1) return Math.max(stop, from);
  return context.spans.secret(from, stop, 'text');
}

/** A line in which a private key may go on. */
function cutKeyLine(context: Context, state: LineState, start: number, scanPrefix: ScanPrefix): number {
  const { source } = context;
  const stop = lineEnd(context, start);
  const part = stop <= start ? undefined : keyPart(source, start, stop, state);
  if (part === undefined || markerEnd(source, part.from) !== -1) return start;
  if (part.from > start) scanPrefix(start, part.from);
  return part.from >= context.spans.last ? context.spans.secret(part.from, part.to, 'private-key') : part.to;
}
