/**
 * Sends events to the subscriptions of bots. Nothing is queued when somebody posts: the conversations are the queue, and
 * on disk is how far each was read for each subscription.
 *
 *     shard: something happened in c_… ──► (subscription, conversation) ──► changes behind its cursor
 *         ──each that the bot may hear, in order──► signed POST ──2xx──► the cursor moves on
 *                                                             └─ else: waits, longer each time, then again
 *
 * The cursor is written behind the deliveries, so after a crash some come again, under the ids that they had. What fails
 * for FAILING_MILLIS_MAX ends in the subscription being disabled, not in an event left out.
 */
import { unixSeconds, type Clock } from '#src/base/clock.ts';
import { DeliveryQueue, type Attempt } from '#src/delivery/delivery-queue.ts';
import { postSigned } from '#src/delivery/signed-webhook.ts';
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
import { cursorRecords, subscriptionSecret, waitingCommands, type CursorRecord } from './subscription-records.ts';
import { commandDelivery, eventDelivery, gapDelivery, type Delivery } from './subscription-wire.ts';

/** About the wait after a first failure; each one after is about twice as long, up to the most. */
const BACKOFF_MILLIS = 2_000;
const BACKOFF_MILLIS_MAX = 3_600_000;
/** A conversation that could not be delivered for this long disables its subscription: 3 days, longer than a weekend. */
export const FAILING_MILLIS_MAX = 3 * 86_400_000;
/** Requests at once, and of them for one subscription. More wait their turn. */
const SENDING_MAX = 16;
const SENDING_PER_SUBSCRIPTION_MAX = 4;
/** Deliveries of one sequence before the others have their turn. */
const DELIVERIES_PER_TURN = 50;
/** Commands that wait for one subscription; the bot has been away for a while. [busy] */
export const COMMANDS_WAITING_MAX = 1_000;
/** How often every conversation is looked at, told of or not. */
const SWEEP_MILLIS = 5_000;
/** The part of a sequence's name that stands for the commands of a subscription. */
const COMMANDS = 'commands';

/** Nothing is left to be said in this sequence, or there is, once the others had their turn. */
const DONE: Attempt<string> = { result: 'over', answer: '' };
const MORE: Attempt<string> = { result: 'putOff', millis: 0 };

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

export class SubscriptionDeliveries {
  readonly #options: SubscriptionDeliveriesOptions;
  readonly #matcher: SubscriptionMatcher;
  /** Names of sequences, `<subscription>:<conversation>`, that may have something to send. */
  readonly #queue: DeliveryQueue<string, string>;
  /** Lane → how far it was served. On disk the same, a moment later. */
  readonly #cursors = new Map<string, CursorRecord>();
  readonly #dirty = new Set<string>();
  /** Conversation → names of the sequences that hear it, if their bots take part. */
  #byConversation = new Map<string, string[]>();
  #flushing: Promise<void> | undefined;
  readonly #attempts = new LabelledCounts();
  #sweeps: NodeJS.Timeout | undefined;

  constructor(options: SubscriptionDeliveriesOptions) {
    const { backoffMillis = BACKOFF_MILLIS, clock, log } = options;
    this.#options = options;
    this.#matcher = new SubscriptionMatcher(options.accounts, options.lanes);
    this.#queue = new DeliveryQueue({
      ...{ name: 'subscriptions', clock, log, atOnce: SENDING_MAX },
      group: { of: subscriptionOf, atOnce: SENDING_PER_SUBSCRIPTION_MAX },
      backoff: { firstMillis: backoffMillis, mostMillis: BACKOFF_MILLIS_MAX },
      orderingKeyOf: (name) => name,
      attempt: async (name, { signal }) => {
        const isCommands = name.endsWith(`:${COMMANDS}`);
        const served = isCommands ? this.#serveCommands(name, signal) : this.#serve(name, signal);
        return await served.finally(() => void this.#flush());
      },
      over: () => undefined,
    });
  }

  /** Takes up what stands on disk, and sends from now on. */
  start(): void {
    for (const { id, document } of this.#options.accounts.documents(cursorRecords)) this.#cursors.set(id, document);
    this.#gather();
    this.#sweeps = setInterval(() => this.#sweep(), SWEEP_MILLIS).unref();
    this.#sweep();
  }

  /** Breaks off what is on its way: it comes again after a start, under the id that it had. */
  async stop(): Promise<void> {
    clearInterval(this.#sweeps);
    await this.#queue.close();
    await this.#flush();
  }

  /** For the metrics. */
  get metrics() {
    const failing = [...this.#cursors.values()].filter(({ failure }) => failure !== null).length;
    return {
      parley_subscription_deliveries_total: this.#attempts.samples(),
      parley_subscription_lanes_failing: oneSample(failing),
    };
  }

  /** Something happened in these conversations. */
  noteActivity(conversations: readonly string[]): void {
    for (const conversation of conversations) this.#offer(this.#byConversation.get(conversation) ?? []);
  }

  /** What bots may hear changed: it is heard from now on, and what they hear no more is forgotten. */
  async settle(): Promise<void> {
    const known = new Set([...this.#byConversation.values()].flat());
    const dropped = new Set<string>();
    for (const { subscription, conversation } of this.#gather()) {
      const name = `${subscription}:${conversation}`;
      const heard = this.#matcher.find(subscription, conversation);
      if (heard === undefined) dropped.add(name);
      // What was listed before and has no cursor is a bot that just joined: where it begins is read from the changes.
      else if (!this.#cursors.has(name) && !known.has(name)) this.#move(name, heard.record.rev);
    }
    this.#drop((name) => dropped.has(name));
    await this.#flush();
  }

  #gather(): ReturnType<SubscriptionMatcher['listed']> {
    const listed = this.#matcher.listed();
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
    this.#drop((name) => isOf(name, subscription));
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
    this.#offer(wanted.map(({ id }) => `${id}:${COMMANDS}`));
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
    this.#drop((name) => !names.has(name));
    this.#offer(names);
    this.#queue.wake();
  }

  #offer(names: Iterable<string>): void {
    for (const name of names) if (!this.#queue.waitsIn(name)) this.#queue.add(name);
  }

  async #serve(name: string, signal: AbortSignal): Promise<Attempt<string>> {
    const { clock, epoch } = this.#options;
    const [subscription, conversation] = [subscriptionOf(name), name.slice(name.indexOf(':') + 1)];
    const first = this.#matcher.find(subscription, conversation);
    if (first === undefined) return this.#end(name);
    const { record, tables } = first;
    const behind = this.#cursors.get(name)?.rev ?? joinedAt(first, epoch);
    if (!this.#cursors.has(name)) this.#move(name, behind);
    if (record.rev <= behind) return DONE;
    const changes = readChanges(tables, record, epoch, behind);
    if (changes !== undefined) return await this.#serveChanges(name, conversation, changes, signal);
    // It was away for more than CHANGES_REPLY_MAX changes: told so, never passed over in silence.
    const gap = gapDelivery(epoch, subscription, record, behind, unixSeconds(clock.now()));
    const failed = await this.#deliver(name, first, gap, signal);
    if (failed === undefined) this.#move(name, record.rev);
    return failed ?? DONE;
  }

  async #serveChanges(name: string, conversation: string, changes: string[], signal: AbortSignal) {
    const subscription = subscriptionOf(name);
    let isIn = true;
    let delivered = 0;
    for (const json of changes) {
      const event = JSON.parse(json) as EventEnvelope & { rev: number; data: Record<string, unknown> };
      // Anew each time: a bot that may not hear it any more does not.
      const heard = this.#matcher.find(subscription, conversation);
      if (heard === undefined) return this.#end(name);
      const about = isAbout(event, heard.bot.user);
      if (about !== undefined) isIn = about === 'joined';
      if (isIn && this.#matcher.wants(heard, event)) {
        const delivery = eventDelivery(this.#options.epoch, subscription, event, json);
        const failed = await this.#deliver(name, heard, delivery, signal);
        if (failed !== undefined) return failed;
        delivered += 1;
      }
      this.#move(name, event.rev);
      if (delivered >= DELIVERIES_PER_TURN) break;
    }
    // It left and is back, or it is not: what came between is not for it.
    if (!isIn) return this.#end(name);
    return changes.length >= CHANGES_REPLY_MAX || delivered >= DELIVERIES_PER_TURN ? MORE : DONE;
  }

  async #serveCommands(name: string, signal: AbortSignal): Promise<Attempt<string>> {
    const { accounts, clock } = this.#options;
    const subscription = subscriptionOf(name);
    for (const { id, document } of this.#waitingOf(subscription)) {
      const heard = this.#matcher.find(subscription, document.conversation);
      const isDue = heard !== undefined && document.until > clock.now() && this.#matcher.wantsCommands(heard);
      const command = commandDelivery(subscription, id, document.event);
      const failed = isDue ? await this.#deliver(name, heard, command, signal) : undefined;
      if (failed !== undefined) return failed;
      await accounts.change((draft) => draft.removeDocument(waitingCommands, id));
    }
    // None waits: a failure of those that were given up is not the beginning of the next one.
    return this.#end(name);
  }

  /** One attempt. Undefined when it got through; if not, the sequence waits. */
  async #deliver(
    name: string,
    { subscription }: Heard,
    { body, id }: Delivery,
    signal: AbortSignal,
  ): Promise<Attempt<string> | undefined> {
    const before = this.#cursors.get(name);
    const { failure = null, rev = 0 } = before ?? {};
    const attempt = (failure?.attempts ?? 0) + 1;
    const reason = await this.#post(subscription, { body, id, attempt }, signal);
    // A stop is nobody's failure, and what was forgotten meanwhile has none.
    if (signal.aborted || (before !== undefined && !this.#cursors.has(name))) return DONE;
    this.#attempts.add(reason === undefined ? 'delivered' : 'failed');
    if (reason !== undefined) return await this.#fail(name, rev, failure, reason);
    if (failure !== null) this.#put(name, { rev, failure: null });
    return undefined;
  }

  /** Undefined when it got through, otherwise why not: a status, or a word. */
  async #post(
    { id: subscription, url }: Heard['subscription'],
    what: Delivery & { readonly attempt: number },
    signal: AbortSignal,
  ): Promise<string | undefined> {
    try {
      const secret = this.#options.vault.get(subscriptionSecret(subscription));
      if (secret === undefined) return 'secret_missing';
      const webhook = { ...what, url, secret, userAgent: 'Parley-Subscription/1' };
      const { isTaken, reason, status } = await postSigned(webhook, { ...this.#options, signal });
      return isTaken ? undefined : (reason ?? String(status));
    } catch (error) {
      // The vault is locked.
      return error instanceof Refusal ? error.code : 'failed';
    }
  }

  async #fail(name: string, rev: number, before: CursorRecord['failure'], reason: string): Promise<Attempt<string>> {
    const { clock, disable, failingMillisMax = FAILING_MILLIS_MAX } = this.#options;
    const now = clock.now();
    const attempts = (before?.attempts ?? 0) + 1;
    // A server that was down asked nobody, and nobody failed to answer it.
    const isGoingOn = before !== null && now - before.attemptedAt < 2 * BACKOFF_MILLIS_MAX;
    const failingSince = isGoingOn ? before.failingSince : now;
    this.#put(name, { rev, failure: { failingSince, attempts, attemptedAt: now, reason } });
    if (now - failingSince >= failingMillisMax) await disable(subscriptionOf(name), reason);
    return { result: 'failed', answer: reason, attempts };
  }

  #move(name: string, rev: number): void {
    this.#put(name, { rev, failure: this.#cursors.get(name)?.failure ?? null });
  }

  #put(name: string, cursor: CursorRecord): void {
    this.#cursors.set(name, cursor);
    this.#dirty.add(name);
  }

  /** Forgets sequences, and whatever they wait for. */
  #drop(isGone: (name: string) => boolean): void {
    for (const name of [...this.#cursors.keys()].filter(isGone)) this.#end(name);
    this.#queue.remove(isGone);
  }

  /** Nothing more is for this sequence. */
  #end(name: string): Attempt<string> {
    if (this.#cursors.delete(name)) this.#dirty.add(name);
    return DONE;
  }

  /** Writes down how far it went: one commit at a time, and what moved meanwhile in the next one. */
  async #flush(): Promise<void> {
    while (this.#flushing !== undefined) await this.#flushing;
    if (this.#dirty.size === 0) return;
    const names = [...this.#dirty];
    this.#dirty.clear();
    const written = this.#options.accounts.change((draft) => {
      for (const name of names) {
        const cursor = this.#cursors.get(name);
        if (cursor === undefined) draft.removeDocument(cursorRecords, name);
        else draft.putDocument(cursorRecords, name, cursor);
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
