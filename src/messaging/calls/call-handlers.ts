/** Calls beside their signalling: the caller's live ones, servers for their media, and outcomes held against what was seen. */
import type { OutcomeAnswer } from '#actors/call/call.messages.ts';
import { pairOf, pairScope, stateOf, type CallRecord } from '#actors/call/call-record.ts';
import { isId } from '#src/base/ids.ts';
import { formatInstant } from '#src/base/time.ts';
import type { LiveCallView } from '#src/protocol/calls/calls.ts';
import type { PostMessage } from '#src/protocol/conversations/messages.ts';
import { readConversation, readMember, readParticipants } from '#storage/conversations/conversation-reader.ts';
import { ask, askShards, type ClientRequest, type Handler } from '../http/caller.ts';
import { iceServers } from './ice-servers.ts';

/**
 * The scope of a call that is addressed to this conversation: a room itself, or the pair that a direct conversation
 * is, so that it does not matter which way the two of them address each other.
 */
export function scopeOf(
  request: ClientRequest,
  conversation: string,
): { readonly scope: string; readonly isGroup: boolean } {
  const { tables } = request.service.lanes.read(conversation);
  if (readConversation(tables, conversation)?.kind === 'room') return { scope: conversation, isGroup: true };
  return { scope: pairScope(readParticipants(tables, conversation, 2).map(({ user }) => user)), isGroup: false };
}

/** Every shard is asked: one that is restarting has its calls asked for again, since a call left out would not ring. */
export const readCalls: Handler = async (request) => {
  const elsewhere = await askShards(request, 'calls.listFor', { user: request.user });
  const records = [...request.service.callsOf(request.user), ...elsewhere.flat()];
  const items = records
    .toSorted((a, b) => a.startedAt - b.startedAt)
    .map((record) => viewOf(record, request.user))
    .filter(({ to }) => request.reach?.has(to) !== false);
  return { status: 200, json: JSON.stringify({ items, next: null }) };
};

function viewOf(record: CallRecord, user: string): LiveCallView {
  const { call, host, video, room, startedAt, parties } = record;
  return {
    call,
    to: addressFor(record, user),
    state: stateOf(record),
    host,
    video,
    room,
    started_at: formatInstant(startedAt),
    participants: parties.map((party) => ({ user: party.user, held: party.held })),
    you: standingOf(record, user),
    device: parties.find((party) => party.user === user)?.device ?? null,
  };
}

function standingOf({ parties, declined, transfer, ringingUntil }: CallRecord, user: string): LiveCallView['you'] {
  const party = parties.find((one) => one.user === user);
  if (party !== undefined) return party.held ? 'held' : 'joined';
  if (transfer?.target === user) return 'ringing';
  if (declined.includes(user)) return 'declined';
  return ringingUntil === null ? 'invited' : 'ringing';
}

/** What the person addresses steps to. Who came from outside a pair knows whoever brought them in. */
function addressFor({ isGroup, scope, conversation, transfer, guests }: CallRecord, user: string): string {
  if (isGroup) return scope;
  const pair = pairOf(scope);
  const brought = transfer?.target === user ? transfer : guests.find((guest) => guest.user === user);
  if (!pair.includes(user) && brought !== undefined) return brought.by;
  return conversation ?? pair.find((other) => other !== user) ?? user;
}

export const readIceServers: Handler = (request) => {
  const { service, user } = request;
  return { status: 200, json: JSON.stringify(iceServers(service.mediaServers(), user, service.now())) };
};

/**
 * Holds a call outcome against what the server saw, and answers the attempts that it may be of. Other messages pass,
 * and so does one about a call that the server does not know, or no longer.
 * @throws Refusal call_outcome_contradicts.
 */
export async function requireTrueOutcome(request: ClientRequest, { body }: PostMessage): Promise<OutcomeAnswer> {
  const { id = '' } = request.params;
  if (typeof body !== 'object' || !('outcome' in body) || !isId('c', id)) return [];
  request.service.lanes.read(id).refresh();
  if (readMember(request.service.lanes.read(id).tables, id, request.user) === undefined) return [];
  const { result, duration } = body.outcome;
  // Between threads an undefined field would arrive as null.
  const said = { kind: 'outcome', result, duration, ...(body.call === undefined ? {} : { call: body.call }) } as const;
  return await ask<OutcomeAnswer>(request, `call:${scopeOf(request, id).scope}`, said);
}
