/** Scheduling messages on their way: what comes after a kill, what is tried again, and what is given up. */
import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import { systemClock } from '#src/base/clock.ts';
import { AddressBook } from '#src/calendar/address-book.ts';
import { ensureDefaultCalendar } from '#src/calendar/calendar-access.ts';
import { DerivationPool } from '#src/calendar/objects/derivation-pool.ts';
import { CalendarObjectWriter } from '#src/calendar/objects/object-writer.ts';
import { Deliveries, type DeliveriesOptions } from '#src/calendar/scheduling/deliveries.ts';
import { Scheduler } from '#src/calendar/scheduling/scheduler.ts';
import type { EntryView } from '#src/protocol/calendars/calendars.ts';
import { Refusal } from '#src/protocol/errors.ts';
import { CalendarReader } from '#storage/calendars/calendar-reader.ts';
import { openCalendars } from '#storage/calendars/calendar-records.ts';
import { Calendars } from '#storage/calendars/calendars.ts';
import { checkFolder } from '#storage/check/check.ts';
import { startServer } from '#test/support/server.ts';
import { temporaryFolder } from '#test/support/temporary-folder.ts';
import { until } from '#test/support/waiting.ts';
import { call, defaultCalendar, eventText } from '../service/calling.ts';
import { NO_MAIL } from '../no-mail.ts';

const PEOPLE = ['alice', 'bob', 'carol', 'dave'].map((user, at) => ({
  ...({ user, kind: 'person', state: 'active', rev: at + 1 } as const),
  ...{ display_name: user, email: `${user}@example.org` },
}));

type Apply = DerivationPool['apply'];

interface Fixture {
  readonly calendars: Calendars;
  readonly deliveries: Deliveries;
  /** Errors that were logged. */
  readonly errors: string[];
  /** Alice writes an event of hers that she invites others to. */
  readonly invite: (uid: string, attendees: readonly string[], title?: string) => Promise<unknown>;
  /** The text of somebody's copy; undefined where there is none. */
  readonly copyOf: (user: string, uid: string) => string | undefined;
}

/** Deliveries over a store of their own; `through` is what stands between them and the pool. */
async function deliver(
  t: TestContext,
  through: (apply: Apply, calendars: Calendars) => Apply = (apply) => apply,
  more: Partial<DeliveriesOptions> = {},
): Promise<Fixture> {
  const calendars = Calendars.open(temporaryFolder(t), { now: () => systemClock.now() });
  const book = new AddressBook({
    entry: (user) => PEOPLE.find((entry) => entry.user === user),
    changedSince: (after) => ({ entries: PEOPLE.filter(({ rev }) => rev > after), rev: PEOPLE.length, more: false }),
    holdersOf: () => [],
  });
  await book.prepare();
  const pool = new DerivationPool();
  const errors: string[] = [];
  const note = (message: string) => void errors.push(message);
  const log = { error: note, warn: note };
  const apply = through(async (task) => await pool.apply(task), calendars);
  const deliveries = new Deliveries({
    ...{ calendars, book, log, clock: systemClock, isPerson: () => true },
    pool: {
      apply,
      derive: async (...of) => await pool.derive(...of),
      takeProposal: async (task) => await pool.takeProposal(task),
    },
    ...more,
  });
  t.after(async () => {
    await deliveries.close();
    await pool.close();
    await calendars.close();
  });
  const scheduler = new Scheduler({ pool, book, clock: systemClock, deliveries, mail: NO_MAIL, mayInvite: () => true });
  const writer = new CalendarObjectWriter({ calendars, pool, book, scheduler, clock: systemClock });
  await ensureDefaultCalendar(calendars, 'alice');
  calendars.refresh();
  const own = calendars.ownedByName('alice', 'default') as string;
  const lineOf = (user: string) => `ATTENDEE:mailto:${user}@example.org`;
  return {
    calendars,
    deliveries,
    errors,
    invite: async (uid, attendees, title = 'Talk') => {
      const lines = ['ORGANIZER:mailto:alice@example.org', ...attendees.map(lineOf)];
      const text = eventText(uid, lines).replace('SUMMARY:Talk', `SUMMARY:${title}`);
      return await writer.put('alice', own, `${uid}.ics`, Buffer.from(text), {});
    },
    copyOf: (user, uid) => {
      calendars.refresh();
      const id = calendars.ownedByName(user, 'default');
      const name = id === undefined ? undefined : calendars.nameByUid(id, uid);
      return name === undefined ? undefined : calendars.bytesOf(id as string, name)?.toString();
    },
  };
}

/** How many recipients wait. */
function waitingIn({ environment }: CalendarReader): number {
  environment.refresh();
  return environment.tables.deliveries.getKeysCount();
}

/** The deliveries have nothing left to do, and know it. */
async function settled(deliveries: Deliveries): Promise<void> {
  await until(() => deliveries.metrics.parley_calendar_deliveries_waiting[0]?.value === 0, 'the deliveries');
}

const unfolded = (text = ''): string => text.replaceAll('\r\n ', '');
const isUndelivered = (text: string | undefined, user: string): boolean =>
  unfolded(text)
    .split('\r\n')
    .some((line) => line.includes(`mailto:${user}@`) && /SCHEDULE-STATUS="?5\.1/.test(line));

test('CAL-02 one recipient more than may wait is told busy, and nothing of that change is stored', async (t) => {
  const gate = Promise.withResolvers<void>();
  const { calendars, copyOf, deliveries, invite } = await deliver(
    t,
    (apply) => async (task) => {
      await gate.promise;
      return await apply(task);
    },
    { waitingMax: 3 },
  );
  await invite('first', ['bob', 'carol']);
  await assert.rejects(invite('beyond', ['bob', 'carol']), { code: 'busy' });
  assert.equal(copyOf('alice', 'beyond'), undefined);
  await invite('last', ['bob']);
  assert.equal(waitingIn(calendars), 3);
  await assert.rejects(invite('beyond', ['bob']), { code: 'busy' });
  gate.resolve();
  await settled(deliveries);
  await invite('beyond', ['bob', 'carol', 'dave']);
  await settled(deliveries);
  assert.ok(['bob', 'carol', 'dave'].every((user) => copyOf(user, 'beyond') !== undefined));
});

test('CAL-02 a delivery that the load refused is tried again, in its order', async (t) => {
  let refused = 0;
  const { calendars, copyOf, errors, invite } = await deliver(t, (apply) => async (task) => {
    if (refused === 2) return await apply(task);
    refused += 1;
    throw new Refusal('busy');
  });
  await invite('talk', ['bob']);
  await invite('talk', ['bob'], 'Moved');
  await until(() => waitingIn(calendars) === 0, 'the deliveries');
  assert.match(copyOf('bob', 'talk') ?? '', /SUMMARY:Moved/);
  assert.deepEqual([refused, errors], [2, []]);
});

test('CAL-02 a copy that its owner changes meanwhile is worked out anew, and keeps what is theirs', async (t) => {
  const alarm = ['BEGIN:VALARM', 'TRIGGER:-PT5M', 'ACTION:DISPLAY', 'END:VALARM', 'END:VEVENT'].join('\r\n');
  let changes = 0;
  const { calendars, copyOf, invite } = await deliver(t, (apply, store) => async (task) => {
    const applied = await apply(task);
    if (task.kind === 'apply' && task.copy !== undefined && changes === 0) {
      changes += 1;
      const id = store.ownedByName('bob', 'default') as string;
      const name = store.nameByUid(id, 'talk') as string;
      const bytes = Buffer.from(Buffer.from(task.copy).toString().replace('END:VEVENT', alarm));
      const index = store.object(id, name);
      assert.ok(index !== undefined);
      await store.putObject(id, name, bytes, index);
    }
    return applied;
  });
  await invite('talk', ['bob']);
  await until(() => waitingIn(calendars) === 0, 'the invitation');
  await invite('talk', ['bob'], 'Moved');
  await until(() => waitingIn(calendars) === 0, 'the update');
  const copy = copyOf('bob', 'talk') ?? '';
  assert.equal(changes, 1);
  assert.match(copy, /SUMMARY:Moved/);
  assert.match(copy, /TRIGGER:-PT5M/);
});

test('CAL-02 a delivery that cannot be made is given up, the organiser sees it, and others get theirs', async (t) => {
  const { calendars, copyOf, deliveries, errors, invite } = await deliver(t, (apply) => async (task) => {
    if (task.kind === 'apply' && task.to === 'bob') throw new Error('broken');
    return await apply(task);
  });
  await invite('talk', ['bob', 'carol']);
  await until(() => waitingIn(calendars) === 0, 'the deliveries');
  assert.equal(copyOf('bob', 'talk'), undefined);
  assert.match(copyOf('carol', 'talk') ?? '', /SUMMARY:Talk/);
  const own = copyOf('alice', 'talk');
  assert.deepEqual([isUndelivered(own, 'bob'), isUndelivered(own, 'carol')], [true, false]);
  assert.deepEqual(errors, ['a scheduling message could not be delivered']);
  await settled(deliveries);
  const ended = deliveries.metrics.parley_calendar_deliveries_total;
  const counts = new Map(ended.map(({ labels, value }) => [labels[0], value]));
  assert.deepEqual([counts.get('delivered'), counts.get('failed'), counts.size], [1, 1, 2]);
});

test('CAL-02 who left while an invitation was on its way gets no calendar any more', async (t) => {
  const { calendars, copyOf, invite } = await deliver(t, undefined, { isPerson: (user) => user !== 'bob' });
  await invite('talk', ['bob']);
  await until(() => waitingIn(calendars) === 0, 'the delivery');
  assert.deepEqual(calendars.accessibleTo('bob'), []);
  assert.ok(isUndelivered(copyOf('alice', 'talk'), 'bob'));
});

test('CAL-02 after kill -9 between a write and its delivery each attendee gets each copy exactly once', async (t) => {
  const folder = await mkdtemp(join(tmpdir(), 'parley-test-'));
  t.after(async () => await rm(folder, { recursive: true, force: true }));
  const server = await startServer({ folder });
  t.after(async () => await server.end('SIGKILL'));
  const { alice, bob, carol } = await server.people('alice', 'bob', 'carol');
  for (const one of [bob, carol]) await defaultCalendar(server, one);
  const { id } = await defaultCalendar(server, alice);
  const acknowledged: string[] = [];
  const killed = { is: false };
  const form = { start_at: '2026-11-23T09:00:00Z', end_at: '2026-11-23T10:00:00Z', attendees: ['bob', 'carol'] };
  const writers = Array.from({ length: 8 }, async (_, writer) => {
    for (let number = 0; !killed.is; number += 1) {
      const body = { ...form, title: `Talk ${writer} ${number}` };
      const path = `/v1/calendars/${id}/entries`;
      const reply = await call<EntryView>(server, alice, 'POST', path, body).catch(() => undefined);
      if (reply?.status === 201) acknowledged.push(reply.body.uid);
    }
  });
  await until(() => acknowledged.length >= 40, 'forty acknowledged changes');
  await server.end('SIGKILL');
  killed.is = true;
  await Promise.all(writers);
  const killedOff = new CalendarReader(openCalendars(folder));
  const left = waitingIn(killedOff);
  await killedOff.close();
  assert.ok(left > 0, 'something was on its way when the process ended');
  assert.deepEqual((await checkFolder(folder)).problems, []);
  const again = await startServer({ folder });
  t.after(async () => await again.end('SIGKILL'));
  const looking = new CalendarReader(openCalendars(folder));
  await until(() => waitingIn(looking) === 0, 'the deliveries');
  await looking.close();
  await again.stop();
  assert.deepEqual((await checkFolder(folder)).problems, []);
  const reader = new CalendarReader(openCalendars(folder));
  const uidsOf = (calendar: string) => reader.objects(calendar).map(({ uid }) => uid);
  const written = uidsOf(id).toSorted();
  assert.deepEqual(
    acknowledged.filter((uid) => !written.includes(uid)),
    [],
  );
  for (const user of ['bob', 'carol']) {
    const [own, ...others] = reader.accessibleTo(user);
    assert.ok(own !== undefined && others.length === 0);
    assert.deepEqual(uidsOf(own.calendar.id).toSorted(), written, user);
    // A calendar begins at 1, and every writing of a copy raises it: each was written once.
    assert.equal(own.calendar.syncSeq, 1 + written.length, user);
  }
  await reader.close();
});
