/**
 * The console's router: `/admin/api`, built from the route table and from nothing else. What every request goes
 * through, in this order and before its body is read:
 *
 *     credential ─► vendor's gate ─► second factor ─► permission ─► step-up ─► body, schemas ─► handler ─► answer's schema
 *                                                                                        vendor: de-personalised ─►
 *
 * Whoever is nobody learns nothing here, not even which paths there are.
 */
import { Readable } from 'node:stream';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { Clock } from '#src/base/clock.ts';
import { authorizationOf, checkPresence, NO_QUERY } from '#src/http/client-routes.ts';
import type { Limiter } from '#src/limits/limiter.ts';
import { zodSerializer } from '#src/http/zod-schemas.ts';
import { Refusal } from '#src/protocol/errors.ts';
import type { ConsoleAuthentication, CredentialHeaders } from '#src/identity/console/console-authentication.ts';
import type { Depersonalisation } from './depersonalisation.ts';
import { permits } from '#src/identity/console/permissions.ts';
import { actorOf, hasSteppedUp, roleOf, type Principal } from '#src/identity/console/principal.ts';
import {
  asksStepUp,
  type Access,
  type ConsolePage,
  type ConsoleReply,
  type ConsoleRequest,
  type ConsoleRoute,
} from './route.ts';
import { CONSOLE_PREFIX, routeFaults } from './route-table.ts';
import { actorsIn, withActors } from './vendor-actors.ts';
import { pathOf, showsVendorToken, type VendorGate } from './vendor-gate.ts';
import { VendorPace } from './vendor-pace.ts';

/** How long an answer may stream, an hour: some gigabytes to somebody on a slow line. Beyond it: it breaks off. */
const STREAM_MILLIS_MAX = 3_600_000;

/** How long the reader of a stream may take nothing before the stream breaks off and gives its place back. */
const STREAM_STALL_MILLIS = 60_000;

export interface RouterOptions {
  readonly authentication: Pick<ConsoleAuthentication, 'authenticate'>;
  readonly gate: VendorGate;
  readonly depersonalisation: Depersonalisation;
  readonly clock: Clock;
  /** How often one principal may write; undefined where nothing limits it. */
  readonly limiter?: Pick<Limiter, 'take'> | undefined;
  /** How long the reader of a stream may take nothing, in milliseconds. */
  readonly streamStallMillis?: number;
}

declare module 'fastify' {
  interface FastifyContextConfig {
    /** What the console's table says of this route. */
    consoleRoute?: ConsoleRoute;
  }
}

/**
 * Registers every route of the pages.
 * @throws Error when a page states a route that may not be: without an exposure, a write without an audit event.
 */
export async function addConsoleRoutes(
  app: FastifyInstance,
  pages: Readonly<Record<string, ConsolePage>>,
  options: RouterOptions,
): Promise<void> {
  const faults = routeFaults(Object.values(pages).flatMap(({ routes }) => Object.values(routes)));
  if (faults.length > 0) throw new Error(`The console's route table is wrong: ${faults.join(' ')}`);
  await app.register(
    async (scope) => {
      const router = new Router(options);
      scope.addHook('onRequest', async (request) => {
        request.judgesVendorTokens = true;
        await router.admit(request);
      });
      for (const { routes, handlers } of Object.values(pages)) {
        for (const [name, route] of Object.entries(routes)) {
          const handler = handlers[name];
          if (handler === undefined) throw new Error(`The console's route ${name} has no handler.`);
          router.register(scope, route, handler);
        }
      }
      const patterns = Object.values(pages).flatMap(({ routes }) => Object.values(routes).map(({ path }) => path));
      scope.setNotFoundHandler((request: FastifyRequest) => {
        const path = pathOf(request.url).slice(CONSOLE_PREFIX.length);
        throw new Refusal(patterns.some((pattern) => fits(pattern, path)) ? 'method_not_found' : 'path_not_found');
      });
    },
    { prefix: CONSOLE_PREFIX },
  );
}

class Router {
  readonly #options: RouterOptions;
  readonly #pace = new VendorPace();
  /** Who asks, while the request is under way. A request of a public route has nobody here. */
  readonly #principals = new WeakMap<FastifyRequest, Principal>();

  constructor(options: RouterOptions) {
    this.#options = options;
  }

  register(scope: FastifyInstance, route: ConsoleRoute, handler: ConsolePage['handlers'][string]): void {
    scope.route({
      method: route.method.toUpperCase(),
      url: route.path,
      exposeHeadRoute: false,
      config: { consoleRoute: route },
      ...(route.isStream === true ? { handlerTimeout: STREAM_MILLIS_MAX } : {}),
      ...(route.bodyBytesMax === undefined ? {} : { bodyLimit: route.bodyBytesMax }),
      schema: { querystring: route.query ?? NO_QUERY, ...(route.body === undefined ? {} : { body: route.body }) },
      preValidation: async (request) => {
        if (route.method !== 'get') checkPresence({ body: route.body } as Pick<ConsoleRoute, 'body'>, request.body);
      },
      handler: async (request, reply) => {
        const answer = await handler(this.#read(request));
        return await this.#send(request, reply, route, answer);
      },
    });
  }

  /**
   * Lets a request through to its handler, or not.
   * @throws Refusal what the credential is refused with; `vendor_token_forbidden`, `two_factor_enrollment_required`,
   * `right_missing`.
   */
  async admit(request: FastifyRequest): Promise<void> {
    const { authentication, clock, gate } = this.#options;
    const route = request.routeOptions.config.consoleRoute;
    const path = pathOf(request.url);
    const credentials = credentialsOf(request);
    // A public route asks for no credential; one that shows a vendor token is refused as on any other closed path.
    if (route?.access === 'public' && !showsVendorToken(credentials)) return;
    const principal = await authentication.authenticate(credentials, request.ip, clock.now(), path);
    if (principal.kind === 'vendor') {
      const below = path.slice(CONSOLE_PREFIX.length);
      await gate.admit(principal, { method: request.method, path, below, route, address: request.ip });
    }
    if (route?.access === 'public') return;
    checkAccess(principal, route?.access ?? 'signed_in');
    if (request.method !== 'GET') this.#options.limiter?.take('console_write', actorOf(principal));
    if (route !== undefined && asksStepUp(route) && !hasSteppedUp(principal, clock.now())) {
      throw new Refusal('step_up_required');
    }
    this.#principals.set(request, principal);
  }

  #read(request: FastifyRequest): ConsoleRequest {
    const principals = this.#principals;
    const { clock } = this.#options;
    return {
      get hasSteppedUp(): boolean {
        return hasSteppedUp(this.principal, clock.now());
      },
      get principal(): Principal {
        const principal = principals.get(request);
        if (principal === undefined) throw new Error('A public route was asked who calls it: nobody is known there.');
        return principal;
      },
      address: request.ip,
      get by() {
        return { actor: actorOf(this.principal), address: this.address };
      },
      parameters: request.params as Record<string, string>,
      body: request.body,
      query: request.query,
      shown: this.#principals.get(request)?.kind === 'vendor' ? async (rows) => await this.#shown(rows) : undefined,
    };
  }

  /** Rows where an answer has them, so that they read as they do there. */
  async #shown<Row>(rows: readonly Row[]): Promise<Row[]> {
    return ((await this.#depersonalised({ items: rows })) as { items: Row[] }).items;
  }

  async #send(
    request: FastifyRequest,
    reply: FastifyReply,
    route: ConsoleRoute,
    { status, body, stream, headers = {} }: ConsoleReply,
  ): Promise<FastifyReply> {
    if (stream !== undefined) {
      return await sendLines(reply, route, stream, this.#options.streamStallMillis ?? STREAM_STALL_MILLIS);
    }
    const json = serialise(route, status, body);
    void reply.code(status).headers(headers);
    if (json === undefined) return await reply.send();
    const isVendor = this.#principals.get(request)?.kind === 'vendor';
    const text = isVendor ? await this.#forVendor(route, json) : json;
    return await reply
      .type('application/json; charset=utf-8')
      .serializer((sent: string) => sent)
      .send(text);
  }

  /** An answer as a vendor reads it: de-personalised, or as it is but for who did something. */
  async #forVendor(route: ConsoleRoute, json: string): Promise<string> {
    if (route.vendor !== 'open') return JSON.stringify(await this.#depersonalised(JSON.parse(json)));
    const value: unknown = JSON.parse(json);
    const actors = [...actorsIn(value)];
    if (actors.length === 0) return json;
    const shown = await this.#shown(actors.map((actor) => ({ created_by: actor })));
    const names = new Map(actors.map((actor, at) => [actor, shown[at]?.created_by ?? '']));
    return JSON.stringify(withActors(value, names));
  }

  async #depersonalised(value: unknown): Promise<unknown> {
    return await this.#pace.run(async () => await this.#options.depersonalisation.apply(value));
  }
}

/** Sends lines as fast as they are taken, no faster: a chunk is read when the one before is with the connection. */
async function sendLines(
  reply: FastifyReply,
  route: ConsoleRoute,
  lines: AsyncIterableIterator<string>,
  stallMillis: number,
): Promise<FastifyReply> {
  if (route.isStream !== true || route.vendor !== 'closed') {
    throw new Error(`${route.method.toUpperCase()} ${route.path} streams, which it does not state or may not.`);
  }
  const stream = Readable.from(lines, { objectMode: false, highWaterMark: 1 });
  reply.raw.setTimeout(stallMillis, () => reply.raw.destroy());
  return await reply.code(200).type('application/x-ndjson').send(stream);
}

/** @throws Refusal `two_factor_enrollment_required`, `right_missing`. */
function checkAccess(principal: Principal, access: Exclude<Access, 'public'>): void {
  if (access === 'second_factor_setup') return;
  if (principal.kind === 'person' && !principal.isFull) throw new Refusal('two_factor_enrollment_required');
  if (access !== 'signed_in' && !permits(roleOf(principal), access)) throw new Refusal('right_missing');
}

/** The answer as JSON, held to what its route states; undefined where it has no body. */
function serialise(route: ConsoleRoute, status: number, body: unknown): string | undefined {
  const shape = route.replies[status];
  const name = `${route.method.toUpperCase()} ${route.path}`;
  if (shape === undefined) throw new Error(`${name} answered ${status}, which it does not state.`);
  if (shape === null && body !== undefined)
    throw new Error(`${name} answered ${status} with a body it does not state.`);
  if (shape === null) return undefined;
  return zodSerializer({ schema: shape, method: route.method, url: route.path, httpStatus: String(status) })(body);
}

function credentialsOf(request: FastifyRequest): CredentialHeaders {
  const admin = request.headers['x-admin-token'];
  return { authorization: authorizationOf(request), xAdminToken: Array.isArray(admin) ? admin.join(',') : admin };
}

/** Whether a path below the prefix is one of a pattern, whatever its method. */
function fits(pattern: string, path: string): boolean {
  const [parts, wanted] = [path.split('/'), pattern.split('/')];
  return parts.length === wanted.length && wanted.every((part, at) => part.startsWith(':') || part === parts[at]);
}
