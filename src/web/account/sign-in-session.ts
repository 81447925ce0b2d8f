/**
 * Who is signed in here, and the client that speaks for them. One tab at a time has the client: a device has one socket, and
 * two tabs would take it from each other without end. Another tab says so and can take over.
 */
import { ParleyClient } from '#src/client/parley-client.ts';
import { beginSignOn, finishSignOn, type SignOnWalk } from '#src/client/sign-on.ts';
import { Http } from '#src/client/connection/http.ts';
import { StandingWatch, type Standing } from '#src/client/connection/standing.ts';
import { systemTimers } from '#src/client/connection/timers.ts';
import { PROTOCOL_VERSION } from '#src/protocol/version.ts';
import { Observable } from '../kit/observable.ts';
import { forgetSession, keepSession, KEPT_OUTBOX, keptSession, thisDevice } from './kept-session.ts';

/** `code` says why the person has to sign in again, or why signing in at a provider came to nothing. */
export type SignInState =
  | { readonly phase: 'starting' }
  | { readonly phase: 'signed-out'; readonly code?: string }
  | { readonly phase: 'elsewhere' }
  | { readonly phase: 'signed-in'; readonly client: ParleyClient };

export interface SignInWays {
  readonly password: boolean;
  readonly providers: readonly { readonly id: string; readonly name: string }[];
}

const LOCK = 'parley.tab';
const WALK = 'parley.walk';

const BASE = new URL('.', document.baseURI).href.replace(/\/+$/, '');
const URLS = { coordinatorUrl: BASE, messagingUrl: document.documentElement.dataset['messaging'] ?? BASE };

export class SignInSession extends Observable {
  #state: SignInState = { phase: 'starting' };
  #standing: Standing = 'current';
  #release: (() => void) | undefined;
  readonly #http = new Http({
    url: URLS.coordinatorUrl,
    fetch: (input, init) => globalThis.fetch(input, init),
    timers: systemTimers,
    standing: new StandingWatch(PROTOCOL_VERSION, (standing) => this.#stand(standing)),
  });

  get state(): SignInState {
    return this.#state;
  }

  get standing(): Standing {
    return this.#standing;
  }

  /** Goes on with the session that was kept, finishes a walk to a provider, or asks who it is. */
  async start(): Promise<void> {
    const returned = new URL(location.href);
    const walk = sessionStorage.getItem(WALK);
    if (walk !== null && (returned.searchParams.has('code') || returned.searchParams.has('error'))) {
      sessionStorage.removeItem(WALK);
      history.replaceState(null, '', `${returned.pathname}${returned.hash}`);
      return await this.#finishWalk(JSON.parse(walk) as SignOnWalk, returned.href);
    }
    await this.takeOver(false);
  }

  /** Makes this the tab that speaks; `byForce` takes it from the one that does now. */
  async takeOver(byForce: boolean): Promise<void> {
    const session = keptSession();
    if (session === undefined) return this.#be({ phase: 'signed-out' });
    if (!(await this.#lock(byForce))) return this.#be({ phase: 'elsewhere' });
    // The tab that let go may have renewed it meanwhile.
    this.#follow(ParleyClient.resume({ ...URLS, store: KEPT_OUTBOX, session: keptSession() ?? session }));
  }

  /** @throws ParleyError `login_failed`, `rate_limited`, `sign_in_by_identity` and what any request may fail with. */
  async signIn(username: string, password: string): Promise<void> {
    const device = thisDevice(username);
    const client = await ParleyClient.signIn({ ...URLS, store: KEPT_OUTBOX, username, password, device });
    await this.#lock(true);
    keepSession(client.session);
    this.#follow(client);
  }

  /** How people sign in here. @throws ParleyError */
  async readWays(): Promise<SignInWays> {
    return (await this.#http.request({ method: 'get', path: '/v1/auth/sso' })) as SignInWays;
  }

  /** Leads the browser to a provider. */
  async goToProvider(provider: string): Promise<void> {
    const redirectUri = `${location.origin}${location.pathname}`;
    const { url, walk } = await beginSignOn({ ...URLS, provider, redirectUri });
    sessionStorage.setItem(WALK, JSON.stringify(walk));
    location.assign(url);
  }

  /** Ends the session on the server, where it can be told, and here in any case. */
  async signOut(): Promise<void> {
    if (this.#state.phase !== 'signed-in') return;
    const { client } = this.#state;
    try {
      await client.signOut();
    } catch {
      // The server could not be told: the token's life ends it there.
    }
    this.#leave({ phase: 'signed-out' });
  }

  async #finishWalk(walk: SignOnWalk, returned: string): Promise<void> {
    try {
      const session = await finishSignOn({ ...URLS, walk, returned, device: thisDevice('') });
      keepSession(session);
      await this.takeOver(true);
    } catch (thrown) {
      this.#be({ phase: 'signed-out', code: (thrown as { code?: string }).code ?? 'sso_failed' });
    }
  }

  #follow(client: ParleyClient): void {
    client.on('renewed', () => keepSession(client.session));
    client.on('signed-out', ({ code }) => this.#leave({ phase: 'signed-out', code }));
    client.on('standing', ({ standing }) => this.#stand(standing));
    this.#be({ phase: 'signed-in', client });
  }

  /** The session is over: nothing of it stays here. */
  #leave(state: SignInState): void {
    forgetSession();
    this.#release?.();
    this.#be(state);
  }

  /** Answers whether this tab has the client from now on. Where a page is not secure there are no locks, and no question. */
  async #lock(byForce: boolean): Promise<boolean> {
    if (!('locks' in navigator) || this.#release !== undefined) return true;
    const { promise, resolve } = Promise.withResolvers<boolean>();
    const held = Promise.withResolvers<void>();
    const options = byForce ? { steal: true } : { ifAvailable: true };
    navigator.locks
      .request(LOCK, options, async (lock) => {
        resolve(lock !== null);
        if (lock === null) return;
        this.#release = () => {
          this.#release = undefined;
          held.resolve();
        };
        await held.promise;
      })
      .catch(() => this.#giveWay());
    return await promise;
  }

  /** Another tab took over. */
  #giveWay(): void {
    this.#release = undefined;
    if (this.#state.phase !== 'signed-in') return;
    this.#state.client.close();
    this.#be({ phase: 'elsewhere' });
  }

  #stand(standing: Standing): void {
    this.#standing = standing;
    this.changed();
  }

  #be(state: SignInState): void {
    this.#state = state;
    this.changed();
  }
}
