/** Signalling: a stanza is checked, given its sender, and handed to who is connected now (SIG-01…07). */
import type { z } from 'zod';
import { unixSeconds } from '#src/base/clock.ts';
import { isId } from '#src/base/ids.ts';
import { encodeEvent } from '#src/protocol/events.ts';
import { Refusal } from '#src/protocol/errors.ts';
import { USERNAME } from '#src/protocol/names.ts';
import {
  CALL_BODIES,
  findIdentityField,
  isSignalKind,
  SIGNAL_STEPS,
  signal,
  type SignalEventData,
} from '#src/protocol/signals.ts';
import { readConversation, readMember } from '#storage/conversation-reader.ts';
import { shareConversation } from '#storage/inbox-reader.ts';
import { ask, type Call, type Handler } from './caller.ts';
import { parseForm } from './parsing.ts';

export const postSignal: Handler = async (call) => {
  const stanza = checkSignal(call.body);
  const data: SignalEventData = { ...stanza, body: stanza.body ?? {}, sender: call.user } as SignalEventData;
  const ts = unixSeconds(call.service.now());
  const acting = { user: call.user, device: call.device };
  if (isId('c', stanza.to)) {
    requireMember(call, stanza.to);
    const event = encodeEvent({ type: 'signal', conv: stanza.to, ts }, JSON.stringify(data));
    await deliver(call, stanza.to, data, { ...acting, event, topic: stanza.to });
  } else {
    requireShared(call, stanza.to);
    const event = encodeEvent({ type: 'signal', ts }, JSON.stringify(data));
    const users = [...new Set([stanza.to, call.user])];
    await deliver(call, users.toSorted().join('|'), data, { ...acting, event, users });
  }
  return { status: 202, json: '' };
};

type Stanza = z.infer<typeof signal>;

/**
 * The stanza with kind and step settled first, each with a code of its own (SIG-02), then its form and its body.
 * @throws Refusal signal_kind_unknown, signal_step_unknown, field_unknown, field_invalid.
 */
export function checkSignal(body: unknown): Stanza {
  const { kind, step } = (body ?? {}) as { kind?: unknown; step?: unknown };
  if (kind !== undefined && !isSignalKind(kind)) throw new Refusal('signal_kind_unknown', { field: 'kind' });
  if (isSignalKind(kind) && step !== undefined && !(SIGNAL_STEPS[kind] as readonly unknown[]).includes(step)) {
    throw new Refusal('signal_step_unknown', { field: 'step' });
  }
  const stanza = parseForm(signal, body);
  const identity = findIdentityField(stanza.body);
  if (identity !== undefined) throw new Refusal('field_unknown', { field: `body.${identity}` });
  if (stanza.kind !== 'call') return stanza;
  try {
    const checked = parseForm(CALL_BODIES[stanza.step as keyof typeof CALL_BODIES] as z.ZodType, stanza.body ?? {});
    return { ...stanza, body: checked as Record<string, unknown> };
  } catch (error) {
    if (!(error instanceof Refusal)) throw error;
    throw new Refusal(error.code, { field: error.field === undefined ? 'body' : `body.${error.field}` });
  }
}

/** @throws Refusal recipient_forbidden: one answer for a conversation that is not there and not theirs (SIG-04). */
function requireMember(call: Call, conversation: string): void {
  const environment = call.service.lanes.read(conversation);
  environment.refresh();
  const there = readConversation(environment.tables, conversation) !== undefined;
  if (!there || readMember(environment.tables, conversation, call.user) === undefined) {
    throw new Refusal('recipient_forbidden', { field: 'to' });
  }
}

/** @throws Refusal recipient_forbidden: one answer for a person who does not exist and one who shares nothing. */
function requireShared(call: Call, user: string): void {
  const { environments } = call.service.lanes;
  for (const environment of environments) environment.refresh();
  const known = USERNAME.test(user) && user !== call.user;
  if (!known || !shareConversation(environments, call.user, user)) {
    throw new Refusal('recipient_forbidden', { field: 'to' });
  }
}

interface Delivery {
  readonly user: string;
  readonly device: string;
  readonly event: string;
  readonly topic?: string;
  readonly users?: readonly string[];
}

/** Hands the stanza to its call attempt, which keeps the order; what belongs to no attempt goes out directly. */
async function deliver(call: Call, scope: string, data: SignalEventData, delivery: Delivery): Promise<void> {
  const { kind, step, seq } = data;
  if (data.call !== undefined) {
    await ask(call, `call:${scope}|${data.call}`, {
      kind: 'step',
      signal: { kind, step, ...(seq === undefined ? {} : { seq }) },
      ...delivery,
    });
    return;
  }
  const except = { device: delivery.device };
  const { node } = call.service;
  if (delivery.topic === undefined) {
    node.publishTo({ kind: 'publishTo', users: delivery.users ?? [], type: 'signal', event: delivery.event, except });
  } else {
    node.publish({ kind: 'publish', topic: delivery.topic, type: 'signal', event: delivery.event, except });
  }
}
