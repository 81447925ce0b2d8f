/** A line that must stay, and the pieces of it whose loss would be felt most. */
import type { SeededRandom } from '#test/support/random.ts';

export interface CleanLine {
  text: string;
  /** Times, identifiers, digests, versions, addresses of hardware, paths, hosts and counts: whatever was filled in. */
  pieces: string[];
}

export type CleanSource = (random: SeededRandom) => CleanLine;

/** A piece that may now and then be taken for a random string: the long name of a module or a class. */
export interface LongName {
  longName: string;
}

/** say`started in ${took} ms`: the text with its pieces. */
export function say(strings: TemplateStringsArray, ...pieces: readonly (string | number | LongName)[]): CleanLine {
  const written = pieces.map((piece) => (typeof piece === 'object' ? piece.longName : String(piece)));
  return {
    text: String.raw({ raw: strings }, ...written),
    pieces: written.filter((_, at) => typeof pieces[at] !== 'object'),
  };
}
