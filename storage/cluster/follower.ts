/**
 * Follows the stream of a cluster: what the host that leads has committed is committed here, in order, by log.
 *
 *     message ─► its subject's parts, until the batch is whole ─► commit with the position it brings ─► `position`
 *
 * What arrived for a log while its last commit was under way goes into one commit.
 */
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { DeliverPolicy, type ConsumerMessages, type JsMsg } from '@nats-io/jetstream';
import { Environment, mapBytesOf, type Write } from '../engine/environment.ts';
import { logFolderName, logNames, logOf, storePath } from '../engine/folder-logs.ts';
import { FolderError } from '../engine/folder.ts';
import { decodeBatch, encodeBatch } from '../log/commit-log.ts';
import { POSITION_KEY, REPLICATED_TABLE } from '../log/replication.ts';
import type { StreamConnection } from '../stream/stream-connection.ts';
import { BATCH_HEADER, logOfSubject, logSubject, PART_HEADER, streamName } from '../stream/stream-names.ts';
import { Fenced, type StreamPlace } from '../stream/stream-place.ts';
import { decodePosition, encodePosition, type StreamPosition } from '../stream/stream-position.ts';
import { behindOf, lookBehind } from '../stream/subject-order.ts';
import { SubjectWriter } from '../stream/subject-writer.ts';

/** Bytes that wait to be committed here before no more is taken from the stream. */
const WAITING_BYTES_MAX = 16 * 1024 * 1024;
/** Messages that NATS sends ahead. */
const MESSAGES_AHEAD = 500;
/**
 * How often NATS is asked for more, and how often it says that there is nothing: two of those missed, and the place in the stream is taken
 * up anew at another server. By the library's own figures that takes half a minute, in which this host can't lead.
 */
const ASK_MILLIS = 4_000;
const HEARTBEAT_MILLIS = 1_000;
/** How often a commit that this host's disk refused is tried again. */
const RETRY_MILLIS = 1_000;
const SETTLED_MILLIS = 10;

/** The stream does not reach back to what a host has of some logs: it begins again with a snapshot of these. */
export class StreamGap extends Error {
  /** By their names. */
  readonly logs: readonly string[];

  constructor(followed: readonly Pick<Followed, 'log' | 'received'>[]) {
    const batches = followed.map(({ log, received }) => `batch ${received.batch + 1} of ${log}`);
    super(`The stream does not have ${batches.join(', ')} any more.`);
    this.logs = followed.map(({ log }) => log);
  }
}

/** A log as a follower has it. */
interface Followed {
  readonly log: string;
  readonly environment: Environment<string>;
  /** How far it is here. */
  position: StreamPosition;
  /** How far it has come in, in whole batches; and the last message of its subject that counts, which may be a part of the next. */
  received: StreamPosition;
  tail: number;
  parts: Buffer[];
  waiting: { readonly writes: Write[]; readonly position: StreamPosition; readonly bytes: number }[];
  isApplying: boolean;
  applied: Promise<void>;
}

export interface FollowerOptions {
  readonly connection: StreamConnection;
  readonly place: StreamPlace;
  readonly folder: string;
  readonly lanes: number;
  /** A commit failed here, and why; undefined once one did not. */
  readonly faulted: (error: Error | undefined) => void;
}

export class Follower {
  readonly #options: FollowerOptions;
  readonly #logs: ReadonlyMap<string, Followed>;
  #messages: ConsumerMessages | undefined;
  #ended: Promise<void> = Promise.resolve();
  #waitingBytes = 0;
  #isStopped = false;
  /** The last message of the stream that came here, and when it was written; 0 before the first. */
  #sequence = 0;
  #writtenAt = 0;
  #ahead = 0;

  private constructor(options: FollowerOptions, logs: ReadonlyMap<string, Followed>) {
    this.#options = options;
    this.#logs = logs;
  }

  /**
   * Opens the stores of a folder that nobody has open and whose logs are applied.
   * @throws StreamGap when the stream does not reach back to them.
   */
  static async open(options: FollowerOptions): Promise<Follower> {
    const { folder, lanes, place } = options;
    const logs = new Map<string, Followed>();
    for (const name of logNames(lanes)) {
      const path = join(folder, storePath(name));
      const log = { ...logOf(folder, name, 'write'), replication: undefined };
      const environment = new Environment<string>(path, [REPLICATED_TABLE], { mapBytes: mapBytesOf(path), log });
      const position = decodePosition(place.cluster, environment.tables[REPLICATED_TABLE]?.get(POSITION_KEY));
      const at = { position, received: position, tail: position.sequence };
      const idle = { parts: [], waiting: [], isApplying: false, applied: Promise.resolve() };
      logs.set(logFolderName(name), { log: logFolderName(name), environment, ...at, ...idle });
    }
    const follower = new Follower(options, logs);
    try {
      await follower.#begin();
    } catch (error) {
      await follower.close();
      throw error;
    }
    return follower;
  }

  /** Resolves when the stream has ended here: with `close`, or by an error, which it rejects with. */
  get ended(): Promise<void> {
    return this.#ended;
  }

  /** The last message of the stream that came here. */
  get sequence(): number {
    return this.#sequence;
  }

  /** Milliseconds from the writing of what is not here yet, by this host's clock; 0 where all is that is known of. */
  get lagMillis(): number {
    const isBehind = this.#ahead > 0 || this.#waitingBytes > 0;
    return isBehind && this.#writtenAt > 0 ? Math.max(0, Date.now() - this.#writtenAt) : 0;
  }

  /** Whether everything that the stream has is here. */
  async isLevel(): Promise<boolean> {
    const { connection, place } = this.#options;
    const { state } = await connection.manager.streams.info(streamName(place.name));
    return this.#waitingBytes === 0 && this.#sequence >= state.last_seq;
  }

  /**
   * Begins a term: from then on no other host can write. Answers whether this host could; it may not where it lacks something that
   * another one wrote. Rejects when it is told to stop while NATS does not answer.
   */
  async beginTerm(term: number, stopping: AbortSignal): Promise<boolean> {
    const { connection, place } = this.#options;
    const begun: [Followed, StreamPosition][] = [];
    for (const followed of this.#logs.values()) {
      const writer = new SubjectWriter({ name: place.name, term }, followed.log, {
        batch: followed.received.batch,
        sequence: followed.tail,
      });
      const giveUp = () => writer.giveUp();
      stopping.addEventListener('abort', giveUp);
      try {
        begun.push([followed, await writer.write(connection, encodeBatch([]))]);
      } catch (error) {
        if (error instanceof Fenced) return false;
        throw error;
      } finally {
        stopping.removeEventListener('abort', giveUp);
      }
    }
    for (const [followed, { sequence }] of begun) {
      while (followed.position.sequence < sequence) {
        if (this.#isStopped || stopping.aborted) return false;
        await sleep(SETTLED_MILLIS);
      }
    }
    return true;
  }

  async close(): Promise<void> {
    this.#isStopped = true;
    this.#messages?.stop();
    await this.#ended.catch(() => undefined);
    for (const followed of this.#logs.values()) {
      await followed.applied;
      await followed.environment.close();
    }
  }

  async #begin(): Promise<void> {
    const { connection, place } = this.#options;
    const { manager, stream } = connection;
    const { state } = await manager.streams.info(streamName(place.name));
    let from = state.last_seq + 1;
    const gaps: Followed[] = [];
    for (const followed of this.#logs.values()) {
      const last = await manager.streams.getMessage(streamName(place.name), {
        last_by_subj: logSubject(place.name, followed.log),
      });
      if (last === null && followed.position.sequence > 0) gaps.push(followed);
      if (last !== null && last.seq < followed.position.sequence)
        throw new FolderError(
          `This host has more of ${followed.log} than the stream of its cluster: the stream was made anew, or set back.`,
        );
      if (last === null || last.seq <= followed.position.sequence) continue;
      const { next } = await lookBehind(connection, place.name, followed.log, followed.position.sequence);
      if (next === undefined) continue;
      if (next.behind > followed.position.sequence) gaps.push(followed);
      from = Math.min(from, followed.position.sequence + 1);
    }
    if (gaps.length > 0) throw new StreamGap(gaps);
    this.#sequence = from - 1;
    const consumer = await stream.consumers.get(streamName(place.name), {
      deliver_policy: DeliverPolicy.StartSequence,
      opt_start_seq: from,
    });
    const messages = await consumer.consume({
      max_messages: MESSAGES_AHEAD,
      expires: ASK_MILLIS,
      idle_heartbeat: HEARTBEAT_MILLIS,
    });
    this.#messages = messages;
    this.#ended = this.#follow(messages);
    this.#ended.catch(() => undefined);
  }

  async #follow(messages: ConsumerMessages): Promise<void> {
    for await (const message of messages) {
      if (this.#isStopped) return;
      this.#take(message);
      while (this.#waitingBytes > WAITING_BYTES_MAX) {
        if (this.#isStopped) return;
        await sleep(SETTLED_MILLIS);
      }
    }
    if (!this.#isStopped) throw new Error('The stream ended.');
  }

  #take(message: JsMsg): void {
    this.#sequence = message.seq;
    this.#ahead = message.info.pending;
    this.#writtenAt = message.time.getTime();
    const followed = this.#logs.get(logOfSubject(message.subject));
    if (followed === undefined)
      throw new FolderError(`The stream has a log ${message.subject}, which this host does not know.`);
    const said = { get: (name: string) => message.headers?.get(name) ?? '' };
    const batch = Number(said.get(BATCH_HEADER));
    const [part, parts] = said.get(PART_HEADER).split('/').map(Number);
    const behind = behindOf(said);
    // It is here already, or another one came behind the same message before.
    if (message.seq <= followed.tail || behind < followed.tail) return;
    if (behind > followed.tail || batch !== followed.received.batch + 1) throw new StreamGap([followed]);
    followed.tail = message.seq;
    // Whoever wrote the parts before may have died over them, and another host then says the batch anew.
    if (part === 1) followed.parts = [];
    followed.parts.push(Buffer.from(message.data));
    if (part !== parts || followed.parts.length !== parts) return;
    const bytes = Buffer.concat(followed.parts);
    followed.parts = [];
    followed.received = { batch, sequence: message.seq };
    followed.waiting.push({ writes: decodeBatch(bytes), position: followed.received, bytes: bytes.length });
    this.#waitingBytes += bytes.length + 1;
    if (!followed.isApplying) followed.applied = this.#apply(followed);
  }

  /** Commits what waits, until nothing does. */
  async #apply(followed: Followed): Promise<void> {
    followed.isApplying = true;
    while (followed.waiting.length > 0 && !this.#isStopped) {
      const batches = followed.waiting.splice(0);
      const { position } = batches.at(-1) as (typeof batches)[number];
      const writes = batches.flatMap((batch) => batch.writes);
      const value = encodePosition(this.#options.place.cluster, position);
      await this.#commit(followed, [...writes, { table: REPLICATED_TABLE, key: POSITION_KEY, value }]);
      if (this.#isStopped) break;
      followed.position = position;
      for (const { bytes } of batches) this.#waitingBytes -= bytes + 1;
    }
    followed.isApplying = false;
  }

  async #commit({ environment }: Followed, writes: readonly Write[]): Promise<void> {
    for (let tries = 0; ; tries += 1) {
      try {
        await environment.commit(writes);
        if (tries > 0) this.#options.faulted(undefined);
        return;
      } catch (error) {
        this.#options.faulted(error as Error);
        if (this.#isStopped) return;
        await sleep(RETRY_MILLIS);
      }
    }
  }
}
