/**
 * Everything that the server's threads do for each other beside their actors: name → what it is asked or told with, and
 * what it answers. Facts that a thread has to go by are in the past (`sessions.revoked`); what is asked so is
 * answered when the thread goes by it.
 */
import type { ShownVendorToken } from '#src/protocol/sessions/shown-vendor-token.ts';
import type { CallChange } from '#actors/call/call-board.ts';
import type { CallRecord } from '#actors/call/call-record.ts';
import type { Supervisor } from '#actors/runtime/supervisor.ts';
import type { ThreadRuntime } from '#actors/runtime/thread-runtime.ts';
import type { Renewal, Revocation } from '#src/identity/credentials/revocations.ts';
import type { AttachmentServices, InfectedUpload, ObjectStoreSettings } from '#src/protocol/attachments/attachments.ts';
import type { BotAuditBatch, BotSnapshot } from '#src/protocol/bots/bots.ts';
import type { IntegrationServices } from '#src/protocol/bots/integrations.ts';
import type { MediaServers } from '#src/protocol/calls/calls.ts';
import type { ExpiringCount } from './conversations/retention-preview.ts';
import type { RetoldChanges } from './conversations/untold-changes.ts';
import type { PolicySnapshot } from '#src/protocol/directory/policy-decision.ts';
import type { MeetingNews } from '#src/protocol/meetings/meetings.ts';
import type { NearQuota } from '#src/limits/quotas.ts';
import type { QuotaLimits } from '#src/protocol/quotas.ts';
import type { PushCredentials } from '#src/protocol/push/push.ts';
import type { PresenceState, ReminderData } from '#src/protocol/sockets/events.ts';
import type { HealthReply } from '#src/telemetry/health-reply.ts';
import type { ThreadSnapshot } from '#src/telemetry/metrics.ts';
import type { RingsOfKeys } from '#storage/accounts/signing-keys.ts';
import type { Certificate } from '#src/tls/certificate.ts';
import type { AttachmentSealing } from '#storage/attachments/blob-sealing.ts';
import type { RetentionRule } from '#storage/conversations/retention.ts';

export interface ThreadServices {
  readonly main: MainServices;
  readonly shard: ShardServices;
}

/** A shard's thread among the others. */
export type ShardRuntime = ThreadRuntime<ThreadServices>;
/** The shards, as the main thread has them. */
export type ShardSupervisor = Supervisor<ThreadServices>;

/** What the main thread does for shards. */
export type MainServices = IntegrationServices & {
  /** Answers once it is on disk. @throws Refusal `busy`, `storage_full`. */
  'audit.writeBotFacts': { ask: BotAuditBatch; answer: null };
  'audit.writeInfection': { ask: InfectedUpload; answer: null };
  'health.read': { ask: { accept: string }; answer: HealthReply };

  'calls.changed': { tell: CallChange };
  /** Something happened there that subscriptions listen to. */
  'conversations.changed': { tell: { conversations: readonly string[] } };
  /** A line of the log that an operator should see. */
  'log.written': { tell: { line: string } };
  /** The object store cannot be used, for this reason; null: it can. */
  'objectStore.faulted': { tell: { fault: string | null } };
  /** Somebody is near a quota that is held there. */
  'quota.neared': { tell: NearQuota };
  /** A request that showed a vendor token was refused there. */
  'vendorTokens.refused': { tell: ShownVendorToken };
};

/** What a shard does for the main thread and the other shards. */
export type ShardServices = AttachmentServices & {
  'bots.changed': { ask: { bots: BotSnapshot }; answer: null };
  'certificate.changed': { ask: Certificate; answer: null };
  /** The other hosts of the cluster, which hand on what comes to them. */
  'hosts.changed': { ask: { addresses: readonly string[] }; answer: null };
  'mediaServers.changed': { ask: MediaServers; answer: null };
  'objectStore.changed': { ask: ObjectStoreSettings | null; answer: null };
  'policies.changed': { ask: PolicySnapshot; answer: null };
  'pushCredentials.changed': { ask: PushCredentials; answer: null };
  'quotas.changed': { ask: QuotaLimits; answer: null };
  'retention.changed': { ask: RetentionRule; answer: null };
  'sealing.changed': { ask: AttachmentSealing; answer: null };
  'signingKeys.changed': { ask: RingsOfKeys; answer: null };
  'sessions.revoked': { ask: { revocations: readonly Revocation[] }; answer: null };

  /** The live calls of this shard, the longest lasting first. */
  'calls.list': { ask: null; answer: readonly CallRecord[] };
  /** Those among them that the person may join or is in. */
  'calls.listFor': { ask: { user: string }; answer: readonly CallRecord[] };
  /** How many messages would go if all were kept for so many seconds, in the lanes of this shard. */
  'retention.count': { ask: { seconds: number }; answer: ExpiringCount };
  'metrics.read': { ask: null; answer: ThreadSnapshot };
  /** Those among these people whose presence is announced here. */
  'presence.list': { ask: { users: readonly string[] }; answer: readonly Presence[] };
  /** Lets go of sockets and requests, and answers whether every request was answered in time. */
  'shard.drain': { ask: null; answer: boolean };
  /** Has every upload that is written here let go of; answers when nothing is written any more. */
  'uploads.dropAll': { ask: null; answer: null };

  'calendar.changed': { tell: { users: readonly string[]; calendar: string; syncSeq: number } };
  /** Another time for an entry was proposed, answered or taken back. */
  'proposal.changed': { tell: { users: readonly string[]; calendar: string; entry: string } };
  /** Something of a person's account is another that they alone are told of. */
  'account.changed': { tell: { user: string; rev: number } };
  'avatar.changed': { tell: { user: string; rev: number } };
  /** A shard is back, and these changes may have been told by none before it. */
  'changes.retold': { tell: RetoldChanges };
  'directory.changed': { tell: { user: string; rev: number } };
  'group.changed': { tell: { group: string; rev: number } };
  /** A guest whom this person invited cannot sign in (GST-05). */
  'guestRecovery.requested': { tell: { inviter: string } };
  /** People are to hear of a meeting that they host, take part in or wait for. */
  'meeting.changed': { tell: { people: readonly string[]; news: MeetingNews } };
  /** People's presence was announced by their actors, who take part in these large rooms. */
  'presence.announced': { tell: { people: readonly Presence[]; rooms: readonly string[] } };
  /** A device of that person registered the address of this name. */
  'pushAddress.taken': { tell: { name: string; user: string } };
  /** A person is to be told that they are near a quota. */
  'quotaWarning.due': { tell: NearQuota };
  'reminder.due': { tell: { user: string; reminder: ReminderData } };
  'session.renewed': { tell: Renewal };
  'unit.changed': { tell: { unit: string } };
  /** Fails the shard, where the hooks of tests are on. */
  'shard.crash': { tell: null };
  /** A newer request of the same client wants the upload: whoever writes it under this lease lets go. */
  'upload.drop': { tell: { id: string; lease: string } };
};

export interface Presence {
  readonly user: string;
  readonly state: PresenceState;
}
