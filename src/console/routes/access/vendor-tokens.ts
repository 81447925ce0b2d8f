/** Vendor tokens: issuing, listing, revoking (VND-01…05). */
import { z } from 'zod';
import { TERM_DAYS_MAX, TERM_DAYS_MIN, VENDORS, type VendorTokens } from '#src/identity/vendor-tokens.ts';
import { pageQuery } from '../../page-query.ts';
import { consoleRoute, page, type ConsolePage, type ConsoleRoute } from '../../route.ts';

const VENDOR_TOKENS_PAGE_MAX = 200;
const NAME_LENGTH_MAX = 100;
/** A sentence or two: it goes into the audit trail. */
const PURPOSE_LENGTH_MAX = 500;

/** A line of text that says something: blanks alone do not, and control characters would garble a trail. */
const line = (longest: number) =>
  z
    .string()
    .max(longest)
    .regex(/^\P{Cc}*[^\s\p{Cc}]\P{Cc}*$/u);

const issueVendorToken = z
  .strictObject({
    name: line(NAME_LENGTH_MAX),
    vendor: z.enum(VENDORS).default(VENDORS[0]),
    purpose: line(PURPOSE_LENGTH_MAX),
    term_days: z.int().min(TERM_DAYS_MIN).max(TERM_DAYS_MAX),
  })
  .meta({ id: 'IssueVendorToken' });

const fields = {
  id: z.string(),
  name: z.string(),
  vendor: z.enum(VENDORS),
  purpose: z.string(),
  term_days: z.int(),
  issued_by: z.string(),
  issued_at: z.string(),
  expires_at: z.string(),
  state: z.enum(['active', 'revoked', 'expired']),
  revoked_by: z.string().nullable(),
  revoked_at: z.string().nullable(),
  last_used_at: z.string().nullable(),
  last_used_address: z.string().nullable(),
};
/** A token as lists show it, and as its holder sees its own. */
export const vendorToken = z.strictObject(fields).meta({ id: 'VendorToken' });
const issuedVendorToken = z
  .strictObject({ ...fields, token: z.string().meta({ description: 'Shown once.' }) })
  .meta({ id: 'IssuedVendorToken' });

export const vendorTokenRoutes = {
  issueVendorToken: consoleRoute.post(
    '/vendor-tokens',
    'Issues a vendor token; it is in the answer and never shown again.',
    {
      access: 'access:write',
      vendor: 'closed',
      audit: 'vendor_token.issued',
      body: issueVendorToken,
      replies: { 201: issuedVendorToken },
    },
  ),
  listVendorTokens: consoleRoute.get('/vendor-tokens', 'Vendor tokens, without their secrets.', {
    access: 'access:write',
    vendor: 'closed',
    query: pageQuery(VENDOR_TOKENS_PAGE_MAX),
    replies: { 200: z.strictObject({ items: z.array(vendorToken), next: z.string().nullable() }) },
  }),
  revokeVendorToken: consoleRoute.post('/vendor-tokens/:id/revoke', "Ends a vendor token's access at once.", {
    access: 'access:write',
    vendor: 'closed',
    audit: 'vendor_token.revoked',
    replies: { 200: vendorToken },
    errors: ['vendor_token_not_found', 'vendor_token_not_active'],
  }),
} as const satisfies Record<string, ConsoleRoute>;

export function makeVendorTokensPage({ vendorTokens }: { readonly vendorTokens: VendorTokens }): ConsolePage {
  return page(vendorTokenRoutes, {
    issueVendorToken: async ({ principal, body, address }) => {
      const { token, record } = await vendorTokens.issue(principal, body, address);
      return { status: 201, body: { ...record, token } };
    },
    listVendorTokens: ({ query }) => ({ status: 200, body: vendorTokens.list(query.after, query.limit) }),
    revokeVendorToken: async ({ principal, parameters, address }) => ({
      status: 200,
      body: await vendorTokens.revoke(principal, parameters.id, address),
    }),
  });
}
