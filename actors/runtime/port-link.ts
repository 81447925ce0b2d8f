/**
 * A link between two threads over a MessagePort: asks, tells and answers, batched per turn.
 *
 *     ask/tell ─► out (array of this turn) ─(end of turn)─► one msgpackr-packed post ─► the other side's handler
 *
 * A port has no backpressure of its own: 300,000 unread posts took 143 MB. So asks have credits, a deadline and a
 * bounded queue, and tells are counted until the other side says it has read them; beyond the bound they are
 * dropped and the other side is told that it missed some (`overrun`), once it reads again.
 * Packed per turn, two threads exchange 1.2 to 1.8 million messages a second against 0.57 to 0.64 million posted one by
 * one (2 cores, 2026-11-21; `npm run bench -- port-link`).
 */
import type { MessagePort } from 'node:worker_threads';
import { Packr } from 'msgpackr';
import { refused, type Answer } from './actor.ts';
import type { Cancellation } from './cancellation.ts';
import { monotonicMillis } from './monotonic.ts';

/** Asks under way at once over one link: what a shard answers within a few milliseconds. More wait here. */
export const ASKS_IN_FLIGHT_MAX = 1_024;
/** Asks that wait for a credit. Beyond it the caller is answered `busy` at once. */
export const ASKS_WAITING_MAX = 8_192;
/** Tells the other side has not read yet: some 40 MB of events. Beyond it they are dropped and it is told so. */
export const TELLS_UNREAD_MAX = 100_000;
/** Tells that are read before the other side is told so by a message of its own, which wakes it; any other takes it along. */
export const READS_UNSENT_MAX = 1_000;
/** How often deadlines are looked at. An ask may so wait this much longer than its deadline. */
export const SWEEP_MILLIS = 250;

type Item =
  | [type: 'ask', ask: number, to: string, due: number, body: unknown]
  | [type: 'answer', ask: number, value: unknown]
  | [type: 'refuse', ask: number, ...refused: Parameters<typeof refused>]
  | [type: 'cancel', ask: number]
  | [type: 'tell', to: string, body: unknown]
  | [type: 'read', tells: number]
  | [type: 'overrun'];

/** An ask that came in over the link. Answering twice, or after its deadline, does nothing. */
export interface IncomingAsk {
  readonly due: number;
  readonly cancelled: boolean;
  settle(answer: Answer): void;
}

export interface LinkHandler {
  ask(to: string, body: unknown, ask: IncomingAsk): void;
  tell(to: string, body: unknown): void;
  /** Tells were lost on the way here: whatever depends on having them all must start afresh. */
  overrun(): void;
  /** An ask met its deadline. */
  timedOut(): void;
  /** A tell was dropped because the other side is too far behind. */
  dropped(): void;
  /** The other side is gone; every ask under way was answered `unavailable`. */
  closed(): void;
}

interface Outgoing {
  readonly item: Item;
  readonly due: number;
  readonly settle: (answer: Answer) => void;
}

const packr = new Packr({ useRecords: false, encodeUndefinedAsNil: true });

export class PortLink {
  readonly #port: MessagePort;
  readonly #handler: LinkHandler;
  readonly #asks = new Map<number, Outgoing>();
  readonly #waiting: Outgoing[] = [];
  readonly #incoming = new Map<number, { cancelled: boolean }>();
  readonly #sweep: NodeJS.Timeout;
  #out: Item[] = [];
  #scheduled = false;
  #lastAsk = 0;
  /** Tells of this side that the other one has not read, as far as it has said so. */
  #unread = 0;
  /** Tells of the other side that were read here and that it was not told of. */
  #readsUnsent = 0;
  #overran = false;
  #closed = false;

  constructor(port: MessagePort, handler: LinkHandler) {
    this.#port = port;
    this.#handler = handler;
    port.on('message', (packed: Uint8Array) => this.#receive(packr.unpack(packed) as Item[]));
    port.on('close', () => this.close());
    this.#sweep = setInterval(() => this.#expire(), SWEEP_MILLIS);
    this.#sweep.unref();
  }

  /** Asks; the answer may be a refusal by the runtime: `busy`, `unavailable` after the deadline or a death. */
  async ask(to: string, body: unknown, due: number, cancellation?: Cancellation): Promise<Answer> {
    if (this.#closed || cancellation?.isCancelled === true) return refused('unavailable');
    if (this.#waiting.length >= ASKS_WAITING_MAX) return refused('busy');
    this.#lastAsk += 1;
    const ask = this.#lastAsk;
    const { promise, resolve } = Promise.withResolvers<Answer>();
    const outgoing: Outgoing = { item: ['ask', ask, to, due, body], due, settle: resolve };
    if (this.#asks.size < ASKS_IN_FLIGHT_MAX) this.#send(ask, outgoing);
    else this.#waiting.push(outgoing);
    cancellation?.onCancel(() => this.#cancel(ask));
    return await promise;
  }

  /** Tells; answers false when the other side is too far behind to take it. */
  tell(to: string, body: unknown): boolean {
    if (this.#closed) return false;
    if (this.#unread >= TELLS_UNREAD_MAX) {
      this.#handler.dropped();
      this.#overran = true;
      return false;
    }
    this.#unread += 1;
    this.#post(['tell', to, body]);
    return true;
  }

  /** Asks under way and waiting. */
  get pending(): number {
    return this.#asks.size + this.#waiting.length;
  }

  /** Settles every ask with `unavailable` and lets go of the port. */
  close(): void {
    if (this.#closed) return;
    this.#closed = true;
    clearInterval(this.#sweep);
    const open = [...this.#asks.values(), ...this.#waiting.splice(0)];
    this.#asks.clear();
    for (const outgoing of open) outgoing.settle(refused('unavailable'));
    this.#port.close();
    this.#handler.closed();
  }

  #send(ask: number, outgoing: Outgoing): void {
    this.#asks.set(ask, outgoing);
    this.#post(outgoing.item);
  }

  #post(item: Item): void {
    this.#out.push(item);
    this.#schedule();
  }

  #schedule(): void {
    if (this.#scheduled) return;
    this.#scheduled = true;
    setImmediate(() => {
      this.#scheduled = false;
      const items = this.#out;
      this.#out = [];
      if (this.#closed) return;
      if (this.#readsUnsent > 0) items.push(['read', this.#readsUnsent]);
      this.#readsUnsent = 0;
      // Of its own: a view is cloned with all of the memory that it is cut from, which the packer keeps and grows.
      const packed = new Uint8Array(packr.pack(items));
      this.#port.postMessage(packed, [packed.buffer]);
    });
  }

  #receive(items: readonly Item[]): void {
    for (const item of items) {
      switch (item[0]) {
        case 'tell':
          this.#readsUnsent += 1;
          this.#handler.tell(item[1], item[2]);
          break;
        case 'ask':
          this.#receiveAsk(item[1], item[2], item[3], item[4]);
          break;
        case 'answer':
          this.#settle(item[1], { ok: true, value: item[2] });
          break;
        case 'refuse':
          this.#settle(item[1], refused(item[2], item[3] ?? undefined, item[4] ?? undefined, item[5] ?? undefined));
          break;
        case 'cancel': {
          const incoming = this.#incoming.get(item[1]);
          if (incoming !== undefined) incoming.cancelled = true;
          break;
        }
        case 'read':
          this.#otherSideRead(item[1]);
          break;
        case 'overrun':
          this.#handler.overrun();
          break;
      }
    }
    if (this.#readsUnsent >= READS_UNSENT_MAX) this.#schedule();
  }

  #receiveAsk(ask: number, to: string, due: number, body: unknown): void {
    const incoming = {
      due,
      cancelled: false,
      settle: (answer: Answer): void => {
        if (!this.#incoming.delete(ask)) return;
        if (answer.ok) this.#post(['answer', ask, answer.value]);
        else this.#post(['refuse', ask, answer.code, answer.field, answer.retryAfter, answer.limit]);
      },
    };
    this.#incoming.set(ask, incoming);
    this.#handler.ask(to, body, incoming);
  }

  #settle(ask: number, answer: Answer): void {
    const outgoing = this.#asks.get(ask);
    // A late answer finds no entry and dies here.
    if (outgoing === undefined) return;
    this.#asks.delete(ask);
    outgoing.settle(answer);
    const next = this.#waiting.shift();
    if (next !== undefined) this.#send(next.item[1] as number, next);
  }

  #cancel(ask: number): void {
    const waiting = this.#waiting.findIndex(({ item }) => item[1] === ask);
    if (waiting >= 0) return this.#waiting.splice(waiting, 1)[0]?.settle(refused('unavailable'));
    if (!this.#asks.has(ask)) return;
    this.#post(['cancel', ask]);
    this.#settle(ask, refused('unavailable'));
  }

  #otherSideRead(tells: number): void {
    this.#unread -= tells;
    if (!this.#overran || this.#unread > TELLS_UNREAD_MAX / 2) return;
    this.#overran = false;
    this.#post(['overrun']);
  }

  #expire(): void {
    const now = monotonicMillis();
    for (const [ask, outgoing] of this.#asks) {
      if (outgoing.due > now) continue;
      this.#handler.timedOut();
      this.#post(['cancel', ask]);
      this.#settle(ask, refused('unavailable'));
    }
    const late = this.#waiting.filter(({ due }) => due <= now);
    if (late.length === 0) return;
    this.#waiting.splice(0, this.#waiting.length, ...this.#waiting.filter(({ due }) => due > now));
    for (const outgoing of late) {
      this.#handler.timedOut();
      outgoing.settle(refused('unavailable'));
    }
  }
}
