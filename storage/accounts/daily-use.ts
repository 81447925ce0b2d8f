/** What people did today that a quota counts, in the accounts file and in the commit of what it counts. */
import { dayOf, EVERYBODY, type QuotaName, type RequireQuota } from '#src/protocol/quotas.ts';
import type { AccountsDraft } from './accounts-draft.ts';
import type { AccountsView } from './accounts-reader.ts';
import { defineCollection } from './collections.ts';

interface DailyUse {
  readonly day: number;
  readonly count: number;
}

/** `<quota>:<username>` → how often on the last day on which at all; nothing behind the colon for all people. */
const dailyUses = defineCollection<DailyUse>('daily_use', { version: 1 });

/** Username → quota → the day on which they were told last that they are near it. */
const quotaWarnings = defineCollection<Readonly<Record<string, number>>>('quota_warnings', { version: 1 });

type Daily = Extract<QuotaName, 'sign_ins' | 'meetings'>;

const idOf = (name: Daily, who: string): string => `${name}:${who}`;

/** How often somebody, or EVERYBODY, did it today. */
export function readDailyUse(view: Pick<AccountsView, 'document'>, name: Daily, who: string, now: number): number {
  const stored = view.document(dailyUses, idOf(name, who));
  return stored?.day === dayOf(now) ? stored.count : 0;
}

/** Counts that somebody does it once more. @throws Refusal `quota_exceeded`. */
export function countDailyUse(
  draft: AccountsDraft,
  name: Daily,
  user: string,
  now: number,
  requireQuota: RequireQuota,
): void {
  for (const who of [user, EVERYBODY]) {
    const used = readDailyUse(draft, name, who, now);
    requireQuota(name, who, used, 1);
    draft.putDocument(dailyUses, idOf(name, who), { day: dayOf(now), count: used + 1 });
  }
}

/** Notes that a person is told of a quota today; false where they were told already. */
export function noteQuotaWarning(draft: AccountsDraft, user: string, quota: QuotaName, now: number): boolean {
  const before = draft.document(quotaWarnings, user) ?? {};
  if (before[quota] === dayOf(now)) return false;
  draft.putDocument(quotaWarnings, user, { ...before, [quota]: dayOf(now) });
  return true;
}

/** Forgets what somebody did and was told, as part of the erasure of their account. */
export function removeUse(draft: AccountsDraft, user: string): void {
  for (const name of ['sign_ins', 'meetings'] as const) draft.removeDocument(dailyUses, idOf(name, user));
  draft.removeDocument(quotaWarnings, user);
}
