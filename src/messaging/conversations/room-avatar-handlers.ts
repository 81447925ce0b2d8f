/**
 * Pictures of rooms: taken in, made small on the thread that makes thumbnails, kept by the room, and read. Who may change one
 * is settled before its first byte is taken, and few are taken at once, since each is in memory whole.
 */
import type { Reply } from '#actors/conversation/conversation.messages.ts';
import type { z } from 'zod';
import { AVATAR_REV, type avatarQuery, type AvatarSize } from '#src/protocol/account/avatars.ts';
import { rightsIn } from '#src/protocol/conversations/rights.ts';
import { Refusal } from '#src/protocol/errors.ts';
import { AVATAR_BYTES_MAX } from '#src/protocol/limits.ts';
import { conversationId } from '#src/protocol/names.ts';
import { readConversation, readMember } from '#storage/conversations/conversation-reader.ts';
import { readRoomAvatar as readPicture, type RoomPictures } from '#storage/conversations/room-avatars.ts';
import { isArchived, isListed } from '#storage/conversations/room-records.ts';
import { readableBy } from '../access/readable-conversation.ts';
import { matchesTag } from '../attachments/byte-ranges.ts';
import { only, safeHeaders } from '../attachments/download-handlers.ts';
import type { ByteCall } from '../attachments/upload-handlers.ts';
import { ask } from '../http/caller.ts';
import { mayFind } from './room-handlers.ts';

/** Pictures that one thread takes in at once, one of a person. [busy] */
export const ROOM_AVATARS_AT_ONCE_MAX = 2;
/** A picture that is not there by then is cut off, so that nobody sits on a place: 8 MiB at 1.1 Mbit/s. */
const ARRIVING_MILLIS_MAX = 60_000;

const takenIn = new Set<string>();

export async function putRoomAvatar(call: ByteCall): Promise<void> {
  const { client, exchange, head } = call;
  requireChange(call);
  if (Number(head.contentLength) > AVATAR_BYTES_MAX) throw new Refusal('body_too_large');
  const picture = await takeIn(call);
  const pictures = await client.ask('avatars.make', { picture });
  const { json, status } = await tell(call, pictures);
  exchange.send(status, json);
}

export async function removeRoomAvatar(call: ByteCall): Promise<void> {
  requireChange(call);
  const { json, status } = await tell(call, null);
  call.exchange.send(status, json);
}

/**
 * For those in the room, and for whoever may find it while it is public.
 * @throws Refusal `conversation_forbidden`, `avatar_not_found` for a number that is not its picture's.
 */
export async function readRoomAvatar(call: ByteCall): Promise<void> {
  const { exchange, head, id, part, query, service, user } = call;
  const { size: text } = query as z.infer<typeof avatarQuery>;
  const size = Number(text) as AvatarSize;
  const { lanes } = service;
  if (!conversationId.safeParse(id).success) throw new Refusal('conversation_forbidden');
  const environment = lanes.read(id);
  environment.refresh();
  const { tables } = environment;
  const record = readConversation(tables, id);
  const isFound = record !== undefined && isListed(record) && !service.access.isGuest(user) && mayFind(call, record);
  const takesPart = record !== undefined && readMember(tables, id, user) !== undefined;
  if (!isFound && !takesPart) throw new Refusal('conversation_forbidden');
  const isThere = AVATAR_REV.test(part) && record.room?.avatar === Number(part);
  const picture = isThere ? readPicture(tables, id, size) : undefined;
  if (picture === undefined) throw new Refusal('avatar_not_found');
  const tag = `"${part}-${size}"`;
  const headers = safeHeaders(tag);
  if (head.ifNoneMatch !== '' && matchesTag(head.ifNoneMatch, tag)) return exchange.send(304, '', headers);
  headers.push(['content-type', 'image/webp']);
  const bytes = Buffer.from(picture);
  await exchange.sendStream(200, headers, bytes.length, only(bytes));
}

/** What the room's actor judges again. @throws Refusal `conversation_forbidden`, `right_missing`, `conversation_archived`. */
function requireChange({ id, service, user }: ByteCall): void {
  if (!conversationId.safeParse(id).success) throw new Refusal('conversation_forbidden');
  const { member, record } = readableBy(service.lanes, id, user);
  const role = service.access.isGuest(user) ? 'guest' : member.role;
  if (!rightsIn(record.kind, role).includes('title.change')) throw new Refusal('right_missing');
  service.access.requireMessage({ user }, id);
  if (isArchived(record)) throw new Refusal('conversation_archived');
}

/** The bytes of the body. @throws Refusal `busy`, `body_too_large`. */
async function takeIn({ body, exchange, user }: ByteCall): Promise<Uint8Array> {
  if (takenIn.has(user) || takenIn.size >= ROOM_AVATARS_AT_ONCE_MAX) throw new Refusal('busy', { retryAfter: 1 });
  takenIn.add(user);
  const late = setTimeout(() => exchange.drop(), ARRIVING_MILLIS_MAX);
  const chunks: Buffer[] = [];
  let bytes = 0;
  try {
    await body?.pour((chunk) => {
      bytes += chunk.length;
      if (bytes > AVATAR_BYTES_MAX) throw new Refusal('body_too_large');
      // The memory of a chunk is the library's.
      chunks.push(Buffer.from(chunk));
    });
    return Buffer.concat(chunks);
  } finally {
    clearTimeout(late);
    takenIn.delete(user);
  }
}

async function tell({ exchange, id, service, user }: ByteCall, pictures: RoomPictures | null): Promise<Reply> {
  const { cancellation } = exchange;
  return await ask<Reply>({ service, cancellation }, `conversation:${id}`, {
    kind: 'putAvatar',
    pictures,
    user,
    device: '',
  });
}
