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
  readonly engines?: { readonly node?: string };
  readonly hasInstallScript?: boolean;
  readonly name?: string;
  readonly optional?: boolean;
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

/** The packages that npm warns of on the Node 20 of a host, as it names them; those of other systems are left out. */
function warnedOf(locked: Readonly<Record<string, Package>>): string[] {
  const takesHost = (range: string) =>
    range.split('||').some((part) => {
      const [, bound = '', major = '0'] = /^\s*(>=|[\^~]?)\s*v?(\d+)?/.exec(part) ?? [];
      return bound === '>=' ? Number(major) <= 20 : ['0', '20'].includes(major);
    });
  return Object.entries(locked)
    .filter(([path, { engines, optional }]) => path !== '' && optional !== true && !takesHost(engines?.node ?? '*'))
    .map(([path, { name, version }]) => `${name ?? path.replace(/^.*node_modules\//, '')}@${version}`);
}

/** Packages with an install script that package.json neither allows nor denies, which npm 11 names after each install. */
function undecidedScripts(locked: Readonly<Record<string, Package>>, decided: object): string[] {
  return Object.entries(locked)
    .filter(([, { hasInstallScript }]) => hasInstallScript === true)
    .map(([path]) => path.replace(/^.*node_modules\//, ''))
    .filter((name) => !(name in decided));
}

test('the lock file has every dependency of every platform', () => {
  assert.deepEqual(missingEntries(packages), []);
});

test('what the server runs on is pinned to one version each', () => {
  assert.deepEqual(unpinned(packages[''] ?? {}), []);
});

test('npm on Node 20 warns of what the README shows, and of nothing else', () => {
  const readme = readFileSync(`${ROOT}README.md`, 'utf8');
  const shown = [...readme.matchAll(/^npm warn EBADENGINE {3}package: '(.+)',$/gm)].map(([, name]) => name);
  assert.deepEqual(warnedOf(packages), shown);
});

test('every install script is denied or allowed, so that npm has nothing to say of it', () => {
  const { allowScripts } = JSON.parse(readFileSync(`${ROOT}package.json`, 'utf8')) as { allowScripts: object };
  assert.deepEqual(undecidedScripts(packages, allowScripts), []);
});

test('what npm would warn of is found', () => {
  const locked = {
    '': { engines: { node: '>=22.18 <23' } },
    'node_modules/a': { version: '1.0.0', engines: { node: '>=22' } },
    'node_modules/b': { name: 'c', version: '2.0.0', engines: { node: '18 || ^22.1.0' }, hasInstallScript: true },
    'node_modules/d': { version: '1.0.0', engines: { node: '18 || 20 || >=22' }, hasInstallScript: true },
    'node_modules/e': { version: '1.0.0', engines: { node: '^20.19.0 || >=22.12.0' } },
    'node_modules/f': { version: '1.0.0', engines: { node: '>= 0.6' } },
    'node_modules/g': { version: '1.0.0', engines: { node: '>=22' }, optional: true },
    'node_modules/h': { version: '1.0.0', engines: { node: '*' } },
  };
  assert.deepEqual(warnedOf(locked), ['a@1.0.0', 'c@2.0.0']);
  assert.deepEqual(undecidedScripts(locked, { b: false }), ['d']);
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
