/** A person's own second factor, and those of everybody for owners (TFA-01). */
import { z } from 'zod';
import type { SecondFactors } from '#src/identity/console/second-factors.ts';
import { USERNAME } from '#src/protocol/names.ts';
import { consoleRoute, page, type ConsolePage, type ConsoleRoute } from '../../route.ts';
import { oneTimeCode, totpSetup } from '#src/protocol/sessions/second-factors.ts';

const SECOND_FACTORS_PAGE_MAX = 200;

const recoveryCodes = z
  .strictObject({ recovery_codes: z.array(z.string()) })
  .meta({ id: 'RecoveryCodes', description: 'Each is good once. Shown once.' });

const confirmed = z
  .strictObject({ is_full: z.literal(true), recovery_codes: z.array(z.string()) })
  .meta({ id: 'SecondFactorConfirmed', description: 'The session of the request is full from now on.' });

const codeForm = z.strictObject({ code: oneTimeCode }).meta({ id: 'OneTimeCode' });

const secondFactor = z
  .strictObject({ user: z.string(), since: z.string(), recovery_codes_left: z.int() })
  .meta({ id: 'SecondFactor' });

export const secondFactorRoutes = {
  setUpSecondFactor: consoleRoute.post(
    '/second-factor/setup',
    'Begins to set up a second factor; with one in force, a full session may replace it.',
    {
      access: 'second_factor_setup',
      vendor: 'closed',
      audit: 'second_factor.setup',
      replies: { 200: totpSetup },
      errors: ['second_factor_enrolled', 'encryption_locked'],
    },
  ),
  confirmSecondFactor: consoleRoute.post(
    '/second-factor/confirm',
    'Puts the second factor in force by its first code; the session becomes full.',
    {
      access: 'second_factor_setup',
      vendor: 'closed',
      audit: 'second_factor.confirmed',
      body: codeForm,
      replies: { 200: confirmed },
      errors: [
        'second_factor_setup_missing',
        'second_factor_wrong',
        'second_factor_enrolled',
        'encryption_locked',
        'rate_limited',
      ],
    },
  ),
  renewRecoveryCodes: consoleRoute.post(
    '/second-factor/recovery-codes',
    'Makes new recovery codes; those before are void.',
    {
      access: 'signed_in',
      vendor: 'closed',
      audit: 'second_factor.recovery_codes',
      body: codeForm,
      replies: { 200: recoveryCodes },
      errors: ['second_factor_wrong', 'second_factor_not_found', 'encryption_locked', 'rate_limited'],
    },
  ),
  listSecondFactors: consoleRoute.get('/second-factors', 'Who has a second factor.', {
    access: 'access:write',
    vendor: 'closed',
    query: z.strictObject({
      after: z.string().regex(USERNAME).optional(),
      limit: z.coerce.number().int().min(1).max(SECOND_FACTORS_PAGE_MAX).default(SECOND_FACTORS_PAGE_MAX),
    }),
    replies: { 200: z.strictObject({ items: z.array(secondFactor), next: z.string().nullable() }) },
  }),
  removeSecondFactor: consoleRoute.delete(
    '/second-factors/:user',
    "Takes away a person's second factor and ends their console sessions.",
    {
      access: 'access:write',
      vendor: 'closed',
      audit: 'second_factor.removed',
      replies: { 204: null },
      errors: ['second_factor_not_found'],
    },
  ),
} as const satisfies Record<string, ConsoleRoute>;

export function makeSecondFactorPage({ secondFactors }: { readonly secondFactors: SecondFactors }): ConsolePage {
  return page(secondFactorRoutes, {
    setUpSecondFactor: async ({ principal, address }) => ({
      status: 200,
      body: await secondFactors.setup(principal, address),
    }),
    confirmSecondFactor: async ({ principal, body, address }) => ({
      status: 200,
      body: { is_full: true, recovery_codes: await secondFactors.confirm(principal, body.code, address) },
    }),
    renewRecoveryCodes: async ({ principal, body, address }) => ({
      status: 200,
      body: { recovery_codes: await secondFactors.renewRecoveryCodes(principal, body.code, address) },
    }),
    listSecondFactors: ({ query }) => ({ status: 200, body: secondFactors.list(query.after, query.limit) }),
    removeSecondFactor: async ({ principal, parameters, address }) => {
      await secondFactors.remove(principal, parameters.user, address);
      return { status: 204 };
    },
  });
}
