/** The steps of one device in one call, sent one after the other under their numbers. */
import { isTransient, toParleyError, clientError } from '../parley-error.ts';
import type { Timers } from '../connection/timers.ts';

/** How long a step is tried: longer than the server keeps a device without a connection in the call, it makes no sense. */
export const STEP_MILLIS_MAX = 30_000;
/** Between two attempts. */
export const STEP_RETRY_MILLIS = 1_000;

export interface Stanza {
  readonly kind: 'call' | 'webrtc';
  readonly step: string;
  readonly seq: number;
  readonly body: Readonly<Record<string, unknown>>;
}

export interface StanzaSenderOptions {
  readonly post: (stanza: Stanza) => Promise<unknown>;
  readonly timers: Timers;
}

export class StanzaSender {
  readonly #options: StanzaSenderOptions;
  #seq: number;
  #sending: Promise<unknown> = Promise.resolve();
  #isClosed = false;

  /** Numbers begin with the time: a device that comes into the same call again goes on above what it said before. */
  constructor(options: StanzaSenderOptions) {
    this.#options = options;
    this.#seq = options.timers.now();
  }

  /** Sends a step once those before it are sent. @throws ParleyError what the server refuses it with; `client_closed`. */
  send(kind: Stanza['kind'], step: string, body: Readonly<Record<string, unknown>> = {}): Promise<void> {
    const stanza = { kind, step, body, seq: this.nextSeq() };
    const sent = this.#sending.then(async () => await this.#send(stanza));
    this.#sending = sent.catch(() => undefined);
    return sent;
  }

  /** The number of a step that goes another way. */
  nextSeq(): number {
    this.#seq += 1;
    return this.#seq;
  }

  /** What waits is not sent any more. */
  close(): void {
    this.#isClosed = true;
  }

  async #send(stanza: Stanza): Promise<void> {
    const { post, timers } = this.#options;
    const end = timers.now() + STEP_MILLIS_MAX;
    for (let attempt = 1; ; attempt += 1) {
      if (this.#isClosed) throw clientError('client_closed');
      try {
        await post(stanza);
        return;
      } catch (thrown) {
        const error = toParleyError(thrown);
        // An attempt whose answer was lost had arrived.
        if (attempt > 1 && error.code === 'signal_out_of_order') return;
        if (!isTransient(error) || timers.now() >= end) throw error;
        const millis = error.retryAfter === undefined ? STEP_RETRY_MILLIS : error.retryAfter * 1_000;
        await new Promise<void>((resolve) => void timers.after(millis, resolve));
      }
    }
  }
}
