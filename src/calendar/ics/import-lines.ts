/** An import told as it goes: lines of JSON, for whoever asked for them (`Accept: application/x-ndjson`). */
import type { IncomingHttpHeaders } from 'node:http';
import type { ImportLine, ImportProgress, ImportReport } from '#src/protocol/calendars/calendar-files.ts';
import { ERRORS, Refusal } from '#src/protocol/errors.ts';

export const IMPORT_LINES = 'application/x-ndjson';

/** How far an import has come, step by step; what became of all of it is returned. */
export type ImportSteps = AsyncGenerator<ImportProgress, ImportReport>;

export function takesLines({ accept }: Pick<IncomingHttpHeaders, 'accept'>): boolean {
  return accept?.split(',').some((type) => type.split(';')[0]?.trim().toLowerCase() === IMPORT_LINES) === true;
}

/**
 * One line for each step, and one for how it ended: the report, or why it stopped, since the status has long been sent by then.
 * Without such a last line the answer is not whole.
 */
export async function* importLines(
  first: IteratorResult<ImportProgress, ImportReport>,
  steps: ImportSteps,
): AsyncGenerator<string> {
  try {
    for (let step = first; ; step = await steps.next()) {
      yield lineOf(step.done === true ? { report: step.value } : { progress: step.value });
      if (step.done === true) return;
    }
  } catch (error) {
    if (!(error instanceof Refusal)) throw error;
    yield lineOf({ refused: { code: error.code, error: ERRORS[error.code].error } });
  } finally {
    // Whoever goes meanwhile ends the import where it is.
    await steps.return(undefined as never);
  }
}

function lineOf(line: ImportLine): string {
  return `${JSON.stringify(line)}\n`;
}
