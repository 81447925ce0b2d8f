/**
 * Hands pushes to their providers: looks once more whether each is still due, waits where a provider wants to be left
 * alone, and says what came of it. Keeps nothing: what is not acknowledged lies in the outbox of its person.
 *
 *     offered ─► queue ─► still due? ─► breaker ─► provider ─► settled: sent, gone, dropped, or later
 */
import { createHash } from 'node:crypto';
import type { PushOutcome } from '#actors/push/push.messages.ts';
import type { PushDelivery } from '#actors/runtime/actor.ts';
import type { PrivateTargets } from '#src/outgoing/targets.ts';
import { PUSH_PROVIDERS, type PushCredentials, type PushProvider } from '#src/protocol/push/push.ts';
import { LabelledCounts } from '#src/telemetry/labelled-counts.ts';
import { Apns } from './apns.ts';
import { CircuitBreaker } from './circuit-breaker.ts';
import { Fcm } from './fcm.ts';
import type { OutgoingPush, PushAnswer, PushService } from './push-service.ts';
import { makeWebPush } from './web-push.ts';

/** Pushes on their way at once from one shard. More wait their turn. */
export const SENDING_MAX = 64;
/** Pushes that wait their turn. Beyond it they stay in their outbox and are offered again after RETRY_MILLIS. */
export const QUEUE_MAX = 10_000;
/** The wait before the second attempt; each one after waits twice as long, give or take half of it, up to the most. */
export const RETRY_MILLIS = 2_000;
export const RETRY_MILLIS_MAX = 600_000;
/** How long a push waits whose provider is not set up, or whose credentials are locked. */
export const UNAVAILABLE_MILLIS = 30_000;
/** Hosts of Web Push that are told apart; the one that was met longest ago is forgotten. */
const BREAKERS_MAX = 256;

/** What a push says, made right before it goes out; or why it does not. */
export type Composed =
  | { readonly push: Omit<OutgoingPush, 'address' | 'kind' | 'ttlSeconds' | 'collapseId'> }
  | { readonly dropped: string };

export interface PushSenderOptions {
  readonly credentials: PushCredentials;
  readonly allowPrivateTargets: PrivateTargets;
  readonly now: () => number;
  readonly compose: (delivery: PushDelivery) => Composed;
  readonly settle: (delivery: PushDelivery, outcome: PushOutcome) => void;
  readonly counts: { dropped(reason: string, count: number): void };
  /** 0 up to, not including, 1. */
  readonly random?: () => number;
  /** The first wait of tests. */
  readonly retryMillis?: number;
}

export class PushSender {
  readonly #options: PushSenderOptions;
  readonly #queue: PushDelivery[] = [];
  readonly #breakers = new Map<string, CircuitBreaker>();
  readonly #sent = new LabelledCounts();
  readonly #retried = new LabelledCounts();
  readonly #refused = new Map<PushProvider, LabelledCounts>(
    PUSH_PROVIDERS.map((provider) => [provider, new LabelledCounts()]),
  );
  #services: Partial<Record<PushProvider, PushService>> = {};
  #sending = 0;
  #isStopped = false;

  constructor(options: PushSenderOptions) {
    this.#options = options;
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
    if (this.#isStopped) return;
    if (this.#queue.length >= QUEUE_MAX) return this.#postpone(delivery, RETRY_MILLIS);
    this.#queue.push(delivery);
    this.#pump();
  }

  stop(): void {
    this.#isStopped = true;
    this.#queue.length = 0;
    for (const service of Object.values(this.#services)) service.close();
  }

  /** Counted since the start, and how many breakers are open. */
  get metrics() {
    const now = this.#options.now();
    const open = PUSH_PROVIDERS.map((provider) => {
      const own = [...this.#breakers].filter(([name]) => name.startsWith(provider));
      return { labels: [provider], value: own.filter(([, breaker]) => breaker.isOpen(now)).length };
    });
    return {
      sent: this.#sent.samples(),
      retried: this.#retried.samples(),
      refused: [...this.#refused].flatMap(([provider, reasons]) => reasons.samples([provider])),
      open,
    };
  }

  #pump(): void {
    while (this.#sending < SENDING_MAX && !this.#isStopped) {
      const delivery = this.#queue.shift();
      if (delivery === undefined) return;
      this.#sending += 1;
      void this.#attempt(delivery)
        // A defect must not leave the push on its way for ever.
        .catch((): PushAnswer => ({ result: 'failed', reason: 'internal', isDown: false }))
        .then((answer) => {
          this.#sending -= 1;
          if (this.#isStopped) return;
          if (answer !== undefined) this.#conclude(delivery, answer);
          this.#pump();
        });
    }
  }

  /** Undefined where nobody was asked, and that is settled. */
  async #attempt(delivery: PushDelivery): Promise<PushAnswer | undefined> {
    const { compose, now } = this.#options;
    const { provider } = delivery.address;
    const left = Math.floor((delivery.expiresAt - now()) / 1000);
    const composed: Composed = left <= 0 ? { dropped: 'expired' } : compose(delivery);
    if ('dropped' in composed) {
      this.#options.counts.dropped(composed.dropped, 1);
      this.#settle(delivery, { result: 'dropped' });
      return undefined;
    }
    const service = this.#services[provider];
    if (service === undefined) {
      this.#refused.get(provider)?.add('unavailable');
      this.#postpone(delivery, UNAVAILABLE_MILLIS);
      return undefined;
    }
    const wait = this.#breakerOf(delivery).admit(now());
    if (wait > 0) {
      this.#postpone(delivery, wait);
      return undefined;
    }
    const { address, kind, subject } = delivery;
    return await service.send({ ...composed.push, address, kind, ttlSeconds: left, collapseId: collapseIdOf(subject) });
  }

  #conclude(delivery: PushDelivery, answer: PushAnswer): void {
    const { provider } = delivery.address;
    const breaker = this.#breakerOf(delivery);
    if (answer.result === 'failed' && answer.isDown) breaker.failed(this.#options.now());
    else breaker.succeeded();
    if (answer.result === 'sent') {
      this.#sent.add(provider);
      return this.#settle(delivery, { result: 'sent' });
    }
    this.#refused.get(provider)?.add(answer.result === 'gone' ? 'gone' : answer.reason);
    if (answer.result === 'gone') return this.#settle(delivery, { result: 'gone' });
    if (answer.result === 'refused') return this.#settle(delivery, { result: 'dropped' });
    this.#retried.add(provider);
    const { random = Math.random, retryMillis = RETRY_MILLIS } = this.#options;
    const backoff = Math.min(retryMillis * 2 ** delivery.attempts, RETRY_MILLIS_MAX) * (0.5 + random());
    return this.#postpone(delivery, Math.max(backoff, answer.retryMillis ?? 0));
  }

  #postpone(delivery: PushDelivery, millis: number): void {
    this.#settle(delivery, { result: 'later', at: this.#options.now() + Math.ceil(millis) });
  }

  #settle(delivery: PushDelivery, outcome: PushOutcome): void {
    this.#options.settle(delivery, outcome);
  }

  /** One for each provider; every push service of the web stands for itself. */
  #breakerOf({ address }: PushDelivery): CircuitBreaker {
    const name = address.provider === 'webpush' ? `webpush ${new URL(address.endpoint).host}` : address.provider;
    const known = this.#breakers.get(name);
    if (known !== undefined) return known;
    const [oldest] = this.#breakers.keys();
    if (this.#breakers.size >= BREAKERS_MAX && oldest !== undefined) this.#breakers.delete(oldest);
    const breaker = new CircuitBreaker();
    this.#breakers.set(name, breaker);
    return breaker;
  }
}

/** Pushes about the same conversation or call take each other's place, a repeat of one included. */
export function collapseIdOf(subject: string): string {
  return createHash('sha256').update(subject).digest('base64url').slice(0, 32);
}
