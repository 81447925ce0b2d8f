/**
 * Checks the audit trail: that its entries are numbered without a gap from its anchor on, that each follows from the one
 * before it, that a trim is told of by an entry of the chain itself, and that the head is the last. The first entry that breaks the chain is named: what is behind it proves nothing any more.
 *
 * Whoever can write the file can also make up a whole chain of their own. What shows that is a hash kept elsewhere: an
 * exported trail, or the entries in an older backup.
 */
import { AUDIT_GENESIS, auditHash, type AuditEntry } from '../accounts/audit-chain.ts';
import {
  AUDIT_ANCHOR,
  AUDIT_HEAD,
  auditAnchorRecord,
  auditRecord,
  type AccountTables,
} from '../accounts/accounts-reader.ts';
import type { Findings } from '../engine/findings.ts';
import { numberAt, numberOf } from '../engine/keys.ts';

/** Looks for problems in the audit trail. */
export function checkAudit(tables: Pick<AccountTables, 'audit' | 'meta'>, findings: Findings): void {
  const anchor = findings.attempt('audit', ['anchor'], () => {
    const stored = tables.meta.get(AUDIT_ANCHOR);
    return stored === undefined ? { number: 0, hash: AUDIT_GENESIS } : auditAnchorRecord.decode(stored);
  });
  if (anchor === undefined) return;
  const before = { ...anchor };
  let isAnchorTold = anchor.number === 0;
  for (const item of tables.audit.getRange()) {
    const number = numberOf(item.key);
    if (number !== before.number + 1) {
      findings.add('audit', [before.number + 1], 'is missing');
      return;
    }
    const entry = findings.attempt('audit', [number], () => {
      const read = auditRecord.decode(item.value);
      return { ...read, follows: auditHash(before.hash, read) };
    });
    if (entry === undefined) return;
    if (entry.number !== number) {
      findings.add('audit', [number], 'has the number of another entry');
      return;
    }
    if (entry.follows !== entry.hash) {
      findings.add('audit', [number], 'does not follow from the entry before it: it was changed or moved, or that was');
      return;
    }
    isAnchorTold ||= isTrimTo(anchor, entry);
    before.number = number;
    before.hash = entry.hash;
  }
  if (!isAnchorTold) findings.say(`No entry tells that the audit trail was trimmed to ${anchor.number}.`);
  const stored = tables.meta.get(AUDIT_HEAD);
  const head = stored === undefined ? 0 : numberAt(stored);
  if (head !== before.number) findings.say(`The audit trail ends at ${before.number}, and its head is ${head}.`);
}

/** Whether an entry tells of the trim that left this anchor: the chain vouches for it. */
function isTrimTo(anchor: Pick<AuditEntry, 'number' | 'hash'>, { event, details }: AuditEntry): boolean {
  return event === 'audit.trimmed' && details['through'] === anchor.number && details['hash'] === anchor.hash;
}
