/**
 * Hands pushes to their providers: looks once more whether each is still due, and says what came of it. When each is
 * attempted is the delivery queue's. Keeps nothing: what is not acknowledged lies in the outbox of its person.
 *
 *     offered ─► queue ─► still due? ─► breaker ─► provider ─► settled: sent, gone, dropped, or later
 */
import { createHash } from 'node:crypto';
import type { PushOutcome } from '#actors/push/push.messages.ts';
import type { PushDelivery } from '#actors/runtime/actor.ts';
import { DeliveryQueue, type Attempt, type AttemptContext } from '#src/delivery/delivery-queue.ts';
import type { PrivateTargets } from '#src/outgoing/targets.ts';
import { PUSH_PROVIDERS, type PushCredentials, type PushProvider } from '#src/protocol/push/push.ts';
import { LabelledCounts } from '#src/telemetry/labelled-counts.ts';
import type { Logger } from '#src/telemetry/logger.ts';
import { Apns } from './apns.ts';
import { Fcm } from './fcm.ts';
import type { OutgoingPush, PushAnswer, PushService } from './push-service.ts';
import { makeWebPush } from './web-push.ts';

/** Pushes on their way at once from one shard. More wait their turn. */
export const SENDING_MAX = 64;
/** Pushes that wait their turn. Beyond it they stay in their outbox and are offered again after RETRY_MILLIS. */
export const QUEUE_MAX = 10_000;
/** About the wait before the second attempt; each one after is about twice as long, up to the most. */
export const RETRY_MILLIS = 2_000;
export const RETRY_MILLIS_MAX = 600_000;
/** How long a push waits whose provider is not set up, or whose credentials are locked. */
export const UNAVAILABLE_MILLIS = 30_000;
/** What a push has to have left to live: providers count in seconds. */
const LEFT_MILLIS_MIN = 1_000;

/** What a push says, made right before it goes out; or why it does not. */
export type Composed =
  | { readonly push: Omit<OutgoingPush, 'address' | 'kind' | 'ttlSeconds' | 'collapseId'> }
  | { readonly dropped: string };

type PushEnd = Exclude<PushOutcome['result'], 'later'>;

export interface PushSenderOptions {
  readonly credentials: PushCredentials;
  readonly allowPrivateTargets: PrivateTargets;
  readonly now: () => number;
  readonly compose: (delivery: PushDelivery) => Composed;
  readonly settle: (delivery: PushDelivery, outcome: PushOutcome) => void;
  readonly counts: { dropped(reason: string, count: number): void };
  readonly log: Pick<Logger, 'warn'>;
}

export class PushSender {
  readonly #options: PushSenderOptions;
  readonly #queue: DeliveryQueue<PushDelivery, PushEnd>;
  readonly #sent = new LabelledCounts();
  readonly #retried = new LabelledCounts();
  readonly #refused = new Map<PushProvider, LabelledCounts>(
    PUSH_PROVIDERS.map((provider) => [provider, new LabelledCounts()]),
  );
  #services: Partial<Record<PushProvider, PushService>> = {};
  #isStopped = false;

  constructor(options: PushSenderOptions) {
    const { log, now } = options;
    this.#options = options;
    this.#queue = new DeliveryQueue({
      ...{ name: 'pushes', clock: { now }, log, atOnce: SENDING_MAX, waitingMax: SENDING_MAX + QUEUE_MAX },
      backoff: { firstMillis: RETRY_MILLIS, mostMillis: RETRY_MILLIS_MAX },
      // Every push service of the web stands for itself.
      receiver: ({ address }) =>
        address.provider === 'webpush' ? `webpush ${new URL(address.endpoint).host}` : address.provider,
      expiresAt: ({ expiresAt }) => expiresAt - LEFT_MILLIS_MIN,
      attempt: async (delivery, context) => await this.#attempt(delivery, context),
      over: (delivery, result = this.#dropped('expired')) => options.settle(delivery, { result }),
      putOff: (delivery, at) => options.settle(delivery, { result: 'later', at }),
      // It is offered again out of its outbox.
      leavesWhenPutOff: true,
    });
    this.use(options.credentials);
  }

  /** Pushes with these credentials from now on. */
  use({ apns, fcm, vapid }: PushCredentials): void {
    for (const service of Object.values(this.#services)) service.close();
    const { allowPrivateTargets, now } = this.#options;
    this.#services = {
      webpush: makeWebPush({ vapid, allowPrivateTargets, now }),
      ...(apns === null ? {} : { apns: new Apns({ credentials: apns, allowPrivateTargets, now }) }),
      ...(fcm === null ? {} : { fcm: new Fcm({ credentials: fcm, allowPrivateTargets, now }) }),
    };
  }

  /** The providers that can be asked by now. */
  get providers(): PushProvider[] {
    return PUSH_PROVIDERS.filter((provider) => this.#services[provider] !== undefined);
  }

  offer(delivery: PushDelivery): void {
    if (this.#isStopped || this.#queue.add(delivery)) return;
    this.#options.settle(delivery, { result: 'later', at: this.#options.now() + RETRY_MILLIS });
  }

  /** Settles nothing more. */
  stop(): void {
    this.#isStopped = true;
    void this.#queue.close();
    for (const service of Object.values(this.#services)) service.close();
  }

  /** Counted since the start, and how many breakers are open. */
  get metrics() {
    const receivers = this.#queue.openBreakers;
    const open = PUSH_PROVIDERS.map((provider) => {
      return { labels: [provider], value: receivers.filter((name) => name.startsWith(provider)).length };
    });
    return {
      sent: this.#sent.samples(),
      retried: this.#retried.samples(),
      refused: [...this.#refused].flatMap(([provider, reasons]) => reasons.samples([provider])),
      open,
    };
  }

  async #attempt(delivery: PushDelivery, { ask }: AttemptContext<PushEnd>): Promise<Attempt<PushEnd>> {
    const { compose, now } = this.#options;
    const { address, expiresAt, kind, subject } = delivery;
    const composed = compose(delivery);
    if ('dropped' in composed) return { result: 'over', answer: this.#dropped(composed.dropped) };
    const service = this.#services[address.provider];
    if (service === undefined) {
      this.#refused.get(address.provider)?.add('unavailable');
      return { result: 'putOff', millis: UNAVAILABLE_MILLIS };
    }
    const ttlSeconds = Math.floor((expiresAt - now()) / 1000);
    const push = { ...composed.push, address, kind, ttlSeconds, collapseId: collapseIdOf(subject) };
    return await ask(async () => this.#judge(delivery, await service.send(push)));
  }

  #judge({ address: { provider }, attempts }: PushDelivery, answer: PushAnswer): Attempt<PushEnd> {
    if (answer.result === 'sent') {
      this.#sent.add(provider);
      return { result: 'over', answer: 'sent' };
    }
    this.#refused.get(provider)?.add(answer.result === 'gone' ? 'gone' : answer.reason);
    if (answer.result !== 'failed') return { result: 'over', answer: answer.result === 'gone' ? 'gone' : 'dropped' };
    this.#retried.add(provider);
    return { ...answer, answer: 'dropped', attempts: attempts + 1 };
  }

  #dropped(reason: string): PushEnd {
    this.#options.counts.dropped(reason, 1);
    return 'dropped';
  }
}

/** Pushes about the same conversation or call take each other's place, a repeat of one included. */
export function collapseIdOf(subject: string): string {
  return createHash('sha256').update(subject).digest('base64url').slice(0, 32);
}
