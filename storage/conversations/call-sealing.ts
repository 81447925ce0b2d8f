/**
 * What may stand on disk of a call attempt. Its id is known from signalling, which leaves no trace (SUR-01): a file has a
 * name made of it, by which it is found again, and what a phone is told of it sealed. Both by the installation's key of ids.
 */
import { createCipheriv, createDecipheriv, createHmac, hkdfSync, randomBytes } from 'node:crypto';

/** Characters of an attempt's name: 132 bits. */
const NAME_CHARACTERS = 22;
const NONCE_BYTES = 12;
const TAG_BYTES = 16;
const KEY_BYTES = 32;

/** What an attempt is stored under. */
export function nameOfAttempt(idKey: Uint8Array, call: string): string {
  return createHmac('sha256', idKey).update(`call\0${call}`).digest('base64url').slice(0, NAME_CHARACTERS);
}

export class CallSealing {
  readonly #idKey: Uint8Array;
  readonly #key: Uint8Array;

  constructor(idKey: Uint8Array) {
    this.#idKey = idKey;
    this.#key = new Uint8Array(hkdfSync('sha256', idKey, '', 'parley calls in the push outbox', KEY_BYTES));
  }

  /** What an attempt is stored under. */
  nameOf(call: string): string {
    return nameOfAttempt(this.#idKey, call);
  }

  /** A text under AES-256-GCM: nonce, tag, ciphertext. */
  seal(text: string): Buffer {
    const nonce = randomBytes(NONCE_BYTES);
    const cipher = createCipheriv('aes-256-gcm', this.#key, nonce);
    const sealed = Buffer.concat([cipher.update(text, 'utf8'), cipher.final()]);
    return Buffer.concat([nonce, cipher.getAuthTag(), sealed]);
  }

  /** The text again. @throws Error for what was not sealed here. */
  open(sealed: Uint8Array): string {
    const decipher = createDecipheriv('aes-256-gcm', this.#key, sealed.subarray(0, NONCE_BYTES));
    decipher.setAuthTag(sealed.subarray(NONCE_BYTES, NONCE_BYTES + TAG_BYTES));
    const text = Buffer.concat([decipher.update(sealed.subarray(NONCE_BYTES + TAG_BYTES)), decipher.final()]);
    return text.toString('utf8');
  }
}
