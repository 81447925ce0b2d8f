/** Guests: who they are, who invited them, and their terms (GST-01). */
import type { Guests } from '#src/directory/guests.ts';
import * as guests from '#src/protocol/directory/guests.ts';
import { consoleRoute, page, type ConsolePage, type ConsoleRoute } from '../../route.ts';

const missing = 'guest_not_found';

export const guestsRoutes = {
  listGuests: consoleRoute.get('/guests', 'Guests, by username.', {
    access: 'users:read',
    vendor: 'open',
    query: guests.guestsQuery,
    replies: { 200: guests.guestsReply },
  }),
  readGuest: consoleRoute.get('/guests/:username', 'One guest.', {
    access: 'users:read',
    vendor: 'open',
    replies: { 200: guests.guest },
    errors: [missing],
  }),
  changeGuest: consoleRoute.patch('/guests/:username', 'Gives a guest another end of the term.', {
    access: 'users:write',
    vendor: 'closed',
    audit: 'guest.term_changed',
    body: guests.changeGuest,
    replies: { 200: guests.guest },
    errors: [missing, 'person_left', 'phone_taken'],
  }),
  endGuest: consoleRoute.post('/guests/:username/end', "Ends a guest's term now: sessions end and sockets close.", {
    access: 'users:write',
    vendor: 'closed',
    audit: 'guest.ended',
    replies: { 200: guests.guest },
    errors: [missing, 'person_left'],
  }),
} as const satisfies Record<string, ConsoleRoute>;

export function makeGuestsPage({ guests: terms }: { readonly guests: Guests }): ConsolePage {
  return page(guestsRoutes, {
    listGuests: ({ query }) => ({ status: 200, body: terms.list(query.after, query.limit) }),
    readGuest: ({ parameters }) => ({ status: 200, body: terms.read(parameters.username) }),
    changeGuest: async ({ by, body, parameters }) => {
      return { status: 200, body: await terms.changeTerm(parameters.username, body.expires_at, by) };
    },
    endGuest: async ({ by, parameters }) => {
      return { status: 200, body: await terms.end(parameters.username, by) };
    },
  });
}
