/** A thread of the calendar's pool: reads what is too large to be read on the main thread. */
import { BEHIND_MESSAGES, standBack } from '#src/pool/thread-priority.ts';
import { CalendarFault } from '../icalendar/calendar-fault.ts';
import { carryOut, type DerivationTask } from './derivation.ts';

standBack(BEHIND_MESSAGES);

/** An error loses its class on the way between threads, so an expected one goes as data. */
export type WorkerAnswer =
  | { readonly ok: true; readonly value: ReturnType<typeof carryOut> }
  | { readonly ok: false; readonly fault: Pick<CalendarFault, 'precondition' | 'message' | 'line'> };

/** Carries out one task. */
export function derive(task: DerivationTask): WorkerAnswer {
  try {
    return { ok: true, value: carryOut(task) };
  } catch (error) {
    if (!(error instanceof CalendarFault)) throw error;
    const { precondition, message, line } = error;
    return { ok: false, fault: { precondition, message, line } };
  }
}
