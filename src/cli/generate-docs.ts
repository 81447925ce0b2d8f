/**
 * Writes the generated documents, or with `--check` says which of them are out of date (exit 1):
 * OpenAPI, AsyncAPI, the frozen error list, the metrics, and the tables inside README.md and docs/protocol.md.
 */
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { staleDocuments } from './docs/documents.ts';

const ROOT = new URL('../../', import.meta.url);

function read(path: string): string | undefined {
  const file = new URL(path, ROOT);
  return existsSync(file) ? readFileSync(file, 'utf8') : undefined;
}

const { values } = parseArgs({ options: { check: { type: 'boolean', default: false } } });
const stale = staleDocuments(read);
if (stale.size === 0) console.log('The generated documents are up to date.');
for (const [path, content] of stale) {
  if (values.check) {
    console.error(`${path} is out of date: run “npm run docs” and commit the result.`);
    process.exitCode = 1;
  } else {
    writeFileSync(new URL(path, ROOT), content);
    console.log(`Wrote ${path}.`);
  }
}
