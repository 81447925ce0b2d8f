/** Holds that each room says what it is for, and that each page has one title. */
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
