/**
 * Session tokens: JWTs signed with HS256 under the newest key of the installation's ring, whose id they carry (`kid`, RFC 7515,
 * section 4.1.4), verified anywhere without a look-up.
 *
 * The whole header of a token has to be that of a key that is known, so `alg: none` and key confusion have nothing to work
 * with, and nothing about a token that is not ours can throw: it is `token_invalid`.
 */
import { createSigner, createVerifier } from 'fast-jwt';
import { isId } from '#src/base/ids.ts';
import { USERNAME } from '#src/protocol/names.ts';
import type { SessionClaims } from '#src/protocol/sessions/sessions.ts';
import type { Retirement, SigningKeys } from '#storage/accounts/signing-keys.ts';

export type { SessionClaims } from '#src/protocol/sessions/sessions.ts';

/** Ours have about 350 characters. A longer text is refused before anything is computed over it. */
const TOKEN_LENGTH_MAX = 1024;

export type Verified =
  | { readonly claims: SessionClaims; readonly refuse?: undefined }
  | { readonly refuse: 'token_invalid'; readonly claims?: undefined }
  /** Signed by us, and its time is over: the claims say what may be renewed. */
  | { readonly refuse: 'token_expired'; readonly claims: SessionClaims };

interface Verifier {
  readonly read: (token: string) => unknown;
  readonly retired: Retirement | null;
}

const NO_CLAIMS: SessionClaims = { sub: '', sid: '', dev: '', exp: 0, iat: 0, rnw: 0 };

export class SessionTokens {
  #sign: (claims: SessionClaims) => string = () => '';
  /** The first part of a token, as a key's signer writes it, → what verifies the rest. */
  #verifiers = new Map<string, Verifier>();

  constructor(keys: SigningKeys) {
    this.use(keys);
  }

  /** Signs with the first of these keys and verifies by all of them from now on. */
  use(keys: SigningKeys): void {
    const all = keys.map(({ id, key, retired }) => {
      const secret = Buffer.from(key);
      const sign = createSigner({ algorithm: 'HS256', key: secret, ...(id === '' ? {} : { kid: id }) });
      // Expiry is judged below against the caller's clock, and the threads cache what was verified by themselves.
      const read = createVerifier({ algorithms: ['HS256'], key: secret, cache: false, ignoreExpiration: true });
      return { sign, head: headOf(sign(NO_CLAIMS)), verifier: { read, retired } };
    });
    this.#sign = all[0]?.sign as (claims: SessionClaims) => string;
    this.#verifiers = new Map(all.map(({ head, verifier }) => [head, verifier]));
  }

  /** The token of a session. `exp`, `iat` and `rnw` are Unix seconds (TIM-02). */
  sign(claims: SessionClaims): string {
    const { enrolling, sub, sid, dev, exp, iat, rnw } = claims;
    return this.#sign({ sub, sid, dev, exp, iat, rnw, ...(enrolling === undefined ? {} : { enrolling }) });
  }

  /** The claims of a token of ours, or why it is refused. A token is valid before the second that `exp` names. */
  verify(token: string, nowSeconds: number): Verified {
    const verifier = token.length > TOKEN_LENGTH_MAX ? undefined : this.#verifiers.get(headOf(token));
    if (verifier === undefined) return { refuse: 'token_invalid' };
    let payload: unknown;
    try {
      payload = verifier.read(token);
    } catch {
      return { refuse: 'token_invalid' };
    }
    const claims = readClaims(payload);
    if (claims === undefined) return { refuse: 'token_invalid' };
    const { retired } = verifier;
    // Whoever stole a key that was retired for it can neither make what is newer nor what lasts.
    if (retired !== null && (retired.keptUntil <= nowSeconds || claims.iat > retired.signedUntil)) {
      return { refuse: 'token_invalid' };
    }
    if (retired !== null) claims.exp = Math.min(claims.exp, retired.validUntil);
    return claims.exp > nowSeconds ? { claims } : { refuse: 'token_expired', claims };
  }
}

function headOf(token: string): string {
  return token.slice(0, token.indexOf('.'));
}

/** The claims of a session; whatever else a payload holds is left behind. */
function readClaims(payload: unknown): SessionClaims | undefined {
  if (typeof payload !== 'object' || payload === null) return undefined;
  const { enrolling, sub, sid, dev, exp, iat, rnw } = payload as Record<keyof SessionClaims, unknown>;
  if (typeof sub !== 'string' || !USERNAME.test(sub)) return undefined;
  if (typeof sid !== 'string' || !isId('s', sid)) return undefined;
  if (typeof dev !== 'string' || !isId('d', dev)) return undefined;
  if (!isSeconds(exp) || !isSeconds(iat) || !isSeconds(rnw) || exp > rnw) return undefined;
  // Whatever it says there, it is no token that may do everything.
  return { sub, sid, dev, exp, iat, rnw, ...(enrolling === undefined ? {} : { enrolling: true }) };
}

function isSeconds(value: unknown): value is number {
  return Number.isSafeInteger(value) && (value as number) >= 0;
}
