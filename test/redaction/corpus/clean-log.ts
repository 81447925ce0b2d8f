/** The clean log: lines drawn evenly from every program. */
import type { SeededRandom } from '#test/support/random.ts';
import { CLEAN_SOURCES } from './clean-lines.ts';
import type { CleanLine } from './clean-text.ts';

export interface SourcedLine extends CleanLine {
  /** The program and the number of its line: where to look when it changes. */
  source: string;
}

/** That many clean lines, each line of each program in turn. */
export function cleanLog(random: SeededRandom, count: number): SourcedLine[] {
  const sources = Object.entries(CLEAN_SOURCES).flatMap(([program, lines]) =>
    lines.map((make, at) => ({ make, source: `${program} ${at + 1}` })),
  );
  return Array.from({ length: count }, (_, at) => {
    const { make, source } = sources[at % sources.length] as (typeof sources)[number];
    return { ...make(random), source };
  });
}
