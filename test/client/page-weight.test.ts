/** What a page has to load for the client: its own code and the protocol's constants, nothing else. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';

const ROOT = new URL('../../', import.meta.url);
// An import whose every name is a type is erased with the types; `import type` says so at its start.
const VALUE_IMPORT = /^(?:import|export) (?!type\b)[^;]*?from '([^']+)';/gm;

/** The modules that are loaded when this one is, packages by their names. */
function loadedBy(start: string): Set<string> {
  const loaded = new Set<string>();
  const ahead = [new URL(start, ROOT).href];
  for (let url = ahead.pop(); url !== undefined; url = ahead.pop()) {
    if (loaded.has(url)) continue;
    loaded.add(url);
    if (!url.startsWith('file:')) continue;
    for (const [, specifier = ''] of readFileSync(new URL(url), 'utf8').matchAll(VALUE_IMPORT)) {
      if (specifier.startsWith('#src/')) ahead.push(new URL(`src/${specifier.slice('#src/'.length)}`, ROOT).href);
      else ahead.push(specifier.startsWith('.') ? new URL(specifier, url).href : `package:${specifier}`);
    }
  }
  return loaded;
}

test('the client loads no package and no schema', () => {
  const loaded = [...loadedBy('src/client/parley-client.ts')].map((url) => url.replace(ROOT.href, ''));
  assert.deepEqual(loaded.filter((path) => !path.startsWith('src/client/')).toSorted(), [
    'src/base/ids.ts',
    'src/base/time.ts',
    'src/protocol/errors.ts',
    'src/protocol/limits.ts',
    'src/protocol/sockets/close-codes.ts',
    'src/protocol/version.ts',
  ]);
});

test('a schema behind another module is found', () => {
  assert.ok(loadedBy('src/protocol/routes.ts').has('package:zod'));
});
