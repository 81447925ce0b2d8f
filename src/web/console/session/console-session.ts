/**
 * Who is signed in to the console in this tab, and what is asked of them.
 *
 *     signed out ──► sign-in ──┬─ no second factor ─► enrolling ─► signed in
 *         ▲                    └──────────────────────────────────► signed in ──► the screen of the address
 *         └──── session over, idle, or signed out: the address stays, so signing in again leads back to it
 */
import { toParleyError } from '#src/client/parley-error.ts';
import { Observable } from '../../kit/observable.ts';
import type { Key } from '../words/words.ts';
import { ConsoleApi, type ReplyOf } from './console-api.ts';
import { Credentials, type Credential } from './credentials.ts';
import { finishSso } from './single-sign-on.ts';

/** Who is signed in, as the server says. */
export type Me = ReplyOf<'get /me'>;

/** Why somebody is to sign in again: a failure, or a text of the console's own. */
export type Reason = { readonly failed: Error } | { readonly said: Key };

export type SessionState =
  | { readonly phase: 'starting' }
  | { readonly phase: 'signed-out'; readonly reason?: Reason | undefined }
  | { readonly phase: 'enrolling' }
  | { readonly phase: 'trouble'; readonly error: Error }
  | { readonly phase: 'signed-in'; readonly me: Me; readonly reason?: Reason | undefined };

export interface ConsoleSessionOptions {
  /** Where the API's paths begin. */
  readonly prefix: string;
  /** The protocol version that this console was served with. */
  readonly protocol: string;
}

export class ConsoleSession extends Observable {
  readonly api: ConsoleApi;
  readonly #credentials: Credentials;
  #state: SessionState = { phase: 'starting' };
  #answerStepUp: ((isGiven: boolean) => void) | undefined;

  constructor({ prefix, protocol }: ConsoleSessionOptions) {
    super();
    this.#credentials = new Credentials(sessionStorage, () => this.#ended({ said: 'sign-in.idle' }));
    this.api = new ConsoleApi({
      prefix,
      protocol,
      token: () => this.#credentials.token,
      used: () => this.#credentials.used(),
      ended: (error) => this.#ended({ failed: error }),
      enrollmentRequired: () => this.#become({ phase: 'enrolling' }),
      stepUp: async () => await this.#askStepUp(),
    });
  }

  get state(): SessionState {
    return this.#state;
  }

  /** Whether the second factor is asked for again. */
  get isSteppingUp(): boolean {
    return this.#answerStepUp !== undefined;
  }

  /** Finishes what a provider sent back, where the address is such a return, and shows what this tab's credential opens. */
  async start(): Promise<void> {
    let reason: Reason | undefined;
    try {
      const returned = await finishSso(this.api);
      if (returned !== undefined && 'credential' in returned) this.#credentials.set(returned.credential);
      else if (returned !== undefined) reason = returned;
    } catch (error) {
      reason = { failed: toParleyError(error) };
    }
    if (this.#credentials.token === undefined) this.#become({ phase: 'signed-out', reason });
    else await this.enter(reason);
  }

  async signIn(credential: Credential): Promise<void> {
    this.#credentials.set(credential);
    await this.enter();
  }

  /** Asks who is signed in; what they may see is shown then. */
  async enter(reason?: Reason): Promise<void> {
    try {
      const me = await this.api.call('get /me', {});
      this.#become({ phase: 'signed-in', me, reason });
    } catch (error) {
      // A credential that is none was answered by the sign-in already, and one that is to be enrolled by its set-up.
      if (this.#credentials.token === undefined || this.#state.phase === 'enrolling') return;
      this.#become({ phase: 'trouble', error: toParleyError(error) });
    }
  }

  /** The second factor was set up: the session opens everything now. */
  async enrolled(): Promise<void> {
    this.#become({ phase: 'starting' });
    await this.enter();
  }

  async signOut(): Promise<void> {
    const isVendor = this.#state.phase === 'signed-in' && this.#state.me.kind === 'vendor';
    try {
      // A vendor token is no session: forgetting it is all there is to do.
      if (!isVendor) await this.api.call('post /logout', {});
    } catch {
      // The session ends by itself when it is idle; what is left of it here goes now.
    }
    this.#credentials.clear();
    history.replaceState(null, '', '#/');
    this.#become({ phase: 'signed-out' });
  }

  /** The second factor was given again, or was not. */
  answerStepUp(isGiven: boolean): void {
    const answer = this.#answerStepUp;
    this.#answerStepUp = undefined;
    answer?.(isGiven);
    this.changed();
  }

  async #askStepUp(): Promise<boolean> {
    if (this.#state.phase !== 'signed-in') return false;
    const { promise, resolve } = Promise.withResolvers<boolean>();
    this.#answerStepUp = resolve;
    this.changed();
    return await promise;
  }

  #ended(reason: Reason): void {
    if (this.#credentials.token === undefined) return;
    this.#credentials.clear();
    this.#become({ phase: 'signed-out', reason });
  }

  #become(state: SessionState): void {
    if (state.phase === this.#state.phase && state.phase === 'enrolling') return;
    this.#state = state;
    if (state.phase !== 'signed-in') this.answerStepUp(false);
    this.changed();
  }
}
