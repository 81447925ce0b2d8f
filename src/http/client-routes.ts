/** Routes of the protocol's tables on the coordinator's app: one handler by name each, called for whoever it takes. */
import type { Limiter } from '#src/limits/limiter.ts';
import type { FastifyInstance, FastifyReply, FastifyRequest, RouteOptions } from 'fastify';
import { z } from 'zod';
import { Refusal } from '#src/protocol/errors.ts';
import { BODY_BYTES_MAX } from '#src/protocol/limits.ts';
import type { Route } from '#src/protocol/route.ts';
import { headerValues } from './header-values.ts';

/** A client's request, checked by the schemas of its route. */
export interface ClientRequest {
  /** Who calls, as the session proves it. Empty on a route that takes everybody. */
  readonly user: string;
  /** The token of `Authorization: Bearer …`; undefined when there is none, whatever else the header says. */
  readonly token: string | undefined;
  /** The caller's address. */
  readonly address: string;
  readonly parameters: Readonly<Record<string, string>>;
  readonly query: unknown;
  readonly body: unknown;
  /** The `Cookie` header. It opens no route: it ties a walk through other pages to its browser, and renews a session of the app. */
  readonly cookie: string | undefined;
  readonly page: AskingPage;
}

/** What a browser says of the page that asks. No script can write any of it (Fetch, “forbidden request-header”). */
export interface AskingPage {
  readonly origin: string | undefined;
  /** `Sec-Fetch-Site`: how that origin stands to this one. Said over TLS and on loopback alone. */
  readonly site: string | undefined;
  readonly host: string | undefined;
}

export interface ClientReply {
  readonly status: number;
  readonly body: unknown;
  readonly headers?: Readonly<Record<string, string>>;
}

/** An answer of 200 whose JSON was made before, for others too; a caller that has it as it is gets 304 instead. */
export interface MadeReply {
  readonly json: Buffer;
  /** A strong tag, quoted (RFC 9110, section 8.8.3). */
  readonly etag: string;
}

export type ClientHandler = (request: ClientRequest) => Promise<ClientReply | MadeReply> | ClientReply | MadeReply;
export type ClientHandlers<Routes> = Readonly<Record<keyof Routes, ClientHandler>>;

/** The person whose session a token is. @throws Refusal `token_missing`, `token_invalid`, `token_expired`, `session_revoked`. */
export type Authenticate = (token: string | undefined) => string;

/** Routes without a query take none: a token in a query string would end up in the logs of every proxy. */
export const NO_QUERY = z.strictObject({});

/** Counts a request of a person before its body is read; a promise keeps it waiting. @throws Refusal `rate_limited`. */
export type CountRequest = (user: string, route: Route, name: string) => void | Promise<void>;

/** Counts what each person does by each route of the coordinator. */
function countByRoute(limiter: Limiter): CountRequest {
  return async (user, { method }, name) => {
    limiter.take(method === 'get' ? 'route_read' : 'route_write', `${name} ${user}`);
    await limiter.roundRobin.begin(user);
  };
}

/** Registers a table's routes; those of `auth: 'session'` and `'service'` are refused before their bodies are read. */
export function addClientRoutes<Routes extends Readonly<Record<string, Route>>>(
  app: FastifyInstance,
  routes: Routes,
  handlers: ClientHandlers<Routes>,
  authenticate: Authenticate,
  limits?: Limiter | CountRequest,
): void {
  const count = limits === undefined || typeof limits === 'function' ? limits : countByRoute(limits);
  const roundRobin = typeof limits === 'function' ? undefined : limits?.roundRobin;
  const users = new WeakMap<FastifyRequest, string>();
  for (const [name, route] of Object.entries<Route>(routes)) {
    const handle = handlers[name as keyof Routes];
    addRoute(app, route, {
      method: route.method.toUpperCase(),
      url: route.path,
      bodyLimit: route.bodyBytesMax ?? BODY_BYTES_MAX,
      config: route.anyVersion === undefined ? {} : { anyVersion: route.anyVersion },
      schema: {
        querystring: route.query ?? NO_QUERY,
        // An answer without a body has nothing to be held to.
        response: Object.fromEntries(Object.entries(route.replies).filter(([, shape]) => shape !== null)),
        ...(route.body === undefined ? {} : { body: route.body }),
      },
      onRequest: async (request) => {
        if (route.auth !== 'session' && route.auth !== 'service') return;
        const user = authenticate(bearerOf(request));
        // Services of the installation ask on behalf of everybody.
        if (route.auth === 'session') await count?.(user, route, name);
        users.set(request, user);
      },
      preValidation: async (request, reply) => {
        // From when all of it is here: whoever sends slowly is in nobody's way.
        if (route.auth === 'none') roundRobin?.enterUntilClosed(reply.raw);
        checkPresence(route, request.body);
      },
      handler: async (request, reply) => {
        const answer = await handle({
          user: users.get(request) ?? '',
          token: bearerOf(request),
          address: request.ip,
          parameters: request.params as Record<string, string>,
          query: request.query,
          body: request.body,
          cookie: request.headers.cookie,
          page: pageOf(request),
        });
        if ('json' in answer) return await sendMade(request, reply, answer);
        return await reply
          .code(answer.status)
          .headers(answer.headers ?? {})
          .send(answer.body);
      },
    });
  }
}

function pageOf({ headers }: FastifyRequest): AskingPage {
  const site = headers['sec-fetch-site'];
  return { origin: headers.origin, site: Array.isArray(site) ? site.join() : site, host: headers.host };
}

/** Adds a route to the app; one that takes a form in a scope of its own, so that no other route takes forms. */
function addRoute(app: FastifyInstance, route: Route, options: RouteOptions): void {
  if (route.isForm !== true) return void app.route(options);
  void app.register(async (scope) => {
    scope.removeAllContentTypeParsers();
    const parse = (_request: FastifyRequest, text: string, done: (error: Error | null, body?: unknown) => void) => {
      const parameters = [...new URLSearchParams(text)];
      const form = Object.fromEntries(parameters);
      // Which of two would count is nothing to guess (RFC 6749, section 3.1).
      const isTwice = Object.keys(form).length < parameters.length;
      done(isTwice ? new Refusal('field_invalid') : null, form);
    };
    scope.addContentTypeParser('application/x-www-form-urlencoded', { parseAs: 'string' }, parse);
    scope.route(options);
  });
}

/** Sends JSON under its tag. The caller may keep it, and asks each time whether it still holds. */
export async function sendMade(
  request: FastifyRequest,
  reply: FastifyReply,
  { json, etag }: MadeReply,
): Promise<FastifyReply> {
  void reply.headers({ etag, 'cache-control': 'private, no-cache', vary: 'Authorization, Origin' });
  if (matchesTag(request.headers['if-none-match'], etag)) return await reply.code(304).send();
  return await reply.code(200).type('application/json; charset=utf-8').send(json);
}

/** Whether an `If-None-Match` names the tag: one of a list, weakly compared, or any at all (RFC 9110, section 13.1.2). */
export function matchesTag(header: string | undefined, etag: string): boolean {
  const tags = (header ?? '').split(',').map((one) => one.trim().replace(/^W\//, ''));
  return tags.includes('*') || tags.includes(etag);
}

/** A form that has a body must come with one, unless it may do without; one that has none takes an empty object and nothing more (GOV-03). */
export function checkPresence(route: Pick<Route, 'body'>, body: unknown): void {
  if (route.body !== undefined) {
    if (body === null) throw new Refusal('field_invalid');
    if (body === undefined && !route.body.safeParse(undefined).success) throw new Refusal('body_invalid_json');
    return;
  }
  if (body === undefined) return;
  if (typeof body !== 'object' || body === null || Array.isArray(body)) throw new Refusal('field_invalid');
  const field = Object.keys(body)[0];
  if (field !== undefined) throw new Refusal('field_unknown', { field });
}

/**
 * The `Authorization` of a request; several are joined by a comma, which no credential has. Node takes the first and
 * drops the rest, where the next reader could take another one.
 */
export function authorizationOf(request: Pick<FastifyRequest, 'raw'>): string | undefined {
  const values = headerValues(request, 'authorization');
  return values.length === 0 ? undefined : values.join(', ');
}

/** The token of `Authorization: Bearer …`; undefined when there is none. */
export function bearerOf(request: FastifyRequest): string | undefined {
  return /^bearer +(\S+) *$/i.exec(authorizationOf(request) ?? '')?.[1];
}
