/**
 * Colours of terminals in a log (`ESC[31m`, and the ways in which loggers write that down): they stand inside of
 * values and between a key and its sign, so a text is scanned without them and what was found is put around them.
 */
import type { Span } from './spans.ts';

const ESCAPE = String.fromCharCode(27);
/** What such a sequence begins with: most texts have none of these, which is found out at the speed of memory. */
const STARTS = [`${ESCAPE}[`, 'u001b[', 'u001B[', 'x1b[', 'x1B[', '033[', String.raw`\e[`, '^[['];
/** `m`, `K` and their kin end one. */
// oxlint-disable-next-line no-control-regex -- The escape is what it looks for.
const SEQUENCE = /(?:\u001b|\\{1,8}(?:u001b|x1b|033|e)|#033|\^\[)\[[0-9;:?]{0,32}[A-Za-z]/gi;

/** A text without colours, and where its characters stand in the text that has them. */
export interface Uncoloured {
  readonly text: string;
  /** A span of the text without colours, as one of the text with them. */
  place(span: Span): Span;
}

/** The text without its colours; undefined where it has none, as most do not. */
export function uncoloured(source: string): Uncoloured | undefined {
  if (!STARTS.some((start) => source.includes(start))) return undefined;
  /** Where something was taken out, in the text without, and how much was up to there. */
  const cuts: { readonly at: number; readonly taken: number }[] = [];
  let taken = 0;
  const text = source.replaceAll(SEQUENCE, (sequence: string, at: number) => {
    const place = at - taken;
    taken += sequence.length;
    cuts.push({ at: place, taken });
    return '';
  });
  if (taken === 0) return undefined;
  const original = (at: number): number => at + takenBefore(cuts, at);
  return {
    text,
    place: (span) => ({
      ...span,
      start: original(span.start),
      end: span.end === span.start ? original(span.end) : original(span.end - 1) + 1,
    }),
  };
}

/** How much was taken out in front of a place, by halving: spans are many where colours are. */
function takenBefore(cuts: readonly { readonly at: number; readonly taken: number }[], at: number): number {
  let low = 0;
  let high = cuts.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if ((cuts[middle] as { at: number }).at <= at) low = middle + 1;
    else high = middle;
  }
  return low === 0 ? 0 : (cuts[low - 1] as { taken: number }).taken;
}
