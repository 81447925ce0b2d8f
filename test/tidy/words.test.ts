/** Holds the names of what is exported, and of files, to the glossary: a word that it puts aside is in none of them. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { projectFiles, ROOT, skeletonOf, typescriptSources } from './source.ts';

/** Names that are the wire's, or somebody else's library's, and stay. */
const EXEMPT = new Set<string>([]);

/** The words that a glossary puts aside, with what it says instead: the rows below `| Not this | Say |`. */
function bannedWords(glossary: string): Map<string, string> {
  const rows = glossary.split('| Not this | Say |')[1]?.split('\n').slice(2) ?? [];
  return new Map(
    rows.flatMap((row) => {
      const [, word, instead] = /^\| (\w+) \| (.+) \|$/.exec(row) ?? [];
      return word === undefined || instead === undefined ? [] : [[word, instead] as const];
    }),
  );
}

/** `AttachmentDoorOptions`, `DOOR_MAX`, `lmtp-door.ts` → their words in lower case. */
function wordsOf(name: string): string[] {
  const parts = name.replaceAll(/([a-z0-9])([A-Z])/g, '$1 $2').split(/[^A-Za-z0-9]+/);
  return [...parts.map((part) => part.toLowerCase()), name.toLowerCase()];
}

function faultsOf(path: string, source: string, banned: ReadonlyMap<string, string>): string[] {
  const file = path.split('/').at(-1) ?? '';
  const exported = [
    ...skeletonOf(source).code.matchAll(
      /^export (?:async )?(?:abstract )?(?:class|function\*?|const|interface|type) (\w+)/gm,
    ),
  ];
  const names = [...file.split('.').slice(0, 1), ...exported.map(([, name = '']) => name)];
  return names
    .filter((name) => !EXEMPT.has(name))
    .flatMap((name) =>
      wordsOf(name).flatMap((word) => {
        const instead = banned.get(word);
        return instead === undefined ? [] : [`${path}: ${name} has “${word}”: say ${instead}`];
      }),
    );
}

const BANNED = bannedWords(readFileSync(join(ROOT, 'docs/glossary.md'), 'utf8'));

test('exported names and files keep to the glossary', () => {
  const isProduction = (path: string) => /^(?:src|actors|storage)\//.test(path);
  const faults = [...typescriptSources()].flatMap(([path, source]) =>
    isProduction(path) ? faultsOf(path, source, BANNED) : [],
  );
  assert.deepEqual(faults, []);
});

test('the glossary is read, and a word that it puts aside is found', () => {
  assert.ok(BANNED.size >= 15, `${BANNED.size} words`);
  assert.ok(projectFiles().includes('docs/glossary.md'));
  const banned = new Map([['door', 'client']]);
  assert.deepEqual(faultsOf('src/a/lmtp-door.ts', '', banned), [
    'src/a/lmtp-door.ts: lmtp-door has “door”: say client',
  ]);
  assert.deepEqual(faultsOf('src/a/b.ts', 'export class DavDoor {}', banned), [
    'src/a/b.ts: DavDoor has “door”: say client',
  ]);
  assert.deepEqual(faultsOf('src/a/b.ts', 'const door = 1; // a door\nexport const indoors = 1;', banned), []);
});
