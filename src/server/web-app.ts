/**
 * Serves the app for people at the coordinator's own address: the page, and the files that the build made of `src/web`.
 * Where there is no build, as after `npm ci --omit=dev`, a plain page says what this is and what to do.
 */
import { randomBytes } from 'node:crypto';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { extname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { takesPages } from '#src/http/web-page.ts';
import { Refusal } from '#src/protocol/errors.ts';
import { addFrontPage } from './front-page.ts';

/** Where `npm run build:web` puts the app. */
const BUILT = fileURLToPath(new URL('../../build/web/', import.meta.url));
/** What the build writes in the place of the nonce of each answer. */
export const NONCE_PLACE = '{nonce}';
const NONCE_BYTES = 16;

/** The names of these files hold a hash of what is in them: one name is one content for ever. */
const ASSETS = 'assets';
const FOR_EVER = 'public, max-age=31536000, immutable';
const TYPES: Readonly<Record<string, string>> = {
  '.css': 'text/css; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
};
/** Files beside the page, under names that stay: asked for anew each day, and the worker, which says what the app is, each time. */
const ROOT_FILES: Readonly<Record<string, { readonly type: string; readonly cache: string }>> = {
  'app.webmanifest': { type: 'application/manifest+json; charset=utf-8', cache: 'no-cache' },
  'icon-192.png': { type: 'image/png', cache: 'public, max-age=86400' },
  'icon-512.png': { type: 'image/png', cache: 'public, max-age=86400' },
  'icon-maskable-512.png': { type: 'image/png', cache: 'public, max-age=86400' },
  'worker.js': { type: 'text/javascript; charset=utf-8', cache: 'no-cache' },
};
/** The encodings that the build makes beside each file, the smaller first. */
const ENCODINGS = { br: '.br', gzip: '.gz' } as const;

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
  const built = join(BUILT, 'page.html');
  if (!existsSync(built)) return addFrontPage(app);
  addAssets(app);
  addRootFiles(app, options);
  const page = readFileSync(built, 'utf8');
  app.get('/', { config: { anyVersion: true } }, async (request, reply) => {
    void reply.header('vary', 'Accept, Origin');
    if (!takesPages(request.headers.accept)) throw new Refusal('path_not_found');
    const nonce = randomBytes(NONCE_BYTES).toString('base64');
    const messaging = addressFor(request, options.messaging);
    const calendar = addressFor(request, options.calendar);
    // The page is never kept: each answer has a nonce of its own, and names the files of this very build.
    return await reply
      .headers({
        'content-security-policy': policyOf(nonce, messaging, calendar),
        'permissions-policy': PERMISSIONS,
        'x-robots-tag': 'noindex, nofollow, noarchive',
      })
      .type('text/html; charset=utf-8')
      .send(page.replaceAll(NONCE_PLACE, nonce).replace('{messaging}', messaging).replace('{calendar}', calendar));
  });
}

/** What of the device the page itself may ask the person for, in calls, and nothing that is framed in it or anything else. */
const PERMISSIONS = 'camera=(self), microphone=(self), display-capture=(self), geolocation=(), payment=(), usb=()';

/** What the page may load and whom it may call: the files of the build by the nonce, the three services, pictures that it made. */
export function policyOf(nonce: string, messaging: string, calendar: string): string {
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

/** What the service worker may, which makes no markup: call the two services that it asks. It comes with the worker itself. */
function workerPolicyOf(messaging: string): string {
  return [
    "default-src 'none'",
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

interface Asset {
  readonly type: string;
  readonly plain: Buffer;
  readonly encoded: ReadonlyMap<keyof typeof ENCODINGS, Buffer>;
}

/** Every file of the build is read once: together they are some hundred kilobytes, and no path of a request meets the disk. */
function addAssets(app: FastifyInstance): void {
  const folder = join(BUILT, ASSETS);
  for (const name of readdirSync(folder)) {
    const type = TYPES[extname(name)];
    if (type === undefined) continue;
    const encodings = Object.entries(ENCODINGS) as [keyof typeof ENCODINGS, string][];
    const encoded = encodings.map(
      ([encoding, ending]) => [encoding, readFileSync(join(folder, `${name}${ending}`))] as const,
    );
    const asset = { type, plain: readFileSync(join(folder, name)), encoded: new Map(encoded) };
    app.get(
      `/${ASSETS}/${name}`,
      { config: { anyVersion: true }, exposeHeadRoute: true },
      async (request, reply) => await sendAsset(asset, request, reply),
    );
  }
}

function addRootFiles(app: FastifyInstance, { messaging }: WebAppOptions): void {
  for (const [name, { cache, type }] of Object.entries(ROOT_FILES)) {
    const bytes = readFileSync(join(BUILT, name));
    app.get(`/${name}`, { config: { anyVersion: true }, exposeHeadRoute: true }, async (request, reply) => {
      void reply.headers({ 'cache-control': cache, vary: 'Origin' }).type(type);
      if (name === 'worker.js') {
        void reply.header('content-security-policy', workerPolicyOf(addressFor(request, messaging)));
      }
      return await reply.send(bytes);
    });
  }
}

async function sendAsset(
  { encoded, plain, type }: Asset,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<FastifyReply> {
  void reply.headers({ 'cache-control': FOR_EVER, vary: 'Accept-Encoding, Origin' }).type(type);
  const taken = (request.headers['accept-encoding'] ?? '').split(',').map((part) => part.trim());
  for (const [encoding, bytes] of encoded) {
    // `br;q=0` is a refusal, and any other weight is rare enough to be sent the plain bytes.
    if (taken.includes(encoding)) return await reply.header('content-encoding', encoding).send(bytes);
  }
  return await reply.send(plain);
}
