/**
 * All lanes of a folder as one thread has them: every lane to read, its own to write.
 *
 * Which lane a conversation lies in follows from its slot and never changes; which shard writes a lane is a matter of
 * the running server. A conversation and everything about it, both directions of its memberships included, lies in
 * one lane, so that one transaction changes all of it.
 */
import { SLOT_COUNT, slotOf } from '#src/base/slots.ts';
import { logOf, type DurableWords } from './folder-logs.ts';
import { lanePath } from './folder.ts';
import { Lane, openLane, type CommitReport, type LaneEnvironment } from './lane.ts';

/** The lane of a key, for a folder with that many lanes. */
export function laneOf(itemKey: string, lanes: number): number {
  return Math.floor((slotOf(itemKey) * lanes) / SLOT_COUNT);
}

/** The shard that writes a lane: neighbours in turn, so that every shard has as many as any other, give or take one. */
export function shardOfLane(lane: number, shards: number): number {
  return lane % shards;
}

export interface LanesOptions {
  readonly folder: string;
  readonly lanes: number;
  readonly mapBytes: number;
  /** Which lanes this thread writes. */
  readonly owns: (lane: number) => boolean;
  readonly report: CommitReport;
  /** How far each lane's log is durable, where several threads have the lanes. */
  readonly words?: DurableWords;
}

export class Lanes {
  readonly environments: readonly LaneEnvironment[];
  readonly #owned: ReadonlyMap<number, Lane>;

  constructor(options: LanesOptions) {
    const { folder, mapBytes, owns, words } = options;
    this.environments = Array.from({ length: options.lanes }, (_, lane) =>
      openLane(lanePath(folder, lane), mapBytes, logOf(folder, lane, owns(lane) ? 'write' : 'read', words)),
    );
    this.#owned = new Map(
      this.environments.flatMap((environment, lane) =>
        owns(lane) ? [[lane, new Lane(lane, environment, options.report)]] : [],
      ),
    );
  }

  /** The environment a conversation is read from, on any thread. */
  read(conversation: string): LaneEnvironment {
    return this.environments[laneOf(conversation, this.environments.length)] as LaneEnvironment;
  }

  /** The lane a conversation is written to. A fault of placement if this thread does not own it. */
  write(conversation: string): Lane {
    const number = laneOf(conversation, this.environments.length);
    const lane = this.#owned.get(number);
    if (lane === undefined) throw new Error(`Lane ${number} belongs to another shard.`);
    return lane;
  }

  /** How many conversations there are, as this thread sees them now. */
  get conversationCount(): number {
    return this.environments.reduce((sum, { tables }) => {
      const { entryCount } = tables.conversations.getStats() as { entryCount: number };
      return sum + entryCount;
    }, 0);
  }

  get owned(): Iterable<Lane> {
    return this.#owned.values();
  }

  /** Writes out what waits and closes every file. */
  async close(): Promise<void> {
    for (const lane of this.#owned.values()) await lane.settle();
    for (const environment of this.environments) await environment.close();
  }
}
