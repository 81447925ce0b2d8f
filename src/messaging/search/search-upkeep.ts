/** The search index of a shard's lanes: made whole in the background, or left alone where search is switched off. */
import { setTimeout as sleep } from 'node:timers/promises';
import { monotonicMillis } from '#actors/runtime/monotonic.ts';
import type { Lanes } from '#storage/engine/lanes.ts';
import { completeIndex, leaveIndex } from '#storage/search/search-backfill.ts';

/** A pause between two steps of indexing what is old leaves thread and lane to the living. */
const BACKFILL_PAUSE_MILLIS = 10;

/** Completes the index of this thread's lanes in the background; where it is switched off, notes that it is not kept. */
export async function keepIndex(lanes: Lanes, search: 'on' | 'off', isLeaving: () => boolean): Promise<void> {
  for (const lane of lanes.owned) {
    if (search === 'off') {
      leaveIndex(lane);
      continue;
    }
    await completeIndex(lane, {
      pause: async () => {
        await sleep(BACKFILL_PAUSE_MILLIS, undefined, { ref: false });
        return !isLeaving();
      },
      clock: monotonicMillis,
    });
    if (isLeaving()) return;
  }
}
