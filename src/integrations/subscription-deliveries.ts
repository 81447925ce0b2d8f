/**
 * Sends events to the subscriptions of bots. Nothing is queued when somebody posts: the conversations are the queue, and
 * on disk is how far each was read for each subscription.
 *
 *     shard: something happened in c_… ──► lane (subscription, conversation) ──► changes behind its cursor
 *         ──each that the bot may hear, in order──► signed POST ──2xx──► the cursor moves on
 *                                                             └─ else: waits, longer each time, then again
 *
 * The cursor is written behind the deliveries, so after a crash some come again, under the ids that they had. What fails
 * for FAILING_MILLIS_MAX ends in the subscription being disabled, not in an event left out.
 */
import { unixSeconds, type Clock } from '#src/base/clock.ts';
import type { PrivateTargets } from '#src/outgoing/targets.ts';
import { Refusal } from '#src/protocol/errors.ts';
import type { EventEnvelope } from '#src/protocol/sockets/events.ts';
import { CHANGES_REPLY_MAX } from '#src/protocol/limits.ts';
import { RESPONSE_TOKEN_MILLIS } from '#src/protocol/bots/commands.ts';
import { oneSample } from '#src/telemetry/metrics.ts';
import { LabelledCounts } from '#src/telemetry/labelled-counts.ts';
import type { Accounts } from '#storage/accounts/accounts.ts';
import { readChanges } from '#storage/conversations/conversation-reader.ts';
import type { Lanes } from '#storage/engine/lanes.ts';
import type { Vault } from '#storage/vault/vault.ts';
import { subscriptionRecords } from './bot-records.ts';
import type { Logger } from '#src/telemetry/logger.ts';
import { SubscriptionMatcher, isAbout, joinedAt, type Heard } from './subscription-matcher.ts';
import { attemptDelivery } from './subscription-attempt.ts';
import { cursorRecords, waitingCommands, type CursorRecord } from './subscription-records.ts';
import { commandDelivery, eventDelivery, gapDelivery, type Delivery } from './subscription-wire.ts';

/** The wait after a first failure; each after waits twice as long, up to the most, give or take half of it. */
const BACKOFF_MILLIS = 2_000;
const BACKOFF_MILLIS_MAX = 3_600_000;
/** A conversation that could not be delivered for this long disables its subscription: 3 days, longer than a weekend. */
export const FAILING_MILLIS_MAX = 3 * 86_400_000;
/** Requests at once, and of them for one subscription. More wait their turn. */
const SENDING_MAX = 16;
const SENDING_PER_SUBSCRIPTION_MAX = 4;
/** Deliveries of one lane before the others have their turn. */
const DELIVERIES_PER_TURN = 50;
/** Commands that wait for one subscription; the bot has been away for a while. [busy] */
export const COMMANDS_WAITING_MAX = 1_000;
/** How often what waits is looked at, and how often every conversation is, told of or not. */
const LOOK_MILLIS = 250;
const SWEEP_MILLIS = 5_000;
/** The part of a lane's name that stands for the commands of a subscription. */
const COMMANDS = 'commands';

export interface SubscriptionDeliveriesOptions {
  readonly accounts: Accounts;
  readonly clock: Clock;
  readonly vault: Vault;
  readonly lanes: Pick<Lanes, 'read'>;
  /** The epoch of the data folder. */
  readonly epoch: string;
  readonly log: Pick<Logger, 'warn'>;
  readonly allowPrivateTargets: PrivateTargets;
  /** Deliveries of a subscription have failed for too long. */
  readonly disable: (id: string, reason: string) => Promise<void>;
  /** The waits of tests. */
  readonly backoffMillis?: number;
  readonly failingMillisMax?: number;
}

/** What one subscription is sent of one conversation, in order. */
interface DeliveryLane extends CursorRecord {
  readonly notBefore: number;
}

export class SubscriptionDeliveries {
  readonly #options: SubscriptionDeliveriesOptions;
  readonly #hearing: SubscriptionMatcher;
  /** `<subscription>:<conversation>` → where it stands. On disk the same, a moment later. */
  readonly #lanes = new Map<string, DeliveryLane>();
  readonly #dirty = new Set<string>();
  /** Conversation → names of the lanes that hear it, if their bots take part. */
  #byConversation = new Map<string, string[]>();
  /** Names of lanes that may have something to send, in turn. */
  readonly #ready = new Set<string>();
  readonly #sending = new Map<string, Promise<void>>();
  #flushing: Promise<void> | undefined;
  readonly #attempts = new LabelledCounts();
  #stopping = new AbortController();
  #timers: NodeJS.Timeout[] = [];

  constructor(options: SubscriptionDeliveriesOptions) {
    this.#options = options;
    this.#hearing = new SubscriptionMatcher(options.accounts, options.lanes);
  }

  /** Takes up what stands on disk, and sends from now on. */
  start(): void {
    this.#stopping = new AbortController();
    for (const { id, document } of this.#options.accounts.documents(cursorRecords)) {
      this.#lanes.set(id, { ...document, notBefore: 0 });
    }
    this.#gather();
    const look = setInterval(() => this.#pump(), LOOK_MILLIS);
    const sweep = setInterval(() => this.#sweep(), SWEEP_MILLIS);
    this.#timers = [look.unref(), sweep.unref()];
    this.#sweep();
  }

  /** Breaks off what is on its way: it comes again after a start, under the id that it had. */
  async stop(): Promise<void> {
    for (const timer of this.#timers) clearInterval(timer);
    this.#stopping.abort();
    await Promise.all(this.#sending.values());
    await this.#flush();
  }

  /** For the metrics. */
  get metrics() {
    const failing = [...this.#lanes.values()].filter(({ failure }) => failure !== null).length;
    return {
      parley_subscription_deliveries_total: this.#attempts.samples(),
      parley_subscription_lanes_failing: oneSample(failing),
    };
  }

  /** Something happened in these conversations. */
  noteActivity(conversations: readonly string[]): void {
    for (const conversation of conversations) {
      for (const name of this.#byConversation.get(conversation) ?? []) this.#ready.add(name);
    }
    this.#pump();
  }

  /** What bots may hear changed: it is heard from now on, and what they hear no more is forgotten. */
  async settle(): Promise<void> {
    const known = new Set([...this.#byConversation.values()].flat());
    for (const { subscription, conversation } of this.#gather()) {
      const name = `${subscription}:${conversation}`;
      const heard = this.#hearing.find(subscription, conversation);
      if (heard === undefined) this.#drop(name);
      // What was listed before and has no lane is a bot that just joined: where it begins is read from the changes.
      else if (!this.#lanes.has(name) && !known.has(name)) this.#move(name, heard.record.rev);
    }
    await this.#flush();
  }

  #gather(): ReturnType<SubscriptionMatcher['listed']> {
    const listed = this.#hearing.listed();
    this.#byConversation = new Map();
    for (const { subscription, conversation } of listed) {
      const names = this.#byConversation.get(conversation) ?? [];
      this.#byConversation.set(conversation, [...names, `${subscription}:${conversation}`]);
    }
    return listed;
  }

  /** Forgets a subscription that was removed or is to begin anew. */
  async forget(subscription: string): Promise<void> {
    const { accounts } = this.#options;
    for (const name of this.#lanes.keys()) if (isOf(name, subscription)) this.#drop(name);
    for (const [conversation, names] of this.#byConversation) {
      this.#byConversation.set(
        conversation,
        names.filter((name) => !isOf(name, subscription)),
      );
    }
    await this.#flush();
    const waiting = this.#waitingOf(subscription);
    await accounts.change((draft) => waiting.forEach(({ id }) => draft.removeDocument(waitingCommands, id)));
  }

  /**
   * Keeps a command for the subscriptions of its bot that want it; resolves when it is on disk.
   * @throws Refusal `busy` when too many wait for one.
   */
  async command(bot: string, conversation: string, invocation: string, event: string): Promise<void> {
    const { accounts, clock } = this.#options;
    const wanted = accounts.documents(subscriptionRecords).filter(({ id, document }) => {
      const isWanted = document.bot === bot && document.isEnabled && document.events.includes('command');
      if (isWanted && this.#waitingOf(id).length >= COMMANDS_WAITING_MAX) throw new Refusal('busy');
      return isWanted;
    });
    if (wanted.length === 0) return;
    const until = clock.now() + RESPONSE_TOKEN_MILLIS;
    await accounts.change((draft) => {
      for (const { id } of wanted) {
        draft.putDocument(waitingCommands, `${id}:${invocation}`, { conversation, event, until });
      }
    });
    for (const { id } of wanted) this.#ready.add(`${id}:${COMMANDS}`);
    this.#pump();
  }

  #waitingOf(subscription: string) {
    const { accounts } = this.#options;
    const found = accounts.documents(waitingCommands, { after: `${subscription}:`, limit: COMMANDS_WAITING_MAX });
    return found.filter(({ id }) => isOf(id, subscription));
  }

  /** Every conversation, whether a shard told of it or died before it could, and every command that waits. */
  #sweep(): void {
    const names = new Set([...this.#byConversation.values()].flat());
    for (const { id } of this.#options.accounts.documents(subscriptionRecords)) names.add(`${id}:${COMMANDS}`);
    for (const name of this.#lanes.keys()) if (!names.has(name)) this.#drop(name);
    for (const name of names) this.#ready.add(name);
    this.#pump();
  }

  #pump(): void {
    const now = this.#options.clock.now();
    for (const name of [...this.#ready]) {
      if (this.#stopping.signal.aborted || this.#sending.size >= SENDING_MAX) return;
      const subscription = subscriptionOf(name);
      const isSending = [...this.#sending.keys()].filter((other) => isOf(other, subscription));
      if (this.#sending.has(name) || isSending.length >= SENDING_PER_SUBSCRIPTION_MAX) continue;
      if ((this.#lanes.get(name)?.notBefore ?? 0) > now) continue;
      this.#ready.delete(name);
      const serve = name.endsWith(`:${COMMANDS}`) ? this.#serveCommands(name) : this.#serve(name);
      const sent = serve
        .catch((error: unknown) => {
          this.#options.log.warn('events could not be delivered to a subscription', { subscription, error });
        })
        .finally(() => {
          this.#sending.delete(name);
          if (this.#dirty.size > 0) void this.#flush();
          if (this.#ready.size > 0) this.#pump();
        });
      this.#sending.set(name, sent);
    }
  }

  async #serve(name: string): Promise<void> {
    const [subscription, conversation] = [subscriptionOf(name), name.slice(name.indexOf(':') + 1)];
    const first = this.#hearing.find(subscription, conversation);
    if (first === undefined) return this.#drop(name);
    const { record, tables } = first;
    const behind = this.#lanes.get(name)?.rev ?? joinedAt(first, this.#options.epoch);
    if (!this.#lanes.has(name)) this.#move(name, behind);
    if (record.rev <= behind) return undefined;
    const changes = readChanges(tables, record, this.#options.epoch, behind);
    if (changes === undefined) {
      // It was away for more than CHANGES_REPLY_MAX changes: told so, never passed over in silence.
      const gap = gapDelivery(
        this.#options.epoch,
        subscription,
        record,
        behind,
        unixSeconds(this.#options.clock.now()),
      );
      if (await this.#deliver(name, first, gap)) this.#move(name, record.rev);
      return undefined;
    }
    return await this.#serveChanges(name, subscription, conversation, changes);
  }

  async #serveChanges(name: string, subscription: string, conversation: string, changes: string[]): Promise<void> {
    let isIn = true;
    let delivered = 0;
    for (const json of changes) {
      const event = JSON.parse(json) as EventEnvelope & { rev: number; data: Record<string, unknown> };
      // Anew each time: a bot that may not hear it any more does not.
      const heard = this.#hearing.find(subscription, conversation);
      if (heard === undefined) return this.#drop(name);
      const about = isAbout(event, heard.bot.user);
      if (about !== undefined) isIn = about === 'joined';
      if (isIn && this.#hearing.wants(heard, event)) {
        if (!(await this.#deliver(name, heard, eventDelivery(this.#options.epoch, subscription, event, json)))) {
          return undefined;
        }
        delivered += 1;
      }
      this.#move(name, event.rev);
      if (delivered >= DELIVERIES_PER_TURN) break;
    }
    // It left and is back, or it is not: what came between is not for it.
    if (!isIn) this.#drop(name);
    else if (changes.length >= CHANGES_REPLY_MAX || delivered >= DELIVERIES_PER_TURN) this.#ready.add(name);
    return undefined;
  }

  async #serveCommands(name: string): Promise<void> {
    const { accounts, clock } = this.#options;
    const subscription = subscriptionOf(name);
    for (const { id, document } of this.#waitingOf(subscription)) {
      const heard = this.#hearing.find(subscription, document.conversation);
      const isDue = heard !== undefined && document.until > clock.now() && this.#hearing.wantsCommands(heard);
      if (isDue && !(await this.#deliver(name, heard, commandDelivery(subscription, id, document.event)))) {
        this.#ready.add(name);
        return;
      }
      await accounts.change((draft) => draft.removeDocument(waitingCommands, id));
    }
    // None waits: a failure of those that were given up is not the beginning of the next one.
    this.#drop(name);
  }

  /** One attempt. Whether it got through; if not, the lane waits. */
  async #deliver(name: string, heard: Heard, delivery: Delivery): Promise<boolean> {
    const { signal } = this.#stopping;
    const before = this.#lanes.get(name);
    const attempt = (before?.failure?.attempts ?? 0) + 1;
    const reason = await attemptDelivery({ ...this.#options, signal }, heard.subscription, delivery, attempt);
    // A stop is nobody's failure, and what was forgotten meanwhile has none.
    if (signal.aborted || (before !== undefined && !this.#lanes.has(name))) return false;
    this.#attempts.add(reason === undefined ? 'delivered' : 'failed');
    const rev = before?.rev ?? 0;
    if (reason === undefined) {
      if (before !== undefined && before.failure !== null) this.#put(name, { rev, failure: null, notBefore: 0 });
      return true;
    }
    await this.#fail(name, rev, before?.failure ?? null, reason);
    return false;
  }

  async #fail(name: string, rev: number, before: CursorRecord['failure'], reason: string): Promise<void> {
    const { backoffMillis = BACKOFF_MILLIS, clock, disable, failingMillisMax = FAILING_MILLIS_MAX } = this.#options;
    const now = clock.now();
    const attempts = (before?.attempts ?? 0) + 1;
    // A server that was down asked nobody, and nobody failed to answer it.
    const isGoingOn = before !== null && now - before.attemptedAt < 2 * BACKOFF_MILLIS_MAX;
    const failingSince = isGoingOn ? before.failingSince : now;
    const wait = Math.min(backoffMillis * 2 ** (attempts - 1), BACKOFF_MILLIS_MAX) * (0.5 + Math.random());
    this.#put(name, { rev, failure: { failingSince, attempts, attemptedAt: now, reason }, notBefore: now + wait });
    this.#ready.add(name);
    if (now - failingSince < failingMillisMax) return;
    await disable(subscriptionOf(name), reason);
  }

  #move(name: string, rev: number): void {
    const { failure = null, notBefore = 0 } = this.#lanes.get(name) ?? {};
    this.#put(name, { rev, failure, notBefore });
  }

  #put(name: string, lane: DeliveryLane): void {
    this.#lanes.set(name, lane);
    this.#dirty.add(name);
  }

  #drop(name: string): void {
    if (this.#lanes.delete(name)) this.#dirty.add(name);
    this.#ready.delete(name);
  }

  /** Writes down how far it went: one commit at a time, and what moved meanwhile in the next one. */
  async #flush(): Promise<void> {
    while (this.#flushing !== undefined) await this.#flushing;
    if (this.#dirty.size === 0) return;
    const names = [...this.#dirty];
    this.#dirty.clear();
    const written = this.#options.accounts.change((draft) => {
      for (const name of names) {
        const lane = this.#lanes.get(name);
        if (lane === undefined) draft.removeDocument(cursorRecords, name);
        else draft.putDocument(cursorRecords, name, { rev: lane.rev, failure: lane.failure });
      }
    });
    this.#flushing = written
      .catch((error: unknown) => {
        for (const name of names) this.#dirty.add(name);
        this.#options.log.warn('how far subscriptions were served could not be stored', { error });
      })
      .finally(() => {
        this.#flushing = undefined;
      });
    await this.#flushing;
  }
}

function subscriptionOf(name: string): string {
  return name.slice(0, name.indexOf(':'));
}

function isOf(name: string, subscription: string): boolean {
  return name.startsWith(`${subscription}:`);
}
