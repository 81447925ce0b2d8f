/**
 * Holds posts and new rooms to their quotas before an actor is asked. What a person has used is the sum over the lanes,
 * which it takes a read of each lane to know; far from the quota a post goes by what was read within the last second.
 */
import type { QuotaGate } from '#src/limits/quotas.ts';
import { dayOf, EVERYBODY, type QuotaField } from '#src/protocol/quotas.ts';
import { readPosted, readRooms, type PostedUse } from '#storage/conversations/usage-records.ts';
import type { LaneEnvironment } from '#storage/engine/lane.ts';

/** How long what was read counts, while more than this is left: nobody posts as much in that time (`rate-limits.ts`). */
const READ_MILLIS = 1_000;
const FAR_MESSAGES = 500;
const FAR_BYTES = 32 * 1024 ** 2;
/** People whose use is remembered; of more, it is read anew. */
const REMEMBERED_MAX = 10_000;

interface Remembered extends PostedUse {
  readonly day: number;
  readonly readAt: number;
}

export interface QuotaChecksOptions {
  readonly gate: QuotaGate;
  readonly lanes: readonly LaneEnvironment[];
  readonly now: () => number;
}

export class QuotaChecks {
  readonly #options: QuotaChecksOptions;
  readonly #posted = new Map<string, Remembered>();

  constructor(options: QuotaChecksOptions) {
    this.#options = options;
  }

  get gate(): QuotaGate {
    return this.#options.gate;
  }

  /**
   * Whether a person may post a message of about so many bytes; a bot is held to the quotas of all people alone. What is
   * being posted at this moment is not counted yet, so as much as is under way at once may pass beyond a quota.
   * @throws Refusal `quota_exceeded`.
   */
  requirePost(user: string, isBot: boolean, bytes: number): void {
    for (const who of isBot ? [EVERYBODY] : [user, EVERYBODY]) {
      const prefix = who === EVERYBODY ? 'installation_' : '';
      const messagesMax = this.gate.limits[`${prefix}messages` as QuotaField] ?? Infinity;
      const bytesMax = this.gate.limits[`${prefix}message_bytes` as QuotaField] ?? Infinity;
      if (messagesMax === Infinity && bytesMax === Infinity) continue;
      const used = this.#postedBy(who, messagesMax, bytesMax);
      this.gate.require('messages', who, used.messages, 1);
      this.gate.require('message_bytes', who, used.bytes, bytes);
    }
  }

  /** Whether a person may make a room. @throws Refusal `quota_exceeded`. */
  requireRoom(user: string): void {
    const { lanes } = this.#options;
    for (const who of [user, EVERYBODY]) this.gate.require('rooms', who, readRooms(lanes, who), 1);
  }

  #postedBy(who: string, messagesMax: number, bytesMax: number): PostedUse {
    const { lanes, now } = this.#options;
    const at = now();
    const day = dayOf(at);
    const known = this.#posted.get(who);
    const isFar =
      known?.day === day &&
      Math.abs(at - known.readAt) < READ_MILLIS &&
      known.messages + FAR_MESSAGES < messagesMax &&
      known.bytes + FAR_BYTES < bytesMax;
    if (isFar) return known;
    const read = { ...readPosted(lanes, who, day), day, readAt: at };
    if (this.#posted.size >= REMEMBERED_MAX && known === undefined) this.#posted.clear();
    this.#posted.set(who, read);
    return read;
  }
}
