/**
 * What earlier snapshots said, so that the sums never fall: a counter that falls reads as a restart of everything,
 * and a rate over it would count all that was ever counted once more. A thread that ended keeps its counts here, a
 * thread that does not answer stands with its last known ones. One ledger serves the process, at whoever gathers.
 */
import type { MetricSnapshot, ThreadSnapshot } from './metrics.ts';
import { mergeMetrics } from './merge.ts';
import { isCumulative, type MetricName } from './metric-table.ts';

/** The figures of all threads, and which of them these are. */
export interface Gathered {
  readonly metrics: MetricSnapshot;
  readonly answered: readonly string[];
  readonly missing: readonly string[];
}

export class MetricLedger {
  readonly #last = new Map<string, ThreadSnapshot>();
  #ended: MetricSnapshot = { scalars: {}, histograms: {} };

  /**
   * Settles one round of gathering.
   * @param expected names of the threads that were asked; those without an answer come out as missing, their
   * counters as last known and their gauges left out.
   */
  settle(answers: readonly ThreadSnapshot[], expected: readonly string[]): Gathered {
    const answered = new Set<string>();
    for (const answer of answers) {
      this.#remember(answer);
      answered.add(answer.thread);
    }
    const metrics = [...this.#last.values()].map((last) => (answered.has(last.thread) ? last : cumulativeOf(last)));
    return {
      metrics: mergeMetrics([this.#ended, ...metrics]),
      answered: [...answered].toSorted(),
      missing: expected.filter((thread) => !answered.has(thread)).toSorted(),
    };
  }

  #remember(answer: ThreadSnapshot): void {
    const last = this.#last.get(answer.thread);
    // Two rounds may overlap, and an answer of the one before comes late.
    if (
      last !== undefined &&
      (answer.born < last.born || (answer.born === last.born && answer.sequence < last.sequence))
    ) {
      return;
    }
    if (last !== undefined && answer.born > last.born) this.#ended = mergeMetrics([this.#ended, cumulativeOf(last)]);
    this.#last.set(answer.thread, answer);
  }
}

/** What of a thread's figures holds without it: counters and histograms. */
function cumulativeOf({ scalars, histograms }: MetricSnapshot): MetricSnapshot {
  const kept = Object.entries(scalars).filter(([name]) => isCumulative(name as MetricName));
  return { scalars: Object.fromEntries(kept), histograms };
}
