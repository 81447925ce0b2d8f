/** Holds the lock file: whole, so that `npm ci` takes it, and exact, so that it always installs the same. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { ROOT } from './source.ts';

interface Package {
  readonly version?: string;
  readonly dependencies?: Readonly<Record<string, string>>;
  readonly devDependencies?: Readonly<Record<string, string>>;
  readonly optionalDependencies?: Readonly<Record<string, string>>;
}

const { packages } = JSON.parse(readFileSync(`${ROOT}package-lock.json`, 'utf8')) as {
  packages: Record<string, Package>;
};

/** Dependencies without an entry: those for other platforms too, since `npm ci` refuses a lock file without them. */
function missingEntries(locked: Readonly<Record<string, Package>>): string[] {
  const names = new Set(Object.keys(locked).map((path) => path.replace(/^.*node_modules\//, '')));
  return Object.entries(locked).flatMap(([path, { dependencies, optionalDependencies }]) =>
    Object.keys({ ...dependencies, ...optionalDependencies })
      .filter((name) => !names.has(name))
      .map((name) => `${path || 'package.json'} wants ${name}`),
  );
}

/** What the server runs on, where a range instead of one version would let an upgrade in unseen. */
function unpinned(root: Package): string[] {
  const all = { ...root.dependencies, ...root.optionalDependencies };
  return Object.keys(all).filter((name) => !/^(?:npm:[\w@./-]+@)?\d+\.\d+\.\d+$/.test(all[name] ?? ''));
}

test('the lock file has every dependency of every platform', () => {
  assert.deepEqual(missingEntries(packages), []);
});

test('what the server runs on is pinned to one version each', () => {
  assert.deepEqual(unpinned(packages[''] ?? {}), []);
});

test('an incomplete or loose lock file is found', () => {
  const locked = {
    '': { dependencies: { a: '1.0.0', b: '^1.0.0', c: 'npm:d@2.0.0' }, optionalDependencies: { e: '*' } },
    'node_modules/a': { optionalDependencies: { 'a-darwin': '1.0.0' } },
    'node_modules/b': { dependencies: { a: '*' } },
    'node_modules/c': {},
    'node_modules/b/node_modules/e': {},
  };
  assert.deepEqual(missingEntries(locked), ['node_modules/a wants a-darwin']);
  assert.deepEqual(unpinned(locked['']), ['b', 'e']);
});
