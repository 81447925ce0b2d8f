/**
 * Turns of the thread that everybody's requests go through: of one person one piece of work begins in each turn of the
 * event loop, however many requests they have under way. Without it a turn is as long as all that sixty-four connections
 * have sent, and each step of a sign-in waits for such a turn.
 *
 *     turn 1  [eve: ●] [ben: ●]      turn 2  [eve: ●]      turn 3  [eve: ●] [cleo: ●]
 */
import type { ServerResponse } from 'node:http';

/**
 * How many times as long as a turn took those rest who have more to do than one thing, while somebody signs in
 * or waits for the core with work of another thread: they take a quarter of it then.
 */
export const REST_TIMES = 3;
/** No rest is longer: that of a slice and what came beside it. */
export const REST_MILLIS_MAX = 20;

export class RoundRobin {
  /** Those who began something in this turn. */
  readonly #begun = new Set<string>();
  /** Work that waits for a later turn, by person: no more than they have open requests, which were counted before they came here. */
  readonly #waiting = new Map<string, (() => void)[]>();
  #isPressed: () => boolean = () => false;
  /** Requests of people who are on their way in. */
  #entering = 0;
  #isArmed = false;
  #began = 0;

  /** Says when the core is wanted for something that a person waits for: whoever has more to do than one thing rests then. */
  restWhile(isPressed: () => boolean): void {
    this.#isPressed = isPressed;
  }

  /** Somebody is on their way in until `answer` is closed, which takes some ten turns: whoever has more to do than one thing rests then. */
  enterUntilClosed(answer: Pick<ServerResponse, 'once'>): void {
    this.#entering += 1;
    answer.once('close', () => {
      this.#entering -= 1;
    });
  }

  /** Begins a piece of work of somebody: at once, or in a later turn where one of theirs has begun in this one or waits. */
  async begin(user: string): Promise<void> {
    if (this.#begun.has(user) || this.#waiting.has(user)) return await this.next(user);
    this.#begun.add(user);
    this.#arm();
  }

  /** Goes on with a piece of work in a later turn, behind what else of theirs waits. */
  async next(user: string): Promise<void> {
    const own = this.#waiting.get(user) ?? [];
    this.#waiting.set(user, own);
    this.#arm();
    await new Promise<void>((begin) => own.push(begin));
  }

  #arm(): void {
    if (this.#isArmed) return;
    this.#isArmed = true;
    this.#began = performance.now();
    setImmediate(() => this.#end());
  }

  #end(): void {
    if (this.#waiting.size === 0 || (this.#entering === 0 && !this.#isPressed())) return this.#turn();
    const rest = Math.min(REST_TIMES * (performance.now() - this.#began), REST_MILLIS_MAX);
    setTimeout(() => this.#turn(), rest);
  }

  #turn(): void {
    this.#isArmed = false;
    this.#begun.clear();
    for (const [user, own] of this.#waiting) {
      own.shift()?.();
      this.#begun.add(user);
      if (own.length === 0) this.#waiting.delete(user);
    }
    if (this.#begun.size > 0) this.#arm();
  }
}
