/** The HTTP forms of signing people in at identity providers, as data: see `routes.ts`. */
import { route, type Route } from '../route.ts';
import * as sessions from './sessions.ts';
import * as sso from './sso.ts';

const PROVIDER = '/v1/auth/sso/:provider';

export const SSO_ROUTES = {
  readSignInWays: route.get('/v1/auth/sso', 'What signs people in here: whether passwords do, and which providers.', {
    auth: 'none',
    replies: { 200: sso.signInWays },
  }),
  startSignOn: route.get(
    `${PROVIDER}/start`,
    'Leads a browser to the page of a provider. What it comes back with is good for the app that has the verifier of the challenge.',
    {
      auth: 'none',
      anyVersion: true,
      query: sso.startQuery,
      replies: { 302: null },
      errors: [
        'encryption_locked',
        'rate_limited',
        'sso_provider_not_found',
        'sso_provider_unavailable',
        'sso_redirect_forbidden',
      ],
    },
  ),
  finishSignOn: route.get(
    `${PROVIDER}/callback`,
    'Where a provider sends the browser back to: leads it to the app, with a code of one use or with an error of the catalogue.',
    {
      auth: 'none',
      anyVersion: true,
      query: sso.callbackQuery,
      replies: { 302: null },
      errors: ['rate_limited', 'sso_failed', 'sso_provider_not_found'],
    },
  ),
  exchangeSsoCode: route.post(
    '/v1/auth/sso/token',
    'Exchanges the code of one use for a session, the same as a password gives.',
    {
      auth: 'none',
      body: sso.exchangeCode,
      replies: { 200: sessions.session },
      errors: ['origin_forbidden', 'quota_exceeded', 'rate_limited', 'sso_code_invalid', 'sso_failed'],
    },
  ),
  logOutByProvider: route.post(
    `${PROVIDER}/logout`,
    'A provider ends sessions that it opened (OpenID Connect Back-Channel Logout 1.0).',
    {
      auth: 'none',
      anyVersion: true,
      isForm: true,
      body: sso.backChannelLogout,
      replies: { 200: null },
      errors: [
        'encryption_locked',
        'logout_token_invalid',
        'rate_limited',
        'sso_provider_not_found',
        'sso_provider_unavailable',
      ],
    },
  ),
} as const satisfies Record<string, Route>;
