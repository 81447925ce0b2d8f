/**
 * The person's account-wide rights, kept as the server says them (CAP-03): once an application has asked for them, they are
 * asked for again whenever they may have changed, and the application is told.
 */
import type { MessagingApi } from './messaging-api.ts';
import { toParleyError } from './parley-error.ts';
import type { ClientContext } from './client-context.ts';
import type { AccountRights } from './conversations/rights.ts';

/** A change of the policies is told to everybody at once: their clients ask again over so long. */
export const RIGHTS_SPREAD_MILLIS = 1_000;
/** When it is asked again after it failed. Longer than the server asks a busy client to wait. */
export const RIGHTS_RETRY_MILLIS = 30_000;

export class OwnRights {
  readonly #api: Pick<MessagingApi, 'readAccountRights'>;
  readonly #context: Pick<ClientContext, 'emitter' | 'random' | 'timers'>;
  #known: AccountRights | undefined;
  #cancel: () => void = () => undefined;

  constructor(
    api: Pick<MessagingApi, 'readAccountRights'>,
    context: Pick<ClientContext, 'emitter' | 'random' | 'timers'>,
  ) {
    this.#api = api;
    this.#context = context;
  }

  /** As they were read last; undefined before the first time. */
  get known(): AccountRights | undefined {
    return this.#known;
  }

  /** Asks for them, and goes on keeping them. @throws ParleyError */
  async read(): Promise<AccountRights> {
    const rights = await this.#api.readAccountRights();
    this.#known = rights;
    return rights;
  }

  /** The server says that they changed, or may have: the socket was away. */
  doubt(): void {
    if (this.#known !== undefined) this.#askIn(this.#context.random() * RIGHTS_SPREAD_MILLIS);
  }

  close(): void {
    this.#cancel();
    this.#cancel = () => undefined;
  }

  #askIn(millis: number): void {
    this.#cancel();
    this.#cancel = this.#context.timers.after(millis, () => void this.#ask());
  }

  async #ask(): Promise<void> {
    const { emitter } = this.#context;
    const cancel = this.#cancel;
    try {
      const rights = await this.read();
      if (cancel === this.#cancel) emitter.emit('rights', { rights });
    } catch (thrown) {
      if (cancel !== this.#cancel) return;
      emitter.emit('trouble', { error: toParleyError(thrown) });
      this.#askIn(RIGHTS_RETRY_MILLIS);
    }
  }
}
