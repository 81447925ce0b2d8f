/**
 * The agent of a host (NOD-01, NOD-02): three loops that know nothing of each other, until the coordinator says that
 * the host was revoked or the program is stopped.
 *
 *     health   every 30 s
 *     asks     long poll ─► journal ─► door, one ask after the other
 *     reports  every minute, what the programs of the host's roles left
 *
 * A coordinator that is away is waited for, with longer and longer pauses of random length, so that a thousand agents do
 * not come back in one second.
 */
import { AgentError, type Membership } from './agent-folder.ts';
import { CoordinatorClient, CoordinatorError } from './coordinator-client.ts';
import { readHealth, type HealthOptions } from './host-health.ts';
import { JournalError, type JournalSource } from './journal-source.ts';
import type { ReportFiles } from './report-files.ts';

export const HEALTH_MILLIS = 30_000;
const REPORTS_MILLIS = 60_000;

/** The first pause after a failure, and the longest: a coordinator that was away for an hour has its nodes in a minute. */
const PAUSE_MILLIS = 1_000;
const PAUSE_MILLIS_MAX = 60_000;

/** Journals that a poll may bring at once. The coordinator keeps as many open. */
const ASKS_MAX = 8;

export interface AgentOptions {
  readonly membership: Membership;
  readonly health: HealthOptions;
  readonly journal: JournalSource;
  /** Undefined where no program leaves reports. */
  readonly reports: ReportFiles | undefined;
  /** Takes a sentence for the operator's log. */
  readonly say: (text: string) => void;
  /** Ends the agent. */
  readonly signal: AbortSignal;
}

/**
 * Runs until the signal ends it.
 * @throws AgentError when the coordinator does not know this host any more: it was revoked.
 */
export async function runAgent(options: AgentOptions): Promise<void> {
  const ended = new AbortController();
  const signal = AbortSignal.any([options.signal, ended.signal]);
  const doors = new CoordinatorClient(options.membership.coordinator, options.membership.token);
  const loops = [
    repeat(options, signal, async () => {
      await doors.reportHealth(await readHealth(options.health), signal);
      await pause(HEALTH_MILLIS, signal);
    }),
    repeat(options, signal, async () => await followAsks(options, doors, signal)),
    repeat(options, signal, async () => {
      await carryReports(options, doors, signal);
      await pause(REPORTS_MILLIS, signal);
    }),
  ];
  try {
    await Promise.all(loops);
  } finally {
    ended.abort();
    await Promise.allSettled(loops);
  }
}

/** Does a step again and again, with pauses after failures, until the signal ends it or the host is revoked. */
async function repeat({ say }: AgentOptions, signal: AbortSignal, step: () => Promise<void>): Promise<void> {
  let failures = 0;
  while (!signal.aborted) {
    try {
      await step();
      failures = 0;
    } catch (error) {
      if (signal.aborted) return;
      const door = error instanceof CoordinatorError ? error : undefined;
      if (door?.status === 401) {
        throw new AgentError(`The coordinator refuses this host (${door.code}): it was revoked. Join it again.`);
      }
      // Said once; a coordinator that is away for a night is one line, not a thousand.
      if (failures === 0) say((error as Error).message);
      failures += 1;
      const longest = Math.min(PAUSE_MILLIS_MAX, PAUSE_MILLIS * 2 ** Math.min(failures - 1, 10));
      const asked = (door?.retryAfter ?? 0) * 1000;
      await pause(Math.max(asked, longest / 2) + (Math.random() * longest) / 2, signal);
    }
  }
}

async function followAsks(options: AgentOptions, doors: CoordinatorClient, signal: AbortSignal): Promise<void> {
  const began = performance.now();
  const asks = await doors.readAsks(signal);
  for (const { id: ask, unit, lines } of asks.slice(0, ASKS_MAX)) {
    const answer = await readJournal(options.journal, unit, lines);
    try {
      await doors.answerAsk({ ask, ...answer }, signal);
    } catch (error) {
      // Somebody else answered it, or it expired while the journal was read.
      if (!(error instanceof CoordinatorError) || error.status !== 404) throw error;
    }
  }
  // A poll that is answered at once with nothing comes from a coordinator that stops, or does not keep polls.
  if (asks.length === 0 && performance.now() - began < PAUSE_MILLIS) {
    await pause(PAUSE_MILLIS + Math.random() * PAUSE_MILLIS, signal);
  }
}

/** The journal, or why there is none: whoever asked reads it either way. */
async function readJournal(
  journal: JournalSource,
  unit: string,
  lines: number,
): Promise<{ text: string; problem?: string }> {
  try {
    return { text: await journal(unit, lines) };
  } catch (error) {
    return { text: '', problem: error instanceof JournalError ? error.message : 'The journal could not be read.' };
  }
}

async function carryReports(options: AgentOptions, doors: CoordinatorClient, signal: AbortSignal): Promise<void> {
  if (options.reports === undefined) return;
  const { due, faults } = await options.reports.due(Date.now());
  for (const fault of faults) options.say(fault);
  for (const { role, report, arrived } of due) {
    try {
      await doors.reportRole(report, signal);
      arrived();
    } catch (error) {
      // One report that is refused for what it says must not hold the others up; it is due again when it changes.
      if (!(error instanceof CoordinatorError) || ![400, 403].includes(error.status)) throw error;
      arrived();
      options.say(`The report ${role}.json was refused: ${error.code}.`);
    }
  }
}

/** Resolves after the time, or as soon as the signal ends it. */
async function pause(millis: number, signal: AbortSignal): Promise<void> {
  if (signal.aborted) return;
  const { promise, resolve } = Promise.withResolvers<void>();
  const timer = setTimeout(resolve, millis);
  const wake = (): void => resolve();
  signal.addEventListener('abort', wake, { once: true });
  await promise;
  clearTimeout(timer);
  signal.removeEventListener('abort', wake);
}
