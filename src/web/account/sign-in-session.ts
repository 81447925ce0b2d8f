/**
 * Who is signed in here, and the client that speaks for them. All tabs of the browser are one device: they share a socket, and who
 * signs in or out in one of them does so in all.
 */
import type { z } from 'zod';
import { AccountApi } from '#src/client/account-api.ts';
import { canShareTabs, ClientTabs } from '#src/client/client-tabs.ts';
import { ParleyClient } from '#src/client/parley-client.ts';
import { beginSignOn, finishSignOn, type SignOnWalk } from '#src/client/sign-on.ts';
import { ParleyError } from '#src/client/parley-error.ts';
import { finishSignIn, signInWithPasskey } from '#src/client/second-factor.ts';
import { Http } from '#src/client/connection/http.ts';
import { cookieForm, Session as KeptSession, signIn } from '#src/client/connection/session.ts';
import { StandingWatch, type Standing } from '#src/client/connection/standing.ts';
import { systemTimers } from '#src/client/connection/timers.ts';
import type { confirmRecovery } from '#src/protocol/directory/guests.ts';
import type { FinishSignIn, SecondFactorAsk } from '#src/protocol/sessions/second-factors.ts';
import type { Session } from '#src/protocol/sessions/sessions.ts';
import { PROTOCOL_VERSION } from '#src/protocol/version.ts';
import { Observable } from '../kit/observable.ts';
import {
  forgetSession,
  keepSession,
  keptConversations,
  keptOutbox,
  keptSession,
  lastDevice,
  SESSION_KEY,
  thisDevice,
} from './kept-session.ts';

/** `code` says why the person has to sign in again, or why signing in at a provider came to nothing; `ask`, what is wanted besides. */
export type SignInState =
  | { readonly phase: 'starting' }
  | { readonly phase: 'signed-out'; readonly code?: string; readonly ask?: SecondFactorAsk }
  /** The installation wants a second factor, and until there is one the session sets one up and does nothing else. */
  | { readonly phase: 'enrolling'; readonly account: AccountApi; readonly session: KeptSession }
  | { readonly phase: 'signed-in'; readonly client: ParleyClient };

type ConfirmRecovery = z.input<typeof confirmRecovery>;

export interface SignInWays {
  readonly password: boolean;
  /** Whether links to set a forgotten password come by mail; left out by servers of before. */
  readonly reset_by_mail?: boolean;
  readonly providers: readonly { readonly id: string; readonly name: string }[];
}

const WALK = 'parley.walk';
/** What the address named when the walk to a provider began. */
const WALK_PLACE = 'parley.walk.place';

const BASE = new URL('.', document.baseURI).href.replace(/\/+$/, '');
/** Where the calendar is for this page. */
export const CALENDAR_URL = document.documentElement.dataset['calendar'] ?? BASE;
const OPTIONS = {
  coordinatorUrl: BASE,
  messagingUrl: document.documentElement.dataset['messaging'] ?? BASE,
  calendarUrl: CALENDAR_URL,
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
    // A page that is left may not come back.
    globalThis.addEventListener('pagehide', () => {
      if (this.#state.phase === 'signed-in') void this.#state.client.keep();
    });
    globalThis.addEventListener('storage', ({ key }) => {
      // No key: everything was cleared.
      if (key === null || key === SESSION_KEY) this.#lookAgain();
    });
    const returned = new URL(location.href);
    const walk = sessionStorage.getItem(WALK);
    if (walk !== null && (returned.searchParams.has('code') || returned.searchParams.has('error'))) {
      sessionStorage.removeItem(WALK);
      const place = sessionStorage.getItem(WALK_PLACE) ?? '';
      sessionStorage.removeItem(WALK_PLACE);
      history.replaceState(null, '', `${returned.pathname}${place}`);
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
    try {
      this.#enter(await signIn(this.#http, { username, password, device, ...own, ...cookieForm(true) }));
    } catch (thrown) {
      if (!this.#isAsked(thrown)) throw thrown;
    }
  }

  /** Goes on with a sign-in that asks for a second factor. @throws ParleyError `second_factor_wrong`, `sign_in_over`. */
  async finish(ask: SecondFactorAsk, proof: Omit<FinishSignIn, 'challenge'>): Promise<void> {
    this.#enter(await finishSignIn({ ...OPTIONS, ask, proof }));
  }

  /** Begins a sign-in anew. */
  startOver(): void {
    this.#be({ phase: 'signed-out' });
  }

  /** Signs in whom a passkey names. @throws ParleyError `login_failed`, `transfer_aborted`, `passkeys_unavailable`. */
  async signInWithPasskey(): Promise<void> {
    // Whose it is, is known afterwards: the device that a name had here cannot be said.
    this.#enter(await signInWithPasskey({ ...OPTIONS, device: thisDevice('') }));
  }

  /** From when on a second factor is wanted of the person who has none, in milliseconds; undefined for everybody else. */
  get factorDue(): number | undefined {
    if (this.#state.phase !== 'signed-in') return undefined;
    const due = this.#state.client.session.second_factor_due;
    return due === undefined ? undefined : Date.parse(due);
  }

  /** How people sign in here. @throws ParleyError */
  async readWays(): Promise<SignInWays> {
    return (await this.#http.request({ method: 'get', path: '/v1/auth/sso' })) as SignInWays;
  }

  /** Asks for a link by mail. Whether there is an account of that address, nobody is told. @throws ParleyError `rate_limited`. */
  async requestPasswordReset(email: string): Promise<void> {
    await this.#http.request({ method: 'post', path: '/v1/auth/password-reset', body: { email } });
  }

  /** A guest asks for a code. @throws ParleyError `rate_limited`. */
  async requestRecovery(phone: string): Promise<void> {
    await this.#http.request({ method: 'post', path: '/v1/auth/recover', body: { phone } });
  }

  /** A guest sets a password by that code. @throws ParleyError `recovery_failed`, `rate_limited`, and codes of passwords. */
  async confirmRecovery(form: ConfirmRecovery): Promise<void> {
    const device = lastDevice();
    // Where the guest was signed in before, a stranger's wrong codes do not count.
    const body = { ...form, ...(device === undefined ? {} : { device_id: device }) };
    await this.#http.request({ method: 'post', path: '/v1/auth/recover/confirm', body });
  }

  /** Leads the browser to a provider, and back to what the address names now. */
  async goToProvider(provider: string): Promise<void> {
    const redirectUri = `${location.origin}${location.pathname}`;
    const { url, walk } = await beginSignOn({ ...OPTIONS, provider, redirectUri });
    sessionStorage.setItem(WALK, JSON.stringify(walk));
    sessionStorage.setItem(WALK_PLACE, location.hash);
    location.assign(url);
  }

  /** Ends the session here, in all tabs, and on the server where it can be told. */
  async signOut(): Promise<void> {
    const state = this.#state;
    if (state.phase !== 'signed-in' && state.phase !== 'enrolling') return;
    forgetSession();
    try {
      await (state.phase === 'signed-in' ? state.client.signOut() : state.session.logout());
    } catch {
      // The server could not be told: the token's life ends it there.
    }
    this.#leave({ phase: 'signed-out' });
  }

  async #finishWalk(walk: SignOnWalk, returned: string): Promise<void> {
    try {
      this.#enter(await finishSignOn({ ...OPTIONS, walk, returned, device: thisDevice('') }));
    } catch (thrown) {
      if (this.#isAsked(thrown)) return;
      this.#be({ phase: 'signed-out', code: (thrown as { code?: string }).code ?? 'sso_failed' });
    }
  }

  /** Whether a sign-in goes on with a second factor, for which is asked then. */
  #isAsked(thrown: unknown): boolean {
    if (!(thrown instanceof ParleyError) || thrown.secondFactor === undefined) return false;
    this.#be({ phase: 'signed-out', ask: thrown.secondFactor });
    return true;
  }

  /** Somebody signed in in this tab. */
  #enter(session: Session): void {
    keepSession(session);
    if (session.second_factor === 'enrollment') this.#enroll(session);
    else this.#follow(session);
  }

  /** Goes on with nothing but setting up a factor. */
  #enroll(wire: Session): void {
    const session = new KeptSession(wire, {
      coordinator: this.#http,
      timers: systemTimers,
      inCookie: true,
      onRenewed: () => undefined,
      onOver: ({ code }) => {
        forgetSession();
        this.#leave({ phase: 'signed-out', code });
      },
    });
    this.#be({ phase: 'enrolling', account: new AccountApi(session, this.#http), session });
  }

  /** Whether this tab has the socket of all of the browser’s; one that speaks for itself alone has its own. */
  get leads(): boolean {
    return this.#tabs?.leads ?? true;
  }

  /** A factor is in force: the next token opens everything. @throws ParleyError */
  async enrolled(): Promise<void> {
    if (this.#state.phase !== 'enrolling') return;
    const { session } = this.#state;
    await session.renew(session.token);
    session.close();
    this.#enter(session.wire);
  }

  #follow(session: Session): void {
    // A page that is not secure has no locks: there each tab speaks for itself.
    const name = `${session.user} ${session.device_id}`;
    const tabs = canShareTabs() ? new ClientTabs({ name }) : undefined;
    const stores = { store: keptOutbox(tabs), conversationStore: keptConversations(session) };
    const client = ParleyClient.resume({ ...OPTIONS, ...tabs?.options, ...stores, session });
    tabs?.attach(client);
    this.#tabs = tabs;
    client.on('renewed', () => {
      if (!this.#isOf(client)) return;
      keepSession(client.session);
      this.changed();
      // The days of grace are over, or the rule is new and has none.
      if (client.session.second_factor !== 'enrollment') return;
      this.#leave({ phase: 'starting' });
      this.#enroll(client.session);
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
    const user = userOf(this.#state);
    if (kept?.user === user) return;
    if (user !== undefined) this.#leave({ phase: 'signed-out' });
    if (kept !== undefined) this.#follow(kept);
  }

  /** The session is over: nothing of it goes on here. */
  #leave(state: SignInState): void {
    if (this.#state.phase === 'signed-in') this.#state.client.close();
    if (this.#state.phase === 'enrolling') this.#state.session.close();
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

function userOf(state: SignInState): string | undefined {
  if (state.phase === 'signed-in') return state.client.user;
  return state.phase === 'enrolling' ? state.session.wire.user : undefined;
}
