/** What the stream of a campaign's cluster has: who may write is decided there, so what it has says whether only one did. */
import { DeliverPolicy } from '@nats-io/jetstream';
import { connectToStream, type StreamConnection } from '#storage/stream/stream-connection.ts';
import { BATCH_HEADER, logOfSubject, PART_HEADER, streamName, TERM_HEADER } from '#storage/stream/stream-names.ts';

const CLUSTER_NAME = 'parley';
const FETCHED_MAX = 1_000;
const FETCH_MILLIS = 2_000;

export class StreamRecord {
  readonly #connection: StreamConnection;
  readonly #logs = new Map<string, { batch: number; term: number }>();
  #read = 0;
  batches = 0;

  private constructor(connection: StreamConnection) {
    this.#connection = connection;
  }

  static async open(urls: readonly string[]): Promise<StreamRecord> {
    return new StreamRecord(await connectToStream({ urls, credentialsFile: undefined }));
  }

  /** The sequence of the stream's last message. */
  async last(): Promise<number> {
    return (await this.#connection.manager.streams.info(streamName(CLUSTER_NAME))).state.last_seq;
  }

  /** Reads on to the end; says where a batch is missing or doubled, or of a term before the one in front of it. */
  async verify(lose: (sentence: string) => void): Promise<void> {
    for (const last = await this.last(); this.#read < last;) {
      const consumer = await this.#connection.stream.consumers.get(streamName(CLUSTER_NAME), {
        deliver_policy: DeliverPolicy.StartSequence,
        opt_start_seq: this.#read + 1,
      });
      const messages = await consumer.fetch({
        max_messages: Math.min(FETCHED_MAX, last - this.#read),
        expires: FETCH_MILLIS,
      });
      for await (const { headers, seq, subject } of messages) {
        this.#read = seq;
        const log = logOfSubject(subject);
        const [batch, term] = [BATCH_HEADER, TERM_HEADER].map((name) => Number(headers?.get(name))) as [number, number];
        const [part, parts] = (headers?.get(PART_HEADER) ?? '').split('/');
        const before = this.#logs.get(log);
        if (before !== undefined && term < before.term)
          lose(`Batch ${batch} of ${log} is of term ${term}, behind one of term ${before.term}.`);
        if (before !== undefined && batch !== before.batch + 1)
          lose(`Batch ${batch} of ${log} comes behind batch ${before.batch}.`);
        this.#logs.set(log, { term, batch: part === parts ? batch : batch - 1 });
        this.batches += Number(part === parts);
      }
    }
  }

  async close(): Promise<void> {
    await this.#connection.nats.close();
  }
}
