/** A conversation's state: its record, and reads of everything else through the lane that it writes. */
import { unixSeconds } from '#src/base/clock.ts';
import type { Conversation, Participant, Role } from '#src/protocol/conversations/conversations.ts';
import { encodeEvent, type EventType } from '#src/protocol/sockets/events.ts';
import { CHANGES_REPLY_MAX, EVENT_PARTICIPANTS_MAX } from '#src/protocol/limits.ts';
import { rightsAmong, type ConversationRight } from '#src/protocol/conversations/rights.ts';
import { toConversation, withReactions, withThread } from '#storage/conversations/conversation-reader.ts';
import {
  purgeKey,
  readPurgeKind,
  removeKey,
  writeChange,
  writeConversation,
} from '#storage/conversations/conversation-writes.ts';
import { key, lastPart, numberAt, numbered, under } from '#storage/engine/keys.ts';
import type { LaneTable, LaneWrite } from '#storage/engine/lane.ts';
import { indexedUpTo } from '#storage/conversations/posted-blocks.ts';
import { expiredUpTo } from '#storage/conversations/retention.ts';
import { isSearched } from '#storage/search/search-index.ts';
import {
  CHANGES_TRIM_BLOCK,
  conversationRecord,
  memberRecord,
  membershipRecord,
  messageRecord,
  MESSAGE_FLAGS,
  NOTHING_PERSONAL,
  personalRecord,
  reactionCounts,
  threadRecord,
  type ConversationRecord,
  type MemberRecord,
  type PersonalRecord,
  type ReactionCounts,
  type ThreadRecord,
  type Watermark,
} from '#storage/engine/records.ts';
import { Hints } from './hints.ts';
import { RecentMessages } from './recent-messages.ts';

/** What an actor sees of its lane: everything it appended, on disk or not. */
export interface LaneView {
  get(table: LaneTable, itemKey: Buffer): Buffer | undefined;
  keys(table: LaneTable, range: { start: Buffer; end: Buffer }, limit?: number): Buffer[];
  nextStamp(): number;
}

/** Whose guest somebody is, and whose guests somebody has: of those who were invited with an app. */
export interface GuestHosts {
  readonly hostOf: (user: string) => string | undefined;
  readonly guestsOf: (host: string) => readonly string[];
}

const NO_HOSTS: GuestHosts = { hostOf: () => undefined, guestsOf: () => [] };

/** What a conversation is told of people, and whether it is searched. */
export interface KnownPeople {
  readonly hosts?: GuestHosts;
  readonly isGuest?: (user: string) => boolean;
  readonly search?: boolean;
}

export class ConversationState {
  readonly id: string;
  readonly epoch: string;
  readonly view: LaneView;
  /** Undefined while there is no such conversation; a deleted one keeps its record, so that counters go on. */
  record: ConversationRecord | undefined;
  /** Who typed when, in milliseconds; never stored. */
  readonly typing = new Map<string, number>();
  /** What a large room is told of at the end of the running second; never stored. */
  readonly hints = new Hints();
  readonly #search: boolean;
  readonly #isGuest: (user: string) => boolean;
  readonly #hosts: GuestHosts;
  #recent: RecentMessages | undefined;
  #expiredSeq = 0;

  /** `search` says whether the search index is kept, `isGuest` who is a guest of the installation, `hosts` whose. */
  constructor(id: string, epoch: string, view: LaneView, known: KnownPeople = {}) {
    const { hosts = NO_HOSTS, isGuest = () => false, search = false } = known;
    this.id = id;
    this.epoch = epoch;
    this.view = view;
    this.#search = search;
    this.#isGuest = isGuest;
    this.#hosts = hosts;
    const stored = view.get('conversations', key(id));
    this.record = stored === undefined ? undefined : conversationRecord.decode(stored);
  }

  /** The record while the conversation exists for somebody. */
  get living(): ConversationRecord | undefined {
    return this.record?.deleted === false ? this.record : undefined;
  }

  /** Whether somebody does not take part since others took them out. */
  wasRemoved(user: string): boolean {
    const stored = this.view.get('memberships', key(user, this.id));
    return stored !== undefined && membershipRecord.decode(stored).removed === true;
  }

  member(user: string): MemberRecord | undefined {
    const stored = this.view.get('members', key(this.id, user));
    return stored === undefined ? undefined : memberRecord.decode(stored);
  }

  /** Whether somebody is a guest of the installation. */
  isGuest(user: string): boolean {
    return this.#isGuest(user);
  }

  /** Whoever invited a guest with an app: the guest takes part in no room without them. */
  hostOf(user: string): string | undefined {
    return this.#hosts.hostOf(user);
  }

  /** Participants who are somebody's guests so. */
  guestsOf(host: string): { readonly user: string; readonly role: Role }[] {
    return this.#hosts.guestsOf(host).flatMap((user) => {
      const role = this.member(user)?.role;
      return role === undefined ? [] : [{ user, role: this.roleOf(user, role) }];
    });
  }

  /** The role that somebody has who is given, or was given, another: a guest is a guest (GST-06). */
  roleOf(user: string, role: Role): Role {
    return this.#isGuest(user) ? 'guest' : role;
  }

  /** Whether a participant with that role has the right here. */
  may(role: Role, right: ConversationRight): boolean {
    return (
      this.record !== undefined && rightsAmong(this.record.kind, role, this.record.participantCount).includes(right)
    );
  }

  /** The messages behind the last whole block, read when the first of them is needed. */
  get recent(): RecentMessages {
    if (this.#recent === undefined) {
      const { headSeq = 0, floorSeq = 0 } = this.record ?? {};
      this.#recent = new RecentMessages();
      // What went with a deletion was never posted to the conversation that took its place.
      for (let seq = Math.max(indexedUpTo(headSeq), floorSeq) + 1; seq <= headSeq; seq += 1) {
        const stored = this.view.get('messages', numbered(seq, this.id));
        if (stored === undefined) throw new Error(`Message ${seq} of ${this.id} is missing.`);
        const { sender, clientMsgId } = messageRecord.facts(stored);
        this.#recent.add(seq, sender, clientMsgId);
      }
    }
    return this.#recent;
  }

  /** Looks what is over its time by now: nobody is shown that any more, whenever it goes off the disk. */
  expire(now: number): void {
    const { record } = this;
    this.#expiredSeq = record === undefined ? 0 : expiredUpTo(record, (seq) => this.stored(seq), now);
  }

  /** Messages up to here are shown to nobody. */
  get floorSeq(): number {
    return Math.max(this.record?.floorSeq ?? 0, this.#expiredSeq);
  }

  /** Whether a deletion of everything is still being purged. */
  get isEmptying(): boolean {
    return readPurgeKind(this.view.get('meta', purgeKey(this.id))) === 'emptied';
  }

  /** A message as it lies in the lane, also below the floor. */
  stored(seq: number): Buffer | undefined {
    return this.view.get('messages', numbered(seq, this.id));
  }

  /** Whether what is posted here is indexed for search. */
  get isIndexed(): boolean {
    return this.#search && this.record !== undefined && isSearched(this.record.kind);
  }

  /** Forgets them, after the conversation was emptied. */
  forgetRecent(): void {
    this.#recent = undefined;
  }

  /** Everyone's username. Reads the whole list: for deleting, and for lists of at most EVENT_PARTICIPANTS_MAX. */
  users(): string[] {
    return this.view.keys('members', under(this.id)).map((itemKey) => lastPart(itemKey));
  }

  participants(): Participant[] {
    return this.users().flatMap((user) => {
      const member = this.member(user);
      return member === undefined ? [] : [{ user, role: this.roleOf(user, member.role) }];
    });
  }

  message(seq: number): { json: string; flags: number } | undefined {
    // A number beyond the head may not even be one that a key can hold.
    if (seq <= this.floorSeq || seq > (this.record?.headSeq ?? 0)) return undefined;
    const stored = this.stored(seq);
    return stored === undefined ? undefined : { json: messageRecord.json(stored), flags: messageRecord.flags(stored) };
  }

  /** The seq of the first message posted under this key, if there was one (MSG-03); it may be below the floor by now. */
  seqOf(sender: string, clientMsgId: string): number | undefined {
    const recent = this.recent.seqOf(sender, clientMsgId);
    if (recent !== undefined) return recent;
    const stored = this.view.get('idempotency', key(this.id, sender, clientMsgId));
    if (stored === undefined) return undefined;
    const seq = numberAt(stored);
    // What went with a deletion was never posted to the conversation that took its place.
    return seq > (this.record?.emptiedSeq ?? 0) ? seq : undefined;
  }

  watermark(user: string): Watermark {
    const stored = this.view.get('watermarks', key(this.id, user));
    return stored === undefined
      ? { delivered: 0, read: 0 }
      : { delivered: numberAt(stored), read: numberAt(stored, 1) };
  }

  personal(user: string): PersonalRecord {
    const stored = this.view.get('personal', key(user, this.id));
    return stored === undefined ? NOTHING_PERSONAL : personalRecord.decode(stored);
  }

  reactions(seq: number): ReactionCounts {
    const stored = this.view.get('reactionCounts', numbered(seq, this.id));
    return stored === undefined ? [] : reactionCounts.decode(stored);
  }

  /** What is behind a message in its thread; undefined while nobody answered it. */
  thread(seq: number): ThreadRecord | undefined {
    const stored = this.view.get('threads', numbered(seq, this.id));
    return stored === undefined ? undefined : threadRecord.decode(stored);
  }

  /** A message as readers get it, from its own JSON and its flags. */
  dress(seq: number, json: string, flags: number): string {
    const reactions = (flags & MESSAGE_FLAGS.reactions) === 0 ? [] : this.reactions(seq);
    return withThread(
      withReactions(json, reactions),
      (flags & MESSAGE_FLAGS.replies) === 0 ? undefined : this.thread(seq),
    );
  }

  isPinned(seq: number): boolean {
    return this.view.get('pins', numbered(seq, this.id)) !== undefined;
  }

  /** The conversation as answers and events carry it. */
  toWire(record: ConversationRecord): Conversation {
    return toConversation(record, this.epoch, () => this.participants().slice(0, EVENT_PARTICIPANTS_MAX));
  }
}

/** A stored change: the writes that make it durable and the event that tells of it. */
export interface Change {
  readonly writes: LaneWrite[];
  readonly event: string;
}

export interface ChangeForm {
  readonly type: EventType;
  readonly seq?: number;
  /** The event's data as JSON. */
  readonly data: string;
  /** False where the log keeps only a reference and readers get the thing as it stands when they read. */
  readonly keepData: boolean;
}

/**
 * Raises the conversation's `rev` by one for a change: updates the record in place, and answers the writes (record,
 * change log, trimmed log) with the event. A new message needs no place in the log: the revs without one are those of
 * new messages. Changes older than CHANGES_REPLY_MAX can never be answered again, since a client that far behind
 * starts afresh, so they go.
 */
export function makeChange(record: ConversationRecord, view: LaneView, now: number, form: ChangeForm): Change {
  record.rev += 1;
  record.stamp = view.nextStamp();
  const ts = unixSeconds(now);
  const { type, seq } = form;
  const writes = [writeConversation(record)];
  if (type !== 'message.new') {
    const data = form.keepData ? form.data : undefined;
    writes.push(writeChange(record.id, record.rev, { type, seq, ts, data, head: record.headSeq }));
  }
  const oldest = record.rev - CHANGES_REPLY_MAX + 1;
  if (record.rev % CHANGES_TRIM_BLOCK === 0 && oldest > 0) {
    const trimmed = { start: numbered(0, record.id), end: numbered(oldest, record.id) };
    writes.push(...view.keys('changes', trimmed).map((itemKey) => removeKey('changes', itemKey)));
  }
  const head = { type, conv: record.id, ts, rev: record.rev, rev_count: 1 };
  return { writes, event: encodeEvent(seq === undefined ? head : { ...head, seq }, form.data) };
}
