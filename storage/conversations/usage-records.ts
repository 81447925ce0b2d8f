/**
 * What people have used of a lane's quotas, in the lane's `meta` and in the commit of what it counts: the messages and
 * bytes that they posted on the last day on which they posted, and the rooms that they made and that are there. The sum
 * over the lanes is what they used; under EVERYBODY lies that of all people.
 */
import { dayOf, EVERYBODY } from '#src/protocol/quotas.ts';
import { key, numberAt, numberValue } from '../engine/keys.ts';
import type { LaneEnvironment, LaneWrite } from '../engine/lane.ts';

export interface PostedUse {
  readonly messages: number;
  readonly bytes: number;
}

interface MetaReader {
  get(table: 'meta', itemKey: Buffer): Buffer | undefined;
}

const NOTHING: PostedUse = { messages: 0, bytes: 0 };

/** `[posted, user]` → day, messages, bytes. */
export const postedKey = (user: string): Buffer => key('posted', user);
/** `[rooms, user]` → how many. */
export const roomsKey = (user: string): Buffer => key('rooms', user);

/** Counts a message of so many bytes to whoever posted it, and to all. */
export function countPost(view: MetaReader, user: string, bytes: number, now: number): LaneWrite[] {
  const day = dayOf(now);
  return [user, EVERYBODY].map((who) => {
    const itemKey = postedKey(who);
    const before = postedOn(view.get('meta', itemKey), day);
    return { table: 'meta', key: itemKey, value: numberValue(day, before.messages + 1, before.bytes + bytes) };
  });
}

/** Counts a room to whoever made it, and to all, or off again. */
export function countRoom(view: MetaReader, user: string, by: 1 | -1): LaneWrite[] {
  return [user, EVERYBODY].map((who) => {
    const itemKey = roomsKey(who);
    const count = roomsIn(view.get('meta', itemKey)) + by;
    return { table: 'meta', key: itemKey, value: count <= 0 ? null : numberValue(count) };
  });
}

/** What somebody, or EVERYBODY, has posted on that day, over these lanes. */
export function readPosted(lanes: readonly LaneEnvironment[], who: string, day: number): PostedUse {
  const itemKey = postedKey(who);
  let { messages, bytes } = NOTHING;
  for (const lane of lanes) {
    lane.refresh();
    const here = postedOn(lane.tables.meta.get(itemKey), day);
    messages += here.messages;
    bytes += here.bytes;
  }
  return { messages, bytes };
}

/** How many rooms somebody, or EVERYBODY, has made that are there, over these lanes. */
export function readRooms(lanes: readonly LaneEnvironment[], who: string): number {
  const itemKey = roomsKey(who);
  return lanes.reduce((sum, lane) => {
    lane.refresh();
    return sum + roomsIn(lane.tables.meta.get(itemKey));
  }, 0);
}

function postedOn(stored: Buffer | undefined, day: number): PostedUse {
  // What was posted on another day counts no more.
  if (stored === undefined || numberAt(stored) !== day) return NOTHING;
  return { messages: numberAt(stored, 1), bytes: numberAt(stored, 2) };
}

function roomsIn(stored: Buffer | undefined): number {
  return stored === undefined ? 0 : numberAt(stored);
}
