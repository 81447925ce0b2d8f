/**
 * The threads that redact what a vendor reads. It fails closed (RED-13): a task that throws, takes too long or finds
 * the queue full is refused with `redaction_unavailable`; the input never comes back as an answer.
 */
import { availableParallelism } from 'node:os';
import { WorkerPool } from '#src/pool/worker-pool.ts';
import { Refusal } from '#src/protocol/errors.ts';
import type { RedactionSecrets, RedactionTask } from './redaction-worker.ts';
import type { ValueContext } from './redactor.ts';

/** Tasks that wait for a thread; more are refused at once. Four readers a minute are allowed, so this is a flood. */
export const QUEUE_MAX = 64;
/**
 * A chunk of a megabyte takes some 20 ms of a core, of which these threads get a tenth where all want one, and less where
 * twenty processes want two. What takes this long will not end: the thread is stopped, and another begins.
 */
export const DEADLINE_MS = 8_000;
/** Bytes of one task: a page of a journal. A larger one is refused; the caller cuts at line ends. */
export const TASK_BYTES_MAX = 8 * 1024 * 1024;

export interface RedactionPoolOptions extends RedactionSecrets {
  /** Threads; half of the cores, at least one, by default: messages come first. */
  readonly threads?: number;
  readonly queueMax?: number;
  readonly deadlineMs?: number;
  /** The thread's program; the tests put one that fails in its place. */
  readonly worker?: URL;
}

export class RedactionPool {
  readonly #pool: WorkerPool<RedactionTask, unknown>;

  constructor(options: RedactionPoolOptions) {
    const { key, people, secrets } = options;
    this.#pool = new WorkerPool({
      worker: options.worker ?? new URL('redaction-worker.ts', import.meta.url),
      task: 'redact',
      threads: options.threads ?? Math.max(1, availableParallelism() >> 1),
      waitingMax: options.queueMax ?? QUEUE_MAX,
      deadlineMillis: options.deadlineMs ?? DEADLINE_MS,
      workerData: { key, secrets, ...(people === undefined ? {} : { people }) } satisfies RedactionSecrets,
      refusal: unavailable,
    });
  }

  /** A text, in UTF-8 or whatever holds ASCII. @throws Refusal `redaction_unavailable` */
  async bytes(bytes: Uint8Array): Promise<Buffer> {
    if (bytes.byteLength > TASK_BYTES_MAX) throw unavailable();
    // A copy of its own, handed over: of a view the whole buffer behind it would be copied to the thread.
    const own = new Uint8Array(bytes);
    const answer = await this.#run({ kind: 'bytes', bytes: own }, [own.buffer]);
    if (!(answer instanceof Uint8Array)) throw unavailable();
    return Buffer.from(answer.buffer, answer.byteOffset, answer.byteLength);
  }

  /** A string. @throws Refusal `redaction_unavailable` */
  async text(text: string): Promise<string> {
    return (await this.bytes(Buffer.from(text))).toString('utf8');
  }

  /** A JSON value. @throws Refusal `redaction_unavailable` */
  async value(value: unknown, context: ValueContext = {}): Promise<unknown> {
    return await this.#run({ kind: 'value', value, context });
  }

  /** Tasks that wait for a thread. */
  get waiting(): number {
    return this.#pool.waiting;
  }

  /** Stops the threads. Tasks under way are refused. */
  async close(): Promise<void> {
    await this.#pool.close();
  }

  async #run(task: RedactionTask, transferList: ArrayBuffer[] = []): Promise<unknown> {
    try {
      return await this.#pool.run(task, { transferList });
    } catch {
      // What went wrong may quote the input, so it is told to nobody.
      throw unavailable();
    }
  }
}

function unavailable(): Refusal {
  return new Refusal('redaction_unavailable');
}
