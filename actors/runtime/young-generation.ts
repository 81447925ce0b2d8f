/** The memory for new objects of threads that are started from here on. */
import { setFlagsFromString } from 'node:v8';

/**
 * Threads begin with a young generation of so many MiB, 16 at most, which is what the engine would let it grow to. Each time it is full, what
 * is still needed is copied out of it: requests that are under way, mostly, which is work that a larger one saves. The
 * limits that Node can give a worker say how far it may grow, and not what it begins with, so this is the engine's flag.
 */
export function setYoungGeneration(mebibytes: number): void {
  setFlagsFromString(`--min-semi-space-size=${mebibytes}`);
}
