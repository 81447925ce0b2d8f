/**
 * What nobody sees in a log: colours of terminals (`ESC[31m`, and the ways in which loggers write that down), characters
 * without a width, soft hyphens, and spaces that do not break. They stand inside of values and between a key and its
 * sign, so a text is scanned without them and what was found is put around them.
 */
import type { Span } from './spans.ts';

const ESCAPE = String.fromCharCode(27);
/** What such a sequence begins with: most texts have none of these, which is found out at the speed of memory. */
const STARTS = [
  `${ESCAPE}[`,
  '#033[',
  '^[[',
  // U+00A0, U+00AD, U+2000 … U+206F, U+3000 and U+FEFF in UTF-8.
  '\u00c2\u00a0',
  '\u00c2\u00ad',
  '\u00e2\u0080',
  '\u00e2\u0081',
  '\u00e3\u0080\u0080',
  '\u00ef\u00bb\u00bf',
];
/** The same behind a backslash, which many texts have none of. */
const ESCAPED = /\\(?:u(?:001b|00a0|00ad|20[0-6]|3000|feff)|x1b|033\[|e\[)/i;
/** Colours: `m`, `K` and their kin end one. Characters in UTF-8, read as Latin-1, and as JSON writes them down. */
const SEQUENCE =
  // oxlint-disable-next-line no-control-regex -- The escape is what it looks for.
  /(?:\u001b|#033|\^\[)\[[0-9;:?]{0,32}[A-Za-z]|\\{1,8}(?:(?:u001b|x1b|033|e)\[[0-9;:?]{0,32}[A-Za-z]|u(?:00a0|00ad|20(?:0[0-9a-f]|2[a-f]|5f|6[0-9a-f])|3000|feff))|\u00c2[\u00a0\u00ad]|\u00e2\u0080[\u0080-\u008f\u00aa-\u00af]|\u00e2\u0081[\u009f-\u00af]|\u00e3\u0080\u0080|\u00ef\u00bb\u00bf/gi;
/** Those of them that part words as a space does; the others are read as nothing. */
const SPACE =
  /^(?:\u00c2\u00a0|\u00e2\u0080[\u0080-\u008a\u00af]|\u00e2\u0081\u009f|\u00e3\u0080\u0080|\\{1,8}u(?:00a0|200[0-9a]|202f|205f|3000))$/i;

/** A text without what nobody sees, and where its characters stand in the text that has it. */
export interface Seen {
  readonly text: string;
  /** A span of the seen text as one of the whole. */
  place(span: Span): Span;
}

/** The text without what nobody sees; undefined where it has none of that, as most do not. */
export function seenOf(source: string): Seen | undefined {
  if (!STARTS.some((start) => source.includes(start)) && !(source.includes('\\') && ESCAPED.test(source)))
    return undefined;
  /** Where something was taken out, in the text without, and how much was up to there. */
  const cuts: { readonly at: number; readonly taken: number }[] = [];
  let taken = 0;
  const text = source.replaceAll(SEQUENCE, (sequence: string, at: number) => {
    // Behind `=` a space would say that the value is empty.
    const space = SPACE.test(sequence) && source.charCodeAt(at - 1) !== 61 ? ' ' : '';
    const place = at - taken + space.length;
    taken += sequence.length - space.length;
    cuts.push({ at: place, taken });
    return space;
  });
  if (cuts.length === 0) return undefined;
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
