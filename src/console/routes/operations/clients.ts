/** The clients' releases, and the token with which a build announces one. */
import { z } from 'zod';
import type { ClientReleases } from '#src/settings/client-releases.ts';
import { clientRelease } from '#src/protocol/hosts/client-releases.ts';
import { actorOf } from '#src/identity/console/principal.ts';
import { page, type ConsolePage, type ConsoleRoute } from '../../route.ts';

/** 32 random bytes have 43 characters of base64url: a shorter token could be guessed from its hash. */
const PUBLISH_TOKEN = /^[\w.~+/=-]{43,200}$/;

const reply = {
  200: z
    .strictObject({ publish_token: z.strictObject({ set: z.boolean() }), releases: z.array(clientRelease) })
    .meta({ id: 'Clients' }),
};

export const clientsRoutes = {
  readClients: {
    method: 'get',
    path: '/clients',
    summary: 'The latest release of every platform, and whether a publish token is set.',
    access: 'settings:read',
    vendor: 'closed',
    audit: null,
    replies: reply,
    errors: [],
  },
  changeClients: {
    method: 'put',
    path: '/clients',
    summary: 'Sets the publish token: 43 characters or more, made at random. Null removes it.',
    // Whoever holds it says what every client installs: that is a key.
    access: 'access:write',
    vendor: 'closed',
    audit: 'clients.publish_token_set',
    body: z.strictObject({ publish_token: z.string().regex(PUBLISH_TOKEN).nullable() }).meta({ id: 'ChangeClients' }),
    replies: reply,
    errors: [],
  },
} as const satisfies Record<string, ConsoleRoute>;

export function makeClientsPage({ releases }: { readonly releases: ClientReleases }): ConsolePage {
  const answer = () => ({
    status: 200,
    body: { publish_token: { set: releases.isTokenSet }, releases: releases.list() },
  });
  return page(clientsRoutes, {
    readClients: answer,
    changeClients: async ({ principal, address, body }) => {
      await releases.setToken(body.publish_token, { actor: actorOf(principal), address });
      return answer();
    },
  });
}
