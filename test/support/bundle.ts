/**
 * The server, the `parley` command and the test files in fewer files, for a run of all tests: Node then reads some ten modules
 * at a start of the server instead of several hundred, in each of its threads. The sources are the same, and places in them are found as before: what is
 * started by `new URL('./x.ts', import.meta.url)` becomes an entry of its own, and data files are read beside their sources.
 */
import { existsSync, readFileSync } from 'node:fs';
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

/** Packages that only tests and builds use: few modules each, or such as look for files of theirs. */
const DEVELOPMENT = Object.keys(
  (JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as { devDependencies: object }).devDependencies,
);
/** Files that read sources as text, where `import.meta.url` is not always code; there are few, and they load little. */
const READS_SOURCES = /^test\/(?:mutation|tidy)\//;

/**
 * Writes the programs into a folder below `node_modules`, so that packages are found: see program.ts for who starts them. With
 * maps, traces of errors name the sources; each thread of each server then reads them, which is a seventh of its start.
 */
export async function writeBundle(folder: string, { maps }: { maps: boolean }): Promise<void> {
  await write(PROGRAMS, folder, {
    external: OUTSIDE,
    plugins: [keepPlaces(folder), rememberStripping(folder)],
    sourcemap: maps,
  });
}

/**
 * Writes test files into a folder below `node_modules`: to load the sources took a third of a file's own CPU time. What they start
 * as a thread is that of `programs`, the folder of writeBundle. Answers the bundled path of each file that has one.
 */
export async function bundleTests(
  files: readonly string[],
  folder: string,
  programs: string,
): Promise<ReadonlyMap<string, string>> {
  const bundled = files.filter((file) => !READS_SOURCES.test(file));
  const external = (id: string) =>
    OUTSIDE.test(id) || DEVELOPMENT.some((name) => id === name || id.startsWith(`${name}/`));
  const paths = bundled.map((file) => join(ROOT, file));
  await write(paths, folder, { external, plugins: [keepPlaces(programs, true)], sourcemap: false });
  return new Map(bundled.map((file, at) => [file, join(folder, `${nameOf(paths[at] as string)}.js`)]));
}

async function write(
  paths: readonly string[],
  folder: string,
  {
    external,
    plugins,
    sourcemap,
  }: { external: RegExp | ((id: string) => boolean); plugins: Plugin[]; sourcemap: boolean },
): Promise<void> {
  const build = await rolldown({
    input: Object.fromEntries(paths.map((path) => [nameOf(path), path])),
    cwd: ROOT,
    platform: 'node',
    external,
    // What is tested is the whole of what is written, with all that a module does when it is loaded.
    treeshake: false,
    plugins,
  });
  await build.write({
    dir: folder,
    format: 'esm',
    sourcemap,
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

/**
 * Puts the URL of the source, or of the bundled entry, in the place of `import.meta.url`. An entry is made for what is started,
 * or has to be there already.
 */
function keepPlaces(folder: string, isThere = false): Plugin {
  return {
    name: 'keep-places',
    transform: {
      filter: { id: /\.ts$/, code: 'import.meta.url' },
      handler(code, id) {
        const source = pathToFileURL(id).href;
        const withEntries = code.replaceAll(STARTED, (whole, specifier: string) => {
          const started = fileURLToPath(new URL(specifier, source));
          // Tests name programs for programOf, which finds the bundled ones.
          if (BROWSER_CODE.test(started) || id.startsWith(join(ROOT, 'test/'))) return whole;
          const fileName = `${nameOf(started)}.js`;
          if (!isThere) this.emitFile({ type: 'chunk', id: started, fileName });
          else if (!existsSync(join(folder, fileName))) return whole;
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
