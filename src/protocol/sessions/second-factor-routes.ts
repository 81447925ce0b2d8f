/** The HTTP forms of people’s second factors on the coordinator, as data: see `routes.ts`. */
import { route, type Route } from '../route.ts';
import { PASSKEY_BODY_BYTES_MAX, passkeyCreation, passkeyRequest } from './passkeys.ts';
import * as factors from './second-factors.ts';
import { session } from './sessions.ts';

/** Signing in by a second factor, and by a passkey alone. */
export const FACTOR_SIGN_IN_ROUTES = {
  finishSignIn: route.post(
    '/v1/auth/second-factor',
    'Goes on with a sign-in that was told `second_factor_required`, by one of its ways.',
    {
      auth: 'none',
      bodyBytesMax: PASSKEY_BODY_BYTES_MAX,
      body: factors.finishSignIn,
      replies: { 200: session },
      errors: [
        'encryption_locked',
        'login_failed',
        'origin_forbidden',
        'quota_exceeded',
        'rate_limited',
        'second_factor_wrong',
        'sign_in_by_identity',
        'sign_in_over',
      ],
    },
  ),
  beginPasskeySignIn: route.post(
    '/v1/auth/passkey/options',
    'What a passkey is asked for with, to sign in without a name or a password.',
    {
      auth: 'none',
      body: factors.beginPasskeySignIn,
      replies: { 200: passkeyRequest },
      errors: ['passkeys_unavailable', 'sign_in_by_identity'],
    },
  ),
  passkeySignIn: route.post('/v1/auth/passkey', 'Signs in by a passkey alone: it is both factors.', {
    auth: 'none',
    bodyBytesMax: PASSKEY_BODY_BYTES_MAX,
    body: factors.passkeySignIn,
    replies: { 200: session },
    errors: [
      'login_failed',
      'origin_forbidden',
      'passkeys_unavailable',
      'quota_exceeded',
      'rate_limited',
      'sign_in_by_identity',
    ],
  }),
} as const satisfies Record<string, Route>;

const OWN = '/v1/me/second-factors';

/** A person’s own factors. A session that may only enrol may call these, and nothing else. */
export const OWN_FACTOR_ROUTES = {
  listOwnFactors: route.get(OWN, "The caller's second factors.", { replies: { 200: factors.ownFactors } }),
  beginProof: route.post(`${OWN}/proof/options`, 'What a passkey is asked for with, to prove oneself.', {
    replies: { 200: passkeyRequest },
    errors: ['passkeys_unavailable', 'second_factor_not_found'],
  }),
  proveOneself: route.post(
    `${OWN}/proof`,
    'Proves oneself again, so that factors may be changed for some minutes: by a factor, or without one by the password.',
    {
      bodyBytesMax: PASSKEY_BODY_BYTES_MAX,
      body: factors.proveOneself,
      replies: { 200: factors.proven },
      errors: [
        'encryption_locked',
        'password_at_provider',
        'password_wrong',
        'proof_wrong',
        'rate_limited',
        'second_factor_not_found',
        'proof_required',
        'second_factor_enrolled',
      ],
    },
  ),
  setUpTotp: route.post(`${OWN}/totp`, 'Begins to set up an authenticator app, in place of the one there is.', {
    replies: { 200: factors.totpSetup },
    errors: ['encryption_locked', 'proof_required', 'second_factor_enrolled'],
  }),
  confirmTotp: route.post(`${OWN}/totp/confirm`, 'Puts the app in force by its first code.', {
    body: factors.confirmTotp,
    replies: { 200: factors.factorAdded },
    errors: [
      'encryption_locked',
      'proof_required',
      'second_factor_enrolled',
      'proof_wrong',
      'rate_limited',
      'second_factor_setup_missing',
    ],
  }),
  beginPasskey: route.post(`${OWN}/passkeys/options`, 'What a passkey is made with.', {
    replies: { 200: passkeyCreation },
    errors: ['passkeys_full', 'passkeys_unavailable', 'proof_required', 'second_factor_enrolled'],
  }),
  addPasskey: route.post(`${OWN}/passkeys`, 'Puts a passkey in force that was made with these options.', {
    bodyBytesMax: PASSKEY_BODY_BYTES_MAX,
    body: factors.addPasskey,
    replies: { 201: factors.factorAdded },
    errors: ['passkey_invalid', 'passkeys_full', 'passkeys_unavailable', 'proof_required', 'second_factor_enrolled'],
  }),
  renameFactor: route.patch(`${OWN}/:factor`, 'Calls a factor something else.', {
    body: factors.renameFactor,
    replies: { 200: factors.ownFactor },
    errors: ['proof_required', 'second_factor_enrolled', 'second_factor_not_found'],
  }),
  removeFactor: route.delete(`${OWN}/:factor`, 'Takes a factor away; with the last one, the recovery codes.', {
    query: factors.removeFactorQuery,
    replies: { 204: null },
    errors: ['proof_required', 'second_factor_enrolled', 'second_factor_last', 'second_factor_not_found'],
  }),
  renewOwnRecoveryCodes: route.post(`${OWN}/recovery-codes`, 'Makes new recovery codes; those before are void.', {
    replies: { 200: factors.ownRecoveryCodes },
    errors: ['proof_required', 'second_factor_enrolled', 'second_factor_not_found'],
  }),
} as const satisfies Record<string, Route>;
