/** Facts of the machine and the checkout, without which a figure says nothing. */
import { spawnSync } from 'node:child_process';
import { statfsSync } from 'node:fs';
import { cpus, loadavg, release, totalmem } from 'node:os';
import { fileURLToPath } from 'node:url';
import type { Pins } from './pinning.ts';
import type { Machine } from './schema.ts';

/** Magic numbers of statfs(2) for the file systems one meets. */
const FILE_SYSTEMS = new Map([
  [0xef53, 'ext4'],
  [0x58465342, 'xfs'],
  [0x9123683e, 'btrfs'],
  [0x2fc12fc1, 'zfs'],
  [0x01021994, 'tmpfs'],
  [0x794c7630, 'overlay'],
]);

/** Facts of this machine, with the file system of the folder in which the data folders are made. */
export function machineFacts(pins: Pins, dataFolder: string): Machine {
  const type = statfsSync(dataFolder).type;
  return {
    cpu: cpus()[0]?.model.trim() ?? 'unknown',
    cores: cpus().length,
    memoryBytes: totalmem(),
    kernel: release(),
    node: process.version,
    flags: process.execArgv,
    dataFileSystem: FILE_SYSTEMS.get(type) ?? `0x${type.toString(16)}`,
    loadBefore: loadavg()[0] ?? 0,
    serverCores: [...pins.server],
    generatorCores: [...pins.generator],
  };
}

/** The commit of the checkout and whether files differ from it; `unknown` outside a checkout. */
export function checkoutFacts(): { commit: string; dirty: boolean } {
  const git = (...args: string[]): string => {
    const done = spawnSync('git', args, { cwd: fileURLToPath(new URL('../..', import.meta.url)), encoding: 'utf8' });
    return done.status === 0 ? done.stdout.trim() : 'unknown';
  };
  return { commit: git('rev-parse', 'HEAD'), dirty: git('status', '--porcelain') !== '' };
}
