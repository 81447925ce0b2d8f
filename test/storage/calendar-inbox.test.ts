/** Inboxes in the store: what they hold at most, and that nobody has one as a calendar. */
import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';
import { eraseCalendarsOf } from '#storage/calendars/calendar-erasure.ts';
import { ensureInbox, INBOX_BYTES_MAX, INBOX_MESSAGES_MAX, putMessage } from '#storage/calendars/calendar-inbox.ts';
import { SYNC_START } from '#storage/calendars/calendar-reader.ts';
import { key } from '#storage/engine/keys.ts';
import type { CalendarTouch } from '#storage/calendars/calendar-draft.ts';
import { OBJECT_BYTES_MAX, type CalendarRecord, type ObjectIndex } from '#storage/calendars/calendar-records.ts';
import { Calendars } from '#storage/calendars/calendars.ts';
import { checkCalendars } from '#storage/check/calendar-check.ts';
import { Findings } from '#storage/engine/findings.ts';
import { temporaryFolder } from '#test/support/temporary-folder.ts';

const NOON = Date.UTC(2026, 10, 23, 12);
const INDEX: ObjectIndex = {
  ...{ uid: 'meeting', kind: 'event', firstAt: NOON, lastAt: NOON + 3_600_000, recurring: false },
  ...{ transparent: false, scheduled: true, unanswered: true },
};

interface Store {
  readonly folder: string;
  readonly calendars: Calendars;
  /** Calendars that somebody was told of. */
  readonly told: string[];
}

function openStore(t: TestContext): Store {
  const folder = temporaryFolder(t);
  const told: string[] = [];
  const onChange = ({ calendar }: CalendarTouch) => void told.push(calendar.id);
  const calendars = Calendars.open(folder, { now: () => NOON, onChange });
  t.after(async () => await calendars.close());
  return { folder, calendars, told };
}

async function put({ calendars }: Store, bytes: Buffer, topic?: string): Promise<void> {
  const message = { bytes, index: INDEX, ...(topic === undefined ? {} : { topic }) };
  await calendars.change((draft) => putMessage(draft, 'alice', 'Europe/Berlin', message));
}

const inboxOf = ({ calendars }: Store) => calendars.inboxOf('alice') as CalendarRecord;

async function assertSound({ folder, calendars }: Store): Promise<void> {
  await calendars.close();
  const findings = new Findings('');
  await checkCalendars(folder, findings);
  assert.deepEqual(findings.problems, []);
}

test('CAL-04 an inbox is no calendar: no list has it, it counts for nobody and nobody is told of it', async (t) => {
  const store = openStore(t);
  const { calendars } = store;
  assert.equal(calendars.inboxOf('alice'), undefined);
  await put(store, Buffer.from('one'));
  const { id, objects, owner } = inboxOf(store);
  assert.deepEqual([objects, owner], [1, 'alice']);
  assert.deepEqual([calendars.accessibleTo('alice'), calendars.ownedBy('alice')], [[], []]);
  assert.deepEqual([calendars.accessOf('alice', id), calendars.accessOf('bob', id)], [undefined, undefined]);
  assert.deepEqual(calendars.calendarUse('alice'), { entries: 0, bytes: 0 });
  assert.equal(calendars.calendarsOwned('alice'), 0);
  assert.deepEqual(calendars.unansweredOf('alice', { limit: 10 }), []);
  assert.deepEqual(store.told, []);
  assert.equal(calendars.environment.tables.behind.get(key(id)), undefined, 'no alarms are looked for');
  await assertSound(store);
});

test('CAL-04 an inbox is made once, by whoever comes first', async (t) => {
  const store = openStore(t);
  const made = await Promise.all(
    ['UTC', 'Europe/Berlin'].map((zone) => store.calendars.change((draft) => ensureInbox(draft, 'alice', zone))),
  );
  assert.equal(made[0]?.id, made[1]?.id);
  assert.equal(inboxOf(store).zone, 'UTC');
});

test('CAL-04 of more messages than an inbox holds the oldest go, and whoever syncs is told', async (t) => {
  const store = openStore(t);
  const { calendars } = store;
  for (let at = 1; at <= INBOX_MESSAGES_MAX; at += 1) await put(store, Buffer.from(`message ${at}`));
  const { id, syncSeq } = inboxOf(store);
  const full = calendars.objects(id);
  assert.equal(full.length, INBOX_MESSAGES_MAX);
  const oldest = full.toSorted((one, other) => one.seq - other.seq);
  // One in the middle is read and removed by a client: there is room for one.
  await calendars.removeObject(id, oldest[1]?.name as string);
  await put(store, Buffer.from('in the gap'));
  assert.ok(calendars.object(id, oldest[0]?.name as string) !== undefined);
  await put(store, Buffer.from('one more'));
  await put(store, Buffer.from('and another'));
  const left = new Set(calendars.objects(id).map(({ name }) => name));
  assert.equal(left.size, INBOX_MESSAGES_MAX);
  assert.deepEqual(
    oldest.slice(0, 4).map(({ name }) => left.has(name)),
    [false, false, false, true],
  );
  const delta = calendars.changesSince(id, { after: syncSeq, base: syncSeq }, 100);
  assert.ok(delta !== 'expired');
  assert.deepEqual([delta.changed.length, delta.removed.length], [3, 3]);
  await assertSound(store);
});

test('CAL-04 of more bytes than an inbox holds the oldest go', async (t) => {
  const store = openStore(t);
  const { calendars } = store;
  const many = INBOX_BYTES_MAX / OBJECT_BYTES_MAX;
  for (let at = 0; at < many; at += 1) await put(store, Buffer.alloc(OBJECT_BYTES_MAX, at));
  assert.deepEqual([inboxOf(store).objects, inboxOf(store).bytes], [many, INBOX_BYTES_MAX]);
  await put(store, Buffer.from('x'));
  assert.equal(inboxOf(store).objects, many);
  assert.equal(inboxOf(store).bytes, INBOX_BYTES_MAX - OBJECT_BYTES_MAX + 1);
  assert.equal(calendars.objects(inboxOf(store).id).length, many);
  await assertSound(store);
});

test('CAL-04 a message takes the place of the one about the same, under another name', async (t) => {
  const store = openStore(t);
  const { calendars } = store;
  await put(store, Buffer.from('first'), 'topic');
  await put(store, Buffer.from('other'), 'another topic');
  const [before] = calendars.objects(inboxOf(store).id);
  await put(store, Buffer.from('second'), 'topic');
  const { id } = inboxOf(store);
  const name = calendars.nameByUid(id, 'topic') as string;
  assert.equal(calendars.bytesOf(id, name)?.toString(), 'second');
  assert.notEqual(name, before?.name);
  assert.equal(calendars.objects(id).length, 2);
  await assertSound(store);
});

test('an erased person has no inbox any more, and what was in it is off the disk', async (t) => {
  const store = openStore(t);
  const { calendars } = store;
  await put(store, Buffer.from('a message with words'));
  const { id } = inboxOf(store);
  await eraseCalendarsOf(calendars, 'alice', { actor: 'server', address: null });
  assert.equal(calendars.inboxOf('alice'), undefined);
  assert.deepEqual([...calendars.environment.tables.bodies.getRange()], []);
  assert.equal(calendars.changesSince(id, SYNC_START, 10), 'expired');
  await assertSound(store);
});
