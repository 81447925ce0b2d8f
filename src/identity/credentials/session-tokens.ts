/**
 * Session tokens: JWTs signed with HS256 under the installation's session key, verified anywhere without a look-up.
 *
 * The algorithm is pinned, so `alg: none` and key confusion have nothing to work with, and nothing about a token that
 * is not ours can throw: it is `token_invalid`.
 */
import { createSigner, createVerifier } from 'fast-jwt';
import { isId } from '#src/base/ids.ts';
import { USERNAME } from '#src/protocol/names.ts';
import type { SessionClaims } from '#src/protocol/sessions/sessions.ts';

export type { SessionClaims } from '#src/protocol/sessions/sessions.ts';

/** Ours have about 300 characters. A longer text is refused before anything is computed over it. */
const TOKEN_LENGTH_MAX = 1024;

export type Verified =
  | { readonly claims: SessionClaims; readonly refuse?: undefined }
  | { readonly refuse: 'token_invalid'; readonly claims?: undefined }
  /** Signed by us, and its time is over: the claims say what may be renewed. */
  | { readonly refuse: 'token_expired'; readonly claims: SessionClaims };

export class SessionTokens {
  readonly #sign: (claims: SessionClaims) => string;
  readonly #verify: (token: string) => unknown;

  /** `key` is the installation's session key, 32 random bytes. */
  constructor(key: Uint8Array) {
    const secret = Buffer.from(key);
    this.#sign = createSigner({ algorithm: 'HS256', key: secret });
    // Expiry is judged below against the caller's clock, and the threads cache what was verified by themselves.
    this.#verify = createVerifier({ algorithms: ['HS256'], key: secret, cache: false, ignoreExpiration: true });
  }

  /** The token of a session. `exp`, `iat` and `rnw` are Unix seconds (TIM-02). */
  sign(claims: SessionClaims): string {
    const { sub, sid, dev, exp, iat, rnw } = claims;
    return this.#sign({ sub, sid, dev, exp, iat, rnw });
  }

  /** The claims of a token of ours, or why it is refused. A token is valid before the second that `exp` names. */
  verify(token: string, nowSeconds: number): Verified {
    if (token.length > TOKEN_LENGTH_MAX) return { refuse: 'token_invalid' };
    let payload: unknown;
    try {
      payload = this.#verify(token);
    } catch {
      return { refuse: 'token_invalid' };
    }
    const claims = readClaims(payload);
    if (claims === undefined) return { refuse: 'token_invalid' };
    return claims.exp > nowSeconds ? { claims } : { refuse: 'token_expired', claims };
  }
}

/** The six claims of a session; whatever else a payload holds is left behind. */
function readClaims(payload: unknown): SessionClaims | undefined {
  if (typeof payload !== 'object' || payload === null) return undefined;
  const { sub, sid, dev, exp, iat, rnw } = payload as Record<keyof SessionClaims, unknown>;
  if (typeof sub !== 'string' || !USERNAME.test(sub)) return undefined;
  if (typeof sid !== 'string' || !isId('s', sid)) return undefined;
  if (typeof dev !== 'string' || !isId('d', dev)) return undefined;
  if (!isSeconds(exp) || !isSeconds(iat) || !isSeconds(rnw) || exp > rnw) return undefined;
  return { sub, sid, dev, exp, iat, rnw };
}

function isSeconds(value: unknown): value is number {
  return Number.isSafeInteger(value) && (value as number) >= 0;
}
