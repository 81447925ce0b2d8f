/** Gathers what a bench measures, and makes ratios and bars of it. */
import { report, type Bar, type Machine, type Report, type Round, type Size } from './schema.ts';
import { percentilesOf } from './percentiles.ts';
import { refusals, type RunResult } from './requests.ts';
import { spreadOf } from './spread.ts';

/** A generator later than this at its 99th percentile was measuring itself. */
const LAG_NANOS_MAX = 1e6;

export class Recorder {
  readonly scenario: string;
  readonly size: Size;
  readonly #machine: Machine;
  readonly #checkout: { commit: string; dirty: boolean };
  readonly #at = new Date().toISOString();
  #parameters: Report['parameters'] = {};
  readonly #hashes: Record<string, string> = {};
  readonly #rounds: Round[] = [];
  readonly #ratios: Report['ratios'] = [];
  readonly #bars: Bar[] = [];
  readonly #notes: string[] = [];
  /** Case and subject → rounds, warm-up among them, in which the generator was late. */
  readonly #late = new Map<string, { rounds: number; worst: number }>();
  readonly #failures: string[] = [];

  constructor(scenario: string, size: Size, machine: Machine, checkout: { commit: string; dirty: boolean }) {
    this.scenario = scenario;
    this.size = size;
    this.#machine = machine;
    this.#checkout = checkout;
  }

  parameters(values: Report['parameters']): void {
    this.#parameters = { ...this.#parameters, ...values };
  }

  round(round: Round): void {
    this.#rounds.push(round);
  }

  note(text: string): void {
    if (!this.#notes.includes(text)) this.#notes.push(text);
  }

  /** A wrong answer: the run fails. */
  fail(text: string): void {
    this.#failures.push(text);
  }

  /** Holds every subject of a case to one hash of what it delivered. */
  delivered(name: string, subject: string, hash: string, expected: string): void {
    this.#hashes[name] = expected;
    if (hash !== expected) this.fail(`${name}: ${subject} delivered ${hash}, posted was ${expected}`);
  }

  /** Fails on refused and wrong answers, and notes a generator that could not keep its schedule. */
  checkRequests(name: string, subject: string, result: RunResult): void {
    const bad = refusals(result);
    if (bad !== undefined) this.fail(`${name}: ${subject} gave ${bad}`);
    this.checkLag(name, subject, result.lag);
  }

  /** Notes a generator that could not keep its schedule. A smoke run is judged by what it delivers alone. */
  checkLag(name: string, subject: string, lags: Iterable<number>): void {
    const lag = percentilesOf(lags).p99;
    if (lag <= LAG_NANOS_MAX || this.size === 'smoke') return;
    const key = `${name}, ${subject}`;
    const { rounds, worst } = this.#late.get(key) ?? { rounds: 0, worst: 0 };
    this.#late.set(key, { rounds: rounds + 1, worst: Math.max(worst, lag) });
  }

  #voids(): string[] {
    return [...this.#late].map(([key, { rounds, worst }]) => {
      const late = `in ${rounds} rounds the generator was late, up to ${(worst / 1e6).toFixed(1)} ms at p99`;
      return `VOID ${key}: ${late}: latencies of this case are not the server's alone`;
    });
  }

  /** Values of one metric of a subject in a case, in the order of the rounds. */
  values(name: string, subject: string, metric: string): number[] {
    return this.#rounds
      .filter((round) => round.case === name && round.subject === subject)
      .flatMap((round) => round.values[metric] ?? []);
  }

  /** The median of a metric, or undefined when no round has it. */
  median(name: string, subject: string, metric: string): number | undefined {
    const values = this.values(name, subject, metric);
    return values.length === 0 ? undefined : spreadOf(values).median;
  }

  /** The ratio of two subjects' rounds, pair by pair as they ran. Answers the median, or undefined without rounds. */
  ratio(name: string, metric: string, of: string, to: string): number | undefined {
    const below = this.values(name, to, metric);
    const quotients = this.values(name, of, metric).flatMap((value, i) => {
      const other = below[i];
      return other === undefined || other === 0 ? [] : [value / other];
    });
    if (quotients.length === 0) return undefined;
    const spread = spreadOf(quotients);
    this.#ratios.push({ case: name, metric, of, to, ...spread });
    return spread.median;
  }

  /** Compares with a bar. Never fails a run, as figures belong to the machine they were taken on; a smoke run has none. */
  bar(name: string, metric: string, value: number | undefined, relation: '≤' | '≥', bound: number): void {
    if (value === undefined || this.size === 'smoke') return;
    const met = relation === '≤' ? value <= bound : value >= bound;
    this.#bars.push({ case: name, metric, value, relation, bound, met });
  }

  get failures(): readonly string[] {
    return this.#failures;
  }

  /** The report, checked against its own schema. */
  report(): Report {
    return report.parse({
      schema: 1,
      ...this.#checkout,
      at: this.#at,
      machine: this.#machine,
      scenario: this.scenario,
      size: this.size,
      parameters: this.#parameters,
      hashes: this.#hashes,
      rounds: this.#rounds,
      ratios: this.#ratios,
      bars: this.#bars,
      notes: [...this.#notes, ...this.#voids()],
      failures: this.#failures,
    } satisfies Report);
  }
}
