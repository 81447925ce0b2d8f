/** The calendar opened on a data folder and added to its listener: store, parts, doors, and who hears of changes. */
import type { FastifyInstance } from 'fastify';
import type { QuotaGate } from '#src/limits/quotas.ts';
import type { Limiter } from '#src/limits/limiter.ts';
import type { Clock } from '#src/base/clock.ts';
import type { Config } from '#src/config.ts';
import type { AccessControl } from '#src/directory/access-control.ts';
import type { AppPasswords } from '#src/identity/app-passwords.ts';
import type { Authenticate } from '#src/http/client-routes.ts';
import type { GroupMemberships } from '#src/directory/bookable/group-memberships.ts';
import type { Resources } from '#src/directory/bookable/resources.ts';
import type { Groups } from '#src/directory/groups/groups.ts';
import type { Directory } from '#src/directory/directory.ts';
import { readVapid } from '#src/settings/push-credentials.ts';
import type { Accounts } from '#storage/accounts/accounts.ts';
import type { CalendarTouch } from '#storage/calendars/calendar-draft.ts';
import type { DurableWords } from '#storage/engine/folder-logs.ts';
import { Calendars, type CalendarsOptions } from '#storage/calendars/calendars.ts';
import { makeCalendarServices, type CalendarServices, type CalendarServicesOptions } from './calendar-services.ts';
import { addCalendarService } from './calendar-service.ts';
import { MailIntakeServices, type MailIntakeServicesOptions } from './mail/mail-intake-services.ts';
import { ReminderSchedule, type Reminded, type ReminderScheduleOptions } from './reminders/reminder-schedule.ts';
import type { AnswerUpdates } from './scheduling/answer-updates.ts';
import type { Deliveries } from './scheduling/deliveries.ts';
import type { OutsideMail } from './scheduling/outside-mail.ts';
import { noticeOf } from './scheduling/proposal-intake.ts';
import { ChangeAnnouncer, type CalendarNotice, type ProposalNotice } from './change-announcer.ts';
import { CalendarPushes } from './push/calendar-pushes.ts';
import type { DavContext } from './dav/dav-context.ts';
import type { EntryMeetings } from './meetings/entry-meetings.ts';
import { MeetingFollower } from './meetings/meeting-follower.ts';
import { FeedUrls, type FeedUrlsOptions } from './subscriptions/feed-urls.ts';
import { SubscriptionSchedule } from './subscriptions/subscription-schedule.ts';
import { Subscriptions } from './subscriptions/subscriptions.ts';
import { warmUpLater } from './objects/warm-up.ts';

export interface CalendarOpeningOptions {
  readonly folder: string;
  readonly words: DurableWords;
  readonly epoch: string;
  readonly config: Pick<
    Config,
    | 'allowPrivateTargets'
    | 'calendarUrl'
    | 'coordinatorUrl'
    | 'drainSeconds'
    | 'host'
    | 'lmtpPort'
    | 'pushContact'
    | 'serviceTokens'
  >;
  readonly vault: FeedUrlsOptions['vault'];
  /** Of this server, for the user agent of its requests. */
  readonly version: string;
  readonly accounts: Accounts;
  readonly access: Pick<AccessControl, 'allows'>;
  readonly appPasswords: Pick<AppPasswords, 'has' | 'verify'>;
  readonly directory: Directory;
  /** Who is in which group, for what is shared with groups. */
  readonly memberships: GroupMemberships;
  readonly groups: Pick<Groups, 'find'>;
  readonly resources: Resources;
  readonly meetings: EntryMeetings;
  readonly authenticate: Authenticate;
  /** Tells the sockets of people on every messaging thread. */
  readonly tell: (told: CalendarNotice | ProposalNotice | Reminded) => Promise<void>;
  /** Whose word about the senders of calendar mail counts. @throws Refusal `encryption_locked`. */
  readonly mailTrust: MailIntakeServicesOptions['trust'];
  /** Makes the way to people outside. */
  readonly mail: CalendarServicesOptions['mail'];
  readonly limiter: Limiter;
  /** What people may use. */
  readonly quotas: Pick<QuotaGate, 'limits' | 'require'>;
  readonly clock: Clock;
  readonly log: DavContext['log'] & ReminderScheduleOptions['log'] & MailIntakeServicesOptions['log'];
}

export interface OpenCalendar {
  readonly calendars: Calendars;
  readonly services: CalendarServices;
  /** For the metrics, as they are now. */
  readonly metrics: () => AnswerUpdates['metrics'] &
    CalendarPushes['metrics'] &
    Deliveries['metrics'] &
    MailIntakeServices['metrics'] &
    OutsideMail['metrics'] &
    ReminderSchedule['metrics'] &
    SubscriptionSchedule['metrics'];
  /** Opens the LMTP door where one is configured; its port. */
  readonly openMail: () => Promise<number | undefined>;
  readonly close: () => Promise<void>;
}

/** Adds the calendar to its app; `close`, once the app is closed, lets go of the folder. */
export async function openCalendar(app: FastifyInstance, options: CalendarOpeningOptions): Promise<OpenCalendar> {
  const { access, appPasswords, config, tell } = options;
  const announcer: ChangeAnnouncer = new ChangeAnnouncer({
    viewersOf: (calendar) => {
      calendars.refresh();
      return calendars.viewersOf(calendar);
    },
    tell: (told) => void tell(told),
  });
  // Nobody yet while the calendars are opened: what changes meanwhile is caught up with right after.
  const followers: { changed: (touch: CalendarTouch) => void }[] = [];
  const calendars: Calendars = openStore(options, {
    onChange: (touch, shutOut) => {
      announcer.changed(touch.calendar, shutOut);
      for (const one of followers) one.changed(touch);
    },
    onTopic: (owner, topic) => {
      const notice = noticeOf(calendars, owner, topic);
      if (notice !== undefined) void tell(notice);
    },
  });
  const { allowPrivateTargets } = config;
  const pushes = makePushes(calendars, options);
  const services = await makeCalendarServices({
    ...options,
    calendars,
    pushes,
    maySee: (viewer, user) => access.allows('see', viewer, user),
    mayInvite: (organizer, user) => access.allows('see', organizer, user) && access.allows('invite', organizer, user),
    groupName: (group) => options.groups.find(group)?.name,
    verifyAppPassword: (user, password) => appPasswords.verify(user, password),
    publicUrl: config.calendarUrl,
  });
  const doors = new MailIntakeServices({ ...services, config, trust: options.mailTrust, log: options.log });
  await doors.addTo(app);
  const urls = new FeedUrls({ ...options, allowPrivateTargets });
  const asking = { allowPrivateTargets, userAgent: `Parley/${options.version}` };
  const refreshes = new SubscriptionSchedule({ ...services, ...asking, urls, log: options.log });
  const subscriptions = new Subscriptions({
    ...services,
    urls,
    wake: () => refreshes.wake(),
    isRefreshing: (calendar) => refreshes.isRefreshing(calendar),
  });
  await addCalendarService(app, services, subscriptions, options.authenticate);
  removeWithResources(calendars, options);
  const reminders = new ReminderSchedule({ ...services, log: options.log, tell });
  const follower = new MeetingFollower({ ...services, log: options.log });
  const { answerUpdates } = services;
  followers.push(answerUpdates, reminders, pushes, { changed: () => follower.wake() });
  const jobs = [reminders, follower, refreshes, answerUpdates, pushes];
  for (const job of jobs) job.wake();
  // Where there is nothing to open a month of, code is compiled soon enough by those who put the first entries there.
  const stopWarmingUp = calendars.hasObjects ? warmUpLater() : () => undefined;
  // Before the threads that it asks are closed.
  app.addHook('preClose', async () => {
    stopWarmingUp();
    for (const job of jobs) await job.stop();
  });
  return {
    calendars,
    services,
    metrics: () => ({
      ...{ ...services.deliveries.metrics, ...answerUpdates.metrics, ...services.mail.metrics, ...doors.metrics },
      ...{ ...reminders.metrics, ...refreshes.metrics, ...pushes.metrics },
    }),
    openMail: async () => await doors.openLmtp(),
    close: async () => {
      announcer.stop();
      await calendars.close();
    },
  };
}

/** What tells programs of changes, by the key that browsers are told by. */
function makePushes(calendars: Calendars, options: CalendarOpeningOptions): CalendarPushes {
  const { accounts, config } = options;
  const { allowPrivateTargets } = config;
  const vapid = readVapid({ config, pushKey: accounts.secret('push_key') });
  return new CalendarPushes({ ...options, calendars, allowPrivateTargets, vapid });
}

/** The store of the folder, with what it has to ask of people. */
function openStore(
  { access, accounts, clock, directory, folder, memberships, quotas, words }: CalendarOpeningOptions,
  told: Pick<CalendarsOptions, 'onChange' | 'onTopic'>,
): Calendars {
  return Calendars.open(folder, {
    words,
    now: () => clock.now(),
    requireQuota: quotas.require,
    isServed: (owner) => directory.entry(owner)?.state !== 'over',
    groups: {
      groupsOf: (user) => memberships.groupsOf(user),
      membersOf: (group) => memberships.membersOf(group),
      reaches: (owner, user) => access.allows('see', owner, user),
    },
    ...told,
    onDeeds: async (deeds) => {
      await accounts.change((draft) => {
        for (const deed of deeds) draft.audit(clock.now(), deed);
      });
    },
  });
}

/** Has calendars go with the resources that they are of, also with those that were removed before. */
function removeWithResources(
  calendars: Calendars,
  { log, resources }: Pick<CalendarOpeningOptions, 'log' | 'resources'>,
): void {
  resources.watchRemovals((user) => {
    removeResourceCalendars(calendars, resources, user).catch((error: unknown) => {
      log.warn('the calendar of a resource could not be removed; the next start tries again', { error });
    });
  });
}

/** Removes what a resource had, which was removed itself, and forgets it then. @throws Refusal `busy`, `storage_full`. */
async function removeResourceCalendars(calendars: Calendars, resources: Resources, user: string): Promise<void> {
  calendars.refresh();
  for (const { id } of calendars.ownedBy(user)) await calendars.removeCalendar(id);
  await resources.forget(user);
}
