/**
 * Records: what the values of a lane hold. Every one starts with a version byte, so that a later form can be told
 * from an earlier one; `storage/engine/migrations.ts` rewrites what a reader no longer understands.
 */
import type { ConversationKind, Role } from '#src/protocol/conversations/conversations.ts';
import type { Message } from '#src/protocol/conversations/messages.ts';
import { numberAt, numberValue } from './keys.ts';
import { pack, RECORD_VERSION, recordOf, unpack } from './record-codec.ts';

/** Conversations keep what every post needs in one small record. */
export interface ConversationRecord {
  id: string;
  kind: ConversationKind;
  title: string | undefined;
  createdAt: string;
  createdBy: string;
  headSeq: number;
  rev: number;
  participantCount: number;
  ownerCount: number;
  pinCount: number;
  /** The lane's change number at the last change of anything in here: what an inbox cursor is compared with. */
  stamp: number;
  /** Milliseconds since 1970 of the last message or membership change: what an inbox is sorted by. */
  activeAt: number;
  /** A deleted conversation stays as this, so that its seq and rev never start again. */
  deleted: boolean;
  /** Messages and changes up to here went: hidden at once, off the disk block by block. */
  floorSeq: number;
  floorRev: number;
  /** How long messages are kept, in seconds. */
  retention: number | undefined;
  /** A legal hold: nothing goes by its time. */
  isHeld: boolean;
  /** Messages up to here went with a deletion of the whole conversation, and so did their client_msg_ids. */
  emptiedSeq: number;
  /** What a room says of itself beyond its title; undefined where nothing was ever set. */
  room?: RoomFacts | undefined;
}

export interface RoomFacts {
  /** Whether everybody of the organisation may find it and come in. */
  readonly isPublic: boolean;
  /** RFC 3339; undefined for a room that is not archived. */
  readonly archivedAt: string | undefined;
  readonly topic: string | undefined;
  readonly purpose: string | undefined;
  /** The rev that its picture came with; undefined while it has none. */
  readonly avatar: number | undefined;
}

export interface MemberRecord {
  role: Role;
  /** The head when the person joined; unread is counted from here. */
  joinedSeq: number;
}

/** A person's side of a conversation: stays, as `gone`, when they leave, so that their other devices learn of it. */
export interface MembershipRecord {
  gone: boolean;
  stamp: number;
  /** It ended since somebody else took them out: left out where they left, or the conversation went. */
  removed?: boolean | undefined;
}

export interface Watermark {
  delivered: number;
  read: number;
}

/**
 * Changes are trimmed in blocks of this many, so that trimming costs one write per post on average: whenever a rev is
 * a multiple of it, the changes older than CHANGES_REPLY_MAX go.
 */
export const CHANGES_TRIM_BLOCK = 256;

/**
 * A change other than a new message: those have none, since a rev without a record is the next message's. `data` is its
 * event's JSON, or undefined for a message, which is read as it now stands.
 */
export interface ChangeRecord {
  type: string;
  seq: number | undefined;
  ts: number;
  data: string | undefined;
  /** The conversation's head at this change: how many messages lie between two changes must agree with it. */
  head: number;
}

/** What a person keeps to themself in a conversation. */
export interface PersonalRecord {
  draft: { body: string; updatedAt: string } | undefined;
  mutedUntil: string | undefined;
  /** The head at which the person hid it from their inbox: it is hidden while no message came behind it. */
  hiddenSeq: number | undefined;
  /** Whether it stands with the person's favourites, and under what category of theirs. */
  favourite?: boolean;
  category?: string | undefined;
}

/** What a person keeps who keeps nothing. */
export const NOTHING_PERSONAL: PersonalRecord = { draft: undefined, mutedUntil: undefined, hiddenSeq: undefined };

export interface PinRecord {
  by: string;
  at: number;
}

/** Emoji, how many, and the first few by name. */
export type ReactionCounts = [emoji: string, count: number, users: string[]][];

export const conversationRecord = recordOf<ConversationRecord>(
  'conversation',
  [
    'id',
    'kind',
    'title?',
    'createdAt',
    'createdBy',
    'headSeq',
    'rev',
    'participantCount',
    'ownerCount',
    'pinCount',
    'stamp',
    'activeAt',
    'deleted',
    'floorSeq',
    'floorRev',
    'retention?',
    'isHeld',
    'emptiedSeq',
    'room?',
  ],
  {
    // Records from before there was a retention end before it, and nothing but a deletion emptied them.
    older: (record) => {
      record.isHeld ??= false;
      record.emptiedSeq ??= record.floorSeq;
      // Nil within it is what was left out.
      const { room } = record;
      if (room !== undefined) {
        const { archivedAt, avatar, topic, purpose } = room;
        const [at, about, what] = [archivedAt, topic, purpose].map((text) => text ?? undefined);
        const picture = avatar ?? undefined;
        record.room = { isPublic: room.isPublic, archivedAt: at, topic: about, purpose: what, avatar: picture };
      }
    },
  },
);
export const memberRecord = recordOf<MemberRecord>('member', ['role', 'joinedSeq']);
export const membershipRecord = recordOf<MembershipRecord>('membership', ['gone', 'stamp', 'removed?']);
export const changeRecord = recordOf<ChangeRecord>('change', ['type', 'seq?', 'ts', 'data?', 'head']);
export const pinRecord = recordOf<PinRecord>('pin', ['by', 'at']);

export const personalRecord = {
  encode: (p: PersonalRecord): Buffer =>
    pack([p.draft?.body, p.draft?.updatedAt, p.mutedUntil, p.hiddenSeq, p.favourite === true, p.category]),
  decode(buffer: Buffer): PersonalRecord {
    // Records from before anything could be hidden, or had a category, end before it.
    const [body, updatedAt, mutedUntil, hiddenSeq, favourite, category] = unpack('personal record', buffer) as [
      string | null,
      string | null,
      string | null,
      (number | null)?,
      boolean?,
      (string | null)?,
    ];
    return {
      draft: body === null || updatedAt === null ? undefined : { body, updatedAt },
      mutedUntil: mutedUntil ?? undefined,
      hiddenSeq: hiddenSeq ?? undefined,
      favourite: favourite === true,
      category: category ?? undefined,
    };
  },
};

export const reactionCounts = {
  encode: (counts: ReactionCounts): Buffer => pack(counts),
  decode: (buffer: Buffer): ReactionCounts => unpack('count of reactions', buffer) as ReactionCounts,
};

/** Who posted how many messages of a block. */
export type SenderCounts = [sender: string, count: number][];

export const senderCounts = {
  encode: (counts: SenderCounts): Buffer => pack(counts),
  decode: (buffer: Buffer): SenderCounts => unpack('count of senders', buffer) as SenderCounts,
};

/** What is behind the message that a thread began with: how many messages, and the seq of the last. */
export interface ThreadRecord {
  readonly count: number;
  readonly last: number;
}

export const threadRecord = {
  encode: (thread: ThreadRecord): Buffer => numberValue(thread.count, thread.last),
  decode: (value: Buffer): ThreadRecord => ({ count: numberAt(value), last: numberAt(value, 1) }),
};

/** What indexes need of a message. */
export interface MessageFacts {
  readonly sender: string;
  readonly clientMsgId: string | undefined;
  /** RFC 3339. */
  readonly createdAt: string;
}

/**
 * A message as stored: version, flags, then the JSON that goes on the wire. Posting, paging and catching up share
 * that one encoding; only to a message with reactions or replies something is added.
 */
export const MESSAGE_FLAGS = { deleted: 1, reactions: 2, replies: 4 } as const;
/** In front of a message's JSON. */
export const MESSAGE_HEAD_BYTES = 2;
/** No text of the fields before it can hold this: inside a JSON string a quote has a backslash before it. */
const BODY_FIELD = ',"body":';

export const messageRecord = {
  encode(json: string, flags: number): Buffer {
    const bytes = Buffer.byteLength(json);
    const buffer = Buffer.allocUnsafe(bytes + MESSAGE_HEAD_BYTES);
    buffer[0] = RECORD_VERSION;
    buffer[1] = flags;
    buffer.write(json, MESSAGE_HEAD_BYTES);
    return buffer;
  },
  flags(buffer: Buffer): number {
    if (buffer[0] !== RECORD_VERSION)
      throw new Error(`A message has version ${buffer[0]}; ${RECORD_VERSION} is known.`);
    return buffer[1] ?? 0;
  },
  json: (buffer: Buffer): string => buffer.toString('utf8', MESSAGE_HEAD_BYTES),
  /** Read from the front of the JSON: its body comes last, and may be large. Before format 2 it did not come last. */
  facts(buffer: Buffer): MessageFacts {
    const body = buffer.indexOf(BODY_FIELD);
    const front = body < 0 ? '{}' : `${buffer.toString('utf8', MESSAGE_HEAD_BYTES, body)}}`;
    let said = JSON.parse(front) as Partial<Message>;
    if (said.sender === undefined) said = JSON.parse(messageRecord.json(buffer)) as Message;
    const { sender = '', client_msg_id: clientMsgId, created_at: createdAt = '' } = said;
    return { sender, clientMsgId, createdAt };
  },
};

/** The field of a message in front of its body that tells when it was made. */
const CREATED_AT = Buffer.from(',"created_at":"', 'latin1');
const INSTANT_LENGTH = '2026-11-21T08:00:00.000Z'.length;

/**
 * When a stored message was made, in milliseconds. No text in front of the body can hold the name of the field. A reply of
 * changes asks it of a thousand messages, for which a search and a parser of texts took half a millisecond.
 */
export function messageTime(stored: Buffer): number {
  const at = placeOfCreatedAt(stored) + CREATED_AT.length;
  const millis = 1000 * twoDigits(stored, at + 17) + 100 * digit(stored, at + 20) + twoDigits(stored, at + 21);
  const minutes = 60 * twoDigits(stored, at + 11) + twoDigits(stored, at + 14);
  const time = dayOf(stored, at) + 60_000 * minutes + millis;
  // What is no instant as this service writes them is left to the parser.
  return Number.isNaN(time) ? Date.parse(stored.toString('latin1', at, at + INSTANT_LENGTH)) : time;
}

/** By the letter under the end of the field: how far on the field may begin at the earliest (Horspool's search). */
const STEPS = new Uint8Array(256).fill(CREATED_AT.length);
for (let at = 0; at < CREATED_AT.length - 1; at += 1) STEPS[CREATED_AT[at] ?? 0] = CREATED_AT.length - 1 - at;

/** Where the field stands for the first time; -1 where it does not. */
function placeOfCreatedAt(bytes: Buffer): number {
  const length = CREATED_AT.length;
  const last = bytes.length - length;
  for (let at = MESSAGE_HEAD_BYTES; at <= last; at += STEPS[bytes[at + length - 1] ?? 0] ?? 1) {
    let same = 0;
    while (same < length && bytes[at + same] === CREATED_AT[same]) same += 1;
    if (same === length) return at;
  }
  return -1;
}

/** NaN where it is none. */
function digit(bytes: Buffer, at: number): number {
  const value = (bytes[at] ?? 0) - 0x30;
  return value >= 0 && value <= 9 ? value : Number.NaN;
}

function twoDigits(bytes: Buffer, at: number): number {
  return 10 * digit(bytes, at) + digit(bytes, at + 1);
}

/** The day that was asked for last, as `20261121`, and when it began: messages beside each other are of one day. */
const lastDay = { name: 0, began: 0 };

/** When the day of an instant began, in milliseconds. */
function dayOf(bytes: Buffer, at: number): number {
  const year = 100 * twoDigits(bytes, at) + twoDigits(bytes, at + 2);
  const month = twoDigits(bytes, at + 5);
  const day = twoDigits(bytes, at + 8);
  const name = 10_000 * year + 100 * month + day;
  if (name !== lastDay.name) {
    lastDay.began = Date.UTC(year, month - 1, day);
    lastDay.name = name;
  }
  return lastDay.began;
}
