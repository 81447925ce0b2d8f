/**
 * What people edited or deleted while a legal hold was on: each message as it was before, for owners to export, and for
 * nobody else to read. Written in the commit of the edit or the deletion; the purge takes it when the hold is over.
 *
 *     keptVersions [conversation, seq, rev] → change, who, when, the message's JSON; `rev` is that of the change
 */
import { numbered, numberOf, under } from '../engine/keys.ts';
import type { LaneEnvironment, LaneWrite } from '../engine/lane.ts';
import { pack, unpack } from '../engine/record-codec.ts';

type Tables = LaneEnvironment['tables'];

export interface HoldRevision {
  readonly change: 'edit' | 'delete';
  /** Who made the change. */
  readonly by: string;
  /** RFC 3339: when. */
  readonly at: string;
  /** The message before the change, as its readers got it, without reactions. */
  readonly json: string;
}

const NUMBER_BYTES = 6;

function keptKey(conversation: string, seq: number, rev: number): Buffer {
  const revBytes = Buffer.allocUnsafe(NUMBER_BYTES);
  revBytes.writeUIntBE(rev, 0, NUMBER_BYTES);
  return Buffer.concat([numbered(seq, conversation), revBytes]);
}

/** The parts of a key of `keptVersions`. */
export function keptAt(itemKey: Buffer): { conversation: string; seq: number; rev: number } {
  const end = itemKey.length - 2 * NUMBER_BYTES;
  return {
    conversation: itemKey.toString('latin1', 0, end - 1),
    seq: itemKey.readUIntBE(end, NUMBER_BYTES),
    rev: numberOf(itemKey),
  };
}

/** Keeps a message as it was before the change with that rev. */
export function writeHoldRevision(conversation: string, seq: number, rev: number, kept: HoldRevision): LaneWrite {
  const value = pack([kept.change, kept.by, kept.at, kept.json]);
  return { table: 'keptVersions', key: keptKey(conversation, seq, rev), value };
}

/** @throws Error for a value that is none. */
export function holdRevision(value: Buffer): HoldRevision {
  const [change, by, at, json] = unpack('held revision', value) as [HoldRevision['change'], string, string, string];
  return { change, by, at, json };
}

/** Versions of the messages from one seq to another, both with them, in order, behind a version; at most `limit`. */
export function readHoldRevisions(
  tables: Tables,
  conversation: string,
  { from, to, after }: { from: number; to: number; after?: { seq: number; rev: number } | undefined },
  limit: number,
): { readonly seq: number; readonly rev: number; readonly kept: HoldRevision }[] {
  const start = after === undefined ? numbered(from, conversation) : keptKey(conversation, after.seq, after.rev + 1);
  const range = { start, end: numbered(to + 1, conversation), limit };
  return [...tables.keptVersions.getRange(range)].map((entry) => {
    const { seq, rev } = keptAt(entry.key);
    return { seq, rev, kept: holdRevision(entry.value) };
  });
}

/** Conversations of a lane that hold such versions, behind `after`, at most `limit`: one look-up for each. */
export function readKeepers(tables: Tables, after: string, limit: number): string[] {
  const found: string[] = [];
  let start = after === '' ? Buffer.of(0) : under(after).end;
  while (found.length < limit) {
    const [first] = tables.keptVersions.getKeys({ start, limit: 1 });
    if (first === undefined) break;
    const { conversation } = keptAt(first);
    found.push(conversation);
    start = under(conversation).end;
  }
  return found;
}
