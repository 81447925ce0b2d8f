/**
 * Asking people into a room instead of adding them: by the installation's policy, which the surface hands over with
 * whoever adds, and what those who are asked answer. An invitation is good while its inviter could still ask.
 */
import { unixSeconds } from '#src/base/clock.ts';
import type { Participant, Role } from '#src/protocol/conversations/conversations.ts';
import { INVITATION_DECLINED_MILLIS, ROOM_INVITATION_MILLIS, ROOM_INVITATIONS_MAX } from '#src/protocol/limits.ts';
import { encodeEvent, type InvitationAction } from '#src/protocol/sockets/events.ts';
import {
  invitationAt,
  isWaiting,
  mayInvite,
  removeInvitation,
  writeInvitation,
  type StoredInvitation,
} from '#storage/conversations/room-invitations.ts';
import { under } from '#storage/engine/keys.ts';
import type { LaneWrite } from '#storage/engine/lane.ts';
import type { ConversationRecord, MemberRecord } from '#storage/engine/records.ts';
import { refuse, type Effect } from '../runtime/actor.ts';
import type { Asking, ConversationMessage } from './conversation.messages.ts';
import type { ConversationState } from './conversation.state.ts';

type Of<Kind extends ConversationMessage['kind']> = Extract<ConversationMessage, { kind: Kind }>;

const LOOKED_AT_ONE_BY_ONE_MAX = 16;

/** Whom of `users`, who do not take part yet, an add asks. Nobody where the server itself adds, without a policy. */
export function askedOf(
  users: readonly string[],
  participants: number,
  asking: Omit<Asking, 'full'> | undefined,
  isGuest: (user: string) => boolean,
): ReadonlySet<string> {
  if (asking === undefined) return new Set();
  const isLarge = participants + users.length > asking.above;
  const bots = new Set(asking.bots);
  const wishing = new Set(asking.wishing);
  const isAsked = (user: string) => isLarge || wishing.has(user) || (asking.guests && isGuest(user));
  return new Set(users.filter((user) => !bots.has(user) && isAsked(user)));
}

/** What asking these people does. */
export type Invited =
  | { readonly refused: readonly Effect[] }
  | { readonly writes: readonly LaneWrite[]; readonly events: readonly Effect[] };

/**
 * Asks people: those who wait already go on waiting, and who declined this inviter lately refuses the whole. Whoever was
 * asked by the same one before, who took it back, is asked without being told again.
 */
export function invite(
  state: ConversationState,
  record: ConversationRecord,
  asked: readonly Participant[],
  message: Pick<Of<'add'>, 'asking' | 'participants' | 'user'>,
  now: number,
): Invited {
  if (asked.length === 0) return { writes: [], events: [] };
  const stored = invitationsOf(state);
  const gone = goneInvitations(state, stored, asked, message, now);
  const over = stored.filter((one) => gone.has(one));
  const known = stored.filter((one) => !gone.has(one));
  const waiting = new Set(known.filter(({ state: how }) => how === 'waiting').map(({ user }) => user));
  const own = new Map(known.filter(({ by }) => by === message.user).map((one) => [one.user, one.state]));
  const fieldOf = ({ user }: Participant) => `participants.${message.participants.indexOf(user)}`;
  const added = asked.filter(({ user }) => !waiting.has(user));
  const declined = added.find(({ user }) => own.get(user) === 'declined');
  if (declined !== undefined) return { refused: refuse('invitation_declined', fieldOf(declined)) };
  const full = new Set(message.asking?.full);
  const busy = added.find(({ user }) => full.has(user));
  if (busy !== undefined) return { refused: refuse('invitations_full', fieldOf(busy)) };
  const more = added.filter(({ user }) => !own.has(user)).length;
  if (known.length + more > ROOM_INVITATIONS_MAX) return { refused: refuse('invitations_full', 'participants') };
  const times = { at: now, until: now + ROOM_INVITATION_MILLIS };
  const writes = added.flatMap(({ user, role }) =>
    writeInvitation({ conversation: state.id, user, by: message.user, state: 'waiting', role, ...times }),
  );
  const told = added.filter(({ user }) => !own.has(user)).map(({ user }) => user);
  const events = told.length === 0 ? [] : [invitationEvent(record, 'invited', message.user, told, now)];
  return { writes: [...over.flatMap(removeInvitation), ...writes], events };
}

/**
 * Invitations that are over, and of those who are asked now the ones that nobody can accept, because whoever asked lost the
 * right or may not reach them: they must not stand in the way of who asks now.
 */
function goneInvitations(
  state: ConversationState,
  stored: readonly StoredInvitation[],
  asked: readonly Participant[],
  { asking }: Pick<Of<'add'>, 'asking'>,
  now: number,
): ReadonlySet<StoredInvitation> {
  const users = new Set(asked.map(({ user }) => user));
  const unreached = new Set(asking?.unreached);
  const isVoid = (one: StoredInvitation) => unreached.has(one.user) || !mayInvite(roleIn(state, one.by), one);
  return new Set(
    stored.filter((one) => one.until <= now || (one.state === 'waiting' && users.has(one.user) && isVoid(one))),
  );
}

/** What goes with people who take part from now on, however they came. */
export function answeredInvitations(state: ConversationState, users: ReadonlySet<string>): LaneWrite[] {
  // Of a few people it takes a look at each; of many, one at the whole room.
  const stored =
    users.size <= LOOKED_AT_ONE_BY_ONE_MAX
      ? [...users].flatMap((user) => invitationsOf(state, user))
      : invitationsOf(state).filter(({ user }) => users.has(user));
  return stored.flatMap(removeInvitation);
}

/** What goes with the person who is erased: what they were asked, and what they asked. */
export function eraseInvitations(state: ConversationState, user: string): LaneWrite[] {
  return invitationsOf(state)
    .filter((one) => one.user === user || one.by === user)
    .flatMap(removeInvitation);
}

/** The invitation that waits for a person, while its inviter could still ask; undefined where none does. */
export function invitationFor(state: ConversationState, user: string, now: number): StoredInvitation | undefined {
  return invitationsOf(state, user).find((one) => isWaiting(one, now) && mayInvite(roleIn(state, one.by), one));
}

export function decline(
  state: ConversationState,
  record: ConversationRecord | undefined,
  { user }: Of<'declineInvitation'>,
  now: number,
): readonly Effect[] {
  const invitation = record === undefined ? undefined : invitationFor(state, user, now);
  if (record === undefined || invitation === undefined) return refuse('invitation_not_found');
  const declined = { ...invitation, state: 'declined', at: now, until: now + INVITATION_DECLINED_MILLIS } as const;
  const who = [{ user, role: state.roleOf(user, invitation.role) }];
  return [
    { kind: 'append', writes: writeInvitation(declined) },
    { kind: 'answer', value: { status: 204, json: '' } },
    invitationEvent(record, 'declined', user, [invitation.by], now, who),
  ];
}

/** Takes an invitation back; it is remembered until it would be over, so that asking again is not heard again. */
export function withdraw(
  state: ConversationState,
  record: ConversationRecord,
  member: MemberRecord,
  { invited, user }: Of<'withdrawInvitation'>,
  now: number,
): readonly Effect[] {
  const mayAny = state.may(member.role, 'participant.remove');
  if (!mayAny && !state.may(member.role, 'participant.add')) return refuse('right_missing');
  const invitation = invitationsOf(state, invited).find((one) => isWaiting(one, now));
  if (invitation === undefined) return refuse('invitation_not_found');
  if (invitation.by !== user && !mayAny) return refuse('right_missing');
  return [
    { kind: 'append', writes: writeInvitation({ ...invitation, state: 'withdrawn' }) },
    { kind: 'answer', value: { status: 204, json: '' } },
    invitationEvent(record, 'withdrawn', user, [invited], now),
  ];
}

/** The role that a participant has, if they take part. */
function roleIn(state: ConversationState, user: string): Role | undefined {
  const member = state.member(user);
  return member === undefined ? undefined : state.roleOf(user, member.role);
}

/** Everything stored of invitations to this room, or of one person's; at most ROOM_INVITATIONS_MAX. */
function invitationsOf({ id, view }: ConversationState, ...user: readonly string[]): StoredInvitation[] {
  return view.keys('roomInvitations', under(id, ...user)).flatMap((itemKey) => {
    const value = view.get('roomInvitations', itemKey);
    return value === undefined ? [] : [invitationAt(itemKey, value)];
  });
}

/** What is told of an invitation; of the room it has the title and how many are in it, and nobody who else is asked. */
function invitationEvent(
  record: ConversationRecord,
  action: InvitationAction,
  user: string,
  to: readonly string[],
  now: number,
  participants: readonly Participant[] = [],
): Effect {
  const { id, participantCount, title } = record;
  const data = { action, user, participants, participant_count: participantCount, title };
  const event = encodeEvent({ type: 'membership', conv: id, ts: unixSeconds(now) }, JSON.stringify(data));
  return { kind: 'publishTo', users: to, type: 'membership', event };
}
