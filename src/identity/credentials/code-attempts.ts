/**
 * Codes of six digits that were tried for an account, kept with the accounts: no other address and no restart begins
 * anew. Ten wrong ones in a row are nobody's thumbs; from then on each waits twice as long as the one before. At one an
 * hour, a year of guessing finds a code with a chance of 2.6 %, by somebody who has the password and makes 8,760
 * entries in the audit trail. A recovery code is not held up: it has 80 bits, and is how the owner comes in meanwhile.
 */
import { Refusal } from '#src/protocol/errors.ts';
import type { Accounts, AccountsDraft } from '#storage/accounts/accounts.ts';
import { defineCollection } from '#storage/accounts/collections.ts';

/** Wrong codes in a row before the next one waits. */
export const CODES_WITHOUT_WAIT_MAX = 10;
/** How long the first waits, and the longest. */
const WAIT_MILLIS = 30_000;
export const CODE_WAIT_MILLIS_MAX = 3_600_000;

interface CodeAttempts {
  /** Since the last right one. */
  readonly count: number;
  /** Milliseconds of the last. */
  readonly at: number;
}

/** By the account: a username, or the break-glass account's. */
const codeAttempts = defineCollection<CodeAttempts>('code_attempts', { version: 1 });

/**
 * Counts an attempt before it is judged, so that attempts at the same time cannot share one.
 * @throws Refusal `rate_limited` with the seconds until the next one may be made.
 */
export async function countCodeAttempt(accounts: Accounts, account: string, now: number): Promise<void> {
  await accounts.change((draft) => {
    const { at, count } = draft.document(codeAttempts, account) ?? { at: now, count: 0 };
    const beyond = count - CODES_WITHOUT_WAIT_MAX;
    const wait = beyond < 0 ? 0 : Math.min(WAIT_MILLIS * 2 ** beyond, CODE_WAIT_MILLIS_MAX);
    // A clock that was set back must not make a wait last for days.
    const left = Math.min(at + wait - now, wait);
    if (left > 0) throw new Refusal('rate_limited', { retryAfter: Math.ceil(left / 1000) });
    draft.putDocument(codeAttempts, account, { count: count + 1, at: now });
  });
}

/** Forgets the attempts of an account, as part of the change in which a code was right or the factor went. */
export function forgetCodeAttempts(draft: AccountsDraft, account: string): void {
  if (draft.document(codeAttempts, account) !== undefined) draft.removeDocument(codeAttempts, account);
}
