/**
 * Makes thumbnails in processes of their own: few at a time, each within a deadline, each once however many ask. A file
 * that cannot be made into one is remembered, so that it is not tried again for everybody who looks at it.
 */
import { fork, type ChildProcess } from 'node:child_process';
import { availableParallelism } from 'node:os';
import { fileURLToPath } from 'node:url';
import { Refusal } from '#src/protocol/errors.ts';
import { oneSample, type Sample } from '#src/telemetry/metrics.ts';
import { LabelledCounts } from '#src/telemetry/labelled-counts.ts';
import type { ScalarName } from '#src/telemetry/metric-table.ts';
import type { ThumbnailOrder, ThumbnailResult } from './thumbnail-process.ts';

/** Bytes of a picture that a thumbnail is made of: the largest that cameras write. */
export const THUMBNAIL_SOURCE_BYTES_MAX = 32 * 1024 * 1024;
/** Pictures that wait for a process: an album for each of some people. Beyond it: `busy`. */
export const THUMBNAIL_QUEUE_MAX = 200;
/** A large photograph takes half a second; what takes this long will not end, and its process is killed. */
export const THUMBNAIL_MILLIS = 10_000;
/** Contents that have no thumbnail, remembered by name and size: some 100 bytes each. */
const HOPELESS_MAX = 1_000;
/** A process that nobody needed for this long goes, with its memory. */
const IDLE_MILLIS = 30_000;

/** The formats that are opened, by the type that the content's first bytes say. SVG is none. */
const FORMATS: Readonly<Record<string, string>> = {
  'image/jpeg': 'jpeg',
  'image/png': 'png',
  'image/webp': 'webp',
  'image/gif': 'gif',
  'image/avif': 'heif',
};

/** The format of a content that may have a thumbnail. */
export function thumbnailFormat(type: string, bytes: number): string | undefined {
  return bytes > 0 && bytes <= THUMBNAIL_SOURCE_BYTES_MAX ? FORMATS[type] : undefined;
}

export interface ThumbnailMakerOptions {
  /** Processes at most; half of the cores, at least one, by default: messages come first. */
  readonly processes?: number;
  readonly queueMax?: number;
  readonly deadlineMillis?: number;
  /** The process's program; the tests put one in its place that hangs or dies. */
  readonly program?: URL;
}

interface Job {
  readonly order: ThumbnailOrder;
  readonly settle: (picture: Uint8Array | undefined) => void;
}

export class ThumbnailMaker {
  readonly #processes: number;
  readonly #queueMax: number;
  readonly #deadlineMillis: number;
  readonly #program: URL;
  readonly #underWay = new Map<string, Promise<void>>();
  readonly #hopeless = new Set<string>();
  readonly #waiting: Job[] = [];
  readonly #idle: Worker[] = [];
  readonly #all = new Set<Worker>();
  readonly #results = new LabelledCounts();
  #isClosed = false;

  constructor(options: ThumbnailMakerOptions = {}) {
    this.#processes = options.processes ?? Math.max(1, availableParallelism() >> 1);
    this.#queueMax = options.queueMax ?? THUMBNAIL_QUEUE_MAX;
    this.#deadlineMillis = options.deadlineMillis ?? THUMBNAIL_MILLIS;
    this.#program = options.program ?? new URL('thumbnail-process.ts', import.meta.url);
  }

  /**
   * Makes the thumbnail `name` and hands it to `keep`, once for all who ask meanwhile.
   * @throws Refusal `thumbnail_not_found` for a picture that cannot be opened within the limits, `busy`.
   */
  async make(name: string, order: ThumbnailOrder, keep: (picture: Uint8Array) => Promise<void>): Promise<void> {
    if (this.#hopeless.has(name)) throw new Refusal('thumbnail_not_found');
    let made = this.#underWay.get(name);
    if (made === undefined) {
      if (this.#isClosed || this.#waiting.length >= this.#queueMax) {
        this.#results.add('refused');
        throw new Refusal('busy', { retryAfter: 1 });
      }
      made = this.#make(name, order, keep).finally(() => this.#underWay.delete(name));
      this.#underWay.set(name, made);
    }
    await made;
  }

  get metrics(): Readonly<Partial<Record<ScalarName, Sample[]>>> {
    return {
      parley_attachments_thumbnails_total: this.#results.samples(),
      parley_attachments_thumbnails_waiting: oneSample(this.#waiting.length),
    };
  }

  /** Kills the processes; what was being made is refused. */
  close(): void {
    this.#isClosed = true;
    for (const { settle } of this.#waiting.splice(0)) settle(undefined);
    for (const worker of this.#all) worker.kill();
  }

  async #make(name: string, order: ThumbnailOrder, keep: (picture: Uint8Array) => Promise<void>): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<Uint8Array | undefined>();
    this.#waiting.push({ order, settle: resolve });
    this.#next();
    const picture = await promise;
    if (picture !== undefined) {
      await keep(picture);
      return this.#results.add('made');
    }
    if (this.#isClosed) throw new Refusal('busy', { retryAfter: 1 });
    this.#results.add('failed');
    const [oldest] = this.#hopeless;
    if (this.#hopeless.size >= HOPELESS_MAX && oldest !== undefined) this.#hopeless.delete(oldest);
    this.#hopeless.add(name);
    throw new Refusal('thumbnail_not_found');
  }

  #next(): void {
    while (this.#waiting.length > 0) {
      const worker = this.#idle.pop() ?? this.#start();
      if (worker === undefined) return;
      const job = this.#waiting.shift() as Job;
      void worker.run(job.order, this.#deadlineMillis).then((picture) => {
        job.settle(picture);
        if (!worker.isGone) this.#idle.push(worker);
        this.#next();
      });
    }
  }

  #start(): Worker | undefined {
    if (this.#all.size >= this.#processes) return undefined;
    const worker: Worker = new Worker(this.#program, () => {
      this.#all.delete(worker);
      const at = this.#idle.indexOf(worker);
      if (at >= 0) this.#idle.splice(at, 1);
      this.#next();
    });
    this.#all.add(worker);
    return worker;
  }
}

/** One process, and what it is at. */
class Worker {
  readonly #child: ChildProcess;
  #settle: ((picture: Uint8Array | undefined) => void) | undefined;
  #timer: NodeJS.Timeout | undefined;
  isGone = false;

  constructor(program: URL, onGone: () => void) {
    // Nothing of the server's environment and nothing of its options: it knows no secret and listens to nobody.
    const stdio = ['ignore', 'ignore', 'ignore', 'ipc'] as ('ignore' | 'ipc')[];
    this.#child = fork(fileURLToPath(program), [], { serialization: 'advanced', env: {}, execArgv: [], stdio });
    this.#child.on('message', (result: ThumbnailResult) => {
      this.#done('picture' in result ? result.picture : undefined);
    });
    const gone = (): void => {
      if (this.isGone) return;
      this.isGone = true;
      this.#done(undefined);
      clearTimeout(this.#timer);
      onGone();
    };
    this.#child.on('exit', gone);
    this.#child.on('error', gone);
  }

  /** Resolves to the picture, or to nothing when there is none within the deadline. */
  async run(order: ThumbnailOrder, deadlineMillis: number): Promise<Uint8Array | undefined> {
    const { promise, resolve } = Promise.withResolvers<Uint8Array | undefined>();
    clearTimeout(this.#timer);
    this.#settle = resolve;
    this.#timer = setTimeout(() => this.kill(), deadlineMillis);
    // One that is gone is told of by its exit.
    this.#child.send(order, () => undefined);
    return await promise;
  }

  kill(): void {
    this.#child.kill('SIGKILL');
  }

  #done(picture: Uint8Array | undefined): void {
    clearTimeout(this.#timer);
    const settle = this.#settle;
    this.#settle = undefined;
    this.#timer = setTimeout(() => this.kill(), IDLE_MILLIS);
    this.#timer.unref();
    settle?.(picture);
  }
}
