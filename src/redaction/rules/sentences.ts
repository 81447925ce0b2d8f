/** Words of sentences about passwords: what is told of a password is not the password. */
import type { Rules } from './rules.ts';

/** Endings of words that say what something is or what was done with it. */
const ENDING = /(?:ed|ing|ly|ble|less|ory|ation)$/;
const WORDS = new Set(
  'a an and as at bad being blank but by correct different equal fine for from good here identical if in is it its just kept less long longer more my needed neither new now of old on one only or part plain same sent short shorter similar so still strong stronger that then there these this those to under unique weak weaker what when which with within without your age attempt attempts change expiry field file generator hash history length manager mismatch policy prompt reset rotation storage store strength update vault'.split(
    ' ',
  ),
);

/** Whether a word is made of letters as those of sentences are. */
export function isWord(word: string): boolean {
  return /^[A-Za-z'-]+$/.test(word);
}

/** Whether a word behind `password is`, or beside `password`, tells something of it: `required`, `too`, `policy`. */
export function tellsOf({ words }: Rules, word: string): boolean {
  const small = word.toLowerCase();
  return isWord(word) && (ENDING.test(small) || WORDS.has(small) || words.has(small));
}
