/**
 * One call for all tabs of a browser that share a session: the tab that has the lock is in it, another tab is not, and one of those
 * that ring sounds. Tabs tell each other what one of them answered.
 */
import type { ParleyClient } from '#src/client/parley-client.ts';

interface Settled {
  readonly settled: string;
}

export class BrowserCall {
  readonly #name: string;
  readonly #channel: BroadcastChannel;
  #release: (() => void) | undefined;
  #stopRinging: AbortController | undefined;

  /** `onSettled` hears of calls that another tab answered or declined. */
  constructor({ session, user }: ParleyClient, onSettled: (call: string) => void) {
    this.#name = `parley.call ${user} ${session.device_id}`;
    this.#channel = new BroadcastChannel(this.#name);
    this.#channel.addEventListener('message', ({ data }: MessageEvent<Settled>) => onSettled(data.settled));
  }

  /** Whether this tab is the one that is in a call. */
  get isHere(): boolean {
    return this.#release !== undefined;
  }

  /** Makes this tab the one that is in a call; false where another one is. */
  async take(): Promise<boolean> {
    if (this.isHere) return true;
    const taken = Promise.withResolvers<boolean>();
    const held = Promise.withResolvers<void>();
    void navigator.locks.request(this.#name, { ifAvailable: true }, async (lock) => {
      if (lock !== null) this.#release = () => held.resolve();
      taken.resolve(lock !== null);
      if (lock !== null) await held.promise;
    });
    return await taken.promise;
  }

  release(): void {
    this.#release?.();
    this.#release = undefined;
  }

  /** Whether any tab is in a call. */
  async isTaken(): Promise<boolean> {
    const { held = [] } = await navigator.locks.query();
    return held.some(({ name }) => name === this.#name);
  }

  /** The other tabs stop ringing for it. */
  settle(call: string): void {
    this.#channel.postMessage({ settled: call } satisfies Settled);
  }

  /** Calls `onTurn` when this tab is the one to sound; when it goes, another one is. */
  ring(onTurn: () => void): void {
    if (this.#stopRinging !== undefined) return;
    const stop = new AbortController();
    this.#stopRinging = stop;
    const sound = async () => {
      if (stop.signal.aborted) return;
      onTurn();
      await new Promise<void>((resolve) => stop.signal.addEventListener('abort', () => resolve()));
    };
    navigator.locks.request(`${this.#name} ring`, { signal: stop.signal }, sound).catch(() => undefined);
  }

  endRinging(): void {
    this.#stopRinging?.abort();
    this.#stopRinging = undefined;
  }
}
