/** Holds that nothing is skipped where a change is judged: `.ci/run` installs each program that a test is skipped without. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { readAll, typescriptSources } from './source.ts';

/** What every Debian has, so that it needs no installing. */
const ESSENTIAL = new Set(['dash']);
/** Programs that come in the package of another one. */
const TOGETHER: Readonly<Record<string, string>> = { prometheus: 'promtool' };

/** The programs that tests look for and are skipped without. */
function programsOf(sources: ReadonlyMap<string, string>): Set<string> {
  const found = [...sources].flatMap(([, source]) => [...source.matchAll(/\bunlessInstalled\('([\w-]+)'/g)]);
  const names = found.map(([, name = '']) => TOGETHER[name] ?? name).filter((name) => !ESSENTIAL.has(name));
  const usesChromium = [...sources].some(([, source]) => /\bfindChromium\(\)/.test(source));
  // Most of these tests drive the shell where there is one, because it is less work.
  return new Set([...names, ...(usesChromium ? ['chromium', 'chromium-headless-shell'] : [])]);
}

/** The programs that a script of CI installs where they are missing. */
function installedBy(script: string): Set<string> {
  return new Set([...script.matchAll(/^ {2}\[([\w-]+)\]=/gm)].map(([, name = '']) => name));
}

test('what tests are skipped without is installed where changes are judged, and nothing else', () => {
  const tests = new Map([...typescriptSources()].filter(([path]) => path.startsWith('test/')));
  tests.delete('test/tidy/programs.test.ts');
  assert.deepEqual(installedBy(readAll(['.ci/run']).get('.ci/run') ?? ''), programsOf(tests));
});

test('a program that nobody installs is found', () => {
  const sources = new Map([
    ['a.test.ts', "test('x', { skip: unlessInstalled('promtool', ['--version']) }, y);\nconst c = findChromium();"],
    ['b.test.ts', "unlessInstalled('prometheus', []); unlessInstalled('dash', []);"],
  ]);
  assert.deepEqual(programsOf(sources), new Set(['promtool', 'chromium', 'chromium-headless-shell']));
  assert.deepEqual(installedBy('packages=(\n  [nginx]=nginx-light\n  [a-b]=c\n)\n'), new Set(['nginx', 'a-b']));
});
