/**
 * What a server is in its cluster: alone where it is of none; otherwise it follows until it leads, and begins its process anew when it
 * leads no more. What speaks to NATS is loaded by servers of a cluster alone.
 */
import { setImmediate } from 'node:timers/promises';
import type { Config } from '#src/config.ts';
import { variableOf } from '#src/config.ts';
import { urlOf } from '#src/http/listening-address.ts';
import type { Log } from '#src/telemetry/log.ts';
import type { CertificateWatch } from '#src/tls/certificate-watch.ts';
import { readClusterPlace } from '#storage/engine/cluster-place.ts';
import { FolderError, type FolderLock } from '#storage/engine/folder.ts';
import { clusterIn } from './cluster-config.ts';
import type { FollowingOptions } from './following.ts';
import type { Leadership } from './leadership.ts';

/** How long the last lines may take to be out. */
const LINES_MILLIS = 500;
/** What tells a process to stop. */
const SIGNALS = ['SIGTERM', 'SIGINT'] as const;

export interface PhaseOptions extends Pick<FollowingOptions, 'folder' | 'lock' | 'log' | 'opening' | 'version'> {
  readonly config: Config;
  readonly certificate: CertificateWatch | undefined;
  /** The environment that the process was started with. */
  readonly environment: NodeJS.ProcessEnv;
}

/** A server that may serve: with its ports as it had them before, and what it does for its cluster. */
export interface Serving {
  readonly config: Config;
  readonly leadership: Leadership | undefined;
  /** Aborted where the process is to stop, and was told so before it served. */
  readonly stopping: AbortSignal;
  /** To be called once the server stops in order by itself when it is told to. */
  readonly serves: () => void;
}

/** How long a host that does not serve may take to end: whatever it has is in the stream, and nobody waits for a NATS that does not answer. */
const END_MILLIS = 10_000;

/**
 * Resolves when this server may open its folder and serve; where it is told to stop before it leads, the process ends.
 * @throws FolderError for a folder or NATS servers that cannot be used, or a folder of a cluster where none is set.
 */
export async function untilServing(options: PhaseOptions): Promise<Serving> {
  const { certificate, config, folder, lock, log, opening, version } = options;
  const cluster = clusterIn(config);
  if (cluster === undefined) {
    const known = readClusterPlace(folder);
    // One that opens its own folder alone is ended by a signal as it is: nobody waits for it.
    if (known === undefined)
      return { config, leadership: undefined, stopping: new AbortController().signal, serves: () => undefined };
    throw new FolderError(
      `${folder} is of the cluster ${known.name}: set ${variableOf('cluster')}, or have it leave for good: parley cluster leave --data ${folder}`,
    );
  }
  const stopping = new AbortController();
  let isServing = false;
  const stop = () => {
    stopping.abort();
    const late = () => {
      if (isServing) return;
      log.warn('the process ends, and what it waits for is not over');
      void end(lock, log);
    };
    setTimeout(late, END_MILLIS).unref();
  };
  for (const signal of SIGNALS) process.on(signal, stop);
  const { followUntilLeading } = await import('./following.ts');
  const led = await followUntilLeading({
    ...{ certificate, cluster, config, folder, lock, log, opening, version },
    stopping: stopping.signal,
    ready: (ports) => sayReady(config, ports),
    beginAgain: (ports) => beginAgain(options, ports, stopping.signal),
  });
  if (led === undefined) return await end(lock, log);
  // The signals stay in these hands: one that comes while this host leads already and does not serve yet is heard once it does.
  const { calendar, coordinator, messaging } = led.ports;
  const ports = { calendarPort: calendar, coordinatorPort: coordinator, messagingPort: messaging };
  const serves = () => {
    isServing = true;
  };
  return { config: { ...config, ...ports }, leadership: led.leadership, stopping: stopping.signal, serves };
}

/** Says that this host hands on what comes to it, and where. */
function sayReady(config: Config, ports: Readonly<Record<'calendar' | 'coordinator' | 'messaging', number>>): void {
  const { calendar, coordinator, messaging } = ports;
  const urls = {
    coordinator: config.coordinatorUrl ?? urlOf(config, coordinator),
    messaging: config.messagingUrl ?? urlOf(config, messaging),
    calendar: config.calendarUrl ?? urlOf(config, calendar),
  };
  process.stdout.write(`${JSON.stringify({ event: 'ready', ...urls, role: 'follows' })}\n`);
}

/**
 * Puts a new process in the place of this one, under its number and on its ports, or ends it where it is to stop. Nothing is drained:
 * what was acknowledged is in the stream, and nothing else may be said any more. Never resolves.
 */
async function beginAgain(
  { environment, lock, log }: Pick<PhaseOptions, 'environment' | 'lock' | 'log'>,
  { calendar, coordinator, messaging }: Readonly<Record<'calendar' | 'coordinator' | 'messaging', number>>,
  stopping: AbortSignal,
): Promise<never> {
  // What was heard by now is told within this turn.
  await setImmediate();
  // The new process would not know that it is to stop, and whoever said so would wait for its end in vain.
  if (stopping.aborted) return await end(lock, log);
  // From here on a signal ends the process by itself. Before anything is said of it: what is heard between the loop's last look and the
  // exec is lost, and whoever reads a line may send one within that time.
  for (const signal of SIGNALS) process.removeAllListeners(signal);
  log.warn('the process begins again');
  await log.drained(LINES_MILLIS);
  lock.release();
  const ports = {
    [variableOf('calendarPort')]: String(calendar),
    [variableOf('coordinatorPort')]: String(coordinator),
    [variableOf('messagingPort')]: String(messaging),
  };
  const program = [process.execPath, ...process.execArgv, ...process.argv.slice(1)];
  if (process.execve === undefined) throw new Error('This system has no way to begin a process again.');
  return process.execve(process.execPath, program, { ...environment, ...ports });
}

async function end(lock: FolderLock, log: Log): Promise<never> {
  lock.release();
  return await endProcess(log);
}

/** Ends the process once its last lines are out: what a library still holds open keeps nobody waiting. */
export async function endProcess(log: Log): Promise<never> {
  await log.drained(LINES_MILLIS);
  process.exit(0);
}
