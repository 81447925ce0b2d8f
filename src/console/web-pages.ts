/** Serves the browser console that the build made of `src/web/console`; where there is no build, a plain page that says so. */
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { BuiltSite } from '#src/http/built-site.ts';
import { readWebPage } from '#src/http/web-page.ts';
import { PROTOCOL_VERSION } from '#src/protocol/version.ts';
import { CONSOLE_PREFIX } from './route-table.ts';

/** Where the console is, and its files below it. */
const WEB_PREFIX = '/console/';
/** Where the page is besides: as it is typed by hand, and where the identity provider sends people back to. */
const PAGE_PATHS = [WEB_PREFIX, WEB_PREFIX.slice(0, -1), `${WEB_PREFIX}signed-in`];

/**
 * The console runs the scripts of its build, known by the nonce, and calls this server; an image may be data, which the
 * QR code of a second factor is. The one policy of trusted types lets styles through, and no markup.
 */
function policyOf(nonce: string): string {
  return [
    "default-src 'none'",
    `script-src 'nonce-${nonce}' 'strict-dynamic'`,
    `style-src 'self' 'nonce-${nonce}'`,
    "connect-src 'self'",
    "img-src 'self' data:",
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
    "require-trusted-types-for 'script'",
    'trusted-types default',
  ].join('; ');
}

/** Adds the console's page and its files to the coordinator's app, or the page that says that it was not built. */
export function addConsoleWeb(app: FastifyInstance, site: BuiltSite | undefined): void {
  site?.addAssets(app, WEB_PREFIX);
  const send = site === undefined ? sendUnbuilt() : sendPage(site);
  // A browser opens a page without saying which protocol it speaks.
  for (const path of PAGE_PATHS) app.get(path, { config: { anyVersion: true }, exposeHeadRoute: true }, send);
}

type Send = (request: FastifyRequest, reply: FastifyReply) => Promise<FastifyReply>;

function sendPage(site: BuiltSite): Send {
  return async (_, reply) => {
    const { html, nonce } = site.page({ api: CONSOLE_PREFIX, protocol: String(PROTOCOL_VERSION) });
    return await reply
      .headers({ 'content-security-policy': policyOf(nonce) })
      .type('text/html; charset=utf-8')
      .send(html);
  };
}

/** The API answers all the same: whoever looks for the console learns how it comes. */
function sendUnbuilt(): Send {
  const { html, policy } = readWebPage('no-console');
  return async (_, reply) =>
    await reply.headers({ 'content-security-policy': policy }).type('text/html; charset=utf-8').send(html);
}
