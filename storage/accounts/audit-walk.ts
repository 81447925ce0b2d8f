/**
 * Walking the chain of the audit trail from its anchor on, wherever the entries come from: the accounts file or an
 * exported copy. It holds no entry, so that its memory is the same for any length, but for some 200 bytes of each whose details
 * were erased.
 *
 * Of an entry whose details were erased the hash says nothing any more: the next entry proves the hash, and a later entry of
 * the chain what is left of it: the last one that names it. Until that one comes the entry is owed, and at the end nothing
 * may be.
 */
import { auditHash, ERASED_EVENT, remainsHash, type AuditEntry, type AuditLink } from './audit-chain.ts';

/** Entries that may be owed at once, some 40 MB. With one more the chain counts as broken. */
export const AUDIT_OWED_MAX = 200_000;

/** An entry whose hash says nothing of it. */
interface Erased {
  /** What the entry has to follow from. */
  readonly before: AuditLink;
  readonly remains: string;
  /** Whether the last entry that names it tells of it as it is. */
  isTold: boolean;
}

export class AuditWalk {
  /** What the first entry has to follow from. */
  readonly anchor: AuditLink;
  readonly #erased = new Map<number, Erased>();
  #owed = 0;
  #head: AuditLink;
  #trimTold: number | undefined;

  constructor(anchor: AuditLink) {
    this.anchor = anchor;
    this.#head = anchor;
  }

  /** The last entry that follows; the anchor before the first. */
  get head(): AuditLink {
    return this.#head;
  }

  /** How many entries follow each other so far. */
  get entries(): number {
    return this.#head.number - this.anchor.number;
  }

  /** How many of them have had details erased, as later ones tell. */
  get erased(): number {
    return this.#erased.size - this.#owed;
  }

  /** The number of the entry that tells of the trim which left the anchor: the chain itself vouches for it. */
  get trimTold(): number | undefined {
    return this.#trimTold;
  }

  /** Whether entries are missing before the anchor that no entry so far tells of. */
  get isTrimUntold(): boolean {
    return this.anchor.number > 0 && this.#trimTold === undefined;
  }

  /** Goes on to an entry, which has the next number; false, and it stays where it is, when its hash does not follow and may not be owed. */
  follow(entry: AuditEntry): boolean {
    if (entry.number !== this.#head.number + 1) throw new Error(`Entry ${entry.number} is not the next.`);
    const { event, details, number, hash } = entry;
    if (auditHash(this.#head.hash, entry) !== hash) {
      if (this.#owed >= AUDIT_OWED_MAX) return false;
      this.#erased.set(number, { before: this.#head, remains: remainsHash(entry), isTold: false });
      this.#owed += 1;
    } else if (event === ERASED_EVENT) this.#settle(details['entries']);
    else if (event === 'audit.trimmed') {
      const isOfAnchor = details['through'] === this.anchor.number && details['hash'] === this.anchor.hash;
      if (isOfAnchor) this.#trimTold = number;
    }
    this.#head = { number, hash };
    return true;
  }

  /**
   * Says that no entry comes any more. Answers the first that is owed, which does not follow from the one before it, and
   * goes back to that one; undefined where none is.
   */
  finish(): number | undefined {
    for (const [number, { before, isTold }] of this.#erased) {
      if (isTold) continue;
      this.#head = before;
      return number;
    }
    return undefined;
  }

  /** What is left of these entries is as this list says. */
  #settle(list: unknown): void {
    for (const told of Array.isArray(list) ? (list as { number?: unknown; remains?: unknown }[]) : []) {
      const erased = typeof told.number === 'number' ? this.#erased.get(told.number) : undefined;
      if (erased === undefined) continue;
      const isTold = told.remains === erased.remains;
      this.#owed += Number(erased.isTold) - Number(isTold);
      erased.isTold = isTold;
    }
  }
}
