/** `npm start`, as whoever installs the server runs it: from the sources, with nothing bundled and nothing in between. */
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { temporaryFolder } from '#test/support/temporary-folder.ts';
import { deadline } from '#test/support/waiting.ts';

const ROOT = fileURLToPath(new URL('../../', import.meta.url));
const START_MILLIS = 60_000;

test('npm start runs a server from the sources, and SIGTERM ends it', async (t) => {
  const { NODE_COMPILE_CACHE: _, ...inherited } = process.env;
  const ports = { PARLEY_COORDINATOR_PORT: '0', PARLEY_MESSAGING_PORT: '0', PARLEY_CALENDAR_PORT: '0' };
  const small = { PARLEY_LANES: '4', PARLEY_LANE_SIZE: '1', PARLEY_DRAIN_SECONDS: '1' };
  const environment = { ...inherited, ...ports, ...small, PARLEY_DATA: temporaryFolder(t) };
  // A group of its own: npm has the server as a child, and the whole ends together whatever becomes of the test.
  const child = spawn('npm', ['start'], {
    cwd: ROOT,
    env: environment,
    stdio: ['ignore', 'pipe', 'pipe'],
    detached: true,
  });
  // Its outputs close when the last of the group has ended.
  const gone = once(child, 'close');
  let isGone = false;
  child.once('close', () => (isGone = true));
  const group = -(child.pid as number);
  t.after(() => {
    if (!isGone) process.kill(group, 'SIGKILL');
  });
  const said: string[] = [];
  const ready = Promise.withResolvers<Record<'coordinator' | 'messaging' | 'calendar', string>>();
  child.once('exit', () => ready.reject(new Error(said.join('\n'))));
  for (const output of [child.stdout, child.stderr]) {
    createInterface({ input: output }).on('line', (line) => {
      said.push(line);
      if (line.startsWith('{"event":"ready"')) ready.resolve(JSON.parse(line));
    });
  }
  const { calendar, coordinator, messaging } = await deadline(ready.promise, START_MILLIS, 'the server');
  assert.ok(said.includes('> node src/cli/start.ts'), said.join('\n'));
  for (const url of [coordinator, messaging, calendar]) assert.equal((await fetch(`${url}/healthz`)).status, 200);
  process.kill(group, 'SIGTERM');
  await deadline(gone, START_MILLIS, 'the server to end');
});
