/**
 * Preloaded into every test file of a run: sources come without their types from the run's folder, where the first file that
 * needs one leaves it. Node keeps what it compiled (NODE_COMPILE_CACHE) and not what it stripped, and strips each source
 * again in each process. It is the text that Node would run, on the same lines and columns.
 */
import { hash } from 'node:crypto';
import { readFileSync, renameSync, writeFileSync } from 'node:fs';
import { registerHooks, stripTypeScriptTypes } from 'node:module';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { threadId } from 'node:worker_threads';

const ROOT = new URL('../../', import.meta.url).href;
/** Where the run keeps them (test/run.ts). */
const FOLDER = process.env['TEST_STRIPPED'];

if (FOLDER !== undefined) {
  registerHooks({
    load(url, context, nextLoad) {
      const isOurs = url.startsWith(ROOT) && url.endsWith('.ts') && !url.includes('/node_modules/');
      return isOurs
        ? { format: 'module', source: strippedOf(url, FOLDER), shortCircuit: true }
        : nextLoad(url, context);
    },
  });
}

function strippedOf(url: string, folder: string): string {
  const source = readFileSync(fileURLToPath(url), 'utf8');
  const path = join(folder, hash('sha256', source));
  try {
    return readFileSync(path, 'utf8');
  } catch {
    // The first that needs it.
  }
  const stripped = withoutWarning(() => stripTypeScriptTypes(source));
  const own = `${path}.${process.pid}.${threadId}`;
  writeFileSync(own, stripped);
  // Never half there for another process.
  renameSync(own, path);
  return stripped;
}

/** Node strips without a word what it runs; asked by name, it warns that this is experimental. */
function withoutWarning(strip: () => string): string {
  const warn = Reflect.get<typeof process, 'emitWarning'>(process, 'emitWarning');
  process.emitWarning = () => undefined;
  try {
    return strip();
  } finally {
    process.emitWarning = warn;
  }
}
