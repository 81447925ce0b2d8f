/** The live calls of the messaging service, gathered from its shards: what nobody stores is asked for. */
import { CALLS_LISTED_MAX } from '#actors/call/call-board.ts';
import { stateOf, type CallRecord, type CallState } from '#actors/call/call-record.ts';
import type { Answer } from '#actors/runtime/actor.ts';
import { valuesOf } from '#actors/runtime/thread-services.ts';
import { formatInstant } from '#src/base/time.ts';

export interface LiveCall {
  readonly call: string;
  /** The conversation; `direct` for a call from person to person, whose names stand in `users` alone. */
  readonly conversation: string;
  readonly kind: 'group' | 'pair';
  readonly state: CallState;
  /** Who is in it; while it rings, whoever began it. */
  readonly users: readonly string[];
  /** RFC 3339. */
  readonly startedAt: string;
}

/** Asks every shard; one that does not answer in time has its calls left out, and `/healthz` names it. */
export function makeLiveCalls(
  askShards: () => Promise<readonly Answer<readonly CallRecord[]>[]>,
): () => Promise<readonly LiveCall[]> {
  return async () => liveCalls(valuesOf(await askShards()).flat());
}

/** The calls as the console lists them, the longest lasting first; of a page of more nobody would be the reader. */
export function liveCalls(records: readonly CallRecord[]): LiveCall[] {
  const sorted = records.toSorted((a, b) => a.startedAt - b.startedAt).slice(0, CALLS_LISTED_MAX);
  return sorted.map((record) => ({
    call: record.call,
    conversation: record.conversation ?? (record.isGroup ? record.scope : 'direct'),
    kind: record.isGroup ? 'group' : 'pair',
    state: stateOf(record),
    users: record.parties.map(({ user }) => user),
    startedAt: formatInstant(record.startedAt),
  }));
}
