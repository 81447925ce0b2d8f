/**
 * Basic credentials with an app password, for programs that know nothing else (RFC 7617). Every way to fail has one
 * answer; guessing is throttled for the name at an address and, over all names, for the address.
 *
 * Nothing is remembered of what was right: looking a password up costs less than keeping a memory true to revocations.
 */
import type { Limiter } from '#src/limits/limiter.ts';
import { hostOf } from '#src/limits/networks.ts';
import { Refusal } from '#src/protocol/errors.ts';
import { USERNAME } from '#src/protocol/names.ts';

/** What a client that is refused with 401 is asked for. */
export const BASIC_CHALLENGE = 'Basic realm="Parley calendar", charset="UTF-8"';

/** Characters of the header: the longest username and password encoded, many times over. [app_password_invalid] */
const HEADER_LENGTH_MAX = 1024;

/** Tells its failures from those of other ways to sign in. */
const REALM = 'app password';

export class BasicAuthentication {
  readonly #verify: (user: string, password: string) => string | undefined;
  readonly #limiter: Limiter;
  readonly #userOf: (address: string) => string | undefined;

  /**
   * `verify` says which app password of that person, who may come, it is, or undefined; `userOf` whose a calendar address is, since
   * clients that look a server up by an address sign in by it.
   */
  constructor(
    verify: (user: string, password: string) => string | undefined,
    limiter: Limiter,
    userOf: (address: string) => string | undefined,
  ) {
    this.#verify = verify;
    this.#limiter = limiter;
    this.#userOf = userOf;
  }

  /**
   * Whose credentials an `Authorization` header holds, and which of their app passwords.
   * @throws Refusal `token_missing` where there is none, `app_password_invalid`, `rate_limited`.
   */
  authenticate(
    authorization: string | undefined,
    address: string,
  ): { readonly user: string; readonly appPassword: string } {
    if (authorization === undefined || authorization === '') throw new Refusal('token_missing');
    const credentials = readBasic(authorization);
    if (credentials === undefined) throw new Refusal('app_password_invalid');
    const { password } = credentials;
    // Guesses at one person are counted together, by whichever name they are made.
    const known = credentials.user.includes('@') ? this.#userOf(`mailto:${credentials.user}`) : credentials.user;
    const user = known ?? credentials.user;
    const host = `${REALM}\0${hostOf(address)}`;
    const name = `${host}\0${user}`;
    this.#limiter.check('login_address', host);
    this.#limiter.check('login_name', name);
    const appPassword = known === undefined ? undefined : this.#verify(known, password);
    if (known !== undefined && appPassword !== undefined) return { user: known, appPassword };
    this.#limiter.spend('login_address', host);
    this.#limiter.spend('login_name', name);
    throw new Refusal('app_password_invalid');
  }
}

const utf8 = new TextDecoder('utf-8', { fatal: true });

/** A mail address as a name to sign in by; whose it is the directory says. */
const ADDRESS = /^[^\s:@]{1,64}@[^\s:@]{1,190}$/;

/** The username, or mail address, in lower case and the password of `Basic …`; undefined for anything else. */
function readBasic(header: string): { readonly user: string; readonly password: string } | undefined {
  const encoded =
    header.length > HEADER_LENGTH_MAX ? undefined : /^basic +([A-Za-z0-9+/]+={0,2}) *$/i.exec(header)?.[1];
  if (encoded === undefined) return undefined;
  let text: string;
  try {
    text = utf8.decode(Buffer.from(encoded, 'base64'));
  } catch {
    return undefined;
  }
  const colon = text.indexOf(':');
  // Telephones like to begin a username with a capital letter.
  const user = text.slice(0, Math.max(colon, 0)).toLowerCase();
  return USERNAME.test(user) || ADDRESS.test(user) ? { user, password: text.slice(colon + 1) } : undefined;
}
