/**
 * The server and the `parley` command in a few files, for the tests: Node then reads some ten modules at a start instead
 * of several hundred, in each of its threads. The sources are the same, and places in them are found as before: what is started by
 * `new URL('./x.ts', import.meta.url)` becomes an entry of its own, and data files are read beside their sources.
 */
import { writeFile } from 'node:fs/promises';
import { join, relative } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { rolldown, type Plugin } from 'rolldown';

const ROOT = fileURLToPath(new URL('../../', import.meta.url));
/** What is started by itself; what these start in turn is found in their sources. */
const PROGRAMS = ['src/main.ts', 'src/cli/parley.ts'].map((path) => join(ROOT, path));
/** How the sources name a program that they start as a thread or as a process. */
const STARTED = /new URL\(\s*'([^']+\.ts)',\s*import\.meta\.url\s*\)/g;
/** What runs in a browser: it is read as a data file, and never started here. */
const BROWSER_CODE = /\/web\//;
/**
 * What stays where it is: modules of Node, and packages that bring machine code or start threads of their own, which look
 * for these beside themselves. One that is missing here says at the first start that it does not find its file.
 */
const OUTSIDE =
  /^(?:node:(?!module$)|@napi-rs\/|@node-rs\/|(?:lmdb|msgpackr|pino|piscina|sharp|uWebSockets\.js)(?:\/|$))/;

/**
 * Writes the bundle into a folder below `node_modules`, so that packages are found: see program.ts for who starts it. With
 * maps, traces of errors name the sources; each thread of each server then reads them, which is a seventh of its start.
 */
export async function writeBundle(folder: string, { maps }: { maps: boolean }): Promise<void> {
  const build = await rolldown({
    input: Object.fromEntries(PROGRAMS.map((path) => [nameOf(path), path])),
    cwd: ROOT,
    platform: 'node',
    external: OUTSIDE,
    // What is tested is the whole of what is written, with all that a module does when it is loaded.
    treeshake: false,
    plugins: [keepPlaces(folder), rememberStripping(folder)],
  });
  await build.write({
    dir: folder,
    format: 'esm',
    sourcemap: maps,
    // They are where they were; a map is read at every start.
    sourcemapExcludeSources: true,
    entryFileNames: '[name].js',
    chunkFileNames: '[name].js',
  });
  await build.close();
  // Without it Node compiles each file as CommonJS first, to find that it is none: another seventh.
  await writeFile(join(folder, 'package.json'), JSON.stringify({ type: 'module' }));
}

/** The place of a source in the project, without its ending: a bundled entry has the same one in the bundle. */
function nameOf(path: string): string {
  return relative(ROOT, path).replace(/\.ts$/, '');
}

/** Puts the URL of the source, or of the bundled entry, in the place of `import.meta.url`. */
function keepPlaces(folder: string): Plugin {
  return {
    name: 'keep-places',
    transform: {
      filter: { id: /\.ts$/, code: 'import.meta.url' },
      handler(code, id) {
        const source = pathToFileURL(id).href;
        const withEntries = code.replaceAll(STARTED, (whole, specifier: string) => {
          const started = fileURLToPath(new URL(specifier, source));
          if (BROWSER_CODE.test(started)) return whole;
          const fileName = `${nameOf(started)}.js`;
          this.emitFile({ type: 'chunk', id: started, fileName });
          return `new URL(${JSON.stringify(pathToFileURL(join(folder, fileName)).href)})`;
        });
        // Lines stay lines, so the map of the whole needs no other one for this step.
        return { code: withEntries.replaceAll('import.meta.url', JSON.stringify(source)), map: null };
      },
    },
  };
}

/**
 * Keeps what Node makes of the console's modules for the next start. Node strips them from their types in a quarter of a
 * second, and the same text gives the same text.
 */
function rememberStripping(folder: string): Plugin {
  const name = '\0node:module';
  return {
    name: 'remember-stripping',
    resolveId: {
      filter: { id: /^node:module$/ },
      handler: (_, importer) => (importer?.endsWith('.ts') ? name : { id: 'node:module', external: true }),
    },
    load: {
      filter: { id: new RegExp(name) },
      handler: () => `
        import { createHash } from 'node:crypto';
        import { existsSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
        import { stripTypeScriptTypes as strip } from 'node:module';
        export function stripTypeScriptTypes(code) {
          const file = ${JSON.stringify(join(folder, 'stripped-'))} + createHash('sha256').update(code).digest('hex');
          if (existsSync(file)) return readFileSync(file, 'utf8');
          const stripped = strip(code);
          writeFileSync(file + process.pid, stripped);
          renameSync(file + process.pid, file);
          return stripped;
        }`,
    },
  };
}
