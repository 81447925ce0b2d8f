/** Work that one wake-up does for all that ask for it meanwhile: one run at a time, and another where somebody asked. */
export class CoalescingJob {
  readonly #run: () => Promise<number | undefined>;
  #running: Promise<void> | undefined;
  #timer: NodeJS.Timeout | undefined;
  #isAsked = false;
  #isStopped = false;

  /** `run` does what there is and never rejects; it answers after how many milliseconds it is to look by itself, if at all. */
  constructor(run: () => Promise<number | undefined>) {
    this.#run = run;
  }

  /** For a run that is long: nothing more is to be begun. */
  get isStopped(): boolean {
    return this.#isStopped;
  }

  /** Has it look what there is to do. */
  wake(): void {
    this.#isAsked = true;
    if (this.#isStopped || this.#running !== undefined) return;
    clearTimeout(this.#timer);
    this.#running = this.#runAll().finally(() => {
      this.#running = undefined;
      // Asked in the moment in which it ended.
      if (this.#isAsked) this.wake();
    });
  }

  /** Ends after the run that is under way. */
  async stop(): Promise<void> {
    this.#isStopped = true;
    clearTimeout(this.#timer);
    await this.#running;
  }

  async #runAll(): Promise<void> {
    let sleep: number | undefined;
    while (this.#isAsked && !this.#isStopped) {
      this.#isAsked = false;
      sleep = await this.#run();
    }
    if (sleep !== undefined && !this.#isStopped) this.#timer = setTimeout(() => this.wake(), sleep);
  }
}
