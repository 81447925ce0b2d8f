/**
 * The writes of one change to the calendar file as they gather: what is read through it is the file with these writes,
 * and those of the changes before it, put over it. Each noun of the file has functions of its own over this.
 */
import type { AuditForm } from '../accounts/audit-chain.ts';
import type { Write } from '../engine/environment.ts';
import { numberedThen } from '../engine/keys.ts';
import { CalendarView, type GroupSharing } from './calendar-reader.ts';
import { pendingAuditRecord, type CalendarTable } from './calendar-records.ts';

export type CalendarWrite = Write<CalendarTable>;

export class CalendarWriteSet extends CalendarView {
  readonly writes: Map<string, CalendarWrite>;
  /** Whether it left entries for the audit trail. */
  isAudited = false;
  /** Milliseconds since 1970, the same for all of the change. */
  readonly now: number;

  constructor(
    before: ReadonlyMap<string, CalendarWrite>,
    get: (table: CalendarTable, itemKey: Buffer) => Buffer | undefined,
    now: number,
    groups?: GroupSharing,
  ) {
    const writes = new Map<string, CalendarWrite>();
    super((table, itemKey) => {
      const name = nameOf(table, itemKey);
      const pending = writes.get(name) ?? before.get(name);
      return pending === undefined ? get(table, itemKey) : (pending.value ?? undefined);
    }, groups);
    this.writes = writes;
    this.now = now;
  }

  put(table: CalendarTable, itemKey: Buffer, value: Buffer | null): void {
    this.writes.set(nameOf(table, itemKey), { table, key: itemKey, value });
  }

  /** Leaves an entry for the audit trail in the commit of what it tells of. `apart` keeps two of one millisecond apart. */
  audit(form: AuditForm, ...apart: readonly string[]): void {
    this.isAudited = true;
    this.put('deeds', numberedThen(this.now, 'd', ...apart), pendingAuditRecord.encode(form));
  }
}

function nameOf(table: CalendarTable, itemKey: Buffer): string {
  return `${table}/${itemKey.toString('latin1')}`;
}
