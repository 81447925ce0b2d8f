/** What a shard's thread is started with: plain data, because it crosses threads. */
import type { LimiterMemory } from '#src/limits/bucket-table.ts';
import type { CallRecord } from '#actors/call/call-record.ts';
import type { Config } from '#src/config.ts';
import type { ObjectStoreSettings } from '#src/protocol/attachments/attachments.ts';
import type { BotSnapshot } from '#src/protocol/bots/bots.ts';
import type { MediaServers } from '#src/protocol/calls/calls.ts';
import type { PolicySnapshot } from '#src/protocol/directory/policy-decision.ts';
import type { PushCredentials } from '#src/protocol/push/push.ts';
import type { QuotaLimits } from '#src/protocol/quotas.ts';
import type { Certificate } from '#src/tls/certificate.ts';
import type { RetentionRule } from '#storage/conversations/retention.ts';
import type { RingsOfKeys } from '#storage/accounts/signing-keys.ts';
import type { DurableWords } from '#storage/engine/folder-logs.ts';
import type { AttachmentSealing } from '#storage/attachments/blob-sealing.ts';

export interface ShardData {
  readonly shard: number;
  readonly placement: { readonly shards: number; readonly lanes: number };
  readonly folder: string;
  /** Lanes that cannot be read, by their numbers. */
  readonly setAside: readonly number[];
  readonly config: Config;
  /** What the messaging port shows when the thread is started; changes are pushed. None: it speaks plain HTTP. */
  readonly certificate: Certificate | undefined;
  /** Addresses of the other hosts of the cluster. */
  readonly hosts: readonly string[];
  readonly epoch: string;
  /** What signs session tokens, and links to attachments and the tokens by which bots answer commands; changes are pushed. */
  readonly signingKeys: RingsOfKeys;
  /** The access policies as they stand when the thread is started; changes are pushed. */
  readonly policies: PolicySnapshot;
  /** The bots as they stand when the thread is started; changes are pushed. */
  readonly bots: BotSnapshot;
  /** What all threads count requests in. */
  readonly limits: LimiterMemory;
  /** The calls that were live here when the thread before this one died; none at the first start. */
  readonly calls: readonly CallRecord[];
  /** Whether this thread takes the place of one that died. */
  readonly isRestart: boolean;
  /** What pushes are sent with when the thread is started; changes are pushed. */
  readonly push: PushCredentials;
  /** The servers that media of calls go over when the thread is started; changes are pushed. */
  readonly mediaServers: MediaServers;
  /** How long messages are kept when the thread is started; changes are pushed. */
  readonly retention: RetentionRule;
  /** What people may use when the thread is started; changes are pushed. */
  readonly quotas: QuotaLimits;
  /** How contents of attachments are kept when the thread is started; changes are pushed. */
  readonly attachmentSealing: AttachmentSealing;
  /** The object store that contents may lie in when the thread is started; changes are pushed. */
  readonly objectStore: ObjectStoreSettings | null;
  /** Backups under way, while which no attachment is removed. */
  readonly backups: SharedArrayBuffer;
  /** How far the logs of the folder are durable. */
  readonly words: DurableWords;
  /** What ids are derived with: a direct conversation’s from its pair. */
  readonly idKey: Uint8Array;
  readonly origins: readonly string[];
  readonly startedAt: number;
  readonly version: string;
  readonly debugHooks: boolean;
}
