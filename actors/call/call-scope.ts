/** What a call actor is made with, and what it knows of its scope. */
import type { CallTimes } from './attempt.ts';
import type { CallStep } from './call.messages.ts';
import type { CallBoard } from './call-board.ts';
import type { CallRecord, EndedCall } from './call-record.ts';
import { StepOrder } from './step-order.ts';

/** A shard that is back tells nobody anything before its links are. */
const RESUME_MILLIS_MIN = 1_000;

export interface CallOptions extends CallTimes {
  readonly board: CallBoard;
  /** Monotonic milliseconds: the clock of all deadlines. */
  readonly monotonic: () => number;
  /** Whether the person still takes part: in the room, or shares a conversation with the other of the pair. */
  readonly takesPart: (scope: string, user: string) => boolean;
}

export interface CallScope {
  readonly scope: string;
  readonly live: Map<string, CallRecord>;
  readonly ended: Map<string, EndedCall>;
  readonly orders: Map<string, StepOrder<CallStep>>;
  readonly aliases: Map<string, { readonly scope: string; until: number }>;
  /** When the next tick is set for, in monotonic milliseconds; Infinity for none. */
  wakeAt: number;
}

/** The scope as the board knows it: empty, unless the shard or the actor was started again in the middle of a call. */
export function resume(scope: string, { board, monotonic }: CallOptions): CallScope {
  const soon = monotonic() + RESUME_MILLIS_MIN;
  const live = board.attemptsOf(scope).map((record) => ({
    ...record,
    ringingUntil: record.ringingUntil === null ? null : Math.max(record.ringingUntil, soon),
    rollAt: Math.max(record.rollAt, soon),
  }));
  return {
    scope,
    live: new Map(live.map((record) => [record.call, record])),
    ended: new Map(),
    orders: new Map(live.map(({ call }) => [call, new StepOrder(false)])),
    aliases: new Map(),
    wakeAt: Infinity,
  };
}
