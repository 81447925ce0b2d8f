/**
 * How what a log carries reaches other hosts: before it is durable here, so that a host never has what a majority of them could
 * lose. `storage/stream` carries it over NATS JetStream.
 */
import type { EncodedBatch } from './commit-log.ts';
import type { Write } from './table.ts';

/** Where an environment keeps how far the stream of its batches is in it: in the commit of the batch itself. */
export const REPLICATED_TABLE = 'replicated';
export const POSITION_KEY = Buffer.from('position');

export interface Replication {
  /** Whether a batch has waited for longer than it may: what comes now is refused instead of waiting, too. */
  readonly isStalled: boolean;
  /** Says what the environment has, before the first append. */
  begin(position: Buffer | undefined): void;
  /**
   * Resolves when a majority has the batch, with the write that says so, to be committed together with it. One at a time.
   * @throws LogUnavailable when another host leads by now; an error of a full disk when the stream takes no more: it has nothing of
   * the batch then.
   */
  append(batch: EncodedBatch): Promise<Write>;
  /** Says that this host cannot go on as the one that writes: another one has to. */
  resign(reason: string): void;
  /** Has an append that is not answered end, whatever became of it: what the stream has of it comes back with the stream. */
  giveUp(): void;
  close(): Promise<void>;
}

/** A commit that is refused since other hosts cannot be reached, or another one leads: nothing of it is anywhere. */
export class LogUnavailable extends Error {}
