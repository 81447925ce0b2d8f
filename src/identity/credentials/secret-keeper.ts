/** Where secrets are kept that must be read again, and so cannot be hashed: shared keys of one-time codes. */
import type { AccountsDraft } from '#storage/accounts/accounts.ts';

/**
 * Keeps secrets by name, as the vault does: sealed when encryption at rest is on. What it throws while it is locked is the answer of
 * whoever asked.
 */
export interface SecretKeeper {
  /** Stores a secret as part of a change. */
  put(draft: AccountsDraft, name: string, secret: Uint8Array): void;
  /** The secret of that name; within a change, `view` is its draft. */
  get(name: string, view?: Pick<AccountsDraft, 'document'>): Uint8Array | undefined;
  /** Removes a secret as part of a change. */
  remove(draft: AccountsDraft, name: string): void;
}
