/** What libraries write to the console becomes lines of the log: whoever reads the output reads JSON, one object a line. */
import { format } from 'node:util';
import type { Log } from './log.ts';

/**
 * Has the thread's `console.error` and `console.warn` write to the log. An error with a number for a code is LMDB's, of a commit
 * that failed: it writes each with its stack beside the promise that fails, and whoever waits for that says so.
 */
export function logConsole(log: Pick<Log, 'warn'>): void {
  const write = (...said: unknown[]): void => {
    const [first] = said;
    if (first instanceof Error && typeof (first as { code?: unknown }).code === 'number') return;
    log.warn('a library wrote to the console', { text: format(...said) });
  };
  console.error = write;
  console.warn = write;
}
