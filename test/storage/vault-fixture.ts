/** A vault over accounts in a folder of its own, for the tests of the vault. */
import type { TestContext } from 'node:test';
import { Refusal } from '#src/protocol/errors.ts';
import { Accounts, type AccountsDraft } from '#storage/accounts/accounts.ts';
import { Vault, type VaultStore } from '#storage/vault/vault.ts';
import { temporaryFolder } from '#test/support/temporary-folder.ts';

export const MASTER = Buffer.alloc(32, 1);
export const OTHER = Buffer.alloc(32, 2);
export const OWNER = { actor: 'user:alice', address: '10.0.0.7' };
export const clock = { now: () => 1_795_248_000_000 };

export interface Opened {
  readonly folder: string;
  readonly accounts: Accounts;
  readonly vault: Vault;
  readonly warnings: Error[];
}

export async function open(t: TestContext, folder = temporaryFolder(t)): Promise<Opened> {
  const accounts = await Accounts.open(folder);
  t.after(() => accounts.close());
  const warnings: Error[] = [];
  return { folder, accounts, warnings, vault: new Vault({ accounts, clock, warn: (error) => warnings.push(error) }) };
}

export const put = async ({ accounts, vault }: Pick<Opened, 'accounts' | 'vault'>, name: string, text: string) =>
  accounts.change((draft) => vault.put(draft, name, Buffer.from(text)));
export const textOf = (vault: Vault, name: string): string | undefined => {
  const secret = vault.get(name);
  return secret === undefined ? undefined : Buffer.from(secret).toString();
};
export const refusal = (code: string) => (error: unknown) => error instanceof Refusal && error.code === code;
export const eventsOf = (accounts: Accounts) =>
  accounts.auditEntriesAfter(0, 100).map(({ event, actor, address }) => [event, actor, address]);

/** Accounts that fail at every change beyond the first `changes`. */
export function crashing(accounts: Accounts, changes: number): VaultStore {
  let left = changes;
  return {
    change: async <T>(decide: (draft: AccountsDraft) => T): Promise<T> => {
      left -= 1;
      if (left < 0) throw new Error('crash');
      return await accounts.change(decide);
    },
    document: (collection, id) => accounts.document(collection, id),
    documents: (collection, options) => accounts.documents(collection, options),
  };
}
