/** Keeps servers and load generators on separate cores, so that neither's work is counted as the other's delay. */
import { spawn, spawnSync, type ChildProcess } from 'node:child_process';
import { cpus } from 'node:os';
import { programOf } from '#test/support/program.ts';

export interface Pins {
  /** Whether `taskset` and at least two cores are there; otherwise nothing is pinned and the report says so. */
  readonly isPinned: boolean;
  readonly server: readonly number[];
  readonly generator: readonly number[];
}

/** Everything runs anywhere. */
export const NOT_PINNED: Pins = { isPinned: false, server: [], generator: [] };

/** The lower half of the cores for the server under test, the rest for the generators. */
export function choosePins(): Pins {
  const count = cpus().length;
  const isPinned = count >= 2 && spawnSync('taskset', ['--version']).status === 0;
  if (!isPinned) return NOT_PINNED;
  const all = Array.from({ length: count }, (_, core) => core);
  const half = Math.floor(count / 2);
  return { isPinned, server: all.slice(0, half), generator: all.slice(half) };
}

export interface SpawnOptions {
  /** Cores to stay on; none means anywhere. */
  cores: readonly number[];
  ipc?: boolean;
  environment?: Readonly<Record<string, string>>;
}

/** Whatever ends a bench, no server or generator of its outlives it. */
const running = new Set<ChildProcess>();
process.once('exit', () => {
  for (const child of running) child.kill('SIGKILL');
});

/**
 * Starts this Node with a script, or with the bundle that a smoke run has of it. `taskset` replaces itself by Node, so the process id is Node's own. Output is
 * piped unless the process talks over IPC.
 */
export function spawnNode(entry: URL, args: readonly string[], options: SpawnOptions): ChildProcess {
  const node = [process.execPath, ...programOf(entry), ...args];
  const [command = '', ...rest] =
    options.cores.length === 0 ? node : ['taskset', '--cpu-list', options.cores.join(','), ...node];
  const child = spawn(command, rest, {
    stdio: options.ipc === true ? ['ignore', 'inherit', 'inherit', 'ipc'] : ['ignore', 'pipe', 'pipe'],
    serialization: 'advanced',
    env: { ...plainEnvironment(), ...options.environment },
  });
  running.add(child);
  child.once('exit', () => running.delete(child));
  return child;
}

/** This process's environment without the caller's settings of the server: a run is set by its command line alone. */
export function plainEnvironment(): Record<string, string | undefined> {
  return Object.fromEntries(Object.entries(process.env).filter(([name]) => !name.startsWith('PARLEY_')));
}
