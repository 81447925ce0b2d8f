/** What a bench is, what it is given, and how subjects take turns. */
import { percentilesOf } from './percentiles.ts';
import type { Pins } from './pinning.ts';
import { startPeer, type PeerName } from './peer.ts';
import type { Recorder } from './recorder.ts';
import type { Size } from './schema.ts';
import { Server } from './server.ts';
import type { Subject, WorldSize } from './subject.ts';

export interface BenchContext {
  readonly size: Size;
  readonly pins: Pins;
  readonly recorder: Recorder;
  readonly shards: number;
  readonly folder?: string;
  /** Overrides a bench's own number of rounds. */
  readonly rounds?: number;
}

export interface Bench {
  readonly name: string;
  /** One line: the workload and what is measured. */
  readonly say: string;
  run(context: BenchContext): Promise<void>;
}

/** The value for the size of this run. */
export function bySize<T>(context: BenchContext, values: Readonly<Record<Size, T>>): T {
  return values[context.size];
}

/** Starts Parley as this run is set, with settings of the server beyond those of every bench. */
export async function startParley(
  context: BenchContext,
  size: WorldSize,
  environment: Readonly<Record<string, string>> = {},
): Promise<Server> {
  const { shards, pins, folder } = context;
  const settings = { shards, cores: pins.server, environment };
  return await Server.start(size, { ...settings, ...(folder === undefined ? {} : { folder }) });
}

/** Starts subjects one after the other, runs with them, and stops them whatever happens. */
export async function withSubjects<T>(
  context: BenchContext,
  names: readonly ('parley' | PeerName)[],
  size: WorldSize,
  work: (subjects: Subject[]) => Promise<T>,
): Promise<T> {
  const subjects: Subject[] = [];
  try {
    for (const name of names) {
      subjects.push(
        // oxlint-disable-next-line no-await-in-loop -- Started one by one, so that seeding disturbs nobody.
        name === 'parley' ? await startParley(context, size) : await startPeer(name, size, context.pins.server),
      );
    }
    return await work(subjects);
  } finally {
    await Promise.all(subjects.map((subject) => subject.stop()));
  }
}

/**
 * Rounds in turn: first one of each subject to warm up, which is thrown away, then ours, peer, ours, peer. A drift of
 * the machine so meets all subjects alike. A smoke run does without warming up.
 */
export async function interleave<S>(
  context: BenchContext,
  rounds: number,
  subjects: readonly S[],
  round: (subject: S, number: number, isWarmUp: boolean) => Promise<void>,
): Promise<void> {
  const first = context.size === 'smoke' ? 0 : -1;
  for (let number = first; number < (context.rounds ?? rounds); number += 1) {
    for (const subject of subjects) {
      // oxlint-disable-next-line no-await-in-loop -- Rounds must not overlap.
      await round(subject, number, number < 0);
    }
  }
}

/** p50, p99 and the maximum in milliseconds, for the table. */
export function latencyMillis(samples: Iterable<number>): Record<string, number> {
  const { p50, p99, max } = percentilesOf(samples);
  return { 'p50 ms': p50 / 1e6, 'p99 ms': p99 / 1e6, 'max ms': max / 1e6 };
}
