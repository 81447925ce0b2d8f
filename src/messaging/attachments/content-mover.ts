/**
 * Moves contents of attachments between this disk and the object store, behind whatever else happens. An upload is on disk
 * when it is acknowledged, as ever; from there its content goes to the store and then off the disk. Each content knows where
 * it lies, so that both directions, and a move that stopped in the middle, are readable all the time.
 *
 * An object is written down as one to remove before a byte of it is sent, and no more when its content lies there: a crash
 * leaves nothing in the store that nobody knows of.
 */
import { randomUUID } from 'node:crypto';
import { existsSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { objectStoreWordOf } from '#src/outgoing/object-store.ts';
import { Refusal } from '#src/protocol/errors.ts';
import type { Log } from '#src/telemetry/log.ts';
import { LabelledCounts } from '#src/telemetry/labelled-counts.ts';
import { oneSample, type Sample } from '#src/telemetry/metrics.ts';
import type { ScalarName } from '#src/telemetry/metric-table.ts';
import type { Attachments } from '#storage/attachments/attachments.ts';
import { requireOpening, type ContentVault } from '#storage/attachments/blob-contents.ts';
import { isSealedName, storedBytes } from '#storage/attachments/blob-sealing.ts';
import { blobPath } from '#storage/attachments/blobs.ts';
import { fetchObject, writeObject } from '#storage/attachments/object-transfer.ts';
import type { StoreClient } from './store-client.ts';

/** Contents on their way at once: one large one does not hold up the small ones. */
const AT_ONCE = 4;
/** Contents looked at between two looks at what changed. */
const STEP = 200;
/** Contents that came since the last pass, by name. Beyond it all contents are looked through. */
export const FRESH_MAX = 10_000;
/** How long after a failure of the store it is tried again, and how often objects that are due are removed. */
const RETRY_MILLIS = 10_000;

export interface ContentMoverOptions {
  readonly folder: string;
  readonly attachments: Attachments;
  readonly vault: ContentVault;
  readonly storeClient: StoreClient;
  readonly now: () => number;
  readonly log: Log;
  /** Told what is wrong with the store, in a word, and null when it is right again. */
  readonly faulted: (fault: string | null) => void;
}

export class ContentMover {
  readonly #options: ContentMoverOptions;
  readonly #fresh = new Set<string>();
  /** Objects that are being sent, and not to be removed. */
  readonly #underWay = new Set<string>();
  readonly #moves = new LabelledCounts();
  #isWalkDue = true;
  /** Undefined until something was said of it. */
  #fault: string | null | undefined;
  #timer: NodeJS.Timeout | undefined;
  #pass: Promise<void> | undefined;
  #isAgain = false;
  #isStopped = false;

  constructor(options: ContentMoverOptions) {
    this.#options = options;
  }

  start(): void {
    this.#timer = setInterval(() => this.#run(), RETRY_MILLIS);
    this.#timer.unref();
    this.#run();
  }

  async stop(): Promise<void> {
    this.#isStopped = true;
    clearInterval(this.#timer);
    // What is under way ends here; the next start takes it up.
    this.#options.storeClient.close();
    await this.#pass;
  }

  /** Another store, or another place to keep contents in. */
  changed(): void {
    this.#isWalkDue = true;
    this.#run();
  }

  /** A content came to this disk, or its object is to go. */
  note(name: string): void {
    if (!this.#options.storeClient.isSet) return;
    if (this.#fresh.size < FRESH_MAX) this.#fresh.add(name);
    else this.#isWalkDue = true;
    this.#run();
  }

  get metrics(): Readonly<Partial<Record<ScalarName, Sample[]>>> {
    const { attachments, storeClient } = this.#options;
    const { doomed, placed } = attachments.countObjects();
    if (!storeClient.isSet && placed === 0 && doomed === 0) return {};
    return {
      parley_object_store_contents: oneSample(placed),
      parley_object_store_moves_total: this.#moves.samples(),
      parley_object_store_removals_waiting: oneSample(doomed),
      parley_object_store_up: oneSample(typeof this.#fault === 'string' ? 0 : 1),
    };
  }

  /**
   * Has a content of the store lie on this disk again; its object goes after so many milliseconds. One that lies here
   * already stays. @throws what the store refuses.
   */
  async bringBack(name: string, keptMillis?: number): Promise<void> {
    const { attachments, storeClient, folder, vault } = this.#options;
    const object = attachments.objectOf(name);
    const bytes = attachments.bytesOf(name);
    if (object === undefined || bytes === undefined) return;
    const stored = isSealedName(name) ? storedBytes(bytes) : bytes;
    const path = await fetchObject(folder, { store: storeClient.store, object }, { name, bytes, stored });
    try {
      // The object goes next, so that every byte of it has to be here; without the key there is no store.
      if (isSealedName(name)) await requireOpening(path, name, vault.keys);
      await attachments.returnContent(name, object, path, keptMillis);
      this.#moves.add('to_disk');
    } finally {
      await rm(path, { force: true });
    }
  }

  /** One pass at a time; what is asked for meanwhile is done behind it. */
  #run(): void {
    this.#isAgain = true;
    this.#pass ??= this.#runAll().finally(() => {
      this.#pass = undefined;
    });
  }

  async #runAll(): Promise<void> {
    while (this.#isAgain && !this.#isStopped) {
      this.#isAgain = false;
      const { storeClient, log } = this.#options;
      if (!storeClient.isSet) {
        this.#say(this.#options.attachments.countObjects().placed > 0 ? 'not set' : null);
        return;
      }
      try {
        await this.#moveFresh();
        if (this.#isWalkDue) await this.#walk();
        // Last, so that a key which may not remove keeps nothing from being moved.
        await this.#removeDue();
        this.#say(null);
      } catch (error) {
        // What is left is tried again when the timer says so.
        if (error instanceof Refusal) this.#say(objectStoreWordOf(error));
        else log.error('the moving of attachments stopped', { error });
        return;
      }
    }
  }

  #say(fault: string | null): void {
    if (fault === this.#fault || this.#isStopped) return;
    const { faulted, log } = this.#options;
    if (fault !== null) log.warn('the object store cannot be used', { fault });
    else if (this.#fault !== undefined) log.info('the object store works again');
    this.#fault = fault;
    faulted(fault);
  }

  async #removeDue(): Promise<void> {
    const { attachments, storeClient, now } = this.#options;
    for (let due: string[]; !this.#isStopped;) {
      due = attachments.doomedAt(now(), STEP + this.#underWay.size).filter((object) => !this.#underWay.has(object));
      if (due.length === 0) return;
      await inLanes(due, async (object) => {
        await storeClient.store.remove(object);
        await attachments.forgetObject(object);
        this.#moves.add('removed');
      });
    }
  }

  async #moveFresh(): Promise<void> {
    for (let names = [...this.#fresh]; names.length > 0 && !this.#isStopped; names = [...this.#fresh]) {
      await inLanes(names.slice(0, STEP), async (name) => {
        await this.#move(name);
        this.#fresh.delete(name);
      });
    }
  }

  /** Looks through all contents, or those that lie in the store, for what lies where it should not. */
  async #walk(): Promise<void> {
    const { attachments, storeClient } = this.#options;
    const { keepsContents } = storeClient;
    this.#isWalkDue = false;
    try {
      for (let after = ''; !this.#isStopped && storeClient.keepsContents === keepsContents;) {
        const names = keepsContents ? attachments.contentsAfter(after, STEP) : attachments.placedAfter(after, STEP);
        if (names === undefined) return;
        await inLanes(names, async (name) => await this.#move(name));
        after = names.at(-1) ?? '';
        await new Promise(setImmediate);
      }
    } catch (error) {
      this.#isWalkDue = true;
      throw error;
    }
  }

  /** Has one content lie where contents are kept. One that cannot be moved stays where it is, and is told of. */
  async #move(name: string): Promise<void> {
    const { attachments, storeClient, log } = this.#options;
    if (this.#isStopped || !attachments.usesContent(name)) return;
    try {
      await this.#settleCopy(name);
      if (!storeClient.keepsContents) await this.bringBack(name);
      else if (attachments.objectOf(name) === undefined) await this.#place(name);
    } catch (error) {
      if (error instanceof Refusal) throw error;
      this.#moves.add('failed');
      log.warn('a content could not be moved', { name, reason: (error as Error).message });
    }
  }

  /**
   * Takes the file of a content away that lies in the store as well: it was uploaded once more, or a crash left it. Where the
   * store has no such object, as of another bucket or after a rule of it, the file is all there is, and stays.
   */
  async #settleCopy(name: string): Promise<void> {
    const { attachments, storeClient, folder } = this.#options;
    const object = attachments.objectOf(name);
    const path = blobPath(folder, name);
    if (object === undefined || !existsSync(path)) return;
    if (!storeClient.keepsContents) return await attachments.returnContent(name, object, path);
    const bytes = attachments.bytesOf(name) ?? 0;
    const last = (isSealedName(name) ? storedBytes(bytes) : bytes) - 1;
    try {
      if (last >= 0) await storeClient.store.read(object, last, last);
      await attachments.removeCopy(name);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
      await attachments.returnContent(name, object, path, 0);
    }
  }

  async #place(name: string): Promise<void> {
    const { attachments, storeClient, folder, vault } = this.#options;
    // It will be sealed first, and has another name then.
    if (!isSealedName(name) && !vault.isOff) return;
    if (attachments.isPaused) {
      // A backup copies the files: when it is through.
      this.#isWalkDue = true;
      return;
    }
    const object = randomUUID();
    this.#underWay.add(object);
    try {
      await attachments.beginObject(object);
      await writeObject({ store: storeClient.store, object }, blobPath(folder, name));
      const isPlaced = await attachments.placeContent(name, object);
      if (isPlaced) this.#moves.add('to_store');
      // A backup began meanwhile.
      else if (attachments.usesContent(name)) this.#isWalkDue = true;
    } finally {
      this.#underWay.delete(object);
    }
  }
}

/** Does something with each, a few at once. @throws the first failure, when none is under way any more. */
async function inLanes(items: readonly string[], work: (item: string) => Promise<void>): Promise<void> {
  const rest = [...items];
  let failure: unknown;
  const lane = async (): Promise<void> => {
    for (let item = rest.shift(); item !== undefined && failure === undefined; item = rest.shift()) {
      try {
        await work(item);
      } catch (error) {
        failure ??= error;
      }
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, lane));
  if (failure !== undefined) throw failure as Error;
}
