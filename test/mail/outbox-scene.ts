/** An outbox over a store of its own, with people who organise, and a clock that can be set. */
import assert from 'node:assert/strict';
import type { TestContext } from 'node:test';
import { systemClock } from '#src/base/clock.ts';
import { AddressBook } from '#src/calendar/address-book.ts';
import { ensureDefaultCalendar } from '#src/calendar/calendar-access.ts';
import { DerivationPool } from '#src/calendar/objects/derivation-pool.ts';
import { CalendarObjectWriter } from '#src/calendar/objects/object-writer.ts';
import { Deliveries } from '#src/calendar/scheduling/deliveries.ts';
import { Scheduler } from '#src/calendar/scheduling/scheduler.ts';
import { Outbox, type OutboxOptions } from '#src/calendar/mail/mail-outbox.ts';
import { RsvpLinks } from '#src/calendar/mail/rsvp-links.ts';
import { Transport, type TransportOptions } from '#src/mail/transport.ts';
import { Calendars } from '#storage/calendars/calendars.ts';
import { temporaryFolder } from '#test/support/temporary-folder.ts';
import { until } from '#test/support/waiting.ts';
import { eventText } from '../calendar/service/calling.ts';
import { limiterBy } from '#test/support/limiter.ts';

export interface OutboxScene {
  readonly calendars: Calendars;
  readonly outbox: () => Outbox;
  readonly links: RsvpLinks;
  /** What was logged. */
  readonly warnings: object[];
  readonly calendar: string;
  /** Alice writes an event; her own address organises it unless another is named. */
  readonly write: (uid: string, attendees: readonly string[], more?: WriteOptions) => Promise<unknown>;
  readonly remove: (uid: string) => Promise<void>;
  /** Her object, unfolded. */
  readonly textOf: (uid: string) => string;
  /** SCHEDULE-STATUS of an attendee there; undefined for none. */
  readonly statusOf: (uid: string, name: string) => string | undefined;
  /** Sets the clock on. */
  readonly later: (millis: number) => void;
  /** Ends this outbox and opens another one on the same store. */
  readonly restart: () => Promise<void>;
  readonly counts: () => Record<string, number>;
  /** Nothing waits any more, nor lies in the store. */
  readonly settled: () => Promise<void>;
}

export interface WriteOptions {
  readonly title?: string;
  readonly organizer?: string;
  readonly lines?: readonly string[];
}

export interface SceneOptions extends Partial<Omit<OutboxOptions, 'limiter'>> {
  /** Mails on behalf of one person within an hour; what the policy says by default. */
  readonly perHour?: number;
  /** Of the mail server; none is there without it. */
  readonly port?: number;
  /** What Alice is called. */
  readonly name?: string;
  readonly bounds?: Partial<TransportOptions>;
}

export async function openOutbox(
  t: TestContext,
  { bounds, name = 'Alice', perHour, port, ...more }: SceneOptions,
): Promise<OutboxScene> {
  let ahead = 0;
  const clock = { now: () => systemClock.now() + ahead };
  const calendars = Calendars.open(temporaryFolder(t), { now: () => clock.now() });
  const alice = { user: 'alice', kind: 'person', state: 'active', rev: 1 } as const;
  const people = [{ ...alice, display_name: name, email: 'alice@example.org' }];
  const book = new AddressBook({
    entry: (user) => people.find((entry) => entry.user === user),
    changedSince: (after) => ({ entries: people.filter(({ rev }) => rev > after), rev: 1, more: false }),
    holdersOf: () => [],
  });
  await book.prepare();
  const pool = new DerivationPool();
  const warnings: object[] = [];
  const log = {
    error: () => undefined,
    warn: (message: string, fields = {}) => void warnings.push({ message, ...fields }),
  };
  const limiter = limiterBy(
    clock,
    {},
    perHour === undefined ? {} : { mail_sent: { perSecond: perHour / 3_600, burst: perHour } },
  );
  const parts = { book, calendars, clock, epoch: 'epoch', isPerson: () => true, limiter, pool };
  const server = { host: '127.0.0.1', port: port ?? 1, security: 'none' } as const;
  const open = () =>
    new Outbox({
      ...parts,
      ...{
        log,
        isOn: () => true,
        language: () => 'en',
        languageOf: () => undefined,
        sender: () => 'calendar@example.org',
        baseUrl: () => 'https://cal.example.org',
      },
      setup: () => (port === undefined ? undefined : { server, from: 'calendar@example.org', dkim: undefined }),
      transport: new Transport({ allowPrivateTargets: true, ...bounds }),
      links: new RsvpLinks(parts),
      retryMillis: 20,
      ...more,
    });
  let outbox = open();
  const deliveries = new Deliveries({ ...parts, log });
  t.after(async () => {
    await Promise.all([outbox.close(), deliveries.close()]);
    await pool.close();
    await calendars.close();
  });
  const writer = () => {
    const scheduler = new Scheduler({ pool, book, clock, deliveries, mail: outbox, mayInvite: () => true });
    return new CalendarObjectWriter({ calendars, pool, book, scheduler, clock });
  };
  await ensureDefaultCalendar(calendars, 'alice');
  calendars.refresh();
  const calendar = calendars.ownedByName('alice', 'default') as string;
  const textOf = (uid: string): string => {
    calendars.refresh();
    return calendars.bytesOf(calendar, `${uid}.ics`)?.toString().replaceAll('\r\n ', '') ?? '';
  };
  return {
    ...{ calendars, warnings, calendar, textOf, links: new RsvpLinks(parts) },
    outbox: () => outbox,
    write: async (uid, attendees, { lines = [], organizer = 'alice@example.org', title = 'Talk' } = {}) => {
      const invited = attendees.map((one) => `ATTENDEE:mailto:${one}@example.net`);
      const text = eventText(uid, [`ORGANIZER:mailto:${organizer}`, ...invited, ...lines]);
      const bytes = Buffer.from(text.replace('SUMMARY:Talk', `SUMMARY:${title}`));
      return await writer().put('alice', calendar, `${uid}.ics`, bytes, {});
    },
    remove: async (uid) => await writer().remove('alice', calendar, `${uid}.ics`, {}),
    statusOf: (uid, one) => {
      const line = textOf(uid)
        .split('\r\n')
        .find((each) => each.includes(`mailto:${one}@`) && each.startsWith('ATTENDEE'));
      return /SCHEDULE-STATUS="?([\d.]+)/.exec(line ?? '')?.[1];
    },
    later: (millis) => {
      ahead += millis;
      outbox.wake();
    },
    restart: async () => {
      await outbox.close();
      outbox = open();
    },
    counts: () =>
      Object.fromEntries(
        outbox.metrics.parley_calendar_outgoing_mails_total.map(({ labels, value }) => [labels[0], value]),
      ),
    settled: async () => {
      await until(() => outbox.metrics.parley_calendar_outgoing_mails_waiting[0]?.value === 0, 'the mails');
      calendars.refresh();
      const { letters, mails } = calendars.environment.tables;
      assert.deepEqual([mails.getKeysCount(), letters.getKeysCount()], [0, 0]);
    },
  };
}
