/** Reading the audit trail: filters, pages with a bounded scan, export (CON-04). */
import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';
import { Refusal } from '#src/protocol/errors.ts';
import { AUDIT_PAGE_MAX, AUDIT_SCAN_MAX, AuditTrail, type AuditQuery } from '#src/audit/audit-trail.ts';
import { Accounts } from '#storage/accounts/accounts.ts';
import type { AuditForm } from '#storage/accounts/audit-chain.ts';
import { temporaryFolder } from '#test/support/temporary-folder.ts';

const START = Date.parse('2026-11-21T08:00:00.000Z');

/** A trail of these entries, one second apart. */
async function trailOf(
  t: TestContext,
  forms: readonly Partial<AuditForm>[],
): Promise<{ trail: AuditTrail; accounts: Accounts }> {
  const accounts = await Accounts.open(temporaryFolder(t));
  t.after(() => accounts.close());
  await accounts.change((draft) => {
    const blank = { event: 'user.changed', actor: 'server', address: null, subject: null, details: {} };
    forms.forEach((form, index) => draft.audit(START + index * 1000, { ...blank, ...form }));
  });
  return { trail: new AuditTrail(accounts), accounts };
}

const numbersOf = async (trail: AuditTrail, query: AuditQuery) =>
  (await trail.list(query)).items.map(({ number }) => number);

/** All pages one after the other, as a client reads them. */
async function walk(trail: AuditTrail, query: AuditQuery): Promise<{ numbers: number[]; pages: number }> {
  const numbers: number[] = [];
  let cursor: string | undefined;
  for (let pages = 1; ; pages += 1) {
    const { items, next } = await trail.list({ ...query, cursor });
    numbers.push(...items.map(({ number }) => number));
    if (next === null) return { numbers, pages };
    cursor = next;
  }
}

const refusal = (code: string, field?: string) => (error: unknown) =>
  error instanceof Refusal && error.code === code && error.field === field;

test('an empty trail is one empty page', async (t) => {
  const { trail } = await trailOf(t, []);
  assert.deepEqual(await trail.list({}), { items: [], next: null });
});

test('CON-04 an entry has what happened, by whom, from where, to what, and its hash', async (t) => {
  const form = {
    event: 'node.logs',
    actor: 'vendor:v_1',
    address: '10.0.0.7',
    subject: 'node:n_1',
    details: { lines: 5 },
  };
  const { trail } = await trailOf(t, [form]);
  const [entry] = (await trail.list({})).items;
  assert.ok(entry);
  const { hash, ...rest } = entry;
  assert.deepEqual(rest, { number: 1, at: '2026-11-21T08:00:00.000Z', ...form });
  assert.match(hash, /^[0-9a-f]{64}$/);
});

const PEOPLE: readonly Partial<AuditForm>[] = [
  { event: 'user.created', actor: 'user:alice', subject: 'user:bob', address: '10.0.0.7' },
  { event: 'user.changed', actor: 'user:alice', subject: 'user:carol', address: '10.0.0.8' },
  { event: 'vendor_token.issued', actor: 'user:bob', subject: 'vendor:v_1', address: '10.1.0.7' },
  { event: 'vendor_token.used', actor: 'vendor:v_1' },
  { event: 'user.created', actor: 'user:Alistair', subject: 'user:dave' },
];

const FILTERS: readonly [what: string, query: AuditQuery, numbers: number[]][] = [
  ['nothing', {}, [5, 4, 3, 2, 1]],
  ['the event', { event: 'user.created' }, [5, 1]],
  ['a part of an event, which is none', { event: 'user.' }, []],
  ['the actor', { actor: 'user:alice' }, [2, 1]],
  ['the subject', { subject: 'vendor:v_1' }, [3]],
  ['the first instant', { from: '2026-11-21T08:00:03Z' }, [5, 4]],
  ['an instant between entries', { from: '2026-11-21T08:00:03.001Z' }, [5]],
  ['the last instant, left out', { to: '2026-11-21T08:00:03.000Z' }, [3, 2, 1]],
  ['both instants', { from: '2026-11-21T08:00:01Z', to: '2026-11-21T08:00:03Z' }, [3, 2]],
  ['the beginning of an event', { prefix: 'vendor_token.' }, [4, 3]],
  ['the beginning of an actor in other letters', { prefix: 'USER:AL' }, [5, 2, 1]],
  ['the beginning of a subject', { prefix: 'user:carol' }, [2]],
  ['the beginning of an address', { prefix: '10.0.' }, [2, 1]],
  ['what events begin with, any of it', { events: ['vendor_token.i', 'user.ch'] }, [3, 2]],
  ['the beginnings of no event', { events: [] }, []],
  ['several at once', { event: 'user.created', prefix: 'user:al', to: '2026-11-21T08:00:04Z' }, [1]],
];
for (const [what, query, numbers] of FILTERS) {
  test(`CON-04 a trail filtered by ${what}`, async (t) => {
    const { trail } = await trailOf(t, PEOPLE);
    assert.deepEqual(await numbersOf(trail, query), numbers);
    assert.deepEqual((await walk(trail, { ...query, limit: 1 })).numbers, numbers);
  });
}

test('CON-04 pages are full, follow one another without a gap, and end', async (t) => {
  const { trail } = await trailOf(
    t,
    Array.from({ length: 450 }, () => ({})),
  );
  const all = Array.from({ length: 450 }, (_, index) => 450 - index);
  assert.equal((await numbersOf(trail, {})).length, 50);
  assert.deepEqual(await walk(trail, { limit: AUDIT_PAGE_MAX }), { numbers: all, pages: 3 });
  assert.deepEqual(await walk(trail, { limit: 150 }), { numbers: all, pages: 3 });
  assert.deepEqual((await walk(trail, { limit: 7 })).numbers, all);
});

test('a page is of 1 to 200 entries, and one step beyond is refused', async (t) => {
  const { trail } = await trailOf(
    t,
    Array.from({ length: 250 }, () => ({})),
  );
  assert.equal((await numbersOf(trail, { limit: 1 })).length, 1);
  assert.equal((await numbersOf(trail, { limit: 200 })).length, 200);
  for (const limit of [0, -1, 201, 1.5, Number.NaN]) {
    await assert.rejects(trail.list({ limit }), refusal('query_invalid', 'limit'));
  }
});

test('CON-04 entries written between two pages do not shift the second', async (t) => {
  const { trail, accounts } = await trailOf(t, PEOPLE);
  const first = await trail.list({ limit: 2 });
  await accounts.change((draft) =>
    draft.audit(START, { event: 'user.left', actor: 'server', address: null, subject: null, details: {} }),
  );
  assert.deepEqual(await numbersOf(trail, { limit: 2, cursor: first.next ?? '' }), [3, 2]);
});

/** Reads of a trail, counted. */
function counting(accounts: Accounts): { trail: AuditTrail; read: () => number } {
  let count = 0;
  const trail = new AuditTrail({
    get auditHead() {
      return accounts.auditHead;
    },
    auditEntries: (options) => {
      const found = accounts.auditEntries(options);
      count += found.length;
      return found;
    },
    auditEntriesAfter: (after, limit) => accounts.auditEntriesAfter(after, limit),
  });
  return {
    trail,
    read: () => {
      const sum = count;
      count = 0;
      return sum;
    },
  };
}

test('a page looks at 2,000 entries at most, and the next one goes on behind them', async (t) => {
  assert.equal(AUDIT_SCAN_MAX, 2_000);
  // The rare entry is the last that the first page looks at, then the first that it does not.
  for (const [behind, first, second] of [
    [1_999, [1], undefined],
    [2_000, [], [1]],
  ] as const) {
    const rest = Array.from({ length: behind }, () => ({}));
    const { accounts } = await trailOf(t, [{ event: 'backup.restored' }, ...rest]);
    const { trail, read } = counting(accounts);
    const page = await trail.list({ event: 'backup.restored', limit: 2 });
    assert.equal(read(), 2_000);
    assert.deepEqual(
      page.items.map(({ number }) => number),
      first,
    );
    if (second === undefined) assert.equal(page.next, null);
    else {
      const last = await trail.list({ event: 'backup.restored', limit: 2, cursor: page.next ?? '' });
      assert.equal(read(), 1);
      assert.deepEqual(
        last.items.map(({ number }) => number),
        second,
      );
      assert.equal(last.next, null);
    }
  }
});

test('a page that is found early looks no further', async (t) => {
  const { accounts } = await trailOf(
    t,
    Array.from({ length: 1_000 }, () => ({})),
  );
  const { trail, read } = counting(accounts);
  await trail.list({ limit: 50 });
  assert.equal(read(), 100);
});

test('a cursor that this server did not give is refused', async (t) => {
  const { trail } = await trailOf(t, PEOPLE);
  const encoded = (text: string) => Buffer.from(text).toString('base64url');
  const cursors = [
    '',
    'x',
    '3',
    encoded('3'),
    encoded('audit:0'),
    encoded('audit:-1'),
    encoded('audit:1'),
    encoded('audit:03'),
  ];
  for (const cursor of [
    ...cursors,
    encoded('audit:9999999999999999'),
    `${encoded('audit:3')}=`,
    ` ${encoded('audit:3')}`,
  ]) {
    await assert.rejects(trail.list({ cursor }), refusal('cursor_invalid'), cursor);
  }
  assert.deepEqual(await numbersOf(trail, { cursor: encoded('audit:999') }), [5, 4, 3, 2, 1]);
});

test('an instant in another form is refused', async (t) => {
  const { trail } = await trailOf(t, PEOPLE);
  for (const text of ['', 'yesterday', '2026-11-21', '2026-11-21T08:00:00+03:00', '2026-02-30T00:00:00Z']) {
    await assert.rejects(trail.list({ from: text }), refusal('query_invalid', 'from'));
    assert.throws(() => trail.export({ to: text }), refusal('query_invalid', 'to'));
  }
});

test('CON-04 an export is every entry that passes as a line of JSON, the oldest first', async (t) => {
  const forms = Array.from({ length: 1_203 }, (_, index) => ({
    event: index % 2 === 0 ? 'user.created' : 'user.left',
  }));
  const { trail, accounts } = await trailOf(t, forms);
  let text = '';
  let chunks = 0;
  for await (const chunk of trail.export({ event: 'user.left' })) {
    // What is written while it runs is not part of it.
    if (chunks === 0) {
      const form = { event: 'user.left', actor: 'server', address: null, subject: null, details: {} };
      await accounts.change((draft) => draft.audit(START, form));
    }
    text += chunk;
    chunks += 1;
  }
  assert.equal(chunks, 3);
  assert.ok(text.endsWith('\n'));
  const entries = text
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line) as { number: number });
  assert.deepEqual(
    entries.map(({ number }) => number),
    Array.from({ length: 601 }, (_, index) => 2 * index + 2),
  );
  assert.deepEqual(entries[0], accounts.auditEntry(2));
});
