/** Looks through everybody: how many go on at once, and how many are put in order. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Listing, readListQuery, SCAN_MILLIS_MAX, SCANS_MAX, SORTED_MAX, type ListSource } from '#src/scim/listing.ts';
import { USERS } from '#src/scim/user-resource.ts';

/** People of one name; reading of them goes on once the gate opens. */
function sourceOf(size: number, gate: Promise<void> = Promise.resolve()): ListSource {
  const ids = new Set(Array.from({ length: size }, (_, at) => `person-${at}`));
  return {
    all: async () => {
      await gate;
      return ids;
    },
    candidates: () => undefined,
    read: (id) => ({ id, userName: id, title: 'lead' }),
  };
}

const scan = readListQuery({ filter: 'title eq "lead"', count: '1' }, USERS);

test('as many looks through everybody go on as may, one more is refused, and there is room once they end', async () => {
  const listing = new Listing();
  const { promise, resolve } = Promise.withResolvers<void>();
  const waiting = Array.from({ length: SCANS_MAX }, async () => await listing.list(scan, sourceOf(3, promise)));
  await assert.rejects(listing.list(scan, sourceOf(3)), { code: 'busy' });
  // What takes no look through everybody is answered beside them.
  const plain = await listing.list(readListQuery({}, USERS), sourceOf(3));
  assert.equal(plain.itemsPerPage, 3);
  resolve();
  for (const reply of await Promise.all(waiting)) assert.equal(reply.totalResults, 3);
  assert.equal((await listing.list(scan, sourceOf(3))).totalResults, 3);
});

test('as many are put in order as may be, and one more is refused', async () => {
  const ordered = readListQuery({ sortBy: 'userName', count: '1' }, USERS);
  const reply = await new Listing().list(ordered, sourceOf(SORTED_MAX));
  assert.deepEqual([reply.totalResults, reply.Resources[0]?.['id']], [SORTED_MAX, 'person-0']);
  await assert.rejects(new Listing().list(ordered, sourceOf(SORTED_MAX + 1)), { code: 'scim_too_many' });
});

test('a look through everybody goes on for its time and no longer', async () => {
  const step = SCAN_MILLIS_MAX / 4;
  const scanOf = async (size: number) => {
    let now = 0;
    const source = sourceOf(size);
    const read: ListSource['read'] = (id) => {
      now += step;
      return source.read(id);
    };
    return await new Listing(() => now).list(scan, { ...source, read });
  };
  // The fifth is looked at when exactly that time is over.
  assert.equal((await scanOf(5)).totalResults, 5);
  await assert.rejects(scanOf(6), { code: 'scim_too_many' });
});
