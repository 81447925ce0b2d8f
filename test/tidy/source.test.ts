/** Holds the tidy tests' own reading of sources: a rule that reads wrong would pass for ever. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { importsOf, isResolvable, packageOf, programs, projectFiles, skeletonOf, targetOf } from './source.ts';

test('a skeleton has no comments and no strings, and keeps the lines', () => {
  const { code, strings } = skeletonOf("a('x // y'); // gone\n/* b\n */ c(\"it's\");\n");
  assert.equal(code, 'a("0");        \n    \n    c("1");\n');
  assert.deepEqual(strings, ['x // y', "it's"]);
});

test('a skeleton follows templates into their interpolations and out again', () => {
  const { code, strings } = skeletonOf('f(`one ${g({ a: `in ${1}` })} two`) + `\\`${x}`;');
  assert.equal(code, 'f("0"g({ a: "1"1"2" })"3") + "4"x"5";');
  assert.deepEqual(strings, ['one ', 'in ', '', ' two', '\\`', '']);
});

test('a skeleton tells a regular expression from a division', () => {
  const { code, strings } = skeletonOf("x = /['\"`/*]/g.test(y); z = a / b / c; return /[/]'/;");
  assert.equal(code, 'x = "0".test(y); z = a / b / c; return "1";');
  assert.deepEqual(strings, ['/[\'"`/*]/g', "/[/]'/"]);
});

test('imports are read in every form, and not from strings or comments', () => {
  const source = [
    "import 'node:fs';",
    "import type { A } from './a.ts';",
    'import {',
    '  b,',
    "} from '#src/b.ts';",
    "export * from './c.ts';",
    "const d = await import('./d.ts');",
    "new Worker(new URL('./e.ts', import.meta.url));",
    "// import './no.ts';",
    'const text = `',
    "import './no.ts';",
    '`;',
    "export const f = 'no';",
    "new URL('../../', import.meta.url);",
    "fork(new URL('g.ts', import.meta.url));",
    'export interface H {',
    "  method: 'no';",
    '}',
  ].join('\n');
  assert.deepEqual(
    importsOf(source).map(({ specifier, line }) => `${line} ${specifier}`),
    ['1 node:fs', '2 ./a.ts', '3 #src/b.ts', '6 ./c.ts', '7 ./d.ts', '8 ./e.ts', '15 ./g.ts'],
  );
});

test('an import leads to a file, a package or nowhere', () => {
  assert.equal(targetOf('src/base/ids.ts', './time.ts'), 'src/base/time.ts');
  assert.equal(targetOf('actors/x.ts', '#src/base/ids.ts'), 'src/base/ids.ts');
  assert.equal(targetOf('actors/x.ts', 'lmdb'), undefined);
  assert.equal(packageOf('@fastify/helmet/types'), '@fastify/helmet');
  assert.equal(packageOf('zod/v4'), 'zod');
  const packages = new Set(['zod']);
  assert.equal(isResolvable('src/base/ids.ts', './time.ts', packages), true);
  assert.equal(isResolvable('src/base/ids.ts', './nowhere.ts', packages), false);
  assert.equal(isResolvable('src/base/ids.ts', 'node:fs', packages), true);
  assert.equal(isResolvable('src/base/ids.ts', 'node:nothing', packages), false);
  assert.equal(isResolvable('src/base/ids.ts', 'zod', packages), true);
  assert.equal(isResolvable('src/base/ids.ts', 'left-pad', packages), false);
});

test('the tree and its programs are found', () => {
  const files = projectFiles();
  assert.ok(files.includes('src/protocol/errors.ts'));
  assert.ok(!files.some((path) => path.includes('node_modules')));
  assert.ok(programs().includes('src/main.ts'));
  assert.ok(programs().includes('src/cli/parley.ts'));
});
