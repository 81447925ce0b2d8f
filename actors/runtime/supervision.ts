/** Supervision as values: what to do about a failure, decided without touching anything. */

export interface RestartPolicy {
  readonly restartsMax: number;
  readonly withinMillis: number;
}

/** Five in five seconds: the intensity that OTP's and ergo's supervisors default to. */
export const ACTOR_POLICY: RestartPolicy = { restartsMax: 5, withinMillis: 5_000 };

/**
 * A shard that dies five times in a minute will not get better by a sixth start: the process ends with code 70 and
 * whoever runs it (systemd, Docker) decides.
 */
export const SHARD_POLICY: RestartPolicy = { restartsMax: 5, withinMillis: 60_000 };

/** How long an actor that failed too often answers `unavailable` before it is tried again. */
export const QUARANTINE_MILLIS = 30_000;

export interface Verdict {
  readonly action: 'restart' | 'escalate';
  /** The failures that still count, this one included. */
  readonly failures: readonly number[];
}

/** Whether the one that failed at `now` (monotonic milliseconds) is restarted or given up on. */
export function decide(failures: readonly number[], now: number, policy: RestartPolicy): Verdict {
  const recent = [...failures.filter((at) => now - at < policy.withinMillis), now];
  return { action: recent.length > policy.restartsMax ? 'escalate' : 'restart', failures: recent };
}
