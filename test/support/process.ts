/** A running process from outside: what it holds, and what the system lets it have. */
import { execFileSync } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';

/** Its resident memory, in bytes. */
export function residentBytes(pid: number): number {
  const [, kib] = /^VmRSS:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8')) ?? [];
  return Number(kib) * 1024;
}

/** How many files and connections it has open. */
export function openFiles(pid: number): number {
  return readdirSync(`/proc/${pid}/fd`).length;
}

/**
 * Sets the soft limit of a running process: `fsize`, the largest size of a file in bytes, which the kernel refuses to
 * exceed in the way in which a full disk does, or `nofile`, the open files. The hard limit stays, so that it can be
 * lifted again.
 */
export function limitProcess(pid: number, resource: 'fsize' | 'nofile', most: number | 'unlimited'): void {
  execFileSync('prlimit', ['--pid', String(pid), `--${resource}=${most}:`]);
}
