/**
 * The key ring: the data keys of the vault, each wrapped by a key that follows from the master key.
 *
 *     master key ──HKDF──► wrapping key ──wraps──► data keys ──seal──► secrets
 *     with the owner       in memory while         on disk wrapped     on disk sealed
 *                          unlocked
 *
 * One document holds the whole ring, so that a rotation of the master key is one commit. The master key itself is
 * never stored, and no longer in memory once the wrapping key is.
 */
import { defineCollection } from '../accounts/collections.ts';
import { checkValueOf, makeKey, makeKeyId, makeSalt, seal, unseal, wrappingKey } from './sealing.ts';

/** The ring as it lies on disk: nothing in it opens anything without the master key. */
export interface KeyRing {
  readonly master: MasterKeyRecord;
  /** The id of the data key that seals what is put from now on. */
  readonly current: string;
  /** All data keys that a secret may still be sealed under; more than one while secrets are sealed anew. */
  readonly keys: readonly WrappedKey[];
  /** RFC 3339: since when encryption at rest is on. */
  readonly enabledAt: string;
  /** True until every secret is known to be sealed under the current key; survives a crash in the middle. */
  readonly isSealing: boolean;
}

export interface MasterKeyRecord {
  readonly id: string;
  /** For the derivation of the wrapping key. */
  readonly salt: Uint8Array;
  readonly checkValue: string;
  /** RFC 3339: since when this master key is the one. */
  readonly since: string;
}

export interface WrappedKey {
  readonly id: string;
  readonly wrapped: Uint8Array;
  /** RFC 3339. */
  readonly createdAt: string;
}

export const vaultKeys = defineCollection<KeyRing>('vault_keys', { version: 1 });
/** The ring's one id in its collection. */
export const RING = 'ring';

/** The keys in memory while the vault is unlocked. */
export class OpenKeys {
  #wrapping: Buffer;
  #masterId: string;
  #isWiped = false;
  readonly #dataKeys = new Map<string, Buffer>();

  private constructor(wrapping: Buffer, masterId: string) {
    this.#wrapping = wrapping;
    this.#masterId = masterId;
  }

  /** A new ring with one data key, and its keys. */
  static make(masterKey: Uint8Array, at: string): { keys: OpenKeys; ring: KeyRing } {
    const { master, wrapping } = newMaster(masterKey, at);
    const keys = new OpenKeys(wrapping, master.id);
    const first = keys.add(at);
    return { keys, ring: { master, current: first.id, keys: [first], enabledAt: at, isSealing: true } };
  }

  /** The keys of a ring. @throws Error when a data key does not unwrap: the master key is wrong or the ring damaged. */
  static open(masterKey: Uint8Array, ring: KeyRing): OpenKeys {
    const keys = new OpenKeys(wrappingKey(masterKey, ring.master.salt), ring.master.id);
    for (const { id, wrapped } of ring.keys) {
      try {
        keys.#dataKeys.set(id, unseal(keys.#wrapping, wrapName(id), wrapped));
      } catch (error) {
        keys.wipe();
        throw new Error(`The data key ${id} does not unwrap.`, { cause: error });
      }
    }
    return keys;
  }

  /** The data key of that id. */
  get(id: string): Uint8Array | undefined {
    return this.#dataKeys.get(id);
  }

  /** Makes a data key; it seals nothing before a ring on disk names it. */
  add(at: string): WrappedKey {
    const id = makeKeyId();
    const dataKey = makeKey();
    this.#dataKeys.set(id, dataKey);
    return { id, wrapped: seal(this.#wrapping, this.#masterId, wrapName(id), dataKey), createdAt: at };
  }

  /** Forgets every data key whose id is not among these. */
  keep(ids: ReadonlySet<string>): void {
    for (const [id, dataKey] of this.#dataKeys) {
      if (ids.has(id)) continue;
      dataKey.fill(0);
      this.#dataKeys.delete(id);
    }
  }

  /** The same data keys wrapped under another master key, and what to call when that ring is on disk, or is not. */
  rewrap(masterKey: Uint8Array, ring: KeyRing, at: string): { ring: KeyRing; settle: (isStored: boolean) => void } {
    const { master, wrapping } = newMaster(masterKey, at);
    const keys = ring.keys.map(({ id, createdAt }) => {
      const dataKey = this.#dataKeys.get(id);
      if (dataKey === undefined) throw new Error(`The data key ${id} is not in memory.`);
      return { id, createdAt, wrapped: seal(wrapping, master.id, wrapName(id), dataKey) };
    });
    const settle = (isStored: boolean): void => {
      // The vault may have been locked while the ring was written.
      const isUsed = isStored && !this.#isWiped;
      const unused = isUsed ? this.#wrapping : wrapping;
      if (isUsed) [this.#wrapping, this.#masterId] = [wrapping, master.id];
      unused.fill(0);
    };
    return { ring: { ...ring, master, keys }, settle };
  }

  /** Overwrites every key with zeros. Nothing can be sealed or opened with these keys again. */
  wipe(): void {
    this.#isWiped = true;
    this.#wrapping.fill(0);
    this.keep(new Set());
  }
}

function newMaster(masterKey: Uint8Array, at: string): { master: MasterKeyRecord; wrapping: Buffer } {
  const salt = makeSalt();
  const master = { id: makeKeyId(), salt, checkValue: checkValueOf(masterKey), since: at };
  return { master, wrapping: wrappingKey(masterKey, salt) };
}

/** The name that a wrapped data key is bound to, so that two of a ring cannot be swapped. */
function wrapName(id: string): string {
  return `data-key:${id}`;
}
