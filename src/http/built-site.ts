/** What the build made of `src/web`: a page under a policy with a nonce of its own at each answer, and files that are kept for ever. */
import { randomBytes } from 'node:crypto';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { extname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { Refusal } from '#src/protocol/errors.ts';

/** Where `npm run build:web` puts the app and the console, each in a folder of its name. */
const BUILD = fileURLToPath(new URL('../../build/', import.meta.url));
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
/** The encodings that the build makes beside each file, the smaller first. */
const ENCODINGS = { br: '.br', gzip: '.gz' } as const;

interface Asset {
  readonly type: string;
  readonly plain: Buffer;
  readonly encoded: ReadonlyMap<keyof typeof ENCODINGS, Buffer>;
}

export class BuiltSite {
  readonly #folder: string;
  readonly #page: string;

  private constructor(folder: string) {
    this.#folder = folder;
    this.#page = readFileSync(join(folder, 'page.html'), 'utf8');
  }

  /** The site of that name; undefined where it was not built, as after `npm ci --omit=dev`. */
  static read(name: string): BuiltSite | undefined {
    const folder = join(BUILD, name);
    return existsSync(join(folder, 'page.html')) ? new BuiltSite(folder) : undefined;
  }

  /** A file that stands beside the page, under a name that stays. */
  file(name: string): Buffer {
    return readFileSync(join(this.#folder, name));
  }

  /**
   * The page with a nonce of its own, for one answer: it is never kept, and names the files of this very build. Every
   * `{name}` in it becomes the value of that name.
   */
  page(values: Readonly<Record<string, string>>): { readonly html: string; readonly nonce: string } {
    const nonce = randomBytes(NONCE_BYTES).toString('base64');
    let html = this.#page.replaceAll(NONCE_PLACE, nonce);
    for (const [name, value] of Object.entries(values)) html = html.replace(`{${name}}`, value);
    return { html, nonce };
  }

  /**
   * Serves the files of the build below a path that ends in a slash. Each is read once: together they are some hundred
   * kilobytes, and no path of a request meets the disk. They are one route, because there are a hundred of them and making
   * a route is a hundred times the work of looking a name up.
   */
  addAssets(app: FastifyInstance, prefix: string): void {
    const folder = join(this.#folder, ASSETS);
    const names = readdirSync(folder).filter((name) => TYPES[extname(name)] !== undefined);
    const assets = new Map(names.map((name) => [name, readAsset(folder, name)]));
    app.get<{ Params: { name: string } }>(
      `${prefix}${ASSETS}/:name`,
      { config: { anyVersion: true }, exposeHeadRoute: true },
      async (request, reply) => {
        const asset = assets.get(request.params.name);
        if (asset === undefined) throw new Refusal('path_not_found');
        return await sendAsset(asset, request, reply);
      },
    );
  }
}

function readAsset(folder: string, name: string): Asset {
  const encodings = Object.entries(ENCODINGS) as [keyof typeof ENCODINGS, string][];
  const encoded = encodings.map(
    ([encoding, ending]) => [encoding, readFileSync(join(folder, `${name}${ending}`))] as const,
  );
  return { type: TYPES[extname(name)] as string, plain: readFileSync(join(folder, name)), encoded: new Map(encoded) };
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
