/** What a cluster's bucket says for good: which installation it is, in which format, and which snapshot is the newest. */
import { JetStreamApiError } from '@nats-io/jetstream';
import type { KV } from '@nats-io/kv';
import { z } from 'zod';
import { FolderError } from '../engine/folder.ts';
import { openBucket } from '../stream/stream-buckets.ts';
import type { StreamConnection } from '../stream/stream-connection.ts';
import { installationBucket, STREAM_VERSION } from '../stream/stream-names.ts';
import { CLUSTER_ID } from '../stream/stream-position.ts';

const INSTALLATION_KEY = 'installation';
const SNAPSHOT_KEY = 'snapshot';
const WRONG_SEQUENCE = 10_071;

const installationSchema = z.object({
  version: z.int(),
  cluster: z.string().regex(CLUSTER_ID),
  /** Bytes in hex that hosts know each other by. */
  key: z.string().regex(/^[0-9a-f]{64}$/),
});
export type Installation = z.infer<typeof installationSchema>;

const fileSchema = z.object({
  /** Its path within the data folder. */
  path: z.string().regex(/^(?:manifest\.json|stores\.json|(?:accounts|attachments|calendar|lanes\/\d{2})\.mdb)$/),
  bytes: z.int().min(0),
  sha256: z.string().regex(/^[0-9a-f]{64}$/),
});
const snapshotSchema = z.object({ generation: z.string(), files: z.array(fileSchema) });
/** The files of a snapshot, in the object store under `generation/path`. */
export type Snapshot = z.infer<typeof snapshotSchema>;

export class InstallationRecord {
  readonly #bucket: KV;

  private constructor(bucket: KV) {
    this.#bucket = bucket;
  }

  static async open(connection: StreamConnection, name: string, replicas: number): Promise<InstallationRecord> {
    return new InstallationRecord(await openBucket(connection, installationBucket(name), { replicas, history: 1 }));
  }

  /** @throws FolderError for a cluster of another version. */
  async read(): Promise<Installation | undefined> {
    const entry = await this.#bucket.get(INSTALLATION_KEY);
    if (entry === null || entry.operation !== 'PUT') return undefined;
    const { version } = z.object({ version: z.int() }).parse(entry.json());
    if (version !== STREAM_VERSION) {
      throw new FolderError(
        `The hosts of this cluster speak version ${version} with each other, and this one ${STREAM_VERSION}. Stop all, upgrade all, start all.`,
      );
    }
    return installationSchema.parse(entry.json());
  }

  /** Whether this is the first that says which installation it is. */
  async found(installation: Omit<Installation, 'version'>): Promise<boolean> {
    try {
      await this.#bucket.create(INSTALLATION_KEY, JSON.stringify({ version: STREAM_VERSION, ...installation }));
      return true;
    } catch (error) {
      if (error instanceof JetStreamApiError && error.code === WRONG_SEQUENCE) return false;
      throw error;
    }
  }

  async snapshot(): Promise<Snapshot | undefined> {
    const entry = await this.#bucket.get(SNAPSHOT_KEY);
    return entry === null || entry.operation !== 'PUT' ? undefined : snapshotSchema.parse(entry.json());
  }

  async putSnapshot(snapshot: Snapshot): Promise<void> {
    await this.#bucket.put(SNAPSHOT_KEY, JSON.stringify(snapshot));
  }
}
