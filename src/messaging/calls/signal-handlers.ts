/** Signalling: a stanza is checked, given its sender, and handed to who is connected now (SIG-01…07). */
import type { z } from 'zod';
import {
  claimsOf,
  type CallClaimed,
  type CallMessage,
  type CallStep,
  type StepTaken,
} from '#actors/call/call.messages.ts';
import { pairScope } from '#actors/call/call-record.ts';
import { unixSeconds } from '#src/base/clock.ts';
import { isId } from '#src/base/ids.ts';
import { encodeEvent } from '#src/protocol/sockets/events.ts';
import { Refusal } from '#src/protocol/errors.ts';
import { USERNAME } from '#src/protocol/names.ts';
import {
  CALL_BODIES,
  findIdentityField,
  isSignalKind,
  SIGNAL_STEPS,
  signal,
  type SignalEventData,
} from '#src/protocol/calls/signals.ts';
import { readConversation, readMember } from '#storage/conversations/conversation-reader.ts';
import { shareConversation } from '#storage/conversations/inbox-reader.ts';
import { isArchived } from '#storage/conversations/room-records.ts';
import { scopeOf } from './call-handlers.ts';
import { ask, type ClientRequest, type Handler } from '../http/caller.ts';
import { parseForm } from '../http/parsing.ts';

export const postSignal: Handler = async (request) => {
  const stanza = checkSignal(request.body);
  // A bot signals in its conversations alone; whatever else it names is not there for it.
  if (request.reach !== undefined && !request.reach.has(stanza.to))
    throw new Refusal('recipient_forbidden', { field: 'to' });
  const conversation = isId('c', stanza.to) ? stanza.to : null;
  if (conversation === null) requireShared(request, stanza.to);
  else requireMember(request, conversation);
  if (stanza.kind === 'sub') request.service.access.requireStanza(request, stanza.to, conversation !== null);
  if (isInvite(stanza)) {
    if (conversation === null) request.service.access.requireCallTo(request, stanza.to);
    else request.service.access.requireCall(request, conversation);
    if (isShut(request, conversation)) throw new Refusal('conversation_archived');
    request.service.rates.take('call_begun', request.user);
  }
  if (stanza.kind === 'sub') relayFreely(request, stanza, conversation);
  else await takeStep(request, stanza, conversation);
  return { status: 202, json: '' };
};

type Stanza = z.infer<typeof signal>;

/** Only an invite starts anything: whoever was called may answer and hang up, whatever they may start (POL-01). */
function isInvite({ kind, step }: Stanza): boolean {
  return kind === 'call' && step === 'invite';
}

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

/**
 * @throws Refusal recipient_forbidden: one answer for a conversation that is not there and not theirs (SIG-04);
 * storage_damaged where nobody can tell.
 */
function requireMember(request: ClientRequest, conversation: string): void {
  request.service.lanes.requireReadable(conversation);
  const environment = request.service.lanes.read(conversation);
  environment.refresh();
  const there = readConversation(environment.tables, conversation) !== undefined;
  if (!there || readMember(environment.tables, conversation, request.user) === undefined) {
    throw new Refusal('recipient_forbidden', { field: 'to' });
  }
}

/** @throws Refusal recipient_forbidden: one answer for a person who does not exist and one who shares nothing. */
function requireShared(request: ClientRequest, user: string): void {
  const { environments } = request.service.lanes;
  for (const environment of environments) environment.refresh();
  const known = USERNAME.test(user) && user !== request.user;
  if (!known || !shareConversation(environments, request.user, user)) {
    throw new Refusal('recipient_forbidden', { field: 'to' });
  }
}

/** Hands a step to its call attempt, wherever that went. @throws Refusal with the codes of the attempt. */
async function takeStep(request: ClientRequest, stanza: Stanza, conversation: string | null): Promise<void> {
  const { user, device } = request;
  const { to, kind, step, seq = 0, body = {} } = stanza;
  const place =
    conversation === null ? { scope: pairScope([user, to]), isGroup: false } : scopeOf(request, conversation);
  if (step === 'transfer') requireTarget(request, body['target'] as string, place.isGroup ? place.scope : undefined);
  const message: CallMessage = {
    kind: 'step',
    user,
    device,
    session: request.session?.sid ?? null,
    isGroup: place.isGroup,
    conversation,
    to,
    family: kind as 'call' | 'webrtc',
    step,
    call: stanza.call as string,
    seq,
    body,
    // In a room a join begins what nobody invited to.
    mayBegin: step !== 'join' || conversation === null || mayBeginIn(request, conversation),
  };
  const begins = isInvite(stanza) || (place.isGroup && step === 'join');
  const taken = await asTheOnlyOne(
    request,
    begins ? message : undefined,
    place.scope,
    async () => await ask<StepTaken>(request, `call:${place.scope}`, message),
  );
  if (taken !== null) await ask(request, `call:${taken.moved}`, { ...message, isGroup: false });
}

/**
 * Has a step that may begin an attempt do so while no other scope has one of that id; `opening` is undefined for other steps.
 * @throws Refusal call_id_taken; those of the step.
 */
async function asTheOnlyOne(
  request: ClientRequest,
  opening: Pick<CallStep, 'call'> | undefined,
  scope: string,
  take: () => Promise<StepTaken>,
): Promise<StepTaken> {
  if (opening === undefined) return await take();
  const { call } = opening;
  const claimed = await ask<CallClaimed>(request, claimsOf(call), { kind: 'claim', call, scope } satisfies CallMessage);
  try {
    return await take();
  } catch (error) {
    if (claimed.isNew) await ask(request, claimsOf(call), { kind: 'release', call, scope } satisfies CallMessage);
    throw error;
  }
}

/** No call begins in an archived room; one that is live goes on, and its outcome is posted. */
function isShut({ service }: ClientRequest, conversation: string | null): boolean {
  const record =
    conversation === null ? undefined : readConversation(service.lanes.read(conversation).tables, conversation);
  return record !== undefined && isArchived(record);
}

function mayBeginIn(request: ClientRequest, conversation: string): boolean {
  return request.service.access.mayCallIn(conversation, request.user) && !isShut(request, conversation);
}

/**
 * A call is handed to somebody whom the caller could call themselves: in a room one of its members.
 * @throws Refusal recipient_forbidden.
 */
function requireTarget(request: ClientRequest, target: string, room: string | undefined): void {
  const field = 'body.target';
  if (target === request.user) throw new Refusal('field_invalid', { field });
  try {
    requireShared(request, target);
    request.service.access.requireCallTo(request, target);
    const member =
      room === undefined || readMember(request.service.lanes.read(room).tables, room, target) !== undefined;
    if (!member) throw new Refusal('recipient_forbidden');
  } catch (error) {
    if (!(error instanceof Refusal)) throw error;
    throw new Refusal(error.code, { field });
  }
}

/** What belongs to no attempt goes out directly. */
function relayFreely(request: ClientRequest, stanza: Stanza, conversation: string | null): void {
  const { runtime, now } = request.service;
  const data: SignalEventData = { ...stanza, body: stanza.body ?? {}, sender: request.user } as SignalEventData;
  const except = { device: request.device };
  const ts = unixSeconds(now());
  if (conversation === null) {
    const event = encodeEvent({ type: 'signal', ts }, JSON.stringify(data));
    const users = [...new Set([stanza.to, request.user])];
    runtime.publishTo({ kind: 'publishTo', users, type: 'signal', event, except });
  } else {
    const event = encodeEvent({ type: 'signal', conv: conversation, ts }, JSON.stringify(data));
    runtime.publish({ kind: 'publish', topic: conversation, type: 'signal', event, except });
  }
}
