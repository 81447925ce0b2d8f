/**
 * What the audit trail's details say of somebody who was erased: names, addresses and numbers go, and who did what to
 * whom stays, by username. The chain stays provable: see `audit-chain.ts`.
 */
import { ERASED_NAME } from '#src/protocol/names.ts';
import type { Clock } from '#src/base/clock.ts';
import { formsOf } from '#src/base/name-forms.ts';
import type { Accounts } from '#storage/accounts/accounts.ts';
import type { AuditEntry, AuditValue } from '#storage/accounts/audit-chain.ts';

/** Entries of one step: read in some 5 ms, and 20 with a commit (2 busy cores, 2026-11-22). */
const STEP = 200;

/** What entries about a person may state of them, by the name of the detail. */
const PERSONAL: ReadonlySet<string> = new Set(['display_name', 'email', 'phone', 'title']);
/** Those among them by which a person is found elsewhere; a title is many people's. */
const NAMING: ReadonlySet<string> = new Set(['display_name', 'email', 'phone']);

export interface AuditTracesOptions {
  readonly accounts: Accounts;
  readonly clock: Clock;
  readonly isStopping: () => boolean;
}

/**
 * Every name, address and number that the trail knows of a person beside these, the former ones too; undefined when the
 * server stops meanwhile.
 */
export async function readFormerNames(
  user: string,
  known: readonly string[],
  options: AuditTracesOptions,
): Promise<readonly string[] | undefined> {
  const names = new Set(known);
  const isDone = await walk(options, async (entries) => {
    for (const entry of entries) {
      if (isAbout(entry, user)) visit(entry.details, NAMING, (value) => names.add(value));
    }
  });
  return isDone ? [...names] : undefined;
}

/** Empties the details that name a person; false when the server stops meanwhile. What was done is found done. */
export async function eraseFromAudit(
  user: string,
  names: readonly string[],
  options: AuditTracesOptions,
): Promise<boolean> {
  const { accounts, clock } = options;
  const wanted = formsOf(names);
  return await walk(options, async (entries) => {
    const changed = entries.flatMap((entry) => {
      const details = erasedIn(entry.details, wanted, isAbout(entry, user)) as AuditEntry['details'];
      return JSON.stringify(details) === JSON.stringify(entry.details) ? [] : [{ ...entry, details }];
    });
    if (changed.length === 0) return;
    await accounts.change((draft) => draft.eraseAuditDetails(clock.now(), changed, `user:${user}`));
  });
}

/** Every entry up to the newest of now, in steps. */
async function walk(
  { accounts, isStopping }: AuditTracesOptions,
  work: (entries: readonly AuditEntry[]) => Promise<void>,
): Promise<boolean> {
  const { number: end } = accounts.auditHead;
  for (let after = accounts.auditAnchor.number; after < end;) {
    if (isStopping()) return false;
    const step = accounts.auditEntriesAfter(after, Math.min(STEP, end - after));
    const last = step.at(-1);
    if (last === undefined) return true;
    await work(step);
    after = last.number;
    await new Promise(setImmediate);
  }
  return true;
}

function isAbout({ actor, subject }: AuditEntry, user: string): boolean {
  return subject === `user:${user}` || (subject === null && actor === `user:${user}`);
}

function visit(value: AuditValue, fields: ReadonlySet<string>, found: (text: string) => void): void {
  if (typeof value !== 'object' || value === null) return;
  for (const [name, field] of Object.entries(value)) {
    if (typeof field === 'string' && fields.has(name) && field !== ERASED_NAME) found(field);
    else visit(field, fields, found);
  }
}

function erasedIn(value: AuditValue, wanted: readonly RegExp[], isOwn: boolean, name = ''): AuditValue {
  if (typeof value === 'string') {
    const isNamed = (isOwn && PERSONAL.has(name)) || wanted.some((form) => form.test(value));
    return isNamed ? ERASED_NAME : value;
  }
  if (Array.isArray(value)) return (value as readonly AuditValue[]).map((one) => erasedIn(one, wanted, isOwn, name));
  if (typeof value !== 'object' || value === null) return value;
  const fields = Object.entries(value as Record<string, AuditValue>);
  return Object.fromEntries(fields.map(([field, one]) => [field, erasedIn(one, wanted, isOwn, field)]));
}
