/** What a shard does for the main thread and the other shards: what they ask of it and tell it, by name. */
import { CALLS_LISTED_MAX, type CallBoard } from '#actors/call/call-board.ts';
import type { CallRecord } from '#actors/call/call-record.ts';
import type { ServiceHandlers } from '#actors/runtime/thread-services.ts';
import type { SignatureKeys } from '#src/identity/credentials/signature-keys.ts';
import type { Revocations } from '#src/identity/credentials/revocations.ts';
import { unixSeconds } from '#src/base/clock.ts';
import type { TrustedProxies } from '#src/limits/trusted-proxies.ts';
import type { MediaServers } from '#src/protocol/calls/calls.ts';
import { encodeEvent, type EventType } from '#src/protocol/sockets/events.ts';
import type { QuotaGate } from '#src/limits/quotas.ts';
import type { ThreadMetrics } from '#src/telemetry/thread-metrics.ts';
import type { AccessChecks } from './access/access-checks.ts';
import type { RightsWatch } from './access/rights-watch.ts';
import type { Authentication } from './access/authentication.ts';
import type { ActivityNotifier } from './activity-notifier.ts';
import type { AttachmentClient } from './attachments/attachment-client.ts';
import type { BotAccess } from './bots/bot-access.ts';
import { countExpiringIn } from './conversations/retention-preview.ts';
import type { RoomPresence } from './conversations/room-presence.ts';
import type { RetentionSweep } from './conversations/retention-sweep.ts';
import type { Listener } from './listener.ts';
import type { PushDispatch } from './push/push-dispatch.ts';
import type { SocketHub } from './sockets/socket-hub.ts';
import type { ShardServices } from './thread-services.ts';
import type { Lanes } from '#storage/engine/lanes.ts';

/** What of a shard others have to do with. */
export interface ShardParts {
  readonly access: AccessChecks;
  readonly activity: ActivityNotifier;
  readonly attachments: AttachmentClient;
  readonly authentication: Authentication;
  readonly board: CallBoard;
  readonly bots: BotAccess;
  /** The live calls here that the person may join or is in. */
  readonly callsOf: (user: string) => CallRecord[];
  /** Takes out of the live calls here who came in by a session that is over. */
  readonly leaveCalls: (sids: ReadonlySet<string>) => void;
  readonly hub: SocketHub;
  /** What signs links and the tokens by which bots answer commands. */
  readonly linkKeys: SignatureKeys;
  readonly lanes: Pick<Lanes, 'owned'>;
  readonly listener: Listener;
  /** The servers that media of calls go over, as they stand now. */
  readonly media: { servers: MediaServers };
  readonly metrics: ThreadMetrics;
  readonly presence: RoomPresence;
  /** Whose word on where a request came from is believed. */
  readonly proxies: TrustedProxies;
  readonly pushes: PushDispatch;
  readonly quotas: QuotaGate;
  readonly retention: RetentionSweep;
  readonly revocations: Revocations;
  readonly rightsWatch: RightsWatch;
  readonly drain: () => Promise<boolean>;
  /** Fails the shard, where the hooks of tests are on. */
  readonly crash: () => void;
  readonly now: () => number;
}

export function makeShardServices(parts: ShardParts): ServiceHandlers<ShardServices> {
  const {
    access,
    attachments,
    board,
    callsOf,
    crash,
    drain,
    lanes,
    listener,
    media,
    metrics,
    presence,
    proxies,
    pushes,
    quotas,
    retention,
    rightsWatch,
  } = parts;
  return {
    ...attachments.services,
    ...sessionServices(parts),
    ...eventServices(parts),
    'certificate.changed': (certificate) => listener.renew(certificate),
    'hosts.changed': ({ addresses }) => proxies.setHosts(addresses),
    'mediaServers.changed': (servers) => {
      media.servers = servers;
    },
    'objectStore.changed': (settings) => attachments.useStore(settings),
    'policies.changed': (snapshot) => {
      access.replace(snapshot);
      rightsWatch.changed();
    },
    'pushCredentials.changed': (credentials) => pushes.use(credentials),
    'quotas.changed': (limits) => quotas.use(limits),
    'retention.changed': (rule) => retention.use(rule),
    'retention.count': async ({ seconds }) => await countExpiringIn(lanes, seconds),
    'sealing.changed': (sealing) => {
      attachments.keep(sealing);
      rightsWatch.changed();
    },
    'calls.list': () => board.list(CALLS_LISTED_MAX),
    'calls.listFor': ({ user }) => callsOf(user),
    'metrics.read': () => metrics.snapshot(),
    'presence.announced': ({ people, rooms }) => presence.note(people, rooms),
    'presence.list': ({ users }) => pushes.attention.announced(users),
    'pushAddress.taken': ({ name, user }) => pushes.addressTaken(name, user),
    'shard.crash': crash,
    'shard.drain': drain,
  };
}

type SessionServices = Pick<
  ShardServices,
  'bots.changed' | 'session.renewed' | 'sessions.revoked' | 'signingKeys.changed'
>;

/** Who may be connected. */
function sessionServices(parts: ShardParts): ServiceHandlers<SessionServices> {
  const { activity, authentication, bots, hub, leaveCalls, linkKeys, pushes, revocations } = parts;
  return {
    // Sockets of those that ended, or whose token is void, close.
    'bots.changed': (changed) => {
      bots.replace(changed.bots);
      activity.watch(changed.bots);
      hub.changeBots((id) => bots.bot(id));
    },
    'session.renewed': ({ bounds, exp, sid }) => {
      if (bounds !== null) authentication.renewed(sid, bounds);
      hub.renew(sid, exp);
    },
    'signingKeys.changed': ({ link_keys: links, session_keys: sessions }) => {
      linkKeys.use(links);
      authentication.use(sessions);
    },
    'sessions.revoked': (revoked) => {
      for (const revocation of revoked.revocations) revocations.add(revocation);
      const sids = revoked.revocations.map(({ sid }) => sid);
      hub.revoke(sids);
      leaveCalls(new Set(sids));
      pushes.sessionsEnded(sids);
    },
  };
}

type EventServices = Pick<
  ShardServices,
  | 'account.changed'
  | 'calendar.changed'
  | 'avatar.changed'
  | 'changes.retold'
  | 'directory.changed'
  | 'group.changed'
  | 'guestRecovery.requested'
  | 'meeting.changed'
  | 'proposal.changed'
  | 'quotaWarning.due'
  | 'reminder.due'
  | 'unit.changed'
>;

/** What the coordinator and the calendar have changed, as events for sockets. */
function eventServices({ hub, now }: ShardParts): ServiceHandlers<EventServices> {
  const encode = (type: EventType, data: object): string =>
    encodeEvent({ type, ts: unixSeconds(now()) }, JSON.stringify(data));
  const publishTo = (users: readonly string[], type: EventType, data: object): void =>
    hub.publishTo(users, type, encode(type, data), undefined);
  return {
    'account.changed': (changed) => publishTo([changed.user], 'directory.changed', changed),
    'calendar.changed': ({ calendar, syncSeq, users }) =>
      publishTo(users, 'calendar.changed', { calendar_id: calendar, sync_seq: syncSeq }),
    'avatar.changed': (changed) => hub.publishToAll('avatar', encode('avatar', changed)),
    // Past the watch of pushes, which looks for what it missed by itself when a shard is lost.
    'changes.retold': ({ conversations, users }) => {
      for (const { conversation, events } of conversations) {
        for (const [type, event] of events) hub.publish(conversation, type, event, undefined);
      }
      hub.closeOf(users, 'draining');
    },
    'directory.changed': (changed) => hub.publishToAll('directory.changed', encode('directory.changed', changed)),
    'group.changed': ({ group, rev }) => hub.publishToAll('group', encode('group', { group_id: group, rev })),
    // Empty by design: it says that an invited guest cannot sign in, and not who (GST-05).
    'guestRecovery.requested': ({ inviter }) => publishTo([inviter], 'guest.recovery.requested', {}),
    // Of no conversation: who waits is in none, and it counts as no change of one.
    'meeting.changed': ({ news, people }) => publishTo(people, 'membership', news),
    'proposal.changed': ({ calendar, entry, users }) =>
      publishTo(users, 'calendar.proposal', { calendar_id: calendar, entry_id: entry }),
    'quotaWarning.due': ({ limit, quota, used, user }) => publishTo([user], 'quota.warning', { quota, used, limit }),
    'unit.changed': ({ unit }) => hub.publishToAll('unit', encode('unit', { unit_id: unit })),
    'reminder.due': ({ reminder, user }) => publishTo([user], 'calendar.reminder', reminder),
  };
}
