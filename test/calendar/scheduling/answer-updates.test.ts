/** Answers shown to the other attendees: gathered, once, within bounds, and never round (CAL-03). */
import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';
import { AddressBook } from '#src/calendar/address-book.ts';
import { ensureDefaultCalendar } from '#src/calendar/calendar-access.ts';
import { DerivationPool } from '#src/calendar/objects/derivation-pool.ts';
import { CalendarObjectWriter } from '#src/calendar/objects/object-writer.ts';
import {
  ANSWERS_GATHERED_MILLIS,
  ANSWERS_SHOWN_TO_MAX,
  AnswerUpdates,
  OBJECTS_AT_ONCE,
} from '#src/calendar/scheduling/answer-updates.ts';
import { Deliveries, type DeliveriesOptions } from '#src/calendar/scheduling/deliveries.ts';
import { Scheduler } from '#src/calendar/scheduling/scheduler.ts';
import type { ObjectRecord } from '#storage/calendars/calendar-records.ts';
import { Calendars } from '#storage/calendars/calendars.ts';
import { temporaryFolder } from '#test/support/temporary-folder.ts';
import { until } from '#test/support/waiting.ts';
import { eventText } from '../service/calling.ts';
import { NO_MAIL } from '../no-mail.ts';

type Derive = DerivationPool['derive'];

interface SceneOptions {
  readonly people?: readonly string[];
  readonly mayInvite?: (organizer: string, user: string) => boolean;
  /** Stands between the updates and the pool. */
  readonly through?: (derive: Derive) => Derive;
  readonly deliveries?: Partial<DeliveriesOptions>;
}

/** Answers over a store of their own, with a clock that can be set. Alice organises. */
async function open(t: TestContext, { people = ['alice', 'bob', 'carol', 'dave'], ...options }: SceneOptions = {}) {
  let now = Date.UTC(2026, 10, 21, 8);
  const clock = { now: () => now };
  const calendars = Calendars.open(temporaryFolder(t), { now: () => clock.now() });
  const entries = people.map((user, at) => ({
    ...({ user, kind: 'person', state: 'active', rev: at + 1 } as const),
    ...{ display_name: user, email: `${user}@example.org` },
  }));
  const book = new AddressBook({
    entry: (user) => entries.find((entry) => entry.user === user),
    changedSince: (after) => ({ entries: entries.filter(({ rev }) => rev > after), rev: entries.length, more: false }),
    holdersOf: () => [],
  });
  await book.prepare();
  const pool = new DerivationPool();
  const errors: string[] = [];
  const note = (message: string) => void errors.push(message);
  const log = { error: note, warn: note };
  const parts = { calendars, pool, book, clock, log, isPerson: () => true };
  const deliveries = new Deliveries({ ...parts, ...options.deliveries });
  const mayInvite = options.mayInvite ?? (() => true);
  const derive: Derive = async (...of) => await pool.derive(...of);
  let refusals = 0;
  const updates = new AnswerUpdates({
    ...{ ...parts, mayInvite, pool: { derive: options.through?.(derive) ?? derive } },
    deliveries: {
      send: (draft, sending) => {
        try {
          deliveries.send(draft, sending);
        } catch (error) {
          refusals += 1;
          throw error;
        }
      },
      wake: () => deliveries.wake(),
    },
  });
  t.after(async () => {
    await updates.stop();
    await deliveries.close();
    await pool.close();
    await calendars.close();
  });
  const scheduler = new Scheduler({ pool, book, clock, deliveries, mail: NO_MAIL, mayInvite: () => true });
  const writer = new CalendarObjectWriter({ calendars, pool, book, scheduler, clock });
  await ensureDefaultCalendar(calendars, 'alice');
  const calendarOf = (user: string): string => {
    calendars.refresh();
    return calendars.ownedByName(user, 'default') as string;
  };
  const nameOf = (user: string, uid: string) => calendars.nameByUid(calendarOf(user), uid) ?? '';
  const textOf = (user: string, uid: string) =>
    calendars.bytesOf(calendarOf(user), nameOf(user, uid))?.toString().replaceAll('\r\n ', '') ?? '';
  const put = async (user: string, uid: string, text: string) =>
    await writer.put(user, calendarOf(user), nameOf(user, uid) || `${uid}.ics`, Buffer.from(text), {});
  const delivered = async () =>
    await until(() => {
      calendars.refresh();
      return calendars.environment.tables.deliveries.getKeysCount() === 0;
    }, 'the deliveries');
  const noted = () => {
    calendars.refresh();
    return calendars.environment.tables.answers.getKeysCount();
  };
  return {
    ...{ calendars, errors, writer, calendarOf, nameOf, textOf, put, delivered, noted },
    invite: async (uid: string, attendees: readonly string[]) => {
      const lines = attendees.map((user) => `ATTENDEE:mailto:${user}@example.org`);
      await put('alice', uid, eventText(uid, ['ORGANIZER:mailto:alice@example.org', ...lines]));
      await delivered();
    },
    /** Changes somebody's own line in their copy, and waits for it at the organiser. */
    answer: async (user: string, uid: string, partstat: string) => {
      const own = new RegExp(`ATTENDEE[^\\r]*:mailto:${user}@example.org`);
      await put(user, uid, textOf(user, uid).replace(own, `ATTENDEE;PARTSTAT=${partstat}:mailto:${user}@example.org`));
      await delivered();
    },
    /** What somebody's copy says of somebody. */
    saidOf: (user: string, uid: string, whom: string) =>
      new RegExp(`PARTSTAT=([\\w-]+)[^\\r]*:mailto:${whom}@`).exec(textOf(user, uid))?.[1],
    syncSeqOf: (user: string) => calendars.calendar(calendarOf(user))?.syncSeq,
    recordOf: (user: string, uid: string) => calendars.object(calendarOf(user), nameOf(user, uid)) as ObjectRecord,
    setClock: (millis: number) => {
      now += millis;
    },
    /** Sends what is due, which the deliveries refuse. */
    refused: async () => {
      updates.wake();
      await until(() => refusals > 0, 'a refusal');
    },
    /** Sends what is due, and waits until it is delivered. */
    shown: async (left = 0) => {
      updates.wake();
      await until(() => noted() === left, 'the updates');
      await delivered();
    },
    results: () =>
      Object.fromEntries(
        updates.metrics.parley_calendar_answer_updates_total.map(({ labels, value }) => [labels[0], value]),
      ),
  };
}

test('CAL-03 answers within a while are one update, which changes nothing else and is followed by none', async (t) => {
  const scene = await open(t);
  await scene.invite('talk', ['bob', 'carol', 'dave']);
  const alarm = 'TRANSP:TRANSPARENT\r\nBEGIN:VALARM\r\nTRIGGER:-PT5M\r\nACTION:DISPLAY\r\nEND:VALARM\r\nEND:VEVENT';
  await scene.put('carol', 'talk', scene.textOf('carol', 'talk').replace('END:VEVENT', alarm));
  await scene.answer('bob', 'talk', 'ACCEPTED');
  await scene.answer('dave', 'talk', 'DECLINED');
  assert.equal(scene.noted(), 1);
  const people = ['alice', 'bob', 'carol', 'dave'];
  const before = people.map((user) => scene.syncSeqOf(user) as number);
  const [own, copy, record] = [
    scene.textOf('alice', 'talk'),
    scene.textOf('carol', 'talk'),
    scene.recordOf('carol', 'talk'),
  ];
  assert.deepEqual([scene.saidOf('carol', 'talk', 'bob'), record.unanswered], [undefined, true]);
  scene.setClock(ANSWERS_GATHERED_MILLIS);
  await scene.shown();
  const expected = copy
    .replace('ATTENDEE:mailto:bob', 'ATTENDEE;PARTSTAT=ACCEPTED:mailto:bob')
    .replace('ATTENDEE:mailto:dave', 'ATTENDEE;PARTSTAT=DECLINED:mailto:dave');
  assert.equal(scene.textOf('carol', 'talk'), expected);
  assert.equal(scene.textOf('alice', 'talk'), own);
  assert.equal(scene.saidOf('bob', 'talk', 'dave'), 'DECLINED');
  assert.deepEqual(
    people.map((user, at) => (scene.syncSeqOf(user) as number) - (before[at] as number)),
    [0, 1, 1, 1],
  );
  const after = scene.recordOf('carol', 'talk');
  assert.deepEqual([after.scheduleTag, after.unanswered], [record.scheduleTag, true]);
  assert.notEqual(after.etag, record.etag);
  // Who has answered is not asked again.
  assert.equal(scene.recordOf('bob', 'talk').unanswered, false);
  assert.equal(scene.noted(), 0, 'an update is no answer');
  assert.deepEqual(scene.results(), { sent: 1 });
});

test('CAL-03 the first answer sets the time, also where the clock is set back by hours', async (t) => {
  const scene = await open(t);
  for (const uid of ['first', 'second']) await scene.invite(uid, ['bob', 'carol']);
  await scene.answer('bob', 'first', 'TENTATIVE');
  scene.setClock(ANSWERS_GATHERED_MILLIS - 5_000);
  await scene.answer('bob', 'first', 'ACCEPTED');
  await scene.answer('bob', 'second', 'ACCEPTED');
  scene.setClock(5_000);
  await scene.shown(1);
  assert.equal(scene.saidOf('carol', 'first', 'bob'), 'ACCEPTED');
  assert.equal(scene.saidOf('carol', 'second', 'bob'), undefined);
  scene.setClock(-7_200_000);
  await scene.shown();
  assert.equal(scene.saidOf('carol', 'second', 'bob'), 'ACCEPTED');
});

test('CAL-03 a copy that was removed does not come back, and none is made', async (t) => {
  const scene = await open(t);
  await scene.invite('talk', ['bob', 'carol', 'dave']);
  const id = scene.calendarOf('carol');
  await scene.writer.remove('carol', id, scene.nameOf('carol', 'talk'), {}, { isSilent: true });
  await scene.answer('bob', 'talk', 'ACCEPTED');
  const before = scene.syncSeqOf('carol');
  scene.setClock(ANSWERS_GATHERED_MILLIS);
  await scene.shown();
  assert.equal(scene.saidOf('dave', 'talk', 'bob'), 'ACCEPTED');
  assert.deepEqual([scene.textOf('carol', 'talk'), scene.syncSeqOf('carol')], ['', before]);
  // Known already: nothing is written.
  const [bobs, daves] = [scene.syncSeqOf('bob'), scene.syncSeqOf('dave')];
  await scene.answer('bob', 'talk', 'DECLINED');
  await scene.answer('bob', 'talk', 'ACCEPTED');
  scene.setClock(ANSWERS_GATHERED_MILLIS);
  await scene.shown();
  assert.deepEqual([(scene.syncSeqOf('bob') as number) - 2, scene.syncSeqOf('dave')], [bobs, daves]);
});

test('CAL-03 one object more than is worked on at a time comes in the same turn', async (t) => {
  const scene = await open(t);
  const uids = Array.from({ length: OBJECTS_AT_ONCE + 1 }, (_, at) => `talk-${at}`);
  for (const uid of uids) {
    await scene.invite(uid, ['bob', 'carol']);
    await scene.answer('bob', uid, 'ACCEPTED');
  }
  assert.equal(scene.noted(), 17);
  scene.setClock(ANSWERS_GATHERED_MILLIS);
  await scene.shown();
  assert.ok(uids.every((uid) => scene.saidOf('carol', uid, 'bob') === 'ACCEPTED'));
});

test('CAL-03 one person more than are kept up to date sees answers at the organiser’s next change', async (t) => {
  assert.equal(ANSWERS_SHOWN_TO_MAX, 256);
  const guests = ['bob', 'carol', ...Array.from({ length: 255 }, (_, at) => `guest${at}`)];
  const scene = await open(t, { people: ['alice', ...guests] });
  await scene.invite('large', guests.slice(0, 256));
  await scene.invite('larger', guests);
  for (const uid of ['large', 'larger']) await scene.answer('bob', uid, 'ACCEPTED');
  scene.setClock(ANSWERS_GATHERED_MILLIS);
  await scene.shown();
  assert.deepEqual(scene.results(), { sent: 1, too_many: 1 });
  assert.equal(scene.saidOf('guest253', 'large', 'bob'), 'ACCEPTED');
  assert.equal(scene.saidOf('carol', 'larger', 'bob'), undefined);
  await scene.put('alice', 'larger', scene.textOf('alice', 'larger').replace('SUMMARY:Talk', 'SUMMARY:Moved'));
  await scene.delivered();
  assert.equal(scene.saidOf('carol', 'larger', 'bob'), 'ACCEPTED');
});

test('CAL-03 an update waits while too many deliveries do', async (t) => {
  const gate = Promise.withResolvers<void>();
  const held = { is: false };
  const pool = new DerivationPool();
  const apply: DerivationPool['apply'] = async (task) => {
    if (held.is) await gate.promise;
    return await pool.apply(task);
  };
  const derive: Derive = async (...of) => await pool.derive(...of);
  const takeProposal: DerivationPool['takeProposal'] = async (task) => await pool.takeProposal(task);
  const scene = await open(t, { deliveries: { waitingMax: 4, pool: { apply, derive, takeProposal } } });
  await scene.invite('talk', ['bob', 'carol']);
  await scene.answer('bob', 'talk', 'ACCEPTED');
  held.is = true;
  const lines = ['bob', 'carol', 'dave'].map((user) => `ATTENDEE:mailto:${user}@example.org`);
  await scene.put('alice', 'other', eventText('other', ['ORGANIZER:mailto:alice@example.org', ...lines]));
  scene.setClock(ANSWERS_GATHERED_MILLIS);
  await scene.refused();
  assert.deepEqual([scene.noted(), scene.saidOf('carol', 'talk', 'bob')], [1, undefined]);
  gate.resolve();
  await until(() => scene.noted() === 0, 'the update that nobody asked for again');
  await scene.delivered();
  assert.equal(scene.saidOf('carol', 'talk', 'bob'), 'ACCEPTED');
  await pool.close();
});

test('CAL-03 an update of an object that changes meanwhile is worked out anew', async (t) => {
  const during: (() => Promise<unknown>)[] = [];
  const scene = await open(t, {
    through: (derive) => async (bytes, zone) => {
      await during.pop()?.();
      return await derive(bytes, zone);
    },
  });
  await scene.invite('talk', ['bob', 'carol', 'dave']);
  await scene.answer('bob', 'talk', 'ACCEPTED');
  during.push(async () => await scene.answer('dave', 'talk', 'TENTATIVE'));
  scene.setClock(ANSWERS_GATHERED_MILLIS);
  await scene.shown();
  assert.deepEqual(
    [scene.saidOf('carol', 'talk', 'bob'), scene.saidOf('carol', 'talk', 'dave')],
    ['ACCEPTED', 'TENTATIVE'],
  );
});

test('CAL-03 a fault gives up one update, and others get theirs', async (t) => {
  const scene = await open(t, {
    through: (derive) => async (bytes, zone) => {
      if (Buffer.from(bytes).includes('UID:broken')) throw new Error('broken');
      return await derive(bytes, zone);
    },
  });
  for (const uid of ['broken', 'talk']) {
    await scene.invite(uid, ['bob', 'carol']);
    await scene.answer('bob', uid, 'ACCEPTED');
  }
  scene.setClock(ANSWERS_GATHERED_MILLIS);
  await scene.shown();
  assert.deepEqual(
    [scene.saidOf('carol', 'broken', 'bob'), scene.saidOf('carol', 'talk', 'bob')],
    [undefined, 'ACCEPTED'],
  );
  assert.deepEqual(scene.errors, ['answers could not be shown to the others']);
  assert.deepEqual(scene.results(), { failed: 1, sent: 1 });
});

test('CAL-03 who may not be invited any more is shown nothing; what was moved is found, what is gone is forgotten', async (t) => {
  const scene = await open(t, { mayInvite: (organizer, user) => organizer === 'alice' && user !== 'carol' });
  for (const uid of ['talk', 'gone']) {
    await scene.invite(uid, ['bob', 'carol', 'dave']);
    await scene.answer('bob', uid, 'ACCEPTED');
  }
  const [work, id] = [await scene.calendars.createCalendar(WORK), scene.calendarOf('alice')];
  const options = { overwrite: false };
  await scene.writer.move(
    'alice',
    { calendar: id, name: 'talk.ics' },
    { calendar: work.id, name: 'talk.ics' },
    options,
  );
  await scene.calendars.removeObject(id, 'gone.ics');
  scene.setClock(ANSWERS_GATHERED_MILLIS);
  await scene.shown();
  assert.deepEqual(
    [scene.saidOf('carol', 'talk', 'bob'), scene.saidOf('dave', 'talk', 'bob')],
    [undefined, 'ACCEPTED'],
  );
  assert.deepEqual(scene.results(), { sent: 1 });
});

test('CAL-03 a calendar takes its notes of answers along', async (t) => {
  const scene = await open(t);
  await scene.invite('talk', ['bob', 'carol']);
  await scene.answer('bob', 'talk', 'ACCEPTED');
  assert.equal(scene.noted(), 1);
  await scene.calendars.removeCalendar(scene.calendarOf('alice'));
  await scene.calendars.purged();
  assert.equal(scene.noted(), 0);
});

const WORK = {
  ...({ owner: 'alice', name: 'work', displayname: 'Work', description: '', color: '', order: 1 } as const),
  ...({ zone: 'UTC', kinds: ['event'], transparency: 'opaque' } as const),
};
