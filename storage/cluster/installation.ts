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
const FOUNDING_KEY = 'founding';
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
  /** It lies in the object store under `generation/path`. Hosts of before made all files of a snapshot in one. */
  generation: z.string().optional(),
  /** When, in milliseconds since 1970. */
  made_at: z.int().min(0).default(0),
});
const snapshotSchema = z
  .object({
    /** The newest one. */
    generation: z.string(),
    /** The term of the host that has the say over it. */
    term: z.int().min(0).default(0),
    files: z.array(fileSchema),
  })
  .transform(({ files, generation, term }) => ({
    term,
    files: files.map((file) => ({ ...file, generation: file.generation ?? generation })),
  }));
/** The files that a host begins with. Each is of its own instant and says itself how far it has the stream. */
export type Snapshot = z.infer<typeof snapshotSchema>;
export type SnapshotFile = Snapshot['files'][number];

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

  /**
   * Changes the snapshot as the host that leads in that term, however often another host changes it meanwhile; undefined where a host
   * of a later term has the say. One that was paused and led before then changes nothing any more.
   */
  async changeSnapshot(term: number, change: (snapshot: Snapshot) => Snapshot['files']): Promise<Snapshot | undefined> {
    for (;;) {
      const entry = await this.#bucket.get(SNAPSHOT_KEY);
      const before =
        entry === null || entry.operation !== 'PUT' ? { term: 0, files: [] } : snapshotSchema.parse(entry.json());
      if (before.term > term) return undefined;
      const snapshot = { term, files: change(before) };
      const generation = snapshot.files.reduce(
        (newest, file) => (file.generation > newest ? file.generation : newest),
        '',
      );
      const text = JSON.stringify({ generation, ...snapshot });
      try {
        if (entry === null) await this.#bucket.create(SNAPSHOT_KEY, text);
        else await this.#bucket.update(SNAPSHOT_KEY, text, entry.revision);
        return snapshot;
      } catch (error) {
        if (!(error instanceof JetStreamApiError && error.code === WRONG_SEQUENCE)) throw error;
      }
    }
  }

  /** Says that the first snapshot is being made, and is not forgotten: those who wait for it wait on. */
  async sayFounding(): Promise<void> {
    await this.#bucket.put(FOUNDING_KEY, '');
  }

  /** The revision of the last word that the first snapshot is being made; 0 before the first. */
  async foundingRevision(): Promise<number> {
    return (await this.#bucket.get(FOUNDING_KEY))?.revision ?? 0;
  }
}
