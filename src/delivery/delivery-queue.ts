/**
 * A queue of deliveries with retries: the relay of the outbox pattern. What is delivered lies with its noun, which says what
 * is due and writes down what came of it; here is when each is attempted, in which order, and how many at once:
 *
 *     due ─► sequence, in order ─► a slot, and one of its group ─► attempt ──over────► settled, leaves the queue
 *                    ▲                                               ├─failed──► backoff, or what the receiver asks for
 *                    └──────────────────── put off ◄─────────────────┴─put off─► the breaker is open, or nobody to ask
 *
 * A sequence whose head waits holds up nobody else. What is over and could not be written down is written down later,
 * and not attempted again.
 */
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Clock } from '#src/base/clock.ts';
import { Refusal } from '#src/protocol/errors.ts';
import { backoffMillis, type Backoff } from './backoff.ts';
import { CircuitBreakers, type BreakerPolicy } from './circuit-breaker.ts';

/** How long a delivery rests that could not be written down, or met a defect: the disk is full, say. */
export const FAULT_MILLIS = 5_000;
/** The longest that a queue sleeps: a clock that is set shows by then. */
export const SLEEP_MILLIS_MAX = 60_000;

/** What an attempt came to. */
export type Attempt<A> =
  /** It is over, one way or the other: settled with this answer. */
  | { readonly result: 'over'; readonly answer: A }
  /** Another attempt may get through. */
  | {
      readonly result: 'failed';
      readonly answer: A;
      /** The receiver itself fails, and whatever else it were asked would fail as well. */
      readonly isDown?: boolean;
      /** How long the receiver asks to be left alone, in milliseconds. */
      readonly retryMillis?: number | undefined;
      /** Attempts that failed in a row with this one, where the noun counts them; else the queue does. */
      readonly attempts?: number;
    }
  /** Nobody was asked, so it counts as no attempt. */
  | { readonly result: 'putOff'; readonly millis: number };

export interface AttemptContext<A> {
  /** Attempts before this one that failed in a row. */
  readonly attempts: number;
  /** Aborted when the queue ends: then nothing is settled any more, and nobody failed. */
  readonly signal: AbortSignal;
  /** Asks the receiver through its breaker; put off where that is open. */
  readonly ask: (work: () => Promise<Attempt<A>>) => Promise<Attempt<A>>;
}

export interface DeliveryQueueOptions<T, A> {
  /** Stands in the log. */
  readonly name: string;
  readonly clock: Clock;
  readonly log: { warn(message: string, fields?: Readonly<Record<string, unknown>>): void };
  /** Attempts under way at once. More wait their turn. */
  readonly atOnce: number;
  readonly backoff: Backoff;
  /** Who is asked, by a name that has a breaker. Where all is for one, nothing is attempted while that is left alone. */
  readonly receiver?: string | ((item: T) => string);
  readonly breaker?: BreakerPolicy;
  /** Deliveries of one key go in order, one at a time: they are a sequence. Without keys each goes by itself. */
  readonly orderingKeyOf?: (item: T) => string;
  /** Deliveries of one group take some of the slots and no more. */
  readonly group?: { readonly of: (item: T) => string; readonly atOnce: number };
  /** Deliveries that wait or are under way, and room that is reserved. Beyond it nothing is taken; unbounded without it. */
  readonly waitingMax?: number;
  /** Attempts that fail until it is over. */
  readonly attemptsMax?: number;
  /** Behind this instant it is over without another attempt; milliseconds since 1970. */
  readonly expiresAt?: (item: T) => number;
  /** Whether its turn has come; asked again whenever another one was over. */
  readonly mayGo?: (item: T) => boolean;
  /** What was put on its way since this was last asked, in order. */
  readonly due?: () => Iterable<T>;
  /** One attempt. What it throws is logged, and it is attempted again after FAULT_MILLIS. */
  readonly attempt: (item: T, context: AttemptContext<A>) => Promise<Attempt<A>>;
  /** Writes down what became of it; without an answer it expired. Repeated until it does not throw. */
  readonly over: (item: T, answer: A | undefined) => Promise<void> | void;
  /** Writes down that it is attempted at that time or later; without an answer nobody was asked. */
  readonly putOff?: (item: T, at: number, answer: A | undefined) => Promise<void> | void;
  /** Whether what is put off leaves the queue, since its noun adds it again. */
  readonly leavesWhenPutOff?: boolean;
}

/** Without an answer it expired. */
interface End<A> {
  readonly answer: A | undefined;
}

interface Entry<T, A> {
  readonly item: T;
  attempts: number;
  dueAt: number;
  /** It is over and not written down yet. */
  end: End<A> | undefined;
}

interface Sequence<T, A> {
  readonly name: string | symbol;
  readonly group: string;
  entries: Entry<T, A>[];
}

export class DeliveryQueue<T, A> {
  readonly #options: DeliveryQueueOptions<T, A>;
  readonly #breakers: CircuitBreakers;
  readonly #ending = new AbortController();
  readonly #sequences = new Map<string | symbol, Sequence<T, A>>();
  /** Sequences whose head is due, in turn, and those whose head waits. The others are under way. */
  readonly #ready = new Set<Sequence<T, A>>();
  readonly #sleeping = new Set<Sequence<T, A>>();
  readonly #underWay = new Map<Sequence<T, A>, Promise<void>>();
  #reserved = 0;
  #size = 0;
  #timer: NodeJS.Timeout | undefined;
  #timerAt = Infinity;
  #isClosed = false;

  constructor(options: DeliveryQueueOptions<T, A>) {
    this.#options = options;
    this.#breakers = new CircuitBreakers(options.clock, options.breaker);
  }

  /** Deliveries that wait or are under way, and room that is reserved. */
  get waiting(): number {
    return this.#size + this.#reserved;
  }

  /** The receivers that are left alone now. */
  get openBreakers(): string[] {
    return this.#breakers.open;
  }

  /** What waits or is under way in a sequence, in order. */
  inSequence(name: string): T[] {
    return this.#sequences.get(name)?.entries.map(({ item }) => item) ?? [];
  }

  /** How many of a group wait or are under way. */
  countOf(group: string): number {
    return this.#sequencesOf(this.#sequences.values(), group).reduce((sum, { entries }) => sum + entries.length, 0);
  }

  /** Whether a sequence has something to attempt beside what is under way in it. */
  waitsIn(name: string): boolean {
    const sequence = this.#sequences.get(name);
    return sequence !== undefined && sequence.entries.length > (this.#underWay.has(sequence) ? 1 : 0);
  }

  /**
   * Keeps room for what is about to be written down, until the queue looks what is due.
   * @throws Refusal `busy` where there is none.
   */
  reserve(count: number): void {
    if (this.waiting + count > (this.#options.waitingMax ?? Infinity)) {
      // Room that was kept for what was refused afterwards is given back.
      this.wake();
      throw new Refusal('busy');
    }
    this.#reserved += count;
  }

  /** Takes a delivery in, to be attempted at `dueAt` or later. False where there is no room, or the queue is closed. */
  add(item: T, dueAt = 0): boolean {
    const isTaken = !this.#isClosed && this.waiting < (this.#options.waitingMax ?? Infinity);
    if (!isTaken) return false;
    const sequence = this.#enqueue(item, dueAt);
    if (this.#hasSlot()) this.#begin(sequence);
    return true;
  }

  /** Looks what is due. */
  wake(): void {
    if (this.#isClosed) return;
    this.#reserved = 0;
    for (const item of this.#options.due?.() ?? []) this.#enqueue(item, 0);
    clearTimeout(this.#timer);
    this.#timerAt = Infinity;
    const slept = [...this.#sleeping];
    this.#sleeping.clear();
    for (const sequence of slept) this.#seat(sequence);
    this.#pump();
  }

  /** Forgets what waits; what is under way comes to its end. */
  remove(isGone: (item: T) => boolean): void {
    for (const sequence of this.#sequences.values()) {
      const [head] = sequence.entries;
      const isBusy = this.#underWay.has(sequence);
      const kept = sequence.entries.filter((entry) => (isBusy && entry === head) || !isGone(entry.item));
      this.#keep(sequence, kept);
      if (kept[0] !== head) this.#seat(sequence);
    }
    this.#pump();
  }

  /** Takes nothing more, and breaks off what is under way after that time. What waits lies with its noun. */
  async close(graceMillis = 0): Promise<void> {
    this.#isClosed = true;
    clearTimeout(this.#timer);
    const timer = setTimeout(() => this.#ending.abort(), graceMillis);
    if (graceMillis === 0) this.#ending.abort();
    await Promise.all(this.#underWay.values());
    clearTimeout(timer);
  }

  #enqueue(item: T, dueAt: number): Sequence<T, A> {
    const { group, orderingKeyOf } = this.#options;
    const name = orderingKeyOf?.(item) ?? Symbol('alone');
    const sequence = this.#sequences.get(name) ?? { name, group: group?.of(item) ?? '', entries: [] };
    this.#sequences.set(name, sequence);
    this.#size += 1;
    sequence.entries.push({ item, attempts: 0, dueAt, end: undefined });
    if (sequence.entries.length === 1) this.#seat(sequence);
    return sequence;
  }

  /** Puts a sequence that is not under way where its head belongs. */
  #seat(sequence: Sequence<T, A>): void {
    const [head] = sequence.entries;
    this.#ready.delete(sequence);
    this.#sleeping.delete(sequence);
    if (head === undefined) return;
    const wait = head.dueAt - this.#options.clock.now();
    if (wait <= 0) {
      this.#ready.add(sequence);
    } else {
      this.#sleeping.add(sequence);
      this.#wakeIn(wait);
    }
  }

  /** Wakes by then at the latest. */
  #wakeIn(millis: number): void {
    const at = performance.now() + Math.min(millis, SLEEP_MILLIS_MAX);
    if (this.#isClosed || at >= this.#timerAt) return;
    clearTimeout(this.#timer);
    this.#timerAt = at;
    this.#timer = setTimeout(() => this.wake(), at - performance.now()).unref();
  }

  /** Begins whatever may be attempted now. */
  #pump(): void {
    for (const sequence of this.#ready) {
      if (!this.#hasSlot()) return;
      this.#begin(sequence);
    }
  }

  #hasSlot(): boolean {
    const { atOnce, receiver } = this.#options;
    if (this.#isClosed || this.#underWay.size >= atOnce) return false;
    const rest = typeof receiver === 'string' ? this.#breakers.of(receiver).waitMillis : 0;
    if (rest > 0) this.#wakeIn(rest);
    return rest === 0;
  }

  /** Begins with the head of a sequence, where it is due, its group has a slot, and its turn has come. */
  #begin(sequence: Sequence<T, A>): void {
    const [head] = sequence.entries;
    if (head === undefined || !this.#ready.has(sequence) || this.#isGroupFull(sequence.group)) return;
    if (this.#options.mayGo?.(head.item) === false) return;
    this.#ready.delete(sequence);
    const done = this.#go(sequence, head).finally(() => {
      this.#underWay.delete(sequence);
      this.#seat(sequence);
      this.#pump();
    });
    this.#underWay.set(sequence, done);
  }

  #isGroupFull(name: string): boolean {
    const { group } = this.#options;
    return group !== undefined && this.#sequencesOf(this.#underWay.keys(), name).length >= group.atOnce;
  }

  #sequencesOf(sequences: Iterable<Sequence<T, A>>, group: string): Sequence<T, A>[] {
    return [...sequences].filter((sequence) => sequence.group === group);
  }

  /** Attempts the head of a sequence, or writes down what became of it. Never throws. */
  async #go(sequence: Sequence<T, A>, head: Entry<T, A>): Promise<void> {
    const { clock, leavesWhenPutOff = false, log, name, over } = this.#options;
    try {
      const end = (head.end ??= await this.#attempt(head));
      if (this.#ending.signal.aborted || (end === undefined && !leavesWhenPutOff)) return;
      if (end !== undefined) await over(head.item, end.answer);
      this.#keep(sequence, sequence.entries.slice(1));
    } catch (error) {
      head.dueAt = clock.now() + FAULT_MILLIS;
      // A disk that is full is told by others.
      if (!(error instanceof Refusal)) log.warn('a delivery met a defect, or was not noted', { queue: name, error });
    }
  }

  /** Undefined where it is put off. */
  async #attempt(entry: Entry<T, A>): Promise<End<A> | undefined> {
    const { attempt, attemptsMax = Infinity, backoff, clock, expiresAt, putOff, receiver = '' } = this.#options;
    const { item } = entry;
    if (expiresAt !== undefined && clock.now() > expiresAt(item)) return { answer: undefined };
    const { signal } = this.#ending;
    const ask: AttemptContext<A>['ask'] = async (work) => {
      const breaker = this.#breakers.of(typeof receiver === 'function' ? receiver(item) : receiver);
      const millis = breaker.waitMillis;
      return millis > 0 ? { result: 'putOff', millis } : await breaker.ask(work);
    };
    const made = await attempt(item, { attempts: entry.attempts, signal, ask });
    if (made.result === 'over') return made;
    if (signal.aborted) return undefined;
    if (made.result === 'putOff') {
      entry.dueAt = clock.now() + made.millis;
      await putOff?.(item, entry.dueAt, undefined);
      // Thousands may be put off one after the other, without anything that is waited for.
      await nextTurn();
      return undefined;
    }
    entry.attempts = made.attempts ?? entry.attempts + 1;
    if (entry.attempts >= attemptsMax) return made;
    entry.dueAt = clock.now() + Math.max(backoffMillis(entry.attempts, backoff), made.retryMillis ?? 0);
    await putOff?.(item, entry.dueAt, made.answer);
    return undefined;
  }

  /** Has nothing but these entries in a sequence. */
  #keep(sequence: Sequence<T, A>, entries: Entry<T, A>[]): void {
    this.#size += entries.length - sequence.entries.length;
    sequence.entries = entries;
    if (entries.length === 0) this.#sequences.delete(sequence.name);
  }
}
