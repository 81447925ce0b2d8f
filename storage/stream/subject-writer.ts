/**
 * Writes messages under a subject of the stream, behind one another.
 *
 * Each message says which one of its subject it comes behind (`Nats-Expected-Last-Subject-Sequence`), so the stream itself refuses
 * whoever does not know of the last one: a host that led before, was paused or cut off, can add nothing once another one has. No
 * clock decides that.
 *
 * Whether a message that was not answered is there is found out by the last one of the subject, which has an id of its own.
 */
import { JetStreamApiError } from '@nats-io/jetstream';
import { headers } from '@nats-io/transport-node';
import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import type { EncodedBatch } from '../log/commit-log.ts';
import { LogUnavailable } from '../log/replication.ts';
import type { StreamConnection } from './stream-connection.ts';
import {
  BATCH_HEADER,
  ID_HEADER,
  logSubject,
  PART_BYTES,
  PART_HEADER,
  streamName,
  TERM_HEADER,
} from './stream-names.ts';
import { Fenced, type StreamPlace } from './stream-place.ts';
import type { StreamPosition } from './stream-position.ts';

/** How long one try takes at most, and from one that was not answered to the next. */
const TRY_MILLIS = 2_000;
const RETRY_MILLIS = 100;

/** JetStream's codes: another message came first; and there is no room, of the server, the account or the stream. */
const WRONG_SEQUENCE = 10_071;
const NO_ROOM: readonly number[] = [10_023, 10_028, 10_047, 10_052, 10_076, 10_077];

/** A message of a subject, as whoever wrote it says. */
interface LastMessage {
  readonly sequence: number;
  readonly batch: number;
  readonly term: number;
  readonly id: string;
}

/** Writes messages behind one another under a subject, as one term. */
export class SubjectWriter {
  readonly #subject: string;
  readonly #stream: string;
  readonly #term: number;
  #position: StreamPosition;
  #isGivenUp = false;

  constructor({ name, term }: Pick<StreamPlace, 'name' | 'term'>, log: string, position: StreamPosition) {
    this.#subject = logSubject(name, log);
    this.#stream = streamName(name);
    this.#term = term;
    this.#position = position;
  }

  /**
   * Resolves with the position behind the batch once a majority has it.
   * @throws Fenced when another host has written since; LogUnavailable when it is given up, not knowing what became of it; an error
   * of a full disk when the stream takes no more.
   */
  async write(connection: StreamConnection, batch: EncodedBatch): Promise<StreamPosition> {
    const number = this.#position.batch + 1;
    const parts = Math.max(1, Math.ceil(batch.length / PART_BYTES));
    for (let part = 1; part <= parts; part += 1) {
      const bytes = batch.subarray((part - 1) * PART_BYTES, part * PART_BYTES);
      const sequence = await this.#writePart(connection, bytes, number, `${part}/${parts}`);
      this.#position = { batch: part === parts ? number : number - 1, sequence };
    }
    return this.#position;
  }

  giveUp(): void {
    this.#isGivenUp = true;
  }

  async #writePart(connection: StreamConnection, bytes: Buffer, batch: number, part: string): Promise<number> {
    const told = headers();
    told.set(BATCH_HEADER, String(batch));
    told.set(TERM_HEADER, String(this.#term));
    told.set(PART_HEADER, part);
    const id = randomUUID();
    told.set(ID_HEADER, id);
    const expect = { lastSubjectSequence: this.#position.sequence };
    for (;;) {
      try {
        const options = { headers: told, expect, timeout: TRY_MILLIS, retries: 1 };
        return (await connection.stream.publish(this.#subject, bytes, options)).seq;
      } catch (error) {
        const code = error instanceof JetStreamApiError ? error.code : 0;
        if (NO_ROOM.includes(code)) throw new Error('no space in the stream', { cause: error });
        if (code === WRONG_SEQUENCE) {
          const last = await this.#last(connection);
          if (last?.id === id) return last.sequence;
          if (last !== undefined)
            throw new Fenced(`Another host has written batch ${last.batch} in term ${last.term}.`);
        }
      }
      if (this.#isGivenUp) throw new LogUnavailable('The stream of the cluster did not answer.');
      await sleep(RETRY_MILLIS);
    }
  }

  /** The last message of the subject; undefined when it cannot be asked for now. */
  async #last({ manager }: StreamConnection): Promise<LastMessage | undefined> {
    try {
      const message = await manager.streams.getMessage(this.#stream, { last_by_subj: this.#subject });
      if (message === null) throw new Fenced('The stream was emptied.');
      const said = (name: string) => message.header.get(name);
      return {
        sequence: message.seq,
        batch: Number(said(BATCH_HEADER)),
        term: Number(said(TERM_HEADER)),
        id: said(ID_HEADER),
      };
    } catch (error) {
      if (error instanceof Fenced) throw error;
      return undefined;
    }
  }
}
