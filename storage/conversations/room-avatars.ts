/**
 * Pictures of rooms, in the `meta` of their lane: a WebP for each size, written in the commit of the number that the room's
 * record has for them, and removed with it.
 */
import { AVATAR_SIZES, type AvatarSize } from '#src/protocol/account/avatars.ts';
import { key } from '../engine/keys.ts';
import type { LaneEnvironment, LaneWrite } from '../engine/lane.ts';

export type RoomPictures = Readonly<Record<AvatarSize, Uint8Array>>;

export function roomAvatarKey(id: string, size: AvatarSize): Buffer {
  return key('avatar', id, String(size));
}

/** The picture in every size, or its end. */
export function writeRoomAvatar(id: string, pictures: RoomPictures | null): LaneWrite[] {
  return AVATAR_SIZES.map((size) => {
    const value = pictures === null ? null : Buffer.from(pictures[size]);
    return { table: 'meta', key: roomAvatarKey(id, size), value };
  });
}

export function readRoomAvatar(
  tables: LaneEnvironment['tables'],
  id: string,
  size: AvatarSize,
): Uint8Array | undefined {
  return tables.meta.get(roomAvatarKey(id, size));
}
