/** Holds the words that do not belong here, and says what to write instead. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { projectFiles, readAll, skeletonOf } from './source.ts';

interface Ban {
  readonly pattern: RegExp;
  readonly instead: string;
  /** `text` looks at everything, comments included; `code` at the skeleton of a TypeScript file. */
  readonly where: 'text' | 'code';
  readonly applies?: (path: string) => boolean;
}

const isProgramOutput = (path: string) =>
  path.startsWith('src/cli/') || path.startsWith('bench/') || (path.startsWith('test/') && !path.endsWith('.test.ts'));

const BANS: readonly Ban[] = [
  { pattern: /\bTODO\b/, where: 'text', instead: 'do it, or say in the documents what is not done' },
  { pattern: /\b(?:FIXME|XXX|HACK)\b/, where: 'text', instead: 'fix it, or explain it in a full sentence' },
  { pattern: /(?<![\w.}])\/work\b/, where: 'text', instead: 'a path relative to the project: no machine has this one' },
  { pattern: /(?<![\w.}])\/root\b/, where: 'text', instead: 'a path relative to the project: no machine has this one' },
  {
    pattern: /\.only\(|\bonly:\s*true/,
    where: 'code',
    instead: 'run one test with --test-name-pattern',
  },
  {
    pattern: /(?<!\bt)\.(?:skip|todo)\(|\bt\.(?:skip|todo)\(\s*\)|\b(?:skip|todo):\s*true/,
    where: 'code',
    instead: "a reason: `{ skip: 'why' }` or `t.skip('why')`",
    applies: (path) => path.startsWith('test/'),
  },
  {
    pattern: /\bconsole\.(?:log|info|debug|dir)\b/,
    where: 'code',
    instead: 'the logger, or an assertion in a test',
    applies: (path) => !isProgramOutput(path),
  },
  { pattern: /^\s*export\s+default\b/m, where: 'code', instead: 'a named export' },
  {
    pattern: /^\s*(?:export\s+)?(?:declare\s+)?(?:const\s+)?enum\s+\w/m,
    where: 'code',
    instead: 'a union of strings or an object `as const`: types are stripped, not compiled',
  },
  { pattern: /^\s*(?:export\s+)?namespace\s+\w/m, where: 'code', instead: 'a module' },
  { pattern: /\btsx\b|\bts-node\b/, where: 'code', instead: 'node itself, which strips types' },
];

/** This file names what it bans, and the lock file and the licence are not our words. */
const EXEMPT = new Set(['test/tidy/banned.test.ts', 'package-lock.json', 'LICENSE']);

function faultsOf(path: string, text: string): string[] {
  const isTypescript = path.endsWith('.ts');
  const code = isTypescript ? skeletonOf(text).code : '';
  return BANS.filter((ban) => ban.applies?.(path) ?? true).flatMap((ban) => {
    const looked = ban.where === 'text' ? text : code;
    const match = ban.pattern.exec(looked);
    if (match === null) return [];
    const line = looked.slice(0, match.index + match[0].search(/\S/)).split('\n').length;
    return [`${path}:${line} has “${match[0].trim()}”: write ${ban.instead}.`];
  });
}

test('no file has a banned word', () => {
  const paths = projectFiles().filter((path) => !EXEMPT.has(path) && !/\.(?:mdb|png|gz|pem)$/.test(path));
  const faults = [...readAll(paths)].flatMap(([path, text]) => faultsOf(path, text));
  assert.deepEqual(faults, []);
});

const BAD: readonly [path: string, text: string, word: string][] = [
  ['src/base/x.ts', 'a();\n// TODO later', 'x.ts:2 has “TODO”'],
  ['README.md', 'FIXME', 'README.md:1 has “FIXME”'],
  ['docs/x.md', 'cd /work/main', 'has “/work”'],
  ['test/x.test.ts', "const home = '/root/.cache';", 'has “/root”'],
  ['test/x.test.ts', "test.only('x', () => {});", 'has “.only(”'],
  ['test/x.test.ts', "test('x', { only: true }, () => {});", 'has “only: true”'],
  ['test/x.test.ts', "test.skip('x', () => {});", 'has “.skip(”'],
  ['test/x.test.ts', "test('x', (t) => t.skip());", 'has “t.skip()”'],
  ['test/x.test.ts', "test('x', { skip: true }, () => {});", 'has “skip: true”'],
  ['test/x.test.ts', "test.todo('x');", 'has “.todo(”'],
  ['src/messaging/x.ts', 'console.log(1);', 'has “console.log”'],
  ['test/x.test.ts', 'console.log(1);', 'has “console.log”'],
  ['src/base/x.ts', '\nexport default 1;', 'x.ts:2 has “export default”'],
  ['src/base/x.ts', 'export const enum Colour { Red }', 'has “export const enum C”'],
  ['src/base/x.ts', 'enum Colour { Red }', 'has “enum C”'],
  ['src/base/x.ts', 'export namespace Colour {}', 'has “export namespace C”'],
];

for (const [path, text, word] of BAD) {
  test(`a banned word is found: in ${path}, ${JSON.stringify(text)}`, () => {
    const faults = faultsOf(path, text);
    assert.equal(faults.length, 1);
    assert.ok(faults[0]?.includes(word), faults[0]);
  });
}

test('what only looks like a banned word passes', () => {
  assert.deepEqual(faultsOf('src/cli/x.ts', 'console.log(1);'), []);
  assert.deepEqual(faultsOf('test/x.test.ts', "test('x', (t) => t.skip('no IPv6 on this machine'));"), []);
  assert.deepEqual(faultsOf('test/x.test.ts', "test('x', { skip: process.platform === 'win32' && 'no modes' });"), []);
  assert.deepEqual(faultsOf('src/base/x.ts', "const text = 'export default 1;';\nimport './work/worker.ts';"), []);
  assert.deepEqual(faultsOf('docs/x.md', 'GET /workers and `{base}/work`'), []);
});
