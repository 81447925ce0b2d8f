/** Holds the size and the names of files: one noun each, kebab-case, short enough to read in one sitting. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { importsOf, projectFiles, skeletonOf, typescriptSources } from './source.ts';

/** A question to whoever writes a file, not a wall: a noun that needs more lines than this is two nouns. */
const LINES_MAX = 600;

/** Files of production code beside each other: as many as a reader takes in at a glance. */
const FILES_PER_FOLDER_MAX = 25;

/** Names that say nothing about what is inside, and attract whatever has no home. */
const SHAPELESS = new Set(['common', 'helper', 'helpers', 'index', 'misc', 'shared', 'types', 'util', 'utils']);

/** File names whose spelling is somebody else's convention. */
const CONVENTIONAL = new Set(['README.md', 'CHANGELOG.md', 'SECURITY.md', 'LICENSE', 'Dockerfile']);

function nameFault(path: string): string | undefined {
  const parts = path.split('/');
  const file = parts.at(-1) ?? '';
  const named = CONVENTIONAL.has(file) ? parts.slice(0, -1) : parts;
  const odd = named.find((part) => !/^\.?[a-z0-9]+(?:[-.][a-z0-9]+)*$/.test(part));
  if (odd !== undefined) return `${path}: ${odd} is not kebab-case`;
  const shapeless = named.find((part) => SHAPELESS.has(part.split('.')[0] ?? ''));
  return shapeless === undefined ? undefined : `${path}: name it for the one thing it holds, not ${shapeless}`;
}

function lengthFault(path: string, source: string): string | undefined {
  const lines = source.split('\n').length - 1;
  return lines > LINES_MAX ? `${path} has ${lines} lines: split it by noun, ${LINES_MAX} at most` : undefined;
}

/** The folders of production code with more files beside each other than a reader takes in. */
function crowdedFolders(paths: Iterable<string>): string[] {
  const counts = new Map<string, number>();
  for (const path of paths) {
    if (!/^(?:src|actors|storage)\//.test(path)) continue;
    const folder = path.slice(0, path.lastIndexOf('/'));
    counts.set(folder, (counts.get(folder) ?? 0) + 1);
  }
  return [...counts]
    .filter(([, count]) => count > FILES_PER_FOLDER_MAX)
    .map(([folder, count]) => `${folder}: ${count}`);
}

/** What a package has for other projects is gathered in one place; within the project nobody imports from there. */
const PACKAGE = 'src/client/package/';

/** A file that only passes on what others export. */
function barrelFault(path: string, source: string): string | undefined {
  if (path.startsWith(PACKAGE)) return undefined;
  const { code } = skeletonOf(source);
  const rest = code.replaceAll(/^export\s+(?:type\s+)?(?:\*(?:\s+as\s+\w+)?|\{[^}]*\})\s+from\s+"\d+";?$/gm, '');
  const passesOn = rest !== code;
  return passesOn && rest.trim() === '' ? `${path} is a barrel: import from the file that has it` : undefined;
}

const kept = (fault: string | undefined) => (fault === undefined ? [] : [fault]);

test('files have names that say what they hold', () => {
  const faults = projectFiles().flatMap((path) => kept(nameFault(path)));
  assert.deepEqual(faults, []);
});

test('sources are short and hold something of their own', () => {
  const faults = [...typescriptSources()].flatMap(([path, source]) => [
    ...kept(lengthFault(path, source)),
    ...kept(barrelFault(path, source)),
  ]);
  assert.deepEqual(faults, []);
});

test('nothing imports what is gathered for other projects', () => {
  const importing = [...typescriptSources()].filter(([, source]) =>
    importsOf(source).some(({ specifier }) => specifier.includes('client/package/')),
  );
  assert.deepEqual(
    importing.map(([path]) => path),
    [],
  );
});

test('no folder of production code is crowded', () => {
  assert.deepEqual(crowdedFolders(typescriptSources().keys()), []);
});

test('a crowded folder is found', () => {
  const files = (count: number) => Array.from({ length: count }, (_, at) => `src/base/file-${at}.ts`);
  assert.deepEqual(crowdedFolders(files(25)), []);
  assert.deepEqual(crowdedFolders(files(26)), ['src/base: 26']);
});

test('bad names are found', () => {
  assert.match(nameFault('src/base/someThing.ts') ?? '', /not kebab-case/);
  assert.match(nameFault('src/Base/thing.ts') ?? '', /not kebab-case/);
  assert.match(nameFault('src/base/snake_case.ts') ?? '', /not kebab-case/);
  assert.match(nameFault('src/base/utils.ts') ?? '', /name it for the one thing/);
  assert.match(nameFault('src/helpers/thing.ts') ?? '', /name it for the one thing/);
  assert.match(nameFault('test/support/index.test.ts') ?? '', /name it for the one thing/);
  assert.equal(nameFault('src/protocol/sockets/close-codes.ts'), undefined);
  assert.equal(nameFault('actors/conversation/conversation.state.ts'), undefined);
  assert.equal(nameFault('.ci/run'), undefined);
  assert.equal(nameFault('src/base/README.md'), undefined);
});

test('a file one line too long is found', () => {
  assert.equal(lengthFault('a.ts', 'x\n'.repeat(600)), undefined);
  assert.match(lengthFault('a.ts', 'x\n'.repeat(601)) ?? '', /601 lines/);
});

test('a barrel is found', () => {
  assert.match(
    barrelFault('a.ts', "/** All. */\nexport * from './b.ts';\nexport { c } from './c.ts';\n") ?? '',
    /barrel/,
  );
  assert.equal(barrelFault('a.ts', "export { c } from './c.ts';\nexport const d = 1;\n"), undefined);
});
