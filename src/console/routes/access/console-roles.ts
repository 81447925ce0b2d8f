/** Roles of people in the console (CON-03). */
import { z } from 'zod';
import type { ConsoleRoles } from '#src/identity/console/console-roles.ts';
import { USERNAME } from '#src/protocol/names.ts';
import { PERSON_CONSOLE_ROLES } from '#src/identity/console/permissions.ts';
import { consoleRoute, page, type ConsolePage, type ConsoleRoute } from '../../route.ts';

const ROLES_PAGE_MAX = 200;

const listedRole = z
  .strictObject({
    user: z.string(),
    role: z.enum(['administrator', 'viewer']),
    since: z.string(),
    by: z.string(),
  })
  .meta({ id: 'ConsoleRoleOfPerson' });

export const consoleRoleRoutes = {
  listConsoleRoles: consoleRoute.get(
    '/console-roles',
    'Who has a console role below owner; owners are marked so in the list of people.',
    {
      access: 'users:read',
      vendor: 'open',
      query: z.strictObject({
        after: z.string().regex(USERNAME).optional(),
        limit: z.coerce.number().int().min(1).max(ROLES_PAGE_MAX).default(ROLES_PAGE_MAX),
      }),
      replies: { 200: z.strictObject({ items: z.array(listedRole), next: z.string().nullable() }) },
    },
  ),
  setConsoleRole: consoleRoute.put(
    '/console-roles/:user',
    'Gives a person a console role, or takes it with null. Their console sessions end.',
    {
      access: 'access:write',
      vendor: 'closed',
      audit: 'console_role.changed',
      body: z.strictObject({ role: z.enum(PERSON_CONSOLE_ROLES).nullable() }).meta({ id: 'SetConsoleRole' }),
      replies: { 204: null },
      errors: ['last_owner_required'],
    },
  ),
} as const satisfies Record<string, ConsoleRoute>;

export function makeConsoleRolesPage({ roles }: { readonly roles: ConsoleRoles }): ConsolePage {
  return page(consoleRoleRoutes, {
    listConsoleRoles: ({ query }) => ({ status: 200, body: roles.list(query.after, query.limit) }),
    setConsoleRole: async ({ principal, parameters, body, address }) => {
      await roles.set(principal, parameters.user, body.role, address);
      return { status: 204 };
    },
  });
}
