/** Who signs in by the identity provider: which username belongs to which account there. */
import { z } from 'zod';
import { BOUND_BY } from '#src/identity/single-sign-on/sso-bindings.ts';
import type { SingleSignOn } from '#src/identity/single-sign-on/single-sign-on.ts';
import { USERNAME } from '#src/protocol/names.ts';
import { consoleRoute, page, type ConsolePage, type ConsoleRoute } from '../../route.ts';

const ACCOUNTS_PAGE_MAX = 200;

const account = z
  .strictObject({
    user: z.string(),
    issuer: z.string(),
    /** The account at the provider. */
    subject: z.string(),
    signed_in_at: z.string().nullable(),
    /** What bound it, who and when; all null for one that signed in before accounts were bound, which opens nothing. */
    bound_by: z.enum(BOUND_BY).nullable(),
    bound_actor: z.string().nullable(),
    bound_at: z.string().nullable(),
  })
  .meta({ id: 'IdentityAccount' });

export const identityControlRoutes = {
  listIdentityAccounts: consoleRoute.get(
    '/identity/control/accounts',
    'Usernames that belong to an account of the identity provider, with their last sign-in there.',
    {
      access: 'users:read',
      vendor: 'closed',
      query: z.strictObject({
        after: z.string().regex(USERNAME).optional(),
        limit: z.coerce.number().int().min(1).max(ACCOUNTS_PAGE_MAX).default(ACCOUNTS_PAGE_MAX),
      }),
      replies: { 200: z.strictObject({ items: z.array(account), next: z.string().nullable() }) },
    },
  ),
} as const satisfies Record<string, ConsoleRoute>;

export function makeIdentityControlPage({ sso }: { readonly sso: Pick<SingleSignOn, 'identities'> }): ConsolePage {
  return page(identityControlRoutes, {
    listIdentityAccounts: ({ query: { after, limit } }) => {
      const found = sso.identities(after, limit + 1);
      const items = found.slice(0, limit).map(({ id, document: { bound, issuer, subject, signedInAt } }) => {
        const { actor = null, at = null, by = null } = bound ?? {};
        const listed = { user: id, issuer, subject, signed_in_at: signedInAt ?? null };
        return { ...listed, bound_by: by, bound_actor: actor, bound_at: at };
      });
      return { status: 200, body: { items, next: found.length > limit ? (items.at(-1)?.user ?? null) : null } };
    },
  });
}
