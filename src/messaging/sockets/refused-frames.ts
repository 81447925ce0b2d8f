/** How many refused frames a connection has in the running minute (SOC-08). */
import { REFUSED_FRAMES_PER_MINUTE_MAX } from '#src/protocol/limits.ts';

const MINUTE_MILLIS = 60_000;

export interface RefusedFrames {
  /** Refused frames in the running minute. */
  refused: number;
  /** When that minute began: monotonic milliseconds, so that setting the machine's clock neither ends nor prolongs it. */
  refusedSince: number;
}

/**
 * Counts one more refused frame at `now` (monotonic milliseconds); the minute begins with the first one. True when
 * the connection has had more than it may have and is to be closed (SOC-08).
 */
export function countRefusedFrame(frames: RefusedFrames, now: number): boolean {
  if (frames.refused === 0 || now - frames.refusedSince >= MINUTE_MILLIS) {
    frames.refused = 0;
    frames.refusedSince = now;
  }
  frames.refused += 1;
  return frames.refused > REFUSED_FRAMES_PER_MINUTE_MAX;
}
