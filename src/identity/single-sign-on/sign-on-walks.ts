/**
 * What a browser carries while somebody signs in at a provider, and the code of one use that an app exchanges then.
 * The walk lies sealed in a cookie of the browser that it began in, so that nobody can push out that of somebody else,
 * and each walk has a cookie of its own: two tabs do not disturb each other. The codes are kept in memory, for a minute.
 */
import { createHash } from 'node:crypto';
import * as oidc from 'openid-client';
import type { Clock } from '#src/base/clock.ts';
import { Refusal } from '#src/protocol/errors.ts';
import { makeKey, makeKeyId, seal, unseal } from '#storage/vault/sealing.ts';
import { hashSecret, makeSecret } from '../credentials/opaque-secrets.ts';
import type { ForeignAccount } from './person-identities.ts';
import { START_MILLIS } from './sso-tickets.ts';

/** What a walk is sealed as, so that nothing else that is sealed passes for one. */
const SEALED_AS = 'sign-on-walk';

/** How long an app may take to exchange its code: it has it as soon as its page is there (RFC 6749, section 4.1.2). */
export const CODE_MILLIS = 60_000;

/** Codes that wait to be exchanged, beyond which it is `busy`; and states that came back, of which the oldest goes. */
export const CODES_MAX = 10_000;

export interface Walk {
  readonly provider: string;
  readonly verifier: string;
  readonly nonce: string;
  readonly state: string;
  /** Milliseconds. */
  readonly startedAt: number;
  /** The app: where it is reached, its challenge, and what it says to itself. */
  readonly redirectUri: string;
  readonly challenge: string;
  readonly appState: string | undefined;
}

/** What a code of one use stands for. */
export interface Grant extends ForeignAccount {
  readonly username: string;
  readonly providerSid: string | undefined;
  readonly redirectUri: string;
  readonly challenge: string;
}

export class SignOnWalks {
  readonly #clock: Clock;
  /** Made at start: a walk does not outlive the process that began it. */
  readonly #key = makeKey();
  readonly #keyId = makeKeyId();
  /** States that came back already → until when they would be taken. */
  readonly #returned = new Map<string, number>();
  /** Hash of a code → what it stands for. */
  readonly #grants = new Map<string, Grant & { readonly until: number }>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  begin(walk: Pick<Walk, 'appState' | 'challenge' | 'provider' | 'redirectUri'>): Walk {
    return {
      ...walk,
      verifier: oidc.randomPKCECodeVerifier(),
      nonce: oidc.randomNonce(),
      state: oidc.randomState(),
      startedAt: this.#clock.now(),
    };
  }

  /** The cookie of a walk, by its name and its value. */
  cookieOf(walk: Walk): { readonly name: string; readonly value: string } {
    const sealed = seal(this.#key, this.#keyId, SEALED_AS, Buffer.from(JSON.stringify(walk)));
    return { name: cookieName(walk.state), value: sealed.toString('base64url') };
  }

  /**
   * The walk that a browser comes back from, which it does once.
   * @throws Refusal `sso_failed` for one that is over, came back before, was begun in another browser or at another
   * provider, or is made up.
   */
  return(provider: string, state: string, cookie: string | undefined): Walk {
    const walk = this.#open(valueOf(cookie, cookieName(state)));
    const now = this.#clock.now();
    if (walk === undefined || walk.state !== state || walk.provider !== provider) throw new Refusal('sso_failed');
    if (now >= walk.startedAt + START_MILLIS || this.#returned.has(state)) throw new Refusal('sso_failed');
    this.#forgetOldest();
    this.#returned.set(state, walk.startedAt + START_MILLIS);
    return walk;
  }

  /** A code for the app of a walk. @throws Refusal `busy`. */
  grant(grant: Grant): string {
    const now = this.#clock.now();
    makeRoom(this.#grants, ({ until }) => until <= now);
    const code = makeSecret();
    this.#grants.set(hashSecret(code), { ...grant, until: now + CODE_MILLIS });
    return code;
  }

  /**
   * What a code stands for; whoever shows it, rightly or wrongly, uses it up.
   * @throws Refusal `sso_code_invalid` for one that is over, was used, or is not of that verifier and address.
   */
  redeem(code: string, verifier: string, redirectUri: string): Grant {
    const hash = hashSecret(code);
    const grant = this.#grants.get(hash);
    this.#grants.delete(hash);
    const challenge = createHash('sha256').update(verifier).digest('base64url');
    const isRight = grant !== undefined && grant.challenge === challenge && grant.redirectUri === redirectUri;
    if (!isRight || this.#clock.now() >= grant.until) throw new Refusal('sso_code_invalid');
    return grant;
  }

  /** Forgets codes that are not to be exchanged any more. */
  forget(isMeant: (grant: Grant) => boolean): void {
    for (const [hash, grant] of this.#grants) if (isMeant(grant)) this.#grants.delete(hash);
  }

  /**
   * Makes room for a state. Anybody can bring states back, from few addresses, so a full table forgets instead of
   * refusing: a walk that would come back again has no second code, which its provider gives once.
   */
  #forgetOldest(): void {
    const [oldest] = this.#returned.keys();
    if (this.#returned.size >= CODES_MAX && oldest !== undefined) this.#returned.delete(oldest);
  }

  #open(text: string | undefined): Walk | undefined {
    if (text === undefined) return undefined;
    try {
      const clear = unseal(this.#key, SEALED_AS, Buffer.from(text, 'base64url'));
      return JSON.parse(Buffer.from(clear).toString('utf8')) as Walk;
    } catch {
      // Made up, changed, or given by an earlier process.
      return undefined;
    }
  }
}

/** The name of a walk's cookie: the state itself is nobody's business but the provider's and the walk's. */
export function cookieName(state: string): string {
  return `parley_sso_${createHash('sha256').update(state).digest('hex').slice(0, 16)}`;
}

function valueOf(header: string | undefined, name: string): string | undefined {
  const pairs = (header ?? '').split(';').map((pair) => pair.trim());
  return pairs.find((pair) => pair.startsWith(`${name}=`))?.slice(name.length + 1);
}

/** @throws Refusal `busy` where nothing of a full table is over. */
function makeRoom<T>(table: Map<string, T>, isOver: (value: T) => boolean): void {
  if (table.size < CODES_MAX) return;
  for (const [key, value] of table) if (isOver(value)) table.delete(key);
  if (table.size >= CODES_MAX) throw new Refusal('busy');
}
