/** Holds that each room says what it is for, that each page has one title, and that the files and tests that pages name are there. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { projectFiles, readAll } from './source.ts';

/** The folders that are rooms: each under `src` and `actors`, and `storage`, `bench` and `test` themselves. */
function roomsOf(files: readonly string[]): string[] {
  const rooms = files.flatMap((path) => {
    const [top = '', second = '', ...rest] = path.split('/');
    if (top === 'src' || top === 'actors') return rest.length > 0 ? [`${top}/${second}`] : [];
    return ['storage', 'bench', 'test'].includes(top) && second !== '' ? [top] : [];
  });
  return [...new Set(rooms)].toSorted();
}

function roomsWithoutReadme(files: readonly string[]): string[] {
  return roomsOf(files).filter((room) => !files.includes(`${room}/README.md`));
}

/** The titles of a Markdown page, those inside code fences left out. */
function titlesOf(page: string): string[] {
  return page.replaceAll(/^(`{3,}|~{3,})[\s\S]*?^\1/gm, '').match(/^# .+$/gm) ?? [];
}

test('every room has a README.md', () => {
  assert.deepEqual(roomsWithoutReadme(projectFiles()), []);
});

test('every page has exactly one title, on its first line', () => {
  const pages = readAll(projectFiles().filter((path) => path.endsWith('.md')));
  const faults = [...pages]
    .filter(([, page]) => titlesOf(page).length !== 1 || !page.startsWith('# '))
    .map(([path, page]) => `${path} has ${titlesOf(page).length} titles`);
  assert.deepEqual(faults, []);
});

test('a room without a README.md is found', () => {
  const files = [
    'src/main.ts',
    'src/base/ids.ts',
    'actors/call/call.ts',
    'storage/engine/lane.ts',
    'src/base/README.md',
  ];
  assert.deepEqual(roomsOf(files), ['actors/call', 'src/base', 'storage']);
  assert.deepEqual(roomsWithoutReadme(files), ['actors/call', 'storage']);
});

test('titles are counted outside code fences only', () => {
  assert.deepEqual(titlesOf('# One\n\n```sh\n# a comment\n```\n\n## Part\n'), ['# One']);
  assert.deepEqual(titlesOf('# One\n\n# Two\n'), ['# One', '# Two']);
  assert.deepEqual(titlesOf('No title\n'), []);
});

/** What a page names as a file of the project: `conversation.ts`, `http/web-page.ts`, `src/main.ts`. */
function namedFiles(page: string): string[] {
  return [...page.matchAll(/`([\w./-]+\.(?:ts|html|md))`/g)].map(([, name = '']) => name);
}

/** Files that a page names and that nobody has: the end of some file's path must be what it says. */
function missingFiles(page: string, files: readonly string[]): string[] {
  return namedFiles(page).filter((name) => !files.some((file) => file === name || file.endsWith(`/${name}`)));
}

test('a README and a page about the structure name files that are there', () => {
  const files = projectFiles();
  const pages = files.filter((path) =>
    /^(?:src|actors|storage|test|bench)\/.*README\.md$|^docs\/architecture\.md$/.test(path),
  );
  const faults = [...readAll(pages)].flatMap(([path, page]) =>
    missingFiles(page, files).map((name) => `${path} names ${name}`),
  );
  assert.deepEqual(faults, []);
});

test('a file that is named and not there is found', () => {
  const files = ['src/base/ids.ts', 'storage/engine/lane.ts'];
  assert.deepEqual(missingFiles('See `ids.ts`, `engine/lane.ts` and `src/base/ids.ts`.', files), []);
  assert.deepEqual(missingFiles('See `gone.ts` and `base/lane.ts`.', files), ['gone.ts', 'base/lane.ts']);
});

/** Tests that a page names by their paths and that are not there: `test/tidy`, `test/tidy/readmes.test.ts`. */
function missingTests(page: string, files: readonly string[]): string[] {
  const named = [...page.matchAll(/(?<![\w./-])test\/[\w./-]*\w/g)].map(([name]) => name);
  return named.filter((name) => !files.some((file) => file === name || file.startsWith(`${name}/`)));
}

/** The rows of a page's tables whose last cell names no test. */
function rowsWithoutTest(page: string): string[] {
  const rows = page
    .split('\n')
    .filter((line, at, lines) => line.startsWith('| ') && !lines[at + 1]?.startsWith('| ---'));
  return rows.filter((row) => !/`test\/[\w./-]+`[^|]* \|$/.test(row) && !row.startsWith('| ---'));
}

test('every test that a page for readers names is there', () => {
  const files = projectFiles();
  const pages = files.filter((path) => /^(?:docs\/.*|README|\.github\/SECURITY)\.md$/.test(path));
  assert.ok(pages.includes('docs/security.md') && pages.includes('.github/SECURITY.md'));
  const faults = [...readAll(pages)].flatMap(([path, page]) =>
    missingTests(page, files).map((name) => `${path} names ${name}`),
  );
  assert.deepEqual(faults, []);
});

test('every row of the threat model names the test that holds it', () => {
  const page = readAll(['docs/security.md']).get('docs/security.md') ?? '';
  assert.ok(page.split('\n').filter((line) => line.startsWith('| ')).length > 30);
  assert.deepEqual(rowsWithoutTest(page), []);
});

test('a test that is named and not there, and a row without one, are found', () => {
  const files = ['test/tidy/readmes.test.ts', 'test/run.ts'];
  assert.deepEqual(missingTests('By `test/tidy/readmes.test.ts`, test/run.ts and `test/tidy`.', files), []);
  assert.deepEqual(missingTests('By `test/tidy/gone.test.ts` and test/gone.', files), [
    'test/tidy/gone.test.ts',
    'test/gone',
  ]);
  const table = '| Claim | Held by |\n| --- | --- |\n| one | `test/run.ts` |\n| two | nobody |\n';
  assert.deepEqual(rowsWithoutTest(table), ['| two | nobody |']);
});
