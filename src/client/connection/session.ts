/** The session of one person on one device: signing in, staying signed in, signing out (CRD-02, CRD-03). */
import type { Login, Session as WireSession } from '#src/protocol/sessions/sessions.ts';
import type { Http, HttpRequest } from './http.ts';
import { readUnixSeconds } from '../instants.ts';
import { clientError, isUnauthorized, ParleyError, toParleyError } from '../parley-error.ts';
import { isRecord } from '../conversations/records.ts';
import type { Timers } from './timers.ts';

/**
 * The part of a token's life after which it is renewed unasked: late enough to matter little, early enough for
 * several attempts on a bad network before the token runs out.
 */
export const RENEW_AFTER_LIFE = 0.75;

/**
 * Between attempts at renewing unasked. A request that meets 401 in between renews by itself. The server answers a renewal again
 * for 30 s, and an attempt whose answer does not come is given up after 15: the next one is still in time.
 */
export const RENEW_RETRY_MILLIS = 5_000;

export interface SessionOptions {
  /** The coordinator, which signs in and renews. */
  readonly coordinator: Http;
  readonly timers: Timers;
  /** Whether what renews the session is in a cookie of this origin, which no script reads; what is shown otherwise moves there. */
  readonly inCookie?: boolean;
  /** Lets one tab at a time renew, where several share the session. */
  readonly turn?: ((renew: () => Promise<void>) => Promise<void>) | undefined;
  /** A renewed session came: the application may want to keep it. */
  readonly onRenewed: (session: WireSession) => void;
  /** The session is over and cannot be renewed. */
  readonly onOver: (error: ParleyError) => void;
}

/** Signs a person in. @throws ParleyError `login_failed`, `rate_limited`, or what any request may fail with. */
export async function signIn(coordinator: Http, login: Login): Promise<WireSession> {
  return await openSession(coordinator, '/v1/auth/login', login);
}

/** The session that a form opens; in a cookie mode, what renews it stays with the browser. @throws ParleyError */
export async function openSession(
  coordinator: Http,
  path: string,
  form: { readonly [field: string]: unknown; readonly session_cookie?: boolean | undefined },
): Promise<WireSession> {
  const withCookies = form.session_cookie === true;
  return readSession(await coordinator.request({ method: 'post', path, body: form, withCookies }));
}

/** What says in a form that the refresh token goes into a cookie. */
export function cookieForm(isAsked: boolean | undefined): { readonly session_cookie?: true } {
  return isAsked === true ? { session_cookie: true } : {};
}

/** The session of a device as its cookie has it, for `ParleyClient.resume`, which renews it first. */
export function cookieSession(of: { user: string; deviceId: string }): WireSession {
  // The end of the session is the cookie's affair; any but 0, which is a bot's.
  return { token: '', user: of.user, device_id: of.deviceId, exp: 0, iat: 0, rnw: 1 };
}

/**
 * The session of a bot, for `ParleyClient.resume`: its token, username and device as the console showed them. It ends
 * when the bot is revoked, or gets another token.
 */
export function botSession(bot: { token: string; user: string; deviceId: string }): WireSession {
  return { token: bot.token, user: bot.user, device_id: bot.deviceId, exp: 0, iat: 0, rnw: 0 };
}

export class Session {
  readonly #options: SessionOptions;
  #wire: WireSession;
  #renewal: Promise<void> | undefined;
  #cancelTimer: (() => void) | undefined;
  #over: ParleyError | undefined;
  #isLeaving = false;

  /** Takes a session over, whether just signed in or kept from before. */
  constructor(wire: WireSession, options: SessionOptions) {
    this.#wire = wire;
    this.#options = options;
    if (this.#isFixed) return;
    // A kept token may have run out already; then the first thing to do is to renew it.
    this.#renewIn(readUnixSeconds(wire.iat) + this.#life() * RENEW_AFTER_LIFE - options.timers.now());
  }

  get wire(): WireSession {
    return this.#wire;
  }

  get token(): string {
    return this.#wire.token;
  }

  /** Why the session is over, or undefined while it is not. */
  get over(): ParleyError | undefined {
    return this.#over;
  }

  /**
   * Sends a request with the token. On 401 it renews once and retries once, with whatever comes of that (CRD-03):
   * the same token again would get the same 401. Requests that meet 401 together share one renewal.
   */
  async request(http: Http, request: HttpRequest): Promise<unknown> {
    return await this.authorized((token) => http.request({ ...request, token }));
  }

  /** Does something with the token, by the same rule. */
  async authorized<T>(action: (token: string) => Promise<T>): Promise<T> {
    if (this.#over !== undefined) throw this.#over;
    if (this.#wire.token === '') await this.renew('');
    const token = this.#wire.token;
    try {
      return await action(token);
    } catch (thrown) {
      if (!(thrown instanceof ParleyError) || !isUnauthorized(thrown)) throw thrown;
      if (this.#isFixed) {
        // Another credential than the bot's own was wrong.
        if (thrown.code !== 'response_token_invalid') this.end(thrown);
        throw thrown;
      }
      await this.renew(token);
      return await action(this.#wire.token);
    }
  }

  /**
   * Renews the session unless `token` was replaced already. One renewal is under way at a time.
   * @throws ParleyError what the renewal failed with; after a 401 the session is over.
   */
  async renew(token: string): Promise<void> {
    if (this.#over !== undefined) throw this.#over;
    if (token !== this.#wire.token) return;
    if (this.#isFixed) throw clientError('connection_refused');
    // The server may take it before the logout and answer it after.
    if (this.#isLeaving) throw clientError('client_closed');
    this.#renewal ??= this.#renewNow().finally(() => {
      this.#renewal = undefined;
    });
    await this.#renewal;
  }

  /** Ends the session on the server and here. The server may be out of reach: then only the token's life ends it. */
  async logout(): Promise<void> {
    if (this.#over !== undefined) return;
    if (this.#isFixed) return this.close();
    this.#isLeaving = true;
    // An answer that comes after that of the logout would put the cookie back which the logout took away.
    await this.#renewal?.catch(() => undefined);
    const { turn = (end: () => Promise<void>) => end() } = this.#options;
    await turn(async () => await this.#logoutInTurn());
  }

  async #logoutInTurn(): Promise<void> {
    const { device_id, token } = this.#wire;
    const cookie =
      this.#options.inCookie === true ? { body: { ...cookieForm(true), device_id }, withCookies: true } : {};
    // The server closes the socket first, on which whoever uses the client closes it: the answer takes the cookie away all the same.
    const request = { method: 'post', path: '/v1/auth/logout', token, outlivesPage: true, ...cookie };
    try {
      await this.#options.coordinator.request(request);
    } catch (thrown) {
      if (!(thrown instanceof ParleyError) || !isUnauthorized(thrown)) throw thrown;
      // 401 to a logout means that the session had ended before.
    } finally {
      this.close();
    }
  }

  /**
   * Takes over what another tab, which shares the session, has renewed it to. An older one and one of another session change
   * nothing. Answers whether it was taken.
   */
  adopt(wire: WireSession): boolean {
    const isOurs = wire.user === this.#wire.user && wire.device_id === this.#wire.device_id;
    if (this.#over !== undefined || !isOurs || this.#isFixed || wire.iat <= this.#wire.iat) return false;
    this.#wire = wire;
    this.#renewIn(this.#life() * RENEW_AFTER_LIFE);
    return true;
  }

  /** The server said by other means that the session is over. */
  end(error: ParleyError): void {
    if (this.#over !== undefined) return;
    this.#over = error;
    this.#cancelTimer?.();
    this.#options.onOver(error);
  }

  /** Stops renewing and refuses further requests, without telling the server. */
  close(): void {
    this.#cancelTimer?.();
    this.#over ??= clientError('client_closed');
  }

  async #renewNow(): Promise<void> {
    const { turn } = this.#options;
    if (turn === undefined) return await this.#renewInTurn();
    const { token } = this.#wire;
    // Another tab may have renewed it while this one waited.
    await turn(async () => (token === this.#wire.token ? await this.#renewInTurn() : undefined));
  }

  async #renewInTurn(): Promise<void> {
    try {
      const { device_id, refresh_token: refreshToken, token } = this.#wire;
      const withCookies = this.#options.inCookie === true;
      const shown = refreshToken === undefined ? {} : { refresh_token: refreshToken };
      const form = withCookies ? { ...shown, ...cookieForm(true), device_id } : shown;
      const body = Object.keys(form).length === 0 ? {} : { body: form };
      const request = { method: 'post', path: '/v1/auth/renew', token, withCookies, ...body };
      const renewed = readSession(await this.#options.coordinator.request(request));
      this.#wire = withCookies ? renewed : { ...shown, ...renewed };
    } catch (thrown) {
      const error = toParleyError(thrown);
      if (isUnauthorized(error)) this.end(error);
      throw error;
    }
    if (this.#over !== undefined) throw this.#over;
    // Counted from now and not from `iat`, so that a device with a wrong clock renews in time as well.
    this.#renewIn(this.#life() * RENEW_AFTER_LIFE);
    this.#options.onRenewed(this.#wire);
  }

  /** Whether the token lives until it is revoked, as a bot's does: never renewed, and 401 is the end. */
  get #isFixed(): boolean {
    return this.#wire.rnw === 0;
  }

  /** The token's life in milliseconds. */
  #life(): number {
    return readUnixSeconds(this.#wire.exp - this.#wire.iat);
  }

  #renewIn(millis: number): void {
    this.#cancelTimer?.();
    this.#cancelTimer = this.#options.timers.after(Math.max(millis, 0), () => {
      this.renew(this.#wire.token).catch(() => {
        if (this.#over === undefined) this.#renewIn(RENEW_RETRY_MILLIS);
      });
    });
  }
}

/** An answer that holds a session. @throws ParleyError `answer_unreadable`. */
export function readSession(wire: unknown): WireSession {
  const isSession =
    isRecord(wire) &&
    typeof wire['token'] === 'string' &&
    typeof wire['user'] === 'string' &&
    typeof wire['device_id'] === 'string' &&
    Number.isSafeInteger(wire['exp']) &&
    Number.isSafeInteger(wire['iat']);
  if (!isSession) throw clientError('answer_unreadable');
  return wire as unknown as WireSession;
}
