/**
 * The batches of one log on their way to the stream of a cluster, on the host that leads.
 *
 *     batch ─► part, part … ─► a majority of the NATS servers has it ─► the write that says so
 *
 * What speaks to NATS is loaded with the first batch: most folders are of no cluster.
 */
import { BroadcastChannel } from 'node:worker_threads';
import type { EncodedBatch } from '../log/commit-log.ts';
import { LogUnavailable, POSITION_KEY, REPLICATED_TABLE, type Replication } from '../log/replication.ts';
import type { Write } from '../log/table.ts';
import { Fenced, type StreamPlace } from './stream-place.ts';
import { decodePosition, encodePosition, type StreamPosition } from './stream-position.ts';
import type { SharedConnection } from './stream-connection.ts';
import type { SubjectWriter } from './subject-writer.ts';

/** How long a batch may wait for NATS before what comes behind it is refused at once. */
export const STALL_MILLIS = 1_500;

/** The channel on which threads of this process say that the host has to give up leading. */
export const RESIGNATIONS = 'parley.resignations';
/** The channel on which the process says that it stops: what NATS does not answer is not waited for any more. */
export const ENDINGS = 'parley.endings';

/** The replication of a log of the host that leads. */
export class StreamAppender implements Replication {
  readonly #place: StreamPlace;
  readonly #log: string;
  #position: StreamPosition = { batch: 0, sequence: 0 };
  #writer: SubjectWriter | undefined;
  #connection: SharedConnection | undefined;
  /** When the append under way began. */
  #began: number | undefined;
  #hasResigned = false;
  #endings: BroadcastChannel | undefined;

  constructor(place: StreamPlace, log: string) {
    [this.#place, this.#log] = [place, log];
  }

  get isStalled(): boolean {
    return this.#hasResigned || (this.#began !== undefined && performance.now() - this.#began > STALL_MILLIS);
  }

  begin(position: Buffer | undefined): void {
    this.#position = decodePosition(this.#place.cluster, position);
  }

  async append(batch: EncodedBatch): Promise<Write> {
    if (this.#hasResigned) throw new LogUnavailable('This host does not lead.');
    this.#began = performance.now();
    try {
      this.#writer ??= await this.#open();
      const connection = await (this.#connection as SharedConnection).opened;
      const position = await this.#writer.write(connection, batch);
      return { table: REPLICATED_TABLE, key: POSITION_KEY, value: encodePosition(this.#place.cluster, position) };
    } catch (error) {
      if (!(error instanceof Fenced)) throw error;
      this.resign(error.message);
      throw new LogUnavailable('Another host leads.', { cause: error });
    } finally {
      this.#began = undefined;
    }
  }

  async #open(): Promise<SubjectWriter> {
    const [{ shareConnection }, { SubjectWriter: Writer }] = await Promise.all([
      import('./stream-connection.ts'),
      import('./subject-writer.ts'),
    ]);
    this.#connection ??= shareConnection(this.#place);
    this.#endings = new BroadcastChannel(ENDINGS);
    this.#endings.addEventListener('message', () => this.giveUp());
    this.#endings.unref();
    return new Writer(this.#place, this.#log, this.#position);
  }

  resign(reason: string): void {
    if (this.#hasResigned) return;
    this.#hasResigned = true;
    const channel = new BroadcastChannel(RESIGNATIONS);
    channel.postMessage(`${this.#log}: ${reason}`);
    channel.close();
  }

  giveUp(): void {
    this.#writer?.giveUp();
  }

  async close(): Promise<void> {
    this.giveUp();
    this.#endings?.close();
    await this.#connection?.release();
  }
}
