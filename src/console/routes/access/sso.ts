/** Sign-in at the identity provider (TFA-02, VND-14). */
import { z } from 'zod';
import type { SingleSignOn } from '#src/identity/single-sign-on/single-sign-on.ts';
import { consoleRoute, page, type ConsolePage, type ConsoleRoute } from '../../route.ts';
import { consoleSession, sessionBody } from './signed-in.ts';

/** The longest code, state or ticket: a ticket has some 400 characters, codes of the large providers some 1,000. */
const PARAMETER_LENGTH_MAX = 4_096;

const parameter = z.string().min(1).max(PARAMETER_LENGTH_MAX);

export const ssoRoutes = {
  startSso: consoleRoute.get('/sso/start', 'Where to send the browser, and the ticket that the callback wants back.', {
    access: 'public',
    vendor: 'closed',
    replies: {
      200: z
        .strictObject({ redirect_url: z.string(), ticket: z.string(), expires_at: z.string() })
        .meta({ id: 'SsoStart' }),
    },
    errors: ['sso_not_set', 'sso_provider_unavailable', 'encryption_locked'],
  }),
  finishSso: consoleRoute.get('/sso/callback', "Exchanges the provider's code for a full console session.", {
    access: 'public',
    vendor: 'closed',
    audit: 'console.signed_in',
    query: z.strictObject({ code: parameter, state: parameter, ticket: parameter, iss: parameter.optional() }),
    replies: { 200: consoleSession },
    errors: ['sso_failed', 'right_missing', 'sso_not_set', 'sso_provider_unavailable', 'encryption_locked', 'busy'],
  }),
  forgetSsoIdentity: consoleRoute.delete(
    '/sso/identities/:user',
    'Lets a username belong to another account of the provider, from its next sign-in on.',
    {
      access: 'access:write',
      vendor: 'closed',
      audit: 'sso.identity_forgotten',
      replies: { 204: null },
      errors: ['sso_identity_not_found'],
    },
  ),
} as const satisfies Record<string, ConsoleRoute>;

export interface SsoPageOptions {
  readonly sso: SingleSignOn;
  readonly idleSeconds: number;
}

export function makeSsoPage({ sso, idleSeconds }: SsoPageOptions): ConsolePage {
  return page(ssoRoutes, {
    startSso: async () => ({ status: 200, body: await sso.start() }),
    finishSso: async ({ query, address }) => ({
      status: 200,
      body: sessionBody(await sso.callback(query, address), idleSeconds),
    }),
    forgetSsoIdentity: async ({ principal, parameters, address }) => {
      await sso.forget(principal, parameters.user, address);
      return { status: 204 };
    },
  });
}
