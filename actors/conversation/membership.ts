/** Who takes part: creating, adding, removing, roles, deleting. */
import { unixSeconds } from '#src/base/clock.ts';
import { formatInstant } from '#src/base/time.ts';
import type { Conversation, Participant, Role } from '#src/protocol/conversations/conversations.ts';
import { hasAccountRight } from '#src/protocol/directory/account-rights.ts';
import { encodeEvent, type MembershipAction } from '#src/protocol/sockets/events.ts';
import { EVENT_PARTICIPANTS_MAX, PARTICIPANTS_MAX } from '#src/protocol/limits.ts';
import {
  removeMember,
  writeConversation,
  writeMember,
  writePurge,
  writeRetention,
  writeRoster,
} from '#storage/conversations/conversation-writes.ts';
import { writeRoomAvatar } from '#storage/conversations/room-avatars.ts';
import { isArchived, isListed, writeListing } from '#storage/conversations/room-records.ts';
import { countRoom } from '#storage/conversations/usage-records.ts';
import type { LaneWrite } from '#storage/engine/lane.ts';
import type { ConversationRecord, MemberRecord } from '#storage/engine/records.ts';
import { refuse, type Effect } from '../runtime/actor.ts';
import { roomOf } from './describing.ts';
import type { ConversationMessage, Reply } from './conversation.messages.ts';
import { answeredInvitations, askedOf, invitationFor, invite } from './inviting.ts';
import { removeLinksBy } from './linking-in.ts';
import { makeChange, type Change, type ConversationState } from './conversation.state.ts';

type Of<Kind extends ConversationMessage['kind']> = Extract<ConversationMessage, { kind: Kind }>;

const answer = (status: Reply['status'], json: string): Effect => ({ kind: 'answer', value: { status, json } });

/**
 * Creates the conversation under this id. The surface derives a direct one's id from its pair, so creating it again
 * finds it here and answers 200 with it.
 */
export function create(state: ConversationState, message: Of<'create'>, now: number): readonly Effect[] {
  const { user, conversation: kind } = message;
  if (state.living !== undefined) return [answer(200, JSON.stringify(state.toWire(state.living)))];
  const mayMake = hasAccountRight('conversation.create.room', { isGuest: state.isGuest(user) });
  if (kind === 'room' && !mayMake) return refuse('right_missing');
  const named = [...new Set(message.participants)].filter((other) => other !== user);
  if (named.length + 1 > PARTICIPANTS_MAX) return refuse('conversation_full');
  const asked = askedOf(named, 1, kind === 'room' ? (message.asking ?? undefined) : undefined, (other) =>
    state.isGuest(other),
  );
  const others = named.filter((other) => !asked.has(other));
  if (kind === 'room') {
    const along = new Set([user, ...others]);
    const astray = named.find((other) => isAstray(state, other, along));
    if (astray !== undefined) return refuse('participant_unknown', fieldOf(message, astray));
  }
  const first = kind === 'room' ? 'owner' : 'member';
  const participants: Participant[] = [
    { user, role: state.roleOf(user, first) },
    ...others.map((other) => ({ user: other, role: state.roleOf(other, 'member') })),
  ];
  const record: ConversationRecord = {
    id: state.id,
    kind,
    // What crossed a thread comes as null where it was left out.
    title: message.title ?? undefined,
    createdAt: formatInstant(now),
    createdBy: user,
    // A pair that deleted its chat and starts again goes on counting, so that no client takes new for known.
    headSeq: state.record?.headSeq ?? 0,
    rev: state.record?.rev ?? 0,
    participantCount: participants.length,
    ownerCount: kind === 'room' ? 1 : 0,
    pinCount: 0,
    stamp: 0,
    activeAt: now,
    deleted: false,
    floorSeq: state.record?.floorSeq ?? 0,
    floorRev: state.record?.floorRev ?? 0,
    retention: undefined,
    isHeld: state.record?.isHeld ?? false,
    emptiedSeq: state.record?.emptiedSeq ?? 0,
    room: roomOf(message),
  };
  const invited = invite(state, record, membersOf(state, asked), message, now);
  if ('refused' in invited) return invited.refused;
  state.record = record;
  const change = membershipChange(state, record, now, 'joined', user, participants);
  const counted = kind === 'room' ? countRoom(state.view, user, 1) : [];
  const members = participants.flatMap((one) => joined(record, one));
  const writes = [...change.writes, ...counted, ...members, ...(isListed(record) ? [writeListing(record)] : [])];
  const users = participants.map((one) => one.user);
  const wire = { ...state.toWire(record), ...wireParticipants(record, participants) };
  return [
    { kind: 'append', writes: [...writes, ...invited.writes] },
    answer(201, withInvited(wire, asked)),
    { kind: 'membership', conversation: state.id, users, joined: true },
    inboxEvent(state, users, JSON.stringify(wire), now),
    ...invited.events,
  ];
}

/** Whether somebody is the guest of one who neither takes part in the room nor comes into it `along` with them. */
function isAstray(state: ConversationState, user: string, along: ReadonlySet<string>): boolean {
  const host = state.hostOf(user);
  return host !== undefined && !along.has(host) && state.member(host) === undefined;
}

function fieldOf({ participants }: Pick<Of<'add'>, 'participants'>, user: string): string {
  return `participants.${participants.indexOf(user)}`;
}

/** Those of an add who are asked, as they would take part. */
function membersOf(state: ConversationState, users: ReadonlySet<string>, role: Role = 'member'): Participant[] {
  return [...users].map((user) => ({ user, role: state.roleOf(user, role) }));
}

/** The room as whoever added people reads it, with those who were asked instead. */
function withInvited(wire: Conversation, asked: ReadonlySet<string>): string {
  return JSON.stringify(asked.size === 0 ? wire : { ...wire, invited: [...asked] });
}

/** Adds people to a room. Those who take part already stay as they are. */
export function add(
  state: ConversationState,
  record: ConversationRecord,
  member: MemberRecord,
  message: Of<'add'>,
  now: number,
): readonly Effect[] {
  if (record.kind !== 'room') return refuse('participants_fixed');
  if (!state.may(member.role, 'participant.add')) return refuse('right_missing');
  // Nobody hands out more than they have: only an owner makes owners and moderators.
  if (message.role !== 'member' && message.role !== 'guest' && !state.may(member.role, 'role.change')) {
    return refuse('right_missing', 'role');
  }
  const users = [...new Set(message.participants)].filter((user) => state.member(user) === undefined);
  if (users.length === 0) return [answer(200, JSON.stringify(state.toWire(record)))];
  if (record.participantCount + users.length > PARTICIPANTS_MAX) return refuse('conversation_full');
  // Whoever is meant as a member comes as the guest that they are; nobody makes a guest more than that.
  const isRaised = message.role === 'moderator' || message.role === 'owner';
  if (isRaised && users.some((user) => state.isGuest(user))) return refuse('field_invalid', 'role');
  const asked = askedOf(users, record.participantCount, message.asking ?? undefined, (user) => state.isGuest(user));
  const joiners = users.filter((user) => !asked.has(user));
  const along = new Set(joiners);
  const astray = users.find((user) => isAstray(state, user, along));
  if (astray !== undefined) return refuse('participant_unknown', fieldOf(message, astray));
  const invited = invite(state, record, membersOf(state, asked, message.role), message, now);
  if ('refused' in invited) return invited.refused;
  const added = joiners.map((user) => ({ user, role: state.roleOf(user, message.role) }));
  const joining = added.length === 0 ? undefined : letIn(state, record, added, message.user, now);
  const writes = [...(joining?.writes ?? []), ...invited.writes];
  return [
    // Of people who wait for their answer already there is nothing to write.
    ...(writes.length === 0 ? [] : [{ kind: 'append', writes } as const]),
    answer(200, withInvited(joining?.wire ?? state.toWire(record), asked)),
    ...(joining?.events ?? []),
    ...invited.events,
  ];
}

/** Whoever was asked takes part, as long as the invitation is good. A repeat is answered with the room. */
export function accept(
  state: ConversationState,
  record: ConversationRecord | undefined,
  { user }: Of<'acceptInvitation'>,
  now: number,
): readonly Effect[] {
  if (record !== undefined && state.member(user) !== undefined) {
    return [answer(200, JSON.stringify(state.toWire(record)))];
  }
  const invitation = record === undefined ? undefined : invitationFor(state, user, now);
  if (record === undefined || invitation === undefined) return refuse('invitation_not_found');
  // The host of a guest may have left since they were asked.
  if (isAstray(state, user, new Set())) return refuse('invitation_not_found');
  // It goes on waiting, for the room to be brought back.
  if (isArchived(record)) return refuse('conversation_archived');
  if (record.participantCount >= PARTICIPANTS_MAX) return refuse('conversation_full');
  const who = [{ user, role: state.roleOf(user, invitation.role) }];
  const { events, wire, writes } = letIn(state, record, who, user, now);
  return [{ kind: 'append', writes }, answer(200, JSON.stringify(wire)), ...events];
}

/** What it takes that people who do not take part do so from now on, `by` somebody: what is written and told. */
export function letIn(
  state: ConversationState,
  record: ConversationRecord,
  people: readonly Participant[],
  by: string,
  now: number,
): { readonly wire: Conversation; readonly writes: readonly LaneWrite[]; readonly events: readonly Effect[] } {
  const users = people.map(({ user }) => user);
  record.participantCount += people.length;
  record.ownerCount += people.filter(({ role }) => role === 'owner').length;
  const all = record.participantCount <= EVENT_PARTICIPANTS_MAX ? [...state.participants(), ...people] : people;
  const change = membershipChange(state, record, now, 'joined', by, people);
  const wire = { ...state.toWire(record), ...wireParticipants(record, all) };
  return {
    wire,
    writes: [
      ...change.writes,
      ...people.flatMap((one) => joined(record, one)),
      ...answeredInvitations(state, new Set(users)),
    ],
    events: [
      { kind: 'publish', topic: state.id, type: 'membership', event: change.event },
      { kind: 'membership', conversation: state.id, users, joined: true },
      inboxEvent(state, users, JSON.stringify(wire), now),
    ],
  };
}

/** Removes a participant; whoever names itself leaves. A room keeps an owner as long as anybody is in it. */
export function remove(
  state: ConversationState,
  record: ConversationRecord,
  member: MemberRecord,
  message: Of<'remove'>,
  now: number,
): readonly Effect[] {
  const { participant, user } = message;
  const leaves = participant === user;
  if (record.kind !== 'room') return refuse('participants_fixed');
  if (!state.may(member.role, leaves ? 'conversation.leave' : 'participant.remove')) return refuse('right_missing');
  const target = state.member(participant);
  if (target === undefined) return refuse('participant_not_found');
  if (target.role === 'owner' && !leaves && member.role !== 'owner') return refuse('right_missing');
  if (target.role === 'owner' && record.ownerCount === 1 && record.participantCount > 1) {
    return refuse('owner_required');
  }
  // The last one out takes the room along: nobody could ever enter it again.
  if (record.participantCount === 1) return deleteConversation(state, record, member, now);
  // Guests whom they invited have no place without them.
  const who = [{ user: participant, role: target.role }, ...state.guestsOf(participant)];
  const users = who.map((one) => one.user);
  record.participantCount -= who.length;
  if (target.role === 'owner') record.ownerCount -= 1;
  const change = membershipChange(state, record, now, leaves ? 'left' : 'removed', user, who);
  return [
    {
      kind: 'append',
      writes: [
        ...change.writes,
        ...users.flatMap((one) => removeMember(state.id, one, record.stamp, leaves ? undefined : true)),
        ...removeLinksBy(state, participant),
      ],
    },
    answer(204, ''),
    { kind: 'publish', topic: state.id, type: 'membership', event: change.event },
    { kind: 'membership', conversation: state.id, users, joined: false },
  ];
}

export function setRole(
  state: ConversationState,
  record: ConversationRecord,
  member: MemberRecord,
  message: Of<'setRole'>,
  now: number,
): readonly Effect[] {
  const { participant, role } = message;
  if (record.kind !== 'room') return refuse('participants_fixed');
  if (!state.may(member.role, 'role.change')) return refuse('right_missing');
  const target = state.member(participant);
  if (target === undefined) return refuse('participant_not_found');
  if (state.roleOf(participant, role) !== role) return refuse('field_invalid', 'role');
  const wire = () => JSON.stringify(state.toWire(record));
  if (target.role === role) return [answer(200, wire())];
  if (target.role === 'owner' && record.ownerCount === 1) return refuse('owner_required');
  record.ownerCount += Number(role === 'owner') - Number(target.role === 'owner');
  const change = membershipChange(state, record, now, 'role', message.user, [{ user: participant, role }]);
  const writes = [...change.writes, ...writeMember(state.id, participant, { ...target, role }, record.stamp)];
  const small = record.participantCount <= EVENT_PARTICIPANTS_MAX;
  const people = small
    ? state.participants().map((one) => (one.user === participant ? { user: participant, role } : one))
    : [];
  return [
    { kind: 'append', writes },
    answer(200, JSON.stringify({ ...state.toWire(record), ...wireParticipants(record, people) })),
    { kind: 'publish', topic: state.id, type: 'membership', event: change.event },
  ];
}

/**
 * Deletes the conversation for everyone: unreadable with this one write, off the disk by `purge`, block by block. Its
 * record stays, so that seq and rev never start again.
 */
export function deleteConversation(
  state: ConversationState,
  record: ConversationRecord,
  member: MemberRecord,
  now: number,
): readonly Effect[] {
  const last = record.participantCount === 1;
  if (!last && !state.may(member.role, 'conversation.delete')) return refuse('right_missing');
  record.rev += 1;
  record.stamp = state.view.nextStamp();
  record.deleted = true;
  record.title = undefined;
  record.floorSeq = record.headSeq;
  record.floorRev = record.rev;
  record.emptiedSeq = record.headSeq;
  record.retention = undefined;
  const pictured = record.room?.avatar === undefined ? [] : writeRoomAvatar(state.id, null);
  record.room = undefined;
  state.forgetRecent();
  const head = { type: 'conversation.deleted', conv: state.id, ts: unixSeconds(now), rev: record.rev } as const;
  const event = encodeEvent(head, JSON.stringify({ conversation_id: state.id }));
  // A pair may start again at any time, and so may the room of a meeting that its last one left: their memberships end now
  // and not with the purge.
  const few = record.kind === 'room' && !last ? [] : state.users();
  const ended = few.flatMap((user) => removeMember(state.id, user, record.stamp));
  const counted = record.kind === 'room' ? countRoom(state.view, record.createdBy, -1) : [];
  return [
    {
      kind: 'append',
      writes: [
        writeConversation(record),
        writePurge(state.id, 'emptied'),
        writeRetention(state.id, false),
        writeListing(record),
        ...pictured,
        ...counted,
        ...ended,
      ],
    },
    { kind: 'answer', value: { status: 204, json: '' } },
    { kind: 'publish', topic: state.id, type: 'conversation.deleted', event },
    { kind: 'disband', conversation: state.id },
    { kind: 'wake', after: 0, message: { kind: 'purge' } },
  ];
}

/** The change and its event when people come, go or change roles. */
export function membershipChange(
  state: ConversationState,
  record: ConversationRecord,
  now: number,
  action: MembershipAction,
  user: string,
  participants: readonly Participant[],
): Change {
  record.activeAt = now;
  const data = JSON.stringify({ action, user, participants, participant_count: record.participantCount });
  const change = makeChange(record, state.view, now, { type: 'membership', data, keepData: true });
  const entry = { type: 'membership', seq: undefined, ts: unixSeconds(now), data, head: record.headSeq };
  return { ...change, writes: [...change.writes, writeRoster(record.id, record.rev, entry)] };
}

export function joined(record: ConversationRecord, one: Participant) {
  return writeMember(record.id, one.user, { role: one.role, joinedSeq: record.headSeq }, record.stamp);
}

/** The list that an answer or event carries right after a change, whose writes the record's reader cannot see yet. */
export function wireParticipants(record: ConversationRecord, participants: readonly Participant[]) {
  const listed = record.kind !== 'room' || record.participantCount <= EVENT_PARTICIPANTS_MAX;
  return listed ? { participants: participants.toSorted((a, b) => (a.user < b.user ? -1 : 1)) } : {};
}

export function inboxEvent(state: ConversationState, users: readonly string[], wire: string, now: number): Effect {
  const event = encodeEvent({ type: 'inbox', conv: state.id, ts: unixSeconds(now) }, wire);
  return { kind: 'publishTo', users, type: 'inbox', event };
}
