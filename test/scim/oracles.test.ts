/**
 * Filters and changes against implementations of others: `scimmy` and `scim2-parse-filter` judge the same filters over the same
 * people, `scim-patch` makes the same changes. Where an author read the standard otherwise, the case says so and is left out.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as fc from 'fast-check';
import { Types } from 'scimmy';
import { filter as peerFilter, parse as peerParse } from 'scim2-parse-filter';
import { scimPatch, type ScimResource } from 'scim-patch';
import type { Json } from '#src/base/json.ts';
import { matches, readFilter, type Resource } from '#src/scim/filter.ts';
import { applyOperations, PATCH_SCHEMA, readOperations } from '#src/scim/patch.ts';
import { USERS } from '#src/scim/user-resource.ts';

const TITLES = ['lead', 'Lead', 'sales lead', 'x"y', 'back\\slash'];
const ADDRESSES = ['ada@example.org', 'bob@example.com'];

const address = fc.record(
  { value: fc.constantFrom(...ADDRESSES), type: fc.constantFrom('work', 'home') },
  { noNullPrototype: true },
);

const person = fc.record(
  {
    userName: fc.constantFrom('ada', 'bob', 'adam'),
    title: fc.constantFrom(...TITLES),
    active: fc.boolean(),
    name: fc.record({ familyName: fc.constantFrom('Lovelace', 'Love') }, { noNullPrototype: true }),
    emails: fc.uniqueArray(address, {
      selector: ({ type, value }) => `${type} ${value}`,
      minLength: 1,
      maxLength: 3,
    }),
  },
  { requiredKeys: ['userName', 'active', 'name'], noNullPrototype: true },
);

/** Comparisons that the peers read as this server does: of texts in lower case, since one of them takes case as it is. */
const comparison = fc.oneof(
  fc
    .tuple(fc.constantFrom('eq', 'co', 'sw', 'ew', 'EQ'), fc.constantFrom('ada', 'ad', 'a', 'bob', 'zz'))
    .map(([operator, value]) => `userName ${operator} "${value}"`),
  fc.constantFrom('title pr', 'emails pr', 'active eq true', 'active eq false', 'name.familyName pr'),
  // One condition: with two, a peer is content with two elements that have one each.
  fc.constantFrom('work', 'home').map((type) => `emails[type eq "${type}"]`),
);

const written = fc.letrec<{ readonly filter: string }>((tie) => ({
  filter: fc.oneof(
    { depthSize: 'small' },
    comparison,
    fc.tuple(tie('filter'), fc.constantFrom('and', 'or', 'AND'), tie('filter')).map((parts) => parts.join(' ')),
    tie('filter').map((inner) => `(${inner})`),
    tie('filter').map((inner) => `not (${inner})`),
  ),
})).filter;

test('filters mean what they mean to scim2-parse-filter', () => {
  let meant = 0;
  fc.assert(
    fc.property(written, fc.array(person, { minLength: 1, maxLength: 8 }), (text, people) => {
      const own = readFilter(text, USERS);
      // Operators in capitals are words of the standard that this peer has in small letters.
      const peer = peerFilter(peerParse(text));
      for (const one of people) {
        const isMeant = matches(own, one);
        meant += Number(isMeant);
        assert.equal(isMeant, peer(one), `${text} of ${JSON.stringify(one)}`);
      }
    }),
    { numRuns: 400, seed: 13 },
  );
  assert.ok(meant > 300, `${meant} were meant`);
});

/** For a peer that takes who has no address at all for somebody who has each. */
const withAddress = person.filter(({ emails }) => emails !== undefined);

test('filters mean what they mean to scimmy', () => {
  fc.assert(
    fc.property(written, fc.array(withAddress, { minLength: 1, maxLength: 8 }), (text, people) => {
      // This peer reads groups and negations otherwise, and finds no presence of a list.
      fc.pre(!/\(|emails pr/.test(text));
      const own = people.filter((one) => matches(readFilter(text, USERS), one));
      assert.deepEqual(own, new Types.Filter(text).match(people), text);
    }),
    { numRuns: 300, seed: 14 },
  );
});

const operation = fc.oneof(
  fc.record({
    op: fc.constantFrom('add', 'replace', 'Add', 'Replace'),
    path: fc.constantFrom('title', 'userName', 'name.familyName', 'emails[type eq "work"].value'),
    value: fc.constantFrom('one', 'two'),
  }),
  fc.record({ op: fc.constantFrom('remove', 'Remove'), path: fc.constantFrom('title', 'name.familyName', 'emails') }),
  fc.record({
    op: fc.constantFrom('add', 'replace'),
    path: fc.constant('emails'),
    value: fc.array(address, {
      minLength: 1,
      maxLength: 2,
    }),
  }),
  fc.record({
    op: fc.constantFrom('add', 'replace'),
    value: fc.record({ title: fc.constant('whole'), active: fc.boolean() }),
  }),
);

test('changes make what scim-patch makes of the same person', async () => {
  await fc.assert(
    fc.asyncProperty(person, fc.array(operation, { minLength: 1, maxLength: 5 }), async (before, operations) => {
      const body = { schemas: [PATCH_SCHEMA], Operations: operations } as unknown as Json;
      const own = await outcome(async () => applyOperations(before, await readOperations(body, USERS)));
      const peer = await outcome(async () => {
        const given: ScimResource = structuredClone(before) as never;
        return scimPatch(given, structuredClone(operations)) as unknown as Resource;
      });
      assert.deepEqual(tidied(own), tidied(peer), JSON.stringify({ before, operations }));
    }),
    { numRuns: 600, seed: 15 },
  );
});

async function outcome(make: () => Promise<Resource>): Promise<Resource | 'refused'> {
  try {
    return await make();
  } catch {
    return 'refused';
  }
}

/** Empty is as good as absent (RFC 7643, section 2.5), and elements have no order. */
function tidied(resource: Resource | 'refused'): unknown {
  if (resource === 'refused') return resource;
  const kept = Object.entries(resource).filter(([, value]) => !/^(?:\{\}|\[\])$/.test(JSON.stringify(value)));
  return Object.fromEntries(
    kept.map(([name, value]) => [
      name,
      Array.isArray(value) ? value.map((each) => JSON.stringify(each)).toSorted() : value,
    ]),
  );
}
