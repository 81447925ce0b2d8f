/** Which tests concern a file of production code: those that reach it by imports, and of those the ones that are most alike. */
import { importsOf, targetOf } from '#test/tidy/source.ts';

/** For each production file the tests that reach it, the most relevant first. */
export class Relevance {
  readonly #sources: ReadonlyMap<string, string>;
  readonly #imports = new Map<string, readonly string[]>();
  readonly #reached = new Map<string, ReadonlySet<string>>();
  /** How many times each file says each word. */
  readonly #words = new Map<string, ReadonlyMap<string, number>>();
  /** In how many files a word stands. */
  readonly #commonness = new Map<string, number>();

  /** @param sources every TypeScript file of the project, by path. */
  constructor(sources: ReadonlyMap<string, string>) {
    this.#sources = sources;
    for (const [path, source] of sources) {
      const targets = importsOf(source).flatMap(({ specifier }) => targetOf(path, specifier) ?? []);
      this.#imports.set(path, targets);
      const words = countWords(source);
      this.#words.set(path, words);
      for (const word of words.keys()) this.#commonness.set(word, (this.#commonness.get(word) ?? 0) + 1);
    }
    for (const test of this.tests) this.#reached.set(test, this.#reachedFrom(test));
  }

  get tests(): string[] {
    return [...this.#sources.keys()].filter((path) => path.endsWith('.test.ts'));
  }

  /**
   * The tests that concern a file: those that reach it by imports or by starting the server, in the order of how alike
   * their words are to the file's (cosine of tf-idf, from 0 to 1), with one more for an import without a step between.
   */
  testsOf(path: string): string[] {
    const scored = this.tests
      .filter((test) => this.#reached.get(test)?.has(path) === true)
      .map((test) => ({ test, score: this.#likeness(path, test) + (this.#imports.get(test)?.includes(path) ? 1 : 0) }));
    return scored.toSorted((a, b) => b.score - a.score).map(({ test }) => test);
  }

  #reachedFrom(start: string): ReadonlySet<string> {
    const reached = new Set<string>();
    const ahead = [start];
    for (let path = ahead.pop(); path !== undefined; path = ahead.pop()) {
      if (reached.has(path)) continue;
      reached.add(path);
      ahead.push(...(this.#imports.get(path) ?? []));
    }
    return reached;
  }

  #likeness(a: string, b: string): number {
    const [first, second] = [this.#weights(a), this.#weights(b)];
    let product = 0;
    for (const [word, weight] of first) product += weight * (second.get(word) ?? 0);
    return product / (Math.hypot(...first.values()) * Math.hypot(...second.values()) || 1);
  }

  #weights(path: string): Map<string, number> {
    const rarity = (word: string) => Math.log(this.#sources.size / (this.#commonness.get(word) ?? 1));
    const counts = [...(this.#words.get(path) ?? [])];
    return new Map(counts.map(([word, count]) => [word, (1 + Math.log(count)) * rarity(word)]));
  }
}

/** The words of a source: `readReceipt_v2` is `read`, `receipt`, `v`. */
function countWords(source: string): Map<string, number> {
  const counts = new Map<string, number>();
  for (const [word] of source.matchAll(/[A-Z]?[a-z]+|[A-Z]+/g)) {
    const small = word.toLowerCase();
    counts.set(small, (counts.get(small) ?? 0) + 1);
  }
  return counts;
}
