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

  constructor(bytes: Buffer) {
    // A fold may stand within a character (RFC 5545, 3.1), so it is taken out of the bytes.
    this.#raw = bytes.toString('latin1');
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

/** Whether a word can be in an object. */
export type Screen = (text: ObjectText) => boolean;

/** What an escape stands for, or begins with: a word without them is written as it is read. */
const ESCAPED = /[\\;,\n]/;
// oxlint-disable-next-line no-control-regex -- All of ASCII is meant.
const IS_ASCII = /^[\u0000-\u007f]*$/;

/**
 * Looks for a word, folded as `isIn` folds the whole text that it is given. Every folding leaves ASCII to ASCII and changes nothing
 * but its case, so that of plain bytes one look says it; where it makes blanks of line ends too, the word has no blank.
 */
export function screenOf(word: string, isIn: (whole: string) => boolean): Screen {
  if (ESCAPED.test(word)) return ({ whole }) => isIn(whole);
  const pattern = IS_ASCII.test(word)
    ? new RegExp(word.replaceAll(/[$()*+.?[\]^{|}]/g, String.raw`\$&`), 'i')
    : undefined;
  return (text) => {
    const { plain } = text;
    return plain === undefined ? isIn(text.whole) : pattern?.test(plain) === true;
  };
}
