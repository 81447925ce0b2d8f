/** The runner of the tests: what passes only at the second attempt is named, and fails a run that nobody watches. */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import { fileURLToPath } from 'node:url';
import { temporaryFolder } from '#test/support/temporary-folder.ts';

const RUN = fileURLToPath(new URL('run.ts', import.meta.url));

/** Runs one file of a test that fails so many times before it passes. */
function runOf(context: TestContext, failures: number, ci: string | undefined, failure = "throw new Error('not yet')") {
  const folder = temporaryFolder(context);
  const [file, times] = [join(folder, 'unsteady.test.mjs'), join(folder, 'times')];
  writeFileSync(
    file,
    `import { appendFileSync, readFileSync } from 'node:fs';
    import { test } from 'node:test';
    appendFileSync(${JSON.stringify(times)}, 'x');
    test('one', () => {
      if (readFileSync(${JSON.stringify(times)}).length <= ${failures}) ${failure};
    });`,
  );
  // Node runs no tests from within a test, unless it does not know. The bundle of this run is there already.
  const { NODE_TEST_CONTEXT: _, CI: __, ...env } = process.env;
  const bundled = { TEST_BUNDLE: folder, ...env, ...(ci === undefined ? {} : { CI: ci }) };
  const { status, stdout } = spawnSync(process.execPath, [RUN, file], { env: bundled, encoding: 'utf8' });
  assert.ok(existsSync(times), stdout);
  return {
    status,
    runs: readFileSync(times).length,
    said: stdout,
    says: /^(?:unsteady|failed): .*$/m.exec(stdout)?.[0],
  };
}

test('a file that passes at once is run once', (t) => {
  const { said: _, ...run } = runOf(t, 0, 'true');
  assert.deepEqual(run, { status: 0, runs: 1, says: undefined });
});

test('a file that passes at the second attempt is unsteady: said to whoever looks, a failure in CI', (t) => {
  const here = runOf(t, 1, undefined);
  assert.deepEqual([here.status, here.runs], [0, 2]);
  assert.match(here.says ?? '', /^unsteady: .*unsteady\.test\.mjs$/);
  const there = runOf(t, 1, 'true');
  assert.deepEqual([there.status, there.runs], [1, 2]);
  assert.match(there.says ?? '', /^unsteady: .*unsteady\.test\.mjs$/);
});

test('a file that fails twice has failed, and has no third attempt', (t) => {
  const { status, runs, says } = runOf(t, 2, undefined);
  assert.deepEqual([status, runs], [1, 2]);
  assert.match(says ?? '', /^failed: .*unsteady\.test\.mjs$/);
});

test('a file that fails with a warning, and without a test that does, has it said at the end', (t) => {
  const { said, says } = runOf(t, 1, 'true', "process.emitWarning('too many of these')");
  assert.match(says ?? '', /^unsteady: .*unsteady\.test\.mjs$/);
  assert.match(said, /unsteady\.test\.mjs: A process warning fails this test file: Warning: too many of these/);
  assert.match(said, /unsteady\.test\.mjs ended with 1\./);
});

test('a folder stands for its tests, and one without any is no success', (t) => {
  const { NODE_TEST_CONTEXT: _, ...env } = process.env;
  const run = (folder: string) =>
    spawnSync(process.execPath, [RUN, folder], { env: { TEST_BUNDLE: temporaryFolder(t), ...env }, encoding: 'utf8' });
  const zones = run('test/calendar/zones');
  assert.deepEqual([zones.status, /^ℹ pass [1-9]/m.test(zones.stdout)], [0, true], zones.stdout);
  const support = run('test/support');
  assert.equal(support.status, 1, support.stdout);
  assert.match(support.stderr, /there is no test below test\/support/);
});
