/**
 * Links into rooms, in the lane of the room: who has one comes in unasked.
 *
 *     roomLinks [conversation, link]   its hash, who made it, until when and how often it lets somebody in
 *
 * A link is of the epoch in which it was made: a restored folder does not know which were revoked since, so there none
 * lets anybody in.
 */
import { formatInstant } from '#src/base/time.ts';
import type { RoomLink } from '#src/protocol/conversations/room-link-routes.ts';
import { rightsIn } from '#src/protocol/conversations/rights.ts';
import { key, lastPart, under } from '../engine/keys.ts';
import type { LaneWrite } from '../engine/lane.ts';
import { recordOf } from '../engine/record-codec.ts';
import { readMember, type Tables } from './conversation-reader.ts';

export interface RoomLinkRecord {
  /** SHA-256 of the secret, hex. */
  readonly hash: string;
  readonly by: string;
  /** The installation's, when it was made. */
  readonly epoch: string;
  /** Milliseconds since 1970. */
  readonly at: number;
  /** Milliseconds since 1970 from which on it lets nobody in. */
  readonly until: number;
  /** How many people it lets in, and how many came. */
  readonly uses: number;
  readonly used: number;
}

export interface StoredRoomLink extends RoomLinkRecord {
  readonly conversation: string;
  readonly id: string;
}

export const roomLinkRecord = recordOf<RoomLinkRecord>('room link', [
  ...(['hash', 'by', 'epoch', 'at', 'until', 'uses', 'used'] as const),
]);

export function roomLinkAt(itemKey: Buffer, value: Buffer): StoredRoomLink {
  const [conversation = ''] = itemKey.toString('latin1').split('\0', 1);
  return { conversation, id: lastPart(itemKey), ...roomLinkRecord.decode(value) };
}

export function writeRoomLink({ conversation, id, ...record }: StoredRoomLink): LaneWrite {
  return { table: 'roomLinks', key: key(conversation, id), value: roomLinkRecord.encode(record) };
}

export function removeRoomLink({ conversation, id }: Pick<StoredRoomLink, 'conversation' | 'id'>): LaneWrite {
  return { table: 'roomLinks', key: key(conversation, id), value: null };
}

/** What is told of it to those who may see it: not its secret, which nobody has. */
export function roomLinkView({ at, by, id, until, used, uses }: StoredRoomLink): RoomLink {
  return { id, by, created_at: formatInstant(at), expires_at: formatInstant(until), uses, used };
}

/** Whether it lets anybody in as far as itself says: not over, not used up, and of this history. */
export function isOpen({ epoch, until, used, uses }: RoomLinkRecord, present: string, now: number): boolean {
  return epoch === present && until > now && used < uses;
}

/** The links of a room that let people in while their makers may add some. */
export function readRoomLinks(tables: Tables, conversation: string, epoch: string, now: number): StoredRoomLink[] {
  return [...tables.roomLinks.getRange(under(conversation))]
    .map((entry) => roomLinkAt(entry.key, entry.value))
    .filter((link) => isOpen(link, epoch, now) && mayLink(tables, link));
}

/** Whether who made it may still add people: what they lost, it lost. */
function mayLink(tables: Tables, { by, conversation }: StoredRoomLink): boolean {
  const member = readMember(tables, conversation, by);
  return member !== undefined && rightsIn('room', member.role).includes('participant.add');
}
