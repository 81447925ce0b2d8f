/** Tells the messaging threads what happened to people, sessions, groups and policies. */
import type { PushMessage } from '#actors/push/push.messages.ts';
import type { Supervisor } from '#actors/runtime/supervisor.ts';
import type { SessionAnnouncer } from '#src/identity/credentials/revocations.ts';
import type { BotSnapshot } from '#src/protocol/bots/bots.ts';
import type { ReminderData } from '#src/protocol/sockets/events.ts';
import type { MediaServers } from '#src/protocol/calls/calls.ts';
import type { PushCredentials } from '#src/protocol/push/push.ts';
import type { AttachmentSealing } from '#storage/attachments/blob-sealing.ts';
import { useRetention, type RetentionRule } from '#storage/conversations/retention.ts';

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

/** Hands what seals attachments to every messaging thread, and has it forget what it had before. */
export function makeSealingAnnouncer(supervisor: Supervisor): (sealing: AttachmentSealing) => Promise<void> {
  return (sealing) => supervisor.askAll('@sealing', sealing, ANNOUNCED_MILLIS);
}

/** Hands the rule of retention to every thread that reads messages, this one too. */
function makeRetentionAnnouncer(supervisor: Supervisor): (rule: RetentionRule) => Promise<void> {
  return (rule) => {
    useRetention(rule);
    return supervisor.askAll('@retention', rule, ANNOUNCED_MILLIS);
  };
}

/** Hands what pushes are sent with to every messaging thread. One that hangs is told with its restart. */
export function makePushAnnouncer(supervisor: Supervisor): (credentials: PushCredentials) => void {
  return (credentials) => void supervisor.askAll('@push', credentials, ANNOUNCED_MILLIS);
}

/** Hands the servers for media of calls to every messaging thread, like what pushes are sent with. */
export function makeMediaServersAnnouncer(supervisor: Supervisor): (servers: MediaServers) => void {
  return (servers) => void supervisor.askAll('@mediaServers', servers, ANNOUNCED_MILLIS);
}

/** What the sockets of people are told of a calendar: that it changed, or that an alarm is due (SOC-04). */
type ToldOfCalendar =
  | { readonly users: readonly string[]; readonly calendar: string; readonly syncSeq: number }
  | { readonly user: string; readonly reminder: ReminderData };

/**
 * Tells the sockets of these people; a reminder goes to the devices that push reaches as well, and is there when it resolves.
 * @throws Error when the thread of a person's pushes does not take it.
 */
export function makeCalendarAnnouncer(supervisor: Supervisor): (told: ToldOfCalendar) => Promise<void> {
  return async (told) => {
    if ('calendar' in told) return supervisor.tellAll('@calendar', [told.users, told.calendar, told.syncSeq]);
    const { reminder, user } = told;
    const remind: PushMessage = { kind: 'remind', reminder };
    const answer = await supervisor.ask(`push:${user}`, remind, ANNOUNCED_MILLIS);
    if (!answer.ok) throw new Error(`A reminder could not be pushed: ${answer.code}.`);
    return supervisor.tellAll('@reminder', [user, reminder]);
  };
}

/** Hands the bots to every messaging thread; resolves when each decides by them, or is known to be gone. */
function makeBotAnnouncer(supervisor: Supervisor): (snapshot: BotSnapshot) => Promise<void> {
  return (snapshot) => supervisor.askAll('@bots', snapshot, ANNOUNCED_MILLIS);
}

/** What the management plane hands to the threads: each resolves when all of them go by it, or are known to be gone. */
export function makeManagementAnnouncers(supervisor: Supervisor) {
  return { announceBots: makeBotAnnouncer(supervisor), announceRetention: makeRetentionAnnouncer(supervisor) };
}
