/**
 * Which conversations there are, for those who run the installation: kinds, sizes and times, the titles of rooms and who
 * takes part; never what is said. Every list goes through all records, beside other work, one list after the other: a
 * hundred thousand took 0.3 s of CPU, and 0.5 where words of a title were looked for.
 */
import { setImmediate as othersFirst } from 'node:timers/promises';
import type { Address, Answer, Tell } from '#actors/runtime/actor.ts';
import type { AuditEvent } from '#src/audit/audit-events.ts';
import type { Clock } from '#src/base/clock.ts';
import { comparePlaces, decodePlace, encodePlace, FirstPlaces, type Place } from '#src/base/places.ts';
import { formatInstant } from '#src/base/time.ts';
import type { ConversationKind, Participant } from '#src/protocol/conversations/conversations.ts';
import { Refusal } from '#src/protocol/errors.ts';
import type { Accounts } from '#storage/accounts/accounts.ts';
import type { AuditActor } from '#storage/accounts/audit-chain.ts';
import { readConversation, readParticipants, roomView } from '#storage/conversations/conversation-reader.ts';
import { readMemberships } from '#storage/conversations/inbox-reader.ts';
import { readRecords } from '#storage/conversations/room-records.ts';
import type { Lanes } from '#storage/engine/lanes.ts';
import type { ConversationRecord } from '#storage/engine/records.ts';
import { fold } from '#storage/search/search-folding.ts';
import type { RoomOwners } from './room-owners.ts';

/** Newest first, last active first, largest first, or by title, where only rooms have one. */
export const REGISTER_ORDERS = ['created', 'activity', 'members', 'title'] as const;
export type RegisterOrder = (typeof REGISTER_ORDERS)[number];

/** Conversations in one page. */
export const REGISTER_PAGE_MAX = 100;
/** Lists that may wait for the one that is being made. [busy] */
export const REGISTER_WAITING_MAX = 8;
/** Records read in one go: a few milliseconds. */
const READ_AT_ONCE = 500;
/** How long a room may take to note that it is archived. */
const ARCHIVE_MILLIS = 5_000;

const WORDS = /[\p{L}\p{N}]+/gu;

export interface RegisterQuery {
  /** Words of a title, each by its beginning, or an id. */
  readonly query: string | undefined;
  readonly kind: ConversationKind | undefined;
  /** Somebody who takes part. */
  readonly member: string | undefined;
  /** Rooms alone that wait for an owner. */
  readonly isOrphaned: boolean;
  readonly order: RegisterOrder;
  readonly after: string | undefined;
  readonly limit: number;
}

/** A conversation as an administrator sees it. */
export interface RegisteredConversation {
  readonly id: string;
  readonly kind: ConversationKind;
  readonly title?: string;
  readonly topic?: string;
  readonly purpose?: string;
  readonly visibility?: 'organisation';
  readonly archived_at?: string;
  readonly created_at: string;
  readonly created_by: string;
  readonly participant_count: number;
  /** Messages that are there, with the stubs of those that were deleted. */
  readonly messages: number;
  readonly last_activity_at: string;
  /** Whether it waits for an administrator to give it an owner. */
  readonly orphaned: boolean;
}

export interface ConversationRegisterOptions {
  readonly accounts: Accounts;
  readonly lanes: Pick<Lanes, 'environments' | 'read'>;
  readonly owners: Pick<RoomOwners, 'orphaned' | 'isOrphaned'>;
  readonly clock: Clock;
  readonly ask: (to: Address, message: Tell, millis: number) => Promise<Answer>;
}

export class ConversationRegister {
  readonly #options: ConversationRegisterOptions;
  #turn: Promise<unknown> = Promise.resolve();
  #waiting = 0;

  constructor(options: ConversationRegisterOptions) {
    this.#options = options;
  }

  /** @throws Refusal `cursor_invalid`, `busy`. */
  async list(query: RegisterQuery): Promise<{ items: RegisteredConversation[]; next: string | null }> {
    if (this.#waiting >= REGISTER_WAITING_MAX) throw new Refusal('busy');
    this.#waiting += 1;
    try {
      const turn = this.#turn.then(async () => await this.#list(query));
      this.#turn = turn.catch(() => undefined);
      return await turn;
    } finally {
      this.#waiting -= 1;
    }
  }

  /** One conversation. @throws Refusal `conversation_forbidden` where there is none. */
  read(id: string): RegisteredConversation {
    return this.#view(this.#record(id));
  }

  /** Who takes part, by username behind `after`. @throws Refusal `conversation_forbidden`. */
  members(id: string, after: string | undefined, limit: number): { items: Participant[]; next: string | null } {
    this.#record(id);
    const items = readParticipants(this.#options.lanes.read(id).tables, id, limit, after);
    return { items, next: items.length < limit ? null : (items.at(-1)?.user ?? null) };
  }

  /**
   * Archives a room or brings it back; as it is already, nothing happens.
   * @throws Refusal `conversation_forbidden` for what is no room, `busy`, `unavailable`.
   */
  async archive(id: string, isArchived: boolean, by: AuditActor): Promise<void> {
    const { kind, room } = this.#record(id);
    if (kind !== 'room') throw new Refusal('conversation_forbidden');
    if ((room?.archivedAt !== undefined) === isArchived) return;
    await this.#change(id, isArchived ? 'conversation.archived' : 'conversation.restored', by, {
      kind: 'archive',
      isArchived,
    } as Tell);
  }

  /**
   * Takes a room's picture away, archived or not; where there is none, nothing happens.
   * @throws Refusal `conversation_forbidden` where there is no such conversation, `busy`, `unavailable`.
   */
  async removeAvatar(id: string, by: AuditActor): Promise<void> {
    if (this.#record(id).room?.avatar === undefined) return;
    await this.#change(id, 'conversation.avatar_removed', by, { kind: 'takeAvatar' });
  }

  async #change(id: string, event: AuditEvent, by: AuditActor, message: Tell): Promise<void> {
    const { accounts, ask, clock } = this.#options;
    // In the audit trail before the room is told: a crash in between leaves an entry too many, and never one too few.
    await accounts.change((draft) =>
      draft.audit(clock.now(), { event, ...by, subject: `conversation:${id}`, details: {} }),
    );
    const answer = await ask(`conversation:${id}`, message, ARCHIVE_MILLIS);
    if (!answer.ok) throw new Refusal(answer.code);
  }

  async #list(query: RegisterQuery): Promise<{ items: RegisteredConversation[]; next: string | null }> {
    const { after, limit, order } = query;
    const from = after === undefined ? undefined : decodePlace(after, order, PARTS[order]);
    if (after !== undefined && from === undefined) throw new Refusal('cursor_invalid', { field: 'after' });
    const first = new FirstPlaces(limit + 1);
    const fits = this.#fitting(query);
    for await (const record of this.#records(query)) {
      if (!fits(record)) continue;
      const place = placeOf(record, order);
      if (from !== undefined && comparePlaces(place, from) <= 0) continue;
      if (first.wants(place)) first.add(place);
    }
    const page = first.places.slice(0, limit);
    const last = page.at(-1);
    const next = first.places.length > limit && last !== undefined ? encodePlace(order, last) : null;
    const records = page.map((place) => this.#find(String(place.at(-1))));
    return { items: records.flatMap((record) => (record === undefined ? [] : [this.#view(record)])), next };
  }

  /** All that may be meant: somebody's own, those that wait for an owner, or everything, in slices. */
  async *#records({ isOrphaned, member }: RegisterQuery): AsyncIterableIterator<ConversationRecord> {
    const { lanes, owners } = this.#options;
    if (member !== undefined || isOrphaned) {
      for (const environment of lanes.environments) environment.refresh();
      const ids = member === undefined ? [...owners.orphaned] : readMemberships(lanes.environments, member);
      for (const id of ids) {
        const record = this.#find(id);
        if (record !== undefined && (!isOrphaned || owners.isOrphaned(id))) yield record;
      }
      return;
    }
    for (const environment of lanes.environments) {
      let after = '';
      for (let more = true; more;) {
        environment.refresh();
        const records = readRecords(environment.tables, after, READ_AT_ONCE);
        yield* records.filter(({ deleted }) => !deleted);
        more = records.length === READ_AT_ONCE;
        after = records.at(-1)?.id ?? '';
        await othersFirst();
      }
    }
  }

  #fitting({ kind, query }: RegisterQuery): (record: ConversationRecord) => boolean {
    const words = query === undefined ? [] : (fold(query).match(WORDS) ?? []);
    const named = (record: ConversationRecord) => {
      if (query === undefined || record.id === query) return true;
      // Only a room has a title, and dots alone are in none.
      const title = record.kind === 'room' ? (fold(record.title ?? '').match(WORDS) ?? []) : [];
      return words.length > 0 && words.every((word) => title.some((one) => one.startsWith(word)));
    };
    return (record) => (kind === undefined || record.kind === kind) && named(record);
  }

  #view(record: ConversationRecord): RegisteredConversation {
    const { id, kind, title } = record;
    return {
      id,
      kind,
      ...(kind === 'room' && title !== undefined ? { title } : {}),
      ...roomView(record),
      created_at: record.createdAt,
      created_by: record.createdBy,
      participant_count: record.participantCount,
      messages: record.headSeq - record.floorSeq,
      last_activity_at: formatInstant(record.activeAt),
      orphaned: this.#options.owners.isOrphaned(id),
    };
  }

  /** @throws Refusal `conversation_forbidden`. */
  #record(id: string): ConversationRecord {
    const record = this.#find(id);
    if (record === undefined) throw new Refusal('conversation_forbidden');
    return record;
  }

  #find(id: string): ConversationRecord | undefined {
    const environment = this.#options.lanes.read(id);
    environment.refresh();
    return readConversation(environment.tables, id);
  }
}

/** The id stands last. */
function placeOf(
  { activeAt, createdAt, id, participantCount, title }: ConversationRecord,
  order: RegisterOrder,
): Place {
  if (order === 'activity') return [-activeAt, id];
  if (order === 'members') return [-participantCount, id];
  // Whoever has no title comes last: nothing folds to what is behind every letter.
  if (order === 'title') return [fold(title ?? '\u{10ffff}'), id];
  return [-Date.parse(createdAt), id];
}

const PARTS: Readonly<Record<RegisterOrder, readonly string[]>> = {
  created: ['number', 'string'],
  activity: ['number', 'string'],
  members: ['number', 'string'],
  title: ['string', 'string'],
};
