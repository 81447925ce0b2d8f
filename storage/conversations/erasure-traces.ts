/** Where people who were erased are named by others: in forwards of their words, in mentions and on contact cards. */
import { numberOf } from '../engine/keys.ts';
import type { LaneEnvironment } from '../engine/lane.ts';

const SEQ_TAIL_BYTES = 7;

/** A message that may name somebody: its conversation's actor looks again. */
export interface TraceCandidate {
  readonly conversation: string;
  readonly seq: number;
}

/**
 * Looks through the next messages of a lane, of all its conversations, behind a key; nothing indexes who passed on whose
 * words. `next` is where to go on, undefined at the end. A message of usual length costs some two microseconds.
 */
export function readTraces(
  tables: LaneEnvironment['tables'],
  user: string,
  after: Buffer,
  limit: number,
): { readonly found: readonly TraceCandidate[]; readonly next: Buffer | undefined } {
  const name = user.replaceAll('.', String.raw`\.`);
  const isNamed = new RegExp(`"forward":\\{"sender":"${name}"|"username":"${name}"|@${name}`, 'i');
  const found: TraceCandidate[] = [];
  let read = 0;
  let last = after;
  // The lowest key that can follow is the key and a NUL.
  for (const { key: itemKey, value } of tables.messages.getRange({
    start: Buffer.concat([after, Buffer.of(0)]),
    limit,
  })) {
    read += 1;
    last = Buffer.from(itemKey);
    if (!isNamed.test(value.toString('latin1'))) continue;
    const conversation = itemKey.toString('latin1', 0, itemKey.length - SEQ_TAIL_BYTES);
    found.push({ conversation, seq: numberOf(itemKey) });
  }
  return { found, next: read < limit ? undefined : last };
}
