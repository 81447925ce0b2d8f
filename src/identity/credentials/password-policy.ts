/**
 * What a password may be that somebody chooses, the same at every door (CRD-12): long enough, none of those that whoever
 * guesses tries first, and more than the person’s own names (NIST SP 800-63B, section 3.1.1.2). There are no rules about
 * what it is made of, which lead people to `Passw0rd!`.
 */
import { dictionary } from '@zxcvbn-ts/language-common';
import { Refusal } from '#src/protocol/errors.ts';
import { PASSWORD_LENGTH_MIN } from '#src/protocol/sessions/sessions.ts';

/** Some 18,000 of leaked collections, in lower case; shorter ones are refused by their length. */
const COMMON = new Set(dictionary['passwords-common'].filter(({ length }) => length >= PASSWORD_LENGTH_MIN));

/** A shorter word is part of too many others: a person called Al may write “also”. */
const NAME_LENGTH_MIN = 3;

/**
 * Holds a chosen password to the policy. `names` are what its owner is called: names and addresses are guessed first, so they
 * count for nothing in it, and what is left has to be a password by itself.
 * @throws Refusal `password_too_short`, `password_too_common`, `password_names_you`, each with `field`.
 */
export function assertGoodPassword(password: string, names: readonly string[], field = 'password'): void {
  const plain = fold(password);
  if (plain.length < PASSWORD_LENGTH_MIN) throw new Refusal('password_too_short', { field });
  if (COMMON.has(plain)) throw new Refusal('password_too_common', { field });
  const rest = wordsOf(names).reduce((left, word) => left.replaceAll(word, ''), plain);
  if (rest === plain) return;
  // What stood between the name and the rest is no part of either.
  const bare = rest.replaceAll(/^[^\p{L}\p{N}]+|[^\p{L}\p{N}]+$/gu, '');
  if (bare.length < PASSWORD_LENGTH_MIN || COMMON.has(bare)) throw new Refusal('password_names_you', { field });
}

/** The names and their words, the longest first, so that a name goes whole before a part of it does. */
function wordsOf(names: readonly string[]): string[] {
  const words = names.flatMap((name) => [fold(name), ...fold(name).split(/[^\p{L}\p{N}]+/u)]);
  return [...new Set(words)].filter(({ length }) => length >= NAME_LENGTH_MIN).toSorted((a, b) => b.length - a.length);
}

function fold(text: string): string {
  return text.normalize('NFKC').trim().toLowerCase();
}
