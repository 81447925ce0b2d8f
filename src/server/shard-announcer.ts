/** Tells the messaging threads what happened to people, sessions, groups and policies. */
import type { PushMessage } from '#actors/push/push.messages.ts';
import { valueOf, type AskBody, type AskedName } from '#actors/runtime/thread-services.ts';
import type { ShardServices, ShardSupervisor } from '#src/messaging/thread-services.ts';
import type { SessionAnnouncer } from '#src/identity/credentials/revocations.ts';
import type { BotSnapshot } from '#src/protocol/bots/bots.ts';
import type { ReminderData } from '#src/protocol/sockets/events.ts';
import type { Certificate } from '#src/tls/certificate.ts';
import { useRetention, type RetentionRule } from '#storage/conversations/retention.ts';

/**
 * A shard that has not taken a revocation or the policies by then hangs; the answer goes out, and /healthz names the
 * shard.
 */
const ANNOUNCED_MILLIS = 2_000;
/** A shard counts for 8 seconds at most. */
const COUNTED_MILLIS = 10_000;

/** `memberships` are this thread's, and go by a change of a group before anybody is answered. */
export function makeShardAnnouncer(
  supervisor: ShardSupervisor,
  memberships: { changed(group: string): void },
): SessionAnnouncer {
  return {
    revoked: async (revocations) =>
      void (await supervisor.askShards('sessions.revoked', { revocations }, ANNOUNCED_MILLIS)),
    renewed: (renewal) => supervisor.tellShards('session.renewed', renewal),
    directoryChanged: (user, rev) => supervisor.tellShards('directory.changed', { user, rev }),
    avatarChanged: (user, rev) => supervisor.tellShards('avatar.changed', { user, rev }),
    groupChanged: (group, rev) => {
      memberships.changed(group);
      supervisor.tellShards('group.changed', { group, rev });
    },
    unitChanged: (unit) => supervisor.tellShards('unit.changed', { unit }),
    policiesChanged: async (snapshot) =>
      void (await supervisor.askShards('policies.changed', snapshot, ANNOUNCED_MILLIS)),
    guestRecoveryRequested: (inviter) => supervisor.tellShards('guestRecovery.requested', { inviter }),
    meetingChanged: (people, news) => supervisor.tellShards('meeting.changed', { people, news }),
  };
}

/** Hands a change to every messaging thread; resolves when each goes by it, or is known to be gone. */
type Announcer<Change> = (change: Change) => Promise<void>;

/**
 * What every messaging thread goes by beside sessions, people and policies. One that hangs is told with its restart.
 */
export function makeChangeAnnouncers(supervisor: ShardSupervisor) {
  type Changes = ShardServices;
  const announcer =
    <N extends AskedName<Changes>>(name: N): Announcer<AskBody<Changes, N>> =>
    async (body) =>
      void (await supervisor.askShards(name, body, ANNOUNCED_MILLIS));
  const announceRule = announcer('retention.changed');
  return {
    announceBots: async (bots: BotSnapshot) => await announcer('bots.changed')({ bots }),
    /** @throws Error where a shard did not take it, or did not answer. */
    announceCertificate: async (certificate: Certificate) => {
      const answers = await supervisor.askShards('certificate.changed', certificate, ANNOUNCED_MILLIS);
      const refused = answers.findIndex(({ ok }) => !ok);
      if (refused !== -1) throw new Error(`shard-${refused} did not take the certificate`);
    },
    announceHosts: announcer('hosts.changed'),
    announceMediaServers: announcer('mediaServers.changed'),
    announceObjectStore: announcer('objectStore.changed'),
    announceSigningKeys: announcer('signingKeys.changed'),
    announcePush: announcer('pushCredentials.changed'),
    announceQuotas: announcer('quotas.changed'),
    announceSealing: announcer('sealing.changed'),
    /** @throws Refusal `unavailable` where a shard is restarting or did not answer: what it has would be left out. */
    countExpiring: async (seconds: number) => {
      const answers = await supervisor.askShards('retention.count', { seconds }, COUNTED_MILLIS);
      const counts = answers.map((answer) => valueOf(answer));
      return {
        messages: counts.reduce((sum, { messages }) => sum + messages, 0),
        conversations: counts.reduce((sum, { conversations }) => sum + conversations, 0),
        complete: counts.every(({ complete }) => complete),
      };
    },
    announceRetention: async (rule: RetentionRule) => {
      // This thread reads messages, too.
      useRetention(rule);
      await announceRule(rule);
    },
  };
}

/** What the sockets of people are told of a calendar: that it changed, of another time proposed, or that an alarm is due (SOC-04). */
type ToldOfCalendar =
  | { readonly users: readonly string[]; readonly calendar: string; readonly syncSeq: number }
  | { readonly users: readonly string[]; readonly proposal: { readonly calendar: string; readonly entry: string } }
  | { readonly user: string; readonly reminder: ReminderData };

/**
 * Tells the sockets of these people; a reminder goes to the devices that push reaches as well, and is there when it resolves.
 * @throws Error when the thread of a person's pushes does not take it.
 */
export function makeCalendarAnnouncer(supervisor: ShardSupervisor): (told: ToldOfCalendar) => Promise<void> {
  return async (told) => {
    if ('calendar' in told) return supervisor.tellShards('calendar.changed', told);
    if ('proposal' in told) return supervisor.tellShards('proposal.changed', { users: told.users, ...told.proposal });
    const { reminder, user } = told;
    const remind: PushMessage = { kind: 'remind', reminder };
    const answer = await supervisor.ask(`push:${user}`, remind, ANNOUNCED_MILLIS);
    if (!answer.ok) throw new Error(`A reminder could not be pushed: ${answer.code}.`);
    return supervisor.tellShards('reminder.due', told);
  };
}
