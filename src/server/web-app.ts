/**
 * Serves the app for people at the coordinator's own address: the page, and the files that the build made of `src/web`.
 * Where there is no build, as after `npm ci --omit=dev`, a plain page says what this is and what to do.
 */
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { BuiltSite } from '#src/http/built-site.ts';
import { takesPages } from '#src/http/web-page.ts';
import { Refusal } from '#src/protocol/errors.ts';
import { addFrontPage } from './front-page.ts';

/** Files beside the page, under names that stay: asked for anew each day, and the worker, which says what the app is, each time. */
const ROOT_FILES: Readonly<Record<string, { readonly type: string; readonly cache: string }>> = {
  'app.webmanifest': { type: 'application/manifest+json; charset=utf-8', cache: 'no-cache' },
  'icon-192.png': { type: 'image/png', cache: 'public, max-age=86400' },
  'icon-512.png': { type: 'image/png', cache: 'public, max-age=86400' },
  'icon-maskable-512.png': { type: 'image/png', cache: 'public, max-age=86400' },
  'worker.js': { type: 'text/javascript; charset=utf-8', cache: 'no-cache' },
};
export interface WebAppOptions {
  /** The public base URL of the messaging service where one is set, and where it listens otherwise. */
  readonly messaging: ServiceAddress;
  /** That of the calendar service, in the same way. */
  readonly calendar: ServiceAddress;
}

interface ServiceAddress {
  readonly named: string | undefined;
  readonly listening: () => string;
}

/** Adds the app, or the plain page where it was not built. */
export function addWebApp(app: FastifyInstance, options: WebAppOptions): void {
  const site = BuiltSite.read('web');
  if (site === undefined) return addFrontPage(app);
  site.addAssets(app, '/');
  addRootFiles(app, site, options);
  app.get('/', { config: { anyVersion: true } }, async (request, reply) => {
    void reply.header('vary', 'Accept, Origin');
    if (!takesPages(request.headers.accept)) throw new Refusal('path_not_found');
    const messaging = addressFor(request, options.messaging);
    const calendar = addressFor(request, options.calendar);
    const { html, nonce } = site.page({ messaging, calendar });
    return await reply
      .headers({
        'content-security-policy': policyOf(nonce, messaging, calendar),
        'permissions-policy': PERMISSIONS,
        'x-robots-tag': 'noindex, nofollow, noarchive',
      })
      .type('text/html; charset=utf-8')
      .send(html);
  });
}

/** What of the device the page itself may ask the person for, in calls, and nothing that is framed in it or anything else. */
const PERMISSIONS = 'camera=(self), microphone=(self), display-capture=(self), geolocation=(), payment=(), usb=()';

/** What the page may load and whom it may call: the files of the build by the nonce, the three services, pictures that it made. */
function policyOf(nonce: string, messaging: string, calendar: string): string {
  const called = [`'self'`, messaging, messaging.replace(/^http/, 'ws'), calendar].join(' ');
  return [
    "default-src 'none'",
    `script-src 'nonce-${nonce}' 'strict-dynamic'`,
    // Sizes of rows and places of menus are set by script, element by element, which is no style attribute.
    `style-src 'self' 'nonce-${nonce}'`,
    `connect-src ${called}`,
    // Its own ones are the icons of the installed app.
    "img-src 'self' blob: data:",
    // Sounds and films come piece by piece, by links that are good for minutes and one file.
    `media-src blob: ${messaging}`,
    "manifest-src 'self'",
    "worker-src 'self'",
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
    "require-trusted-types-for 'script'",
    'trusted-types default',
  ].join('; ');
}

/** What the service worker may, which makes no markup: call the two services that it asks, and show the app's own picture with what it tells of. It comes with the worker itself. */
function workerPolicyOf(messaging: string): string {
  return [
    "default-src 'none'",
    "img-src 'self'",
    `connect-src 'self' ${messaging}`,
    "require-trusted-types-for 'script'",
    "trusted-types 'none'",
  ].join('; ');
}

/**
 * Where the page finds another service. Without a public URL it is the host that the browser asked, on the port where
 * the service listens: `localhost` and `127.0.0.1` are two hosts to a browser.
 */
function addressFor(request: FastifyRequest, { named, listening }: ServiceAddress): string {
  const url = new URL(named ?? listening());
  const host = /^(?:[\w.-]+|\[[\da-f:.]+\])(?=:\d+$|$)/i.exec(request.headers.host ?? '')?.[0];
  if (named === undefined && host !== undefined) url.hostname = host;
  return url.href.replace(/\/+$/, '');
}

function addRootFiles(app: FastifyInstance, site: BuiltSite, { messaging }: WebAppOptions): void {
  for (const [name, { cache, type }] of Object.entries(ROOT_FILES)) {
    const bytes = site.file(name);
    app.get(`/${name}`, { config: { anyVersion: true }, exposeHeadRoute: true }, async (request, reply) => {
      void reply.headers({ 'cache-control': cache, vary: 'Origin' }).type(type);
      if (name === 'worker.js') {
        void reply.header('content-security-policy', workerPolicyOf(addressFor(request, messaging)));
      }
      return await reply.send(bytes);
    });
  }
}
