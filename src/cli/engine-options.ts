/**
 * What the engine must be told before it begins, by what the machine has.
 *
 * V8 compiles and collects garbage on helper threads that all threads of the server share, four of them whatever the
 * machine. Where there are fewer cores they take those from the threads that people wait for (docs/decisions.md, 2026-11-29).
 */

/** Helpers had a seventh of the processor's time where the server had all of it, so one serves four cores and has time to spare. */
const CORES_PER_HELPER = 4;
/** As many as Node starts by itself. */
const HELPERS_MAX = 4;
const HELPERS = '--v8-pool-size';
/** Node takes both signs. */
const SAYS_HELPERS = /--v8[-_]pool[-_]size/;

/** Options of the command line for so many cores. `nodeOptions` are those of the environment: what they say of helpers stands. */
export function engineOptions(cores: number, nodeOptions = ''): readonly string[] {
  // An option of the command line would win over theirs.
  if (SAYS_HELPERS.test(nodeOptions)) return [];
  return [`${HELPERS}=${Math.min(HELPERS_MAX, Math.max(1, Math.floor(cores / CORES_PER_HELPER)))}`];
}
