/** What the doors of the calendar work with, put together once. */
import type { Limiter } from '#src/limits/limiter.ts';
import type { Clock } from '#src/base/clock.ts';
import type { CalendarRecord } from '#storage/calendars/calendar-records.ts';
import type { Logger } from '#src/telemetry/logger.ts';
import type { Calendars } from '#storage/calendars/calendars.ts';
import { AddressBook, type DirectoryView } from './address-book.ts';
import { makeReach, type Reach, type ReachOptions } from './calendar-reach.ts';
import { BasicAuthentication } from './basic-authentication.ts';
import { ensureDefaultCalendar, ensureOwnInbox, followOwnersZone } from './calendar-access.ts';
import type { DavContext, Principal, Principals } from './dav/dav-context.ts';
import { availabilityOf } from './availability/working-hours.ts';
import { joinPeriods } from './icalendar/free-busy.ts';
import { busyTimes, type BusyTimes } from './objects/busy-times.ts';
import { removeOwnCalendar } from './objects/calendar-removal.ts';
import { CalendarContents } from './objects/calendar-contents.ts';
import { DerivationPool } from './objects/derivation-pool.ts';
import type { EntryMeetings } from './meetings/entry-meetings.ts';
import { CalendarObjectWriter } from './objects/object-writer.ts';
import { Bookings } from './scheduling/bookings.ts';
import { AnswerUpdates } from './scheduling/answer-updates.ts';
import { Deliveries } from './scheduling/deliveries.ts';
import type { OutsideMail } from './scheduling/outside-mail.ts';
import { Proposals } from './scheduling/proposals.ts';
import { Scheduler } from './scheduling/scheduler.ts';
import { paceOf } from './pace.ts';
import { rested, TimeSlicer } from './time-slicer.ts';
import { WorkBudgets } from './work-budget.ts';
import type { Window } from './icalendar/calendar-object.ts';

export interface CalendarServicesOptions {
  readonly calendars: Calendars;
  readonly directory: DirectoryView;
  /** Rooms and resources, and which of them somebody may book. */
  readonly resources: ReachOptions['resources'];
  readonly memberships: { isMember(user: string, group: string): boolean };
  /** What a group is called; undefined for one that is not there. */
  readonly groupName: (group: string) => string | undefined;
  /** Whether somebody may see somebody, by the access policies. */
  readonly maySee: (viewer: string, user: string) => boolean;
  /** Whether somebody may invite somebody, by the access policies. */
  readonly mayInvite: (organizer: string, user: string) => boolean;
  readonly meetings: EntryMeetings;
  /** Which app password of that person, who may come, it is; undefined for none. */
  readonly verifyAppPassword: (user: string, password: string) => string | undefined;
  readonly pushes: DavContext['push'];
  /** Failed sign-ins per minute of one name from one address. */
  /** Makes the way to people outside from the parts that it needs. */
  readonly mail: (parts: MailParts) => OutsideMail;
  readonly limiter: Limiter;
  readonly quotas: DavContext['quotas'];
  /** The data folder's. */
  readonly epoch: string;
  /** Where clients reach the calendar, where a proxy stands in front. */
  readonly publicUrl: string | undefined;
  readonly clock: Clock;
  readonly log: Logger;
}

/** What mail is made from. */
export type MailParts = Pick<
  CalendarServices,
  'book' | 'calendars' | 'clock' | 'epoch' | 'isPerson' | 'limiter' | 'pool'
>;

export interface CalendarServices extends Pick<Reach, 'isPerson' | 'mayAskAbout' | 'mayInvite'> {
  readonly calendars: Calendars;
  readonly book: AddressBook;
  readonly pool: DerivationPool;
  readonly writer: CalendarObjectWriter;
  readonly meetings: EntryMeetings;
  /** Scheduling messages on their way. */
  readonly deliveries: Deliveries;
  /** Answers that the other attendees are still to be shown. */
  readonly answerUpdates: AnswerUpdates;
  readonly mail: OutsideMail;
  /** Other times that people propose to each other. */
  readonly proposals: Proposals;
  readonly maySee: (viewer: string, user: string) => boolean;
  readonly resources: CalendarServicesOptions['resources'];
  readonly memberships: CalendarServicesOptions['memberships'];
  readonly groupName: CalendarServicesOptions['groupName'];
  /** When somebody is taken by calendars of their own, worked out at the asker's cost. */
  readonly busyTimes: (asker: string, user: string, window: Window) => Promise<BusyTimes>;
  /** What people's questions may cost the others. */
  readonly budgets: WorkBudgets;
  readonly epoch: string;
  readonly clock: Clock;
  readonly limiter: Limiter;
  /** The same things as the DAV door takes them. */
  readonly dav: DavContext;
}

/** The calendar's parts over its store. The pool is the caller's to close. */
export async function makeCalendarServices(options: CalendarServicesOptions): Promise<CalendarServices> {
  const { calendars, clock, directory, epoch, limiter, log, maySee, meetings } = options;
  const { groupName, memberships, resources } = options;
  const book = new AddressBook(directory, resources);
  await book.prepare();
  const pool = new DerivationPool();
  const basic = new BasicAuthentication(options.verifyAppPassword, limiter, (address) => book.userOf(address));
  const reach = makeReach(options);
  const { isPerson, mayAskAbout, mayInvite } = reach;
  const bookings = new Bookings({ ...reach, calendars, pool, book, clock });
  const deliveries = new Deliveries({ calendars, pool, book, isPerson: reach.hasCalendar, bookings, clock, log });
  const answerUpdates = new AnswerUpdates({ calendars, pool, book, mayInvite, isPerson, deliveries, clock, log });
  const mail = options.mail({ book, calendars, clock, epoch, isPerson, limiter, pool });
  const scheduler = new Scheduler({ pool, book, clock, deliveries, mail, mayInvite });
  const writer = new CalendarObjectWriter({ calendars, pool, book, scheduler, clock });
  const budgets = new WorkBudgets({ roundRobin: limiter.roundRobin });
  const proposals = new Proposals({ book, budgets, calendars, clock, isPerson, mail, pool, scheduler });
  const { busyIn, busyOf } = makeBusy({ book, budgets, calendars, pool });
  const dav: DavContext = {
    calendars,
    contentsOf: (accessible) => new CalendarContents(calendars, accessible),
    writer,
    propose: async (user, message) => await proposals.post(user, message),
    removeCalendar: async (removal) =>
      await removeOwnCalendar({ calendars, writer, pool, book, budgets, clock }, removal),
    principals: makePrincipals(book, mayAskAbout),
    busyTimes: async (viewer, address, span) => {
      const user = book.userOf(address);
      return user !== undefined && mayAskAbout(viewer, user) ? await busyOf(viewer, user, span) : undefined;
    },
    ownBusyTimes: async (viewer, span) => await busyOf(viewer, viewer, span),
    busyIn: async (viewer, calendar, span) => await busyIn(viewer, calendar.owner, [calendar], span),
    quotas: options.quotas,
    budgets,
    zoneOf: (user) => book.zoneOf(user),
    epoch,
    publicUrl: options.publicUrl,
    push: options.pushes,
    authenticate: async (authorization, address) => {
      const caller = basic.authenticate(authorization, address);
      const { user } = caller;
      await ensureDefaultCalendar(calendars, user, book.zoneOf(user));
      await ensureOwnInbox(calendars, user, book.zoneOf(user));
      return caller;
    },
    pace: paceOf(limiter),
    log,
  };
  return {
    ...{ calendars, book, pool, meetings, deliveries, answerUpdates, mail, proposals, writer },
    ...{ mayInvite, mayAskAbout, maySee, isPerson, resources, memberships, groupName },
    ...{ epoch, clock, limiter, dav, budgets, busyTimes: busyOf },
  };
}

/** When people are taken: by some calendars, and by all that there is of them, their working hours included. */
function makeBusy({
  book,
  budgets,
  calendars,
  pool,
}: Pick<CalendarServices, 'book' | 'budgets' | 'calendars' | 'pool'>) {
  const busyIn = async (asker: string, owner: string, records: readonly CalendarRecord[], window: Window) => {
    const slicer = new TimeSlicer({ budgets, user: asker });
    return await busyTimes({ calendars, pool }, records, { window, addresses: book.addressesOf(owner), slicer });
  };
  const busyOf = async (asker: string, user: string, window: Window): Promise<BusyTimes> => {
    await followOwnersZone(calendars, user, book.zoneOf(user));
    const taken = await busyIn(asker, user, calendars.ownedBy(user), window);
    const availability = availabilityOf(calendars, user);
    if (availability === undefined) return taken;
    await rested({ budgets, user: asker });
    const outside = await pool.unavailable({ text: availability, window, zone: book.zoneOf(user) ?? 'UTC' });
    budgets.charge(asker, outside.millis);
    const periods = joinPeriods([...taken.periods, ...outside.periods]);
    return { periods, isCut: taken.isCut || outside.isCut, isUnsure: taken.isUnsure };
  };
  return { busyIn, busyOf };
}

function makePrincipals(book: AddressBook, mayAskAbout: CalendarServices['mayAskAbout']): Principals {
  const find = (viewer: string, user: string): Principal | undefined => {
    if (!mayAskAbout(viewer, user)) return undefined;
    return { user, displayName: book.nameOf(user), addresses: book.addressesOf(user), type: book.typeOf(user) };
  };
  return {
    find,
    search(viewer, text, limit) {
      const found: Principal[] = [];
      for (const user of book.search(text)) {
        const principal = found.length < limit ? find(viewer, user) : undefined;
        if (principal !== undefined) found.push(principal);
      }
      return found;
    },
  };
}
