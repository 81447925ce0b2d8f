/** Slots: the fixed hash space between names and the places that own them (lanes on disk, shards in memory). */

/**
 * How many slots there are. Fixed for ever: the lane of a key follows from it, so another number would strand data.
 * 1,024 spreads evenly over any sensible number of shards, and a map of it fits two kilobytes.
 */
export const SLOT_COUNT = 1024;

/** The slot of a key such as a conversation id or a username: FNV-1a over its UTF-16 units, folded to ten bits. */
export function slotOf(key: string): number {
  let hash = 0x811c9dc5;
  for (let i = 0; i < key.length; i += 1) hash = Math.imul(hash ^ key.charCodeAt(i), 0x01000193);
  // The low bits of FNV-1a mix worst, so fold the high ones in.
  return ((hash >>> 10) ^ (hash >>> 20) ^ hash) & (SLOT_COUNT - 1);
}
