/** Reading how an import goes, line by line. */
import type { ImportLine, ImportProgress, ImportReport } from '#src/protocol/calendars/calendar-files.ts';
import { clientError, ParleyError } from './parley-error.ts';

/** The report that ends the lines. @throws ParleyError with the server's code where it stopped; `answer_unreadable`, `network_failed`. */
export async function readImportLines(
  { body, status }: Pick<Response, 'body' | 'status'>,
  onProgress: (progress: ImportProgress) => void,
): Promise<ImportReport> {
  if (body === null) throw clientError('answer_unreadable');
  const reader = body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = '';
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) throw clientError('answer_unreadable');
      const lines = `${rest}${value}`.split('\n');
      rest = lines.pop() ?? '';
      for (const line of lines) {
        const said = JSON.parse(line) as ImportLine;
        if ('report' in said) return said.report;
        if ('refused' in said) throw new ParleyError(said.refused.code, said.refused.error, { status });
        onProgress(said.progress);
      }
    }
  } catch (thrown) {
    if (thrown instanceof ParleyError) throw thrown;
    const cause = { cause: thrown };
    throw clientError(thrown instanceof SyntaxError ? 'answer_unreadable' : 'network_failed', cause);
  }
}
