/** Holds that the linter runs with types: without tsgolint its best rules would be silently off. */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { copyFileSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { ROOT } from './source.ts';

const folder = mkdtempSync(join(tmpdir(), 'parley-lint-'));
after(() => rmSync(folder, { recursive: true }));
for (const file of ['.oxlintrc.json', 'tsconfig.json']) copyFileSync(join(ROOT, file), join(folder, file));
symlinkSync(join(ROOT, 'node_modules'), join(folder, 'node_modules'));
mkdirSync(join(folder, 'src'));

/** The rules that a source breaks, as the linter names them. */
function brokenRules(source: string): string[] {
  writeFileSync(join(folder, 'src', 'example.ts'), source);
  const linter = join(ROOT, 'node_modules', '.bin', 'oxlint');
  const { stdout } = spawnSync(linter, ['--type-aware', '--format=unix'], { cwd: folder, encoding: 'utf8' });
  return [...new Set([...stdout.matchAll(/\[\w+\/([^\]]+)\]/g)].map(([, rule]) => rule ?? ''))].toSorted();
}

const CASES: readonly [rule: string, source: string][] = [
  ['typescript(no-floating-promises)', 'export const later = async () => 1;\nlater();\n'],
  ['typescript(no-misused-promises)', 'export const each = () => [1].forEach(async () => await fetch("x"));\n'],
  [
    'typescript(switch-exhaustiveness-check)',
    "export function say(word: 'a' | 'b'): number {\n  switch (word) {\n    case 'a':\n      return 1;\n  }\n  return 2;\n}\n",
  ],
  ['typescript(consistent-type-imports)', "import { Worker } from 'node:worker_threads';\nexport type W = Worker;\n"],
  ['typescript(no-explicit-any)', 'export const a: any = 1;\n'],
  ['import(no-default-export)', 'export default 1;\n'],
  ['eslint(eqeqeq)', 'export const same = (a: number, b: number) => a == b;\n'],
];

for (const [rule, source] of CASES) {
  test(`the linter finds ${rule}`, () => {
    assert.deepEqual(brokenRules(source), [rule]);
  });
}

test('the linter passes what is right', () => {
  assert.deepEqual(brokenRules('export const later = async () => 1;\nawait later();\n'), []);
});
