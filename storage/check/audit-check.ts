/**
 * Checks the audit trail: that its entries are numbered without a gap, that each follows from the one before it, and
 * that the head is the last. The first entry that breaks the chain is named: what is behind it proves nothing any more.
 *
 * Whoever can write the file can also make up a whole chain of their own. What shows that is a hash kept elsewhere: an
 * exported trail, or the entries in an older backup.
 */
import { AUDIT_GENESIS, auditHash } from '../accounts/audit-chain.ts';
import { AUDIT_HEAD, auditRecord, type AccountTables } from '../accounts/accounts-reader.ts';
import type { Findings } from '../engine/findings.ts';
import { numberAt, numberOf } from '../engine/keys.ts';

/** Looks for problems in the audit trail. */
export function checkAudit(tables: Pick<AccountTables, 'audit' | 'meta'>, findings: Findings): void {
  const before = { number: 0, hash: AUDIT_GENESIS };
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
    before.number = number;
    before.hash = entry.hash;
  }
  const stored = tables.meta.get(AUDIT_HEAD);
  const head = stored === undefined ? 0 : numberAt(stored);
  if (head !== before.number) findings.say(`The audit trail ends at ${before.number}, and its head is ${head}.`);
}
