/** An object as one text, to see whether a word can be in it at all before it is read: reading takes ten times as long. */
import { unescapeText } from './component.ts';

const FOLDS = ['\n ', '\n\t', '\r ', '\r\t'] as const;
const FOLD = /(?:\r\n|\n|\r)[ \t]/g;
const HIGH = /[\u0080-\u00ff]/;

/** The text of an object's bytes, each form of it worked out when it is asked for. */
export class ObjectText {
  readonly #raw: string;
  readonly #isFolded: boolean;
  readonly #isAscii: boolean;
  #whole: string | undefined;

  /** @param bytes as they are, or with one character for each. */
  constructor(bytes: Buffer | string) {
    // A fold may stand within a character (RFC 5545, 3.1), so it is taken out of the bytes.
    this.#raw = typeof bytes === 'string' ? bytes : bytes.toString('latin1');
    this.#isFolded = FOLDS.some((fold) => this.#raw.includes(fold));
    this.#isAscii = !HIGH.test(this.#raw);
  }

  /**
   * The bytes themselves, where they are ASCII without folds and without a circumflex, which may stand for another character
   * within a parameter (RFC 6868): what most objects are.
   */
  get plain(): string | undefined {
    return this.#isFolded || !this.#isAscii || this.#raw.includes('^') ? undefined : this.#raw;
  }

  /**
   * Every value of the object, unfolded and unescaped, is a part of this text, between others that it is no part of. What is not
   * in the text is in no value; what is may still be in none. Parameters are in it as they are written.
   */
  get whole(): string {
    const unfolded = this.#isFolded ? this.#raw.replaceAll(FOLD, '') : this.#raw;
    const text = this.#isAscii ? unfolded : Buffer.from(unfolded, 'latin1').toString('utf8');
    return (this.#whole ??= unescapeText(text));
  }
}

/** What an escape stands for, or begins with: a word without them is written as it is read. */
const ESCAPED = /[\\;,\n]/;
// oxlint-disable-next-line no-control-regex -- All of ASCII is meant.
const IS_ASCII = /^[\u0000-\u007f]*$/;
const SPECIAL = /[$()*+.?[\]^{|}]/g;
/** What may stand between any two characters of a line. */
const FOLDED_BETWEEN = String.raw`(?:(?:\r\n|\n|\r)[ \t])*`;

/** Whether words can be in an object: in one that is looked at, or in which of many that lie one behind the other. */
export class Screen {
  /** Whether they can be in this one. */
  readonly has: (text: ObjectText) => boolean;
  /** One of these is in every object of ASCII that has them; undefined where that one must be looked at itself. */
  readonly #words: readonly string[] | undefined;
  #plain: RegExp | undefined;
  #folded: RegExp | undefined;

  constructor(has: Screen['has'], words: readonly string[] | undefined) {
    [this.has, this.#words] = [has, words];
  }

  /** Of what has all that these look for. */
  static all(screens: readonly Screen[]): Screen {
    // The fewest and longest words are in the fewest objects.
    const known = screens.flatMap((one) => (one.#words === undefined ? [] : [one.#words]));
    const [rarest] = known.toSorted((one, other) => one.length - other.length || shortest(other) - shortest(one));
    return new Screen((text) => screens.every(({ has }) => has(text)), rarest);
  }

  /** Of what has anything of what these look for. */
  static any(screens: readonly Screen[]): Screen {
    const isKnown = screens.every((one) => one.#words !== undefined);
    const words = isKnown ? screens.flatMap((one) => one.#words ?? []) : undefined;
    return new Screen((text) => screens.some(({ has }) => has(text)), words);
  }

  /** What is found in every text of ASCII that has them, from a place on; undefined where nothing says so. */
  pattern({ isFolded }: { readonly isFolded: boolean }): RegExp | undefined {
    const words = this.#words;
    if (words === undefined) return undefined;
    if (isFolded) return (this.#folded ??= patternOf(words, FOLDED_BETWEEN));
    return (this.#plain ??= patternOf(words, ''));
  }
}

function shortest(words: readonly string[]): number {
  return Math.min(...words.map(({ length }) => length));
}

/** Of no word a pattern that is found nowhere. */
function patternOf(words: readonly string[], between: string): RegExp {
  const sources = words.map((word) =>
    Array.from(word, (character) => character.replaceAll(SPECIAL, String.raw`\$&`)).join(between),
  );
  return new RegExp(sources.length === 0 ? '(?!)' : sources.join('|'), 'gi');
}

/**
 * Looks for a word, folded as `isIn` folds the whole text that it is given. Every folding leaves ASCII to ASCII and changes nothing
 * but its case, so that of plain bytes one look says it; where it makes blanks of line ends too, the word has no blank.
 */
export function screenOf(word: string, isIn: (whole: string) => boolean): Screen {
  if (ESCAPED.test(word)) return new Screen(({ whole }) => isIn(whole), undefined);
  // What is not ASCII is in nothing that is.
  const words = IS_ASCII.test(word) ? [word] : [];
  const pattern = patternOf(words, '');
  return new Screen((text) => {
    const { plain } = text;
    pattern.lastIndex = 0;
    return plain === undefined ? isIn(text.whole) : pattern.test(plain);
  }, words);
}

/** Stands between two objects. No line may have it. */
const BETWEEN = '\0';
/** What an object has that must be looked at itself. */
const UNPLAIN = /[\u0080-\u00ff^]/g;

/**
 * Objects one behind the other, looked through as one text: what has no word is passed over by its page, and of the others each that
 * may have one is looked at. Looking at each by itself costs three times as much.
 */
export class TextPage {
  #text = '';
  /** Where each object ends. */
  readonly #ends: number[] = [];

  clear(): void {
    this.#text = '';
    this.#ends.length = 0;
  }

  /** Takes the bytes of an object, which may be others a moment later. */
  add(bytes: Buffer): void {
    // Of what the library lends, its length alone says where it ends.
    this.#text += bytes.toString('latin1', 0, bytes.length);
    this.#ends.push(this.#text.length);
    this.#text += BETWEEN;
  }

  /** Which of them, by their number, can have what is looked for; in their order. */
  having(screen: Screen): number[] {
    const candidates = this.#candidates(screen);
    if (candidates?.size === 0) return [];
    const all = [...this.#ends.keys()].filter((at) => candidates === undefined || candidates.has(at));
    return all.filter((at) => {
      const begin = at === 0 ? 0 : (this.#ends[at - 1] as number) + BETWEEN.length;
      return screen.has(new ObjectText(this.#text.slice(begin, this.#ends[at])));
    });
  }

  /** Those that are not known to have nothing of it; undefined where none is. */
  #candidates(screen: Screen): ReadonlySet<number> | undefined {
    const text = this.#text;
    const pattern = screen.pattern({ isFolded: FOLDS.some((fold) => text.includes(fold)) });
    if (pattern === undefined) return undefined;
    const found = new Set<number>();
    for (const one of [pattern, UNPLAIN]) {
      one.lastIndex = 0;
      for (let at = 0, match = one.exec(text); match !== null; match = one.exec(text)) {
        while ((this.#ends[at] ?? Infinity) < match.index) at += 1;
        found.add(at);
        // One is enough of each.
        one.lastIndex = (this.#ends[at] ?? text.length) + BETWEEN.length;
      }
    }
    return found;
  }
}
