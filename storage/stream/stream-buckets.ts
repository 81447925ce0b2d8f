/**
 * Streams, buckets and object stores of NATS, each made where it is not there. What is there is looked at and not made again: servers
 * that come back answer the one and may not answer the other for minutes (nats-server 2.9.10 after its servers were restarted in turn).
 */
import { JetStreamApiError, type JetStreamManager, type StreamInfo } from '@nats-io/jetstream';
import { Kvm, type KV, type KvOptions } from '@nats-io/kv';
import { Objm, type ObjectStore } from '@nats-io/obj';
import type { StreamConnection } from './stream-connection.ts';

/** The streams behind buckets and object stores (NATS ADR-8 and ADR-20). */
const BUCKET_PREFIX = 'KV_';
export const OBJECTS_PREFIX = 'OBJ_';

/** JetStream's code for a stream that is not there. */
const NOT_FOUND = 10_059;

/** What a stream is; undefined where it is not there. @throws what NATS does not answer. */
export async function streamInfo(manager: JetStreamManager, name: string): Promise<StreamInfo | undefined> {
  try {
    return await manager.streams.info(name);
  } catch (error) {
    if (error instanceof JetStreamApiError && error.code === NOT_FOUND) return undefined;
    throw error;
  }
}

/** A bucket of keys and values, whose reads the server answers that has all of it. */
export async function openBucket(
  { manager, stream }: Pick<StreamConnection, 'manager' | 'stream'>,
  name: string,
  options: Partial<KvOptions>,
): Promise<KV> {
  const buckets = new Kvm(stream);
  if ((await streamInfo(manager, `${BUCKET_PREFIX}${name}`)) === undefined) await buckets.create(name, options);
  return await buckets.open(name);
}

/**
 * The keys of a bucket that match (`host.*`), those that were deleted included. One question, answered within the connection's time: the
 * library's own way makes a consumer for it and waits for what that brings, without an end where a key is forgotten in between.
 */
export async function keysIn(manager: JetStreamManager, name: string, matching: string): Promise<string[]> {
  const prefix = `$KV.${name}.`;
  const { state } = await manager.streams.info(`${BUCKET_PREFIX}${name}`, { subjects_filter: `${prefix}${matching}` });
  return Object.keys(state.subjects ?? {}).map((subject) => subject.slice(prefix.length));
}

/** A store of objects. */
export async function openObjects(
  { manager, nats }: Pick<StreamConnection, 'manager' | 'nats'>,
  name: string,
  replicas: number,
): Promise<ObjectStore> {
  const stores = new Objm(nats);
  if ((await streamInfo(manager, `${OBJECTS_PREFIX}${name}`)) === undefined) await stores.create(name, { replicas });
  return await stores.open(name, false);
}
