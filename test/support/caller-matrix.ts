/**
 * Who gets in where, kept in a file: route → outcome → callers. A test reads what is so now, and the file says what was so; a route that
 * has no row in it, or somebody who is let in and was not, fails the test. To write the file anew: `MATRIX=write` before the test,
 * which refuses to let in whom nobody let in before, and `MATRIX=admit` where that is meant.
 */
import { existsSync, readFileSync, writeFileSync } from 'node:fs';

/** Route → outcome → callers, in the order in which they were asked, with spaces between. */
export type Matrix = Record<string, Record<string, string>>;

/** Let in: whatever a route may answer to who has passed its door. */
export const IN = 'in';

/** What each caller met, as a row. */
export function rowOf(outcomes: readonly (readonly [caller: string, outcome: string])[]): Record<string, string> {
  const byOutcome = Map.groupBy(outcomes, ([, outcome]) => outcome);
  const row = [...byOutcome].toSorted(([a], [b]) => (a < b ? -1 : 1));
  return Object.fromEntries(row.map(([outcome, who]) => [outcome, who.map(([caller]) => caller).join(' ')]));
}

export function letIn(matrix: Matrix, route: string): string[] {
  return (matrix[route]?.[IN] ?? '').split(' ').filter((who) => who !== '');
}

/** Whom a matrix lets in whom the one before did not: sentences. `mayEnter` are those who may enter a new route without a word. */
export function widenings(past: Matrix, present: Matrix, mayEnter: readonly string[]): string[] {
  return Object.keys(present).flatMap((route) => {
    const known = Object.hasOwn(past, route) ? letIn(past, route) : mayEnter;
    const fresh = letIn(present, route).filter((who) => !known.includes(who));
    return fresh.map((who) => `${route} now lets in ${who}`);
  });
}

export function readMatrix(file: URL): Matrix {
  return existsSync(file) ? (JSON.parse(readFileSync(file, 'utf8')) as Matrix) : {};
}

/** What the file expects of `present`, having written it where it was told to; and what keeps it from being written. */
export function expectedOf(
  file: URL,
  present: Matrix,
  mayEnter: readonly string[],
): { readonly expected: Matrix; readonly refused: readonly string[] } {
  const past = readMatrix(file);
  const mode = process.env['MATRIX'];
  const refused = mode === 'write' ? widenings(past, present, mayEnter) : [];
  if (refused.length > 0 || (mode !== 'write' && mode !== 'admit')) return { expected: past, refused };
  writeFileSync(file, `${JSON.stringify(present, null, 2)}\n`);
  return { expected: present, refused };
}
