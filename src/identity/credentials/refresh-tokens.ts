/**
 * Refresh tokens: what renews a session, and is another one with every renewal, so that a stolen one shows (RFC 9700,
 * section 4.14.2). Stored as hashes.
 *
 *     rft~<username>~<session>~<family>~<secret>
 *                               │         └ another one with every rotation
 *                               └ the same for a session's life: proves that a wrong secret is an old one of ours
 *
 * The next secret is an HMAC of the one that was used, under random bytes that are stored: whoever repeats a renewal gets the
 * same answer, without the server knowing it.
 */
import { createHmac, randomBytes } from 'node:crypto';
import type { LiveSession, RefreshState } from '#storage/accounts/account-records.ts';
import { hashSecret, makeSecret, sameHash, SECRET_PATTERN } from './opaque-secrets.ts';

/**
 * How long what a rotation replaced is still taken, the refresh token and the session token before it: two tabs that renew at
 * the same moment, and an answer that was lost on the way, which a client asks for again after 15 seconds of waiting and five
 * more. There is one rotation in this time at most.
 */
export const GRACE_MILLIS = 30_000;

/**
 * How long after its end a token alone renews a session whose refresh token was never used: what a client that knows of none
 * gets, if it is opened every day. What somebody finds in an old log or on a sold disk renews nothing.
 */
export const TOKEN_ALONE_SECONDS = 86_400;

const SALT_BYTES = 32;
const TOKEN = new RegExp(
  `^rft~([a-z0-9][a-z0-9._-]{0,63})~(s_[0-9abcdefghjkmnpqrstvwxyz]{22})~(${SECRET_PATTERN})~(${SECRET_PATTERN})$`,
);

export interface RefreshToken {
  readonly username: string;
  readonly sid: string;
  readonly family: string;
  readonly secret: string;
}

/** The first refresh token of a session, and what is stored of it. */
export function makeRefreshToken(
  username: string,
  sid: string,
): { readonly token: string; readonly state: RefreshState } {
  const [family, secret] = [makeSecret(), makeSecret()];
  const state = { family: hashSecret(family), current: hashSecret(secret), rotated: undefined };
  return { token: textOf({ username, sid, family, secret }), state };
}

/** The parts of a text that could be a refresh token; undefined for any other. */
export function readRefreshToken(text: string): RefreshToken | undefined {
  const [, username, sid, family, secret] = TOKEN.exec(text) ?? [];
  if (username === undefined || sid === undefined || family === undefined || secret === undefined) return undefined;
  return { username, sid, family, secret };
}

/**
 * What comes of a refresh token at a moment, in milliseconds: none of the session's (`unknown`); one that was replaced and is
 * over (`reused`); the one to answer with, and what is to be stored if anything is.
 */
export type Refreshing =
  | { readonly refuse: 'unknown' | 'reused' }
  | { readonly refuse?: undefined; readonly token: string; readonly state: RefreshState | undefined };

export function refresh(state: RefreshState | undefined, given: RefreshToken, nowMillis: number): Refreshing {
  if (state === undefined || !sameHash(hashSecret(given.family), state.family)) return { refuse: 'unknown' };
  const { rotated } = state;
  const isInGrace = rotated !== undefined && nowMillis - rotated.at < GRACE_MILLIS;
  const hash = hashSecret(given.secret);
  if (!sameHash(hash, state.current)) {
    if (!isInGrace || !sameHash(hash, rotated.used)) return { refuse: 'reused' };
    return { token: textOf({ ...given, secret: nextSecret(given.secret, rotated.salt) }), state: undefined };
  }
  if (isInGrace) return { token: textOf(given), state: undefined };
  const salt = Uint8Array.from(randomBytes(SALT_BYTES));
  const secret = nextSecret(given.secret, salt);
  const turn = { used: hash, salt, at: nowMillis, before: rotated?.at ?? 0 };
  return { token: textOf({ ...given, secret }), state: { ...state, current: hashSecret(secret), rotated: turn } };
}

/** What the rotations of a session leave of its older tokens, in Unix seconds. */
export interface TokenBounds {
  /** Tokens of before this are over at `end`. */
  before: number;
  end: number;
  /** Tokens of before this are over. */
  dead: number;
}

export function tokenBounds({ refresh: state }: LiveSession): TokenBounds {
  if (state?.rotated === undefined) return { before: 0, end: 0, dead: 0 };
  const { at, before } = state.rotated;
  return {
    before: Math.floor(at / 1000),
    end: Math.ceil((at + GRACE_MILLIS) / 1000),
    dead: Math.floor(before / 1000),
  };
}

/** Whether a rotation has ended a token of that second. */
export function isSuperseded(iat: number, { before, dead, end }: TokenBounds, nowSeconds: number): boolean {
  return iat < before && (iat < dead || nowSeconds >= end);
}

function nextSecret(secret: string, salt: Uint8Array): string {
  return createHmac('sha256', salt).update(secret).digest('base64url');
}

function textOf({ family, secret, sid, username }: RefreshToken): string {
  return ['rft', username, sid, family, secret].join('~');
}
