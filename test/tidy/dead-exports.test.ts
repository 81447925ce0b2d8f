/** Holds that what is exported is used somewhere, and what is installed by the server is used by the server. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { DEPENDENCIES, importsOf, packageOf, ROOT, skeletonOf, typescriptSources } from './source.ts';

const PRODUCTION = /^(?:src|actors|storage)\//;
const EXPORT =
  /^export (?:default )?(?:abstract )?(?:async )?(?:function\*?|class|const|let|interface|type|enum) (\w+)/gm;

/** `file: name` of every export whose name stands nowhere but where it is declared: in no other file, and not in its own. */
function deadExports(sources: ReadonlyMap<string, string>): string[] {
  const codes = [...sources].map(([path, source]): [string, string] => {
    const { code, strings } = skeletonOf(source);
    // Types are named in what is handed to a compiler or a browser as text, too.
    return [path, `${code} ${strings.filter((text) => /\$|=>/.test(text)).join(' ')}`];
  });
  const times = new Map<string, number>();
  for (const [, code] of codes) {
    for (const [word] of code.matchAll(/\w+/g)) times.set(word, (times.get(word) ?? 0) + 1);
  }
  return codes.flatMap(([path, code]) => {
    if (!PRODUCTION.test(path)) return [];
    const names = [...code.matchAll(EXPORT)].map(([, name = '']) => name);
    return names.filter((name) => times.get(name) === 1).map((name) => `${path}: ${name}`);
  });
}

/** The packages that a source imports. */
function packagesOf(sources: Iterable<string>): Set<string> {
  return new Set([...sources].flatMap((source) => importsOf(source).map(({ specifier }) => packageOf(specifier))));
}

test('every export is used', () => {
  assert.deepEqual(deadExports(typescriptSources()), []);
});

test('an export that nobody else names is found', () => {
  const sources = new Map([
    ['src/a/one.ts', 'export const USED = 1;\nexport function lost(): void {}\nexport type Shape = string;'],
    ['src/a/two.ts', "import { USED } from './one.ts';\n// lost\nexport const text = 'lost';"],
    ['test/a.test.ts', "import { text } from '#src/a/two.ts';\nimport type { Shape } from '#src/a/one.ts';"],
  ]);
  assert.deepEqual(deadExports(sources), ['src/a/one.ts: lost']);
});

test('every dependency is imported by what is installed with it', () => {
  const { optionalDependencies } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as {
    optionalDependencies: Record<string, string>;
  };
  const production = [...typescriptSources()].filter(([path]) => PRODUCTION.test(path)).map(([, source]) => source);
  const used = packagesOf(production);
  // The optional ones are programs: the Node that runs all of it.
  const unused = [...DEPENDENCIES].filter((name) => !used.has(name) && !Object.hasOwn(optionalDependencies, name));
  assert.deepEqual(unused, []);
});
