/** Whether the outcome that a client posts agrees with what the server saw of the attempt. */
import type { CallResult, EndedCall } from './call-record.ts';

/** What may be said of an attempt that ended so. A client knows more of media than the server, so `failed` always may. */
const SAYABLE: Readonly<Record<CallResult, readonly CallResult[]>> = {
  completed: ['completed', 'failed'],
  missed: ['missed', 'failed'],
  declined: ['declined', 'missed', 'failed'],
  busy: ['busy', 'declined', 'missed', 'failed'],
  cancelled: ['cancelled', 'missed', 'failed'],
  failed: ['failed', 'missed', 'cancelled'],
};

/** Seconds that a client may count more than the server: its clock, and the way of its last step. */
const LONGER_SECONDS_MAX = 5;
/** Seconds that a client may count less: its media came up later than it joined. */
const SHORTER_SECONDS_MAX = 60;

/** `duration` in seconds. */
export function agrees(seen: EndedCall, result: CallResult, duration: number): boolean {
  if (!SAYABLE[seen.result].includes(result)) return false;
  if (duration > seen.seconds + (seen.seconds === 0 ? 0 : LONGER_SECONDS_MAX)) return false;
  return result !== 'completed' || duration >= seen.seconds - SHORTER_SECONDS_MAX;
}
