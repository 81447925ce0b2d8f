/** Handlers of invitations to rooms: when adding somebody asks them, and what they and the room see and answer. */
import type { Asking } from '#actors/conversation/conversation.messages.ts';
import { askedOf } from '#actors/conversation/inviting.ts';
import { formatInstant } from '#src/base/time.ts';
import { personalFieldsOf } from '#src/identity/personal-fields.ts';
import type { PendingInvitation, RoomInvitation } from '#src/protocol/conversations/room-invitation-routes.ts';
import { rightsIn } from '#src/protocol/conversations/rights.ts';
import { RATE_LIMITS } from '#src/protocol/rate-limits.ts';
import { Refusal } from '#src/protocol/errors.ts';
import {
  readInvitationsOf,
  readInvitationsTo,
  readWaitingFor,
  type StoredInvitation,
} from '#storage/conversations/room-invitations.ts';
import { conversationId } from '#src/protocol/names.ts';
import {
  ask,
  askConversation,
  pathUsername,
  readable,
  type ClientRequest,
  type Handler,
  type Reply,
} from '../http/caller.ts';

/**
 * The policy for an add to a room of so many `participants`, whose `people` do not take part yet. Whoever is to be asked
 * counts, asked already or not: looking at them is what it costs. @throws Refusal `rate_limited`.
 */
export async function askingFor(
  request: ClientRequest,
  conversation: string,
  people: readonly string[],
  participants: number,
): Promise<Asking> {
  const { access, accounts, bots, lanes, now, rates } = request.service;
  const wishing = people.filter((person) => personalFieldsOf(accounts, person).asked_first === true);
  const asking = { ...access.asking, wishing, bots: people.filter((person) => bots.isActive(person)) };
  const asked = [...askedOf(people, participants, asking, (person) => access.isGuest(person))];
  const left = rates.left('invite', request.user);
  if (asked.length > left) {
    const retryAfter = Math.ceil((asked.length - left) / RATE_LIMITS.invite.perSecond);
    throw new Refusal('rate_limited', { retryAfter });
  }
  if (asked.length > 0) rates.spend('invite', request.user, asked.length);
  const { full, here } = await readWaitingFor(lanes.environments, asked, { conversation, by: request.user }, now());
  const unreached = here.filter((invitation) => !reaches(request, invitation)).map(({ user }) => user);
  return { ...asking, full, unreached };
}

/** Whether who asks somebody into a room, or made the link, may still reach them, by the policies and as somebody who may come (POL-01). */
export function reaches({ service }: ClientRequest, { by, user }: Pick<StoredInvitation, 'by' | 'user'>): boolean {
  const { access, accounts, bots } = service;
  const isActive = accounts.isActive(by) || bots.isActive(by);
  return isActive && !access.isOver(by) && access.allows('invite', by, user) && access.allows('message', by, user);
}

/** The caller's invitations that are good, the newest first. */
function invitationsOf(request: ClientRequest) {
  const { lanes, now } = request.service;
  return lanes.environments
    .flatMap((environment) => {
      environment.refresh();
      return readInvitationsOf(environment.tables, request.user, now());
    })
    .filter(({ invitation }) => reaches(request, invitation))
    .toSorted((a, b) => b.invitation.at - a.invitation.at);
}

const timesOf = ({ at, until }: StoredInvitation) => ({
  created_at: formatInstant(at),
  expires_at: formatInstant(until),
});

export const readRoomInvitations: Handler = (request) => {
  const items = invitationsOf(request).map(({ invitation, record }): RoomInvitation => {
    const { by, conversation } = invitation;
    const title = record.title === undefined ? {} : { title: record.title };
    const role = request.service.access.isGuest(request.user) ? 'guest' : invitation.role;
    const size = { participant_count: record.participantCount };
    return { conversation_id: conversation, ...title, ...size, by, role, ...timesOf(invitation) };
  });
  return { status: 200, json: JSON.stringify({ items, next: null }) };
};

export const acceptRoomInvitation: Handler = async (request) => {
  const { lanes, now } = request.service;
  const conversation = pathInvitation(request);
  const environment = lanes.read(conversation);
  environment.refresh();
  const waiting = readInvitationsOf(environment.tables, request.user, now());
  const found = waiting.find(({ invitation }) => invitation.conversation === conversation);
  // Where none waits the actor says so, or that the caller takes part already.
  if (found !== undefined && !reaches(request, found.invitation)) throw new Refusal('invitation_not_found');
  return await answer(request, conversation, 'acceptInvitation');
};

export const declineRoomInvitation: Handler = async (request) =>
  await answer(request, pathInvitation(request), 'declineInvitation');

export const readPendingInvitations: Handler = (request) => {
  const { member, record, tables } = readable(request);
  const rights = rightsIn(record.kind, member.role);
  if (!rights.includes('participant.add') && !rights.includes('participant.remove')) throw new Refusal('right_missing');
  const { access, now } = request.service;
  const items = readInvitationsTo(tables, record.id, now()).map((invitation): PendingInvitation => {
    const { by, role, user } = invitation;
    return { user, by, role: access.isGuest(user) ? 'guest' : role, ...timesOf(invitation) };
  });
  return { status: 200, json: JSON.stringify({ items, next: null }) };
};

export const withdrawRoomInvitation: Handler = async (request) =>
  await askConversation(request, { kind: 'withdrawInvitation', invited: pathInvited(request) });

async function answer(
  request: ClientRequest,
  conversation: string,
  kind: 'acceptInvitation' | 'declineInvitation',
): Promise<Reply> {
  const { device, user } = request;
  return await ask<Reply>(request, `conversation:${conversation}`, { kind, user, device });
}

/** The conversation of the path. @throws Refusal `invitation_not_found` for what no conversation could have. */
function pathInvitation(request: ClientRequest): string {
  const { id = '' } = request.params;
  if (!conversationId.safeParse(id).success) throw new Refusal('invitation_not_found');
  return id;
}

/** Whoever is invited by the path. @throws Refusal `conversation_forbidden`, `invitation_not_found`. */
function pathInvited(request: ClientRequest): string {
  readable(request);
  try {
    return pathUsername(request);
  } catch {
    throw new Refusal('invitation_not_found');
  }
}
