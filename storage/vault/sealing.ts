/**
 * Sealing: AES-256-GCM under a key with an id, bound to the name of what is sealed.
 *
 *     1 │ key id, 8 bytes │ nonce, 12 bytes │ ciphertext │ tag, 16 bytes
 *     └ version
 *
 * The version, the key id and the name are authenticated with the ciphertext: a value that is changed, cut off, or put
 * in the place of another name's does not open. Nonces are random: a key seals some thousand values in its life, and
 * 96 random bits stay unrepeated for 2³² of them.
 */
import { createCipheriv, createDecipheriv, hkdfSync, randomBytes } from 'node:crypto';
import { Refusal } from '#src/protocol/errors.ts';

/** The length of every key here, the master key included. */
export const KEY_BYTES = 32;

const VERSION = 1;
const KEY_ID_BYTES = 8;
const HEAD_BYTES = 1 + KEY_ID_BYTES;
const NONCE_BYTES = 12;
const TAG_BYTES = 16;
const CHECK_VALUE_BYTES = 8;
const SALT_BYTES = 16;

const MASTER_KEY = /^[0-9a-f]{64}$/i;

/** A new key id: 16 hex digits, no secret. */
export function makeKeyId(): string {
  return randomBytes(KEY_ID_BYTES).toString('hex');
}

/** A new random key; also how a master key is made that the server proposes. */
export function makeKey(): Buffer {
  return randomBytes(KEY_BYTES);
}

/** A new salt for the derivation of a wrapping key. */
export function makeSalt(): Buffer {
  return randomBytes(SALT_BYTES);
}

/**
 * The master key that 64 hex digits say.
 * @throws Refusal `field_invalid`, field `master_key`, for anything else.
 */
export function readMasterKey(text: string): Buffer {
  if (!MASTER_KEY.test(text)) throw new Refusal('field_invalid', { field: 'master_key' });
  return Buffer.from(text, 'hex');
}

/** Seals `clear` for `name` under a key of 32 bytes with the id `keyId`. */
export function seal(key: Uint8Array, keyId: string, name: string, clear: Uint8Array): Buffer {
  const head = Buffer.concat([Buffer.of(VERSION), Buffer.from(keyId, 'hex')]);
  const nonce = randomBytes(NONCE_BYTES);
  const cipher = createCipheriv('aes-256-gcm', key, nonce, { authTagLength: TAG_BYTES });
  cipher.setAAD(Buffer.concat([head, Buffer.from(name, 'utf8')]));
  return Buffer.concat([head, nonce, cipher.update(clear), cipher.final(), cipher.getAuthTag()]);
}

/**
 * What was sealed for `name` under this key.
 * @throws Error when it is not that: another key, another name, changed or cut off. Which of them cannot be told.
 */
export function unseal(key: Uint8Array, name: string, sealed: Uint8Array): Buffer {
  const value = Buffer.from(sealed.buffer, sealed.byteOffset, sealed.length);
  if (value.length < HEAD_BYTES + NONCE_BYTES + TAG_BYTES || value[0] !== VERSION) throw new Error('It is not sealed.');
  const body = HEAD_BYTES + NONCE_BYTES;
  const decipher = createDecipheriv('aes-256-gcm', key, value.subarray(HEAD_BYTES, body), { authTagLength: TAG_BYTES });
  decipher.setAAD(Buffer.concat([value.subarray(0, HEAD_BYTES), Buffer.from(name, 'utf8')]));
  decipher.setAuthTag(value.subarray(-TAG_BYTES));
  return Buffer.concat([decipher.update(value.subarray(body, -TAG_BYTES)), decipher.final()]);
}

/** The id of the key that a value says it is sealed under; undefined for a value that is not sealed at all. */
export function sealedUnder(sealed: Uint8Array): string | undefined {
  const isWhole = sealed.length >= HEAD_BYTES + NONCE_BYTES + TAG_BYTES && sealed[0] === VERSION;
  return isWhole ? Buffer.from(sealed.subarray(1, HEAD_BYTES)).toString('hex') : undefined;
}

/** The key that wraps data keys, from the master key and the ring's salt. */
export function wrappingKey(masterKey: Uint8Array, salt: Uint8Array): Buffer {
  return derive(masterKey, salt, 'parley: wraps data keys', KEY_BYTES);
}

/**
 * 16 hex digits by which an owner recognises a master key, on paper and beside others. They follow from the key alone
 * and say nothing about the wrapping key.
 */
export function checkValueOf(masterKey: Uint8Array): string {
  return derive(masterKey, Buffer.alloc(0), 'parley: check value of a master key', CHECK_VALUE_BYTES).toString('hex');
}

function derive(masterKey: Uint8Array, salt: Uint8Array, purpose: string, bytes: number): Buffer {
  return Buffer.from(hkdfSync('sha256', masterKey, salt, purpose, bytes));
}
