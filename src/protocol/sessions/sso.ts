/** The forms of signing people in at identity providers; the routes are in `sso-routes.ts`. */
import { z } from 'zod';
import { deviceId } from '../names.ts';
import { device, sessionCookie } from './sessions.ts';

/** The name of a provider in paths, as an owner chose it. */
export const PROVIDER_ID = /^[a-z0-9](?:[a-z0-9-]{0,30}[a-z0-9])?$/;
/** Providers that people may sign in at. [sso_providers_full] */
export const PROVIDERS_MAX = 20;

/** An address that an app is reached at: those of the setting are far shorter. */
const ADDRESS_LENGTH_MAX = 2_000;
/** What an app says to itself through the browser. */
const STATE_LENGTH_MAX = 500;
/** The longest code or state of a provider: codes of the large ones have some 1,000 characters. */
const PARAMETER_LENGTH_MAX = 4_096;
/** Of a signed token of some claims; those of the large providers have 1,000 characters. */
const LOGOUT_TOKEN_LENGTH_MAX = 16_384;

/** What a challenge was made from (RFC 7636, section 4.1). */
const verifier = z.string().regex(/^[A-Za-z0-9._~-]{43,128}$/);

/** A challenge or a code: 32 bytes as base64url. */
const unguessable = z.string().regex(/^[A-Za-z0-9_-]{43}$/);

/** GET /v1/auth/sso: what a sign-in page offers. */
export const signInWays = z
  .strictObject({
    /** Whether a password signs in. */
    password: z.boolean(),
    providers: z.array(z.strictObject({ id: z.string(), name: z.string() })),
    /** Whether a link to set a forgotten password comes by mail, to whoever has confirmed an address. */
    reset_by_mail: z.boolean(),
  })
  .meta({ id: 'SignInWays' });

/** GET /v1/auth/sso/{provider}/start: PKCE with S256 alone (RFC 7636). */
export const startQuery = z.strictObject({
  redirect_uri: z.string().min(1).max(ADDRESS_LENGTH_MAX),
  code_challenge: unguessable,
  code_challenge_method: z.literal('S256'),
  state: z.string().min(1).max(STATE_LENGTH_MAX).optional(),
});
export type SsoStartQuery = z.infer<typeof startQuery>;

const parameter = z.string().min(1).max(PARAMETER_LENGTH_MAX);

/** GET /v1/auth/sso/{provider}/callback: what a provider adds that nobody here knows is let go (RFC 6749, section 4.1.2). */
export const callbackQuery = z.object({
  code: parameter.optional(),
  state: parameter,
  iss: parameter.optional(),
  error: parameter.optional(),
});
export type SsoCallbackQuery = z.infer<typeof callbackQuery>;

/** POST /v1/auth/sso/token. */
export const exchangeCode = z
  .strictObject({
    code: unguessable,
    code_verifier: verifier,
    redirect_uri: z.string().min(1).max(ADDRESS_LENGTH_MAX),
    device: device.optional(),
    device_id: deviceId.optional(),
    session_cookie: sessionCookie,
  })
  .meta({ id: 'ExchangeSsoCode' });
export type ExchangeCode = z.infer<typeof exchangeCode>;

/** POST /v1/auth/sso/{provider}/logout: other parameters are let go (OpenID Connect Back-Channel Logout 1.0, section 2.5). */
export const backChannelLogout = z
  .object({ logout_token: z.string().min(1).max(LOGOUT_TOKEN_LENGTH_MAX) })
  .meta({ id: 'BackChannelLogout' });
