/**
 * Challenges of passkeys: each is good for one purpose, five minutes and one use. They are not stored: a challenge carries its
 * end and a tag over both and its purpose, under a key of this start, so that nobody fills a memory by asking for
 * them. Those that were used are remembered until they end; only who signed one gets there.
 *
 *     16 random bytes │ end, Unix seconds, 4 │ HMAC-SHA-256, 16
 */
import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto';
import { unixSeconds } from '#src/base/clock.ts';

/** As long as browsers let a person look for their key. */
export const CHALLENGE_SECONDS = 300;

const RANDOM_BYTES = 16;
const END_BYTES = 4;
const TAG_BYTES = 16;

/** What a challenge is for: a kind of sign-in, or a change in one session. */
export type ChallengePurpose =
  `${'sign-in' | 'second-factor' | 'proof' | 'registration' | 'console' | 'step-up'}:${string}`;

export class WebauthnChallenges {
  readonly #key = randomBytes(32);
  /** Used challenge → its end, Unix seconds; the oldest first. */
  readonly #used = new Map<string, number>();

  /** A challenge of that purpose, base64url. */
  make(purpose: ChallengePurpose, nowMillis: number): string {
    const head = Buffer.concat([randomBytes(RANDOM_BYTES), Buffer.alloc(END_BYTES)]);
    head.writeUInt32BE(unixSeconds(nowMillis) + CHALLENGE_SECONDS, RANDOM_BYTES);
    return Buffer.concat([head, this.#tag(head, purpose)]).toString('base64url');
  }

  /** Whether it is one of that purpose that has neither ended nor been used. */
  isGood(challenge: string, purpose: ChallengePurpose, nowMillis: number): boolean {
    const bytes = Buffer.from(challenge, 'base64url');
    if (bytes.length !== RANDOM_BYTES + END_BYTES + TAG_BYTES || bytes.toString('base64url') !== challenge)
      return false;
    const head = bytes.subarray(0, RANDOM_BYTES + END_BYTES);
    const isOurs = timingSafeEqual(bytes.subarray(RANDOM_BYTES + END_BYTES), this.#tag(head, purpose));
    return isOurs && head.readUInt32BE(RANDOM_BYTES) > unixSeconds(nowMillis) && !this.#used.has(challenge);
  }

  /** Uses a good one; false for one that is not, or was used by somebody at the same time. */
  use(challenge: string, purpose: ChallengePurpose, nowMillis: number): boolean {
    if (!this.isGood(challenge, purpose, nowMillis)) return false;
    const now = unixSeconds(nowMillis);
    for (const [used, end] of this.#used) {
      if (end > now) break;
      this.#used.delete(used);
    }
    this.#used.set(challenge, now + CHALLENGE_SECONDS);
    return true;
  }

  #tag(head: Buffer, purpose: string): Buffer {
    return createHmac('sha256', this.#key).update(head).update(purpose).digest().subarray(0, TAG_BYTES);
  }
}
