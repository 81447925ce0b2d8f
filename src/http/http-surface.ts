/**
 * What every Fastify listener of Parley has in common: version headers, one form of error, bounds, CORS, health.
 *
 * Whatever arrives is answered with a status of the contract and `{code, error}` (ERR-01, ERR-07), also what never
 * becomes a request: see `raw-refusal.ts`. The coordinator adds its routes to it; a listener that has none yet
 * answers `/healthz` and `path_not_found`.
 */
import type { RequestListener, Server, ServerResponse } from 'node:http';
import helmet from '@fastify/helmet';
import { FastifyOtelInstrumentation } from '@fastify/otel';
import Fastify, { type FastifyError, type FastifyInstance, type FastifyReply, type FastifyRequest } from 'fastify';
import { isSoundJson } from '#src/base/json.ts';
import { TrustedProxies } from '#src/limits/trusted-proxies.ts';
import type { Config } from '#src/config.ts';
import { HeldAnswers } from '#src/limits/held-answers.ts';
import type { Limiter } from '#src/limits/limiter.ts';
import { errorBody, Refusal, statusOf, type ErrorCode } from '#src/protocol/errors.ts';
import { BODY_BYTES_MAX } from '#src/protocol/limits.ts';
import { shownVendorToken, type ShownVendorToken } from '#src/protocol/sessions/shown-vendor-token.ts';
import type { Logger } from '#src/telemetry/logger.ts';
import { PROTOCOL_VERSION, readClientVersion, VERSION_HEADERS } from '#src/protocol/version.ts';
import { HSTS_SECONDS, type Certificate } from '#src/tls/certificate.ts';
import { addCors } from './cors.ts';
import { headerValues } from './header-values.ts';
import type { HttpTelemetry } from './http-telemetry.ts';
import { refuseOnSocket, refuseResponse } from './raw-refusal.ts';
import { makeTlsServer } from './tls-server.ts';
import { zodSerializer, zodValidator } from './zod-schemas.ts';

/** The health report in the form that the `Accept` header asks for (HLT-02). */
export type Health = (
  accept: string | undefined,
) => Promise<{ readonly headers: Readonly<Record<string, string>>; readonly body: string }>;

export interface HttpSurfaceOptions {
  readonly config: Pick<Config, 'protocolMin' | 'requestSeconds' | 'trustedProxies'>;
  /** Whose word on where a request came from is believed; those that the settings name without it. */
  readonly hosts?: Pick<TrustedProxies, 'has'>;
  /** What the listener shows over TLS; it speaks plain HTTP without one. */
  readonly certificate?: Certificate | undefined;
  readonly log: Logger;
  readonly health: Health;
  /** Whether pages of that origin may call this listener from a browser. */
  readonly allowsOrigin: (origin: string) => boolean;
  readonly telemetry?: HttpTelemetry | undefined;
  readonly limiter?: Limiter | undefined;
  /** Told of refused requests that showed a vendor token, those of the console aside: it tells of them itself. */
  readonly vendorRefused?: ((shown: ShownVendorToken) => void) | undefined;
}

/** Headers of one request together. Beyond it Node stops reading. [request_malformed] */
export const HEADER_BYTES_MAX = 16 * 1024;

/** Characters of one path parameter: the longest there is, a username, has 64. [path_not_found] */
const PARAMETER_LENGTH_MAX = 128;

/** How often Node looks for connections whose request does not come to an end. */
const SLOW_CONNECTIONS_CHECK_MILLIS = 1_000;

/** Where a credential may stand. */
const TOKEN_HEADERS = ['authorization', 'x-admin-token', 'x-node-token'];

declare module 'fastify' {
  interface FastifyRequest {
    /** The console's own, which judges vendor tokens and tells of them itself. */
    judgesVendorTokens: boolean;
  }
  interface FastifyContextConfig {
    /** Served to every client whatever it speaks: `/healthz`, and pages that a browser opens by itself. */
    anyVersion?: boolean;
  }
}

/** A listener's app with nothing but `/healthz`; not listening yet. */
export async function makeHttpSurface(options: HttpSurfaceOptions): Promise<FastifyInstance> {
  const { certificate, config } = options;
  const headers = versionHeaders(config.protocolMin);
  const proxies = options.hosts ?? new TrustedProxies(config.trustedProxies);
  const app = Fastify({
    ...(certificate === undefined ? {} : { serverFactory: overTls(certificate, config) }),
    logger: false,
    bodyLimit: BODY_BYTES_MAX,
    // Nobody is believed to speak for another address but those the operator named.
    trustProxy: (address: string) => proxies.has(address),
    // Requests that arrive while the server drains are served; new connections are not taken.
    return503OnClosing: false,
    forceCloseConnections: 'idle',
    requestTimeout: config.requestSeconds * 1000,
    handlerTimeout: config.requestSeconds * 1000,
    routerOptions: { maxParamLength: PARAMETER_LENGTH_MAX },
    http: {
      maxHeaderSize: HEADER_BYTES_MAX,
      headersTimeout: config.requestSeconds * 1000,
      connectionsCheckingInterval: SLOW_CONNECTIONS_CHECK_MILLIS,
      // Node would answer with an empty body; `refuseWithoutHost` answers with a code.
      requireHostHeader: false,
    },
    clientErrorHandler: (error, socket) => refuseOnSocket(socket, error, headers, options.telemetry),
    frameworkErrors: (error, _request, reply) => {
      void reply.headers(headers);
      answerError(options, error, reply);
    },
  });
  // Spans for whoever starts an OpenTelemetry SDK beside the server; without one they cost some 5 µs a request.
  await app.register(new FastifyOtelInstrumentation().plugin());
  app.server.on('connect', (request, socket) => {
    if (request.httpVersionMajor === 1) refuseOnSocket(socket, undefined, headers, options.telemetry);
    // Over HTTP/2 there is no bare connection to answer on: what comes here is the response.
    else refuseResponse(socket as unknown as ServerResponse, headers, options.telemetry);
  });
  app.server.on('checkExpectation', (_request, response) => refuseResponse(response, headers, options.telemetry));
  app.setValidatorCompiler(zodValidator);
  app.setSerializerCompiler(zodSerializer);
  readJsonOnly(app);
  await addHeaders(app, headers, certificate !== undefined);
  addCors(app, options.allowsOrigin);
  admit(app, options);
  tellOfVendorTokens(app, options);
  answerUnknown(app);
  const held = new HeldAnswers();
  app.setErrorHandler((error: FastifyError, _request, reply) => {
    const refusal = refusalOf(error);
    held.hold(refusal, () => answerError(options, error, reply));
  });
  app.get('/healthz', { config: { anyVersion: true } }, async (request, reply) => {
    options.limiter?.take('health_read', request.ip);
    const { headers: own, body } = await options.health(request.headers.accept);
    return await reply.headers({ ...own, vary: 'Accept, Origin' }).send(body);
  });
  return app;
}

/** A server that speaks TLS, in the place of Fastify's own, within the same bounds. */
function overTls(certificate: Certificate, { requestSeconds }: Pick<Config, 'requestSeconds'>) {
  return (handler: RequestListener): Server =>
    makeTlsServer(handler as unknown as Parameters<typeof makeTlsServer>[0], {
      certificate,
      headerBytesMax: HEADER_BYTES_MAX,
      requestMillis: requestSeconds * 1000,
      checkMillis: SLOW_CONNECTIONS_CHECK_MILLIS,
    }) as unknown as Server;
}

export function versionHeaders(protocolMin: number): Readonly<Record<string, string>> {
  return {
    [VERSION_HEADERS.service]: String(PROTOCOL_VERSION),
    [VERSION_HEADERS.serviceMin]: String(protocolMin),
    'cache-control': 'no-store',
  };
}

/** A body is JSON in UTF-8 that a later reader can trust to be sound, or it is refused. */
function readJsonOnly(app: FastifyInstance): void {
  app.removeAllContentTypeParsers();
  app.addContentTypeParser('application/json', { parseAs: 'buffer' }, parseJsonBody);
}

const UTF8 = new TextDecoder('utf-8', { fatal: true });

/** A body of JSON for Fastify; also for what has a media type of its own. @throws Refusal `body_invalid_utf8`, `body_invalid_json`. */
export function parseJsonBody(
  _request: FastifyRequest,
  bytes: Buffer,
  done: (error: Error | null, body?: unknown) => void,
): void {
  if (bytes.length === 0) return done(null, undefined);
  let text: string;
  try {
    text = UTF8.decode(bytes);
  } catch {
    return done(new Refusal('body_invalid_utf8'));
  }
  try {
    const value: unknown = JSON.parse(text);
    if (isSoundJson(value)) return done(null, value);
  } catch {
    // Not JSON: refused below, as what is JSON and not sound.
  }
  return done(new Refusal('body_invalid_json'));
}

async function addHeaders(
  app: FastifyInstance,
  headers: Readonly<Record<string, string>>,
  isSecure: boolean,
): Promise<void> {
  app.addHook('onRequest', async (_request, reply) => {
    void reply.headers(headers);
  });
  await app.register(helmet, {
    // Answers are data; the pages that there are state a policy of their own.
    contentSecurityPolicy: { useDefaults: false, directives: { defaultSrc: ["'none'"], frameAncestors: ["'none'"] } },
    // Clients on other origins are let in by CORS, one by one.
    crossOriginResourcePolicy: { policy: 'cross-origin' },
    // Where TLS ends in front of this server, only its owner knows whether the whole name has it; of other names nobody here does.
    strictTransportSecurity: isSecure ? { maxAge: HSTS_SECONDS, includeSubDomains: false } : false,
    xFrameOptions: { action: 'deny' },
  });
}

/** Refuses what is not HTTP/1.1 enough and clients below the oldest version served (VER-03). */
function admit(app: FastifyInstance, { config, telemetry }: HttpSurfaceOptions): void {
  app.addHook('onResponse', async (request, reply) => {
    telemetry?.answered(request.routeOptions.url, reply.statusCode, versionOf(request));
  });
  app.addHook('onRequest', async (request, reply) => {
    const hosts = hostsOf(request);
    if (hosts > 1 || (hosts === 0 && request.raw.httpVersion === '1.1')) {
      if (request.raw.httpVersionMajor === 1) void reply.header('connection', 'close');
      throw new Refusal('request_malformed');
    }
    if (versionOf(request) < config.protocolMin && request.routeOptions.config.anyVersion !== true) {
      throw new Refusal('client_too_old');
    }
  });
}

function tellOfVendorTokens(app: FastifyInstance, { vendorRefused }: HttpSurfaceOptions): void {
  app.decorateRequest('judgesVendorTokens', false);
  if (vendorRefused === undefined) return;
  app.addHook('onResponse', async (request, reply) => {
    if (reply.statusCode < 400 || request.judgesVendorTokens) return;
    const tokens = TOKEN_HEADERS.flatMap((name) => headerValues(request, name));
    const shown = shownVendorToken(tokens, request.url, request.ip);
    if (shown !== undefined) vendorRefused(shown);
  });
}

/** How often a request says whose it is: Node takes the first of two and says nothing (RFC 9110, section 7.2). */
function hostsOf(request: FastifyRequest): number {
  return headerValues(request, 'host').length;
}

function versionOf(request: FastifyRequest): number {
  const stated = request.headers[VERSION_HEADERS.client];
  return readClientVersion(typeof stated === 'string' ? stated : undefined);
}

/** Answers what no route takes: `method_not_found` where the path has another method, else `path_not_found`. */
function answerUnknown(app: FastifyInstance): void {
  const patterns: string[][] = [];
  app.addHook('onRoute', ({ url }) => void patterns.push(url.split('/')));
  app.setNotFoundHandler((request: FastifyRequest) => {
    const parts = (request.url.split('?', 1)[0] as string).split('/');
    const isKnown = patterns.some(
      (pattern) =>
        pattern.length === parts.length && pattern.every((part, at) => part.startsWith(':') || part === parts[at]),
    );
    throw new Refusal(isKnown ? 'method_not_found' : 'path_not_found');
  });
}

/** What Fastify calls it → what the contract calls it. */
const FASTIFY_ERRORS: Readonly<Record<string, ErrorCode>> = {
  FST_ERR_BAD_URL: 'request_malformed',
  FST_ERR_MAX_PARAM_LENGTH: 'path_not_found',
  FST_ERR_CTP_BODY_TOO_LARGE: 'body_too_large',
  FST_ERR_CTP_INVALID_CONTENT_LENGTH: 'request_malformed',
  FST_ERR_CTP_INVALID_MEDIA_TYPE: 'body_not_json',
  FST_ERR_HANDLER_TIMEOUT: 'busy',
};

/** Refusals with a status of a fault that are none: they say what to wait for, and whoever has to act knows already. */
const NO_FAULTS: ReadonlySet<ErrorCode> = new Set<ErrorCode>(['busy', 'encryption_locked']);

function answerError(options: HttpSurfaceOptions, error: Error, reply: FastifyReply): void {
  const refusal = refusalOf(error);
  options.telemetry?.refused(refusal.code);
  if (statusOf(refusal.code) >= 500 && !NO_FAULTS.has(refusal.code)) {
    const { url: route } = reply.request.routeOptions;
    options.log.error('a request failed', { error: refusal.cause ?? error, code: refusal.code, route });
  }
  if (refusal.retryAfter !== undefined) void reply.header('retry-after', String(refusal.retryAfter));
  if (statusOf(refusal.code) === 401) void reply.header('www-authenticate', 'Bearer');
  void reply
    .code(statusOf(refusal.code))
    .type('application/json; charset=utf-8')
    .serializer(JSON.stringify)
    .send(errorBody(refusal.code, refusal.field, refusal.limit, refusal.secondFactor));
}

function refusalOf(error: Error): Refusal {
  if (error instanceof Refusal) return error;
  const { code, statusCode = 500 } = error as Partial<FastifyError>;
  const known = code === undefined ? undefined : FASTIFY_ERRORS[code];
  if (known !== undefined) return new Refusal(known);
  // A body that broke off: its sender will not read this, and nothing failed here.
  if (statusCode < 500 || code === 'ECONNRESET') return new Refusal('request_malformed');
  return new Refusal('internal');
}
