import assert from 'node:assert/strict';
import { test } from 'node:test';
import { drawMutants, mutated, mutationsOf } from './mutants.ts';
import { Relevance } from './relevance.ts';

const allOf = (source: string) => mutationsOf('x.ts', source).map((mutation) => mutated(source, mutation));

for (const [source, ...expected] of [
  ['export const a = b < c;', 'export const a = b >= c;'],
  ['export const a = b && c;', 'export const a = b || c;'],
  ['export const a = b + 1;', 'export const a = b - 1;', 'export const a = b + 2;'],
  ['export const a = 1_000n;', 'export const a = 1001n;'],
  ['if (a) throw b;', 'if (!(a)) throw b;', 'if (a) ;'],
  ['while (a) continue;', 'while (!(a)) continue;', 'while (a) ;'],
  ['export const a = b ? c : d;', 'export const a = !(b) ? c : d;'],
  ['a.b(true);', ';', 'a.b(false);'],
  ['function a(): void { return; }', 'function a(): void { ; }'],
  // Nothing that runs is in these.
  ["'use strict';"],
  ['export type A = 64 | true;'],
  ['// a < b'],
  ['export const a = (b: string) => `${b} < c`;'],
] as const) {
  test(`mutants of: ${source}`, () => assert.deepEqual(allOf(source), expected));
}

test('the same seed draws the same lines after a file moved, another seed others', () => {
  const source = Array.from({ length: 50 }, (_, at) => `export const a${at} = b${at} < ${at};`).join('\n');
  const lines = (path: string, seed: number) => drawMutants(new Map([[path, source]]), seed, 5).map(({ line }) => line);
  assert.equal(lines('src/x.ts', 1).length, 5);
  assert.deepEqual(lines('src/y/x.ts', 1), lines('src/x.ts', 1));
  assert.notDeepEqual(lines('src/x.ts', 2), lines('src/x.ts', 1));
});

test('tests concern a file that they reach, nearest and most alike first', () => {
  const relevance = new Relevance(
    new Map([
      ['src/receipt.ts', 'export const readReceipt = 1;'],
      ['src/main.ts', "import './receipt.ts';"],
      ['test/server.ts', "spawn(new URL('../src/main.ts', import.meta.url));"],
      ['test/other.test.ts', "import './server.ts';\nconst calendar = 2;"],
      ['test/receipts.test.ts', "import './server.ts';\nconst receipt = 2;"],
      ['test/direct.test.ts', "import '#src/receipt.ts';"],
      ['test/far.test.ts', 'const receipt = 2;'],
    ]),
  );
  const expected = ['test/direct.test.ts', 'test/receipts.test.ts', 'test/other.test.ts'];
  assert.deepEqual(relevance.testsOf('src/receipt.ts'), expected);
});
