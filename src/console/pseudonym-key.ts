/**
 * The key of pseudonyms (RED-07, RED-08, RED-09): made at a vendor's first read and kept in the vault, so that the same
 * value has the same pseudonym in all logs and on all days. No route serves it.
 */
import { randomBytes } from 'node:crypto';
import type { Clock } from '#src/base/clock.ts';
import type { Accounts } from '#storage/accounts/accounts.ts';
import type { Vault } from '#storage/vault/vault.ts';
import type { AuditEvent } from '#src/audit/audit-events.ts';

/** The secret's name in the vault. */
const NAME = 'pseudonym_key';
const PSEUDONYM_KEY_BYTES = 32;

export interface PseudonymKeyOptions {
  readonly accounts: Pick<Accounts, 'change'>;
  readonly vault: Vault;
  readonly clock: Clock;
}

export class PseudonymKey {
  readonly #accounts: Pick<Accounts, 'change'>;
  readonly #vault: Vault;
  readonly #clock: Clock;
  /** For as long as the vault is locked: this process's own, on no disk. */
  #temporary: Uint8Array | undefined;

  constructor({ accounts, vault, clock }: PseudonymKeyOptions) {
    this.#accounts = accounts;
    this.#vault = vault;
    this.#clock = clock;
  }

  /**
   * The 32 bytes for the answer to a vendor, asked for once per answer: the stored key, made now when there is none;
   * while encryption at rest is locked a key of this process, with which pseudonyms differ from all others.
   * @throws Refusal `storage_full`, `busy` when the key could not be stored: then nothing may be served.
   */
  async read(): Promise<Uint8Array> {
    if (this.#vault.state === 'locked') return this.#locked();
    return this.#vault.get(NAME) ?? (await this.#make());
  }

  #locked(): Uint8Array {
    this.#temporary ??= randomBytes(PSEUDONYM_KEY_BYTES);
    return this.#temporary;
  }

  async #make(): Promise<Uint8Array> {
    return await this.#accounts.change((draft) => {
      // Locked since the caller looked: then the same holds as for whoever comes now.
      if (this.#vault.state === 'locked') return this.#locked();
      // Another reader may have been first.
      const stored = this.#vault.get(NAME, draft);
      if (stored !== undefined) return stored;
      const made = randomBytes(PSEUDONYM_KEY_BYTES);
      this.#vault.put(draft, NAME, made);
      const event: AuditEvent = 'pseudonym_key.made';
      draft.audit(this.#clock.now(), { event, actor: 'server', address: null, subject: null, details: {} });
      return made;
    });
  }
}
