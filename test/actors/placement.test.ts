/** Placement: every address has one shard, conversations the one that writes their lane, evenly spread. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as fc from 'fast-check';
import { Placement } from '#actors/runtime/placement.ts';
import { makeId } from '#src/base/ids.ts';
import { laneOf, shardOfLane } from '#storage/engine/lanes.ts';

const size = fc
  .integer({ min: 1, max: 64 })
  .chain((lanes) => fc.tuple(fc.integer({ min: 1, max: lanes }), fc.constant(lanes)));

test('a conversation lives where its lane is written', () => {
  fc.assert(
    fc.property(size, fc.nat(), ([shards, lanes], at) => {
      const id = makeId('c', at);
      const placement = new Placement(shards, lanes);
      const shard = placement.shardOf(`conversation:${id}`);
      assert.equal(shard, shardOfLane(laneOf(id, lanes), shards));
      assert.equal(placement.ownsLane(shard, laneOf(id, lanes)), true);
    }),
  );
});

test('every lane has exactly one shard, and no shard has two more than another', () => {
  fc.assert(
    fc.property(size, ([shards, lanes]) => {
      const placement = new Placement(shards, lanes);
      const owned = Array.from({ length: shards }, () => 0);
      for (let lane = 0; lane < lanes; lane += 1) {
        const owners = owned.map((_, shard) => placement.ownsLane(shard, lane));
        assert.equal(owners.filter(Boolean).length, 1);
        owned[owners.indexOf(true)] = (owned[owners.indexOf(true)] ?? 0) + 1;
      }
      assert.ok(Math.max(...owned) - Math.min(...owned) <= 1);
    }),
  );
});

test('people and conversations spread evenly over shards and lanes', () => {
  const placement = new Placement(4, 8);
  const counts = { people: [0, 0, 0, 0], lanes: Array.from({ length: 8 }, () => 0) };
  const bytes = (from: number) => (into: Uint8Array<ArrayBuffer>) =>
    into.map((_, i) => (Math.imul(from * 31 + i, 2_654_435_761) >>> 13) & 255);
  for (let i = 0; i < 20_000; i += 1) {
    const shard = placement.shardOf(`person:user-${i}`);
    counts.people[shard] = (counts.people[shard] ?? 0) + 1;
    const lane = laneOf(makeId('c', 1_795_248_000_000 + i * 37, bytes(i)), 8);
    counts.lanes[lane] = (counts.lanes[lane] ?? 0) + 1;
  }
  for (const count of counts.people) assert.ok(count > 4_500 && count < 5_500, `people ${counts.people.join(' ')}`);
  for (const count of counts.lanes) assert.ok(count > 2_200 && count < 2_800, `lanes ${counts.lanes.join(' ')}`);
});
