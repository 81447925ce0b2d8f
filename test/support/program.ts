/** The programs of the project as the tests start them: in a run of all tests, or a smoke run of the benches, bundled (bundle.ts), else as they are. */
import { existsSync } from 'node:fs';
import { join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';

const ROOT = fileURLToPath(new URL('../../', import.meta.url));

/** What Node is told to run for a source of `src`. Traces of errors name the sources where the bundle has maps of them. */
export function programOf(source: URL): string[] {
  const path = fileURLToPath(source);
  const bundle = process.env['TEST_BUNDLE'];
  if (bundle === undefined) return [path];
  const file = join(bundle, relative(ROOT, path).replace(/\.ts$/, '.js'));
  // Benches start processes of their own by the same way.
  if (!existsSync(file)) return [path];
  return existsSync(`${file}.map`) ? ['--enable-source-maps', file] : [file];
}

/** What a program needs of the environment, where a test gives it nothing else. */
export const BARE_ENVIRONMENT = {
  PATH: process.env['PATH'],
  // Where Node remembers what it compiled (test/run.ts).
  NODE_COMPILE_CACHE: process.env['NODE_COMPILE_CACHE'],
};
