/** What the stream of a campaign's cluster has: who may write is decided there, so what it has says whether only one did. */
import { DeliverPolicy } from '@nats-io/jetstream';
import { connectToStream, type StreamConnection } from '#storage/stream/stream-connection.ts';
import {
  BATCH_HEADER,
  BEHIND_HEADER,
  logOfSubject,
  PART_HEADER,
  streamName,
  TERM_HEADER,
} from '#storage/stream/stream-names.ts';
import { until } from '#test/support/waiting.ts';

const CLUSTER_NAME = 'parley';
const FETCHED_MAX = 1_000;
const FETCH_MILLIS = 2_000;
const PATIENCE_MILLIS = 60_000;

export class StreamRecord {
  readonly #connection: StreamConnection;
  readonly #logs = new Map<string, { batch: number; term: number; seq: number }>();
  #read = 0;
  batches = 0;
  /** Messages that do not count: another one came behind the same message before. */
  passedOver = 0;

  private constructor(connection: StreamConnection) {
    this.#connection = connection;
  }

  static async open(urls: readonly string[]): Promise<StreamRecord> {
    return new StreamRecord(await connectToStream({ urls, authoritiesFile: undefined, credentialsFile: undefined }));
  }

  /** The sequence of the stream's last message. */
  async last(): Promise<number> {
    return (await this.#connection.manager.streams.info(streamName(CLUSTER_NAME))).state.last_seq;
  }

  /** Reads on to the end; says where a batch is missing or doubled, or of a term before the one in front of it. */
  async verify(lose: (sentence: string) => void): Promise<void> {
    // Servers that were away take their time, and may not answer the first that asks.
    const isRead = async () => await this.#readOn(lose).catch(() => false);
    await until(isRead, 'the stream to answer', PATIENCE_MILLIS);
  }

  /** Answers true at the end. */
  async #readOn(lose: (sentence: string) => void): Promise<boolean> {
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
        // A consumer that lost its place may bring a message once more.
        if (seq <= this.#read) continue;
        this.#read = seq;
        this.#take(logOfSubject(subject), seq, (name) => headers?.get(name) ?? '', lose);
      }
    }
    return true;
  }

  #take(log: string, seq: number, said: (name: string) => string, lose: (sentence: string) => void): void {
    const before = this.#logs.get(log) ?? { batch: 0, term: 0, seq: 0 };
    const [batch, term, behind] = [BATCH_HEADER, TERM_HEADER, BEHIND_HEADER].map((name) => Number(said(name))) as [
      number,
      number,
      number,
    ];
    if (behind < before.seq) {
      this.passedOver += 1;
      return;
    }
    const named = `Batch ${batch} of ${log} (message ${seq} of term ${term})`;
    if (behind > before.seq) lose(`${named} comes behind message ${behind}, not ${before.seq}.`);
    if (term < before.term) lose(`${named} comes behind one of term ${before.term}.`);
    if (batch !== before.batch + 1) lose(`${named} comes behind batch ${before.batch}.`);
    const [part, parts] = said(PART_HEADER).split('/');
    const isWhole = part === parts;
    this.#logs.set(log, { term, seq, batch: isWhole ? batch : batch - 1 });
    this.batches += Number(isWhole);
  }

  async close(): Promise<void> {
    await this.#connection.nats.close();
  }
}
