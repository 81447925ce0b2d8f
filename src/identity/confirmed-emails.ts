/**
 * E-mail addresses of people that they themselves have shown to be theirs, by a code that was mailed there. What administrators and
 * other systems write of an address is no proof: a letter of it wrong, and what opens an account goes to a stranger.
 */
import { createHash } from 'node:crypto';
import { randomSymbols } from '#src/base/ids.ts';
import type { AccountsDraft, AccountsReader } from '#storage/accounts/accounts.ts';
import { defineCollection } from '#storage/accounts/collections.ts';

/** How long a mailed code works: whoever asked for it sits in front of the field. */
export const EMAIL_CODE_SECONDS = 3600;

/** 50 random bits: nobody finds one within its hour, at the pace at which a person may write. */
const CODE_SYMBOLS = 10;

interface EmailCodeRecord {
  readonly codeHash: string;
  /** The address that it was sent to, in lower case. */
  readonly email: string;
  /** Unix seconds from which it is no longer taken. */
  readonly expiresAt: number;
}

/** Username → the address that they confirmed, in lower case. It goes when they are given another one. */
const confirmedEmails = defineCollection<string>('confirmed_emails', { version: 1 });
/** Username → the one code there is. */
const emailCodes = defineCollection<EmailCodeRecord>('email_codes', { version: 1 });

type View = Pick<AccountsReader, 'document'>;

/** The address that a person confirmed, in lower case; undefined while they have confirmed none. */
export function confirmedEmailOf(view: View, username: string): string | undefined {
  return view.document(confirmedEmails, username);
}

/** Makes the code of a person for an address, as part of a change; the one before is over. `now` in Unix seconds. */
export function putEmailCode(draft: AccountsDraft, username: string, email: string, now: number): string {
  const code = randomSymbols(CODE_SYMBOLS);
  draft.putDocument(emailCodes, username, { codeHash: hashOf(code), email, expiresAt: now + EMAIL_CODE_SECONDS });
  return code;
}

/**
 * Takes a code for the address that the person has now, as part of a change; answers whether it was the right one, which is over with
 * that. `now` in Unix seconds.
 */
export function takeEmailCode(
  draft: AccountsDraft,
  username: string,
  form: { readonly code: string; readonly email: string },
  now: number,
): boolean {
  const record = draft.document(emailCodes, username);
  const isRight = record?.codeHash === hashOf(form.code) && record.email === form.email && record.expiresAt > now;
  if (!isRight) return false;
  draft.removeDocument(emailCodes, username);
  draft.putDocument(confirmedEmails, username, form.email);
  return true;
}

/** Forgets what a person confirmed, and the code that waits, as part of a change. */
export function forgetConfirmedEmail(draft: AccountsDraft, username: string): void {
  draft.removeDocument(confirmedEmails, username);
  draft.removeDocument(emailCodes, username);
}

/** Codes whose time is over at that Unix second: they answer as those that never were. */
export function overEmailCodes(view: Pick<AccountsReader, 'documents'>, now: number): string[] {
  return view.documents(emailCodes).flatMap(({ id, document }) => (document.expiresAt <= now ? [id] : []));
}

/** Forgets a code that is over at that Unix second, as part of a change. */
export function dropEmailCode(draft: AccountsDraft, username: string, now: number): void {
  const record = draft.document(emailCodes, username);
  if (record !== undefined && record.expiresAt <= now) draft.removeDocument(emailCodes, username);
}

function hashOf(code: string): string {
  return createHash('sha256').update(code).digest('hex');
}
