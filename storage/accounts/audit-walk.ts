/**
 * Walking the chain of the audit trail from its anchor on, wherever the entries come from: the accounts file or an
 * exported copy. It holds no entry, so that its memory is the same for any length.
 */
import { auditHash, type AuditEntry, type AuditLink } from './audit-chain.ts';

export class AuditWalk {
  /** What the first entry has to follow from. */
  readonly anchor: AuditLink;
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

  /** The number of the entry that tells of the trim which left the anchor: the chain itself vouches for it. */
  get trimTold(): number | undefined {
    return this.#trimTold;
  }

  /** Whether entries are missing before the anchor that no entry so far tells of. */
  get isTrimUntold(): boolean {
    return this.anchor.number > 0 && this.#trimTold === undefined;
  }

  /** Goes on to an entry, which has the next number; false, and it stays where it is, when its hash does not follow. */
  follow(entry: AuditEntry): boolean {
    if (entry.number !== this.#head.number + 1) throw new Error(`Entry ${entry.number} is not the next.`);
    if (auditHash(this.#head.hash, entry) !== entry.hash) return false;
    const { event, details, number, hash } = entry;
    const isOfAnchor = details['through'] === this.anchor.number && details['hash'] === this.anchor.hash;
    if (event === 'audit.trimmed' && isOfAnchor) this.#trimTold = number;
    this.#head = { number, hash };
    return true;
  }
}
