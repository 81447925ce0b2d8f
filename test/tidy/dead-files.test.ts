/** Holds that every source is used: reached from a program of package.json or from a test. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { importsOf, programs, targetOf, typescriptSources } from './source.ts';

/** The files under `src`, `actors`, `storage` and the supports of tests and benches that no root leads to. */
function deadFiles(sources: ReadonlyMap<string, string>, roots: readonly string[]): string[] {
  const reached = new Set<string>();
  const ahead = roots.filter((path) => sources.has(path));
  for (let path = ahead.pop(); path !== undefined; path = ahead.pop()) {
    if (reached.has(path)) continue;
    reached.add(path);
    for (const { specifier } of importsOf(sources.get(path) ?? '')) {
      const target = targetOf(path, specifier);
      if (target !== undefined && sources.has(target)) ahead.push(target);
    }
  }
  return [...sources.keys()].filter((path) => !reached.has(path));
}

/** What the pages of the app and of the console start, by their `<script>` and as the service worker, and what tells the compiler of files that are no modules. */
const WEB_ROOTS = ['src/web/main.tsx', 'src/web/console/main.tsx', 'src/web/worker/worker.ts', 'src/web/css.d.ts'];

/** What `parley-client` exports, which other projects import. */
const PACKAGE = /^src\/client\/package\/[\w-]+\.ts$/;

/** What is started rather than imported: the programs, the test files, the benches and their peers, started by name. */
function rootsOf(sources: ReadonlyMap<string, string>): string[] {
  const found = [...sources.keys()].filter(
    (path) => path.endsWith('.test.ts') || PACKAGE.test(path) || /^bench\/(?:peers\/)?[\w-]+\.ts$/.test(path),
  );
  return [...programs(), ...WEB_ROOTS, ...found];
}

test('every source is reached from a program or a test', () => {
  const sources = typescriptSources();
  assert.deepEqual(deadFiles(sources, rootsOf(sources)), []);
});

test('every program of package.json exists', () => {
  const sources = typescriptSources();
  assert.deepEqual(
    programs().filter((path) => !sources.has(path)),
    [],
  );
});

test('a file that nobody reaches is found', () => {
  const sources = new Map([
    ['src/main.ts', "import './a/one.ts';\nnew Worker(new URL('./a/thread.ts', import.meta.url));"],
    ['src/a/one.ts', "import { two } from '#storage/two.ts';"],
    ['src/a/thread.ts', ''],
    ['storage/two.ts', "// import './dead.ts';"],
    ['storage/dead.ts', "import './deader.ts';"],
    ['storage/deader.ts', ''],
  ]);
  assert.deepEqual(deadFiles(sources, ['src/main.ts']), ['storage/dead.ts', 'storage/deader.ts']);
});
