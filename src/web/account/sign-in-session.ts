/**
 * Who is signed in here, and the client that speaks for them. All tabs of the browser are one device: they share a socket, and who
 * signs in or out in one of them does so in all.
 */
import { canShareTabs, ClientTabs } from '#src/client/client-tabs.ts';
import { ParleyClient } from '#src/client/parley-client.ts';
import { beginSignOn, finishSignOn, type SignOnWalk } from '#src/client/sign-on.ts';
import { Http } from '#src/client/connection/http.ts';
import { cookieForm, signIn } from '#src/client/connection/session.ts';
import { StandingWatch, type Standing } from '#src/client/connection/standing.ts';
import { systemTimers } from '#src/client/connection/timers.ts';
import type { Session } from '#src/protocol/sessions/sessions.ts';
import { PROTOCOL_VERSION } from '#src/protocol/version.ts';
import { Observable } from '../kit/observable.ts';
import { forgetSession, keepSession, keptOutbox, keptSession, SESSION_KEY, thisDevice } from './kept-session.ts';

/** `code` says why the person has to sign in again, or why signing in at a provider came to nothing. */
export type SignInState =
  | { readonly phase: 'starting' }
  | { readonly phase: 'signed-out'; readonly code?: string }
  | { readonly phase: 'signed-in'; readonly client: ParleyClient };

export interface SignInWays {
  readonly password: boolean;
  readonly providers: readonly { readonly id: string; readonly name: string }[];
}

const WALK = 'parley.walk';

const BASE = new URL('.', document.baseURI).href.replace(/\/+$/, '');
const OPTIONS = {
  coordinatorUrl: BASE,
  messagingUrl: document.documentElement.dataset['messaging'] ?? BASE,
  sessionCookie: true,
};

export class SignInSession extends Observable {
  #state: SignInState = { phase: 'starting' };
  #standing: Standing = 'current';
  #tabs: ClientTabs | undefined;
  readonly #http = new Http({
    url: OPTIONS.coordinatorUrl,
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
    globalThis.addEventListener('storage', ({ key }) => {
      // No key: everything was cleared.
      if (key === null || key === SESSION_KEY) this.#lookAgain();
    });
    const returned = new URL(location.href);
    const walk = sessionStorage.getItem(WALK);
    if (walk !== null && (returned.searchParams.has('code') || returned.searchParams.has('error'))) {
      sessionStorage.removeItem(WALK);
      history.replaceState(null, '', `${returned.pathname}${returned.hash}`);
      return await this.#finishWalk(JSON.parse(walk) as SignOnWalk, returned.href);
    }
    const session = keptSession();
    if (session === undefined) this.#be({ phase: 'signed-out' });
    else this.#follow(session);
  }

  /** @throws ParleyError `login_failed`, `rate_limited`, `sign_in_by_identity` and what any request may fail with. */
  async signIn(username: string, password: string): Promise<void> {
    const { id, ...device } = thisDevice(username);
    const own = id === undefined ? {} : { device_id: id };
    this.#enter(await signIn(this.#http, { username, password, device, ...own, ...cookieForm(true) }));
  }

  /** How people sign in here. @throws ParleyError */
  async readWays(): Promise<SignInWays> {
    return (await this.#http.request({ method: 'get', path: '/v1/auth/sso' })) as SignInWays;
  }

  /** Leads the browser to a provider. */
  async goToProvider(provider: string): Promise<void> {
    const redirectUri = `${location.origin}${location.pathname}`;
    const { url, walk } = await beginSignOn({ ...OPTIONS, provider, redirectUri });
    sessionStorage.setItem(WALK, JSON.stringify(walk));
    location.assign(url);
  }

  /** Ends the session here, in all tabs, and on the server where it can be told. */
  async signOut(): Promise<void> {
    if (this.#state.phase !== 'signed-in') return;
    const { client } = this.#state;
    forgetSession();
    try {
      await client.signOut();
    } catch {
      // The server could not be told: the token's life ends it there.
    }
    this.#leave({ phase: 'signed-out' });
  }

  async #finishWalk(walk: SignOnWalk, returned: string): Promise<void> {
    try {
      this.#enter(await finishSignOn({ ...OPTIONS, walk, returned, device: thisDevice('') }));
    } catch (thrown) {
      this.#be({ phase: 'signed-out', code: (thrown as { code?: string }).code ?? 'sso_failed' });
    }
  }

  /** Somebody signed in in this tab. */
  #enter(session: Session): void {
    keepSession(session);
    this.#follow(session);
  }

  #follow(session: Session): void {
    // A page that is not secure has no locks: there each tab speaks for itself.
    const name = `${session.user} ${session.device_id}`;
    const tabs = canShareTabs() ? new ClientTabs({ name }) : undefined;
    const client = ParleyClient.resume({ ...OPTIONS, ...tabs?.options, store: keptOutbox(tabs), session });
    tabs?.attach(client);
    this.#tabs = tabs;
    client.on('renewed', () => {
      if (this.#isOf(client)) keepSession(client.session);
    });
    client.on('signed-out', ({ code }) => {
      if (!this.#isOf(client)) return;
      forgetSession();
      this.#leave({ phase: 'signed-out', code });
    });
    client.on('standing', ({ standing }) => this.#stand(standing));
    this.#be({ phase: 'signed-in', client });
  }

  #isOf(client: ParleyClient): boolean {
    return this.#state.phase === 'signed-in' && this.#state.client === client;
  }

  /** Another tab signed in or out. */
  #lookAgain(): void {
    if (this.#state.phase === 'starting') return;
    const kept = keptSession();
    const user = this.#state.phase === 'signed-in' ? this.#state.client.user : undefined;
    if (kept?.user === user) return;
    if (user !== undefined) this.#leave({ phase: 'signed-out' });
    if (kept !== undefined) this.#follow(kept);
  }

  /** The session is over: nothing of it goes on here. */
  #leave(state: SignInState): void {
    if (this.#state.phase === 'signed-in') this.#state.client.close();
    this.#tabs?.close();
    this.#tabs = undefined;
    this.#be(state);
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
