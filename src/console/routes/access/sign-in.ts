/** Signing in to the console by password, and out (TFA-01). */
import { z } from 'zod';
import type { ConsoleSignIn } from '#src/identity/console/console-sign-in.ts';
import { SIGN_IN_SOURCES, type SignInSettings } from '#src/identity/sign-in-switches.ts';
import type { SingleSignOn } from '#src/identity/single-sign-on/single-sign-on.ts';
import { PASSWORD_LENGTH_MAX } from '#src/protocol/sessions/sessions.ts';
import { consoleRoute, page, type ConsolePage, type ConsoleRoute } from '../../route.ts';
import { passkeyAssertion, passkeyRequest } from '#src/protocol/sessions/passkeys.ts';
import { oneTimeCode } from '#src/protocol/sessions/second-factors.ts';
import { consoleSession, sessionBody } from './signed-in.ts';

const consoleLogin = z
  .strictObject({
    username: z.string().min(1).max(64),
    password: z.string().min(1).max(PASSWORD_LENGTH_MAX),
    code: oneTimeCode.optional(),
    recovery_code: z.string().min(1).max(64).optional(),
    passkey: passkeyAssertion.optional(),
  })
  .refine(({ code, passkey, recovery_code }) => countOf(code, passkey, recovery_code) <= 1, { path: ['recovery_code'] })
  .meta({ id: 'ConsoleLogin', description: 'With a code, a recovery code or a passkey, one of them.' });

const passkeyLogin = z.strictObject({ passkey: passkeyAssertion }).meta({ id: 'ConsolePasskeyLogin' });

function countOf(...given: readonly unknown[]): number {
  return given.filter((one) => one !== undefined).length;
}

export const signInRoutes = {
  readSignIn: consoleRoute.get('/login', 'How people sign in to this console.', {
    access: 'public',
    vendor: 'open',
    replies: { 200: z.strictObject({ sign_in_mode: z.enum(SIGN_IN_SOURCES), sso: z.boolean() }) },
  }),
  login: consoleRoute.post(
    '/login',
    'Signs in to the console. Without a second factor the session opens its set-up only.',
    {
      access: 'public',
      vendor: 'closed',
      audit: 'console.signed_in',
      body: consoleLogin,
      replies: { 200: consoleSession },
      errors: [
        'login_failed',
        'second_factor_required',
        'second_factor_wrong',
        'passkeys_unavailable',
        'sign_in_by_identity',
        'encryption_locked',
        'rate_limited',
        'busy',
      ],
    },
  ),
  beginPasskeyLogin: consoleRoute.get(
    '/login/passkey',
    'What a passkey is asked for with: alone, or beside the password.',
    {
      access: 'public',
      vendor: 'open',
      replies: { 200: passkeyRequest },
      errors: ['passkeys_unavailable', 'sign_in_by_identity'],
    },
  ),
  passkeyLogin: consoleRoute.post('/login/passkey', 'Signs in to the console by a passkey alone: it is both factors.', {
    access: 'public',
    vendor: 'closed',
    audit: 'console.signed_in',
    body: passkeyLogin,
    replies: { 200: consoleSession },
    errors: ['login_failed', 'passkeys_unavailable', 'sign_in_by_identity', 'rate_limited', 'busy'],
  }),
  logout: consoleRoute.post('/logout', 'Ends the console session of the request.', {
    access: 'second_factor_setup',
    vendor: 'closed',
    audit: 'console.signed_out',
    replies: { 204: null },
  }),
} as const satisfies Record<string, ConsoleRoute>;

export interface SignInPageOptions {
  readonly signIn: ConsoleSignIn;
  readonly sso: SingleSignOn;
  readonly settings: SignInSettings;
  readonly idleSeconds: number;
}

export function makeSignInPage({ signIn, sso, settings, idleSeconds }: SignInPageOptions): ConsolePage {
  return page(signInRoutes, {
    readSignIn: () => ({ status: 200, body: { sign_in_mode: settings.signInMode(), sso: sso.isSet } }),
    login: async ({ body, address }) => ({
      status: 200,
      body: sessionBody(await signIn.login(body, address), idleSeconds),
    }),
    beginPasskeyLogin: () => ({ status: 200, body: signIn.passkeyRequest() }),
    passkeyLogin: async ({ body, address }) => ({
      status: 200,
      body: sessionBody(await signIn.byPasskey(body.passkey, address), idleSeconds),
    }),
    logout: async ({ principal, address }) => {
      await signIn.logout(principal, address);
      return { status: 204 };
    },
  });
}
