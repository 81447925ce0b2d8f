/**
 * The DAV door on the calendar listener: `/dav/…`, the paths where clients look for it, and the redirect of RFC 6764.
 * Its clients never state a version, so they are served whatever the oldest one is (they count as version 0), and its
 * refusals are XML with the statuses of DAV.
 */
import { Readable } from 'node:stream';
import { promisify } from 'node:util';
import { constants, createGzip, gzip } from 'node:zlib';
import type { FastifyError, FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { authorizationOf } from '#src/http/client-routes.ts';
import { HeldAnswers } from '#src/limits/held-answers.ts';
import { Refusal } from '#src/protocol/errors.ts';
import { makeCalendar, makeCollection } from './collections.ts';
import { ALLOWED, COMPLIANCE, METHODS, REFUSED_METHODS } from './compliance.ts';
import { copy, hostOf, move } from './copying.ts';
import { DavRefusal, errorXml, notFound } from './dav-refusal.ts';
import type { DavCaller, DavContext } from './dav-context.ts';
import type { DavAnswer, DavRequest } from './exchange.ts';
import { get, put, remove } from './objects.ts';
import { calendarHref, DAV_ROOT, readPath, WALKED_PATHS, type DavPath } from './paths.ts';
import { post } from './posting.ts';
import { propfind } from './properties/propfind.ts';
import { proppatch } from './properties/proppatch.ts';
import { davRefusalOf } from './refusals.ts';
import { report } from './reports/report.ts';
import { inflateBody, MULTIGET_BYTES_MAX } from './request-body.ts';
import { headerOf, takesGzip } from './request-preferences.ts';

type Method = (typeof METHODS)[number];
type Handler = (request: DavRequest) => DavAnswer | Promise<DavAnswer>;

const HANDLERS: Readonly<Record<Exclude<Method, 'OPTIONS'>, Handler>> = {
  GET: get,
  HEAD: get,
  PUT: put,
  DELETE: remove,
  PROPFIND: propfind,
  PROPPATCH: proppatch,
  REPORT: report,
  MKCALENDAR: makeCalendar,
  MKCOL: makeCollection,
  COPY: copy,
  MOVE: move,
  POST: post,
};

/** On the paths outside `/dav/` that only clients of Apple walk. */
const WALKED_METHODS = ['PROPFIND', 'REPORT', 'OPTIONS'] as const;
const WITH_BODY = ['PROPFIND', 'PROPPATCH', 'REPORT', 'MKCALENDAR', 'MKCOL', 'MOVE', 'COPY', 'LOCK', 'ACL'];

/** Answers shorter than this gain nothing from being compressed. */
const GZIP_FROM_LENGTH = 2_048;
const gzipped = promisify(gzip);

/** Adds the door to a listener that is not listening yet. */
export async function addDavRoutes(app: FastifyInstance, context: DavContext): Promise<void> {
  await app.register(async (dav) => {
    for (const method of WITH_BODY) dav.addHttpMethod(method, { hasBody: true });
    dav.addHttpMethod('UNLOCK');
    dav.removeAllContentTypeParsers();
    dav.addContentTypeParser('*', { parseAs: 'buffer', bodyLimit: MULTIGET_BYTES_MAX }, (_request, bytes, done) => {
      done(null, bytes);
    });
    const held = new HeldAnswers();
    dav.setErrorHandler((error: FastifyError | Refusal, request, reply) =>
      held.hold(error instanceof Refusal ? error : { isHeld: false }, () =>
        answerError(context, error, request, reply),
      ),
    );
    const callers = new WeakMap<FastifyRequest, DavCaller>();
    const config = { anyVersion: true };
    // Who asks is settled before a byte of the body is read.
    const onRequest = async (request: FastifyRequest) => {
      // calcurse says its header's name once more inside it, and the framework would refuse that before anybody looks.
      const type = request.raw.headers['content-type'];
      if (type !== undefined && !MEDIA_TYPE.test(type)) request.raw.headers['content-type'] = UNKNOWN_TYPE;
      if (request.method === 'OPTIONS') return;
      const caller = await context.authenticate(authorizationOf(request), request.ip);
      await context.pace(caller.user, request.method);
      callers.set(request, caller);
    };
    const handler = async (request: FastifyRequest, reply: FastifyReply) => {
      if (request.method === 'OPTIONS') return await reply.headers(CAPABILITIES).send();
      return await answer(context, callers.get(request) as DavCaller, request, reply);
    };
    const method = [...METHODS, ...REFUSED_METHODS];
    for (const url of ['/dav', '/dav/*']) dav.route({ method, url, config, onRequest, handler });
    for (const url of WALKED_PATHS) dav.route({ method: [...WALKED_METHODS], url, config, onRequest, handler });
    // Where clients of Apple look last: they ask until they get an answer, and this one is quick.
    dav.route({
      method: [...WALKED_METHODS],
      url: '/calendar/dav/*',
      config,
      handler: async () => {
        throw notFound();
      },
    });
    dav.route({
      method,
      url: '/.well-known/caldav',
      config,
      // Permanent, and without a change of the method, which clients of every kind follow with PROPFIND.
      handler: async (_request, reply) => await reply.redirect(DAV_ROOT, 308),
    });
  });
}

const MEDIA_TYPE = /^\s*[\w!#$&^.+-]+\/[\w!#$&^.+-]+\s*(?:;|$)/;
const UNKNOWN_TYPE = 'application/octet-stream';

const CAPABILITIES = { dav: COMPLIANCE, allow: ALLOWED };

async function answer(
  context: DavContext,
  { appPassword, user: viewer }: DavCaller,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<FastifyReply> {
  const { headers, method } = request;
  const handle = Object.hasOwn(HANDLERS, method) ? HANDLERS[method as keyof typeof HANDLERS] : undefined;
  if (handle === undefined)
    throw new DavRefusal(405, 'This method is not answered here.', { headers: { allow: ALLOWED } });
  const sent = request.body instanceof Buffer ? request.body : Buffer.alloc(0);
  const body = await inflateBody(sent, headerOf(headers, 'content-encoding'), MULTIGET_BYTES_MAX);
  const { url } = request.raw;
  const answered = await handle({
    ...{ context, viewer, appPassword, method, headers, body },
    address: request.ip,
    hosts: hostsOf(context, request),
    origin: originOf(context, request),
    path: readPath(url ?? ''),
  });
  return await send(context, answered, request, reply);
}

function originOf({ publicUrl }: DavContext, { host, protocol }: FastifyRequest): string {
  return publicUrl === undefined ? `${protocol}://${host}` : new URL(publicUrl).origin;
}

function hostsOf({ publicUrl }: DavContext, { host }: FastifyRequest): string[] {
  return [host, ...(publicUrl === undefined ? [] : [new URL(publicUrl).host])].map(hostOf);
}

async function send(
  context: DavContext,
  { status, headers = {}, body }: DavAnswer,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<FastifyReply> {
  void reply.code(status).headers({ ...headers, dav: COMPLIANCE });
  if (body === undefined) return await reply.send();
  const isCompressed = takesGzip(request.headers);
  if (typeof body === 'string' || Buffer.isBuffer(body)) {
    // An object goes out as it is, for its etag is that of these very bytes.
    if (!isCompressed || headers['etag'] !== undefined || body.length < GZIP_FROM_LENGTH) return await reply.send(body);
    return await reply.header('content-encoding', 'gzip').send(await gzipped(body, { level: 1 }));
  }
  const source = Readable.from(watched(context, body));
  if (!isCompressed) return await reply.send(source);
  // Flushed by the chunk, so that the first rows are on their way at once.
  const zipped = createGzip({ level: 1, flush: constants.Z_SYNC_FLUSH });
  source.on('error', (error) => zipped.destroy(error));
  zipped.on('close', () => source.destroy());
  return await reply.header('content-encoding', 'gzip').send(source.pipe(zipped));
}

/** The chunks of a streamed answer; a fault in the middle of it ends the connection, and must not go unseen. */
async function* watched(context: DavContext, chunks: AsyncIterable<string>): AsyncGenerator<string> {
  try {
    yield* chunks;
  } catch (error) {
    context.log.error('a DAV answer broke off', { error });
    throw error;
  }
}

function answerError(context: DavContext, error: FastifyError, request: FastifyRequest, reply: FastifyReply): void {
  const refusal = davRefusalOf(error, collectionOf(request)) ?? unexpected(context, error, request);
  void reply
    .code(refusal.status)
    .headers({ ...refusal.headers, dav: COMPLIANCE })
    .type('application/xml; charset=utf-8')
    .send(errorXml(refusal));
}

/** What Fastify refuses by itself, and faults. */
function unexpected(context: DavContext, error: FastifyError, request: FastifyRequest): DavRefusal {
  if (error.code === 'FST_ERR_CTP_BODY_TOO_LARGE') {
    return new DavRefusal(413, `The body may have ${MULTIGET_BYTES_MAX} bytes.`);
  }
  if (error.code === 'FST_ERR_HANDLER_TIMEOUT') {
    return new DavRefusal(503, 'The server is busy.', { headers: { 'retry-after': '1' } });
  }
  // A body that broke off: its sender will not read this, and nothing failed here.
  if ((error.statusCode ?? 500) < 500 || error.code === 'ECONNRESET') {
    return new DavRefusal(400, 'The request could not be read.');
  }
  context.log.error('a DAV request failed', { error, method: request.method });
  return new DavRefusal(500, 'The server failed; the fault was noted.');
}

/** The calendar that a request is about; where something is copied or moved to is another one, and conflicts name it. */
function collectionOf(request: FastifyRequest): string {
  const isTransfer = request.method === 'COPY' || request.method === 'MOVE';
  const destination = isTransfer ? headerOf(request.headers, 'destination') : undefined;
  let path: DavPath | undefined;
  try {
    path = readPath(destination?.replace(/^https?:\/\/[^/]*/i, '') ?? request.raw.url ?? '');
  } catch {
    return DAV_ROOT;
  }
  return path?.kind === 'object' ? calendarHref(path.user, path.calendar) : DAV_ROOT;
}
