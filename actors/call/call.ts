/**
 * The call actor: the live attempts between the people of one scope, a room or a pair. It puts steps in order, lets the
 * attempt's state machine decide, and tells everybody it concerns. Nothing of it is stored (SIG-06): what it must not
 * lose with its shard stands on the board, in memory.
 *
 *     step ─► in order ─► attempt ─► relayed, settled, over ─► board
 *     clock (monotonic) ─► tick ─┘
 *
 * Its key is the scope, so both sides of a pair meet in one place (glare), and whoever names the same attempt elsewhere
 * meets another actor (GOV-01).
 */
import { unixSeconds } from '#src/base/clock.ts';
import { refused, unreachable, type Actor, type Answer, type Effect } from '../runtime/actor.ts';
import { ROLLS, located, nextDue, takeOut, takeStep, tick, type News, type Refusing } from './attempt.ts';
import { claimsOf, type CallClaimed, type CallMessage, type CallStep, type OutcomeAnswer } from './call.messages.ts';
import { audienceOf, pairScope, stateOf, type CallRecord } from './call-record.ts';
import { resume, type CallOptions, type CallScope } from './call-scope.ts';
import { agrees } from './outcome-check.ts';
import { StepOrder } from './step-order.ts';
import { announce, relay } from './call-events.ts';

/** Steps that may wait for one scope. Beyond it: `busy`. */
const CALL_MAILBOX_MAX = 2_000;
/** Attempts that may be live between the same people at once. Beyond it: `calls_full`. */
export const ATTEMPTS_MAX = 16;
/** How long what became of an attempt is known, for late steps and for the outcome that its client posts. */
export const ENDED_MEMORY_MILLIS = 600_000;
/** Ended attempts known between the same people. Beyond it the oldest is forgotten: its outcome is believed. */
export const ENDED_MAX = 64;
/** Attempts whose steps may wait for their invite at once. Beyond it the step is judged at once. */
const UNKNOWN_MAX = 256;
/** A transferred call's other address is forgotten unless it is told again in this time. */
const ALIAS_MILLIS = 180_000;
/** Other addresses known in one scope. Beyond it the oldest is forgotten. */
const ALIASES_MAX = 64;
/** How much before its time an alarm may go off: timers count whole milliseconds. */
const EARLY_MILLIS = 5;

export function makeCallActor(options: CallOptions): Actor<CallScope, CallMessage> {
  return {
    name: 'call',
    mailboxMax: CALL_MAILBOX_MAX,
    urgent: ['step', 'tick', 'located', 'membershipEnded', 'sessionsEnded', 'alias', 'claim', 'release'],
    start: (scope) => resume(scope, options),
    receive: (state, message, now) => new Turn(state, options, now).receive(message),
    // Deadlines are the clock's own, which wakes the actor for the last of them: here it is enough to be empty.
    isIdle: ({ live, ended, orders, aliases }) => live.size + ended.size + orders.size + aliases.size === 0,
    inspect: ({ live, ended }) => ({ live: live.size, ended: ended.size }),
  };
}

/** One message, and what it has the actor do. */
class Turn {
  readonly #state: CallScope;
  readonly #options: CallOptions;
  readonly #at: number;
  readonly #now: number;
  readonly #ts: number;
  readonly #effects: Effect[] = [];

  constructor(state: CallScope, options: CallOptions, now: number) {
    this.#state = state;
    this.#options = options;
    this.#now = now;
    this.#ts = unixSeconds(now);
    this.#at = options.monotonic();
  }

  receive(message: CallMessage): readonly Effect[] {
    switch (message.kind) {
      case 'step':
        this.#arrive(message);
        break;
      case 'outcome':
        this.#effects.push(this.#judge(message));
        break;
      case 'tick':
        this.#tick();
        break;
      case 'located': {
        const record = this.#state.live.get(message.call);
        if (record !== undefined) this.#tell(record, located(record, message, this.#at, this.#options));
        break;
      }
      case 'membershipEnded':
        this.#endMemberships(message.users);
        this.#effects.push({ kind: 'answer', value: null });
        break;
      case 'sessionsEnded':
        this.#endSessions(new Set(message.sessions));
        break;
      case 'alias':
        this.#addAlias(message.call, message.scope);
        break;
      case 'claim':
        this.#effects.push(this.#claim(message.call, message.scope));
        break;
      case 'release':
        if (this.#state.aliases.get(message.call)?.scope === message.scope) this.#state.aliases.delete(message.call);
        this.#effects.push({ kind: 'answer', value: null });
        break;
      default:
        return unreachable(message);
    }
    this.#wake();
    return this.#effects;
  }

  /** Puts a step in its place among those of its device; takes it, and what waited for it, when its turn has come. */
  #arrive(step: CallStep): void {
    const { live, ended, aliases, orders } = this.#state;
    const { call } = step;
    const alias = aliases.get(call);
    if (alias !== undefined && !live.has(call)) return this.#answer(step, step, ok({ moved: alias.scope }));
    if (ended.has(call) || (!orders.has(call) && orders.size >= UNKNOWN_MAX)) return this.#take(step, step);
    let order = orders.get(call);
    if (order === undefined) orders.set(call, (order = new StepOrder(true)));
    const { ready, isLate } = order.take(senderOf(step), step.seq, step, { now: this.#at, opens: opens(step) });
    if (isLate) return this.#answer(step, step, refused('signal_out_of_order', 'seq'));
    if (!ready.includes(step)) this.#effects.push({ kind: 'hold', token: tokenOf(step) });
    for (const one of ready) this.#take(one, step);
    this.#dropOrder(call);
  }

  /** Decides a step whose turn has come; `asked` is the one that this turn has to answer. */
  #take(step: CallStep, asked: CallStep | undefined): void {
    const { live, ended } = this.#state;
    const record = live.get(step.call);
    if (record === undefined) {
      const verdict = ended.has(step.call) ? refused('call_over') : this.#begin(step);
      return this.#answer(step, asked, verdict);
    }
    const taken = takeStep(record, { ...step, kind: step.family }, this.#at, this.#options);
    if (isRefusing(taken)) return this.#answer(step, asked, refused(taken.refused, taken.field));
    this.#answer(step, asked, ok(null));
    this.#tell(record, taken, step);
    // Candidates come by the hundred and change nothing that is shown.
    if (step.family === 'call' && live.has(step.call)) this.#options.board.show(record);
    if (step.step === 'transfer') this.#shareAddress(record);
  }

  /** The first step of an attempt: an invite, which rings, or in a room a join, which rings nobody. */
  #begin(step: CallStep): Answer {
    const { live, scope } = this.#state;
    const { user, device, session, isGroup, conversation, call, body } = step;
    const isInvite = step.family === 'call' && step.step === 'invite';
    const isOpening = step.family === 'call' && step.step === 'join' && isGroup;
    if (!isInvite && !isOpening) return refused('call_not_found');
    if (!step.mayBegin) return refused('recipient_forbidden', 'to');
    if (live.size >= ATTEMPTS_MAX) return refused('calls_full');
    const record: CallRecord = {
      scope,
      call,
      isGroup,
      conversation,
      host: user,
      video: body['video'] === true,
      room: (body['room'] as string | undefined) ?? '',
      startedAt: this.#now,
      parties: [{ user, device, session, held: false, absentSince: null }],
      declined: [],
      guests: [],
      gone: [],
      transfer: null,
      ringingUntil: isInvite ? this.#at + this.#options.ring : null,
      answeredAt: null,
      rollAt: this.#at + this.#options.lost / ROLLS,
    };
    const met = isInvite && !isGroup ? this.#meeting(user) : undefined;
    if (met !== undefined && met.call < call) {
      this.#end(record, { kind: 'over', result: 'cancelled', reason: 'glare', into: met.call });
      return ok(null);
    }
    if (met !== undefined) this.#end(met, { kind: 'over', result: 'cancelled', reason: 'glare', into: call });
    live.set(call, record);
    this.#effects.push(...relay(record, step, this.#ts, 'device'));
    if (isOpening) this.#settle(record, user, device, 'answered_elsewhere');
    this.#options.board.show(record);
    return ok(null);
  }

  /** Glare: the attempt by which the other one of the pair is ringing this person right now. The smaller id stays. */
  #meeting(user: string): CallRecord | undefined {
    return [...this.#state.live.values()].find((record) => record.host !== user && stateOf(record) === 'ringing');
  }

  #tell(record: CallRecord, news: readonly News[], step?: CallStep): void {
    for (const item of news) {
      switch (item.kind) {
        case 'relay':
          if (step !== undefined) this.#effects.push(...relay(record, step, this.#ts, item.except));
          break;
        case 'settle':
          this.#settle(record, item.user, item.device, item.reason);
          break;
        case 'quiet': {
          const way = { ts: this.#ts, ...(item.users === undefined ? {} : { users: item.users }) };
          this.#effects.push(...announce(record, 'cancel', { reason: item.reason }, way));
          break;
        }
        case 'left':
          this.#sayLeft(record, item.user, item.reason);
          break;
        case 'roll':
          this.#roll(record);
          break;
        case 'over':
          this.#end(record, item);
          break;
        default:
          throw new Error('There is no such news.');
      }
    }
    // Looking after a device changes nothing that is shown, unless somebody is out.
    const isQuiet = news.every(({ kind }) => kind === 'roll' || kind === 'relay');
    if (step === undefined && !isQuiet && this.#state.live.has(record.call)) this.#options.board.show(record);
  }

  #settle(record: CallRecord, user: string, device: string, reason: string): void {
    this.#effects.push(...announce(record, 'cancel', { reason }, { ts: this.#ts, users: [user], except: { device } }));
  }

  #sayLeft(record: CallRecord, user: string, reason: string): void {
    const way = { ts: this.#ts, sender: user };
    this.#effects.push(...announce(record, 'end', { reason }, way));
    // What reaches the others may no longer reach them.
    const isOutside = record.isGroup ? reason === 'removed' : !audienceOf(record).includes(user);
    if (isOutside) this.#effects.push(...announce(record, 'end', { reason }, { ...way, users: [user] }));
  }

  #roll(record: CallRecord): void {
    const { scope } = this.#state;
    for (const { user, device } of [...record.parties]) {
      const isGuest = record.guests.some((guest) => guest.user === user);
      if (!isGuest && !this.#options.takesPart(scope, user)) {
        this.#tell(record, takeOut(record, user, 'removed'));
        if (!this.#state.live.has(record.call)) return;
        continue;
      }
      const message = { kind: 'locate', device, call: record.call, replyTo: `call:${scope}` };
      this.#effects.push({ kind: 'tell', to: `person:${user}`, message });
    }
    this.#shareAddress(record);
  }

  /** Holds the id, and has the pairs by which people from outside are addressed send their steps here. */
  #shareAddress({ call, isGroup, scope, guests, transfer }: CallRecord): void {
    this.#effects.push({ kind: 'tell', to: claimsOf(call), message: { kind: 'alias', call, scope } as CallMessage });
    if (isGroup) return;
    const pairs = guests.map(({ user, by }) => pairScope([user, by]));
    if (transfer !== null) pairs.push(pairScope([transfer.target, transfer.by]));
    for (const pair of pairs) {
      if (pair === scope) continue;
      this.#effects.push({ kind: 'tell', to: `call:${pair}`, message: { kind: 'alias', call, scope } as CallMessage });
    }
  }

  /** An id lives in one scope at a time. A claim whose attempt tells no more of itself is over. */
  #claim(call: string, scope: string): Effect {
    const known = this.#state.aliases.get(call);
    if (known !== undefined && known.scope !== scope && known.until > this.#at) {
      return { kind: 'refuse', code: 'call_id_taken', field: 'call' };
    }
    this.#addAlias(call, scope);
    return { kind: 'answer', value: { isNew: known === undefined } satisfies CallClaimed };
  }

  #addAlias(call: string, scope: string): void {
    const { aliases } = this.#state;
    aliases.delete(call);
    const [oldest] = aliases.keys();
    if (aliases.size >= ALIASES_MAX && oldest !== undefined) aliases.delete(oldest);
    aliases.set(call, { scope, until: this.#at + ALIAS_MILLIS });
  }

  /** Ends an attempt: one last stanza, without a sender, tells everybody so. */
  #end(record: CallRecord, over: Extract<News, { kind: 'over' }>): void {
    const { live, ended, orders } = this.#state;
    const { call, scope, answeredAt } = record;
    live.delete(call);
    const waiting = orders.get(call)?.overdue(Infinity) ?? [];
    orders.delete(call);
    const seconds = answeredAt === null ? 0 : (this.#at - answeredAt) / 1000;
    ended.set(call, { result: over.result, seconds, forgetAt: this.#at + ENDED_MEMORY_MILLIS });
    const [oldest] = ended.keys();
    if (ended.size > ENDED_MAX && oldest !== undefined) ended.delete(oldest);
    this.#options.board.end(scope, call, over.result);
    this.#effects.push({ kind: 'tell', to: claimsOf(call), message: { kind: 'release', call, scope } as CallMessage });
    const body = { reason: over.reason, ...(over.into === undefined ? {} : { into: over.into }) };
    this.#effects.push(...announce(record, 'end', body, { ts: this.#ts }));
    for (const step of waiting) this.#answer(step, undefined, refused('call_over'));
  }

  #tick(): void {
    const { live, ended, aliases, orders } = this.#state;
    // An alarm that was overtaken by a nearer one must not set another, or they would grow in number.
    if (this.#state.wakeAt <= this.#at + EARLY_MILLIS) this.#state.wakeAt = Infinity;
    for (const [call, order] of [...orders]) {
      for (const step of order.overdue(this.#at)) this.#take(step, undefined);
      this.#dropOrder(call);
    }
    for (const record of [...live.values()]) {
      // A record may have several things due; each is told before the next is looked at.
      while (live.has(record.call) && nextDue(record) <= this.#at) {
        this.#tell(record, tick(record, this.#at, this.#options));
      }
    }
    for (const [call, { forgetAt }] of [...ended]) if (forgetAt <= this.#at) ended.delete(call);
    for (const [call, { until }] of [...aliases]) if (until <= this.#at) aliases.delete(call);
  }

  #endMemberships(users: readonly string[] | null): void {
    for (const record of [...this.#state.live.values()]) {
      for (const user of users ?? record.parties.map((party) => party.user)) {
        if (!this.#state.live.has(record.call)) break;
        const news = takeOut(record, user, 'removed');
        // Whoever was not in it may have been rung.
        this.#tell(record, news.length > 0 ? news : [{ kind: 'quiet', users: [user], reason: 'removed' }]);
      }
    }
  }

  /** Whoever has no session any more does not come back on that device: nothing is waited for. */
  #endSessions(sessions: ReadonlySet<string>): void {
    for (const record of [...this.#state.live.values()]) {
      for (const { session, user } of [...record.parties]) {
        if (!this.#state.live.has(record.call)) break;
        if (session !== null && sessions.has(session)) this.#tell(record, takeOut(record, user, 'lost'));
      }
    }
  }

  #judge({ call, result, duration }: Extract<CallMessage, { kind: 'outcome' }>): Effect {
    const { live, ended } = this.#state;
    const seen = [...ended].filter(([attempt]) => call === undefined || attempt === call);
    const agreeing = seen.filter(([, one]) => agrees(one, result, duration)).map(([attempt]) => attempt);
    // Nothing is known of it, or no longer: the client is believed.
    const isUnknown = seen.length === 0 && (call === undefined || !live.has(call));
    if (!isUnknown && agreeing.length === 0) return { kind: 'refuse', code: 'call_outcome_contradicts' };
    return { kind: 'answer', value: agreeing satisfies OutcomeAnswer };
  }

  /** Answers a step: the one this turn was asked with, or one that was held. */
  #answer(step: CallStep, asked: CallStep | undefined, answer: Answer): void {
    if (step !== asked) {
      this.#effects.push({ kind: 'answerHeld', token: tokenOf(step), answer });
    } else if (answer.ok) {
      this.#effects.push({ kind: 'answer', value: answer.value });
    } else {
      const { code, field } = answer;
      this.#effects.push(field === undefined ? { kind: 'refuse', code } : { kind: 'refuse', code, field });
    }
  }

  /** The order of an attempt that does not live is kept only while steps wait for its invite. */
  #dropOrder(call: string): void {
    const { live, orders } = this.#state;
    if (!live.has(call) && orders.get(call)?.nextDue === Infinity) orders.delete(call);
  }

  /** Sets the next tick, unless an earlier one is set already. */
  #wake(): void {
    const { live, ended, aliases, orders } = this.#state;
    const due = Math.min(
      ...[...live.values()].map((record) => nextDue(record)),
      ...[...orders.values()].map((order) => order.nextDue),
      ...[...ended.values()].map(({ forgetAt }) => forgetAt),
      ...[...aliases.values()].map(({ until }) => until),
    );
    if (due >= this.#state.wakeAt) return;
    this.#state.wakeAt = due;
    this.#effects.push({ kind: 'wake', after: Math.max(1, Math.ceil(due - this.#at) + 1), message: { kind: 'tick' } });
  }
}

function ok(value: null | { readonly moved: string }): Answer {
  return { ok: true, value };
}

function isRefusing(taken: readonly News[] | Refusing): taken is Refusing {
  return !Array.isArray(taken);
}

/** Steps by which a device enters an attempt or stays out of it. */
function opens({ family, step }: CallStep): boolean {
  return family === 'call' && (step === 'invite' || step === 'join' || step === 'decline');
}

function senderOf({ user, device }: CallStep): string {
  return `${user} ${device}`;
}

function tokenOf(step: CallStep): string {
  return `${senderOf(step)} ${step.seq} ${step.call}`;
}
