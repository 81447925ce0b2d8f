/** Tells the messaging threads what happened to people, sessions, groups and policies. */
import type { Supervisor } from '#actors/runtime/supervisor.ts';
import type { SessionAnnouncer } from '#src/auth/revocations.ts';
import type { BotSnapshot } from '#src/protocol/bots.ts';

/**
 * A shard that has not taken a revocation or the policies by then hangs; the answer goes out, and /healthz names the
 * shard.
 */
const ANNOUNCED_MILLIS = 2_000;

export function makeShardAnnouncer(supervisor: Supervisor): SessionAnnouncer {
  return {
    revoked: (revocations) => supervisor.askAll('@revoked', revocations, ANNOUNCED_MILLIS),
    renewed: (sid, exp) => supervisor.tellAll('@renewed', [sid, exp]),
    directoryChanged: (user, rev) => supervisor.tellAll('@directory', [user, rev]),
    groupChanged: (group, rev) => supervisor.tellAll('@group', [group, rev]),
    policiesChanged: (snapshot) => supervisor.askAll('@policies', snapshot, ANNOUNCED_MILLIS),
    guestRecoveryRequested: (inviter) => supervisor.tellAll('@recovery', inviter),
  };
}

/** Hands the bots to every messaging thread; resolves when each decides by them, or is known to be gone. */
export function makeBotAnnouncer(supervisor: Supervisor): (snapshot: BotSnapshot) => Promise<void> {
  return (snapshot) => supervisor.askAll('@bots', snapshot, ANNOUNCED_MILLIS);
}
