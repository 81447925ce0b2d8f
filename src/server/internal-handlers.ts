/** The handlers of what services ask the coordinator (CRD-05). */
import type { z } from 'zod';
import type { DirectoryEntry } from '#src/protocol/directory/directory.ts';
import { Refusal } from '#src/protocol/errors.ts';
import type { INTERNAL_ROUTES, introspectToken, tokenIntrospection } from '#src/protocol/services/internal-routes.ts';
import type { SessionClaims } from '#src/protocol/sessions/sessions.ts';
import type { ClientHandlers } from '#src/http/client-routes.ts';

export interface InternalHandlersOptions {
  /** The claims of a session that is good now. @throws Refusal when there is none. */
  readonly session: (token: string) => SessionClaims;
  /** A person as the directory knows them; undefined for nobody. */
  readonly entry: (username: string) => DirectoryEntry | undefined;
}

export function makeInternalHandlers(options: InternalHandlersOptions): ClientHandlers<typeof INTERNAL_ROUTES> {
  const introspect = (token: string): z.infer<typeof tokenIntrospection> => {
    try {
      const { sub, dev, exp } = options.session(token);
      return { active: true, user: sub, device_id: dev, exp };
    } catch (error) {
      if (error instanceof Refusal) return { active: false };
      throw error;
    }
  };
  return {
    introspectToken: ({ body }) => ({
      status: 200,
      body: introspect((body as z.infer<typeof introspectToken>).token),
    }),
    readInternalPerson: ({ parameters }) => {
      const entry = options.entry(parameters['username'] ?? '');
      if (entry === undefined) throw new Refusal('person_not_found');
      return { status: 200, body: entry };
    },
  };
}
