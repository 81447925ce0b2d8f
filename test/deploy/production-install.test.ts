/** What `npm ci --omit=dev` installs, by the lock file: it runs the server, and is as large as the README says. */
import assert from 'node:assert/strict';
import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { cpSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync } from 'node:fs';
import { availableParallelism, tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { createInterface } from 'node:readline';
import { after, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { engineOptions } from '#src/cli/engine-options.ts';
import { deadline } from '#test/support/waiting.ts';

const ROOT = fileURLToPath(new URL('../../', import.meta.url));
const START_MILLIS = 60_000;
/** How far the stated size may be from what is found: other releases of tar and file systems round differently. */
const SIZE_TOLERANCE = 0.05;

const { packages } = JSON.parse(readFileSync(join(ROOT, 'package-lock.json'), 'utf8')) as {
  packages: Record<string, { readonly dev?: boolean; readonly devOptional?: boolean }>;
};
/** The folders of packages that a server has; those below another package go with that one. */
const installed = Object.entries(packages)
  .filter(([path, { dev, devOptional }]) => /^node_modules\/(?:@[^/]+\/)?[^/]+$/.test(path) && !dev && !devOptional)
  .map(([path]) => path)
  .filter((path) => existsSync(join(ROOT, path)));

const folder = mkdtempSync(join(tmpdir(), 'parley-production-'));
after(() => rmSync(folder, { recursive: true, force: true }));

test('the server runs with the packages of npm ci --omit=dev alone', async (t) => {
  for (const path of installed) {
    mkdirSync(join(folder, 'app', dirname(path)), { recursive: true });
    // What the server imports is looked for in the copy, and what a package imports where the package really is.
    symlinkSync(join(ROOT, path), join(folder, 'app', path));
  }
  for (const path of ['src', 'actors', 'storage', 'package.json']) {
    cpSync(join(ROOT, path), join(folder, 'app', path), { recursive: true });
  }
  const ports = { PARLEY_COORDINATOR_PORT: '0', PARLEY_MESSAGING_PORT: '0', PARLEY_CALENDAR_PORT: '0' };
  const child = spawn(process.execPath, ['src/cli/start.ts'], {
    cwd: join(folder, 'app'),
    env: { PARLEY_DATA: join(folder, 'data'), PARLEY_LANE_SIZE: '1', ...ports },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let said = '';
  child.stderr.on('data', (chunk: Buffer) => (said += chunk.toString('utf8')));
  t.after(() => child.kill('SIGKILL'));
  const gone = once(child, 'exit');
  const spoken = once(createInterface({ input: child.stdout }), 'line');
  const [ready] = (await deadline(Promise.race([spoken, gone]), START_MILLIS, 'the server')) as [unknown];
  assert.equal(typeof ready, 'string', `the server ended with ${String(ready)}: ${said}`);
  const { event, coordinator } = JSON.parse(ready as string) as { event: string; coordinator: string };
  assert.equal(event, 'ready');
  const words = readFileSync(`/proc/${child.pid}/cmdline`, 'utf8').split('\0');
  assert.deepEqual(words.slice(1, -2), engineOptions(availableParallelism()));
  assert.match(words.at(-2) ?? '', /src\/main\.ts$/);
  const health = (await (await fetch(`${coordinator}/healthz`)).json()) as { status: string };
  assert.equal(health.status, 'ok');
  // No build of the app is among them: the plain page says so.
  const page = await (await fetch(coordinator, { headers: { accept: 'text/html' } })).text();
  assert.match(page, /installed\s+without one of its own/);
  child.kill('SIGTERM');
  assert.deepEqual(await deadline(gone, START_MILLIS, 'the server to end'), [0, null]);
});

test('its size is the one that the README states', () => {
  const [, stated] = /`npm ci --omit=dev` installs (\d+) MB/.exec(readFileSync(join(ROOT, 'README.md'), 'utf8')) ?? [];
  const kib = execFileSync('du', ['-skc', ...installed], { cwd: ROOT, encoding: 'utf8' });
  const found = Number(/^(\d+)\ttotal$/m.exec(kib)?.[1]) / 1024;
  assert.ok(Math.abs(found / Number(stated) - 1) <= SIZE_TOLERANCE, `README: ${stated} MB; found: ${found} MB`);
});
