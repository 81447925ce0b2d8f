/**
 * Checks the audit trail: that its entries are numbered without a gap from its anchor on, that each follows from the one
 * before it, that a trim is told of by an entry of the chain itself, and that the head is the last. The first entry that breaks the chain is named: what is behind it proves nothing any more.
 *
 * Whoever can write the file can also make up a whole chain of their own. What shows that is a hash kept elsewhere: an
 * exported trail, or the entries in an older backup.
 */
import { existsSync } from 'node:fs';
import {
  AUDIT_ANCHOR,
  AUDIT_HEAD,
  auditAnchorRecord,
  auditRecord,
  type AccountTables,
} from '../accounts/accounts-reader.ts';
import { AUDIT_START } from '../accounts/audit-chain.ts';
import { AuditWalk } from '../accounts/audit-walk.ts';
import { Environment, mapBytesOf } from '../engine/environment.ts';
import { Findings } from '../engine/findings.ts';
import { folderPaths } from '../engine/folder.ts';
import { numberAt, numberOf } from '../engine/keys.ts';

type AuditTables = Pick<AccountTables, 'audit' | 'meta'>;

/** Looks for problems in the audit trail; answers how far its chain goes, undefined when its anchor cannot be read. */
export function checkAudit(tables: AuditTables, findings: Findings): AuditWalk | undefined {
  const anchor = findings.attempt('audit', ['anchor'], () => {
    const stored = tables.meta.get(AUDIT_ANCHOR);
    return stored === undefined ? AUDIT_START : auditAnchorRecord.decode(stored);
  });
  if (anchor === undefined) return undefined;
  const walk = new AuditWalk(anchor);
  if (!followAll(tables, walk, findings)) return walk;
  if (walk.isTrimUntold) findings.say(`No entry tells that the audit trail was trimmed to ${anchor.number}.`);
  const stored = tables.meta.get(AUDIT_HEAD);
  const head = stored === undefined ? 0 : numberAt(stored);
  if (head !== walk.head.number) findings.say(`The audit trail ends at ${walk.head.number}, and its head is ${head}.`);
  return walk;
}

/** Walks to the last entry; false, and a problem, where the chain breaks. */
function followAll(tables: AuditTables, walk: AuditWalk, findings: Findings): boolean {
  const broken = firstBreak(tables, walk, findings);
  const owed = walk.finish();
  // What is owed stands before the place where it breaks otherwise.
  if (owed !== undefined) findings.add('audit', [owed], UNFOLLOWED);
  else if (typeof broken === 'object') findings.add('audit', [broken.number], broken.problem);
  return owed === undefined && broken === undefined;
}

const UNFOLLOWED = 'does not follow from the entry before it: it was changed or moved, or that was';

/** Where the chain breaks and how; `unreadable` for an entry that is a problem already. */
function firstBreak(
  tables: AuditTables,
  walk: AuditWalk,
  findings: Findings,
): { readonly number: number; readonly problem: string } | 'unreadable' | undefined {
  for (const item of tables.audit.getRange()) {
    const number = numberOf(item.key);
    const next = walk.head.number + 1;
    if (number < next) return { number, problem: 'lies before the anchor, and should be gone' };
    if (number > next) return { number: next, problem: 'is missing' };
    const follows = findings.attempt('audit', [number], () => {
      const entry = auditRecord.decode(item.value);
      return entry.number === number ? walk.follow(entry) : 'misplaced';
    });
    if (follows === true) continue;
    if (follows === undefined) return 'unreadable';
    return { number, problem: follows === 'misplaced' ? 'has the number of another entry' : UNFOLLOWED };
  }
  return undefined;
}

/**
 * How far the chain of a data folder's audit trail goes, and what is wrong with it. It opens the accounts file to be read
 * alone, in one snapshot, beside a server that is writing as well; entries that come meanwhile are not looked at.
 */
export async function verifyAudit(folder: string): Promise<{ walk: AuditWalk | undefined; problems: string[] }> {
  const findings = new Findings('');
  const path = folderPaths(folder).accounts;
  // A folder whose server never started has no entry.
  if (!existsSync(path)) return { walk: new AuditWalk(AUDIT_START), problems: [] };
  const options = { mapBytes: mapBytesOf(path), readOnly: true };
  const environment = new Environment<'audit' | 'meta'>(path, ['audit', 'meta'], options);
  try {
    return { walk: checkAudit(environment.tables, findings), problems: findings.problems };
  } finally {
    await environment.close();
  }
}
