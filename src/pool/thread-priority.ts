/** How a thread of a pool stands back for the threads that people wait for. */
import { setPriority } from 'node:os';

/** A quarter of a core where all want one: what a pool does is waited for by one person, messages by all. */
export const BEHIND_MESSAGES = 6;
/** A tenth of a core: nobody waits for it but a vendor. */
export const BEHIND_EVERYBODY = 10;

/** Lowers the priority of the calling thread to that niceness (nice(2)); nothing where a priority is the whole process's. */
export function standBack(niceness: number): void {
  // Linux counts threads as processes of their own here, and 0 is whoever calls.
  if (process.platform === 'linux') setPriority(0, niceness);
}
