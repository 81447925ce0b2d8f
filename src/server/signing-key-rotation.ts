/**
 * Rotation of the keys that sign (`parley keys rotate`): session tokens, and links to attachments with the tokens by which bots
 * answer commands. The key of web pushes stays, since each browser's registration is bound to it (RFC 8292, section 4.2), and
 * so does that of meetings' links, which people have in their calendars: a restore makes those anew.
 *
 *     on disk ──► every shard takes it ──► this thread signs by it ──life of what the old one signed──► the old one is deleted
 */
import { unixSeconds, type Clock } from '#src/base/clock.ts';
import { formatInstant } from '#src/base/time.ts';
import type { Config } from '#src/config.ts';
import { TOKEN_ALONE_SECONDS } from '#src/identity/credentials/refresh-tokens.ts';
import type { SessionTokens } from '#src/identity/credentials/session-tokens.ts';
import { LINK_SECONDS } from '#src/messaging/attachments/attachment-links.ts';
import { RESPONSE_TOKEN_MILLIS } from '#src/protocol/bots/commands.ts';
import { Refusal } from '#src/protocol/errors.ts';
import type { Accounts, AccountsDraft } from '#storage/accounts/accounts.ts';
import {
  KEY_RINGS,
  rotateKeyRing,
  trimKeyRing,
  type KeyRingName,
  type Retirement,
  type RingsOfKeys,
} from '#storage/accounts/signing-keys.ts';

/** Until every thread signs by the new key; one that hangs longer is started anew with it. */
const SWITCH_SECONDS = 5;

/** Keys of a ring: a rotation every three hours. One more would have every forged token tried for longer. [rate_limited] */
export const KEYS_PER_RING_MAX = 8;

/** How long it takes until the next rotation is let through, at most: the time that a retired key is kept. */
const FULL_RETRY_SECONDS = 3_600;

export interface KeyRotationOptions {
  readonly accounts: Accounts;
  readonly clock: Clock;
  readonly config: Pick<Config, 'sessionSeconds'>;
  readonly tokens: SessionTokens;
  /** Resolves when every shard goes by these keys, or is known to be gone. */
  readonly announce: (rings: RingsOfKeys) => Promise<void>;
}

/** What is said of a rotation: ids of the keys that sign now, and when the ones before are deleted (RFC 3339). */
export type KeyRotation = Readonly<Record<'session_key' | 'link_key' | 'sessions_until' | 'links_until', string>>;

/**
 * Makes new keys that sign. Those before verify what they signed for as long as it lasts, so that nobody is signed out; with
 * `atOnce`, after a leak, they verify nothing any more, and whoever has no refresh token signs in again.
 * @throws Refusal `rate_limited` where KEYS_PER_RING_MAX are kept; `busy`, `storage_full`.
 */
export async function rotateSigningKeys(options: KeyRotationOptions, atOnce: boolean): Promise<KeyRotation> {
  const { accounts, announce, clock, config, tokens } = options;
  const now = clock.now();
  const linkSeconds = Math.max(LINK_SECONDS, RESPONSE_TOKEN_MILLIS / 1_000);
  const retired: Readonly<Record<KeyRingName, Retirement>> = {
    session_keys: retirement(unixSeconds(now), config.sessionSeconds, TOKEN_ALONE_SECONDS),
    link_keys: retirement(unixSeconds(now), linkSeconds, 0),
  };
  const rotation = await accounts.change((draft) => {
    for (const ring of KEY_RINGS) rotate(draft, ring, atOnce ? undefined : retired[ring], unixSeconds(now));
    const until = (ring: KeyRingName) => formatInstant(atOnce ? now : retired[ring].keptUntil * 1_000);
    const details = {
      session_key: draft.signingKeys('session_keys')[0].id,
      link_key: draft.signingKeys('link_keys')[0].id,
      sessions_until: until('session_keys'),
      links_until: until('link_keys'),
    };
    draft.audit(now, { event: 'keys.rotated', actor: 'command', address: null, subject: null, details });
    return details;
  });
  const rings = ringsOf(accounts);
  await announce(rings);
  tokens.use(rings.session_keys);
  return rotation;
}

/** The keys of every ring as they are on disk. */
export function ringsOf(accounts: Pick<Accounts, 'signingKeys'>): RingsOfKeys {
  return { session_keys: accounts.signingKeys('session_keys'), link_keys: accounts.signingKeys('link_keys') };
}

/** `lifeSeconds` of what a key signed, and for how long after that it proves that something was ours. */
function retirement(now: number, lifeSeconds: number, keptSeconds: number): Retirement {
  const signedUntil = now + SWITCH_SECONDS;
  const validUntil = signedUntil + lifeSeconds;
  return { signedUntil, validUntil, keptUntil: validUntil + keptSeconds };
}

function rotate(draft: AccountsDraft, ring: KeyRingName, retired: Retirement | undefined, now: number): void {
  const kept = trimKeyRing(draft.signingKeys(ring), now);
  if (retired === undefined) {
    const [present] = rotateKeyRing(kept, { signedUntil: 0, validUntil: 0, keptUntil: 0 });
    return draft.putSigningKeys(ring, [present]);
  }
  if (kept.length >= KEYS_PER_RING_MAX) throw new Refusal('rate_limited', { retryAfter: FULL_RETRY_SECONDS });
  draft.putSigningKeys(ring, rotateKeyRing(kept, retired));
}
