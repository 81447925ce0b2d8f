/** The second factor, asked again in the midst of a session (VND-17). */
import { z } from 'zod';
import { formatInstant } from '#src/base/time.ts';
import type { StepUp } from '#src/identity/console/step-up.ts';
import type { SingleSignOn } from '#src/identity/single-sign-on/single-sign-on.ts';
import { page, type ConsolePage, type ConsoleRoute } from '../../route.ts';
import { passkeyAssertion } from '#src/protocol/sessions/passkeys.ts';
import { oneTimeCode } from '#src/protocol/sessions/second-factors.ts';
import { ssoReturn, ssoStart } from './sso.ts';

const proof = z
  .strictObject({
    code: oneTimeCode.optional(),
    recovery_code: z.string().min(1).max(64).optional(),
    passkey: passkeyAssertion.optional(),
  })
  .refine((form) => Object.values(form).filter((one) => one !== undefined).length === 1, { path: ['code'] })
  .meta({ id: 'StepUp', description: 'A code, a recovery code or a passkey.' });

const steppedUp = z
  .strictObject({ expires_at: z.string() })
  .meta({ id: 'SteppedUp', description: 'Until when the session of the request counts as stepped up.' });

const own = { method: 'post', access: 'signed_in', vendor: 'closed', audit: 'console.stepped_up' } as const;

export const stepUpRoutes = {
  stepUp: {
    ...own,
    path: '/step-up',
    summary: 'Gives the second factor again, for what answers `step_up_required`. It counts for five minutes.',
    body: proof,
    replies: { 200: steppedUp },
    errors: [
      'second_factor_wrong',
      'second_factor_not_found',
      'passkeys_unavailable',
      'step_up_at_provider',
      'encryption_locked',
      'rate_limited',
    ],
  },
  startSsoStepUp: {
    ...own,
    method: 'get',
    audit: null,
    path: '/step-up/sso',
    summary: 'Where to send the browser of a session of the identity provider, to sign in there anew.',
    replies: { 200: ssoStart },
    errors: ['sso_not_set', 'sso_provider_unavailable', 'encryption_locked'],
  },
  finishSsoStepUp: {
    ...own,
    path: '/step-up/sso/callback',
    summary: 'Takes what the provider sent back; the sign-in there has to be a new one, of the same account.',
    body: ssoReturn,
    replies: { 200: steppedUp },
    errors: [
      'sso_failed',
      'reauthentication_missing',
      'sso_not_set',
      'sso_provider_unavailable',
      'encryption_locked',
      'busy',
    ],
  },
} as const satisfies Record<string, ConsoleRoute>;

export interface StepUpPageOptions {
  readonly stepUp: StepUp;
  readonly sso: Pick<SingleSignOn, 'startStepUp' | 'finishStepUp'>;
}

export function makeStepUpPage({ stepUp, sso }: StepUpPageOptions): ConsolePage {
  const reply = (until: number) => ({ status: 200, body: { expires_at: formatInstant(until) } });
  return page(stepUpRoutes, {
    stepUp: async ({ principal, body, address }) => reply(await stepUp.byCode(principal, body, address)),
    startSsoStepUp: async ({ principal }) => ({ status: 200, body: await sso.startStepUp(principal) }),
    finishSsoStepUp: async ({ principal, body, address }) => reply(await sso.finishStepUp(principal, body, address)),
  });
}
