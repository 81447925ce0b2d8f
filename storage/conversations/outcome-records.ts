/**
 * Which message of a person is the outcome of which call: one for each, for ever, in the commit of the message. What stands
 * here of a call is a name made of its id, since the id may be known from signalling alone, which leaves no trace (SUR-01).
 */
import { createHmac } from 'node:crypto';
import { key, numberValue } from '../engine/keys.ts';
import type { LaneWrite } from '../engine/lane.ts';

/** Characters of an attempt's name: 132 bits. */
const NAME_CHARACTERS = 22;

/** What an attempt is stored under, by its id and the installation's key of ids. */
export function nameOfAttempt(idKey: Uint8Array, call: string): string {
  return createHmac('sha256', idKey).update(`call\0${call}`).digest('base64url').slice(0, NAME_CHARACTERS);
}

/** Where a person's outcome of an attempt lies, by the attempt's name. */
export function outcomeKey(conversation: string, call: string, user: string): Buffer {
  return key(conversation, call, user);
}

/** Says that the message at `seq` is the person's outcome of the attempt. */
export function writeOutcome(conversation: string, call: string, user: string, seq: number): LaneWrite {
  return { table: 'outcomes', key: outcomeKey(conversation, call, user), value: numberValue(seq) };
}
