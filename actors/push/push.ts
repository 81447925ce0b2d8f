/**
 * The push actor of a person: decides which messages are due as pushes to their devices (FRM-05), keeps those in the
 * outbox until a provider has them, and forgets addresses that are nobody's any more.
 *
 *     posted ─► watch ─► decide ─► [outbox, cursor on disk] ─► provider ─► settled ─► row removed
 *     last awake socket lost ─► (a while) ─► decide anew ─┘
 *
 * See README.md for what survives what.
 */
import type { Lane, LaneWrite } from '#storage/engine/lane.ts';
import type { CallDetail, PushKind, PushRegistration, PushRow } from '#storage/conversations/push-records.ts';
import type { NotificationLevel } from '#src/protocol/account/notifications.ts';
import { PUSH_REGISTRATIONS_MAX } from '#src/protocol/limits.ts';
import type { ReminderData } from '#src/protocol/sockets/events.ts';
import type { Attention } from '../person/attention.ts';
import { unreachable, type Actor, type Effect } from '../runtime/actor.ts';
import { judge, type Verdict } from './decision.ts';
import type { PushMessage } from './push.messages.ts';
import { nameOf, type PushRegistry } from './push-registry.ts';
import { postedFor, type PushReader } from './push-reader.ts';
import { PushState, rowName } from './push.state.ts';

/** What may wait for one person's actor. Beyond it the watch is refused, and asks again. */
const PUSH_MAILBOX_MAX = 1_000;
/** A push that is older tells nobody anything: it is dropped, and counted. */
export const PUSH_LIFE_MILLIS = 24 * 3_600_000;
/** An invite rings for a minute at most. */
export const CALL_LIFE_MILLIS = 60_000;
/** Messages of one conversation that one decision pushes: the newest. The badge counts the others. */
export const PUSHED_AT_ONCE_MAX = 16;
/** A reminder is late enough after an hour to be none. */
export const REMINDER_LIFE_MILLIS = 3_600_000;
/** How far back the loss of a socket is looked into: the longest that a dead peer goes unnoticed, and as much again. */
export const LOSS_MILLIS = 120_000;

/** A call and its end stand beside each other in the outbox of a device. */
const CALL_SEQ = 0;
const CANCEL_SEQ = 1;

/** How much before its time an alarm may go off: timers count whole milliseconds. */
const EARLY_MILLIS = 5;

/** What is counted of decisions. */
export interface PushCounts {
  due(kind: PushKind, count: number): void;
  dropped(reason: string, count: number): void;
}

export interface PushOptions {
  /** The lane of the person's name. */
  readonly lane: (user: string) => Lane;
  readonly reader: PushReader;
  readonly registry: PushRegistry;
  readonly attention: Attention;
  readonly counts: PushCounts;
  /** Whether the policies let one person reach another. */
  readonly reaches: (action: 'message' | 'call', from: string, to: string) => boolean;
  /** Of what a person wants to be told in a conversation at that millisecond. */
  readonly levelAt: (user: string, conversation: string, now: number) => NotificationLevel;
  /** What a person watches for in what others write, each as `phraseOf` makes it. */
  readonly watchedBy: (user: string) => readonly string[];
  /** How long after the last awake socket went what it may not have heard is decided anew, in milliseconds. */
  readonly redecideMillis: number;
}

export function makePushActor(options: PushOptions): Actor<PushState, PushMessage> {
  return {
    name: 'push',
    mailboxMax: PUSH_MAILBOX_MAX,
    urgent: ['ring', 'hush', 'register', 'unregister', 'sessionsEnded'],
    lane: options.lane,
    start: (user) => new PushState(user, options.lane(user)),
    receive: (state, message, now) => new Turn(state, options, now).receive(message),
    isIdle: (state) => state.rows.size === 0 && state.lostAt === undefined,
    inspect: ({ registrations, rows }) => ({ registrations: registrations.size, waiting: rows.size }),
  };
}

/** One message, and what it has the actor do. */
class Turn {
  readonly #state: PushState;
  readonly #options: PushOptions;
  readonly #now: number;
  readonly #writes: LaneWrite[] = [];

  constructor(state: PushState, options: PushOptions, now: number) {
    this.#state = state;
    this.#options = options;
    this.#now = now;
  }

  receive(message: PushMessage): readonly Effect[] {
    switch (message.kind) {
      case 'register':
        this.#register(message.registration);
        break;
      case 'unregister':
        this.#unregister(({ device }) => device === message.device);
        break;
      case 'sessionsEnded':
        this.#unregister(({ sid }) => message.sids.includes(sid));
        break;
      case 'addressTaken':
        this.#unregister(({ address }) => nameOf(address) === message.name);
        break;
      case 'decide':
        if (!this.#options.attention.isAwake(this.#state.user)) this.#decide(this.#widened(message));
        break;
      case 'attentionLost':
        this.#state.lostAt ??= message.at;
        break;
      case 'ring':
        this.#ring(message.call);
        break;
      case 'hush':
        this.#hush(({ subject }) => subject === `call:${message.call}`);
        break;
      case 'callsLost':
        this.#hush(() => true, true);
        break;
      case 'remind':
        this.#remind(message.reminder);
        break;
      case 'invite':
        this.#invite(message.conversation);
        break;
      case 'settled':
        this.#settle(message);
        break;
      case 'tick':
        this.#tick();
        break;
      default:
        return unreachable(message);
    }
    const pushes = this.#send();
    const append: Effect[] = this.#writes.length === 0 ? [] : [{ kind: 'append', writes: this.#writes }];
    return [...append, ...pushes, ...this.#wake(), { kind: 'answer', value: null }];
  }

  /** One registration of a device and one of an address; whoever registered longest ago makes room. */
  #register(registration: PushRegistration): void {
    const { registrations } = this.#state;
    const name = nameOf(registration.address);
    this.#unregister(({ device, address }) => device !== registration.device && nameOf(address) === name);
    if (!registrations.has(registration.device) && registrations.size >= PUSH_REGISTRATIONS_MAX) {
      const [oldest] = [...registrations.values()].toSorted((a, b) => a.at - b.at);
      if (oldest !== undefined) this.#unregister(({ device }) => device === oldest.device);
    }
    this.#writes.push(this.#state.register(registration));
    this.#show();
  }

  #unregister(isOver: (registration: PushRegistration) => boolean): void {
    for (const registration of [...this.#state.registrations.values()]) {
      if (isOver(registration)) this.#writes.push(...this.#state.unregister(registration.device));
    }
    this.#show();
  }

  #show(): void {
    this.#options.registry.show(this.#state.user, [...this.#state.registrations.values()]);
  }

  /** While the loss of a socket is still to be looked into, what it may not have heard is decided along: the cursor moves on. */
  #widened(message: Extract<PushMessage, { kind: 'decide' }>): Extract<PushMessage, { kind: 'decide' }> {
    const { lostAt } = this.#state;
    if (lostAt === undefined) return message;
    return { ...message, from: 0, since: Math.min(message.since ?? Infinity, lostAt - LOSS_MILLIS) };
  }

  #decide({ conversation, from, since }: Extract<PushMessage, { kind: 'decide' }>): void {
    const { counts, levelAt, reader, reaches, watchedBy } = this.#options;
    const { user } = this.#state;
    this.#unregister(({ until }) => until * 1000 <= this.#now);
    const standing = this.#state.registrations.size === 0 ? undefined : reader.standing(user, conversation);
    if (standing === undefined) return;
    const { headSeq } = standing;
    // What was held back once, by a mute say, is not pushed because of what comes behind it.
    const decided = Math.max(this.#state.cursor(conversation), this.#state.decided.get(conversation) ?? 0);
    const first = Math.max(from, decided + 1, headSeq - PUSHED_AT_ONCE_MAX + 1);
    if (first > headSeq) return;
    this.#state.decided.set(conversation, headSeq);
    const moment = {
      user,
      now: this.#now,
      countsDelivered: since !== undefined,
      reaches: (sender: string) => reaches('message', sender, user),
      level: levelAt(user, conversation, this.#now),
    };
    const watched = watchedBy(user);
    const due = reader.messages(conversation, first, headSeq).flatMap((message) => {
      const posted = postedFor(user, message, watched);
      if (posted.at < (since ?? 0)) return [];
      const verdict: Verdict = judge(posted, standing, moment);
      if (verdict !== 'due') counts.dropped(verdict, 1);
      return verdict === 'due' ? [posted] : [];
    });
    for (const { seq, at } of due) this.#addMessage(conversation, seq, at);
    if (due.length > 0) this.#writes.push(this.#state.moveCursor(conversation, headSeq));
  }

  /** What was posted before a device was registered is not for it. */
  #addMessage(conversation: string, seq: number, at: number): void {
    const { counts } = this.#options;
    for (const { device, at: registeredAt } of this.#state.registrations.values()) {
      if (at < registeredAt) continue;
      counts.due('message', 1);
      this.#put(device, { subject: conversation, seq, kind: 'message', call: undefined }, PUSH_LIFE_MILLIS);
      const removed = this.#state.collapse(device);
      if (removed.length > 0) counts.dropped('collapsed', removed.length);
      this.#writes.push(...removed);
    }
  }

  /** A call rings on every device that is not awake itself, whatever other devices do: as it does over sockets. */
  #ring(call: CallDetail): void {
    const { attention, counts, reaches } = this.#options;
    const { user } = this.#state;
    if (!reaches('call', call.host, user)) return counts.dropped('forbidden', 1);
    for (const { device } of this.#state.registrations.values()) {
      if (attention.isAwake(user, device)) continue;
      counts.due('call', 1);
      this.#put(device, { subject: `call:${call.call}`, seq: CALL_SEQ, kind: 'call', call }, CALL_LIFE_MILLIS);
    }
    return undefined;
  }

  /**
   * Devices that were told of a call are told that it is over; those that were not yet are never told. After a restart
   * nobody knows which: a push may have gone out without a trace.
   */
  #hush(isOver: (row: PushRow) => boolean, mayBeTold = false): void {
    for (const row of [...this.#state.rows.values()]) {
      if (row.kind !== 'call' || !isOver(row)) continue;
      const wasTold = mayBeTold || row.isSent || this.#state.inFlight.has(rowName(row));
      this.#writes.push(this.#state.remove(row));
      if (!wasTold) continue;
      this.#options.counts.due('cancel', 1);
      this.#put(
        row.device,
        { subject: row.subject, seq: CANCEL_SEQ, kind: 'cancel', call: row.call },
        CALL_LIFE_MILLIS,
      );
    }
  }

  /** Devices that are awake hear of it over their sockets. The same reminder once more is the same push. */
  #remind(reminder: ReminderData): void {
    const { attention, counts } = this.#options;
    const subject = `reminder:${reminder.reminder_id}`;
    for (const { device } of this.#state.registrations.values()) {
      if (attention.isAwake(this.#state.user, device)) continue;
      counts.due('reminder', 1);
      this.#put(device, { subject, seq: 0, kind: 'reminder', call: undefined, reminder }, REMINDER_LIFE_MILLIS);
    }
  }

  /** As a message that names the person is: where no app of theirs is awake, and not while they want nothing. */
  #invite(conversation: string): void {
    const { attention, counts, levelAt } = this.#options;
    const { user } = this.#state;
    if (attention.isAwake(user)) return;
    if (levelAt(user, conversation, this.#now) === 'none') {
      counts.dropped('unwanted', 1);
      return;
    }
    const row = { subject: `invitation:${conversation}`, seq: 0, kind: 'invitation', call: undefined } as const;
    for (const { device } of this.#state.registrations.values()) {
      counts.due('invitation', 1);
      this.#put(device, row, PUSH_LIFE_MILLIS);
    }
  }

  #put(device: string, row: Pick<PushRow, 'subject' | 'seq' | 'kind' | 'call' | 'reminder'>, life: number): void {
    const name = rowName({ ...row, device });
    if (this.#state.rows.has(name)) return;
    this.#writes.push(this.#state.put({ ...row, device, at: this.#now, expiresAt: this.#now + life, isSent: false }));
  }

  #settle({ row: settled, address, outcome }: Extract<PushMessage, { kind: 'settled' }>): void {
    const { inFlight, registrations, rows, tried } = this.#state;
    const name = rowName(settled);
    inFlight.delete(name);
    const row = rows.get(name);
    if (outcome.result === 'gone') {
      const registration = registrations.get(settled.device);
      // A new address may have taken its place while the old one was tried.
      if (registration !== undefined && nameOf(registration.address) === address) {
        this.#unregister(({ device }) => device === settled.device);
      }
    } else if (row !== undefined && outcome.result === 'later') {
      tried.set(name, { attempts: (tried.get(name)?.attempts ?? 0) + 1, at: outcome.at });
    } else if (row?.kind === 'call' && outcome.result === 'sent') {
      this.#writes.push(this.#state.put({ ...row, isSent: true }));
    } else if (row !== undefined) {
      this.#writes.push(this.#state.remove(row));
    }
  }

  #tick(): void {
    const { lostAt } = this.#state;
    if (lostAt === undefined || lostAt + this.#options.redecideMillis > this.#now) return;
    this.#state.lostAt = undefined;
    const { attention, reader } = this.#options;
    if (attention.isAwake(this.#state.user)) return;
    reader.refresh();
    const since = lostAt - LOSS_MILLIS;
    for (const conversation of reader.activeSince(this.#state.user, since)) {
      this.#decide({ kind: 'decide', conversation, from: 0, since });
    }
  }

  /** Hands over what is due by now, and takes out what is too old for anybody. */
  #send(): Effect[] {
    const { inFlight, rows, tried } = this.#state;
    const effects: Effect[] = [];
    for (const [name, row] of [...rows]) {
      if (inFlight.has(name)) continue;
      if (row.expiresAt <= this.#now) {
        if (!row.isSent) this.#options.counts.dropped('expired', 1);
        this.#writes.push(this.#state.remove(row));
        continue;
      }
      // Told at once, the end of a call could overtake the call itself, which would then ring on.
      const isAhead = row.kind === 'cancel' && inFlight.has(rowName({ ...row, seq: CALL_SEQ }));
      if (isAhead || row.isSent || (tried.get(name)?.at ?? 0) > this.#now) continue;
      const delivery = this.#state.delivery(row);
      if (delivery === undefined) {
        this.#writes.push(this.#state.remove(row));
        continue;
      }
      inFlight.add(name);
      effects.push({ kind: 'push', delivery });
    }
    return effects;
  }

  /** Sets the next alarm, unless an earlier one is set. */
  #wake(): Effect[] {
    const { inFlight, lostAt, rows, tried } = this.#state;
    if (this.#state.wakeAt <= this.#now + EARLY_MILLIS) this.#state.wakeAt = Infinity;
    const due = [...rows]
      .filter(([name]) => !inFlight.has(name))
      .map(([name, row]) => Math.min(row.expiresAt, tried.get(name)?.at ?? Infinity));
    if (lostAt !== undefined) due.push(lostAt + this.#options.redecideMillis);
    const next = Math.min(...due);
    if (next >= this.#state.wakeAt) return [];
    this.#state.wakeAt = next;
    return [{ kind: 'wake', after: Math.max(1, Math.ceil(next - this.#now) + 1), message: { kind: 'tick' } }];
  }
}
