/** Sessions that ended before their time: what every thread must know to refuse a token that still looks good. */
import type { MeetingNews } from '#src/protocol/meetings/meetings.ts';
import type { PolicySnapshot } from '#src/protocol/directory/policy-decision.ts';
import type { Revocation } from '#storage/accounts/account-records.ts';
import type { TokenBounds } from './refresh-tokens.ts';

export type { Revocation } from '#storage/accounts/account-records.ts';

/**
 * The revoked sessions as one thread has them. It grows with revocations and shrinks by `sweep`: at 30 days of
 * renewing, a thousand people who sign out daily make 30,000 entries, about 4 MB.
 */
export class Revocations {
  readonly #until = new Map<string, number>();

  add(revocation: Revocation): void {
    this.#until.set(revocation.sid, revocation.until);
  }

  has(sid: string): boolean {
    return this.#until.has(sid);
  }

  /** Forgets sessions of which no token could be valid or renewed any more. */
  sweep(nowSeconds: number): void {
    for (const [sid, until] of this.#until) if (until < nowSeconds) this.#until.delete(sid);
  }

  get size(): number {
    return this.#until.size;
  }
}

/** A renewal of a session, in Unix seconds. */
export interface Renewal {
  readonly sid: string;
  /** Until when the token lives that it got. */
  readonly exp: number;
  /** What it leaves of the tokens before; null where it leaves all as they were. */
  readonly bounds: TokenBounds | null;
}

/** Tells the messaging threads what happened to people and sessions. Called after it is on disk, never before. */
export interface SessionAnnouncer {
  /** These sessions are over: their sockets close and their tokens are refused (CRD-08). Resolves when every thread knows, or
   * is known to be gone; whoever is answered after it can rely on that. */
  revoked(revocations: readonly Revocation[]): Promise<void>;
  /** A session has a newer token, so its socket may live as long. */
  renewed(renewal: Renewal): void;
  /** A person appeared, changed or was blocked; `rev` is the directory's change number (DIR-01). */
  directoryChanged(user: string, rev: number): void;
  /** A person has another picture, or none any more; `rev` is the directory's change number. */
  avatarChanged(user: string, rev: number): void;
  /** A group appeared, changed or went; `rev` is the group's own change number. */
  groupChanged(group: string, rev: number): void;
  /** An organisational unit, which is a group, appeared, changed or went. */
  unitChanged(unit: string): void;
  /** The access policies are these from now on. Resolves when every thread decides by them, or is known to be gone. */
  policiesChanged(snapshot: PolicySnapshot): Promise<void>;
  /** A guest whom this person invited asked for a new password (GST-05). */
  guestRecoveryRequested(inviter: string): void;
  /** Something happened in a meeting's lobby, or to the meeting, that these people are to hear of (MTG-01). */
  meetingChanged(people: readonly string[], news: MeetingNews): void;
}

/** For a server that is not running: there is nobody to tell. */
export const nobodyToTell: SessionAnnouncer = {
  async revoked() {},
  renewed() {},
  directoryChanged() {},
  avatarChanged() {},
  groupChanged() {},
  meetingChanged() {},
  unitChanged() {},
  async policiesChanged() {},
  guestRecoveryRequested() {},
};
