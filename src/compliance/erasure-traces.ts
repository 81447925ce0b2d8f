/**
 * The traces that somebody who was erased left in what others wrote: found in the lanes, message by message, since nothing
 * indexes who passed on whose words, and erased by the actors of their conversations.
 */
import type { TraceOutcome } from '#actors/conversation/erasing-traces.ts';
import type { Address, Answer, Tell } from '#actors/runtime/actor.ts';
import { readTraces, type TraceCandidate } from '#storage/conversations/erasure-traces.ts';
import type { Lanes } from '#storage/engine/lanes.ts';

/** Messages looked at in one turn of the thread: half a millisecond, or a few where all are long. */
const READ_AT_ONCE = 200;
/** Turns after which the progress is written down, when nothing was found before: a restart does so much again. */
const TURNS_UNNOTED_MAX = 100;
/** How long one message may take; a thread that restarts is asked again. */
const STEP_MILLIS = 10_000;

/** How far the search is, and what it erased. */
export interface TraceProgress {
  readonly lane: number;
  /** The key behind which the search goes on, as hexadecimal digits. */
  readonly after: string;
  /** Forwards that this pass over all lanes erased. */
  readonly inPass: number;
  /** Of all passes: forwards that became stubs, messages that have the stand-in, messages that a legal hold keeps. */
  readonly forwards: number;
  readonly names: number;
  readonly kept: number;
}

/** Where a pass over all lanes begins. */
export const PASS_START = { lane: 0, after: '', inPass: 0, kept: 0 } as const;

export const NO_TRACES: TraceProgress = { ...PASS_START, forwards: 0, names: 0 };

export interface TracesOptions {
  readonly lanes: Pick<Lanes, 'environments'>;
  readonly ask: (to: Address, message: Tell, millis: number) => Promise<Answer>;
  /** Writes the progress down. */
  readonly note: (progress: TraceProgress) => Promise<void>;
  /** Waits before somebody who did not answer is asked again. */
  readonly pause: () => Promise<void>;
  readonly isStopping: () => boolean;
}

/**
 * Erases the traces of a person, from where an earlier run got to; answers how that went, or undefined when the server
 * stops meanwhile. Somebody may pass on a forward while the search goes by, to where it has been: so it goes over
 * everything again until it finds none.
 */
export async function eraseTraces(
  user: string,
  begun: TraceProgress,
  options: TracesOptions,
): Promise<TraceProgress | undefined> {
  const { isStopping, lanes, note } = options;
  let progress = begun;
  let unnoted = 0;
  for (;;) {
    if (isStopping()) return undefined;
    const environment = lanes.environments[progress.lane];
    if (environment === undefined) {
      if (progress.inPass === 0) return progress;
      progress = { ...progress, ...PASS_START };
      continue;
    }
    environment.refresh();
    const { found, next } = readTraces(environment.tables, user, Buffer.from(progress.after, 'hex'), READ_AT_ONCE);
    for (const candidate of found) {
      const outcome = await eraseOne(user, candidate, options);
      if (outcome === undefined) return undefined;
      progress = counted(progress, outcome);
    }
    progress =
      next === undefined
        ? { ...progress, lane: progress.lane + 1, after: '' }
        : { ...progress, after: next.toString('hex') };
    unnoted += 1;
    if (found.length > 0 || next === undefined || unnoted >= TURNS_UNNOTED_MAX) {
      await note(progress);
      unnoted = 0;
    }
    await new Promise(setImmediate);
  }
}

function counted(progress: TraceProgress, outcome: TraceOutcome): TraceProgress {
  const { forwards, inPass, kept, names } = progress;
  if (outcome === 'forward') return { ...progress, forwards: forwards + 1, inPass: inPass + 1 };
  if (outcome === 'name') return { ...progress, names: names + 1 };
  return outcome === 'held' ? { ...progress, kept: kept + 1 } : progress;
}

/** Undefined when the server stops meanwhile. */
async function eraseOne(
  user: string,
  { conversation, seq }: TraceCandidate,
  { ask, isStopping, pause }: TracesOptions,
): Promise<TraceOutcome | undefined> {
  while (!isStopping()) {
    const answer = await ask(`conversation:${conversation}`, { kind: 'eraseTrace', user, seq } as Tell, STEP_MILLIS);
    if (answer.ok) return answer.value as TraceOutcome;
    // It was deleted, and its purge takes everything.
    if (answer.code === 'conversation_forbidden') return 'none';
    await pause();
  }
  return undefined;
}
