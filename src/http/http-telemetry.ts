import type { ErrorCode } from '#src/protocol/errors.ts';

/** What a listener counts, for the metrics. */
export interface HttpTelemetry {
  /**
   * A request was answered: the pattern of its route, undefined where none took it, and the version that its client
   * speaks (VER-03).
   */
  answered(route: string | undefined, status: number, clientVersion: number): void;
  /** A request that was refused with this code. */
  refused(code: ErrorCode): void;
}
