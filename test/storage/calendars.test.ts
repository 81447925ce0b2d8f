/** The calendar store: conditions, indexes, the exact delta, what is forgotten, what is checked. */
import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';
import type { SyncPosition } from '#storage/calendars/calendar-reader.ts';
import { checkCalendars } from '#storage/check/calendar-check.ts';
import { UidTaken, type CalendarForm } from '#storage/calendars/calendar-draft.ts';
import {
  ANYBODY,
  calendarRecord,
  CALENDARS_PER_PERSON_MAX,
  OBJECT_BYTES_MAX,
  objectResource,
  OBJECTS_PER_CALENDAR_MAX,
  PROPERTIES_BYTES_MAX,
  REMOVAL_MILLIS,
  REMOVALS_MAX,
  REVISIONS_MAX,
  SHARES_PER_CALENDAR_MAX,
  type CalendarRecord,
  type ObjectIndex,
} from '#storage/calendars/calendar-records.ts';
import { changeProperties } from '#storage/calendars/calendar-properties.ts';
import { Calendars } from '#storage/calendars/calendars.ts';
import { Findings } from '#storage/engine/findings.ts';
import { key } from '#storage/engine/keys.ts';
import { SeededRandom } from '#test/support/random.ts';
import { temporaryFolder } from '#test/support/temporary-folder.ts';
import { refusal } from './vault-fixture.ts';

const DAY = 86_400_000;
const NOON = Date.UTC(2026, 10, 21, 12);

interface Store {
  readonly folder: string;
  calendars: Calendars;
  now: number;
}

async function openStore(t: TestContext): Promise<Store> {
  const folder = temporaryFolder(t);
  const store: Store = { folder, now: NOON, calendars: undefined as unknown as Calendars };
  store.calendars = Calendars.open(folder, { now: () => store.now });
  t.after(async () => await store.calendars.close());
  return store;
}

function form(owner: string, name: string): CalendarForm {
  const words = { displayname: name, description: '', color: '', zone: 'UTC' };
  return { owner, name, order: 0, kinds: ['event'], transparency: 'opaque', ...words };
}

function index(uid: string, firstAt: number | null = NOON, lastAt: number | null = NOON + 3_600_000): ObjectIndex {
  const flags = { recurring: false, transparent: false, scheduled: false, unanswered: false };
  return { uid, kind: 'event', firstAt, lastAt, ...flags };
}

async function problemsOf({ folder, calendars }: Store): Promise<readonly string[]> {
  await calendars.close();
  const findings = new Findings('');
  await checkCalendars(folder, findings);
  return findings.problems;
}

async function assertSound(store: Store): Promise<void> {
  assert.deepEqual(await problemsOf(store), []);
}

/** Puts a calendar's counters where only years would bring them. */
async function setCounters({ calendars }: Store, id: string, counters: Partial<CalendarRecord>): Promise<void> {
  const record = calendars.calendar(id) as CalendarRecord;
  await calendars.change((draft) => draft.put('calendars', key(id), calendarRecord.encode({ ...record, ...counters })));
}

test('CAL-01 what is put comes back byte for byte, under the same etag, and raises sync_seq with it', async (t) => {
  const store = await openStore(t);
  const { calendars } = store;
  const { id, syncSeq } = await calendars.createCalendar(form('alice', 'work'));
  const bytes = Buffer.from('BEGIN:VCALENDAR\r\nX-ODD: é\r\nEND:VCALENDAR');
  assert.equal(calendars.hasObjects, false);
  const put = await calendars.putObject(id, 'a.ics', bytes, index('uid-a'));
  assert.equal(calendars.hasObjects, true);
  assert.deepEqual([put.isNew, put.syncSeq], [true, syncSeq + 1]);
  assert.deepEqual(calendars.bytesOf(id, 'a.ics'), bytes);
  assert.equal(calendars.object(id, 'a.ics')?.etag, put.etag);
  assert.equal(calendars.calendar(id)?.syncSeq, put.syncSeq);
  const again = await calendars.putObject(id, 'a.ics', bytes, index('uid-a'));
  assert.deepEqual([again.etag, again.isNew, again.syncSeq], [put.etag, false, put.syncSeq + 1]);
  await assertSound(store);
});

test('conditions are judged in turn: of two writers with one etag one is refused', async (t) => {
  const store = await openStore(t);
  const { calendars } = store;
  const { id } = await calendars.createCalendar(form('alice', 'work'));
  const first = await calendars.putObject(id, 'a.ics', Buffer.from('1'), index('uid-a'), { ifNoneMatch: '*' });
  const both = await Promise.allSettled(
    ['2', '3'].map((text) =>
      calendars.putObject(id, 'a.ics', Buffer.from(text), index('uid-a'), { ifMatch: [first.etag] }),
    ),
  );
  assert.deepEqual(
    both.map(({ status }) => status),
    ['fulfilled', 'rejected'],
  );
  await assert.rejects(
    calendars.putObject(id, 'a.ics', Buffer.from('4'), index('uid-a'), { ifNoneMatch: '*' }),
    refusal('entry_changed'),
  );
  await assert.rejects(
    calendars.putObject(id, 'a.ics', Buffer.from('4'), index('uid-a'), { ifScheduleTagMatch: 'other' }),
    refusal('entry_changed'),
  );
  await assert.rejects(calendars.removeObject(id, 'a.ics', { ifMatch: ['other'] }), refusal('entry_changed'));
  await assert.rejects(calendars.removeObject(id, 'b.ics'), refusal('entry_not_found'));
  assert.equal(calendars.bytesOf(id, 'a.ics')?.toString(), '2');
  await assertSound(store);
});

test('a UID is unique in a calendar and stays with its name', async (t) => {
  const { calendars } = await openStore(t);
  const { id } = await calendars.createCalendar(form('alice', 'work'));
  const other = await calendars.createCalendar(form('alice', 'home'));
  await calendars.putObject(id, 'a.ics', Buffer.from('1'), index('uid-a'));
  await assert.rejects(
    calendars.putObject(id, 'b.ics', Buffer.from('1'), index('uid-a')),
    (error) => error instanceof UidTaken && error.other === 'a.ics',
  );
  await assert.rejects(
    calendars.putObject(id, 'a.ics', Buffer.from('1'), index('uid-b')),
    (error) => error instanceof UidTaken && error.other === 'a.ics',
  );
  await calendars.putObject(other.id, 'b.ics', Buffer.from('1'), index('uid-a'));
});

test('CAL-01 random operations and readers at random page lengths converge, also over a restart', async (t) => {
  const store = await openStore(t);
  const random = new SeededRandom(7);
  const { id } = await store.calendars.createCalendar(form('alice', 'work'));
  const readers = Array.from({ length: 5 }, () => ({
    position: { after: 0, base: 0 } as SyncPosition,
    byName: new Map<string, string>(),
    byUid: new Map<string, string>(),
  }));
  let resets = 0;
  const read = (reader: (typeof readers)[number], limit: number): boolean => {
    const page = store.calendars.changesSince(id, reader.position, limit);
    if (page === 'expired') {
      resets += 1;
      reader.byName.clear();
      reader.byUid.clear();
      reader.position = { after: 0, base: 0 };
      return true;
    }
    for (const { name, uid, isReplaced } of page.removed) {
      if (!isReplaced) reader.byName.delete(name);
      if (store.calendars.nameByUid(id, uid) === undefined) reader.byUid.delete(uid);
    }
    for (const { name, uid, etag } of page.changed) {
      reader.byName.set(name, etag);
      reader.byUid.set(uid, etag);
    }
    reader.position = page.position;
    return page.more;
  };
  for (let step = 0; step < 1_500; step += 1) {
    const name = `${random.whole(0, 11)}.ics`;
    const { calendars } = store;
    const kind = random.whole(0, 9);
    if (kind < 4) {
      const uid = calendars.object(id, name)?.uid ?? `uid-${random.whole(0, 11)}`;
      await calendars.putObject(id, name, Buffer.from(String(step)), index(uid)).catch(expectTaken);
    } else if (kind < 6) {
      await calendars.removeObject(id, name).catch(expectMissing);
    } else if (kind < 7) {
      const to = `${random.whole(0, 11)}.ics`;
      const prior = calendars.object(id, name);
      if (prior === undefined || to === name) continue;
      const places = [
        { calendar: id, name },
        { calendar: id, name: to },
      ] as const;
      await calendars
        .change((draft) => draft.moveObject(...places, { overwrite: random.whole(0, 1) === 0, index: prior }))
        .catch(expectTaken);
    } else read(readers[random.whole(0, 4)] as (typeof readers)[number], 1 + random.whole(0, 3));
    if (step % 500 === 499) {
      await calendars.close();
      store.calendars = Calendars.open(store.folder, { now: () => store.now });
    }
  }
  const truth = store.calendars.objects(id);
  assert.ok(truth.length > 3);
  for (const reader of readers) {
    while (read(reader, 1 + random.whole(0, 2)));
    assert.deepEqual(
      Object.fromEntries(reader.byName),
      Object.fromEntries(truth.map(({ name, etag }) => [name, etag])),
    );
    assert.deepEqual(Object.fromEntries(reader.byUid), Object.fromEntries(truth.map(({ uid, etag }) => [uid, etag])));
  }
  assert.equal(resets, 0);
  await assertSound(store);
});

function expectTaken(error: unknown): void {
  assert.ok(error instanceof UidTaken || refusal('entry_changed')(error), String(error));
}

function expectMissing(error: unknown): void {
  assert.ok(refusal('entry_not_found')(error), String(error));
}

test('CAL-01 a reader whose removals are forgotten is told so; one that begins anew is not, however many there were', async (t) => {
  const store = await openStore(t);
  const { calendars } = store;
  const { id } = await calendars.createCalendar(form('alice', 'work'));
  for (const name of ['a', 'b', 'c', 'd']) await calendars.putObject(id, name, Buffer.from(name), index(`uid-${name}`));
  const before = calendars.changesSince(id, { after: 0, base: 0 }, 100);
  assert.ok(before !== 'expired');
  const page = calendars.changesSince(id, { after: 0, base: 0 }, 1);
  assert.ok(page !== 'expired' && page.more);
  await calendars.removeObject(id, 'c');
  store.now += REMOVAL_MILLIS + DAY;
  // The next removal forgets the one that is too old.
  await calendars.removeObject(id, 'd');
  assert.equal(calendars.changesSince(id, before.position, 100), 'expired');
  // A reading from the start that was under way when something was removed and forgotten is refused too.
  assert.equal(calendars.changesSince(id, page.position, 100), 'expired');
  const anew = calendars.changesSince(id, { after: 0, base: 0 }, 1);
  assert.ok(anew !== 'expired');
  const rest = calendars.changesSince(id, anew.position, 100);
  assert.ok(rest !== 'expired');
  assert.deepEqual(
    [...anew.changed, ...rest.changed].map(({ name }) => name),
    ['a', 'b'],
  );
  assert.deepEqual([...anew.removed, ...rest.removed], []);
  await assertSound(store);
});

test('removals beyond the number that is remembered are forgotten, the oldest first', async (t) => {
  const store = await openStore(t);
  const { calendars } = store;
  const { id } = await calendars.createCalendar(form('alice', 'work'));
  for (const name of ['a', 'b']) await calendars.putObject(id, name, Buffer.from(name), index(`uid-${name}`));
  await calendars.removeObject(id, 'a');
  await setCounters(store, id, { removed: REMOVALS_MAX });
  const position = { after: 3, base: 3 };
  assert.notEqual(calendars.changesSince(id, position, 10), 'expired');
  await calendars.removeObject(id, 'b');
  assert.equal(calendars.calendar(id)?.removed, REMOVALS_MAX);
  assert.equal(calendars.changesSince(id, position, 10), 'expired');
});

test('positions that are none of the calendar are refused', async (t) => {
  const { calendars } = await openStore(t);
  const { id } = await calendars.createCalendar(form('alice', 'work'));
  assert.equal(calendars.changesSince(id, { after: 99, base: 99 }, 10), 'expired');
  assert.equal(calendars.changesSince(id, { after: 1, base: 0 }, 10), 'expired');
  assert.equal(calendars.changesSince('cal_0000000000000000000000', { after: 0, base: 0 }, 10), 'expired');
});

test('a range finds what a look at everything finds, from the year 1 to the year 9999', async (t) => {
  const { calendars } = await openStore(t);
  const { id } = await calendars.createCalendar(form('alice', 'work'));
  const random = new SeededRandom(11);
  const spans: { name: string; firstAt: number | null; lastAt: number | null }[] = [];
  await calendars.change((draft) => {
    for (let at = 0; at < 400; at += 1) {
      const length = [0, 3_600_000, 20 * DAY, 400 * DAY, 4_000 * DAY, 60_000 * DAY][random.whole(0, 5)] as number;
      const firstAt = at === 0 ? null : Date.UTC(1900 + random.whole(0, 199), random.whole(0, 11), random.whole(0, 27));
      const lastAt = firstAt === null || random.whole(0, 9) === 0 ? null : firstAt + length;
      spans.push({ name: String(at), firstAt, lastAt });
      draft.putObject(id, String(at), Buffer.from('x'), index(`uid-${at}`, firstAt, lastAt));
    }
  });
  for (let times = 0; times < 60; times += 1) {
    const from = Date.UTC(1890 + random.whole(0, 219), random.whole(0, 11), 1);
    const to = from + ([DAY, 31 * DAY, 1_000 * DAY][random.whole(0, 2)] as number);
    const found = new Set(calendars.objectsBetween(id, from, to).map(({ name }) => name));
    for (const { name, firstAt, lastAt } of spans) {
      const isIn =
        firstAt === null ||
        (firstAt < to && (lastAt === null || lastAt > from || (lastAt === firstAt && firstAt >= from)));
      if (isIn) assert.ok(found.has(name), `${name} is in the range`);
      const isFar = firstAt !== null && (firstAt > to + 2 * DAY || (lastAt !== null && lastAt < from - 2 * DAY));
      if (isFar) assert.ok(!found.has(name), `${name} is far from the range`);
    }
  }
});

test('prior states are kept for recovery, the last five, and go when the removal is forgotten', async (t) => {
  const store = await openStore(t);
  const { calendars } = store;
  const { id } = await calendars.createCalendar(form('alice', 'work'));
  for (let text = 0; text <= REVISIONS_MAX + 1; text += 1) {
    await calendars.putObject(id, 'a', Buffer.from(String(text)), index('uid-a'));
  }
  const kept = () => calendars.revisionsOf(id, 'a').map(({ bytes }) => bytes.toString());
  assert.deepEqual(kept(), ['5', '4', '3', '2', '1']);
  await calendars.removeObject(id, 'a');
  assert.deepEqual(kept(), ['6', '5', '4', '3', '2']);
  await calendars.putObject(id, 'b', Buffer.from('b'), index('uid-b'));
  store.now += REMOVAL_MILLIS + DAY;
  await calendars.removeObject(id, 'b');
  assert.deepEqual(kept(), []);
  await assertSound(store);
});

test('each limit is refused one step beyond it, by its code', async (t) => {
  const store = await openStore(t);
  const { calendars } = store;
  const { id } = await calendars.createCalendar(form('alice', 'work'));
  await calendars.putObject(id, 'most', Buffer.alloc(OBJECT_BYTES_MAX), index('uid-most'));
  await assert.rejects(
    calendars.putObject(id, 'more', Buffer.alloc(OBJECT_BYTES_MAX + 1), index('uid-more')),
    refusal('entry_too_large'),
  );
  await assert.rejects(
    calendars.putObject(id, 'todo', Buffer.from('x'), { ...index('uid-todo'), kind: 'todo' }),
    refusal('entry_kind_refused'),
  );
  for (const name of ['', '.', '..', 'a/b', 'a\nb', 'a\0b', '\ud800', 'é'.repeat(128)]) {
    await assert.rejects(calendars.putObject(id, name, Buffer.from('x'), index('uid-x')), refusal('field_invalid'));
  }
  await setCounters(store, id, { objects: OBJECTS_PER_CALENDAR_MAX - 1 });
  await calendars.putObject(id, 'last', Buffer.from('x'), index('uid-last'));
  await assert.rejects(
    calendars.putObject(id, 'beyond', Buffer.from('x'), index('uid-beyond')),
    refusal('calendar_full'),
  );
  await calendars.putObject(id, 'last', Buffer.from('changed'), index('uid-last'));
  await setCounters(store, id, { objects: 2, shares: SHARES_PER_CALENDAR_MAX - 1 });
  await calendars.change((draft) => draft.share(id, 'bob', 'read'));
  await assert.rejects(
    calendars.change((draft) => draft.share(id, 'carol', 'read')),
    refusal('shares_full'),
  );
  await calendars.change((draft) => draft.share(id, 'bob', 'write'));
  for (let at = 1; at < CALENDARS_PER_PERSON_MAX; at += 1) await calendars.createCalendar(form('alice', `c${at}`));
  await assert.rejects(calendars.createCalendar(form('alice', 'beyond')), refusal('calendars_full'));
  await assert.rejects(calendars.createCalendar(form('bob', 'a/b')), refusal('field_invalid'));
  const most = 'x'.repeat(PROPERTIES_BYTES_MAX - 100);
  await calendars.change((draft) => changeProperties(draft, id, 'alice', { '{DAV:}a': most }));
  await assert.rejects(
    calendars.change((draft) => changeProperties(draft, id, 'alice', { '{DAV:}b': 'x'.repeat(200) })),
    refusal('properties_too_large'),
  );
  assert.deepEqual(Object.keys(calendars.properties(id, 'alice')), ['{DAV:}a']);
  assert.deepEqual(calendars.properties(id, 'bob'), {});
});

test('properties of an object go with it, and those of one that is not there are found', async (t) => {
  const store = await openStore(t);
  const { calendars } = store;
  const { id } = await calendars.createCalendar(form('alice', 'work'));
  const keep = async (name: string) =>
    await calendars.change((draft) => changeProperties(draft, objectResource(id, name), ANYBODY, { '{X}a': 'x' }));
  await calendars.putObject(id, 'a', Buffer.from('x'), index('uid'));
  await keep('a');
  assert.deepEqual(calendars.objectProperties(id, 'a'), { '{X}a': 'x' });
  await calendars.removeObject(id, 'a');
  assert.deepEqual(calendars.objectProperties(id, 'a'), {});
  await calendars.putObject(id, 'b', Buffer.from('x'), index('uid'));
  await keep('b');
  await keep('gone');
  const problems = await problemsOf(store);
  assert.equal(problems.length, 1);
  assert.match(String(problems[0]), /gone.*are of no object/);
});

test('a name of a calendar is its own among the owner’s', async (t) => {
  const { calendars } = await openStore(t);
  const both = await Promise.allSettled([1, 2].map(() => calendars.createCalendar(form('alice', 'work'))));
  assert.equal(both[0]?.status, 'fulfilled');
  assert.ok(both[1]?.status === 'rejected' && refusal('calendar_name_taken')(both[1].reason));
  await calendars.createCalendar(form('bob', 'work'));
});

test('a removed calendar is gone for everybody at once, and off the disk soon, also over a restart', async (t) => {
  const store = await openStore(t);
  const { id } = await store.calendars.createCalendar(form('alice', 'work'));
  await store.calendars.change((draft) => {
    draft.share(id, 'bob', 'read');
    changeProperties(draft, id, 'bob', { '{DAV:}a': 'x' });
    for (let at = 0; at < 1_200; at += 1) draft.putObject(id, String(at), Buffer.from('x'), index(`uid-${at}`));
  });
  const removed = store.calendars.removeCalendar(id);
  await removed;
  assert.deepEqual(store.calendars.accessibleTo('bob'), []);
  assert.equal(store.calendars.accessOf('bob', id), undefined);
  await store.calendars.close();
  store.calendars = Calendars.open(store.folder, { now: () => store.now });
  await store.calendars.purged();
  const { tables } = store.calendars.environment;
  for (const table of ['objects', 'bodies', 'times', 'uids', 'changes', 'shares', 'shared', 'properties'] as const) {
    assert.equal([...tables[table].getKeys()].length, 0, table);
  }
  await assertSound(store);
});
