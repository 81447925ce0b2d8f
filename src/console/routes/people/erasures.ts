/** Erasing people: by owners alone, with what came of it. */
import { z } from 'zod';
import type { ConsoleRoles } from '#src/identity/console/console-roles.ts';
import { ERASURES_PAGE_MAX, type Erasures } from '#src/compliance/erasures.ts';
import { count, username } from '#src/protocol/names.ts';
import { consoleRoute, page, type ConsolePage, type ConsoleRoute } from '../../route.ts';

const erasure = z
  .strictObject({
    id: z.string(),
    user: username,
    state: z
      .enum(['running', 'waiting', 'done'])
      .meta({ description: 'It waits for a legal hold to end, and goes on by itself then.' }),
    started_at: z.string(),
    started_by: z.string(),
    done_at: z.string().nullable(),
    conversations: count.meta({ description: 'Conversations that were gone through.' }),
    messages: count.meta({ description: 'Messages that are stubs now.' }),
    bytes: count.meta({ description: 'Bytes of what they said; attachments follow by themselves.' }),
    held: count.meta({ description: 'Conversations under a legal hold, which stayed as they are.' }),
    forwards: count.meta({ description: 'Messages of others that passed their words on, and are stubs now.' }),
    names: count.meta({ description: 'Messages of others with the stand-in [erased] where they were named.' }),
    kept: count.meta({ description: 'Messages of others that name them and stayed, under a legal hold.' }),
  })
  .meta({ id: 'Erasure' });

export const erasuresRoutes = {
  eraseUser: consoleRoute.post(
    '/users/:username/erase',
    'Erases a person: the account at once, what they wrote in steps. Their username stays taken.',
    {
      access: 'access:write',
      vendor: 'closed',
      audit: 'user.erasure_started',
      replies: { 202: erasure },
      errors: ['person_not_found', 'last_owner_required'],
    },
  ),
  listErasures: consoleRoute.get('/erasures', 'Erasures, oldest first.', {
    access: 'access:write',
    vendor: 'closed',
    query: z.strictObject({
      after: z.string().max(64).optional(),
      limit: z.coerce.number().int().min(1).max(ERASURES_PAGE_MAX).default(ERASURES_PAGE_MAX),
    }),
    replies: { 200: z.strictObject({ items: z.array(erasure), next: z.string().nullable() }).meta({ id: 'Erasures' }) },
  }),
  readErasure: consoleRoute.get('/erasures/:id', 'One erasure, and how far it is.', {
    access: 'access:write',
    vendor: 'closed',
    replies: { 200: erasure },
    errors: ['erasure_not_found'],
  }),
} as const satisfies Record<string, ConsoleRoute>;

export interface ErasuresPageOptions {
  readonly erasures: Erasures;
  readonly consoleRoles: Pick<ConsoleRoles, 'lastOwnerCheck'>;
}

export function makeErasuresPage({ erasures, consoleRoles }: ErasuresPageOptions): ConsolePage {
  return page(erasuresRoutes, {
    eraseUser: async ({ by, parameters }) => {
      const user = parameters.username;
      const check = await consoleRoles.lastOwnerCheck(user);
      return { status: 202, body: await erasures.erase(user, by, check) };
    },
    listErasures: ({ query }) => ({ status: 200, body: erasures.list(query.after, query.limit) }),
    readErasure: ({ parameters }) => ({ status: 200, body: erasures.read(parameters.id) }),
  });
}
