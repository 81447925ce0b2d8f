/**
 * Who may begin an upload, and what they were given leave for: a reservation counts as if its bytes were there, so that
 * uploads at once stay within what one after the other may be. It is forgotten with the thread, and what was reserved
 * with it.
 */
import { makeId } from '#src/base/ids.ts';
import { Refusal } from '#src/protocol/errors.ts';
import { dayOf, EVERYBODY, type RequireQuota } from '#src/protocol/quotas.ts';

/** Uploads and attachments of one person that no message has yet. A person who sends an album has some dozens. */
export const UNPOSTED_PER_PERSON_MAX = 100;
/** What a file costs at least: an empty one takes a record and a disk block, too. */
export const CHARGED_BYTES_MIN = 4_096;
/** The window of the quota, in days of UTC. */
export const QUOTA_DAYS = 30;

/** Leave to upload so many bytes. */
export interface Reservation {
  readonly owner: string;
  readonly bytes: number;
  readonly createdAt: number;
}

export interface UploadAdmissionOptions {
  /** What a person, and everybody together, may upload in QUOTA_DAYS days; without it nothing bounds them. */
  readonly requireQuota?: RequireQuota;
  readonly now: () => number;
  /** Bytes that a person was charged for since the beginning of a day. */
  readonly uploadedSince: (owner: string, day: number) => number;
}

export class UploadAdmission {
  readonly #options: UploadAdmissionOptions;
  readonly #reservations = new Map<string, Reservation>();
  /** Those that are becoming an upload or an attachment: they end when that has been decided, and not before. */
  readonly #used = new Set<string>();
  /** Person → bytes of their reservations. */
  readonly #reserved = new Map<string, number>();
  /** Person → how many of theirs no message has yet, reservations among them. */
  readonly #unposted = new Map<string, number>();

  constructor(options: UploadAdmissionOptions) {
    this.#options = options;
  }

  /** Counts an upload of a person that no message has yet, or off again. */
  count(owner: string, by: 1 | -1): void {
    add(this.#unposted, owner, by);
  }

  /** Gives leave to upload so many bytes under the id that it answers. @throws Refusal `quota_exceeded`, `uploads_full`. */
  reserve(owner: string, bytes: number): string {
    const { now, requireQuota, uploadedSince } = this.#options;
    const createdAt = now();
    if ((this.#unposted.get(owner) ?? 0) >= UNPOSTED_PER_PERSON_MAX) throw new Refusal('uploads_full');
    for (const who of [owner, EVERYBODY]) {
      const used = uploadedSince(who, dayOf(createdAt) - QUOTA_DAYS + 1) + (this.#reserved.get(who) ?? 0);
      requireQuota?.('attachment_bytes', who, used, chargeOf(bytes));
    }
    const id = makeId('att', createdAt);
    this.#reservations.set(id, { owner, bytes, createdAt });
    for (const who of [owner, EVERYBODY]) add(this.#reserved, who, chargeOf(bytes));
    this.count(owner, 1);
    return id;
  }

  has(id: string): boolean {
    return this.#reservations.has(id);
  }

  get(id: string): Reservation | undefined {
    return this.#reservations.get(id);
  }

  /** Ends a reservation that comes to nothing. */
  release(id: string): void {
    if (this.#reservations.has(id) && !this.#used.has(id)) this.#end(id, false);
  }

  /** Ends a reservation with what it was for; where that fails, it comes to nothing. @throws Refusal `upload_busy`. */
  async use(id: string, action: (reservation: Reservation) => Promise<void>): Promise<void> {
    const reservation = this.#reservations.get(id);
    if (reservation === undefined || this.#used.has(id)) throw new Refusal('upload_busy');
    this.#used.add(id);
    let isStored = false;
    try {
      await action(reservation);
      isStored = true;
    } finally {
      this.#used.delete(id);
      this.#end(id, isStored);
    }
  }

  #end(id: string, isStored: boolean): void {
    const { owner, bytes } = this.#reservations.get(id)!;
    this.#reservations.delete(id);
    for (const who of [owner, EVERYBODY]) add(this.#reserved, who, -chargeOf(bytes));
    if (!isStored) this.count(owner, -1);
  }
}

/** What an upload of so many bytes counts towards the quota. */
export function chargeOf(bytes: number): number {
  return Math.max(bytes, CHARGED_BYTES_MIN);
}

/** Adds to a sum; one that comes to nothing is forgotten. */
function add(sums: Map<string, number>, name: string, by: number): void {
  const sum = (sums.get(name) ?? 0) + by;
  if (sum > 0) sums.set(name, sum);
  else sums.delete(name);
}
