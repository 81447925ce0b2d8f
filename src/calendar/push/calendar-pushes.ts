/**
 * Tells programs that a calendar changed, so that they need not ask (WebDAV Push over Web Push): what is registered, who is due,
 * and what came of it. When each is attempted is the delivery queue's.
 *
 *     committed ─► gathered for a second ─► those who registered ─► queue ─► may they still? ─► push service ─► told up to there
 *
 * Nothing is written when a calendar changes: a registration that was told of less than there is, is due. So what a crash leaves
 * is found by the look of the next start. A push says that something changed and never what.
 */
import { createHash } from 'node:crypto';
import type { Agent } from 'node:https';
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Clock } from '#src/base/clock.ts';
import { DeliveryQueue, type Attempt, type AttemptContext } from '#src/delivery/delivery-queue.ts';
import type { AppPasswords } from '#src/identity/app-passwords.ts';
import type { PrivateTargets } from '#src/outgoing/targets.ts';
import type { PushCredentials } from '#src/protocol/push/push.ts';
import type { PushAnswer } from '#src/push/push-service.ts';
import { assertWebPushTarget, makeWebPushAgent, sendWebPush, type WebPushMessage } from '#src/push/web-push.ts';
import { oneSample } from '#src/telemetry/metrics.ts';
import type { CalendarTouch } from '#storage/calendars/calendar-draft.ts';
import { ACCESS_RANK } from '#storage/calendars/calendar-records.ts';
import {
  noteRegistration,
  placedRegistration,
  putRegistration,
  registrationAt,
  registrationIdOf,
  registrationKey,
  registrationName,
  removeRegistration,
  type PlacedRegistration,
  type PushRegistration,
  type RegistrationPlace,
} from '#storage/calendars/calendar-registrations.ts';
import type { Calendars } from '#storage/calendars/calendars.ts';
import { under } from '#storage/engine/keys.ts';
import { CoalescingJob } from '../coalescing-job.ts';
import type { DavPush, RegistrationForm } from '../dav/dav-context.ts';
import { newestToken } from '../dav/sync-token.ts';
import { CalendarContents } from '../objects/calendar-contents.ts';
import { MESSAGE_TYPE, writePushMessage } from './push-message.ts';
import { joined, TouchedCalendar, type Update } from './touched-calendar.ts';

/** How long changes are gathered: a program that puts twenty objects makes one push, and nobody notices the second. */
export const GATHERED_MILLIS = 1_000;
/** A registration gets no more than one push in this time: what comes meanwhile is told with the next. */
export const PUSH_EVERY_MILLIS = 15_000;
/** Pushes on their way at once, and of one person. More wait their turn. */
export const PUSHES_AT_ONCE = 16;
export const PUSHES_OF_ONE_AT_ONCE = 4;
/** Registrations that wait. Beyond it they stay due, and the look finds them after LOOK_AGAIN_MILLIS. */
export const PUSHES_WAITING_MAX = 10_000;
/** The longest that a registration lasts. A program registers again before; the draft asks for three days at least. */
export const REGISTRATION_MILLIS_MAX = 7 * 86_400_000;
/** How long a push is attempted: whoever could not be reached for so long asks by itself. */
export const PUSH_MILLIS_MAX = 3_600_000;
/** How long the push service keeps one for a device that is off, at most. */
const TTL_SECONDS_MAX = 86_400;
/** About the wait before the second attempt, and the most. */
const RETRY = { firstMillis: 2_000, mostMillis: 600_000 };
/** How often all registrations are looked through: for those that ended. */
export const LOOK_MILLIS = 3_600_000;
/** How soon where some found no room in the queue. */
const LOOK_AGAIN_MILLIS = 60_000;
/** Registrations read in one go, after which others have their turn. */
const PAGE = 200;
/** Registrations of a calendar that is removed that hear of it: they are read before they are gone, in one go. */
export const REMOVAL_PUSHES_MAX = 1_000;

type Answer = 'sent' | 'refused' | 'gone' | 'ended' | 'void';

/** A push that is due to a registration. */
interface Due {
  readonly place: RegistrationPlace;
  readonly since: number;
  update: Update;
  /** The sync_seq up to which it says what changed. */
  seq: number;
  /** Another push of the same registration says it as well. */
  isVoid: boolean;
  /** The registration as it was, of a calendar that is gone with it. */
  readonly last: PushRegistration | undefined;
}

export interface CalendarPushesOptions {
  readonly calendars: Calendars;
  readonly vapid: PushCredentials['vapid'];
  readonly allowPrivateTargets: PrivateTargets;
  readonly appPasswords: Pick<AppPasswords, 'has'>;
  /** The data folder's. */
  readonly epoch: string;
  readonly clock: Clock;
  readonly log: { warn(message: string, fields?: Readonly<Record<string, unknown>>): void };
}

export class CalendarPushes implements DavPush {
  readonly #options: CalendarPushesOptions;
  readonly #agent: Agent;
  readonly #queue: DeliveryQueue<Due, Answer>;
  readonly #job: CoalescingJob;
  /** Calendar → what happened to it, until it is looked who hears of it. */
  readonly #gathered = new Map<string, { readonly touched: TouchedCalendar; readonly timer: NodeJS.Timeout }>();
  /** Registration → its push that waits. */
  readonly #waiting = new Map<string, Due>();
  readonly #counts = { sent: 0, refused: 0, gone: 0, expired: 0, retried: 0 };
  /** Looks again for those that found no room. */
  #again: NodeJS.Timeout | undefined;

  constructor(options: CalendarPushesOptions) {
    const { clock, log } = options;
    this.#options = options;
    this.#agent = makeWebPushAgent(options.allowPrivateTargets);
    this.#queue = new DeliveryQueue<Due, Answer>({
      ...{
        name: 'calendar pushes',
        clock,
        log,
        atOnce: PUSHES_AT_ONCE,
        waitingMax: PUSHES_WAITING_MAX,
        backoff: RETRY,
      },
      group: { of: ({ place }) => place.user, atOnce: PUSHES_OF_ONE_AT_ONCE },
      orderingKeyOf: ({ place }) => registrationName(place),
      receiver: ({ last, place }) => new URL((this.#registration(place) ?? last)?.endpoint ?? 'https://gone').host,
      expiresAt: ({ since }) => since + PUSH_MILLIS_MAX,
      attempt: async (due, context) => await this.#attempt(due, context),
      over: async (due, answer) => await this.#settle(due, answer),
    });
    this.#job = new CoalescingJob(async () => await this.#look());
  }

  /** The public half of the key that pushes are signed with: an uncompressed point, base64url. */
  get publicKey(): string {
    return this.#options.vapid.publicKey;
  }

  /** For the metrics. */
  get metrics() {
    const counts = Object.entries(this.#counts).flatMap(([result, count]) => oneSample(count, [result]));
    return { parley_calendar_pushes_total: counts, parley_calendar_pushes_waiting: oneSample(this.#queue.waiting) };
  }

  /** Looks for what is due, and for what ended. */
  wake(): void {
    this.#job.wake();
  }

  /** Sends nothing more. What is due is found at the next start. */
  async stop(): Promise<void> {
    for (const { timer } of this.#gathered.values()) clearTimeout(timer);
    await this.#job.stop();
    clearTimeout(this.#again);
    await this.#queue.close();
    this.#agent.destroy();
  }

  /** Notes a change that is on disk. */
  changed(touch: CalendarTouch): void {
    const { id } = touch.calendar;
    const { calendars } = this.#options;
    // It is due at the next start.
    if (this.#job.isStopped) return;
    if (calendars.calendar(id) === undefined) {
      this.#tellGone(id);
      return;
    }
    const gathered = this.#gathered.get(id);
    if (gathered !== undefined) {
      gathered.touched.add(touch);
      return;
    }
    // Most calendars have no registration: nothing is kept of them, and no timer is set.
    const { registrations } = calendars.environment.tables;
    if ([...registrations.getKeys({ ...under(id), limit: 1 })].length === 0) return;
    const touched = new TouchedCalendar();
    touched.add(touch);
    const timer = setTimeout(() => void this.#tell(id), GATHERED_MILLIS);
    this.#gathered.set(id, { touched, timer });
  }

  /**
   * Registers a push resource for a calendar that the person reads, or changes what is registered of it already.
   * @returns its id and when it ends, or undefined where they have as many as one may have.
   * @throws Refusal `field_invalid`, `target_private`; `calendar_not_found`; `busy`, `storage_full`.
   */
  async register(
    { calendar, user }: Omit<RegistrationPlace, 'id'>,
    appPassword: string,
    { expiresAt = Infinity, isContent, isProperty, target }: RegistrationForm,
  ): Promise<{ readonly id: string; readonly expiresAt: number } | undefined> {
    const { allowPrivateTargets, calendars, clock } = this.#options;
    assertWebPushTarget(target, allowPrivateTargets);
    const id = registrationIdOf(target.endpoint);
    const until = Math.min(expiresAt, clock.now() + REGISTRATION_MILLIS_MAX);
    const place = { calendar, user, id };
    const isTaken = await calendars.change((draft) => {
      const before = registrationAt(draft, place);
      return putRegistration(draft, place, {
        ...{ endpoint: target.endpoint, ...target.keys, isContent, isProperty, appPassword, expiresAt: until },
        toldSeq: before?.toldSeq ?? draft.calendar(calendar)?.syncSeq ?? 0,
        toldAt: before?.toldAt ?? 0,
      });
    });
    return isTaken ? { id, expiresAt: until } : undefined;
  }

  /** Ends a registration; false where there is none. */
  async unregister(place: RegistrationPlace): Promise<boolean> {
    return await this.#options.calendars.change((draft) => removeRegistration(draft, place));
  }

  #registration(place: RegistrationPlace): PushRegistration | undefined {
    const { calendars } = this.#options;
    calendars.refresh();
    return registrationAt(calendars, place);
  }

  /** Puts on its way what happened to a calendar, for those who registered for such changes. */
  async #tell(calendar: string): Promise<void> {
    const touched = this.#gathered.get(calendar)?.touched;
    this.#gathered.delete(calendar);
    if (touched === undefined) return;
    try {
      for await (const page of this.#pages(under(calendar))) {
        const silent = page.filter((registration) => {
          const update = touched.updateFor(registrationName(registration.place));
          return !this.#enqueue(registration, update, touched.seq);
        });
        if (this.#job.isStopped) return;
        await this.#noteTold(silent, touched.seq);
      }
    } catch (error) {
      // They are due still, and the look finds them.
      this.#options.log.warn('who hears of a change of a calendar could not be read', { calendar, error });
    }
  }

  /** Of what a registration hears nothing, it was told. */
  async #noteTold(silent: readonly PlacedRegistration[], toldSeq: number): Promise<void> {
    const behind = silent.filter((one) => one.toldSeq < toldSeq && !this.#isDue(one.place));
    if (behind.length === 0) return;
    await this.#options.calendars.change((draft) =>
      behind.forEach(({ place }) => noteRegistration(draft, place, { toldSeq })),
    );
  }

  #tellGone(calendar: string): void {
    const { registrations } = this.#options.calendars.environment.tables;
    for (const row of registrations.getRange({ ...under(calendar), limit: REMOVAL_PUSHES_MAX })) {
      const { place, ...last } = placedRegistration({ key: Buffer.from(row.key), value: row.value });
      this.#enqueue({ place, ...last }, { isContent: true, isProperty: false }, 0, last);
    }
  }

  /** Whether a push of a registration waits or is under way. */
  #isDue(place: RegistrationPlace): boolean {
    return this.#queue.inSequence(registrationName(place)).length > 0;
  }

  /** Puts a push on its way, or lets the one that waits say it as well. False where the registration is for nothing of it. */
  #enqueue(registration: PlacedRegistration, update: Update, seq: number, last?: PushRegistration): boolean {
    const { place, toldAt } = registration;
    const isContent = update.isContent && registration.isContent;
    const isProperty = update.isProperty && registration.isProperty;
    if (!isContent && !isProperty) return false;
    const now = this.#options.clock.now();
    const name = registrationName(place);
    const waiting = this.#waiting.get(name);
    if (waiting !== undefined && last === undefined) {
      waiting.update = joined(waiting.update, { isContent, isProperty });
      waiting.seq = Math.max(waiting.seq, seq);
      return true;
    }
    const due = { place, since: now, update: { isContent, isProperty }, seq, isVoid: false, last };
    this.#waiting.set(name, due);
    const isTaken = this.#queue.add(due, Math.min(toldAt, now) + PUSH_EVERY_MILLIS);
    if (!isTaken) {
      this.#waiting.delete(name);
      this.#again ??= setTimeout(() => this.wake(), LOOK_AGAIN_MILLIS);
    }
    return true;
  }

  async #attempt(due: Due, { ask }: AttemptContext<Answer>): Promise<Attempt<Answer>> {
    const { allowPrivateTargets, clock, vapid } = this.#options;
    if (due.isVoid) return { result: 'over', answer: 'void' };
    const registration = due.last ?? this.#registration(due.place);
    if (registration === undefined || !this.#lasts(due.place, registration)) return { result: 'over', answer: 'ended' };
    // They could, when it was there.
    if (due.last === undefined && !this.#mayRead(due.place)) return { result: 'over', answer: 'ended' };
    const name = registrationName(due.place);
    // What changes from here on is another push.
    if (this.#waiting.get(name) === due) this.#waiting.delete(name);
    const message = this.#compose(due, registration);
    const { auth, endpoint, p256dh } = registration;
    const target = { endpoint, keys: { auth, p256dh } };
    const bounds = { agent: this.#agent, allowPrivateTargets, now: () => clock.now(), vapid };
    const made = await ask(async () => attemptOf(await sendWebPush(target, message, bounds)));
    if (made.result === 'over') return made;
    if (made.result === 'failed') this.#counts.retried += 1;
    const newer = this.#waiting.get(name);
    if (newer !== undefined) {
      due.update = joined(due.update, newer.update);
      due.seq = Math.max(due.seq, newer.seq);
      newer.isVoid = true;
    }
    this.#waiting.set(name, due);
    return made;
  }

  /** Whether a registration has not ended, nor the app password that it was made by. */
  #lasts({ user }: RegistrationPlace, { appPassword, expiresAt }: PushRegistration): boolean {
    const { appPasswords, clock } = this.#options;
    return expiresAt > clock.now() && appPasswords.has(user, appPassword);
  }

  #mayRead({ calendar, user }: RegistrationPlace): boolean {
    const access = this.#options.calendars.accessOf(user, calendar);
    return access !== undefined && ACCESS_RANK[access] >= ACCESS_RANK.read;
  }

  /** What a push says now. */
  #compose(due: Due, { expiresAt }: PushRegistration): WebPushMessage {
    const { calendars, clock, epoch } = this.#options;
    const { place, update } = due;
    const calendar = calendars.calendar(place.calendar);
    const access = calendars.accessOf(place.user, place.calendar);
    const syncToken =
      calendar === undefined || access === undefined
        ? undefined
        : newestToken(epoch, new CalendarContents(calendars, { calendar, access }).scope, calendar);
    const content = update.isContent ? { syncToken } : undefined;
    const payload = writePushMessage({ topic: place.calendar, content, isProperty: update.isProperty });
    const ttlSeconds = Math.min(TTL_SECONDS_MAX, Math.ceil((expiresAt - clock.now()) / 1_000));
    return { payload, contentType: MESSAGE_TYPE, ttlSeconds, urgency: 'normal', topic: topicOf(due) };
  }

  async #settle(due: Due, answer: Answer | undefined): Promise<void> {
    const { calendars, clock } = this.#options;
    const { place } = due;
    if (answer === 'void') return;
    if (this.#waiting.get(registrationName(place)) === due) this.#waiting.delete(registrationName(place));
    if (answer !== 'ended') this.#counts[answer ?? 'expired'] += 1;
    await calendars.change((draft) => {
      if (answer === 'ended' || answer === 'gone') removeRegistration(draft, place);
      else noteRegistration(draft, place, { toldSeq: due.seq, toldAt: clock.now() });
    });
  }

  /** Looks all registrations through; answers after how many milliseconds it is to look again. */
  async #look(): Promise<number> {
    const { calendars, log } = this.#options;
    clearTimeout(this.#again);
    this.#again = undefined;
    try {
      for await (const page of this.#pages({})) {
        const ended = page.filter(
          (one) =>
            calendars.calendar(one.place.calendar) !== undefined &&
            !(this.#lasts(one.place, one) && this.#mayRead(one.place)),
        );
        if (ended.length > 0)
          await calendars.change((draft) => ended.forEach(({ place }) => removeRegistration(draft, place)));
        for (const one of page) if (!ended.includes(one)) this.#enqueueBehind(one);
        if (this.#job.isStopped || this.#again !== undefined) break;
      }
    } catch (error) {
      log.warn('registrations for pushes of calendars could not be looked through', { error });
    }
    return LOOK_MILLIS;
  }

  /** Nobody knows any more what it was that a registration was not told of: a crash came between. */
  #enqueueBehind(registration: PlacedRegistration): void {
    const { place, toldSeq } = registration;
    const seq = this.#options.calendars.calendar(place.calendar)?.syncSeq ?? 0;
    // What is gathered now, or due, is told by itself.
    if (toldSeq >= seq || this.#gathered.has(place.calendar) || this.#isDue(place)) return;
    this.#enqueue(registration, { isContent: true, isProperty: true }, seq);
  }

  async *#pages({
    start = Buffer.alloc(0),
    end,
  }: {
    start?: Buffer;
    end?: Buffer;
  }): AsyncGenerator<PlacedRegistration[]> {
    const { calendars } = this.#options;
    for (let from = start; ;) {
      calendars.refresh();
      const rows = calendars.environment.tables.registrations.getRange({
        start: from,
        ...(end === undefined ? {} : { end }),
        limit: PAGE,
      });
      const page = [...rows].map(({ key, value }) => placedRegistration({ key: Buffer.from(key), value }));
      const last = page.at(-1);
      if (last === undefined) return;
      yield page;
      if (page.length < PAGE) return;
      from = Buffer.concat([registrationKey(last.place), Buffer.of(0)]);
      await nextTurn();
    }
  }
}

function attemptOf(answer: PushAnswer): Attempt<Answer> {
  if (answer.result === 'failed') return { ...answer, answer: 'refused' };
  return { result: 'over', answer: answer.result };
}

/** Only pushes that say the same may take each other's place at the push service. */
function topicOf({ place, update: { isContent, isProperty } }: Due): string {
  const words = [registrationName(place), isContent ? 'content' : '', isProperty ? 'property' : ''].join('\n');
  return createHash('sha256').update(words).digest('base64url').slice(0, 32);
}
