/**
 * What the hosts of a cluster say of themselves each second, in a bucket that forgets what was not said again: who leads, and who is
 * there. Whoever puts its name there first leads; that another host cannot write any more is the stream's to see to.
 */
import { JetStreamApiError, type JetStreamManager } from '@nats-io/jetstream';
import type { KV } from '@nats-io/kv';
import { z } from 'zod';
import { keysIn, openBucket } from '../stream/stream-buckets.ts';
import type { StreamConnection } from '../stream/stream-connection.ts';
import { presenceBucket } from '../stream/stream-names.ts';
import { HOST_ROLES } from './host-roles.ts';

/** How often a host says that it is there. */
export const PRESENCE_MILLIS = 1_000;
/** What was not said again for so long is forgotten: a dead host's lead, too. */
export const FORGOTTEN_MILLIS = 4_000;

const LEADER_KEY = 'leader';
const HOST_PREFIX = 'host.';

const WRONG_SEQUENCE = 10_071;

const portSchema = z.int().min(0).max(65_535);
const leaderSchema = z.object({
  host: z.string(),
  address: z.string(),
  ports: z.object({ coordinator: portSchema, messaging: portSchema, calendar: portSchema }),
  tls: z.boolean(),
});
/** Who leads, and where its listeners are. */
export type Leader = z.infer<typeof leaderSchema>;

const hostSchema = z.object({
  host: z.string(),
  address: z.string(),
  version: z.string(),
  /** Made at each start: by it two hosts of one name are told apart. */
  instance: z.string(),
  role: z.enum(HOST_ROLES),
  /** It leaves the lead to others. Hosts of an earlier release do not say it. */
  drained: z.boolean().default(false),
  /** Milliseconds from what was committed last to what this host has of it. */
  lag: z.number(),
});
/** A host, as it said within FORGOTTEN_MILLIS. */
export type HostPresence = z.infer<typeof hostSchema>;

export class Presence {
  readonly #bucket: KV;
  readonly #manager: JetStreamManager;
  /** Of the bucket. */
  readonly #name: string;

  private constructor(bucket: KV, manager: JetStreamManager, name: string) {
    [this.#bucket, this.#manager, this.#name] = [bucket, manager, name];
  }

  static async open(connection: StreamConnection, name: string, replicas: number): Promise<Presence> {
    const options = { replicas, ttl: FORGOTTEN_MILLIS, history: 1 };
    const bucket = presenceBucket(name);
    return new Presence(await openBucket(connection, bucket, options), connection.manager, bucket);
  }

  /** Who leads, and what says so; undefined while nobody does. */
  async leader(): Promise<{ readonly leader: Leader; readonly revision: number } | undefined> {
    const entry = await this.#bucket.get(LEADER_KEY);
    if (entry === null || entry.operation !== 'PUT') return undefined;
    return { leader: leaderSchema.parse(entry.json()), revision: entry.revision };
  }

  /** Says that this host leads; answers the term, which is higher than any before, or undefined where another one does. */
  async lead(leader: Leader): Promise<number | undefined> {
    try {
      return await this.#bucket.create(LEADER_KEY, JSON.stringify(leader));
    } catch (error) {
      if (error instanceof JetStreamApiError && error.code === WRONG_SEQUENCE) return undefined;
      throw error;
    }
  }

  /** Says it again; answers what the next has to come behind, or undefined where it is not true any more. */
  async leadOn(leader: Leader, behind: number): Promise<number | undefined> {
    try {
      return await this.#bucket.update(LEADER_KEY, JSON.stringify(leader), behind);
    } catch (error) {
      if (error instanceof JetStreamApiError && error.code === WRONG_SEQUENCE) return undefined;
      throw error;
    }
  }

  /** Says that this host leads no more, so that nobody waits until that is forgotten. */
  async stepDown(behind: number): Promise<void> {
    await this.#bucket.delete(LEADER_KEY, { previousSeq: behind });
  }

  async say(host: HostPresence): Promise<void> {
    await this.#bucket.put(`${HOST_PREFIX}${host.host}`, JSON.stringify(host));
  }

  async leave(host: string): Promise<void> {
    await this.#bucket.delete(`${HOST_PREFIX}${host}`);
  }

  /** The hosts that are there, by name. */
  async hosts(): Promise<HostPresence[]> {
    const names = await keysIn(this.#manager, this.#name, `${HOST_PREFIX}*`);
    const entries = await Promise.all(names.toSorted().map(async (name) => await this.#bucket.get(name)));
    return entries.flatMap((entry) =>
      entry === null || entry.operation !== 'PUT' ? [] : [hostSchema.parse(entry.json())],
    );
  }
}
