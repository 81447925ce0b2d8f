/**
 * Contents of attachments that lie in an object store and not on this disk. An object is the file of a content as it would
 * lie here, sealed or not, under a random name that is used once: that an old one is still being removed hurts no new one.
 */

/** Bytes of an object that are asked for, and held, at once: one reader holds no connection while it is slow. */
export const OBJECT_READ_BYTES = 1024 * 1024;

/** An object store, which may be away at any time. What it cannot do is a Refusal `object_store_unavailable`. */
export interface ObjectStore {
  /** The bytes from `start` to `end`, both included. @throws Error `ENOENT` where there is no such object. */
  read(object: string, start: number, end: number): Promise<Buffer>;
  /** Stores an object of so many bytes, of which `source` gives any; it is there, whole, when it resolves. */
  write(object: string, bytes: number, source: (position: number, length: number) => Promise<Buffer>): Promise<void>;
  /** Removes an object, and every part of an unfinished one. One that is not there is no error. */
  remove(object: string): Promise<void>;
}

/** A content in the store. */
export interface StoredObject {
  readonly store: ObjectStore;
  readonly object: string;
}
