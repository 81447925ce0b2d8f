/** Whom each person invited with an app: guests whose term runs, and invitations that wait. Those of a person are counted. */
import type { AccountsDraft, AccountsReader } from '#storage/accounts/accounts.ts';
import { defineCollection } from '#storage/accounts/collections.ts';

/** A guest by username, or an invitation by the hash of its secret. */
export type Hosted = { readonly guest: string } | { readonly invitation: string };

/** `<host>:g:<username>` and `<host>:i:<hash>`. */
const hosted = defineCollection<true>('hosted_guests', { version: 1 });
/** Host → how many of both they have. */
const hostedTotals = defineCollection<number>('hosted_guest_totals', { version: 1 });

/** Rows read in one go. */
const READ_AT_ONCE = 100;

function idOf(host: string, one: Hosted): string {
  return 'guest' in one ? `${host}:g:${one.guest}` : `${host}:i:${one.invitation}`;
}

export function countHosted(view: Pick<AccountsReader, 'document'>, host: string): number {
  return view.document(hostedTotals, host) ?? 0;
}

/** Notes one of a host's, once. */
export function putHosted(draft: AccountsDraft, host: string, one: Hosted): void {
  const id = idOf(host, one);
  if (draft.document(hosted, id) !== undefined) return;
  draft.putDocument(hosted, id, true);
  draft.putDocument(hostedTotals, host, countHosted(draft, host) + 1);
}

/** Forgets one of a host's, if it is noted. */
export function dropHosted(draft: AccountsDraft, host: string, one: Hosted): void {
  const id = idOf(host, one);
  if (draft.document(hosted, id) === undefined) return;
  draft.removeDocument(hosted, id);
  const left = countHosted(draft, host) - 1;
  if (left > 0) draft.putDocument(hostedTotals, host, left);
  else draft.removeDocument(hostedTotals, host);
}

/** All of a host's: as many as the settings let them have at most. */
export function readHosted(accounts: Pick<AccountsReader, 'documents'>, host: string): Hosted[] {
  const found: Hosted[] = [];
  const front = `${host}:`;
  for (let after = front; ;) {
    const rows = accounts.documents(hosted, { after, limit: READ_AT_ONCE });
    for (const { id } of rows) {
      if (!id.startsWith(front)) return found;
      const rest = id.slice(front.length + 2);
      found.push(id[front.length] === 'g' ? { guest: rest } : { invitation: rest });
    }
    if (rows.length < READ_AT_ONCE) return found;
    after = rows.at(-1)?.id ?? '';
  }
}
