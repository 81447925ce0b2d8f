/**
 * Presence in large rooms (FRM-03): who changed in a second is told in one frame, with how many are there and the newest
 * of who changed. A room costs a frame a second for each of its readers, however many people come and go.
 *
 *     announced, of any shard ─► present: username → state ─┐ counted over the room's members, in slices
 *                              └► rooms that changed ───────┴─► one frame a second ─► readers on this shard
 *
 * Every shard knows who is present, by what their actors announce, and counts for its own readers: nobody is asked, and
 * a count is wrong for no longer than an announcement is late.
 */
import { setImmediate } from 'node:timers/promises';
import { PresenceBudget } from '#actors/person/presence-budget.ts';
import { unixSeconds } from '#src/base/clock.ts';
import { SharedAnswer } from '#src/base/shared-answer.ts';
import { encodeEvent, type PresenceState } from '#src/protocol/sockets/events.ts';
import { HINT_FRAME_MILLIS, HINT_PARTICIPANTS_MAX, HINT_SAMPLE_MAX } from '#src/protocol/limits.ts';
import { readConversation } from '#storage/conversations/conversation-reader.ts';
import { membersAmong, readMemberNames } from '#storage/conversations/presence-peers.ts';
import type { Lanes } from '#storage/engine/lanes.ts';
import type { Log } from '#src/telemetry/log.ts';
import type { Sight } from '../access/access-checks.ts';
import type { SocketHub } from '../sockets/socket-hub.ts';
import type { Presence } from '../thread-services.ts';

/** People that are looked for among a room's members in one go, some two milliseconds; others have their turn in between. */
export const LOOKED_AT_ONCE = 1_000;
/**
 * People looked for in a second, for the frames of all rooms together: some 45 ms at 2.2 µs each. Beyond it rooms wait for the next
 * second, the longest waiting first, and are told as they are then.
 */
export const LOOKED_AT_PER_SECOND_MAX = 20_000;
/** Rooms, by who sees whom in them, whose last count is kept for a second. Beyond it the oldest is counted again. */
const COUNTED_ROOMS_MAX = 256;

/** Somebody who is not offline; `order` rises with each announcement. */
interface Present extends Presence {
  readonly order: number;
}

/** How many of a room are there, and the newest of them. */
export interface RoomCount {
  readonly count: number;
  readonly newest: readonly Present[];
  /** How many people were looked for. */
  readonly looked: number;
}

export interface RoomPresenceOptions {
  readonly hub: Pick<SocketHub, 'hearers' | 'publish'>;
  readonly lanes: Pick<Lanes, 'read'>;
  readonly log: Pick<Log, 'error'>;
  readonly now: () => number;
  /** Whether any rule keeps somebody from seeing somebody: a frame is one for all, and then names nobody (POL-01). */
  readonly hidesSomebody: () => boolean;
}

export class RoomPresence {
  readonly #options: RoomPresenceOptions;
  readonly #budget = new PresenceBudget();
  /** Who is not offline. */
  readonly #present = new Map<string, Omit<Present, 'user'>>();
  #order = 0;
  /** Large room → who changed since its last frame, the newest last. The longest waiting room is first. */
  readonly #changed = new Map<string, Map<string, PresenceState>>();
  readonly #counted = new Map<string, SharedAnswer<RoomCount>>();
  #timer: NodeJS.Timeout | undefined;
  #isStopped = false;

  constructor(options: RoomPresenceOptions) {
    this.#options = options;
  }

  /** Takes note of what was announced of people, who take part in these large rooms. */
  note(people: readonly Presence[], rooms: readonly string[]): void {
    for (const { state, user } of people) {
      this.#order += 1;
      if (state === 'offline') this.#present.delete(user);
      else this.#present.set(user, { state, order: this.#order });
      for (const room of rooms) {
        let changed = this.#changed.get(room);
        if (changed === undefined) this.#changed.set(room, (changed = new Map()));
        changed.delete(user);
        changed.set(user, state);
      }
    }
    if (this.#changed.size > 0) this.#wake();
  }

  /** A shard is gone, and what the actors there announced: they announce again what is still so. */
  forget(isOfThere: (user: string) => boolean): void {
    for (const user of [...this.#present.keys()]) if (isOfThere(user)) this.#present.delete(user);
  }

  /**
   * How many of a conversation are there, of those whom somebody of that sight sees, counted within the last second. Asking
   * twice a second counts once, for all of one standing.
   */
  async read(conversation: string, sight?: Sight): Promise<RoomCount> {
    const asked = sight === undefined ? conversation : `${conversation}\n${sight.standing}`;
    let shared = this.#counted.get(asked);
    if (shared === undefined) {
      const [oldest] = this.#counted.keys();
      if (this.#counted.size >= COUNTED_ROOMS_MAX && oldest !== undefined) this.#counted.delete(oldest);
      shared = new SharedAnswer(async () => await this.#count(conversation, sight), HINT_FRAME_MILLIS);
      this.#counted.set(asked, shared);
    }
    return await shared.read();
  }

  /** Whether somebody is there. */
  isPresent(user: string): boolean {
    return this.#present.has(user);
  }

  /** How many of these people are there, and the newest of them. */
  among(users: readonly string[]): RoomCount {
    return this.#counting({ count: 0, newest: [], looked: 0 }, users.length, users);
  }

  stop(): void {
    this.#isStopped = true;
    clearTimeout(this.#timer);
  }

  #wake(): void {
    if (this.#timer !== undefined || this.#isStopped) return;
    this.#timer = setTimeout(() => {
      this.#tell()
        .catch((error: unknown) => this.#options.log.error('presence in rooms could not be told', { error }))
        .finally(() => {
          this.#timer = undefined;
          if (this.#changed.size > 0) this.#wake();
        });
    }, HINT_FRAME_MILLIS);
    this.#timer.unref();
  }

  /** The frames of a second, as far as its budgets reach. */
  async #tell(): Promise<void> {
    const { hub, now } = this.#options;
    let looked = 0;
    for (const [room, changed] of [...this.#changed]) {
      if (this.#isStopped || looked >= LOOKED_AT_PER_SECOND_MAX || !this.#budget.isOpen(now())) return;
      this.#changed.delete(room);
      const hearers = hub.hearers(room);
      // Who is told of the people one by one is told so already.
      if (hearers === 0 || !this.#isLarge(room)) continue;
      const found = await this.#count(room);
      looked += found.looked;
      this.#budget.spend(hearers);
      this.#publish(room, found.count, changed);
    }
  }

  #publish(room: string, count: number, changed: ReadonlyMap<string, PresenceState>): void {
    const { hidesSomebody, hub, now } = this.#options;
    const newest = hidesSomebody() ? [] : [...changed].slice(-HINT_SAMPLE_MAX).toReversed();
    const sample = newest.map(([user, state]) => ({ user, state }));
    const head = { type: 'presence', conv: room, ts: unixSeconds(now()) } as const;
    hub.publish(room, 'presence', encodeEvent(head, JSON.stringify({ count, sample })), undefined);
  }

  #isLarge(room: string): boolean {
    const environment = this.#options.lanes.read(room);
    environment.refresh();
    const record = readConversation(environment.tables, room);
    return record !== undefined && record.participantCount > HINT_PARTICIPANTS_MAX;
  }

  /** Looks for whichever are fewer: the present among the members, or the members among the present. */
  async #count(room: string, sight?: Sight): Promise<RoomCount> {
    const environment = this.#options.lanes.read(room);
    environment.refresh();
    const { tables } = environment;
    const participants = readConversation(tables, room)?.participantCount ?? 0;
    const present = this.#present.size <= participants ? [...this.#present.keys()] : undefined;
    let result: RoomCount = { count: 0, newest: [], looked: 0 };
    for (let after = ''; ;) {
      const page = present?.slice(result.looked, result.looked + LOOKED_AT_ONCE);
      const looked = page ?? readMemberNames(tables, room, after, LOOKED_AT_ONCE);
      const people = page === undefined ? looked : membersAmong(tables, room, page);
      result = this.#counting(result, looked.length, sight === undefined ? people : people.filter(sight.sees));
      after = looked.at(-1) ?? '';
      if (looked.length < LOOKED_AT_ONCE) return result;
      await setImmediate();
      environment.refresh();
    }
  }

  /** The count so far, with another slice of people of the room: whoever of them is there counts. */
  #counting({ count, looked, newest }: RoomCount, more: number, people: readonly string[]): RoomCount {
    const here = people.flatMap((user) => {
      const at = this.#present.get(user);
      return at === undefined ? [] : [{ user, ...at }];
    });
    const sorted = [...newest, ...here].toSorted((one, other) => other.order - one.order);
    return { count: count + here.length, looked: looked + more, newest: sorted.slice(0, HINT_SAMPLE_MAX) };
  }
}
