/**
 * Which messages have which attachment: written in the commit that writes or deletes the message, so that the two can
 * never disagree and no counter can drift.
 *
 *     attachments [conversation, seq]              → the attachment
 *     references  [attachment, conversation, seq]  the same, to be found from the other side
 *                                                  says so where a legal hold alone keeps it
 *     meta        ['release', attachment]          a reference went: whether it was the last is to be looked at
 */
import type { MessageBody } from '#src/protocol/conversations/messages.ts';
import { key, lastPart, numbered, numberOf, under } from '../engine/keys.ts';
import type { Lane, LaneEnvironment, LaneWrite } from '../engine/lane.ts';
import { readConversation, readMember } from './conversation-reader.ts';

type Tables = LaneEnvironment['tables'];

const PRESENT = Buffer.from([1]);
/** Of a message that was deleted during a legal hold: its attachment stays, and nobody reads it. */
const HELD = Buffer.from([2]);
const SEQ_BYTES = 6;
/** References of one attachment that are looked at per lane to find one that a person may read. */
export const REFERENCES_LOOKED_AT_MAX = 1_000;

/** The attachment that a message's body names. */
export function attachmentOf(body: MessageBody | undefined): string | undefined {
  return typeof body === 'object' && 'attachment' in body ? body.attachment : undefined;
}

export function writeReference(conversation: string, seq: number, attachment: string): LaneWrite[] {
  return [
    { table: 'attachments', key: numbered(seq, conversation), value: key(attachment) },
    { table: 'references', key: numbered(seq, attachment, conversation), value: PRESENT },
  ];
}

/** Leaves a reference in place for nobody to read by: the message goes, and its attachment stays until a hold is over. */
export function holdReference(conversation: string, seq: number, attachment: string): LaneWrite[] {
  return [{ table: 'references', key: numbered(seq, attachment, conversation), value: HELD }];
}

/** Whether the reference that a message has of its attachment is one that a legal hold left. */
export function isHeldReference(tables: Tables, conversation: string, seq: number, attachment: string): boolean {
  return tables.references.get(numbered(seq, attachment, conversation))?.equals(HELD) === true;
}

/** Takes a reference away and has it looked at whether it was the last. */
export function removeReference(conversation: string, seq: number, attachment: string): LaneWrite[] {
  return [
    { table: 'attachments', key: numbered(seq, conversation), value: null },
    { table: 'references', key: numbered(seq, attachment, conversation), value: null },
    // The value tells this mark from the one that another deletion leaves while somebody looks.
    { table: 'meta', key: key('release', attachment), value: numbered(seq, conversation) },
  ];
}

/** The mark goes when somebody has looked. */
export function removeRelease({ attachment }: Release): LaneWrite {
  return { table: 'meta', key: key('release', attachment), value: null };
}

/** Whether the mark is still the one that was read: another may have taken its place. */
export function isStill({ attachment, mark }: Release, lane: Lane): boolean {
  return lane.get('meta', key('release', attachment))?.equals(mark) === true;
}

/** An attachment that lost a reference, with the mark of the deletion that came last. */
export interface Release {
  readonly attachment: string;
  readonly mark: Buffer;
}

/** Attachments of a lane that lost a reference, the first `limit`. */
export function readReleases(tables: Tables, limit: number): Release[] {
  const entries = tables.meta.getRange({ ...under('release'), limit });
  return [...entries].map((entry) => ({ attachment: lastPart(entry.key), mark: Buffer.from(entry.value) }));
}

/** Whether a message of the conversation that can be read has the attachment. */
export function hasReference(tables: Tables, conversation: string, attachment: string): boolean {
  const record = readConversation(tables, conversation);
  if (record === undefined) return false;
  // What a deletion emptied may still be on disk, below the floor.
  const start = numbered(record.floorSeq + 1, attachment, conversation);
  const { end } = under(attachment, conversation);
  for (const { value } of tables.references.getRange({ start, end, limit: REFERENCES_LOOKED_AT_MAX })) {
    if (!value.equals(HELD)) return true;
  }
  return false;
}

/** Whether anything in a lane has the attachment, readable or not. */
export function isReferenced(tables: Tables, attachment: string): boolean {
  return [...tables.references.getKeys({ ...under(attachment), limit: 1 })].length > 0;
}

/** Whether a person takes part in a conversation, one of `among` if it is given, where a message has the attachment. */
export function mayRead(
  environments: readonly LaneEnvironment[],
  attachment: string,
  user: string,
  among: ReadonlySet<string> | undefined,
): boolean {
  return environments.some(({ tables }) => {
    const seen = new Set<string>();
    for (const itemKey of tables.references.getKeys({ ...under(attachment), limit: REFERENCES_LOOKED_AT_MAX })) {
      seen.add(referenceAt(itemKey).conversation);
    }
    return [...seen].some(
      (conversation) =>
        among?.has(conversation) !== false &&
        readMember(tables, conversation, user) !== undefined &&
        hasReference(tables, conversation, attachment),
    );
  });
}

/** The parts of a key of `references`. */
export function referenceAt(itemKey: Buffer): { attachment: string; conversation: string; seq: number } {
  const [attachment = '', conversation = ''] = itemKey.toString('latin1', 0, itemKey.length - SEQ_BYTES).split('\0');
  return { attachment, conversation, seq: numberOf(itemKey) };
}
