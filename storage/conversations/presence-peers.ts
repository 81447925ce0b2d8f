/** Who is told of a person's presence: the people around them, those of their smallest conversations first. */
import {
  HINT_PARTICIPANTS_MAX,
  PRESENCE_CONVERSATIONS_MAX,
  PRESENCE_PARTICIPANTS_MAX,
  PRESENCE_PEERS_MAX,
} from '#src/protocol/limits.ts';
import { readConversation, type Tables } from './conversation-reader.ts';
import { key, lastPart, under } from '../engine/keys.ts';
import type { LaneEnvironment } from '../engine/lane.ts';
import { membershipRecord } from '../engine/records.ts';

interface Circle {
  readonly tables: Tables;
  readonly id: string;
  readonly participants: number;
}

/** Who is told of a person's presence: people one by one, and rooms too large for that all together. */
export interface Audience {
  readonly people: string[];
  /** Rooms of more than HINT_PARTICIPANTS_MAX, among the conversations that are looked at. */
  readonly rooms: string[];
}

/**
 * The people who may see a person's presence, the person among them: everyone in a conversation of theirs that is small
 * enough for hints (HINT_PARTICIPANTS_MAX), within PRESENCE_CONVERSATIONS_MAX and PRESENCE_PARTICIPANTS_MAX, up to
 * PRESENCE_PEERS_MAX in all. `within` limits the conversations that count.
 */
export function readAudience(
  environments: readonly LaneEnvironment[],
  user: string,
  within?: ReadonlySet<string>,
): Audience {
  const limit = Math.ceil(PRESENCE_CONVERSATIONS_MAX / environments.length);
  const all = environments.flatMap(({ tables }) => readCircles(tables, user, limit, within));
  const rooms = all.filter(({ participants }) => participants > HINT_PARTICIPANTS_MAX).map(({ id }) => id);
  const circles = all.filter(({ participants }) => participants <= HINT_PARTICIPANTS_MAX);
  // Whoever somebody talks to alone is closer to them than who sits in a room with hundreds.
  circles.sort((a, b) => a.participants - b.participants);
  const peers = new Set<string>();
  let looked = 0;
  for (const { id, participants, tables } of circles) {
    looked += participants;
    if (looked > PRESENCE_PARTICIPANTS_MAX || peers.size >= PRESENCE_PEERS_MAX) break;
    for (const itemKey of tables.members.getKeys(under(id))) peers.add(lastPart(itemKey));
  }
  return { people: [...peers].slice(0, PRESENCE_PEERS_MAX), rooms };
}

/** Those of `users` who take part in a conversation. */
export function membersAmong(tables: Tables, id: string, users: readonly string[]): string[] {
  return users.filter((user) => tables.members.get(key(id, user)) !== undefined);
}

/** Usernames of a conversation's participants behind `after`, in order. */
export function readMemberNames(tables: Tables, id: string, after: string, limit: number): string[] {
  const { end, start } = under(id);
  const from = after === '' ? start : Buffer.concat([key(id, after), Buffer.from([0])]);
  return [...tables.members.getKeys({ start: from, end, limit })].map((itemKey) => lastPart(itemKey));
}

/** A person's newest conversations in a lane: ids rise with the time. */
function readCircles(tables: Tables, user: string, limit: number, within?: ReadonlySet<string>): Circle[] {
  const circles: Circle[] = [];
  const { start, end } = under(user);
  for (const entry of tables.memberships.getRange({ start: end, end: start, reverse: true, limit })) {
    if (membershipRecord.decode(entry.value).gone) continue;
    const id = lastPart(entry.key);
    if (within?.has(id) === false) continue;
    const record = readConversation(tables, id);
    if (record === undefined) continue;
    circles.push({ tables, id, participants: record.participantCount });
  }
  return circles;
}
