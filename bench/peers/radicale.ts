/** Radicale as a peer: Debian's own, over a folder that is filled before it starts, as its PUTs are slow. */
import { spawn, spawnSync, type ChildProcess } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { calendarObject } from '../harness/dav-objects.ts';
import { endProcess } from '../harness/subject.ts';

const READY_MILLIS = 20_000;

/** Whether it is installed. */
export function hasRadicale(): boolean {
  return spawnSync('radicale', ['--version']).status === 0;
}

export interface Radicale {
  readonly port: number;
  stop(): Promise<void>;
}

/** Starts it with so many objects in `/bench/calendar/`; it believes whoever comes. */
export async function startRadicale(objects: number, seriesEvery: number, cores: readonly number[]): Promise<Radicale> {
  const folder = mkdtempSync(join(tmpdir(), 'parley-bench-radicale-'));
  const collection = join(folder, 'collection-root', 'bench', 'calendar');
  mkdirSync(collection, { recursive: true });
  writeFileSync(join(collection, '.Radicale.props'), '{"tag": "VCALENDAR"}');
  for (let number = 0; number < objects; number += 1) {
    const { name, text } = calendarObject(number, seriesEvery);
    writeFileSync(join(collection, name), text);
  }
  const port = await freePort();
  const config = join(folder, 'config');
  writeFileSync(
    config,
    `[server]\nhosts = 127.0.0.1:${port}\ntimeout = 300\n[auth]\ntype = none\n[storage]\nfilesystem_folder = ${folder}\n[web]\ntype = none\n[logging]\nlevel = error\n`,
  );
  const own = ['radicale', '--config', config];
  const args = cores.length === 0 ? own : ['taskset', '--cpu-list', cores.join(','), ...own];
  const child = spawn('env', args, { stdio: 'ignore' });
  const end = () => {
    child.kill('SIGKILL');
    rmSync(folder, { recursive: true, force: true });
  };
  process.once('exit', end);
  const stop = async () => {
    await endProcess(child, 'SIGTERM', 2);
    process.off('exit', end);
    rmSync(folder, { recursive: true, force: true });
  };
  try {
    await answers(port, child);
  } catch (error) {
    await stop();
    throw error;
  }
  return { port, stop };
}

async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  await new Promise((resolve) => server.close(resolve));
  return port;
}

async function answers(port: number, child: ChildProcess): Promise<void> {
  const until = performance.now() + READY_MILLIS;
  while (performance.now() < until && child.exitCode === null) {
    try {
      // oxlint-disable-next-line no-await-in-loop -- Asked until it answers.
      await fetch(`http://127.0.0.1:${port}/`, { redirect: 'manual' });
      return;
    } catch {
      // oxlint-disable-next-line no-await-in-loop -- As above.
      await new Promise((resolve) => setTimeout(resolve, 100));
    }
  }
  throw new Error('Radicale did not begin to answer.');
}
