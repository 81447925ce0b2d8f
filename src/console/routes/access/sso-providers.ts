/** The providers that people sign in at with their apps, and whose account there is whose (CRD-10, CRD-13). */
import { z } from 'zod';
import { personProvider, providerForm, type PersonProviders } from '#src/identity/single-sign-on/person-providers.ts';
import type { SignOn } from '#src/identity/single-sign-on/sign-on.ts';
import { subject } from './sso.ts';
import { consoleRoute, page, type ConsolePage, type ConsoleRoute } from '../../route.ts';

const provider = personProvider
  .extend({
    id: z.string(),
    client_secret: z.strictObject({ set: z.boolean() }),
    /** What the provider has to know of this server. */
    redirect_uri: z.string(),
    logout_uri: z.string(),
  })
  .meta({ id: 'PersonProvider' });

const missing = 'sso_provider_not_found';

export const ssoProvidersRoutes = {
  listSsoProviders: consoleRoute.get(
    '/sso/providers',
    'The providers that people sign in at; of secrets that they are set.',
    {
      access: 'settings:read',
      vendor: 'open',
      replies: { 200: z.strictObject({ items: z.array(provider), next: z.null() }) },
    },
  ),
  putSsoProvider: consoleRoute.put(
    '/sso/providers/:provider',
    'Makes a provider that people sign in at, or changes it whole.',
    {
      access: 'access:write',
      vendor: 'closed',
      audit: 'sso.provider_changed',
      body: providerForm.meta({ id: 'PutPersonProvider' }),
      replies: { 200: provider.extend({ dropped: z.array(z.literal('client_secret')) }) },
      errors: ['sso_providers_full', 'encryption_locked'],
    },
  ),
  removeSsoProvider: consoleRoute.delete(
    '/sso/providers/:provider',
    'Removes a provider. Sessions that it opened go on.',
    {
      access: 'access:write',
      vendor: 'closed',
      audit: 'sso.provider_removed',
      replies: { 204: null },
      errors: [missing],
    },
  ),
  bindPersonIdentity: consoleRoute.put(
    '/sso/providers/:provider/identities/:user',
    'Binds an account of a provider to a person who is no owner. Sessions of the account before end.',
    {
      access: 'users:write',
      vendor: 'closed',
      audit: 'sso.identity_bound',
      stepUp: true,
      body: z.strictObject({ subject }).meta({ id: 'BindPersonIdentity' }),
      replies: { 204: null },
      errors: [
        missing,
        'owner_binds_own_account',
        'right_missing',
        'person_not_found',
        'person_left',
        'sso_identity_taken',
      ],
    },
  ),
  forgetPersonIdentity: consoleRoute.delete(
    '/sso/providers/:provider/identities/:user',
    'Takes away what binds a person at a provider. The sessions that it opened end.',
    {
      access: 'access:write',
      vendor: 'closed',
      audit: 'sso.identity_forgotten',
      replies: { 204: null },
      errors: [missing, 'sso_identity_not_found'],
    },
  ),
} as const satisfies Record<string, ConsoleRoute>;

export interface SsoProvidersPageOptions {
  readonly providers: PersonProviders;
  readonly signOn: SignOn;
}

export function makeSsoProvidersPage({ providers, signOn }: SsoProvidersPageOptions): ConsolePage {
  const addressed = (view: ReturnType<PersonProviders['list']>[number]) => {
    const redirectUri = signOn.redirectUri(view.id);
    return { ...view, redirect_uri: redirectUri, logout_uri: redirectUri.replace(/callback$/, 'logout') };
  };
  return page(ssoProvidersRoutes, {
    listSsoProviders: () => ({ status: 200, body: { items: providers.list().map(addressed), next: null } }),
    putSsoProvider: async ({ body, by, parameters }) => {
      const { isSecretGone, view } = await providers.put(parameters.provider, body, by);
      return { status: 200, body: { ...addressed(view), dropped: isSecretGone ? ['client_secret'] : [] } };
    },
    removeSsoProvider: async ({ by, parameters }) => {
      await providers.remove(parameters.provider, by);
      return { status: 204 };
    },
    bindPersonIdentity: async ({ address, body, parameters, principal }) => {
      await signOn.assign(parameters.provider, principal, parameters.user, body.subject, address);
      return { status: 204 };
    },
    forgetPersonIdentity: async ({ by, parameters }) => {
      await signOn.forget(parameters.provider, parameters.user, by);
      return { status: 204 };
    },
  });
}
