/**
 * Packs the SDK of `src/client` for other projects: `build/parley-client-<version>.tgz`, which `npm install <file>` takes. ES modules
 * with source maps and types, and no dependency; `parley-client/react` uses the React of the project.
 */
import { execFileSync } from 'node:child_process';
import { cpSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { rolldown } from 'rolldown';
import { dts } from 'rolldown-plugin-dts';

const ROOT = join(import.meta.dirname, '..', '..');
const ENTRIES = join(ROOT, 'src', 'client', 'package');
const MAKING = join(ROOT, 'build', 'client');
const { license, version } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as {
  license: string;
  version: string;
};

const MANIFEST = {
  name: 'parley-client',
  version,
  description: 'Client of a Parley server, for browsers and Node: messages, conversations, calendars, bots.',
  license,
  type: 'module',
  sideEffects: false,
  engines: { node: '>=22' },
  exports: {
    '.': { types: './main.d.ts', default: './main.js' },
    './bot': { types: './bot.d.ts', default: './bot.js' },
    './react': { types: './react.d.ts', default: './react.js' },
    './package.json': './package.json',
  },
  types: './main.d.ts',
  peerDependencies: { react: '>=18' },
  peerDependenciesMeta: { react: { optional: true } },
};

/** The plugin says at each build that the compiler's interface is a new one; what fails is thrown. */
const SILENT = { info: () => undefined, warn: () => undefined, error: console.error };

rmSync(MAKING, { recursive: true, force: true });
mkdirSync(MAKING, { recursive: true });
await bundle();
writeFileSync(join(MAKING, 'package.json'), `${JSON.stringify(MANIFEST, null, 2)}\n`);
cpSync(join(ROOT, 'LICENSE'), join(MAKING, 'LICENSE'));
cpSync(join(ENTRIES, 'README.md'), join(MAKING, 'README.md'));
const npm = ['pack', '--json', '--pack-destination', join(ROOT, 'build')];
const [packed] = JSON.parse(execFileSync('npm', npm, { cwd: MAKING, encoding: 'utf8' })) as { filename: string }[];
process.stdout.write(`build/${packed?.filename ?? ''}\n`);
for (const entry of ['main', 'bot', 'react']) process.stdout.write(`${entry}: ${kilobytes(entry)} KB gzipped\n`);

/** One file of code for each entry, and what they share beside them. */
async function bundle(): Promise<void> {
  const input = Object.fromEntries(['main', 'bot', 'react'].map((name) => [name, join(ENTRIES, `${name}.ts`)]));
  const build = await rolldown({
    input,
    platform: 'neutral',
    external: [/^node:/, 'react'],
    tsconfig: join(ROOT, 'tsconfig.json'),
    resolve: { conditionNames: ['import'] },
    // How long each plugin takes.
    logLevel: 'silent',
    // Forms are described by the schema library; of it only types come along, and the reader needs no such package.
    plugins: [dts({ generator: 'tsgo', sourcemap: false, logger: SILENT })],
  });
  await build.write({ dir: MAKING, format: 'esm', sourcemap: true, chunkFileNames: 'shared-[hash].js' });
  await build.close();
}

/** What a page loads for an entry, with all it imports, in kB of 1,000 bytes. */
function kilobytes(entry: string): string {
  const files = new Set([`${entry}.js`]);
  for (const file of files) {
    const source = readFileSync(join(MAKING, file), 'utf8');
    for (const [, name = ''] of source.matchAll(/from "\.\/([^"]+\.js)"/g)) files.add(name);
  }
  const bytes = [...files].map((file) => gzipSync(readFileSync(join(MAKING, file)), { level: 9 }).length);
  return (bytes.reduce((sum, size) => sum + size, 0) / 1000).toFixed(1);
}
