/** The door by which people take their own data with them. */
import { Readable } from 'node:stream';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { bearerOf, NO_QUERY } from '#src/http/client-routes.ts';
import { FilePlaces } from '#src/http/file-places.ts';
import type { Limiter } from '#src/limits/limiter.ts';
import { OWN_DATA_ROUTES } from '#src/protocol/account/own-data-routes.ts';
import { OWN_EXPORT_MILLIS, OWN_EXPORTS_MAX } from '#src/protocol/limits.ts';
import type { SessionClaims } from '#src/protocol/sessions/sessions.ts';
import type { OwnData } from './own-data.ts';

/** Exports of one person at once. [rate_limited] */
const EXPORTS_OF_PERSON_MAX = 1;

export interface OwnDataRouteOptions {
  readonly ownData: Pick<OwnData, 'start'>;
  readonly limiter: Limiter;
  /** The claims of a client's session. @throws Refusal when the token is none. */
  readonly session: (token: string | undefined) => SessionClaims;
}

/** Adds the door to the coordinator's app. */
export function addOwnDataRoute(app: FastifyInstance, { limiter, ownData, session }: OwnDataRouteOptions): void {
  const places = new FilePlaces(OWN_EXPORTS_MAX);
  const callers = new WeakMap<FastifyRequest, SessionClaims>();
  const { path } = OWN_DATA_ROUTES.exportOwnData;
  app.route({
    method: 'GET',
    url: path,
    exposeHeadRoute: false,
    handlerTimeout: OWN_EXPORT_MILLIS,
    schema: { querystring: NO_QUERY },
    onRequest: async (request, reply) => {
      const claims = session(bearerOf(request));
      // Each is an entry of the trail.
      limiter.take('route_write', `exportOwnData ${claims.sub}`);
      places.take([{ name: claims.sub, most: EXPORTS_OF_PERSON_MAX }], request, reply);
      callers.set(request, claims);
    },
    handler: async (request, reply) => {
      const claims = callers.get(request) as SessionClaims;
      const lines = Readable.from(await ownData.start(claims, request.ip), { objectMode: false, highWaterMark: 1 });
      // A reader that takes a little all day holds a place of others.
      const timer = setTimeout(() => reply.raw.destroy(), OWN_EXPORT_MILLIS);
      reply.raw.once('close', () => {
        clearTimeout(timer);
        lines.destroy();
      });
      void reply.headers({
        'cache-control': 'no-store',
        'content-disposition': `attachment; filename="parley-${claims.sub}.ndjson"`,
      });
      return await reply.type('application/x-ndjson').send(lines);
    },
  });
}
