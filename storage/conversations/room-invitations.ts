/**
 * Invitations to rooms, in the lane of the room:
 *
 *     roomInvitations [conversation, user, by]   what `by` asked `user`, and what came of it while that is remembered
 *     invited         [user, conversation, by]   that it is there, the other way round
 *
 * At most one of a person and a room waits. What is over its time counts for nothing, and goes off the disk when somebody
 * else is asked into the room.
 */
import { setImmediate as nextTurn } from 'node:timers/promises';
import { INVITATIONS_PER_PERSON_MAX, INVITATIONS_OF_ONE_MAX } from '#src/protocol/limits.ts';
import type { Role } from '#src/protocol/conversations/conversations.ts';
import { rightsIn } from '#src/protocol/conversations/rights.ts';
import { readConversation, readMember, type Tables } from './conversation-reader.ts';
import { key, under } from '../engine/keys.ts';
import type { LaneEnvironment, LaneWrite } from '../engine/lane.ts';
import { recordOf } from '../engine/record-codec.ts';
import type { ConversationRecord } from '../engine/records.ts';

export const INVITATION_STATES = ['waiting', 'declined', 'withdrawn'] as const;

export interface InvitationRecord {
  readonly state: (typeof INVITATION_STATES)[number];
  /** What the person becomes who accepts. */
  readonly role: Role;
  /** Milliseconds since 1970. */
  readonly at: number;
  /** Milliseconds since 1970 from which on the invitation, or its memory, is over. */
  readonly until: number;
}

export interface StoredInvitation extends InvitationRecord {
  readonly conversation: string;
  readonly user: string;
  readonly by: string;
}

const PRESENT = Buffer.from([1]);
/** People looked at in one turn of the thread. */
const LOOKED_AT_ONCE = 8;

export const invitationRecord = recordOf<InvitationRecord>('invitation', ['state', 'role', 'at', 'until']);

/** Who asked whom into what. */
export type InvitationName = Pick<StoredInvitation, 'conversation' | 'user' | 'by'>;

/** Of a key of `roomInvitations`. */
export function invitationNamed(itemKey: Buffer): InvitationName {
  const [conversation = '', user = '', by = ''] = itemKey.toString('latin1').split('\0');
  return { conversation, user, by };
}

/** Of a key of `invited`. */
export function invitedNamed(itemKey: Buffer): InvitationName {
  const [user = '', conversation = '', by = ''] = itemKey.toString('latin1').split('\0');
  return { conversation, user, by };
}

export function invitationAt(itemKey: Buffer, value: Buffer): StoredInvitation {
  return { ...invitationNamed(itemKey), ...invitationRecord.decode(value) };
}

export function writeInvitation({ conversation, user, by, ...record }: StoredInvitation): LaneWrite[] {
  return [
    { table: 'roomInvitations', key: key(conversation, user, by), value: invitationRecord.encode(record) },
    { table: 'invited', key: key(user, conversation, by), value: PRESENT },
  ];
}

export function removeInvitation({ conversation, user, by }: InvitationName): LaneWrite[] {
  return [
    { table: 'roomInvitations', key: key(conversation, user, by), value: null },
    { table: 'invited', key: key(user, conversation, by), value: null },
  ];
}

export function isWaiting({ state, until }: InvitationRecord, now: number): boolean {
  return state === 'waiting' && until > now;
}

/** Whether somebody with that role in a room may still ask what an invitation asks: what they lost, it lost. */
export function mayInvite(inviter: Role | undefined, { role }: Pick<InvitationRecord, 'role'>): boolean {
  if (inviter === undefined) return false;
  const rights = rightsIn('room', inviter);
  const isRaised = role === 'owner' || role === 'moderator';
  return rights.includes('participant.add') && (!isRaised || rights.includes('role.change'));
}

/** A room and the invitation to it that waits for a person, whose inviter could ask them still. */
export interface WaitingInvitation {
  readonly record: ConversationRecord;
  readonly invitation: StoredInvitation;
}

/** What is stored of invitations of a person in a lane, answered ones too. */
function* storedOf(tables: Tables, user: string): Iterable<StoredInvitation> {
  for (const itemKey of tables.invited.getKeys(under(user))) {
    const name = invitedNamed(itemKey);
    const value = tables.roomInvitations.get(key(name.conversation, user, name.by));
    if (value !== undefined) yield { ...name, ...invitationRecord.decode(value) };
  }
}

/** Whether it waits and its inviter could still ask. */
function stands(tables: Tables, invitation: StoredInvitation, now: number): boolean {
  const { by, conversation } = invitation;
  return isWaiting(invitation, now) && mayInvite(readMember(tables, conversation, by)?.role, invitation);
}

/** The invitations of a lane that wait for a person, as far as their inviters could still ask. */
export function readInvitationsOf(tables: Tables, user: string, now: number): WaitingInvitation[] {
  return [...storedOf(tables, user)].flatMap((invitation) => {
    const record = readConversation(tables, invitation.conversation);
    return record !== undefined && stands(tables, invitation, now) ? [{ record, invitation }] : [];
  });
}

/** Who is asked into a room and has not answered, by username. */
export function readInvitationsTo(tables: Tables, conversation: string, now: number): StoredInvitation[] {
  return [...tables.roomInvitations.getRange(under(conversation))]
    .map((entry) => invitationAt(entry.key, entry.value))
    .filter((invitation) => stands(tables, invitation, now));
}

/** What waits for people who are to be asked into a room. */
export interface WaitingFor {
  /** For whom as many invitations to other rooms wait as may, in all or of whoever asks. */
  readonly full: readonly string[];
  /** The invitations to the room itself. */
  readonly here: readonly StoredInvitation[];
}

/**
 * What waits for `people`, whom `by` is to ask into a room. Nobody else's work waits for a thousand people to be looked
 * at: somebody for whom none waits took 5 µs over four lanes, each that waits 30.
 */
export async function readWaitingFor(
  environments: readonly LaneEnvironment[],
  people: readonly string[],
  { conversation, by }: Pick<StoredInvitation, 'conversation' | 'by'>,
  now: number,
): Promise<WaitingFor> {
  const full: string[] = [];
  const here: StoredInvitation[] = [];
  for (const environment of environments) environment.refresh();
  for (const [at, user] of people.entries()) {
    const waiting = environments.flatMap(({ tables }) => readInvitationsOf(tables, user, now));
    const others = waiting.filter(({ invitation }) => invitation.conversation !== conversation);
    here.push(...waiting.filter((one) => !others.includes(one)).map(({ invitation }) => invitation));
    const ofOne = others.filter(({ invitation }) => invitation.by === by);
    if (others.length >= INVITATIONS_PER_PERSON_MAX || ofOne.length >= INVITATIONS_OF_ONE_MAX) full.push(user);
    if (at % LOOKED_AT_ONCE === LOOKED_AT_ONCE - 1) await nextTurn();
  }
  return { full, here };
}

/** Ids of a lane's rooms behind `after` that a person was asked into, in order. */
export function readInvitedIds(tables: Tables, user: string, after: string): string[] {
  const start = Buffer.from(`${user}\0${after}\u0001`, 'latin1');
  const ids = [...tables.invited.getKeys({ start, end: under(user).end })].map(
    (itemKey) => invitedNamed(itemKey).conversation,
  );
  return [...new Set(ids)];
}
