/**
 * Writes messages under a subject of the stream, behind one another.
 *
 * Each message says which one of its subject it comes behind, and of those behind one the first counts (subject-order.ts): whoever does
 * not know of the last one, a host that led before, was paused or cut off, can add nothing that counts. No clock decides that.
 *
 * A message is written once it is known to count: at once where nothing else of the stream came in between, otherwise by looking.
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
  BEHIND_HEADER,
  ID_HEADER,
  logSubject,
  PART_BYTES,
  PART_HEADER,
  TERM_HEADER,
} from './stream-names.ts';
import { Fenced, type StreamPlace } from './stream-place.ts';
import type { StreamPosition } from './stream-position.ts';
import { lookBehind, type Behind } from './subject-order.ts';

/** How long one try takes at most, and from one that was not answered to the next. */
const TRY_MILLIS = 2_000;
const RETRY_MILLIS = 100;

/** JetStream's codes where there is no room, of the server, the account or the stream. */
const NO_ROOM: readonly number[] = [10_023, 10_028, 10_047, 10_052, 10_076, 10_077];

/** Writes messages behind one another under a subject, as one term. */
export class SubjectWriter {
  readonly #name: string;
  readonly #log: string;
  readonly #subject: string;
  readonly #term: number;
  #position: StreamPosition;
  /** The last message of the subject that is known here, which may be one that does not count. */
  #last: number;
  #isGivenUp = false;

  constructor({ name, term }: Pick<StreamPlace, 'name' | 'term'>, log: string, position: StreamPosition) {
    [this.#name, this.#log, this.#term] = [name, log, term];
    this.#subject = logSubject(name, log);
    this.#position = position;
    this.#last = position.sequence;
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
    const tail = this.#position.sequence;
    const told = headers();
    told.set(BATCH_HEADER, String(batch));
    told.set(TERM_HEADER, String(this.#term));
    told.set(PART_HEADER, part);
    told.set(BEHIND_HEADER, String(tail));
    const id = randomUUID();
    told.set(ID_HEADER, id);
    let full: unknown;
    for (let isStored = false; ;) {
      if (!isStored) {
        try {
          const expect = { lastSubjectSequence: this.#last };
          const options = { headers: told, expect, timeout: TRY_MILLIS, retries: 1 };
          const { seq } = await connection.stream.publish(this.#subject, bytes, options);
          this.#last = Math.max(this.#last, seq);
          // The one behind the last that counts: nothing can stand between them.
          if (seq === tail + 1) return seq;
          isStored = true;
        } catch (error) {
          const code = error instanceof JetStreamApiError ? error.code : 0;
          if (NO_ROOM.includes(code)) full = error;
        }
      }
      const { next } = await this.#look(connection, tail);
      if (next?.id === id) return next.sequence;
      if (next !== undefined) throw new Fenced(`Another host has written batch ${next.batch} in term ${next.term}.`);
      // A try before, which was not answered, may have had room.
      if (full !== undefined) throw new Error('no space in the stream', { cause: full });
      // Looks may be answered where messages are not: by a server that is asked for what it has, and takes nothing.
      if (this.#isGivenUp) throw new LogUnavailable('The stream of the cluster takes nothing.');
    }
  }

  /** What the subject has behind a message, once that is answered. */
  async #look(connection: StreamConnection, tail: number): Promise<Behind> {
    for (;;) {
      try {
        const behind = await lookBehind(connection, this.#name, this.#log, tail);
        this.#last = Math.max(this.#last, behind.last);
        return behind;
      } catch (error) {
        if (this.#isGivenUp) {
          throw new LogUnavailable('The stream of the cluster did not answer.', { cause: error });
        }
        await sleep(RETRY_MILLIS);
      }
    }
  }
}
