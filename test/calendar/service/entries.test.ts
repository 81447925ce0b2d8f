/** Entries over JSON: single, all-day and recurring ones, changed as one, as a tail and as a whole; the exact delta. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { EntryView } from '#src/protocol/calendars/calendars.ts';
import { SeededRandom } from '#test/support/random.ts';
import { shareServer } from '#test/support/shared-server.ts';
import type { Reply } from '#test/support/server.ts';
import { assertRefused, call, defaultCalendar, makeCalendar, makeEntry, range } from './calling.ts';

const { server, alice, bob } = await shareServer(['alice', 'bob']);
const { id: calendar } = await makeCalendar(server, alice, { tz: 'Europe/Berlin' });
const ENTRIES = `/v1/calendars/${calendar}/entries`;
const WEEKLY = {
  title: 'Weekly',
  local_start: '2026-03-16T02:30:00',
  local_end: '2026-03-16T03:30:00',
  tz: 'Europe/Berlin',
  rule: { frequency: 'weekly', count: 4 },
};

async function change(entry: string, form: object): Promise<Reply<EntryView>> {
  return await call<EntryView>(server, alice, 'PATCH', `${ENTRIES}/${entry}`, form);
}

/** Start and title of what is between two days. */
async function shown(from: string, to: string): Promise<string[]> {
  const items = await range(server, alice, calendar, `${from}T00:00:00Z`, `${to}T00:00:00Z`);
  return items.map((item) => `${String(item['start_at'])} ${String(item['title'])}`);
}

test('CAL-03 a single entry has instants beside its wall time and zone', async () => {
  const form = { title: 'Talk', description: 'a; b,\nc', location: 'Hall', local_start: '2026-07-01T10:00:00' };
  const made = await makeEntry(server, alice, calendar, { ...form, local_end: '2026-07-01T11:30:00' });
  assert.deepEqual(
    [made.start_at, made.end_at, made.local_start, made.tz, made.all_day, made.recurring],
    ['2026-07-01T08:00:00.000Z', '2026-07-01T09:30:00.000Z', '2026-07-01T10:00:00', 'Europe/Berlin', false, false],
  );
  assert.deepEqual([made.description, made.location, made.transparency], ['a; b,\nc', 'Hall', 'opaque']);
  const moved = await change(made.id, { start_at: '2026-07-02T08:00:00Z', etag: made.etag });
  assert.deepEqual([moved.body.local_start, moved.body.end_at], ['2026-07-02T10:00:00', '2026-07-02T09:30:00.000Z']);
  assertRefused(await change(made.id, { title: 'x', etag: made.etag }), 'entry_changed');
  const cleared = await change(made.id, { description: '', transparency: 'transparent', status: 'tentative' });
  assert.deepEqual(
    [cleared.body.description, cleared.body.transparency, cleared.body.status],
    [undefined, 'transparent', 'tentative'],
  );
  assert.equal((await call(server, alice, 'DELETE', `${ENTRIES}/${made.id}`)).status, 204);
  assertRefused(await call(server, alice, 'GET', `${ENTRIES}/${made.id}`), 'entry_not_found');
});

test('CAL-03 an all-day entry has dates, and its instants follow the calendar’s zone', async () => {
  const made = await makeEntry(server, alice, calendar, { title: 'Trip', date: '2026-08-01', days: 3 });
  assert.deepEqual(
    [made.all_day, made.date, made.days, made.start_at, made.tz],
    [true, '2026-08-01', 3, '2026-07-31T22:00:00.000Z', undefined],
  );
  const moved = await change(made.id, { date: '2026-08-10' });
  assert.deepEqual([moved.body.date, moved.body.days], ['2026-08-10', 3]);
});

test('CAL-03 a series keeps its wall time over the change of clocks', async () => {
  const made = await makeEntry(server, alice, calendar, WEEKLY);
  assert.deepEqual(made.rule, { frequency: 'weekly', count: 4 });
  // 29 March 2026 has no 02:30 in Berlin, and it is a Sunday; the Mondays around it keep 02:30.
  assert.deepEqual(await shown('2026-03-01', '2026-04-30'), [
    '2026-03-16T01:30:00.000Z Weekly',
    '2026-03-23T01:30:00.000Z Weekly',
    '2026-03-30T00:30:00.000Z Weekly',
    '2026-04-06T00:30:00.000Z Weekly',
  ]);
  const one = await change(made.id, {
    scope: 'this',
    recurrence_id: '20260323T023000',
    title: 'Moved',
    local_start: '2026-03-24T09:00:00',
    tz: 'Europe/Berlin',
  });
  assert.equal(one.status, 200, one.text);
  assert.deepEqual(one.body.changed, ['20260323T023000']);
  const gone = `${ENTRIES}/${made.id}?scope=this&recurrence_id=20260330T023000`;
  assert.equal((await call(server, alice, 'DELETE', gone)).status, 204);
  assert.deepEqual(await shown('2026-03-01', '2026-04-30'), [
    '2026-03-16T01:30:00.000Z Weekly',
    '2026-03-24T08:00:00.000Z Moved',
    '2026-04-06T00:30:00.000Z Weekly',
  ]);
  assertRefused(await call(server, alice, 'DELETE', gone), 'entry_not_found');
  assertRefused(
    await change(made.id, { scope: 'this', recurrence_id: '20260317T023000', title: 'x' }),
    'entry_not_found',
  );
  // A name for all leaves the exceptions; another time for all begins afresh.
  const named = await change(made.id, { title: 'Named' });
  assert.deepEqual([named.body.changed, named.body.excluded], [['20260323T023000'], ['20260330T023000']]);
  const timed = await change(made.id, { local_start: '2026-03-16T05:00:00', tz: 'Europe/Berlin' });
  assert.deepEqual(
    [timed.body.changed, timed.body.excluded, timed.body.rule],
    [[], [], { frequency: 'weekly', count: 4 }],
  );
  assert.equal((await shown('2026-03-01', '2026-04-30')).length, 4);
  const single = await change(made.id, { rule: null });
  assert.deepEqual([single.body.recurring, single.body.rule], [false, undefined]);
  await call(server, alice, 'DELETE', `${ENTRIES}/${made.id}`);
});

test('CAL-03 this and all that follow become a series of their own, in one step', async () => {
  const made = await makeEntry(server, alice, calendar, {
    ...WEEKLY,
    local_start: '2026-09-07T09:00:00',
    local_end: '2026-09-07T10:00:00',
  });
  const split = await change(made.id, {
    scope: 'this_and_following',
    recurrence_id: '20260921T090000',
    title: 'Later',
    local_start: '2026-09-21T11:00:00',
    tz: 'Europe/Berlin',
  });
  assert.equal(split.status, 200, split.text);
  assert.notEqual(split.body.id, made.id);
  assert.deepEqual(await shown('2026-09-01', '2026-12-31'), [
    '2026-09-07T07:00:00.000Z Weekly',
    '2026-09-14T07:00:00.000Z Weekly',
    '2026-09-21T09:00:00.000Z Later',
    '2026-09-28T09:00:00.000Z Later',
  ]);
  const first = (await call<EntryView>(server, alice, 'GET', `${ENTRIES}/${made.id}`)).body;
  assert.deepEqual(first.rule, { frequency: 'weekly', until: '2026-09-21T08:59:59' });
  const tail = `${ENTRIES}/${made.id}?scope=this_and_following&recurrence_id=20260914T090000`;
  assert.equal((await call(server, alice, 'DELETE', tail)).status, 204);
  const all = `${ENTRIES}/${split.body.id}?scope=this_and_following&recurrence_id=20260921T110000`;
  assert.equal((await call(server, alice, 'DELETE', all)).status, 204);
  assert.deepEqual(await shown('2026-09-01', '2026-12-31'), ['2026-09-07T07:00:00.000Z Weekly']);
  assertRefused(await call(server, alice, 'GET', `${ENTRIES}/${split.body.id}`), 'entry_not_found');
});

test('CAL-01 a series that ends at another time keeps what was changed and left out of its other dates', async () => {
  const { id: talks } = await makeCalendar(server, alice);
  const first = '2027-01-04T09:00:00';
  const times = { local_start: first, local_end: '2027-01-04T10:00:00', tz: 'Europe/Berlin' };
  const entry = await makeEntry(server, alice, talks, {
    title: 'Talk',
    ...times,
    rule: { frequency: 'weekly', count: 5 },
  });
  const path = `/v1/calendars/${talks}/entries/${entry.id}`;
  const patch = async (form: object) => {
    const reply = await call(server, alice, 'PATCH', path, form);
    assert.equal(reply.status, 200, reply.text);
  };
  const at = (day: string) => `2027${day}T090000`;
  for (const [day, title] of [
    ['0111', 'Second'],
    ['0201', 'Fifth'],
  ] as const)
    await patch({ scope: 'this', recurrence_id: at(day), title });
  const left = `${path}?scope=this&recurrence_id=${at('0118')}`;
  assert.equal((await call(server, alice, 'DELETE', left)).status, 204);
  const titles = async () => {
    const items = await range(server, alice, talks, '2027-01-01T00:00:00Z', '2027-04-01T00:00:00Z');
    return items.map((item) => `${String(item['start_at']).slice(5, 10)} ${String(item['title'])}`);
  };
  assert.deepEqual(await titles(), ['01-04 Talk', '01-11 Second', '01-25 Talk', '02-01 Fifth']);
  await patch({ rule: { frequency: 'weekly', count: 4 } });
  assert.deepEqual(await titles(), ['01-04 Talk', '01-11 Second', '01-25 Talk']);
  // The fifth is one of the series again.
  await patch({ rule: { frequency: 'weekly', until: '2027-02-08T23:00:00' } });
  assert.deepEqual(await titles(), ['01-04 Talk', '01-11 Second', '01-25 Talk', '02-01 Talk', '02-08 Talk']);
  // At other times it starts afresh.
  await patch({ rule: { frequency: 'weekly', interval: 2, count: 3 } });
  assert.deepEqual(await titles(), ['01-04 Talk', '01-18 Talk', '02-01 Talk']);
});

test('what makes no sense is refused with its field', async () => {
  const at = { title: 'x', local_start: '2026-07-01T10:00:00' };
  const refused: [object, string][] = [
    [{ title: 'x' }, 'local_start'],
    [{ ...at, date: '2026-07-01' }, 'local_start'],
    [{ ...at, local_start: '2026-02-30T10:00:00' }, 'local_start'],
    [{ ...at, local_end: '2026-07-01T09:00:00' }, 'local_end'],
    [{ ...at, tz: 'Nowhere/Else' }, 'tz'],
    [{ ...at, rule: { frequency: 'secondly' } }, 'rule.frequency'],
    [{ ...at, rule: { frequency: 'daily', count: 2, until: '2026-08-01' } }, 'rule.until'],
    [{ ...at, rule: { frequency: 'daily', interval: 0 } }, 'rule.interval'],
    [{ title: 'x', date: '2026-07-01', rule: { frequency: 'hourly' } }, 'rule'],
    [{ ...at, title: 'x'.repeat(501) }, 'title'],
    [{ ...at, attendees: ['mailto:not an address'] }, 'attendees.0'],
  ];
  for (const [form, field] of refused) {
    assertRefused(await call(server, alice, 'POST', ENTRIES, form), 'field_invalid', field);
  }
  assertRefused(await call(server, alice, 'POST', ENTRIES, { ...at, organizer: 'bob' }), 'field_unknown', 'organizer');
  assertRefused(
    await call(server, alice, 'POST', ENTRIES, { ...at, attendees: ['nobody'] }),
    'participant_unknown',
    'attendees',
  );
  assertRefused(await call(server, alice, 'POST', ENTRIES, { ...at, kind: 'todo' }), 'entry_kind_refused');
  assertRefused(
    await call(server, alice, 'GET', `${ENTRIES}?from=2026-01-01T00:00:00Z&to=2029-01-01T00:00:00Z`),
    'query_invalid',
    'to',
  );
  assertRefused(
    await call(server, alice, 'GET', `${ENTRIES}?from=2026-01-01T00:00:00Z&to=2025-01-01T00:00:00Z`),
    'query_invalid',
    'to',
  );
  assertRefused(await call(server, alice, 'GET', `${ENTRIES}/../x`), 'path_not_found');
  assertRefused(await call(server, alice, 'GET', `${ENTRIES}/${'A'.repeat(43)}`), 'entry_not_found');
});

test('CAL-01 the JSON cursor gives the exact delta, page by page, whatever happens in between', async () => {
  const { id } = await defaultCalendar(server, alice);
  const random = new SeededRandom(5);
  const path = `/v1/calendars/${id}`;
  interface Changes {
    items: EntryView[];
    deleted: string[];
    next: string;
    more: boolean;
    sync_seq: number;
  }
  const known = new Map<string, string>();
  let next: string | undefined;
  const read = async (): Promise<boolean> => {
    const query = `limit=${random.whole(1, 4)}${next === undefined ? '' : `&after=${next}`}`;
    const reply = await call<Changes>(server, alice, 'GET', `${path}/changes?${query}`);
    assert.equal(reply.status, 200, reply.text);
    for (const gone of reply.body.deleted) known.delete(gone);
    for (const { id: entry, etag } of reply.body.items) known.set(entry, etag);
    next = reply.body.next;
    return reply.body.more;
  };
  const alive: string[] = [];
  for (let step = 0; step < 60; step += 1) {
    const kind = random.whole(0, 3);
    if (kind === 0 && alive.length > 0) {
      const [gone = ''] = alive.splice(random.whole(0, alive.length - 1), 1);
      await call(server, alice, 'DELETE', `${path}/entries/${gone}`);
    } else if (kind === 1 && alive.length > 0) {
      await call(server, alice, 'PATCH', `${path}/entries/${random.pick(alive)}`, { title: String(step) });
    } else if (kind === 2) await read();
    else alive.push((await makeEntry(server, alice, id, { title: 'x', start_at: '2026-11-23T09:00:00Z' })).id);
  }
  while (await read());
  assert.deepEqual([...known.keys()].toSorted(), alive.toSorted());
  for (const [entry, etag] of known) {
    assert.equal((await call(server, alice, 'GET', `${path}/entries/${entry}`)).body['etag'], etag);
  }
  assertRefused(await call(server, alice, 'GET', `${path}/changes?after=junk`), 'cursor_invalid', 'after');
  const other = Buffer.from(`another-epoch:${id}:1-1`).toString('base64url');
  assertRefused(await call(server, alice, 'GET', `${path}/changes?after=${other}`), 'sync_cursor_expired');
  const ahead = Buffer.from(
    Buffer.from(next ?? '', 'base64url')
      .toString()
      .replace(/\d+-\d+$/, '9999-9999'),
  ).toString('base64url');
  assertRefused(await call(server, alice, 'GET', `${path}/changes?after=${ahead}`), 'sync_cursor_expired');
  assertRefused(
    await call(server, alice, 'GET', `/v1/calendars/${calendar}/changes?after=${next}`),
    'cursor_invalid',
    'after',
  );
  assertRefused(await call(server, bob, 'GET', `${path}/changes`), 'calendar_not_found');
});
