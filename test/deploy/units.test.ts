/** The units for systemd in `docs/deploy`, judged by systemd's own programs, which need no systemd that runs. */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { SETTINGS } from '#src/config.ts';
import { temporaryFolder } from '#test/support/temporary-folder.ts';
import { readDeployed } from './proxy.ts';
import { unlessInstalled } from '#test/support/real-program.ts';

const ROOT = fileURLToPath(new URL('../../', import.meta.url)).replace(/\/$/, '');
const UNITS = readdirSync(new URL('../../docs/deploy/systemd/', import.meta.url)).filter((name) =>
  /\.(?:service|timer)$/.test(name),
);
/** The exposure, in tenths, that `systemd-analyze security` may find: 0 is none, 100 is a program of root without any bounds. */
const EXPOSURE_MAX = 20;

const skip = unlessInstalled('systemd-analyze', ['--version']);

/** One value of a unit, by its key. */
function valueOf(unit: string, key: string): string {
  const [, value = ''] = new RegExp(`^${key}=(.*)$`, 'm').exec(readDeployed(`systemd/${unit}`)) ?? [];
  return value;
}

test('systemd-analyze finds no fault in the units, with the programs that they start', { skip }, (t) => {
  const folder = temporaryFolder(t);
  for (const unit of UNITS) {
    writeFileSync(join(folder, unit), readDeployed(`systemd/${unit}`).replaceAll('/opt/parley', ROOT));
  }
  const { status, stderr } = spawnSync('systemd-analyze', ['verify', ...UNITS.map((unit) => join(folder, unit))], {
    encoding: 'utf8',
  });
  // What the machine's own units are warned of is not about these.
  const ours = stderr.split('\n').filter((line) => line.includes('parley'));
  assert.deepEqual([status, ours], [0, []]);
  assert.equal(UNITS.length, 3);
});

test('the services are as confined as they can be', { skip }, (t) => {
  const folder = temporaryFolder(t);
  for (const unit of UNITS.filter((name) => name.endsWith('.service'))) {
    const path = join(folder, unit);
    writeFileSync(path, readDeployed(`systemd/${unit}`));
    const args = ['security', '--offline=true', `--threshold=${EXPOSURE_MAX}`, '--no-pager', path];
    const { status, stdout } = spawnSync('systemd-analyze', args, { encoding: 'utf8' });
    assert.equal(status, 0, stdout);
    // The compiler of JavaScript writes code into memory: with this the server would not start.
    assert.equal(valueOf(unit, 'MemoryDenyWriteExecute'), '');
  }
});

test('the service gives the server the time that a stop takes, and the units name one data folder and one of backups', () => {
  assert.ok(Number.parseInt(valueOf('parley.service', 'TimeoutStopSec'), 10) > 2 * SETTINGS.drainSeconds.default);
  assert.match(readDeployed('systemd/parley.service'), /^Environment=PARLEY_DATA=\/var\/lib\/parley$/m);
  assert.equal(valueOf('parley.service', 'StateDirectory'), 'parley');
  assert.equal(valueOf('parley.service', 'ReadWritePaths'), '-/var/backups/parley');
  assert.equal(valueOf('parley-backup.service', 'ReadWritePaths'), '/var/backups/parley /var/lib/parley');
  assert.match(valueOf('parley-backup.service', 'ExecStart'), / \/var\/backups\/parley 14$/);
});

const noShell = unlessInstalled('dash', ['-c', 'true']);

test('the scripts are sound for the shell that runs them', { skip: noShell }, () => {
  for (const name of ['parley', 'parley-backup']) {
    const { status, stderr } = spawnSync('dash', ['-n', join(ROOT, 'docs/deploy/systemd', name)], { encoding: 'utf8' });
    assert.deepEqual([status, stderr], [0, '']);
  }
});
