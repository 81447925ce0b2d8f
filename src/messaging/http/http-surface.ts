/**
 * The HTTP surface of a shard: every route of the protocol's table bound to its handler, with the same steps before
 * each — version, session, query, body — and one form of answer for whatever goes wrong.
 */
import type { HttpRequest, HttpResponse, TemplatedApp } from 'uWebSockets.js';
import { monotonicMillis } from '#actors/runtime/monotonic.ts';
import { unixSeconds } from '#src/base/clock.ts';
import { isId } from '#src/base/ids.ts';
import { speaksTls, type Config } from '#src/config.ts';
import { TUS_EXTENSIONS, TUS_VERSION } from '#src/protocol/attachments/attachments.ts';
import { Refusal } from '#src/protocol/errors.ts';
import { BODY_BYTES_MAX } from '#src/protocol/limits.ts';
import { isCallStep, MESSAGE_KINDS, postFormOf } from '#src/protocol/conversations/messages.ts';
import { MESSAGING_ROUTES, type MessagingRoute } from '#src/protocol/routes.ts';
import { type Route } from '#src/protocol/route.ts';
import type { SessionClaims } from '#src/protocol/sessions/sessions.ts';
import { PROTOCOL_VERSION, readClientVersion, VERSION_HEADERS } from '#src/protocol/version.ts';
import type { Log } from '#src/telemetry/log.ts';
import { HSTS_SECONDS } from '#src/tls/certificate.ts';
import type { ThreadMetrics } from '#src/telemetry/thread-metrics.ts';
import { isStorageFault } from '#storage/engine/storage-fault.ts';
import { BYTE_ROUTES, registerByteRoutes, type ByteRoutesContext } from '../attachments/attachment-surface.ts';
import { bearerToken, type Authentication } from '../access/authentication.ts';
import type { VendorTokenWatch } from '../access/vendor-token-watch.ts';
import type { BotEntrance, BotRequest } from '../bots/bot-access.ts';
import type { ClientRequest, Service } from './caller.ts';
import { unambiguous } from './framing.ts';
import { Exchange, isFormType, type ExchangeOptions } from './exchange.ts';
import { parseForm, parseQuery } from './parsing.ts';
import { HeldAnswers } from '#src/limits/held-answers.ts';
import { rateOf, weightOf } from '#src/protocol/rate-limits.ts';
import { readHead, type RequestHead } from './request-head.ts';
import { HANDLERS } from './route-handlers.ts';

export interface SurfaceOptions {
  readonly service: Service;
  readonly authentication: Authentication;
  readonly vendorTokens: VendorTokenWatch;
  readonly metrics: ThreadMetrics;
  readonly log: Log;
  /** Origins whose pages may call from a browser. */
  readonly origins: ReadonlySet<string>;
  /** The health report in the form that the Accept header asks for. */
  readonly health: (accept: string) => Promise<{ headers: Readonly<Record<string, string>>; body: string }>;
}

/** Headers of attachments that a page of another origin may send, and read. */
const BYTE_HEADERS_SENT =
  'tus-resumable, upload-length, upload-offset, upload-metadata, upload-checksum, range, if-range, if-none-match';
const BYTE_HEADERS_READ =
  'location, tus-resumable, upload-length, upload-offset, content-disposition, content-range, accept-ranges, etag';

/** How often requests are looked at that take too long to arrive. */
const SLOW_REQUEST_CHECK_MILLIS = 1_000;

/** The headers of every answer (VER-02). Nothing that the service says is for a cache. */
export function answerHeaders(config: Config): [string, string][] {
  return [
    [VERSION_HEADERS.service, String(PROTOCOL_VERSION)],
    [VERSION_HEADERS.serviceMin, String(config.protocolMin)],
    ['cache-control', 'no-store'],
    ['x-content-type-options', 'nosniff'],
    ...(!speaksTls(config)
      ? []
      : [['strict-transport-security', `max-age=${HSTS_SECONDS}`] satisfies [string, string]]),
  ];
}

export class HttpSurface {
  readonly #options: SurfaceOptions;
  readonly #headers: [string, string][];
  readonly #paths: readonly { readonly pattern: RegExp; readonly path: string }[];
  /** Requests whose body is still arriving, with when they began: monotonic milliseconds. */
  readonly #arriving = new Map<Exchange, number>();
  readonly #held = new HeldAnswers();
  #inFlight = 0;
  readonly #check: NodeJS.Timeout;

  constructor(options: SurfaceOptions) {
    this.#options = options;
    this.#headers = answerHeaders(options.service.config);
    this.#paths = [...Object.values<Route>(MESSAGING_ROUTES), ...Object.values(BYTE_ROUTES)].map(({ path }) => ({
      path,
      pattern: new RegExp(`^${path.replaceAll(/:[a-z]+/g, '[^/]+')}$`),
    }));
    this.#check = setInterval(() => this.#dropSlow(), SLOW_REQUEST_CHECK_MILLIS);
    this.#check.unref();
  }

  /** Registers every route of the table, health, and an answer for everything else. */
  register(whole: TemplatedApp): void {
    const app = unambiguous(whole, (res, head) => {
      const exchange = this.#exchange(res, head, undefined);
      exchange.closeAfter();
      // A moment later: the library reads nothing behind a request without an answer, and closes where there is more.
      setImmediate(() => exchange.refuse(new Refusal('request_malformed')));
    });
    for (const [name, route] of Object.entries<Route>(MESSAGING_ROUTES)) {
      const method = route.method === 'delete' ? 'del' : route.method;
      const parameters = [...route.path.matchAll(/:([a-z]+)/g)].map((match) => match[1] as string);
      app[method](
        route.path,
        (res, req, head) => void this.#serve(name as MessagingRoute, route, readParams(parameters, req), res, head),
      );
    }
    registerByteRoutes(app, this.#options.service.attachments, this.#doorway());
    app.get('/healthz', (res, _req, head) => void this.#health(res, head));
    app.head('/healthz', (res, _req, head) => void this.#health(res, head));
    app.options('/*', (res, _req, head) => this.#preflight(res, head));
    app.any('/*', (res, _req, head) => this.#unknown(res, head));
  }

  /** What bytes share with the forms of JSON. Bots bring and take no files: none of their scopes is about them. */
  #doorway(): ByteRoutesContext {
    return {
      service: this.#options.service,
      open: (res, req, route) => this.#exchange(res, readHead(req), route),
      admit: (exchange, res, form) => {
        if (form.auth !== 'none') this.#checkVersion(exchange.head);
        const visit = this.#authenticate(exchange, res, form.path, undefined);
        if (visit !== undefined) throw this.#reject(visit);
        return form.auth === 'none' ? '' : this.#person(exchange.head, form, res).user;
      },
      fail: (exchange, error, route) => this.#fail(exchange, error, route),
      count: (by) => {
        this.#inFlight += by;
      },
    };
  }

  /** A bot where there is nothing for bots; written down all the same. */
  #reject(visit: BotRequest): Refusal {
    let refusal = new Refusal('right_missing');
    try {
      visit.admit();
    } catch (error) {
      if (error instanceof Refusal) refusal = error;
    }
    visit.refuse(refusal.code);
    return refusal;
  }

  /** Requests that are not answered yet. */
  get inFlight(): number {
    return this.#inFlight;
  }

  stop(): void {
    clearInterval(this.#check);
  }

  async #serve(
    name: MessagingRoute,
    route: Route,
    params: Record<string, string> | undefined,
    res: HttpResponse,
    head: RequestHead,
  ): Promise<void> {
    const began = performance.now();
    const exchange = this.#exchange(res, head, name);
    this.#inFlight += 1;
    let visit: BotRequest | undefined;
    try {
      visit =
        name === 'postWebhook'
          ? this.#knockWebhook(exchange, res, params?.['token'])
          : this.#authenticate(exchange, res, route.path, params?.['id']);
      visit?.admit();
      // What calls a webhook is seldom a client, and never says its version.
      if (route.auth !== 'none') this.#checkVersion(exchange.head);
      const session = visit === undefined ? this.#person(exchange.head, route, res) : undefined;
      const caller = visit?.bot ?? (session as NonNullable<typeof session>);
      visit?.checkRoute(name, params?.['id']);
      const request = await this.#readCall(exchange, route, params, {
        user: caller.user,
        device: caller.device,
        session,
        reach: visit?.bot.conversations,
      });
      this.#weigh(exchange, route, visit, caller.user);
      // Whoever passes a message on has read it.
      if (name === 'postMessage' && 'forward' in (request.body as object)) visit?.checkRoute('readMessage', undefined);
      const reply = await HANDLERS[name](request);
      visit?.settle(reply.status);
      if (name === 'postMessage') this.#options.metrics.postAcked((performance.now() - began) * 1e6);
      exchange.send(reply.status, reply.json);
    } catch (error) {
      visit?.refuse(error instanceof Refusal ? error.code : 'internal');
      this.#fail(exchange, error as Error, name);
    } finally {
      this.#inFlight -= 1;
    }
  }

  /** @throws Refusal `client_too_old`. */
  #checkVersion(head: RequestHead): void {
    const { config } = this.#options.service;
    if (readClientVersion(head.clientVersion) < config.protocolMin) throw new Refusal('client_too_old');
  }

  /** What the caller asks for: path, query and body. @throws Refusal. */
  async #readCall(
    exchange: Exchange,
    route: Route,
    params: Record<string, string> | undefined,
    caller: Pick<ClientRequest, 'user' | 'device' | 'session' | 'reach'>,
  ): Promise<ClientRequest> {
    const { service } = this.#options;
    const { head } = exchange;
    if (params === undefined) throw new Refusal('path_not_found');
    const query = route.query === undefined ? undefined : parseQuery(route.query, head.query);
    if (route.query === undefined && head.query !== '') parseNoQuery(head.query);
    const body = route.body === undefined ? undefined : await this.#readForm(exchange, route);
    if (isId('c', params['id'] ?? '')) service.lanes.requireReadable(params['id'] as string);
    return { service, ...caller, params, query, body, cancellation: exchange.cancellation };
  }

  /** Whose session it is, if they have not asked too often. @throws Refusal as `authenticate` does, `rate_limited`. */
  #person(
    head: RequestHead,
    route: Parameters<typeof rateOf>[0],
    res: HttpResponse,
  ): { readonly user: string; readonly device: string; readonly sid: string; readonly until: number } {
    const { service, authentication } = this.#options;
    let claims: SessionClaims;
    try {
      claims = authentication.authenticate(bearerToken(head.authorization), unixSeconds(service.now()));
    } catch (error) {
      service.rates.take('refused', service.addresses.of(res, head));
      throw error;
    }
    service.rates.take(rateOf(route), claims.sub);
    return { user: claims.sub, device: claims.dev, sid: claims.sid, until: claims.rnw };
  }

  /** Counts a long form for more than one request. @throws Refusal `rate_limited`. */
  #weigh(
    { bodyBytes }: Exchange,
    route: Parameters<typeof rateOf>[0],
    visit: BotRequest | undefined,
    user: string,
  ): void {
    const more = weightOf(bodyBytes) - 1;
    if (more === 0) return;
    if (visit === undefined) this.#options.service.rates.takeMore(rateOf(route), user, more);
    else visit.weigh(more);
  }

  /** The visit of a bot; undefined for whoever else it is. @throws Refusal `token_invalid`. */
  #authenticate(
    { head }: Exchange,
    res: HttpResponse,
    route: string,
    conversation: string | undefined,
  ): BotRequest | undefined {
    const entrance = () => this.#entrance(head, res, route, conversation);
    return this.#options.service.bots.authenticate(bearerToken(head.authorization), entrance);
  }

  /** The visit of whoever has a webhook's URL. @throws Refusal `webhook_not_found`, `rate_limited`. */
  #knockWebhook({ head }: Exchange, res: HttpResponse, token: string | undefined): BotRequest {
    const { addresses, bots, rates } = this.#options.service;
    try {
      const { path } = MESSAGING_ROUTES.postWebhook;
      return bots.knockWebhook(token, () => this.#entrance(head, res, path, undefined));
    } catch (error) {
      rates.take('refused', addresses.of(res, head));
      throw error;
    }
  }

  #entrance(head: RequestHead, res: HttpResponse, route: string, conversation: string | undefined): BotEntrance {
    return {
      event: 'bot.request',
      method: head.method.toUpperCase(),
      route,
      address: this.#options.service.addresses.of(res, head),
      conversation,
    };
  }

  async #readForm(exchange: Exchange, route: Route): Promise<unknown> {
    this.#arriving.set(exchange, monotonicMillis());
    let value: unknown;
    try {
      const { formBytesMax = BODY_BYTES_MAX, formField } = route;
      value =
        formField !== undefined && isFormType(exchange.head.contentType)
          ? await exchange.readFormJson(formField, formBytesMax)
          : await exchange.readJson(route.bodyBytesMax ?? BODY_BYTES_MAX);
    } finally {
      this.#arriving.delete(exchange);
    }
    if (route === MESSAGING_ROUTES.postSignal) return value;
    refuseOldForms(route, value);
    if (route === MESSAGING_ROUTES.postMessage) return parseForm(postFormOf(value), value);
    return route.body === undefined ? value : parseForm(route.body, value);
  }

  async #health(res: HttpResponse, head: RequestHead): Promise<void> {
    const exchange = this.#exchange(res, head, 'healthz');
    const { addresses, rates } = this.#options.service;
    try {
      rates.take('health_read', addresses.of(res, exchange.head));
      const { headers, body } = await this.#options.health(exchange.head.accept);
      // Every answer says that it is for no cache; it must not say so twice.
      const { 'cache-control': _every, ...rest } = headers;
      exchange.sendText(200, body, rest);
    } catch (error) {
      this.#fail(exchange, error as Error, 'healthz');
    }
  }

  /** A browser asks before it sends what a form could not (CORS). */
  #preflight(res: HttpResponse, head: RequestHead): void {
    const exchange = this.#exchange(res, head, 'preflight');
    exchange.send(204, '', [
      ['access-control-allow-methods', 'GET, HEAD, POST, PUT, PATCH, DELETE'],
      ['access-control-allow-headers', `authorization, content-type, ${VERSION_HEADERS.client}, ${BYTE_HEADERS_SENT}`],
      ['access-control-max-age', '600'],
      ['tus-version', TUS_VERSION],
      ['tus-extension', TUS_EXTENSIONS],
      ['tus-max-size', String(this.#options.service.config.attachmentBytesMax)],
      ['tus-checksum-algorithm', 'sha256'],
    ]);
  }

  #unknown(res: HttpResponse, head: RequestHead): void {
    const exchange = this.#exchange(res, head, undefined);
    const known = head.path === '/healthz' || head.path === '/v1/ws';
    const code =
      known || this.#paths.some(({ pattern }) => pattern.test(head.path)) ? 'method_not_found' : 'path_not_found';
    const refusal = this.#judgeUnknown(exchange, res, code);
    exchange.refuse(refusal);
  }

  /** A bot that asks for what is not there has asked all the same, and is written down. */
  #judgeUnknown(exchange: Exchange, res: HttpResponse, code: 'method_not_found' | 'path_not_found'): Refusal {
    let visit: BotRequest | undefined;
    let refusal = new Refusal(code);
    try {
      visit = this.#authenticate(exchange, res, '', undefined);
      visit?.admit();
    } catch (error) {
      // A token that is nobody's does not make a path be there.
      if (error instanceof Refusal && visit !== undefined) refusal = error;
    }
    visit?.refuse(refusal.code);
    return refusal;
  }

  #exchange(res: HttpResponse, head: RequestHead, route: string | undefined): Exchange {
    const { metrics, service, vendorTokens } = this.#options;
    const version = readClientVersion(head.clientVersion);
    // The library tells the address only now.
    const shown = vendorTokens.look(head, () => service.addresses.of(res, head));
    const options: ExchangeOptions = {
      headers: this.#options.origins.has(head.origin) ? [...this.#headers, ...corsHeaders(head.origin)] : this.#headers,
      onAnswer: (status, code) => {
        metrics.countRequest('messaging', route, status, version);
        vendorTokens.answered(shown, status);
        if (code !== undefined) metrics.countRefusal(code, 'messaging');
      },
    };
    return new Exchange(res, head, options);
  }

  #fail(exchange: Exchange, error: Error, route: string): void {
    const isDamage = isStorageFault(error);
    if (error instanceof Refusal && !isDamage) return this.#held.hold(error, () => exchange.refuse(error));
    if (isDamage) this.#options.metrics.storageFault();
    // A refusal says what its caller may read; its cause says what is wrong.
    const told = error instanceof Refusal ? (error.cause as Error) : error;
    this.#options.log.error(isDamage ? 'what is stored cannot be read' : 'a request failed', { route, error: told });
    return exchange.refuse(new Refusal(isDamage ? 'storage_damaged' : 'internal'));
  }

  #dropSlow(): void {
    const latest = monotonicMillis() - this.#options.service.config.requestSeconds * 1000;
    for (const [exchange, began] of this.#arriving) if (began < latest) exchange.drop();
  }
}

/** The path's parameters, decoded, or undefined when one is not valid percent-encoding. */
function readParams(names: readonly string[], req: HttpRequest): Record<string, string> | undefined {
  const params: Record<string, string> = {};
  try {
    for (const [index, name] of names.entries()) params[name] = decodeURIComponent(req.getParameter(index) ?? '');
  } catch {
    return undefined;
  }
  return params;
}

/** @throws Refusal query_invalid: a parameter that a route does not have would be ignored, so it is refused. */
function parseNoQuery(query: string): void {
  const [first] = new URLSearchParams(query).keys();
  if (first !== undefined) throw new Refusal('query_invalid', { field: first });
}

/** Old and forbidden forms of a message have codes of their own, told before the form as such is judged. */
function refuseOldForms(route: Route, value: unknown): void {
  if (route === MESSAGING_ROUTES.postMessage || route === MESSAGING_ROUTES.editMessage) {
    if (isCallStep(value)) throw new Refusal('call_step_is_signalling');
  }
  if (route !== MESSAGING_ROUTES.postMessage || typeof value !== 'object' || value === null) return;
  const { kind, body } = value as { kind?: unknown; body?: unknown };
  if (kind !== undefined && !MESSAGE_KINDS.some((known) => known === kind)) {
    throw new Refusal('message_kind_unknown', { field: 'kind' });
  }
  const isOutcome = typeof body === 'object' && body !== null && 'outcome' in body;
  if (kind === 'system' && !isOutcome) throw new Refusal('system_kind_forbidden');
}

function corsHeaders(origin: string): [string, string][] {
  return [
    ['access-control-allow-origin', origin],
    [
      'access-control-expose-headers',
      `${VERSION_HEADERS.service}, ${VERSION_HEADERS.serviceMin}, retry-after, ${BYTE_HEADERS_READ}`,
    ],
    ['vary', 'origin'],
  ];
}
