/**
 * Who was mentioned in which message: written in the commit of the message, its edit or its deletion. A message without
 * mentions has no row, and one that mentions everybody has one, however many they are.
 *
 *     mentions  [conversation, who, seq]     → stamp, sender: what is counted as unread, and found again by its message
 *     mentioned [person, stamp]              → when, seq, conversation, sender: a person's, in the order of their making
 *     mentioned ['*', conversation, stamp]   → the same of what mentions everybody
 *
 * Stamps rise with the changes of a lane whatever the clock does, so a walk by them neither loses nor repeats a row.
 */
import type { Mention } from '#src/protocol/conversations/messages.ts';
import { numberAt, numbered, numberOf, numberValue } from '../engine/keys.ts';
import type { LaneWrite } from '../engine/lane.ts';

/** Stands for everybody in the conversation. No username has it. */
export const EVERYBODY = '*';

const NUMBER_BYTES = 6;

/** Whom the mentions of a message call: EVERYBODY alone, or the people, without whoever wrote it. */
export function calledBy(mentions: readonly Mention[] | undefined, sender: string): string[] {
  if (mentions === undefined) return [];
  if (mentions.some((one) => 'all' in one)) return [EVERYBODY];
  const people = mentions.flatMap((one) => ('username' in one ? [one.username] : []));
  return [...new Set(people)].filter((person) => person !== sender);
}

/** What a row tells of the message. */
export interface MentionRow {
  readonly conversation: string;
  readonly seq: number;
  readonly sender: string;
  /** Milliseconds since 1970. */
  readonly at: number;
  readonly stamp: number;
}

/** Where the row of a message lies; in the order of seqs for each person. */
export function mentionKey(conversation: string, who: string, seq: number): Buffer {
  return numbered(seq, conversation, who);
}

/** Where the rows of a person lie by stamp, or those that mention everybody in a conversation. */
export function mentionedParts(who: string, conversation: string): string[] {
  return who === EVERYBODY ? [EVERYBODY, conversation] : [who];
}

/** The rows of one person, or of everybody, and one message. */
export function writeMention(who: string, row: MentionRow): LaneWrite[] {
  const { conversation, seq, sender, at, stamp } = row;
  const told = Buffer.concat([numberValue(at, seq), Buffer.from(`${conversation}\0${sender}`)]);
  return [
    {
      table: 'mentions',
      key: mentionKey(conversation, who, seq),
      value: Buffer.concat([numberValue(stamp), Buffer.from(sender)]),
    },
    { table: 'mentioned', key: numbered(stamp, ...mentionedParts(who, conversation)), value: told },
  ];
}

/** Takes a row of `mentions` away, with the one by stamp that it leads to. */
export function removeMention(mention: Buffer, value: Buffer): LaneWrite[] {
  const { conversation, who } = mentionAt(mention);
  const { stamp } = mentionValue(value);
  return [
    { table: 'mentions', key: mention, value: null },
    { table: 'mentioned', key: numbered(stamp, ...mentionedParts(who, conversation)), value: null },
  ];
}

/** The parts of a key of `mentions`. */
export function mentionAt(itemKey: Buffer): { conversation: string; who: string; seq: number } {
  const [conversation = '', who = ''] = itemKey.toString('latin1', 0, itemKey.length - NUMBER_BYTES).split('\0');
  return { conversation, who, seq: numberOf(itemKey) };
}

/** What a row of `mentions` holds. */
export function mentionValue(value: Buffer): { stamp: number; sender: string } {
  return { stamp: numberAt(value), sender: value.toString('latin1', NUMBER_BYTES) };
}

/** A row of `mentioned`. */
export function mentionRow(itemKey: Buffer, value: Buffer): MentionRow {
  const [conversation = '', sender = ''] = value.toString('latin1', 2 * NUMBER_BYTES).split('\0');
  return { conversation, sender, at: numberAt(value), seq: numberAt(value, 1), stamp: numberOf(itemKey) };
}
