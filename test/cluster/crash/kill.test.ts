/** `npm run cluster-crash -- --in-turn` from its first line to its last. */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { unlessInstalled } from '#test/support/real-program.ts';

const PROGRAM = fileURLToPath(new URL('./run.ts', import.meta.url));

test(
  'CLU-01 a chat over two hosts goes on while three NATS servers and both hosts are killed in turn, and loses nothing',
  { skip: unlessInstalled('nats-server', ['--version']) },
  () => {
    const program = [PROGRAM, '--in-turn', '--seed', '18'];
    const { status, stderr, stdout } = spawnSync(process.execPath, program, { encoding: 'utf8' });
    const said = stdout + stderr;
    assert.equal(status, 0, said);
    assert.equal([...said.matchAll(/^.+ was killed and is back; /gm)].length, 5, said);
    assert.match(said, /^No losses \(seed 18\)\.$/m, said);
  },
);
