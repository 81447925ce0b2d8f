/** How the news of an attempt becomes events: who gets which stanza, and what the server writes into it (SIG-06). */
import { encodeEvent } from '#src/protocol/sockets/events.ts';
import type { Effect, Except } from '../runtime/actor.ts';
import type { CallStep } from './call.messages.ts';
import { audienceOf, pairOf, type CallRecord } from './call-record.ts';

interface Stanza {
  readonly kind: string;
  readonly step: string;
  readonly call: string;
  readonly seq?: number;
  readonly body: object;
  /** The person whose session it came from; left out where the server itself speaks. */
  readonly sender?: string;
}

interface Way {
  /** Unix seconds. */
  readonly ts: number;
  /** What its sender addressed; undefined where the server speaks: a conversation, or whoever hears it. */
  readonly addressed?: { readonly to: string; readonly conversation: string | null };
  /** These people alone. */
  readonly users?: readonly string[];
  readonly except?: Except;
}

/** A person's step, to everybody it concerns but the device, or the person, that took it. */
export function relay(record: CallRecord, step: CallStep, ts: number, except: 'device' | 'user'): Effect[] {
  const { user, device, family, call, seq, body, to, conversation } = step;
  const stanza = { kind: family, step: step.step, call, seq, body, sender: user };
  // Who came from outside addresses another conversation, which is none of the pair's business.
  const addressed = record.isGroup || pairOf(record.scope).includes(user) ? { addressed: { to, conversation } } : {};
  return spread(record, stanza, { ts, ...addressed, except: except === 'user' ? { user } : { device } });
}

/** A step of the call family that the server takes. */
export function announce(
  record: CallRecord,
  step: 'cancel' | 'end',
  body: object,
  way: Omit<Way, 'addressed'> & { readonly sender?: string },
): Effect[] {
  const { sender, ...rest } = way;
  const stanza = { kind: 'call', step, call: record.call, body, ...(sender === undefined ? {} : { sender }) };
  return spread(record, stanza, rest);
}

function spread(record: CallRecord, stanza: Stanza, way: Way): Effect[] {
  const { isGroup, scope } = record;
  if (isGroup && way.users === undefined) {
    const event = write(stanza, way.ts, scope, scope);
    return [{ kind: 'publish', topic: scope, type: 'signal', event, ...exceptOf(way) }];
  }
  const inside = isGroup ? undefined : pairOf(scope);
  const { conversation } = isGroup ? { conversation: scope } : (way.addressed ?? record);
  const people = way.users ?? audienceOf(record);
  const isInside = (user: string) => inside?.includes(user) !== false;
  const insiders = people.filter((user) => isInside(user));
  const effects: Effect[] = [];
  const to = conversation ?? way.addressed?.to;
  if (to !== undefined) {
    effects.push(publishTo(insiders, write(stanza, way.ts, to, conversation ?? undefined), way));
  }
  // Who came from outside takes part in none of the pair's conversations, so none is named to them.
  for (const user of to === undefined ? people : people.filter((one) => !isInside(one))) {
    effects.push(publishTo([user], write(stanza, way.ts, user, undefined), way));
  }
  return effects;
}

function publishTo(users: readonly string[], event: string, way: Way): Effect {
  return { kind: 'publishTo', users, type: 'signal', event, ...exceptOf(way) };
}

function exceptOf({ except }: Way): { except?: Except } {
  return except === undefined ? {} : { except };
}

function write(stanza: Stanza, ts: number, to: string, conv: string | undefined): string {
  return encodeEvent(
    { type: 'signal', ts, ...(conv === undefined ? {} : { conv }) },
    JSON.stringify({ to, ...stanza }),
  );
}
