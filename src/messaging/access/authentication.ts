/**
 * Who is asking: the session behind a token, settled on the shard alone. A signature is checked once per token and
 * remembered, and so is that the session is there: a token that nobody was given is refused however well it is signed. What
 * was revoked later is pushed here by the coordinator.
 */
import { isSuperseded, tokenBounds, type TokenBounds } from '#src/identity/credentials/refresh-tokens.ts';
import type { Revocations } from '#src/identity/credentials/revocations.ts';
import type { SessionTokens } from '#src/identity/credentials/session-tokens.ts';
import { Refusal } from '#src/protocol/errors.ts';
import type { SessionClaims } from '#src/protocol/sessions/sessions.ts';
import type { LiveSession } from '#storage/accounts/account-records.ts';
import type { SigningKeys } from '#storage/accounts/signing-keys.ts';

/**
 * Verified tokens remembered per shard: some 30 MB when full. Beyond it the oldest half is forgotten and verified
 * again when it comes, at about 10 µs each.
 */
export const REMEMBERED_TOKENS_MAX = 50_000;

/**
 * The session of a token, if it is the one that its device has now and its person may come: read from the accounts, once per
 * token.
 */
export type FindSession = (claims: SessionClaims) => LiveSession | undefined;

interface Remembered {
  readonly claims: SessionClaims;
  /** Shared by the tokens of a session, so that a renewal reaches all of them at once. */
  readonly bounds: TokenBounds;
}

export class Authentication {
  readonly #tokens: SessionTokens;
  readonly #revocations: Revocations;
  readonly #findSession: FindSession;
  readonly #remembered = new Map<string, Remembered>();
  /** Session → what its renewals left of its tokens; of every session that has a token in `#remembered`. */
  readonly #bounds = new Map<string, TokenBounds>();

  constructor(tokens: SessionTokens, revocations: Revocations, findSession: FindSession) {
    this.#tokens = tokens;
    this.#revocations = revocations;
    this.#findSession = findSession;
  }

  /**
   * The claims of a session that is good now.
   * @throws Refusal token_missing, token_invalid, token_expired, session_revoked; two_factor_enrollment_required for one that
   * sets up a second factor and does nothing else.
   */
  authenticate(token: string | undefined, nowSeconds: number): SessionClaims {
    if (token === undefined || token === '') throw new Refusal('token_missing');
    const { bounds, claims } = this.#remembered.get(token) ?? this.#verify(token, nowSeconds);
    if (this.#revocations.has(claims.sid)) throw new Refusal('session_revoked');
    if (claims.exp <= nowSeconds || isSuperseded(claims.iat, bounds, nowSeconds)) throw new Refusal('token_expired');
    return claims;
  }

  /** A session was renewed, and its older tokens are over by these bounds. */
  renewed(sid: string, bounds: TokenBounds): void {
    const known = this.#bounds.get(sid);
    if (known !== undefined) Object.assign(known, bounds);
  }

  /** Signatures are judged by these keys from now on, those that were judged before too. */
  use(keys: SigningKeys): void {
    this.#tokens.use(keys);
    this.#remembered.clear();
    this.#bounds.clear();
  }

  #verify(token: string, nowSeconds: number): Remembered {
    const verified = this.#tokens.verify(token, nowSeconds);
    if (verified.refuse !== undefined) {
      if (verified.claims !== undefined && this.#revocations.has(verified.claims.sid)) {
        throw new Refusal('session_revoked');
      }
      throw new Refusal(verified.refuse);
    }
    const { claims } = verified;
    if (claims.enrolling === true) throw new Refusal('two_factor_enrollment_required');
    const session = this.#findSession(claims);
    if (session === undefined) throw new Refusal('session_revoked');
    if (this.#remembered.size >= REMEMBERED_TOKENS_MAX) this.#forgetOldest();
    const bounds = Object.assign(this.#bounds.get(claims.sid) ?? {}, tokenBounds(session));
    this.#bounds.set(claims.sid, bounds);
    const remembered = { claims, bounds };
    this.#remembered.set(token, remembered);
    return remembered;
  }

  #forgetOldest(): void {
    let left = REMEMBERED_TOKENS_MAX / 2;
    for (const token of this.#remembered.keys()) {
      if (left === 0) break;
      left -= 1;
      this.#remembered.delete(token);
    }
    this.#bounds.clear();
    for (const { bounds, claims } of this.#remembered.values()) this.#bounds.set(claims.sid, bounds);
  }
}

/** The token of an `Authorization: Bearer …` header, or undefined. The scheme's name has no case (RFC 9110, 11.1). */
export function bearerToken(header: string): string | undefined {
  return /^bearer +([\x21-\x7e]+)$/i.exec(header)?.[1];
}
