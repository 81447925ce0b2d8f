/**
 * Builds the app of `src/web` into `build/web`: `npm ci` and `npm install` run this as the root's `prepare`. With `--watch` it
 * goes on, and builds again whenever a source changes.
 */
import { existsSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { brotliCompressSync, constants, gzipSync } from 'node:zlib';
import type { build as Bundle } from 'rolldown';
import { NONCE_PLACE } from '#src/server/web-app.ts';
import { appIcons } from './app-icons.ts';
import { ScreenModules } from './screen-modules.ts';

const ROOT = join(import.meta.dirname, '..', '..');
const BUILT = join(ROOT, 'build', 'web');
/** The build is made beside the one that is there and put in its place whole, by each process that builds by itself. */
const MAKING = join(ROOT, 'build', `making-${process.pid}`);
const OLD = join(ROOT, 'build', `old-${process.pid}`);

/** The first screens' files, by the names that their parts have in the build: what the worker keeps for a start without a network. */
const SHELL = /^(?:page|sign-in|chat|chat-application|rolldown-runtime|preload-helper|russian)-[\w-]{8}\.(?:js|css)$/;

const { values } = parseArgs({ options: { watch: { type: 'boolean', default: false } } });

if (!existsSync(join(ROOT, 'node_modules', 'vite'))) {
  process.stdout.write(
    existsSync(join(BUILT, 'page.html'))
      ? 'The web app in build/web is left as it is: what builds it is not installed.\n'
      : 'The web app is not built: what builds it comes with `npm ci`, and `npm prune --omit=dev` takes it away again.\n',
  );
} else {
  await build();
}

async function build(): Promise<void> {
  const screens = new ScreenModules(join(ROOT, 'src', 'web'));
  // A server without the packages of development prepares itself by this program, too.
  const [{ build: make }, { default: react }, { build: bundle }] = await Promise.all([
    import('vite'),
    import('@vitejs/plugin-react'),
    import('rolldown'),
  ]);
  const finish = async () => {
    await makeWorker(bundle);
    for (const [name, bytes] of await appIcons()) writeFileSync(join(MAKING, name), bytes);
    takePlace();
  };
  await make({
    root: join(ROOT, 'src', 'web'),
    configFile: false,
    logLevel: 'warn',
    // Behind a proxy the service may have a path of its own; everything is named from where the page is.
    base: './',
    html: { cspNonce: NONCE_PLACE },
    plugins: [react(), screens, { name: 'take-place', closeBundle: finish }],
    build: {
      outDir: MAKING,
      emptyOutDir: true,
      target: 'es2023',
      // A file inlined as data would need a policy that lets data in.
      assetsInlineLimit: 0,
      // The limit that matters is one of the tests: what the first screen loads.
      chunkSizeWarningLimit: 2000,
      rolldownOptions: {
        input: join(ROOT, 'src', 'web', 'page.html'),
        output: {
          // What the first two screens need comes in one file each: what a part shares with them that is loaded later would
          // otherwise be cut out of them, and each cut costs bytes.
          codeSplitting: {
            groups: [
              { name: 'sign-in', test: (id) => screens.isIn('main.tsx', id) },
              { name: 'chat', test: (id) => screens.isIn('chat/chat-application.tsx', id) },
            ],
          },
        },
      },
      watch: values.watch ? {} : null,
    },
  });
}

/** The service worker: one file without imports, since not every browser takes more of one. */
async function makeWorker(bundle: typeof Bundle): Promise<void> {
  const files = readdirSync(join(MAKING, 'assets')).filter((name) => SHELL.test(name));
  await bundle({
    input: join(ROOT, 'src', 'web', 'worker', 'worker.ts'),
    platform: 'browser',
    tsconfig: join(ROOT, 'tsconfig.json'),
    logLevel: 'warn',
    transform: { define: { SHELL_FILES: JSON.stringify(files.toSorted()) } },
    output: { file: join(MAKING, 'worker.js'), format: 'iife', minify: true },
  });
}

function takePlace(): void {
  const assets = join(MAKING, 'assets');
  for (const name of readdirSync(assets)) {
    const path = join(assets, name);
    const bytes = readFileSync(path);
    writeFileSync(`${path}.gz`, gzipSync(bytes, { level: 9 }));
    writeFileSync(
      `${path}.br`,
      brotliCompressSync(bytes, { params: { [constants.BROTLI_PARAM_SIZE_HINT]: bytes.length } }),
    );
  }
  if (existsSync(BUILT)) renameSync(BUILT, OLD);
  renameSync(MAKING, BUILT);
  rmSync(OLD, { recursive: true, force: true });
}
