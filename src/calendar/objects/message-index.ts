/** The row that the store keeps of a scheduling message. */
import type { ObjectIndex } from '#storage/calendars/calendar-records.ts';
import type { DerivationPool } from './derivation-pool.ts';
import { storedIndex } from './stored-index.ts';

/** The index row of a scheduling message in an inbox. @throws CalendarFault; Refusal `busy`. */
export async function messageIndex(
  pool: Pick<DerivationPool, 'derive'>,
  bytes: Uint8Array,
  zone: string,
): Promise<ObjectIndex> {
  const { index } = await pool.derive(bytes, zone, { isMessage: true });
  return storedIndex(index, true, false);
}
