/**
 * Streams, buckets and object stores of NATS, each made where it is not there. What is there is looked at and not made again: servers
 * that come back answer the one and may not answer the other for minutes (nats-server 2.9.10 after its servers were restarted in turn).
 */
import { JetStreamApiError, type JetStreamManager, type StreamInfo } from '@nats-io/jetstream';
import { Kvm, type KV, type KvOptions } from '@nats-io/kv';
import { Objm, type ObjectStore } from '@nats-io/obj';
import type { NatsConnection } from '@nats-io/transport-node';

/** The streams behind buckets and object stores (NATS ADR-8 and ADR-20). */
const BUCKET_PREFIX = 'KV_';
const OBJECTS_PREFIX = 'OBJ_';

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

export interface BucketPlace {
  readonly nats: NatsConnection;
  readonly manager: JetStreamManager;
}

/** A bucket of keys and values, whose reads the server answers that has all of it. */
export async function openBucket(
  { manager, nats }: BucketPlace,
  name: string,
  options: Partial<KvOptions>,
): Promise<KV> {
  const buckets = new Kvm(nats);
  if ((await streamInfo(manager, `${BUCKET_PREFIX}${name}`)) === undefined) await buckets.create(name, options);
  return await buckets.open(name);
}

/** A store of objects. */
export async function openObjects(
  { manager, nats }: BucketPlace,
  name: string,
  replicas: number,
): Promise<ObjectStore> {
  const stores = new Objm(nats);
  if ((await streamInfo(manager, `${OBJECTS_PREFIX}${name}`)) === undefined) await stores.create(name, { replicas });
  return await stores.open(name, false);
}
