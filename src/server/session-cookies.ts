/**
 * Refresh tokens in cookies, for the app of this very origin: its scripts then never hold more than a token of some minutes.
 *
 * Such a cookie opens no call of the API. It renews a session and it ends one, where the form says so (`session_cookie`), comes
 * from a page of this origin and names the device whose session it is. Each device has a cookie of its own.
 */
import { unixSeconds, type Clock } from '#src/base/clock.ts';
import type { AskingPage, ClientReply, ClientRequest } from '#src/http/client-routes.ts';
import { Refusal } from '#src/protocol/errors.ts';
import type { Session } from '#src/protocol/sessions/sessions.ts';

/** Where the browser sends it: to signing in, renewing and signing out, and to no other path of this name. */
const PATH = '/v1/auth';

export interface SessionCookiesOptions {
  /** The public base URL of the coordinator, where one is set. */
  readonly baseUrl: string | undefined;
  readonly clock: Clock;
}

export class SessionCookies {
  readonly #base: URL | undefined;
  readonly #clock: Clock;

  constructor({ baseUrl, clock }: SessionCookiesOptions) {
    this.#base = baseUrl === undefined ? undefined : new URL(baseUrl);
    this.#clock = clock;
  }

  /**
   * Answers with the session that `open` opens or renews. Its refresh token goes into the cookie where the form asks for that.
   * @throws Refusal `origin_forbidden` before anything is opened, and what `open` throws.
   */
  async opened(request: ClientRequest, open: () => Promise<Session>): Promise<ClientReply> {
    const form = request.body as { readonly session_cookie?: boolean | undefined } | undefined;
    if (form?.session_cookie !== true) return { status: 200, body: await open() };
    this.requireOwnPage(request.page);
    const { refresh_token: refreshToken, ...session } = await open();
    const seconds = session.rnw - unixSeconds(this.#clock.now());
    const cookie = this.#headerOf(request.page, session.device_id, refreshToken ?? '', seconds);
    return { status: 200, body: session, headers: refreshToken === undefined ? {} : { 'set-cookie': cookie } };
  }

  /** The refresh token of a device’s cookie; undefined where the request has none. */
  read({ cookie, page }: Pick<ClientRequest, 'cookie' | 'page'>, device: string): string | undefined {
    const start = `${nameOf(page, device)}=`;
    const pairs = (cookie ?? '').split(';').map((pair) => pair.trim());
    return pairs.find((pair) => pair.startsWith(start))?.slice(start.length);
  }

  /** The header that takes a device’s cookie away. */
  cleared({ page }: Pick<ClientRequest, 'page'>, device: string): string {
    return this.#headerOf(page, device, '', 0);
  }

  /**
   * A request of another page would ride on the cookie. What the browser itself says of the page decides (Fetch Metadata,
   * `Sec-Fetch-Site`), and where it says nothing, as over plain HTTP, the page’s origin beside the host that was asked. Browsers
   * state an origin with every POST.
   * @throws Refusal `origin_forbidden`.
   */
  requireOwnPage({ host, origin, site }: AskingPage): void {
    const from = origin !== undefined && URL.canParse(origin) ? new URL(origin) : undefined;
    const isOwn = from?.origin === this.#base?.origin || from?.host === host;
    if (from === undefined || (site === undefined ? !isOwn : site !== 'same-origin')) {
      throw new Refusal('origin_forbidden');
    }
  }

  /** Host-only and for no other path: under three names the other two services never get it, under one neither. */
  #headerOf(page: AskingPage, device: string, value: string, seconds: number): string {
    // Behind a proxy that gives the service a path, the browser knows it by that one.
    const prefix = page.origin === this.#base?.origin ? (this.#base?.pathname.replace(/\/$/, '') ?? '') : '';
    const parts = [`${nameOf(page, device)}=${value}`, `Path=${prefix}${PATH}`, `Max-Age=${Math.max(0, seconds)}`];
    return [...parts, 'HttpOnly', 'SameSite=Strict', ...(isSecure(page) ? ['Secure'] : [])].join('; ');
  }
}

/** Wherever TLS ends, the page knows whether it was spoken with the browser. */
function isSecure({ origin }: AskingPage): boolean {
  return origin?.startsWith('https:') === true;
}

/** What begins with `__Secure-` is set over TLS alone, so that nobody on the way puts another one in its place (RFC 6265bis). */
function nameOf(page: AskingPage, device: string): string {
  return `${isSecure(page) ? '__Secure-' : ''}parley-session-${device}`;
}
