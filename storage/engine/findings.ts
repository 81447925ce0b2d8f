/** What a check found wrong: one sentence each, with the lane, the table and the key that it is about. */

/** Problems that are listed. Beyond it they are only counted: a folder with this many is restored, not mended. */
export const PROBLEMS_MAX = 1_000;

export type KeyPart = string | number;

export class Findings {
  readonly #place: string;
  readonly #problems: string[];
  readonly #beyond: { count: number };

  /** `place` opens every sentence. */
  constructor(place: string, problems: string[] = [], beyond = { count: 0 }) {
    this.#place = place;
    this.#problems = problems;
    this.#beyond = beyond;
  }

  /** The same findings, for another place. */
  at(place: string): Findings {
    return new Findings(place, this.#problems, this.#beyond);
  }

  /** Adds a problem: `predicate` says what is wrong with the record, without its content. */
  add(table: string, parts: readonly KeyPart[], predicate: string): void {
    this.say(`${table} [${parts.join(', ')}] ${predicate}.`);
  }

  /** Adds a problem that is about no single record. */
  say(sentence: string): void {
    if (this.#problems.length < PROBLEMS_MAX) this.#problems.push(`${this.#place}${sentence}`);
    else this.#beyond.count += 1;
  }

  /** What `read` answers; undefined, and a problem, when it throws. */
  attempt<T>(table: string, parts: readonly KeyPart[], read: () => T): T | undefined {
    try {
      return read();
    } catch (error) {
      this.add(table, parts, `cannot be read (${(error as Error).message.replace(/\.$/, '')})`);
      return undefined;
    }
  }

  get problems(): string[] {
    const { count } = this.#beyond;
    return count === 0 ? this.#problems : [...this.#problems, `Beside these, ${count} more problems were found.`];
  }
}
