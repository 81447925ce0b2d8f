/**
 * What the thread before this one had on disk when it died and may have told nobody: the changes of its log's end. Its
 * events went to the other shards once in a turn of its loop, so those of its last turn are on disk, acknowledged even,
 * and heard by nobody there. Whoever is connected would miss them until the conversation's next change (MSG-08).
 */
import { readConversation, readChanges } from '#storage/conversations/conversation-reader.ts';
import type { LaneEnvironment } from '#storage/engine/lane.ts';
import type { Lanes } from '#storage/engine/lanes.ts';
import { firstPart } from '#storage/engine/keys.ts';
import { conversationRecord } from '#storage/engine/records.ts';
import type { EventType } from '#src/protocol/sockets/events.ts';

/** Changes that are told once more, in order: who has one of them already drops it by its `rev`. */
export interface RetoldConversation {
  readonly conversation: string;
  readonly events: readonly (readonly [type: EventType, event: string])[];
}

export interface RetoldChanges {
  readonly conversations: readonly RetoldConversation[];
  /** Who came to a conversation or left one. No event says what to hear from then on: they are to come back. */
  readonly users: readonly string[];
}

/** The conversations that changed last in a lane, with the `rev` before, and whose memberships did. */
interface Untold {
  readonly environment: LaneEnvironment;
  readonly conversations: ReadonlyMap<string, number>;
  readonly users: readonly string[];
}

export class UntoldChanges {
  readonly #untold: readonly Untold[];

  /** Looks into the lanes that this thread writes, as they were just opened: what reaches LMDB is not seen any more. */
  constructor(lanes: Pick<Lanes, 'owned'>) {
    this.#untold = Array.from(lanes.owned, ({ environment }) => untoldIn(environment));
  }

  /** Everything of it, each change in the envelope of its event. */
  read(epoch: string): RetoldChanges {
    const conversations = this.#untold.flatMap((untold) =>
      Array.from(untold.conversations, ([id, rev]) => retold(untold.environment, epoch, id, rev)),
    );
    return {
      conversations: conversations.filter(({ events }) => events.length > 0),
      users: [...new Set(this.#untold.flatMap(({ users }) => users))],
    };
  }
}

function untoldIn(environment: LaneEnvironment): Untold {
  const conversations = new Map<string, number>();
  const users = new Set<string>();
  for (const { key, table } of environment.pending()) {
    if (table === 'memberships') users.add(firstPart(key));
    if (table !== 'conversations') continue;
    const before = environment.stored(table).get(key);
    conversations.set(firstPart(key), before === undefined ? 0 : conversationRecord.decode(before).rev);
  }
  return { environment, conversations, users: [...users] };
}

function retold({ tables }: LaneEnvironment, epoch: string, id: string, rev: number): RetoldConversation {
  const record = readConversation(tables, id);
  if (record === undefined || record.rev <= rev) return { conversation: id, events: [] };
  // Of more than one answer holds the last one does: it shows whoever has not the others that they are missing.
  const texts = readChanges(tables, record, epoch, rev) ?? readChanges(tables, record, epoch, record.rev - 1) ?? [];
  return { conversation: id, events: texts.map((text) => [(JSON.parse(text) as { type: EventType }).type, text]) };
}
