/**
 * The vault: named secrets of the installation, sealed while encryption at rest is on.
 *
 *     off ──enable──► unlocked ◄──unlock── locked
 *                        └──────lock──────►┘
 *
 * `off`: no master key was ever given, and secrets are stored as they are, marked so. `locked`: they are sealed and the
 * master key is not loaded; a sealed secret is refused, its being set can still be seen. What messages need to flow,
 * the session key and the installation key, is not in here, so that a locked server serves them.
 *
 * Enabling, and a new data key, seal secrets in bounded steps, a commit each. `isSealing` in the ring is cleared by
 * the last one: whoever finds it set goes on, and what a crash left unsealed is sealed after the next unlock.
 */
import { timingSafeEqual } from 'node:crypto';
import type { Clock } from '#src/base/clock.ts';
import { formatInstant } from '#src/base/time.ts';
import { Refusal } from '#src/protocol/errors.ts';
import type { Accounts, AccountsDraft } from '../accounts/accounts.ts';
import { OpenKeys, RING, vaultKeys, type KeyRing } from './key-ring.ts';
import { checkValueOf, KEY_BYTES, seal, sealedUnder, unseal } from './sealing.ts';
import { coverageOf, recoverySheet, type Counts, type Coverage, type RecoverySheet } from './vault-report.ts';
import { purposeOf, vaultSecrets, type StoredSecret, type VaultState } from './vault-secrets.ts';

/** The largest secret: a TLS key with its chain has some 10 KiB. Beyond it: `field_invalid`. */
export const VAULT_SECRET_BYTES_MAX = 64 * 1024;

/** Secrets sealed in one commit: 4 MiB at the largest, and a few milliseconds of the main thread. */
export const SEAL_STEP = 64;

/** How long a client waits before it asks a locked vault again, in seconds: an owner has to come first. */
const LOCKED_RETRY_SECONDS = 60;

/** Who does it, for the audit trail. */
export interface VaultActor {
  readonly actor: string;
  readonly address: string | null;
}

/** What the vault needs of the accounts. */
export type VaultStore = Pick<Accounts, 'change' | 'document' | 'documents'>;
type VaultView = Pick<AccountsDraft, 'document'>;

export interface VaultOptions {
  readonly accounts: VaultStore;
  readonly clock: Clock;
  /** Told when sealing stopped in the middle, which the next unlock goes on with. */
  readonly warn: (error: Error) => void;
  /** Counts contents of attachments, which are sealed under a secret of the vault. */
  readonly countContents?: () => Promise<Counts>;
}

export class Vault {
  readonly #accounts: VaultStore;
  readonly #clock: Clock;
  readonly #warn: (error: Error) => void;
  readonly #countContents: () => Promise<Counts>;
  #watch: () => void = () => undefined;
  #keys: OpenKeys | undefined;
  /** What changes keys waits for what changed them before. */
  #turn: Promise<unknown> = Promise.resolve();

  constructor({ accounts, clock, warn, countContents }: VaultOptions) {
    this.#accounts = accounts;
    this.#clock = clock;
    this.#warn = warn;
    this.#countContents = countContents ?? (async () => await Promise.resolve({ sealed: 0, plain: 0 }));
  }

  /** Has one listener told whenever the vault was enabled, unlocked or locked. */
  watch(listener: () => void): void {
    this.#watch = listener;
  }

  get state(): VaultState {
    if (this.ring === undefined) return 'off';
    return this.#keys === undefined ? 'locked' : 'unlocked';
  }

  /** The key ring on disk; undefined while encryption at rest is off. Opens nothing. */
  get ring(): KeyRing | undefined {
    return this.#accounts.document(vaultKeys, RING);
  }

  /**
   * Stores a secret in a change, in the place of one of the same name. `name` is `<purpose>` or `<purpose>:<whose>`.
   * @throws Refusal `encryption_locked`, `field_invalid` beyond VAULT_SECRET_BYTES_MAX.
   */
  put(draft: AccountsDraft, name: string, secret: Uint8Array): void {
    if (secret.length > VAULT_SECRET_BYTES_MAX) throw new Refusal('field_invalid', { field: purposeOf(name) });
    // The draft's ring, not the state: the change before this one in the same commit may have turned encryption on.
    const ring = draft.document(vaultKeys, RING);
    const stored = ring === undefined ? { sealed: false, value: Buffer.from(secret) } : this.#seal(ring, name, secret);
    draft.putDocument(vaultSecrets, name, stored);
  }

  /**
   * The secret of that name, a copy of its own; undefined when none is set. Within a change, `view` is its draft.
   * @throws Refusal `encryption_locked`; Error when the stored value was changed.
   */
  get(name: string, view: VaultView = this.#accounts): Uint8Array | undefined {
    const stored = view.document(vaultSecrets, name);
    if (stored === undefined) return undefined;
    const ring = view.document(vaultKeys, RING);
    if (ring !== undefined) this.#unlocked();
    else if (stored.sealed) throw new Error(`The secret ${name} is sealed, and there is no key ring.`);
    // A value that lost its mark would otherwise be taken for a secret without ever having been authenticated.
    if (!stored.sealed && ring?.isSealing === false) throw new Error(`The secret ${name} is not sealed.`);
    return stored.sealed ? this.#unseal(name, stored.value) : Uint8Array.from(stored.value);
  }

  /** Whether there is a secret of that name and `get` would answer it now. */
  has(name: string, view: VaultView = this.#accounts): boolean {
    return this.isSet(name, view) && (this.#keys !== undefined || view.document(vaultKeys, RING) === undefined);
  }

  /** Whether there is a secret of that name, also while locked: what a settings screen shows. */
  isSet(name: string, view: VaultView = this.#accounts): boolean {
    return view.document(vaultSecrets, name) !== undefined;
  }

  /** Removes a secret in a change, also while locked. */
  remove(draft: AccountsDraft, name: string): void {
    draft.removeDocument(vaultSecrets, name);
  }

  /**
   * Turns encryption at rest on under a master key of 32 bytes and seals everything there is. Resolves when that is
   * done; encryption is on from its first commit. The caller's owner has the key before: a key that the server
   * proposes is shown first and comes back with the enabling, so that no crash in between can lose it.
   * @throws Refusal `encryption_on`, `field_invalid`, `storage_full`.
   */
  async enable(masterKey: Uint8Array, by: VaultActor): Promise<void> {
    assertMasterKey(masterKey);
    await this.#inTurn(async () => {
      const at = this.#now();
      const { keys, ring } = OpenKeys.make(masterKey, at);
      try {
        await this.#accounts.change((draft) => {
          if (draft.document(vaultKeys, RING) !== undefined) throw new Refusal('encryption_on');
          // From here on, since changes decided behind this one in the same commit seal already.
          this.#keys = keys;
          draft.putDocument(vaultKeys, RING, ring);
          this.#audit(draft, 'encryption.enabled', by, { master_key: ring.master.id });
        });
      } catch (error) {
        if (this.#keys === keys) this.#keys = undefined;
        keys.wipe();
        throw error;
      }
      this.#watch();
      await this.#finishSealing();
    });
  }

  /**
   * Loads the master key, and goes on with sealing where that stopped.
   * @throws Refusal `master_key_wrong`, which is audited too, `encryption_off`, `storage_full` when no entry of the
   * audit trail could be written: nothing is unlocked without one.
   */
  async unlock(masterKey: Uint8Array, by: VaultActor): Promise<void> {
    assertMasterKey(masterKey);
    await this.#inTurn(async () => {
      const ring = this.ring;
      if (ring === undefined) throw new Refusal('encryption_off');
      const details = { master_key: ring.master.id };
      if (!isMasterKeyOf(ring, masterKey)) {
        await this.#accounts.change((draft) => this.#audit(draft, 'encryption.unlock_failed', by, details));
        throw new Refusal('master_key_wrong');
      }
      if (this.#keys !== undefined) return;
      const keys = OpenKeys.open(masterKey, ring);
      try {
        await this.#accounts.change((draft) => this.#audit(draft, 'encryption.unlocked', by, details));
      } catch (error) {
        keys.wipe();
        throw error;
      }
      this.#keys = keys;
      this.#watch();
      await this.#finishSealing();
    });
  }

  /**
   * Loads the master key that the configuration names: enables encryption where it is off, unlocks it otherwise.
   * @throws Refusal as `enable` and `unlock` do; the vault then stays as it was.
   */
  async loadConfigured(masterKey: Uint8Array): Promise<void> {
    const by = { actor: 'server', address: null };
    await (this.state === 'off' ? this.enable(masterKey, by) : this.unlock(masterKey, by));
  }

  /** Overwrites the keys in memory at once, then says so in the audit trail. @throws Refusal `encryption_off`. */
  async lock(by: VaultActor): Promise<void> {
    const { ring } = this;
    if (ring === undefined) throw new Refusal('encryption_off');
    this.#wipe();
    this.#watch();
    await this.#inTurn(async () => {
      // Once more: an unlock may have been on its way.
      this.#wipe();
      this.#watch();
      await this.#accounts.change((draft) =>
        this.#audit(draft, 'encryption.locked', by, { master_key: ring.master.id }),
      );
    });
  }

  /**
   * Wraps the data keys under another master key, in one commit. The secrets stay as they are sealed.
   * @throws Refusal `encryption_off`, `encryption_locked`, `field_invalid` for the present master key.
   */
  async rotateMasterKey(masterKey: Uint8Array, by: VaultActor): Promise<void> {
    assertMasterKey(masterKey);
    await this.#inTurn(async () => {
      let settle: ((isStored: boolean) => void) | undefined;
      try {
        await this.#accounts.change((draft) => {
          const { ring, keys } = this.#opened(draft);
          if (isMasterKeyOf(ring, masterKey)) throw new Refusal('field_invalid', { field: 'master_key' });
          const rewrapped = keys.rewrap(masterKey, ring, this.#now());
          settle = rewrapped.settle;
          draft.putDocument(vaultKeys, RING, rewrapped.ring);
          const details = { from: ring.master.id, to: rewrapped.ring.master.id };
          this.#audit(draft, 'encryption.master_key_rotated', by, details);
        });
        settle?.(true);
      } catch (error) {
        settle?.(false);
        throw error;
      }
    });
  }

  /**
   * Makes a new data key and seals every secret anew under it. Old keys leave the ring when no secret needs them: a
   * secret that does not open any more keeps its key, so that nothing is given up.
   * @throws Refusal `encryption_off`, `encryption_locked`, `storage_full`.
   */
  async rotateDataKey(by: VaultActor): Promise<void> {
    await this.#inTurn(async () => {
      try {
        await this.#accounts.change((draft) => {
          const { ring, keys } = this.#opened(draft);
          const added = keys.add(this.#now());
          const next = { ...ring, current: added.id, keys: [...ring.keys, added], isSealing: true };
          draft.putDocument(vaultKeys, RING, next);
          this.#audit(draft, 'encryption.data_key_rotated', by, { from: ring.current, to: added.id });
        });
      } catch (error) {
        this.#keys?.keep(idsOf(this.ring));
        throw error;
      }
      await this.#finishSealing();
    });
  }

  /** How many secrets are sealed, plain or damaged, by purpose and key. Reads them all, in bounded steps. */
  async coverage(): Promise<Coverage> {
    const contents = await this.#countContents();
    return { ...(await coverageOf(this.#accounts, this.state, (name) => this.get(name))), contents };
  }

  /**
   * What an owner prints. The master key is on it only when the caller has it: at enabling and at its rotation.
   * @throws Refusal `encryption_off`; `master_key_wrong` when that is not the present master key.
   */
  recoverySheet(masterKey?: Uint8Array): RecoverySheet {
    const { ring } = this;
    if (ring === undefined) throw new Refusal('encryption_off');
    if (masterKey !== undefined && !isMasterKeyOf(ring, masterKey)) throw new Refusal('master_key_wrong');
    return recoverySheet(ring, this.#now(), masterKey);
  }

  /** Forgets the keys, waits for what was changing them: for the server's stop. Sealing stops where it is. */
  async close(): Promise<void> {
    this.#wipe();
    await this.#turn;
    this.#wipe();
  }

  async #finishSealing(): Promise<void> {
    try {
      if (this.ring?.isSealing === true) await this.#sealAll();
    } catch (error) {
      this.#warn(error as Error);
    }
  }

  async #sealAll(): Promise<void> {
    const inUse = new Set<string>();
    for (let after = ''; ;) {
      const step = this.#accounts.documents(vaultSecrets, { after, limit: SEAL_STEP });
      const last = step.at(-1);
      if (last === undefined) break;
      await this.#accounts.change((draft) => {
        const { ring } = this.#opened(draft);
        for (const { id } of step) inUse.add(this.#sealAnew(draft, ring, id) ?? ring.current);
      });
      after = last.id;
    }
    const ring = await this.#accounts.change((draft) => {
      const { ring: found } = this.#opened(draft);
      const keys = found.keys.filter(({ id }) => id === found.current || inUse.has(id));
      const whole = { ...found, keys, isSealing: false };
      draft.putDocument(vaultKeys, RING, whole);
      return whole;
    });
    this.#keys?.keep(idsOf(ring));
  }

  /** Seals a secret under the current key; answers the key it stays under when it does not open. */
  #sealAnew(draft: AccountsDraft, ring: KeyRing, name: string): string | undefined {
    const stored = draft.document(vaultSecrets, name);
    const keyId = stored?.sealed === true ? sealedUnder(stored.value) : undefined;
    if (stored === undefined || keyId === ring.current) return undefined;
    let clear: Buffer;
    try {
      clear = stored.sealed ? this.#unseal(name, stored.value) : Buffer.from(stored.value);
    } catch {
      return keyId;
    }
    draft.putDocument(vaultSecrets, name, this.#seal(ring, name, clear));
    clear.fill(0);
    return undefined;
  }

  #seal(ring: KeyRing, name: string, secret: Uint8Array): StoredSecret {
    const dataKey = this.#unlocked().get(ring.current);
    if (dataKey === undefined) throw new Error(`The data key ${ring.current} is not in memory.`);
    return { sealed: true, value: seal(dataKey, ring.current, name, secret) };
  }

  #unseal(name: string, sealed: Uint8Array): Buffer {
    const dataKey = this.#unlocked().get(sealedUnder(sealed) ?? '');
    if (dataKey === undefined) throw new Error(`The secret ${name} is sealed under a key that there is not.`);
    try {
      return unseal(dataKey, name, sealed);
    } catch (error) {
      throw new Error(`The secret ${name} does not open: what is stored was changed.`, { cause: error });
    }
  }

  /** The ring of a draft with its keys. @throws Refusal `encryption_off`, `encryption_locked`. */
  #opened(draft: AccountsDraft): { ring: KeyRing; keys: OpenKeys } {
    const ring = draft.document(vaultKeys, RING);
    if (ring === undefined) throw new Refusal('encryption_off');
    return { ring, keys: this.#unlocked() };
  }

  #unlocked(): OpenKeys {
    if (this.#keys === undefined) throw new Refusal('encryption_locked', { retryAfter: LOCKED_RETRY_SECONDS });
    return this.#keys;
  }

  #wipe(): void {
    this.#keys?.wipe();
    this.#keys = undefined;
  }

  #now(): string {
    return formatInstant(this.#clock.now());
  }

  #audit(draft: AccountsDraft, event: string, by: VaultActor, details: Readonly<Record<string, string>>): void {
    draft.audit(this.#clock.now(), { event, ...by, subject: null, details });
  }

  async #inTurn(action: () => Promise<void>): Promise<void> {
    const turn = this.#turn.then(action);
    // Whoever comes next waits for the end, whatever it was.
    this.#turn = turn.catch(() => undefined);
    await turn;
  }
}

function assertMasterKey(masterKey: Uint8Array): void {
  if (masterKey.length !== KEY_BYTES) throw new Refusal('field_invalid', { field: 'master_key' });
}

function isMasterKeyOf(ring: KeyRing, masterKey: Uint8Array): boolean {
  return timingSafeEqual(Buffer.from(checkValueOf(masterKey)), Buffer.from(ring.master.checkValue));
}

function idsOf(ring: KeyRing | undefined): Set<string> {
  return new Set(ring?.keys.map(({ id }) => id));
}
