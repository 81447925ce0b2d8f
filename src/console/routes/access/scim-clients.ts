/** Clients that provision people over SCIM: making them, their tokens, and whom of the people here they keep. */
import { z } from 'zod';
import { SCIM_PEOPLE_DEFAULT, SCIM_PEOPLE_MAX, type ScimClients } from '#src/identity/scim-clients.ts';
import type { ScimPeople } from '#src/scim/scim-people.ts';
import { consoleRoute, page, type ConsolePage, type ConsoleRoute } from '../../route.ts';

/** A line of text that says something. */
const line = (longest: number) =>
  z
    .string()
    .trim()
    .max(longest)
    .regex(/^\P{Cc}*[^\s\p{Cc}]\P{Cc}*$/u);

const fields = {
  id: z.string(),
  name: z.string(),
  people_max: z.int(),
  state: z.enum(['active', 'token_ended']),
  created_at: z.string(),
  created_by: z.string(),
  token_made_at: z.string(),
  last_used_at: z.string().nullable(),
  last_used_address: z.string().nullable(),
};
const scimClient = z.strictObject(fields).meta({ id: 'ScimClient' });
const shownScimClient = z
  .strictObject({ ...fields, token: z.string().meta({ description: 'Shown once.' }) })
  .meta({ id: 'ShownScimClient' });

const missing = 'scim_client_not_found';

export const scimClientRoutes = {
  createScimClient: consoleRoute.post(
    '/scim-clients',
    'Makes a client that provisions people over SCIM; its token is in the answer and never shown again.',
    {
      access: 'access:write',
      vendor: 'closed',
      audit: 'scim_client.created',
      body: z
        .strictObject({ name: line(100), people_max: z.int().min(1).max(SCIM_PEOPLE_MAX).default(SCIM_PEOPLE_DEFAULT) })
        .meta({ id: 'CreateScimClient' }),
      replies: { 201: shownScimClient },
      errors: ['scim_clients_full'],
    },
  ),
  listScimClients: consoleRoute.get('/scim-clients', 'Clients that provision people, without their tokens.', {
    access: 'access:write',
    vendor: 'closed',
    replies: { 200: z.strictObject({ items: z.array(scimClient), next: z.null() }) },
  }),
  renewScimToken: consoleRoute.post('/scim-clients/:id/token', 'Gives a client another token; the one before ends.', {
    access: 'access:write',
    vendor: 'closed',
    audit: 'scim_client.token_made',
    replies: { 200: shownScimClient },
    errors: [missing],
  }),
  removeScimClient: consoleRoute.delete('/scim-clients/:id', 'Ends a client. Its people and groups stay as they are.', {
    access: 'access:write',
    vendor: 'closed',
    audit: 'scim_client.removed',
    replies: { 204: null },
    errors: [missing],
  }),
  adoptPerson: consoleRoute.put(
    '/scim-clients/:id/people/:user',
    'Hands somebody who is here to a client, which keeps them from then on; nobody who has a role in the console.',
    {
      access: 'access:write',
      vendor: 'closed',
      audit: 'sso.identity_bound',
      body: z.strictObject({ user_name: line(256), external_id: line(256).optional() }).meta({ id: 'AdoptPerson' }),
      replies: { 204: null },
      errors: [missing, 'person_not_found', 'person_left', 'scim_person_kept', 'scim_people_full', 'username_taken'],
    },
  ),
  releasePerson: consoleRoute.delete(
    '/scim-clients/:id/people/:user',
    'Takes a person from a client; from then on they are kept here.',
    {
      access: 'access:write',
      vendor: 'closed',
      audit: 'sso.identity_forgotten',
      replies: { 204: null },
      errors: [missing, 'person_not_found'],
    },
  ),
} as const satisfies Record<string, ConsoleRoute>;

export interface ScimClientsPageOptions {
  readonly scimClients: ScimClients;
  readonly scimPeople: ScimPeople;
}

export function makeScimClientsPage({ scimClients: clients, scimPeople: people }: ScimClientsPageOptions): ConsolePage {
  return page(scimClientRoutes, {
    createScimClient: async ({ body, by }) => {
      const { client, token } = await clients.create(body, by);
      return { status: 201, body: { ...client, token } };
    },
    listScimClients: () => ({ status: 200, body: { items: clients.list(), next: null } }),
    renewScimToken: async ({ by, parameters }) => {
      const { client, token } = await clients.renew(parameters.id, by);
      return { status: 200, body: { ...client, token } };
    },
    removeScimClient: async ({ by, parameters }) => {
      await clients.remove(parameters.id, by);
      return { status: 204 };
    },
    adoptPerson: async ({ body, by, parameters }) => {
      await people.adopt(clients.client(parameters.id), parameters.user, body, by);
      return { status: 204 };
    },
    releasePerson: async ({ by, parameters }) => {
      await people.release(clients.client(parameters.id), parameters.user, by);
      return { status: 204 };
    },
  });
}
