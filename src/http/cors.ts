/** Which pages may call the services from a browser: those of the coordinator and those the configuration names. */
import type { FastifyInstance } from 'fastify';
import type { Config, TlsConfig } from '#src/config.ts';
import { Refusal } from '#src/protocol/errors.ts';
import { VERSION_HEADERS } from '#src/protocol/version.ts';
import { reachableHost, schemeOf } from './listening-address.ts';

/** How long a browser may remember a preflight, in seconds. */
const PREFLIGHT_SECONDS = 600;

const LOOPBACK_HOSTS: readonly string[] = ['127.0.0.1', '[::1]', 'localhost'];

const METHODS = 'GET, POST, PUT, PATCH, DELETE';
const REQUEST_HEADERS = ['authorization', 'content-type', 'if-none-match', VERSION_HEADERS.client].join(', ');
const RESPONSE_HEADERS = [VERSION_HEADERS.service, VERSION_HEADERS.serviceMin, 'retry-after', 'etag'].join(', ');

/** The origins whose pages may call: the configured ones, and the coordinator's own on the port that it has. */
export function originsOf(
  config: Pick<Config, 'allowedOrigins' | 'coordinatorUrl' | 'host'> & TlsConfig,
  coordinatorPort: number,
): ReadonlySet<string> {
  const named = config.allowedOrigins.split(',').map((origin) => origin.trim().replace(/\/+$/, ''));
  const origins = new Set(named.filter((origin) => origin !== ''));
  if (config.coordinatorUrl !== undefined) origins.add(new URL(config.coordinatorUrl).origin);
  const own = reachableHost(config);
  // A browser on this machine may call it by any of these names.
  const hosts = LOOPBACK_HOSTS.includes(own) ? LOOPBACK_HOSTS : [own];
  for (const host of hosts) origins.add(`${schemeOf(config)}://${host}:${coordinatorPort}`);
  return origins;
}

/**
 * Answers preflights, and names the origin in the answers that it may read. A request from another origin is served
 * without those headers, so its page can't read the answer. The one cookie that it could ride on is taken from pages of the
 * coordinator's own origin alone, and never by CORS (`server/session-cookies.ts`).
 */
export function addCors(app: FastifyInstance, allowsOrigin: (origin: string) => boolean): void {
  app.addHook('onRequest', async (request, reply) => {
    void reply.header('vary', 'Origin');
    const { origin } = request.headers;
    if (origin === undefined) return;
    const isAllowed = allowsOrigin(origin);
    if (isAllowed) {
      void reply.headers({ 'access-control-allow-origin': origin, 'access-control-expose-headers': RESPONSE_HEADERS });
    }
    // A preflight carries no version header, so it is answered here, before the version is judged.
    if (request.method !== 'OPTIONS' || request.headers['access-control-request-method'] === undefined) return;
    if (!isAllowed) throw new Refusal('origin_forbidden');
    void reply.headers({
      'access-control-allow-methods': METHODS,
      'access-control-allow-headers': REQUEST_HEADERS,
      'access-control-max-age': String(PREFLIGHT_SECONDS),
    });
    await reply.code(204).send();
  });
}
