/**
 * The call actor: one call attempt between the people it was addressed to. It passes stanzas on, keeps a sender's
 * steps in order (SIG-07) and lets each person join once. Nothing of it is stored (SIG-06).
 *
 * Its key is the scope (the conversation, or the pair of people) with the client's call id, so that whoever names the
 * same id elsewhere meets another actor (GOV-01).
 */
import type { Signal } from '#src/protocol/signals.ts';
import { refuse, type Actor, type Effect } from '../runtime/actor.ts';

export interface CallStep {
  readonly kind: 'step';
  readonly user: string;
  readonly device: string;
  readonly signal: Pick<Signal, 'kind' | 'step' | 'seq'>;
  /** The event to deliver, encoded by the surface. */
  readonly event: string;
  /** A conversation's topic, or the people of a pair. */
  readonly topic?: string | undefined;
  readonly users?: readonly string[] | undefined;
}

export interface CallState {
  readonly joined: Set<string>;
  readonly lastSeq: Map<string, number>;
  over: boolean;
  touchedAt: number;
}

/** Steps that may wait for one attempt. Beyond it: `busy`. */
const CALL_MAILBOX_MAX = 2_000;
/** An attempt nobody joined is forgotten this long after its last step: ringing ends well before. */
const RINGING_MEMORY_MILLIS = 120_000;
/** A joined one is kept longer, for a join that comes late to be told it was already joined. */
const JOINED_MEMORY_MILLIS = 3_600_000;

export const callActor: Actor<CallState, CallStep> = {
  name: 'call',
  mailboxMax: CALL_MAILBOX_MAX,
  urgent: ['step'],
  start: () => ({ joined: new Set(), lastSeq: new Map(), over: false, touchedAt: 0 }),
  receive,
  isIdle: (state, now) =>
    state.over || now - state.touchedAt > (state.joined.size > 0 ? JOINED_MEMORY_MILLIS : RINGING_MEMORY_MILLIS),
  inspect: (state) => ({ joined: state.joined.size, senders: state.lastSeq.size, over: state.over }),
};

function receive(state: CallState, message: CallStep, now: number): readonly Effect[] {
  const { user, device, event, signal } = message;
  const seq = signal.seq ?? 0;
  state.touchedAt = now;
  // Devices of one person count their steps apart, so the order is kept per device.
  const sender = `${user} ${device}`;
  if (signal.kind === 'call' && signal.step === 'join') {
    if (state.joined.has(user)) return refuse('call_already_joined');
  }
  const last = state.lastSeq.get(sender);
  if (last !== undefined && seq <= last) return refuse('signal_out_of_order', 'seq');
  state.lastSeq.set(sender, seq);
  if (signal.kind === 'call' && signal.step === 'join') state.joined.add(user);
  if (signal.kind === 'call' && (signal.step === 'end' || signal.step === 'cancel')) state.over = true;
  return [{ kind: 'answer', value: null }, deliver(message, event)];
}

function deliver(message: CallStep, event: string): Effect {
  const except = { device: message.device };
  return message.topic === undefined
    ? { kind: 'publishTo', users: message.users ?? [], type: 'signal', event, except }
    : { kind: 'publish', topic: message.topic, type: 'signal', event, except };
}
