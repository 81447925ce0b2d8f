/** What is stored is not what it has to be. */
import { Refusal } from '#src/protocol/errors.ts';

/** A record that has to be there is not: `storage_damaged` to whoever asked, and the reason to the log. */
export class StorageFault extends Refusal {
  constructor(reason: string) {
    super('storage_damaged');
    this.cause = new Error(reason);
  }
}

/** LMDB's numbers for a page that is not there, is not of its kind, or leads nowhere (`lmdb.h`). */
const PAGE_CODES: ReadonlySet<unknown> = new Set([-30797, -30796, -30793, -30788, -30786]);

/** Whether an error tells of damage to what is stored. */
export function isStorageFault(error: unknown): boolean {
  if (error instanceof StorageFault) return true;
  return error instanceof Error && PAGE_CODES.has((error as { code?: unknown }).code);
}
