/** Signing in at the identity provider: away to its page, and back with its code (TFA-02). */
import { ParleyError } from '#src/client/parley-error.ts';
import type { ConsoleApi, ReplyOf } from './console-api.ts';
import type { Credential } from './credentials.ts';

/** Where the ticket waits in this tab, with the address to come back to. */
const TICKET_KEPT_AS = 'parley.console.ticket';

/** A session as any sign-in answers it. */
export type SignedIn = ReplyOf<'post /login'>;

export function credentialOf({ token, idle_seconds: idleSeconds, expires_at: expiresAt }: SignedIn): Credential {
  return { token, idleSeconds, expiresAt };
}

/** Sends the browser to the provider's page. */
export async function startSso(api: ConsoleApi): Promise<void> {
  const { redirect_url: redirect, ticket } = await api.call('get /sso/start', {});
  sessionStorage.setItem(TICKET_KEPT_AS, JSON.stringify({ ticket, hash: location.hash }));
  location.assign(redirect);
}

/**
 * Finishes a sign-in that the provider sent back; undefined where the address is not such a return. What the provider
 * put into the address is taken out of it at once, so that it is in no history and no screenshot.
 * @throws ParleyError `sso_failed` where the provider refused or this tab began none, and what the server answers.
 */
export async function finishSso(api: ConsoleApi): Promise<Credential | undefined> {
  const returned = new URLSearchParams(location.search);
  const [code, state, iss] = ['code', 'state', 'iss'].map((name) => returned.get(name) ?? undefined);
  if (state === undefined) return undefined;
  const { ticket, hash } = takeTicket();
  history.replaceState(null, '', `${location.pathname.replace(/\/signed-in$/, '/')}${hash}`);
  if (code === undefined || ticket === undefined)
    throw new ParleyError('sso_failed', 'Signing in at the provider failed.');
  return credentialOf(await api.call('get /sso/callback', { query: { code, state, ticket, iss } }));
}

function takeTicket(): { readonly ticket: string | undefined; readonly hash: string } {
  const kept = sessionStorage.getItem(TICKET_KEPT_AS);
  sessionStorage.removeItem(TICKET_KEPT_AS);
  try {
    const { ticket, hash } = JSON.parse(kept ?? '{}') as { ticket?: unknown; hash?: unknown };
    return { ticket: typeof ticket === 'string' ? ticket : undefined, hash: typeof hash === 'string' ? hash : '' };
  } catch {
    return { ticket: undefined, hash: '' };
  }
}
