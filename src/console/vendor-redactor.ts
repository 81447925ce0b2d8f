/**
 * The engine as the console uses it: with the installation's key of pseudonyms, and knowing the installation's own
 * secrets, so that they are masked by their value wherever a log shows one (RED-01, RED-08); and ids replaced after it.
 */
import { createHash } from 'node:crypto';
import { RedactionPool, type RedactionPoolOptions } from '#src/redaction/pool.ts';
import { SECRET_NAMES, type Accounts } from '#storage/accounts/accounts.ts';
import { KEY_RINGS } from '#storage/accounts/signing-keys.ts';
import { vaultSecrets } from '#storage/vault/vault-secrets.ts';
import type { Vault } from '#storage/vault/vault.ts';
import type { Redactor } from './depersonalisation.ts';
import { withoutIds } from './id-pseudonyms.ts';
import type { PseudonymKey } from './pseudonym-key.ts';

export interface VendorRedactorOptions {
  readonly accounts: Pick<Accounts, 'documents' | 'secret' | 'signingKeys'>;
  readonly vault: Pick<Vault, 'get' | 'state'>;
  readonly key: PseudonymKey;
  /** Secrets of the configuration, as they are written there. */
  readonly configured: readonly string[];
}

export class VendorRedactor implements Redactor {
  readonly #options: VendorRedactorOptions;
  /** The threads, and what they were started with. */
  #current: { readonly mark: string; readonly pool: RedactionPool } | undefined;
  #isClosed = false;

  constructor(options: VendorRedactorOptions) {
    this.#options = options;
  }

  /** @throws Refusal `redaction_unavailable`; `storage_full`, `busy` when the first key could not be stored. */
  async redactValue(value: unknown): Promise<unknown> {
    const key = await this.#options.key.read();
    return withoutIds(await this.#poolOf({ key, secrets: this.#secrets() }).value(value), key);
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    await this.#current?.pool.close();
  }

  /** A thread keeps what it was started with, so another key or another secret means other threads. */
  #poolOf(given: Pick<RedactionPoolOptions, 'key' | 'secrets'>): RedactionPool {
    if (this.#isClosed) throw new Error('The redactor is closed.');
    const mark = createHash('sha256').update(given.key).update(JSON.stringify(given.secrets)).digest('hex');
    if (this.#current?.mark === mark) return this.#current.pool;
    // What the threads before are busy with is refused, not answered with what is past.
    void this.#current?.pool.close();
    this.#current = { mark, pool: new RedactionPool(given) };
    return this.#current.pool;
  }

  /** Keys in the texts that bytes are written in, and the texts of the vault; while it is locked, nobody has those. */
  #secrets(): string[] {
    const { accounts, configured, vault } = this.#options;
    const names = vault.state === 'locked' ? [] : accounts.documents(vaultSecrets).map(({ id }) => id);
    const kept = names.flatMap((name) => vault.get(name) ?? []);
    const rings = KEY_RINGS.flatMap((ring) => accounts.signingKeys(ring).map(({ key }) => key));
    const own = [...SECRET_NAMES.map((name) => accounts.secret(name)), ...rings];
    return [...own, ...kept, ...configured].flatMap((secret) => textsOf(Buffer.from(secret)));
  }
}

function textsOf(secret: Buffer): string[] {
  const text = secret.toString('utf8');
  const encoded = (['hex', 'base64', 'base64url'] as const).map((encoding) => secret.toString(encoding));
  return Buffer.from(text).equals(secret) ? [text, ...encoded] : encoded;
}
