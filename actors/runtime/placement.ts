/**
 * Placement: which shard an actor lives on. The one place that knows, so that slots could one day be taken by other
 * machines without touching an actor.
 *
 *     conversation:c_…  ─► lane of its slot ─► the shard that writes that lane
 *     person:…, call:…  ─► slot ─► shard
 */
import { slotOf } from '#src/base/slots.ts';
import { laneOf, shardOfLane } from '#storage/lanes.ts';
import type { Address } from './actor.ts';

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
    if (address.startsWith('conversation:')) return shardOfLane(laneOf(itemKey, this.lanes), this.shards);
    return slotOf(itemKey) % this.shards;
  }

  ownsLane(shard: number, lane: number): boolean {
    return shardOfLane(lane, this.shards) === shard;
  }
}
