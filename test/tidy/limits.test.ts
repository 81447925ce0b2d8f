/** Holds that every limit is applied somewhere and told to client authors. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { readLimitComments } from '#src/cli/docs/tables.ts';
import * as limits from '#src/protocol/limits.ts';
import { ROOT, skeletonOf, typescriptSources } from './source.ts';

const names = Object.keys(limits);
const source = readFileSync(`${ROOT}src/protocol/limits.ts`, 'utf8');

/** The names that stand in no code: a limit that is only imported or only talked about limits nothing. */
function unapplied(wanted: readonly string[], sources: Iterable<string>): string[] {
  const codes = [...sources].map((text) => skeletonOf(text).code.replaceAll(/^import\b[^;]*;/gm, ''));
  return wanted.filter((name) => !codes.some((code) => new RegExp(`\\b${name}\\b`).test(code)));
}

test('every limit is applied in the server', () => {
  const server = [...typescriptSources()].filter(
    ([path]) =>
      /^(?:src|actors|storage)\//.test(path) && !/^src\/(?:cli|client)\/|^src\/protocol\/limits\.ts$/.test(path),
  );
  assert.deepEqual(
    unapplied(
      names,
      server.map(([, text]) => text),
    ),
    [],
  );
});

test('a limit that nobody applies is found', () => {
  const sources = ["import { A_MAX } from './limits.ts';\n// B_MAX\nuse('B_MAX', C_MAX);"];
  assert.deepEqual(unapplied(['A_MAX', 'B_MAX', 'C_MAX'], sources), ['A_MAX', 'B_MAX']);
});

test('every limit is named in docs/protocol.md', () => {
  const page = readFileSync(`${ROOT}docs/protocol.md`, 'utf8');
  assert.deepEqual(
    names.filter((name) => !page.includes(`\`${name}\``)),
    [],
  );
});

test('every limit has a reason in its comment', () => {
  const comments = readLimitComments(source);
  assert.deepEqual(comments.map(({ name }) => name).toSorted(), names.toSorted());
  assert.deepEqual(
    comments.filter(({ say }) => say.length < 20).map(({ name }) => name),
    [],
  );
});

test('a limit’s comment is read with what lies beyond it', () => {
  const text =
    '/** About the file. */\n\n/**\n * Long\n * words. [too_long]\n */\nexport const A = 1;\nexport const B = 2;\n';
  assert.deepEqual(readLimitComments(text), [
    { name: 'A', say: 'Long words.', beyond: 'too_long' },
    { name: 'B', say: 'Long words.', beyond: 'too_long' },
  ]);
});
