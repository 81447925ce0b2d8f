/** `npm run cluster-crash -- --in-turn` from its first line to its last. */
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { unlessInstalled } from '#test/support/real-program.ts';

const PROGRAM = fileURLToPath(new URL('./run.ts', import.meta.url));

test(
  'CLU-01 a chat over two hosts goes on while three NATS servers and both hosts are killed in turn, and loses nothing',
  { skip: unlessInstalled('nats-server', ['--version']) },
  async () => {
    const child = spawn(process.execPath, [PROGRAM, '--in-turn', '--seed', '18'], {
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    let said = '';
    for (const stream of [child.stdout, child.stderr])
      stream.on('data', (chunk: Buffer) => (said += chunk.toString('utf8')));
    const [code] = (await once(child, 'close')) as [number | null];
    assert.equal(code, 0, said);
    assert.equal([...said.matchAll(/^.+ was killed and is back; /gm)].length, 5, said);
    assert.match(said, /^No losses \(seed 18\)\.$/m, said);
  },
);
