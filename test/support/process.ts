/** A running process from outside: what it holds, and what the system lets it have. */
import { execFileSync } from 'node:child_process';
import { readdirSync, readFileSync, readlinkSync } from 'node:fs';

/** Its resident memory, in bytes. */
export function residentBytes(pid: number): number {
  const [, kib] = /^VmRSS:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8')) ?? [];
  return Number(kib) * 1024;
}

/** The state of each of its threads, as a letter: `R` runs, `S` sleeps, `T` was stopped by a signal, `X` is gone (proc_pid_stat(5)). */
export function threadStates(pid: number): string[] {
  const folder = `/proc/${pid}/task`;
  const stateOf = (thread: string) => {
    try {
      const line = readFileSync(`${folder}/${thread}/stat`, 'utf8');
      // The state is behind the name, which may hold spaces and brackets.
      return line.charAt(line.lastIndexOf(')') + 2);
    } catch {
      // Gone since it was listed.
      return 'X';
    }
  };
  return readdirSync(folder).map((thread) => stateOf(thread));
}

/** How many files and connections it has open. */
export function openFiles(pid: number): number {
  return readdirSync(`/proc/${pid}/fd`).length;
}

/** The same without its stores, each of which a thread opens when it first needs it. */
export function openBesideStores(pid: number): number {
  const folder = `/proc/${pid}/fd`;
  const isStore = (name: string) => {
    try {
      return readlinkSync(`${folder}/${name}`).endsWith('.mdb');
    } catch {
      // Closed since it was listed.
      return true;
    }
  };
  return readdirSync(folder).filter((name) => !isStore(name)).length;
}

/**
 * Sets the soft limit of a running process: `fsize`, the largest size of a file in bytes, which the kernel refuses to
 * exceed in the way in which a full disk does, or `nofile`, the open files. The hard limit stays, so that it can be
 * lifted again.
 */
export function limitProcess(pid: number, resource: 'fsize' | 'nofile', most: number | 'unlimited'): void {
  execFileSync('prlimit', ['--pid', String(pid), `--${resource}=${most}:`]);
}
