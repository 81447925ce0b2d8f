/** Threads for work that takes more than a few milliseconds: a bounded queue in front, a deadline behind. */
import { fileURLToPath } from 'node:url';
import { Piscina } from 'piscina';

/** How long a thread without work stays. */
const IDLE_MILLIS = 30_000;
/**
 * What a task may take longer while the pool's first thread begins: its program is read and compiled, which is a third of
 * a second on a machine with time to spare, and took over two where sixteen processes wanted two cores.
 */
export const START_MILLIS = 10_000;

export interface WorkerPoolOptions {
  /** The threads' program. */
  readonly worker: URL;
  /** The exported function of it that does a task. */
  readonly task: string;
  readonly threads: number;
  /** Tasks that wait for a thread; one more is refused. */
  readonly waitingMax: number;
  /** How long a task may take, and `START_MILLIS` more where there is no thread yet; then its thread is stopped, another begins, and the task is refused. */
  readonly deadlineMillis: number;
  /** What each thread is handed when it begins. */
  readonly workerData?: unknown;
  /** What is thrown for a task that finds the queue full, takes too long, or comes to a pool that is closed. */
  readonly refusal: () => Error;
}

export interface TaskOptions {
  /** Instead of the pool's own. */
  readonly deadlineMillis?: number;
  /** Buffers that are handed over instead of copied. */
  readonly transferList?: ArrayBuffer[];
}

export class WorkerPool<Task, Answer> {
  readonly #options: WorkerPoolOptions;
  readonly #pool: Piscina<Task, Answer>;
  /** Tasks under way and waiting, together. */
  #underWay = 0;
  /** A thread has answered since there was none. */
  #isWarm = false;
  #isClosed = false;

  constructor(options: WorkerPoolOptions) {
    const { task, threads, worker, workerData } = options;
    this.#options = options;
    this.#pool = new Piscina({
      filename: fileURLToPath(worker),
      name: task,
      minThreads: 0,
      maxThreads: threads,
      idleTimeout: IDLE_MILLIS,
      workerData,
    });
    // A thread that ends by itself fails its task; the event is no news beyond that.
    this.#pool.on('error', () => {});
  }

  /** Tasks that wait for a thread. */
  get waiting(): number {
    return this.#pool.queueSize;
  }

  /**
   * Has a task done. A view among it is copied with the whole buffer behind it, so it should have bytes of its own.
   * @throws the pool's refusal, and what the task itself throws.
   */
  async run(task: Task, options: TaskOptions = {}): Promise<Answer> {
    const { deadlineMillis, refusal, threads, waitingMax } = this.#options;
    if (this.#isClosed || this.#underWay >= threads + waitingMax) throw refusal();
    this.#underWay += 1;
    if (this.#pool.threads.length === 0) this.#isWarm = false;
    const ending = new AbortController();
    const millis = (options.deadlineMillis ?? deadlineMillis) + (this.#isWarm ? 0 : START_MILLIS);
    const timer = setTimeout(() => ending.abort(), millis);
    try {
      return await this.#pool.run(task, { signal: ending.signal, transferList: options.transferList ?? [] });
    } catch (error) {
      if (ending.signal.aborted || this.#isClosed) throw refusal();
      throw error;
    } finally {
      this.#isWarm = !ending.signal.aborted;
      clearTimeout(timer);
      this.#underWay -= 1;
    }
  }

  /** Stops the threads. Tasks under way are refused. */
  async close(): Promise<void> {
    this.#isClosed = true;
    await this.#pool.destroy();
  }
}
