/**
 * Collections: documents of one noun in the accounts file, by id. Whatever the management plane keeps beyond people
 * and sessions is one of these: groups, vendor tokens, bots, nodes, settings.
 *
 * A noun defines its collection once and owns what its documents hold; nobody else writes it. A document is a version
 * byte and MessagePack, so that a noun can change its form and still read what is stored.
 */
import { key, under } from '../engine/keys.ts';
import { pack, unpackAny, type Codec } from '../engine/record-codec.ts';

export interface Collection<T> extends Codec<T> {
  readonly name: string;
}

export interface CollectionForm<T> {
  /** The form that `put` writes, from 1 up to 255. */
  readonly version: number;
  /** Brings a document of an earlier version to the present one. */
  readonly upgrade?: (document: unknown, version: number) => T;
}

/** A document and the id it has. */
export interface Entry<T> {
  readonly id: string;
  readonly document: T;
}

/**
 * Defines a collection. `name` holds no NUL and is never given to another noun; `T` is plain data: objects, arrays,
 * texts, numbers, booleans, null, undefined, Uint8Array.
 */
export function defineCollection<T>(name: string, { version, upgrade }: CollectionForm<T>): Collection<T> {
  return {
    name,
    encode: (document) => pack(document, 'undefined', version),
    decode(value) {
      const stored = value[0] ?? 0;
      const document = unpackAny(value);
      if (stored === version) return document as T;
      if (upgrade === undefined || stored > version) {
        throw new Error(`A document of ${name} has version ${stored}; ${version} is known.`);
      }
      return upgrade(document, stored);
    },
  };
}

/** Where a document lies. Ids are usernames or the server's own ids: no NUL. */
export function documentKey(collection: Collection<never> | { readonly name: string }, id: string): Buffer {
  return key(collection.name, id);
}

/** The range of a collection's documents behind the id `after`. */
export function documentRange(collection: { readonly name: string }, after?: string): { start: Buffer; end: Buffer } {
  const range = under(collection.name);
  return after === undefined ? range : { start: key(collection.name, after, ''), end: range.end };
}

/** The id in a document's key. */
export function documentId(collection: { readonly name: string }, itemKey: Buffer): string {
  return itemKey.toString('utf8', Buffer.byteLength(collection.name) + 1);
}
