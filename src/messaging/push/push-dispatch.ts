/**
 * Pushes of one shard put together: who is registered, the watch over what is posted, the actors' way to the providers,
 * and what is taken up again after a restart.
 */
import { Attention } from '#actors/person/attention.ts';
import type { PushMessage } from '#actors/push/push.messages.ts';
import { LOSS_MILLIS, makePushActor, PUSH_LIFE_MILLIS } from '#actors/push/push.ts';
import { PushReader } from '#actors/push/push-reader.ts';
import { nameOf, PushRegistry } from '#actors/push/push-registry.ts';
import { PushWatch } from '#actors/push/push-watch.ts';
import type { AnyActor, PushDelivery } from '#actors/runtime/actor.ts';
import { monotonicMillis } from '#actors/runtime/monotonic.ts';
import type { LocalSockets } from '#actors/runtime/thread-runtime.ts';
import type { Config } from '#src/config.ts';
import { PUSH_PROVIDERS, type PushAddress, type PushCredentials } from '#src/protocol/push/push.ts';
import { makeComposing } from '#src/push/composing.ts';
import { PushSender } from '#src/push/push-sender.ts';
import type { Log } from '#src/telemetry/log.ts';
import type { ScalarName } from '#src/telemetry/metric-table.ts';
import type { Sample } from '#src/telemetry/metrics.ts';
import { LabelledCounts } from '#src/telemetry/labelled-counts.ts';
import { levelAt, watchedBy } from '#src/identity/notifications.ts';
import type { AccountsReader } from '#storage/accounts/accounts.ts';
import type { Lanes } from '#storage/engine/lanes.ts';
import {
  readDecidedUpTo,
  readPushRegistrations,
  readPushWaiting,
  writeDecidedUpTo,
  type PushRegistration,
} from '#storage/conversations/push-records.ts';
import type { AccessChecks } from '../access/access-checks.ts';
import type { ShardRuntime } from '../thread-services.ts';

/** How often it is written down up to when all is decided, and outboxes are looked at whose actor lost its alarm. */
const DECIDED_MILLIS = 1_000;
const OUTBOX_CHECK_MILLIS = 15_000;
/** How long an actor of this shard may take to decide; beyond it the watch asks again. */
const DECIDE_MILLIS = 30_000;

export interface PushDispatchOptions {
  readonly credentials: PushCredentials;
  readonly config: Config;
  readonly lanes: Lanes;
  readonly accounts: AccountsReader;
  readonly access: AccessChecks;
  readonly now: () => number;
  readonly log: Log;
  readonly runtime: ShardRuntime;
}

export class PushDispatch {
  readonly attention = new Attention();
  readonly actor: AnyActor;
  readonly #options: PushDispatchOptions;
  readonly #registry = new PushRegistry();
  readonly #sender: PushSender;
  readonly #watch: PushWatch;
  readonly #due = new LabelledCounts();
  readonly #dropped = new LabelledCounts();
  readonly #timers: NodeJS.Timeout[] = [];
  /** Lane → what was last written of it. */
  readonly #written = new Map<number, number>();
  #vapidPublicKey: string;

  constructor(options: PushDispatchOptions) {
    const { access, config, credentials, lanes, now } = options;
    const { environments } = lanes;
    const laneOf = (conversation: string) => lanes.read(conversation);
    const reaches = (action: 'message' | 'call', from: string, to: string) => access.reaches(action, from, to);
    const wantedAt = (user: string, conversation: string, at: number) =>
      levelAt(options.accounts, user, conversation, at);
    const watched = (user: string) => watchedBy(options.accounts, user);
    const counts = {
      due: (kind: string, count: number) => this.#due.add(kind, count),
      dropped: (reason: string, count: number) => this.#dropped.add(reason, count),
    };
    this.#options = options;
    this.#vapidPublicKey = credentials.vapid.publicKey;
    const registry = this.#registry;
    const { attention } = this;
    const reader = new PushReader({ environments, laneOf });
    this.#watch = new PushWatch({
      registry,
      attention,
      reader,
      environments,
      laneOf,
      now,
      ask: (to, message, settle) => {
        const due = monotonicMillis() + DECIDE_MILLIS;
        options.runtime.deliverHere(to, message, { due, cancelled: false, settle });
      },
      failed: (conversation, error) => options.log.error('pushes could not be decided', { conversation, error }),
    });
    this.actor = makePushActor({
      lane: (user) => lanes.write(user),
      reader,
      registry,
      attention,
      counts,
      reaches,
      levelAt: wantedAt,
      watchedBy: watched,
      redecideMillis: config.pushRedecideSeconds * 1000,
    });
    this.#sender = new PushSender({
      credentials,
      allowPrivateTargets: config.allowPrivateTargets,
      now,
      compose: makeComposing({
        ...{ reader, attention, now, reaches, levelAt: wantedAt, watchedBy: watched },
        showsText: config.pushText,
      }),
      settle: (delivery, outcome) => {
        const { address, device, kind, seq, subject } = delivery;
        const row = { device, subject, seq, kind };
        this.#tell(delivery.user, { kind: 'settled', row, address: nameOf(address), outcome });
      },
      counts,
      log: options.log,
    });
  }

  /**
   * Reads who is registered, and goes on with what a restart interrupted: of this thread alone, or of the whole process,
   * which took all calls along. Once, when the actors can be told.
   */
  start({ isRestart }: { readonly isRestart: boolean }): void {
    const { accounts, lanes, now } = this.#options;
    const people = new Map<string, PushRegistration[]>();
    let since = now();
    for (const { environment } of lanes.owned) {
      for (const [user, registration] of readPushRegistrations(environment.tables)) {
        people.set(user, [...(people.get(user) ?? []), registration]);
        // Until the first time is written down, it is that of the first who registered.
        if (readDecidedUpTo(environment.tables) === undefined) since = Math.min(since, registration.at);
      }
      since = Math.min(since, readDecidedUpTo(environment.tables) ?? since);
    }
    for (const [user, registrations] of people) {
      this.#registry.show(user, registrations);
      // Sessions that ended while nobody here could hear of it.
      const live = new Set(accounts.devices(user).map(({ session }) => session?.sid));
      const sids = registrations.map(({ sid }) => sid).filter((sid) => !live.has(sid));
      if (sids.length > 0) this.#tell(user, { kind: 'sessionsEnded', sids });
    }
    this.#checkOutboxes(isRestart ? 'tick' : 'callsLost');
    this.#recoverLater(since - LOSS_MILLIS, () => {
      this.#timers.push(setInterval(() => this.#writeDecided(), DECIDED_MILLIS).unref());
    });
    this.#timers.push(setInterval(() => this.#checkOutboxes(), OUTBOX_CHECK_MILLIS).unref());
  }

  /** Another shard died: what it had on disk and told nobody yet is found there. */
  shardLost(): void {
    this.#recoverLater(this.#options.now() - LOSS_MILLIS);
  }

  stop(): void {
    for (const timer of this.#timers) clearTimeout(timer);
    this.#watch.stop();
    this.#sender.stop();
  }

  /** Whether pushes reach one of this shard's people. */
  hasPushes(user: string): boolean {
    return this.#registry.has(user);
  }

  /** The sockets of this shard, with the watch hearing what they hear. */
  watch(sockets: LocalSockets): LocalSockets {
    const watch = this.#watch;
    return {
      publish: (topic, type, event, except) => {
        sockets.publish(topic, type, event, except);
        if (type === 'message.new') watch.posted(topic, event);
        else if (type === 'signal') watch.signalled(topic, undefined, event);
      },
      publishTo: (users, type, event, except) => {
        sockets.publishTo(users, type, event, except);
        if (type === 'signal') watch.signalled(undefined, users, event);
        else if (type === 'membership') this.#invited(users, event);
      },
      membership: (conversation, users, joined) => {
        sockets.membership(conversation, users, joined);
        watch.membership(conversation, users, joined);
      },
      disband: (conversation) => {
        sockets.disband(conversation);
        watch.disbanded(conversation);
      },
      displace: (device, socket) => sockets.displace(device, socket),
      overrun: () => {
        sockets.overrun();
        // Messages were among what was lost between the threads.
        this.shardLost();
      },
    };
  }

  /** Hands a push to its provider. */
  push(delivery: PushDelivery): void {
    this.#sender.offer(delivery);
  }

  /** Pushes with these credentials from now on. */
  use(credentials: PushCredentials): void {
    this.#vapidPublicKey = credentials.vapid.publicKey;
    this.#sender.use(credentials);
  }

  /** What a client is told beside its own registration. */
  get offered() {
    return { vapid_public_key: this.#vapidPublicKey, providers: this.#sender.providers };
  }

  /** These sessions are over, and what they registered with them. */
  sessionsEnded(sids: readonly string[]): void {
    for (const sid of sids) {
      const user = this.#registry.userOf(sid);
      if (user !== undefined) this.#tell(user, { kind: 'sessionsEnded', sids: [sid] });
    }
  }

  /** A device registered an address: whoever else has it had that device before. */
  announceAddress(user: string, address: PushAddress): void {
    this.#options.runtime.tellShards('pushAddress.taken', { name: nameOf(address), user });
  }

  addressTaken(name: string, user: string): void {
    const holder = this.#registry.holderOf(name);
    if (holder !== undefined && holder !== user) this.#tell(holder, { kind: 'addressTaken', name });
  }

  get metrics(): Partial<Record<ScalarName, Sample[]>> {
    const { open, refused, retried, sent } = this.#sender.metrics;
    const { counts } = this.#registry;
    return {
      parley_push_breakers_open: open,
      parley_push_dropped_total: this.#dropped.samples(),
      parley_push_due_total: this.#due.samples(),
      parley_push_refused_total: refused,
      parley_push_registrations: PUSH_PROVIDERS.map((provider) => ({ labels: [provider], value: counts[provider] })),
      parley_push_retried_total: retried,
      parley_push_sent_total: sent,
    };
  }

  /** Has decided what was posted since, once apps that were connected before can be again. */
  #recoverLater(since: number, done: () => void = () => undefined): void {
    const { config, log, now } = this.#options;
    const recovery = this.#watch.expectRecovery(Math.max(since, now() - PUSH_LIFE_MILLIS));
    const recover = (): void => {
      recovery()
        .catch((error: unknown) => log.error('pushes of before could not be taken up', { error }))
        .finally(done);
    };
    this.#timers.push(setTimeout(recover, config.pushRedecideSeconds * 1000).unref());
  }

  /** Those of this shard's people who are asked into a room and have a device that is pushed to. */
  #invited(users: readonly string[], event: string): void {
    const registered = users.filter((user) => this.#registry.has(user));
    if (registered.length === 0) return;
    const { conv, data } = JSON.parse(event) as { conv: string; data: { action: string } };
    if (data.action !== 'invited') return;
    for (const user of registered) this.#tell(user, { kind: 'invite', conversation: conv });
  }

  #checkOutboxes(kind: 'tick' | 'callsLost' = 'tick'): void {
    for (const { environment } of this.#options.lanes.owned) {
      for (const user of readPushWaiting(environment.tables)) this.#tell(user, { kind });
    }
  }

  /** Where nobody is registered there is nothing to be decided, and nothing is written. */
  #writeDecided(): void {
    if (this.#registry.size === 0) return;
    const { decidedUpTo, lastPostAt } = this.#watch;
    for (const lane of this.#options.lanes.owned) {
      const written = this.#written.get(lane.number) ?? 0;
      // A quiet server does not write the time once a second: nothing was posted since.
      if (written >= lastPostAt || written === decidedUpTo) continue;
      this.#written.set(lane.number, decidedUpTo);
      lane.append([writeDecidedUpTo(decidedUpTo)]);
    }
  }

  #tell(user: string, message: PushMessage): void {
    this.#options.runtime.deliverHere(`push:${user}`, message);
  }
}
