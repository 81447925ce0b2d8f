/** Signing in at the identity provider: away to its page, and back with its code (TFA-02). */
import { ParleyError } from '#src/client/parley-error.ts';
import type { ConsoleApi, ReplyOf } from './console-api.ts';
import type { Credential } from './credentials.ts';
import type { Key } from '../words/words.ts';

/** What somebody is sent to the provider for. */
export type Purpose = 'sign_in' | 'step_up' | 'bind';

/** Where the ticket waits in this tab, with what it is for and the address to come back to. */
const TICKET_KEPT_AS = 'parley.console.ticket';

/** A session as any sign-in answers it. */
export type SignedIn = ReplyOf<'post /login'>;

export function credentialOf({ token, idle_seconds: idleSeconds, expires_at: expiresAt }: SignedIn): Credential {
  return { token, idleSeconds, expiresAt };
}

/** Sends the browser to the provider's page. */
export async function startSso(api: ConsoleApi): Promise<void> {
  await leaveForProvider('sign_in', await api.call('get /sso/start', {}));
}

/** Leaves for the provider's page. The page is gone then: what is waited for never comes. */
export async function leaveForProvider(purpose: Purpose, start: ReplyOf<'get /sso/start'>): Promise<never> {
  const { redirect_url: redirect, ticket } = start;
  sessionStorage.setItem(TICKET_KEPT_AS, JSON.stringify({ purpose, ticket, hash: location.hash }));
  location.assign(redirect);
  return await new Promise<never>(() => undefined);
}

/** What came of a walk to the provider: a credential, or what is to be said in the session that there was. */
export type Returned = { readonly credential: Credential } | { readonly said: Key };

/**
 * Finishes what the provider sent back; undefined where the address is not such a return. What the provider
 * put into the address is taken out of it at once, so that it is in no history and no screenshot.
 * @throws ParleyError `sso_failed` where the provider refused or this tab began none, and what the server answers.
 */
export async function finishSso(api: ConsoleApi): Promise<Returned | undefined> {
  const returned = new URLSearchParams(location.search);
  const [code, state, iss] = ['code', 'state', 'iss'].map((name) => returned.get(name) ?? undefined);
  if (state === undefined) return undefined;
  const { hash, purpose, ticket } = takeTicket();
  history.replaceState(null, '', `${location.pathname.replace(/\/signed-in$/, '/')}${hash}`);
  if (code === undefined || ticket === undefined)
    throw new ParleyError('sso_failed', 'Signing in at the provider failed.');
  const returnedBody = { code, state, ticket, ...(iss === undefined ? {} : { iss }) };
  if (purpose === 'step_up') {
    await api.call('post /step-up/sso/callback', { body: returnedBody });
    return { said: 'step-up.again' };
  }
  if (purpose === 'bind') {
    await api.call('post /sso/binding', { body: returnedBody });
    return { said: 'identity.bound' };
  }
  return { credential: credentialOf(await api.call('get /sso/callback', { query: returnedBody })) };
}

interface KeptTicket {
  readonly ticket: string | undefined;
  readonly hash: string;
  readonly purpose: Purpose;
}

function takeTicket(): KeptTicket {
  const kept = sessionStorage.getItem(TICKET_KEPT_AS);
  sessionStorage.removeItem(TICKET_KEPT_AS);
  try {
    const { hash, purpose, ticket } = JSON.parse(kept ?? '{}') as Partial<Record<keyof KeptTicket, unknown>>;
    return {
      ticket: typeof ticket === 'string' ? ticket : undefined,
      hash: typeof hash === 'string' ? hash : '',
      purpose: purpose === 'step_up' || purpose === 'bind' ? purpose : 'sign_in',
    };
  } catch {
    return { ticket: undefined, hash: '', purpose: 'sign_in' };
  }
}
