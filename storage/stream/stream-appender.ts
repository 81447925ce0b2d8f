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
  #isGivenUp = false;
  /** Rejects when a batch that was given up has waited for a connection long enough. */
  readonly #unreached = Promise.withResolvers<never>();
  #reaching: NodeJS.Timeout | undefined;
  readonly #endings = new BroadcastChannel(ENDINGS);

  constructor(place: StreamPlace, log: string) {
    [this.#place, this.#log] = [place, log];
    this.#unreached.promise.catch(() => undefined);
    // From the beginning on: the first batch of a log may come when the process stops already.
    this.#endings.addEventListener('message', () => this.giveUp());
    this.#endings.unref();
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
      if (this.#isGivenUp) this.#writer.giveUp();
      const connection = await Promise.race([(this.#connection as SharedConnection).opened, this.#unreached.promise]);
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
    if (this.#isGivenUp) return;
    this.#isGivenUp = true;
    this.#writer?.giveUp();
    const refuse = () => this.#unreached.reject(new LogUnavailable('The stream of the cluster did not answer.'));
    this.#reaching = setTimeout(refuse, STALL_MILLIS);
  }

  async close(): Promise<void> {
    this.giveUp();
    clearTimeout(this.#reaching);
    this.#endings.close();
    await this.#connection?.release();
  }
}
