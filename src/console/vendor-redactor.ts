/**
 * The engine as the console uses it: with the installation's key of pseudonyms, and knowing the installation's own
 * secrets and people, so that they are masked by their value wherever a log shows one (RED-01, RED-03, RED-08); and ids
 * replaced after it.
 */
import { createHash } from 'node:crypto';
import { ChangeReader, type ChangeLog } from '#src/directory/change-reader.ts';
import type { DirectoryEntry } from '#src/protocol/directory/directory.ts';
import { KnownPeople } from '#src/redaction/identifiers/known-people.ts';
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
  /** Who is called how. */
  readonly people: ChangeLog<DirectoryEntry>;
  /** Secrets of the configuration, as they are written there. */
  readonly configured: readonly string[];
}

export class VendorRedactor implements Redactor {
  readonly #options: VendorRedactorOptions;
  /** Everybody since the start: the logs have names that were changed since, too. */
  readonly #people = new KnownPeople();
  readonly #changes: ChangeReader<DirectoryEntry>;
  /** The threads, and what they were started with. */
  #current:
    | { readonly mark: string; readonly people: SharedArrayBuffer | undefined; readonly pool: RedactionPool }
    | undefined;
  #isClosed = false;

  constructor(options: VendorRedactorOptions) {
    this.#options = options;
    this.#changes = new ChangeReader(options.people, ({ kind, user, display_name: name }) => {
      if (kind === 'bot') return;
      this.#people.addUsername(user);
      if (name !== null && name !== undefined) this.#people.addFullName(name);
    });
  }

  /** @throws Refusal `redaction_unavailable`; `storage_full`, `busy` when the first key could not be stored. */
  async redactValue(value: unknown): Promise<unknown> {
    const key = await this.#options.key.read();
    await this.#changes.catchUp();
    const given = { key, secrets: this.#secrets(), people: this.#people.memory };
    return withoutIds(await this.#poolOf(given).value(value), key);
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    this.#changes.stop();
    await this.#current?.pool.close();
  }

  /** A thread keeps what it was started with, so another key, secret or memory of names means other threads. */
  #poolOf(given: RedactionPoolOptions): RedactionPool {
    if (this.#isClosed) throw new Error('The redactor is closed.');
    const mark = createHash('sha256').update(given.key).update(JSON.stringify(given.secrets)).digest('hex');
    if (this.#current?.mark === mark && this.#current.people === given.people) return this.#current.pool;
    // What the threads before are busy with is refused, not answered with what is past.
    void this.#current?.pool.close();
    this.#current = { mark, people: given.people, pool: new RedactionPool(given) };
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
