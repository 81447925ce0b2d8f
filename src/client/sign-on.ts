/**
 * Signing in at a provider: a browser is led there and comes back to the app with a code, which its keeper of the
 * verifier exchanges for a session (RFC 7636, RFC 8252). `ParleyClient.resume` goes on with the session.
 *
 *     const { url, walk } = await beginSignOn({ coordinatorUrl, provider: 'office', redirectUri });
 *     keep(walk); location.href = url;             // and at the address that it comes back to:
 *     const session = await finishSignOn({ coordinatorUrl, walk: kept(), returned: location.href, device });
 */
import type { Session } from '#src/protocol/sessions/sessions.ts';
import { surround, type ClientOptions, type SignInOptions } from './client-context.ts';
import { cookieForm, openSession } from './connection/session.ts';
import { ERRORS, type ErrorCode } from '#src/protocol/errors.ts';
import { clientError, ParleyError } from './parley-error.ts';

/** Random bytes of a verifier and of a state: 43 characters, the least that the standard takes. */
const RANDOM_BYTES = 32;

export interface SignOnOptions extends Pick<ClientOptions, 'coordinatorUrl' | 'fetch' | 'timers'> {
  /** The provider, by its id in `GET /v1/auth/sso`. */
  readonly provider: string;
  /** An address of this app, as owners listed it; on loopback with any port. */
  readonly redirectUri: string;
}

/** What the app keeps until the browser comes back, and shows to nobody. */
export interface SignOnWalk {
  readonly verifier: string;
  readonly state: string;
  readonly redirectUri: string;
}

export interface FinishSignOnOptions extends Pick<
  ClientOptions,
  'coordinatorUrl' | 'fetch' | 'sessionCookie' | 'timers'
> {
  readonly walk: SignOnWalk;
  /** The address that the browser came back to, with its query. */
  readonly returned: string;
  readonly device?: SignInOptions['device'];
}

/** Where to lead the browser, and what to keep meanwhile. Wants a page of https or of loopback, which has `crypto.subtle`. */
export async function beginSignOn(
  options: SignOnOptions,
): Promise<{ readonly url: string; readonly walk: SignOnWalk }> {
  const { coordinatorUrl, provider, redirectUri } = options;
  const walk = { verifier: randomText(), state: randomText(), redirectUri };
  const digest = await crypto.subtle.digest('SHA-256', new TextEncoder().encode(walk.verifier));
  const query = new URLSearchParams({
    redirect_uri: redirectUri,
    code_challenge: base64Url(new Uint8Array(digest)),
    code_challenge_method: 'S256',
    state: walk.state,
  });
  const path = `/v1/auth/sso/${encodeURIComponent(provider)}/start`;
  return { url: `${coordinatorUrl.replace(/\/+$/, '')}${path}?${query.toString()}`, walk };
}

/**
 * The session of who signed in.
 * @throws ParleyError with the code that the server sent the browser back with; `sso_failed` where it came back from
 * another walk; what the exchange is refused with.
 */
export async function finishSignOn(options: FinishSignOnOptions): Promise<Session> {
  const { device, returned, walk } = options;
  const { searchParams } = new URL(returned);
  // An answer that this app did not ask for would sign its person in as somebody else (RFC 9700, section 4.7).
  if (searchParams.get('state') !== walk.state) throw refused('sso_failed');
  const error = searchParams.get('error');
  if (error !== null) throw refused(error);
  const code = searchParams.get('code');
  if (code === null) throw clientError('answer_unreadable');
  const { coordinator } = surround({ ...options, messagingUrl: options.coordinatorUrl });
  const body = {
    code,
    code_verifier: walk.verifier,
    redirect_uri: walk.redirectUri,
    ...(device === undefined ? {} : { device: { name: device.name, platform: device.platform } }),
    ...(device?.id === undefined ? {} : { device_id: device.id }),
    ...cookieForm(options.sessionCookie),
  };
  return await openSession(coordinator, '/v1/auth/sso/token', body);
}

/** What the server said by way of the browser, which others can write into an address: only codes are believed. */
function refused(said: string): ParleyError {
  const code: ErrorCode = Object.hasOwn(ERRORS, said) ? (said as ErrorCode) : 'sso_failed';
  return new ParleyError(code, ERRORS[code].error, { status: ERRORS[code].status });
}

function randomText(): string {
  return base64Url(crypto.getRandomValues(new Uint8Array(RANDOM_BYTES)));
}

function base64Url(bytes: Uint8Array): string {
  return btoa(String.fromCharCode(...bytes))
    .replaceAll('+', '-')
    .replaceAll('/', '_')
    .replaceAll('=', '');
}
