/** Serves the browser console: static files with a strict policy, each known by a hash of its bytes. */
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { matchesTag } from '#src/http/client-routes.ts';
import { readWebFiles, WEB_PREFIX, type WebFile } from './web-files.ts';

/**
 * The console runs its own modules and its own style and calls this server; an image may be data, which the QR code of
 * a second factor is. Nothing is made of markup in text: the browser refuses that too.
 */
export const WEB_POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "connect-src 'self'",
  "img-src 'self' data:",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
  "require-trusted-types-for 'script'",
  "trusted-types 'none'",
].join('; ');

/** Where the page is besides: as it is typed by hand, and where the identity provider sends people back to. */
const OTHER_PAGE_PATHS = [WEB_PREFIX.slice(0, -1), `${WEB_PREFIX}signed-in`];

/** Adds the console's files to the coordinator's app. @throws Error when a module is none for a browser. */
export function addConsoleWeb(app: FastifyInstance): void {
  for (const file of readWebFiles()) {
    // A browser opens a page without saying which protocol it speaks.
    const options = { config: { anyVersion: true }, exposeHeadRoute: true };
    const send = async (request: FastifyRequest, reply: FastifyReply) => await sendFile(file, request, reply);
    app.get(file.path, options, send);
    if (file.path !== WEB_PREFIX) continue;
    for (const path of OTHER_PAGE_PATHS) app.get(path, options, send);
  }
}

async function sendFile(file: WebFile, request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> {
  const { body, etag } = file.content();
  void reply.headers({
    'content-security-policy': WEB_POLICY,
    // Asked about at every load and answered with 304: an upgraded server is never met with an old console.
    'cache-control': 'no-cache',
    etag,
  });
  if (matchesTag(request.headers['if-none-match'], etag)) return await reply.code(304).send();
  return await reply.type(file.type).send(body);
}
