/** The secrets of the vault as they lie on disk, each under its name: `<purpose>` or `<purpose>:<whose>`. */
import { defineCollection } from '../accounts/collections.ts';

/** `off`: encryption at rest was never turned on. `locked`: it is, and the master key is not loaded. */
export type VaultState = 'off' | 'locked' | 'unlocked';

export interface StoredSecret {
  readonly sealed: boolean;
  /** Sealed or, where encryption at rest is off, the secret itself. */
  readonly value: Uint8Array;
}

export const vaultSecrets = defineCollection<StoredSecret>('vault_secrets', { version: 1 });

/** What a secret is for: its name up to the colon. */
export function purposeOf(name: string): string {
  return name.split(':', 1)[0] ?? name;
}
