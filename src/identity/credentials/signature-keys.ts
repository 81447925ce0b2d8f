/** The keys of a ring as a thread has them, for what is signed by an HMAC and says nothing of its key. */
import type { SigningKeys } from '#storage/accounts/signing-keys.ts';

export class SignatureKeys {
  #keys: SigningKeys;

  constructor(keys: SigningKeys) {
    this.#keys = keys;
  }

  /** Goes by these keys from now on. */
  use(keys: SigningKeys): void {
    this.#keys = keys;
  }

  /** The key that signs. */
  get present(): Uint8Array {
    return this.#keys[0].key;
  }

  /** The keys of which a signature is taken at that Unix second. */
  accepted(nowSeconds: number): Uint8Array[] {
    return this.#keys
      .filter(({ retired }) => retired === null || retired.validUntil > nowSeconds)
      .map(({ key }) => key);
  }
}
