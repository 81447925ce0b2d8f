/**
 * Words and phrases as somebody watches for them: whole words, folded as a search folds them, in their order. Where no
 * spaces are written (Chinese, Japanese, Thai) each character stands for a word, so that a word is found within a sentence.
 */
import { fold } from './search-folding.ts';

const SPACELESS = '\\p{sc=Han}\\p{sc=Hira}\\p{sc=Kana}\\p{sc=Thai}';
const WORDS = new RegExp(`[${SPACELESS}]|(?:(?![${SPACELESS}])[\\p{L}\\p{M}\\p{N}])+`, 'gu');

/** A text, made ready once for everybody who watches for something in it. */
export interface WordedText {
  /** Its words, and every two that follow each other. */
  readonly words: ReadonlySet<string>;
  readonly phrase: string;
}

/** The words of a text with a space between them; empty where it has none. */
export function phraseOf(text: string): string {
  return (fold(text).match(WORDS) ?? []).join(' ');
}

export function wordedText(text: string): WordedText {
  const phrase = phraseOf(text);
  return { words: new Set([...phrase.split(' '), ...pairsOf(phrase)]), phrase: ` ${phrase} ` };
}

/**
 * Whether any of these, each as `phraseOf` makes it, stands in the text. What is not there costs a look-up, so that a room of
 * 20,000 who watch for 20 phrases each does not read a long text over and over.
 */
export function saysAny({ phrase, words }: WordedText, watched: readonly string[]): boolean {
  return watched.some((one) => {
    if (words.has(one)) return true;
    const pairs = pairsOf(one);
    return pairs.length > 1 && pairs.every((pair) => words.has(pair)) && phrase.includes(` ${one} `);
  });
}

function pairsOf(phrase: string): string[] {
  const words = phrase.split(' ');
  return words.slice(1).map((word, at) => `${words[at]} ${word}`);
}
