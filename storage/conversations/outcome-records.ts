/**
 * Which message of a person is the outcome of which call, by its name (`call-sealing.ts`): one for each, for ever, in the
 * commit of the message.
 */
import { key, numberValue } from '../engine/keys.ts';
import type { LaneWrite } from '../engine/lane.ts';

/** Where a person's outcome of an attempt lies, by the attempt's name. */
export function outcomeKey(conversation: string, call: string, user: string): Buffer {
  return key(conversation, call, user);
}

/** Says that the message at `seq` is the person's outcome of the attempt. */
export function writeOutcome(conversation: string, call: string, user: string, seq: number): LaneWrite {
  return { table: 'outcomes', key: outcomeKey(conversation, call, user), value: numberValue(seq) };
}
