/**
 * Passwords that whoever guesses tries first (NIST SP 800-63B, section 3.1.1.2): a list, and no rules about what a
 * password is made of, which lead people to `Passw0rd!`.
 */
import { dictionary } from '@zxcvbn-ts/language-common';
import { Refusal } from '#src/protocol/errors.ts';
import { PASSWORD_LENGTH_MIN } from '#src/protocol/sessions/sessions.ts';

/** Some 18,000 of leaked collections, in lower case; shorter ones are refused by their length. */
const COMMON = new Set(dictionary['passwords-common'].filter(({ length }) => length >= PASSWORD_LENGTH_MIN));

/**
 * @throws Refusal `password_too_common` with `field` for one of the list, whatever its case, and for the name of the
 * account itself.
 */
export function assertUncommon(password: string, username: string | undefined, field = 'password'): void {
  const plain = password.trim().toLowerCase();
  if (COMMON.has(plain) || plain === username) throw new Refusal('password_too_common', { field });
}
