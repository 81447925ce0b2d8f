/**
 * Contents of attachments as they lie on disk while encryption at rest is on: in chunks, so that a range of two
 * gigabytes is opened in constant memory.
 *
 *     PARLEY│B│1 │ plain bytes, 8 │ the content's own key, sealed, 69 │ chunk │ chunk │ …
 *                                                                       └ ≤ 64 KiB ciphertext │ tag, 16
 *
 * Each file has a random key of its own, and a chunk's nonce is its index: none is ever used twice under a key. The
 * content's key is bound to name and length, a chunk to name, length and index, so that a file that is cut off, put
 * together anew or put in the place of another does not open.
 *
 * The name is a keyed hash: whoever reads the disk cannot ask whether a file that they know is there.
 */
import { createCipheriv, createDecipheriv, createHmac } from 'node:crypto';
import { Refusal } from '#src/protocol/errors.ts';
import { KEY_BYTES, makeKey, seal, unseal } from '../vault/sealing.ts';

/** Plain bytes of a chunk. */
export const SEALED_CHUNK_BYTES = 64 * 1024;
const TAG_BYTES = 16;
const NONCE_BYTES = 12;
const MAGIC = Buffer.from('PARLEYB1');
/** A value of `sealing.ts`: version, key id, nonce, key, tag. */
const WRAPPED_BYTES = 1 + 8 + NONCE_BYTES + KEY_BYTES + TAG_BYTES;
export const SEALED_HEAD_BYTES = MAGIC.length + 8 + WRAPPED_BYTES;
const STORED_CHUNK_BYTES = SEALED_CHUNK_BYTES + TAG_BYTES;
/** How long a client waits before it asks a locked server again, in seconds: an owner has to come first. */
const LOCKED_RETRY_SECONDS = 60;

/** Bytes of the secret that seals attachments: one key wraps the contents' keys, the other names them. */
export const ATTACHMENT_SECRET_BYTES = 2 * KEY_BYTES;

/** How attachments are kept: as they are, or sealed, with the secret while the vault is unlocked. */
export type AttachmentSealing =
  | { readonly state: 'off' | 'locked' }
  | { readonly state: 'unlocked'; readonly secret: Uint8Array };

/** What seals and opens contents: the two halves of the vault's secret. Copies of its own, gone with `wipe`. */
export class ContentKeys {
  readonly #wrapping: Buffer;
  readonly #naming: Buffer;
  readonly #id: string;

  constructor(secret: Uint8Array) {
    if (secret.length !== ATTACHMENT_SECRET_BYTES) throw new Error('The secret of attachments has another length.');
    this.#wrapping = Buffer.from(secret.subarray(0, KEY_BYTES));
    this.#naming = Buffer.from(secret.subarray(KEY_BYTES));
    this.#id = createHmac('sha256', this.#naming).update('key id').digest('hex').slice(0, 16);
  }

  /** The name of a content with that hash. */
  nameOf(hash: string): string {
    return `s${createHmac('sha256', this.#naming).update(`content\0${hash}`).digest('hex')}`;
  }

  /** Begins to seal a content of so many bytes: its head, and what seals its chunks, in order. */
  sealer(name: string, bytes: number): { readonly head: Buffer; readonly chunk: (clear: Uint8Array) => Buffer } {
    const contentKey = makeKey();
    const wrapped = seal(this.#wrapping, this.#id, wrapName(name, bytes), contentKey);
    let index = 0;
    const chunk = (clear: Uint8Array): Buffer => {
      const cipher = createCipheriv('aes-256-gcm', contentKey, nonceOf(index), { authTagLength: TAG_BYTES });
      cipher.setAAD(boundTo(name, bytes, index));
      index += 1;
      return Buffer.concat([cipher.update(clear), cipher.final(), cipher.getAuthTag()]);
    };
    return { head: Buffer.concat([MAGIC, lengthOf(bytes), wrapped]), chunk };
  }

  /** The key of a content by the head of its file. @throws Error when it was changed or is of another secret. */
  open(name: string, head: Buffer): OpenedContent {
    const bytes = sealedLength(head);
    if (bytes === undefined) throw new Error(`The content ${name} has no head of a sealed one.`);
    const wrapped = head.subarray(MAGIC.length + 8, SEALED_HEAD_BYTES);
    return { name, bytes, key: unseal(this.#wrapping, wrapName(name, bytes), wrapped) };
  }

  /** Seals something small that belongs to a content. */
  sealPart(name: string, clear: Uint8Array): Buffer {
    return seal(this.#wrapping, this.#id, `part:${name}`, clear);
  }

  /** @throws Error when it was changed. */
  openPart(name: string, sealed: Uint8Array): Buffer {
    return unseal(this.#wrapping, `part:${name}`, sealed);
  }

  wipe(): void {
    this.#wrapping.fill(0);
    this.#naming.fill(0);
  }
}

/** A sealed content whose chunks can be opened. */
export interface OpenedContent {
  readonly name: string;
  readonly bytes: number;
  readonly key: Uint8Array;
}

/** Opens one stored chunk. @throws Error when it was changed, cut off or is another one. */
export function openChunk({ name, bytes, key }: OpenedContent, index: number, stored: Buffer): Buffer {
  const decipher = createDecipheriv('aes-256-gcm', key, nonceOf(index), { authTagLength: TAG_BYTES });
  decipher.setAAD(boundTo(name, bytes, index));
  decipher.setAuthTag(stored.subarray(-TAG_BYTES));
  const clear = decipher.update(stored.subarray(0, -TAG_BYTES));
  decipher.final();
  return clear;
}

/** Whether a content of that name is sealed. */
export function isSealedName(name: string): boolean {
  return name.startsWith('s');
}

/** The plain bytes that a head says; undefined for what is no head. */
export function sealedLength(head: Buffer): number | undefined {
  if (head.length < SEALED_HEAD_BYTES || !head.subarray(0, MAGIC.length).equals(MAGIC)) return undefined;
  return Number(head.readBigUInt64BE(MAGIC.length));
}

/** The length of a sealed file with so many plain bytes. */
export function storedBytes(bytes: number): number {
  return SEALED_HEAD_BYTES + bytes + Math.ceil(bytes / SEALED_CHUNK_BYTES) * TAG_BYTES;
}

/** Where a chunk lies in its file, and how long it is there. */
export function chunkAt(bytes: number, index: number): { readonly position: number; readonly length: number } {
  const clear = Math.min(SEALED_CHUNK_BYTES, bytes - index * SEALED_CHUNK_BYTES);
  return { position: SEALED_HEAD_BYTES + index * STORED_CHUNK_BYTES, length: clear + TAG_BYTES };
}

export function lockedRefusal(): Refusal {
  return new Refusal('encryption_locked', { retryAfter: LOCKED_RETRY_SECONDS });
}

function nonceOf(index: number): Buffer {
  const nonce = Buffer.alloc(NONCE_BYTES);
  nonce.writeUIntBE(index, NONCE_BYTES - 6, 6);
  return nonce;
}

function lengthOf(bytes: number): Buffer {
  const length = Buffer.alloc(8);
  length.writeBigUInt64BE(BigInt(bytes));
  return length;
}

function boundTo(name: string, bytes: number, index: number): Buffer {
  return Buffer.from(`${name}\0${bytes}\0${index}`);
}

function wrapName(name: string, bytes: number): string {
  return `content:${name}:${bytes}`;
}
