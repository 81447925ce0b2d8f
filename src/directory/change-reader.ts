/** Reads the log of the directory's changes for whoever keeps something in memory about everybody. */
import { setImmediate as othersFirst } from 'node:timers/promises';

/** Lines of the log read in one go: a few milliseconds. */
const CHANGES_AT_ONCE = 250;

/** The log of changes, as `Directory.changedSince` and `Directory.changedUsers` read it. */
export interface ChangeLog<Entry> {
  readonly rev: () => number;
  readonly changedSince: (rev: number, limit: number) => { entries: Entry[]; rev: number; more: boolean };
}

export class ChangeReader<Entry> {
  readonly #log: ChangeLog<Entry>;
  readonly #take: (entry: Entry) => void;
  #rev = 0;
  #reading: Promise<void> | undefined;
  #isStopped = false;

  /** @param take is given everybody at first, and then who changed, as they are now. */
  constructor(log: ChangeLog<Entry>, take: (entry: Entry) => void) {
    [this.#log, this.#take] = [log, take];
  }

  /** Reads what changed since. Cheap where nothing did; the first time it reads everybody, and gives way to other work. */
  async catchUp(): Promise<void> {
    while (this.#rev < this.#log.rev() && !this.#isStopped) {
      this.#reading ??= this.#read().finally(() => (this.#reading = undefined));
      await this.#reading;
    }
  }

  /** Ends reading, before the log is closed. */
  stop(): void {
    this.#isStopped = true;
  }

  async #read(): Promise<void> {
    for (let more = true; more && !this.#isStopped;) {
      const { entries, rev, more: isMore } = this.#log.changedSince(this.#rev, CHANGES_AT_ONCE);
      for (const entry of entries) this.#take(entry);
      this.#rev = rev;
      more = isMore;
      if (more) await othersFirst();
    }
  }
}
