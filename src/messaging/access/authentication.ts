/**
 * Who is asking: the session behind a token, settled on the shard alone. A signature is checked once per token and
 * remembered, and so is that the session is there: a token that nobody was given is refused however well it is signed. What
 * was revoked later is pushed here by the coordinator.
 */
import type { Revocations } from '#src/identity/credentials/revocations.ts';
import type { SessionTokens } from '#src/identity/credentials/session-tokens.ts';
import { Refusal } from '#src/protocol/errors.ts';
import type { SessionClaims } from '#src/protocol/sessions/sessions.ts';

/**
 * Verified tokens remembered per shard: some 30 MB when full. Beyond it the oldest half is forgotten and verified
 * again when it comes, at about 10 µs each.
 */
export const REMEMBERED_TOKENS_MAX = 50_000;

/** Whether a session is the one that its device has now, and its person may come: read from the accounts, once per token. */
export type IsLive = (claims: SessionClaims) => boolean;

export class Authentication {
  readonly #tokens: SessionTokens;
  readonly #revocations: Revocations;
  readonly #isLive: IsLive;
  readonly #remembered = new Map<string, SessionClaims>();

  constructor(tokens: SessionTokens, revocations: Revocations, isLive: IsLive) {
    this.#tokens = tokens;
    this.#revocations = revocations;
    this.#isLive = isLive;
  }

  /**
   * The claims of a session that is good now.
   * @throws Refusal token_missing, token_invalid, token_expired, session_revoked.
   */
  authenticate(token: string | undefined, nowSeconds: number): SessionClaims {
    if (token === undefined || token === '') throw new Refusal('token_missing');
    const claims = this.#remembered.get(token) ?? this.#verify(token, nowSeconds);
    if (this.#revocations.has(claims.sid)) throw new Refusal('session_revoked');
    if (claims.exp <= nowSeconds) throw new Refusal('token_expired');
    return claims;
  }

  #verify(token: string, nowSeconds: number): SessionClaims {
    const verified = this.#tokens.verify(token, nowSeconds);
    if (verified.refuse !== undefined) {
      if (verified.claims !== undefined && this.#revocations.has(verified.claims.sid)) {
        throw new Refusal('session_revoked');
      }
      throw new Refusal(verified.refuse);
    }
    if (!this.#isLive(verified.claims)) throw new Refusal('session_revoked');
    if (this.#remembered.size >= REMEMBERED_TOKENS_MAX) this.#forgetOldest();
    this.#remembered.set(token, verified.claims);
    return verified.claims;
  }

  #forgetOldest(): void {
    let left = REMEMBERED_TOKENS_MAX / 2;
    for (const token of this.#remembered.keys()) {
      if (left === 0) break;
      left -= 1;
      this.#remembered.delete(token);
    }
  }
}

/** The token of an `Authorization: Bearer …` header, or undefined. The scheme's name has no case (RFC 9110, 11.1). */
export function bearerToken(header: string): string | undefined {
  return /^bearer +([\x21-\x7e]+)$/i.exec(header)?.[1];
}
