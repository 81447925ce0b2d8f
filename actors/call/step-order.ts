/**
 * Puts the steps of one attempt in order, for each sending device apart (SIG-07). Steps travel as separate requests,
 * so a later one may arrive first: it waits a moment for what is missing, then the gap is given up.
 */

/** How long a step waits for the ones before it: far longer than requests of one client overtake each other. */
export const STEP_WAIT_MILLIS = 500;
/** Steps of one device that may wait. One more, and the gap is given up at once. */
export const STEPS_WAITING_MAX = 64;
/** Devices whose order is known in one attempt. Beyond it the one that was first heard is forgotten. */
const SENDERS_MAX = 4_096;

interface Sender<Step> {
  /** The last seq taken; -1 before the first. */
  last: number;
  readonly waiting: Map<number, Step>;
  /** When the wait for the gap began, in monotonic milliseconds. */
  since: number;
}

export interface Taken<Step> {
  /** Steps whose turn it is, in order. */
  readonly ready: readonly Step[];
  /** The step is older than one already taken. */
  readonly isLate: boolean;
}

export class StepOrder<Step> {
  readonly #senders = new Map<string, Sender<Step>>();
  readonly #isKnown: boolean;

  /** `isKnown` is false for an attempt whose earlier steps were forgotten: any number may come first. */
  constructor(isKnown: boolean) {
    this.#isKnown = isKnown;
  }

  /**
   * Takes a step in. One that is neither late nor ready waits. The first of a device may have any number if it is one
   * that begins something, so that nobody's answer waits because they count from elsewhere.
   */
  take(name: string, seq: number, step: Step, { now, opens }: { now: number; opens: boolean }): Taken<Step> {
    const sender = this.#senderOf(name);
    if (seq <= sender.last || sender.waiting.has(seq)) return { ready: [], isLate: true };
    const isFirst = sender.last < 0 && [...sender.waiting.keys()].every((waiting) => waiting > seq);
    const isNext = isFirst ? seq <= 1 || opens || !this.#isKnown : seq === sender.last + 1;
    if (!isNext) {
      if (sender.waiting.size === 0) sender.since = now;
      sender.waiting.set(seq, step);
      return { ready: sender.waiting.size > STEPS_WAITING_MAX ? flush(sender) : [], isLate: false };
    }
    sender.last = seq;
    const ready = [step];
    for (let next = sender.waiting.get(seq + 1); next !== undefined; next = sender.waiting.get(sender.last + 1)) {
      sender.last += 1;
      sender.waiting.delete(sender.last);
      ready.push(next);
    }
    sender.since = now;
    return { ready, isLate: false };
  }

  /** The steps that have waited long enough, or all that wait. */
  overdue(now: number): Step[] {
    return [...this.#senders.values()].flatMap((sender) =>
      sender.waiting.size > 0 && sender.since + STEP_WAIT_MILLIS <= now ? flush(sender) : [],
    );
  }

  /** When a wait ends next, in monotonic milliseconds; Infinity when nothing waits. */
  get nextDue(): number {
    let due = Infinity;
    for (const { waiting, since } of this.#senders.values()) {
      if (waiting.size > 0) due = Math.min(due, since + STEP_WAIT_MILLIS);
    }
    return due;
  }

  #senderOf(name: string): Sender<Step> {
    const found = this.#senders.get(name);
    if (found !== undefined) return found;
    const sender: Sender<Step> = { last: -1, waiting: new Map(), since: 0 };
    if (this.#senders.size >= SENDERS_MAX) {
      const idle = [...this.#senders].find(([, { waiting }]) => waiting.size === 0);
      if (idle !== undefined) this.#senders.delete(idle[0]);
    }
    this.#senders.set(name, sender);
    return sender;
  }
}

function flush<Step>(sender: Sender<Step>): Step[] {
  const steps = [...sender.waiting].toSorted(([a], [b]) => a - b);
  sender.waiting.clear();
  sender.last = steps.at(-1)?.[0] ?? sender.last;
  return steps.map(([, step]) => step);
}
