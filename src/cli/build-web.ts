/**
 * Builds the app of `src/web` into `build/web`, and the console of `src/web/console` into `build/console`: `npm ci` and
 * `npm install` run this as the root's `prepare`. With `--watch` it goes on, and builds again whenever a source changes.
 */
import { existsSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { brotliCompressSync, constants, gzipSync } from 'node:zlib';
import type { build as Bundle } from 'rolldown';
import { NONCE_PLACE } from '#src/http/built-site.ts';
import { appIcons } from './app-icons.ts';
import { ScreenModules } from './screen-modules.ts';

const ROOT = join(import.meta.dirname, '..', '..');
const APP = join(ROOT, 'src', 'web');
const BUILD = join(ROOT, 'build');

/** What is built: each by itself, so that what the two share is cut to fit neither of them worse. */
interface Site {
  /** Its folder in `build`. */
  readonly name: string;
  /** Where its `page.html` is. */
  readonly folder: string;
  /** What the page names its files from. */
  readonly base: string;
  /** Whether it has a service worker and icons. */
  readonly isInstallable: boolean;
  /** Modules that come in one file each with all that they load: what a later part shares with them is not cut out of them. */
  readonly whole: readonly { readonly name: string; readonly start: string }[];
}

const SITES: readonly Site[] = [
  {
    name: 'web',
    folder: APP,
    // Behind a proxy the service may have a path of its own; everything is named from where the page is.
    base: './',
    isInstallable: true,
    whole: [
      { name: 'sign-in', start: 'main.tsx' },
      { name: 'chat', start: 'chat/chat-application.tsx' },
    ],
  },
  {
    name: 'console',
    folder: join(APP, 'console'),
    // Its page is at several addresses.
    base: '/console/',
    isInstallable: false,
    whole: [{ name: 'console', start: 'console/main.tsx' }],
  },
];

/** The first screens' files, by the names that their parts have in the build: what the worker keeps for a start without a network. */
const SHELL = /^(?:page|sign-in|chat|chat-application|rolldown-runtime|preload-helper|russian)-[\w-]{8}\.(?:js|css)$/;

const { values } = parseArgs({ options: { watch: { type: 'boolean', default: false } } });

if (!existsSync(join(ROOT, 'node_modules', 'vite'))) {
  process.stdout.write(
    SITES.every(({ name }) => existsSync(join(BUILD, name, 'page.html')))
      ? 'The web app in build is left as it is: what builds it is not installed.\n'
      : 'The web app is not built: what builds it comes with `npm ci`, and `npm prune --omit=dev` takes it away again.\n',
  );
} else {
  for (const site of SITES) await build(site);
}

async function build({ base, folder, isInstallable, name, whole }: Site): Promise<void> {
  const screens = new ScreenModules(APP);
  // Made beside what is there and put in its place whole, by each process that builds by itself.
  const making = join(BUILD, `making-${name}-${process.pid}`);
  // A server without the packages of development prepares itself by this program, too.
  const [{ build: make }, { default: react }, { build: bundle }] = await Promise.all([
    import('vite'),
    import('@vitejs/plugin-react'),
    import('rolldown'),
  ]);
  const finish = async () => {
    if (isInstallable) {
      await makeWorker(bundle, making);
      for (const [icon, bytes] of await appIcons()) writeFileSync(join(making, icon), bytes);
    }
    for (const part of whole) compileWhole(join(making, 'assets'), part.name);
    putInPlace(making, join(BUILD, name));
  };
  await make({
    root: folder,
    configFile: false,
    logLevel: 'warn',
    base,
    html: { cspNonce: NONCE_PLACE },
    plugins: [react(), screens, { name: 'take-place', closeBundle: finish }],
    build: {
      outDir: making,
      emptyOutDir: true,
      target: 'es2023',
      // A file inlined as data would need a policy that lets data in.
      assetsInlineLimit: 0,
      // The limit that matters is one of the tests: what the first screen loads.
      chunkSizeWarningLimit: 2000,
      rolldownOptions: {
        input: join(folder, 'page.html'),
        output: {
          codeSplitting: {
            groups: whole.map((part) => ({ name: part.name, test: (id: string) => screens.isIn(part.start, id) })),
          },
        },
      },
      watch: values.watch ? {} : null,
    },
  });
}

/** The service worker: one file without imports, since not every browser takes more of one. */
async function makeWorker(bundle: typeof Bundle, making: string): Promise<void> {
  const files = readdirSync(join(making, 'assets')).filter((name) => SHELL.test(name));
  await bundle({
    input: join(APP, 'worker', 'worker.ts'),
    platform: 'browser',
    tsconfig: join(ROOT, 'tsconfig.json'),
    logLevel: 'warn',
    transform: { define: { SHELL_FILES: JSON.stringify(files.toSorted()) } },
    output: { file: join(making, 'worker.js'), format: 'iife', minify: true },
  });
}

/**
 * Has V8 compile all of a file beside the page's thread, and keep all of it in its code cache, instead of function by function as each
 * is called: a load of the first screens called 1,700 of their functions for the first time, and with this none. Other engines read
 * a comment. It has to stand first, which Vite leaves no place for. https://v8.dev/blog/explicit-compile-hints
 */
function compileWhole(assets: string, name: string): void {
  const [file = '', ...others] = readdirSync(assets).filter((found) =>
    new RegExp(`^${name}-[\\w-]{8}\\.js$`).test(found),
  );
  if (file === '' || others.length > 0) throw new Error(`The build has not one file of ${name}.`);
  const path = join(assets, file);
  writeFileSync(path, `//# allFunctionsCalledOnLoad\n${readFileSync(path, 'utf8')}`);
}

function putInPlace(making: string, built: string): void {
  const assets = join(making, 'assets');
  for (const name of readdirSync(assets)) {
    const path = join(assets, name);
    const bytes = readFileSync(path);
    writeFileSync(`${path}.gz`, gzipSync(bytes, { level: 9 }));
    writeFileSync(
      `${path}.br`,
      brotliCompressSync(bytes, { params: { [constants.BROTLI_PARAM_SIZE_HINT]: bytes.length } }),
    );
  }
  takePlace(making, built);
}

/** Two that build at once each find what the other put there, or took away: the later one stays. */
function takePlace(making: string, built: string): void {
  const old = `${making}-old`;
  for (let isThere = false; !isThere;) {
    isUnless('ENOENT', () => renameSync(built, old));
    isThere = isUnless('ENOTEMPTY', () => renameSync(making, built));
    rmSync(old, { recursive: true, force: true });
  }
}

/** Whether something was done, and not refused by that code. */
function isUnless(code: string, act: () => void): boolean {
  try {
    act();
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== code) throw error;
    return false;
  }
}
