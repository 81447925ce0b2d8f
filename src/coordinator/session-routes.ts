/** The session routes of the coordinator, registered from the table of the protocol: one handler by name each. */
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { z } from 'zod';
import { Refusal } from '#src/protocol/errors.ts';
import { BODY_BYTES_MAX } from '#src/protocol/limits.ts';
import { SESSION_ROUTES, type Route, type SessionRoute } from '#src/protocol/routes.ts';
import type { Login, exchangeInvitation } from '#src/protocol/sessions.ts';
import type { Invitations } from './invitations.ts';
import type { SignIn } from './sign-in.ts';

type Reply = Promise<{ readonly status: number; readonly body: unknown }>;
type Handlers = Readonly<Record<SessionRoute, (request: FastifyRequest) => Reply>>;

/** Routes without a query take none: a token in a query string would end up in the logs of every proxy. */
const NO_QUERY = z.strictObject({});

export function addSessionRoutes(app: FastifyInstance, signIn: SignIn, invitations: Invitations): void {
  const handlers = makeHandlers(signIn, invitations);
  for (const name of Object.keys(SESSION_ROUTES) as SessionRoute[]) {
    const route: Route = SESSION_ROUTES[name];
    app.route({
      method: route.method.toUpperCase(),
      url: route.path,
      bodyLimit: route.bodyBytesMax ?? BODY_BYTES_MAX,
      schema: {
        querystring: route.query ?? NO_QUERY,
        response: route.replies,
        ...(route.body === undefined ? {} : { body: route.body }),
      },
      preValidation: async (request) => checkPresence(route, request.body),
      handler: async (request, reply) => {
        const { status, body } = await handlers[name](request);
        return await reply.code(status).send(body);
      },
    });
  }
}

function makeHandlers(signIn: SignIn, invitations: Invitations): Handlers {
  return {
    login: async (request) => ({ status: 200, body: await signIn.login(request.body as Login, request.ip) }),
    renew: async (request) => ({ status: 200, body: signIn.renew(bearerOf(request)) }),
    logout: async (request) => {
      await signIn.logout(bearerOf(request));
      return { status: 200, body: { status: 'ok' } };
    },
    exchangeInvitation: async (request) => {
      const { invitation } = request.params as { invitation: string };
      const { username, password } = request.body as z.infer<typeof exchangeInvitation>;
      await invitations.exchange(invitation, username, password);
      return { status: 201, body: { user: username } };
    },
  };
}

/** A form that has a body must come with one; one that has none takes an empty object and nothing more (GOV-03). */
function checkPresence(route: Route, body: unknown): void {
  if (route.body !== undefined) {
    if (body === undefined) throw new Refusal('body_invalid_json');
    return;
  }
  if (body === undefined) return;
  if (typeof body !== 'object' || body === null || Array.isArray(body)) throw new Refusal('field_invalid');
  const field = Object.keys(body)[0];
  if (field !== undefined) throw new Refusal('field_unknown', { field });
}

/** The token of `Authorization: Bearer …`; undefined when there is none, whatever else the header says. */
function bearerOf(request: FastifyRequest): string | undefined {
  return /^bearer +(\S+) *$/i.exec(request.headers.authorization ?? '')?.[1];
}
