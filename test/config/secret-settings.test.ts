/** Settings that are secrets: read like any other, and repeated by no message. */
import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { ConfigError, readConfig } from '#src/config.ts';
import { temporaryFolder } from '#test/support/temporary-folder.ts';

test('the master key is 64 hex digits from the environment or a file', (t) => {
  const key = 'aB'.repeat(32);
  assert.equal(readConfig({}).masterKey, undefined);
  assert.equal(readConfig({ PARLEY_MASTER_KEY: key }).masterKey, key);
  const path = join(temporaryFolder(t), 'master-key');
  writeFileSync(path, `${key}\n`);
  assert.equal(readConfig({ PARLEY_MASTER_KEY_FILE: path }).masterKey, key);
});

test('a master key that is none stops the start, and is not repeated', (t) => {
  const path = join(temporaryFolder(t), 'settings.json');
  writeFileSync(path, JSON.stringify({ masterKey: 'sesame' }));
  for (const environment of [
    { PARLEY_MASTER_KEY: 'sesame' },
    { PARLEY_MASTER_KEY: `sesame${'0'.repeat(58)}` },
    { PARLEY_MASTER_KEY: '0'.repeat(65) },
    { PARLEY_CONFIG: path },
  ]) {
    assert.throws(
      () => readConfig(environment),
      (error) =>
        error instanceof ConfigError &&
        /(?:PARLEY_MASTER_KEY|masterKey) is not valid: must be 64 hex digits\./.test(error.message) &&
        !/sesame|0{58}/.test(error.message),
    );
  }
});
