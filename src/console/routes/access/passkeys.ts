/** A person's own passkeys, for signing in to the console and for what asks again. */
import { z } from 'zod';
import type { ConsolePasskeys } from '#src/identity/console/console-passkeys.ts';
import { newPasskey, passkeyCreation, passkeyRequest } from '#src/protocol/sessions/passkeys.ts';
import { consoleRoute, page, type ConsolePage, type ConsoleRoute } from '../../route.ts';

const listed = z
  .strictObject({
    id: z.string(),
    name: z.string(),
    created_at: z.string(),
    last_used_at: z.string().nullable(),
  })
  .meta({ id: 'ConsolePasskey' });

const form = z
  .strictObject({ name: z.string().min(1).max(100), passkey: newPasskey })
  .meta({ id: 'AddConsolePasskey' });

export const passkeysRoutes = {
  listPasskeys: consoleRoute.get('/second-factor/passkeys', "The caller's passkeys.", {
    access: 'signed_in',
    vendor: 'closed',
    replies: { 200: z.strictObject({ items: z.array(listed), next: z.null() }) },
  }),
  beginPasskey: consoleRoute.get('/second-factor/passkeys/options', 'What a passkey is made with.', {
    access: 'signed_in',
    vendor: 'closed',
    stepUp: true,
    replies: { 200: passkeyCreation },
    errors: ['passkeys_full', 'passkeys_unavailable'],
  }),
  addPasskey: consoleRoute.post(
    '/second-factor/passkeys',
    'Puts a passkey in force that was made with these options.',
    {
      access: 'signed_in',
      vendor: 'closed',
      stepUp: true,
      audit: 'second_factor.added',
      body: form,
      replies: { 201: listed },
      errors: ['passkey_invalid', 'passkeys_full', 'passkeys_unavailable'],
    },
  ),
  removePasskey: consoleRoute.delete('/second-factor/passkeys/:passkey', 'Takes a passkey away.', {
    access: 'signed_in',
    vendor: 'closed',
    stepUp: true,
    audit: 'second_factor.taken_away',
    replies: { 204: null },
    errors: ['second_factor_last', 'second_factor_not_found'],
  }),
  beginPasskeyStepUp: consoleRoute.get('/step-up/passkey', 'What a passkey is asked for with, to step up.', {
    access: 'signed_in',
    vendor: 'closed',
    replies: { 200: passkeyRequest },
    errors: ['passkeys_unavailable', 'second_factor_not_found'],
  }),
} as const satisfies Record<string, ConsoleRoute>;

export function makePasskeysPage({ passkeys }: { readonly passkeys: ConsolePasskeys }): ConsolePage {
  return page(passkeysRoutes, {
    listPasskeys: ({ principal }) => ({ status: 200, body: { items: passkeys.list(principal), next: null } }),
    beginPasskey: async ({ principal }) => ({ status: 200, body: await passkeys.creation(principal) }),
    addPasskey: async ({ address, body, principal }) => ({
      status: 201,
      body: await passkeys.add(principal, body.passkey, body.name, address),
    }),
    removePasskey: async ({ address, parameters, principal }) => {
      await passkeys.remove(principal, parameters.passkey, address);
      return { status: 204 };
    },
    beginPasskeyStepUp: ({ principal }) => ({ status: 200, body: passkeys.request(principal) }),
  });
}
