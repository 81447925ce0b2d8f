/** What a process costs: CPU time and resident memory, from /proc. */
import { readdirSync, readFileSync } from 'node:fs';

/** Clock ticks of /proc/…/stat per second: 100 on every Linux that Node runs on. */
const TICKS_PER_SECOND = 100;

/**
 * CPU time of a process in microseconds, all its threads together. The scheduler's own count (nanoseconds per
 * thread) where the kernel keeps it, otherwise user and system ticks of ten milliseconds.
 */
export function cpuMicros(pid: number): number {
  try {
    let nanos = 0;
    for (const task of readdirSync(`/proc/${pid}/task`)) nanos += scheduledNanos(`/proc/${pid}/task/${task}/schedstat`);
    if (nanos > 0) return nanos / 1000;
  } catch {
    // A kernel without CONFIG_SCHEDSTATS has no such file; the ticks below always exist.
  }
  const stat = readFileSync(`/proc/${pid}/stat`, 'latin1');
  // The command name may hold spaces and brackets, so count fields from its closing bracket: utime and stime.
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  return ((Number(fields[11]) + Number(fields[12])) / TICKS_PER_SECOND) * 1e6;
}

function scheduledNanos(path: string): number {
  return Number(readFileSync(path, 'latin1').split(' ')[0]);
}

/** Resident memory of a process in bytes, now. */
export function residentBytes(pid: number): number {
  return statusKibibytes(pid, 'VmRSS') * 1024;
}

/** The most resident memory a process has had, in bytes. */
export function residentPeakBytes(pid: number): number {
  return statusKibibytes(pid, 'VmHWM') * 1024;
}

function statusKibibytes(pid: number, field: string): number {
  const found = new RegExp(`^${field}:\\s+(\\d+) kB$`, 'm').exec(readFileSync(`/proc/${pid}/status`, 'latin1'))?.[1];
  if (found === undefined) throw new Error(`/proc/${pid}/status has no ${field}`);
  return Number(found);
}
