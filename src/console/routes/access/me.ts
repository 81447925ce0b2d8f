/** Who the caller is and what it may do (CON-01). */
import { z } from 'zod';
import type { ListedVendorToken } from '#src/identity/vendor-tokens.ts';
import { CONSOLE_ROLES, PERMISSIONS, permits, type ConsoleRole } from '#src/identity/console/permissions.ts';
import { roleOf, type Principal } from '#src/identity/console/principal.ts';
import { page, type ConsolePage, type ConsoleRoute } from '../../route.ts';
import { vendorToken } from './vendor-tokens.ts';

const me = z
  .strictObject({
    kind: z.enum(['person', 'break_glass', 'vendor']),
    /** The username, the name of the vendor token, or `break-glass`. */
    name: z.string(),
    role: z.enum(Object.keys(CONSOLE_ROLES) as [ConsoleRole, ...ConsoleRole[]]),
    permissions: z.array(z.enum(PERMISSIONS)),
    /** How the session was opened; null for a vendor token, which is no session. */
    sign_in: z.enum(['password', 'sso', 'break_glass']).nullable(),
    full: z.boolean(),
    /** The record of a vendor's own token, without its secret; null for everybody else. */
    vendor_token: vendorToken.nullable(),
  })
  .meta({ id: 'ConsoleMe' });

export const meRoutes = {
  readMe: {
    method: 'get',
    path: '/me',
    summary: 'Who the caller is and what it may do.',
    access: 'signed_in',
    vendor: 'open',
    audit: null,
    replies: { 200: me },
    errors: [],
  },
} as const satisfies Record<string, ConsoleRoute>;

export interface MeDependencies {
  /** The record of a vendor token as lists show it; undefined where there is none. */
  readonly vendorToken: (id: string) => ListedVendorToken | undefined;
}

export function makeMePage({ vendorToken: recordOf }: MeDependencies): ConsolePage {
  return page(meRoutes, {
    readMe: ({ principal }) => {
      const token = principal.kind === 'vendor' ? recordOf(principal.id) : undefined;
      const role = roleOf(principal);
      return {
        status: 200,
        body: {
          kind: principal.kind,
          name: token?.name ?? nameOf(principal),
          role,
          permissions: PERMISSIONS.filter((permission) => permits(role, permission)),
          sign_in: signInOf(principal),
          full: principal.kind !== 'person' || principal.isFull,
          vendor_token: token ?? null,
        },
      };
    },
  });
}

function nameOf(principal: Principal): string {
  if (principal.kind === 'person') return principal.username;
  return principal.kind === 'vendor' ? principal.id : 'break-glass';
}

function signInOf(principal: Principal): 'password' | 'sso' | 'break_glass' | null {
  if (principal.kind === 'person') return principal.signIn;
  return principal.kind === 'vendor' ? null : 'break_glass';
}
