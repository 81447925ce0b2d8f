/**
 * Placement: which shard an actor lives on. The one place that knows, so that slots could one day be taken by other
 * machines without touching an actor.
 *
 *     conversation:c_…, push:…, person:…  ─► lane of its slot ─► the shard that writes that lane
 *     call:…                              ─► slot ─► shard
 *
 * A person's sockets are watched where their pushes are written, so that one can look at the other.
 */
import { slotOf } from '#src/base/slots.ts';
import { laneOf, shardOfLane } from '#storage/engine/lanes.ts';
import type { Address } from './actor.ts';

/** Actors that live where the lane of their key is written. */
const BY_LANE = new Set(['conversation', 'person', 'push']);

export class Placement {
  readonly shards: number;
  readonly lanes: number;

  constructor(shards: number, lanes: number) {
    this.shards = shards;
    this.lanes = lanes;
  }

  shardOf(address: Address): number {
    const colon = address.indexOf(':');
    const itemKey = address.slice(colon + 1);
    if (BY_LANE.has(address.slice(0, colon))) return shardOfLane(laneOf(itemKey, this.lanes), this.shards);
    return slotOf(itemKey) % this.shards;
  }

  /** The shard that writes the attachments. */
  get attachmentShard(): number {
    return 0;
  }

  ownsLane(shard: number, lane: number): boolean {
    return shardOfLane(lane, this.shards) === shard;
  }
}
