/**
 * The live calls of one thread: what call actors show of themselves, in memory alone (SUR-01). A shard reads it for
 * `GET /v1/calls` and for the console; the main thread keeps a copy of every shard's, from which a shard that died is
 * given its attempts back, so that they end in time.
 */
import { copyRecord, pairOf, stateOf, type CallRecord, type CallResult, type CallState } from './call-record.ts';

/** What one attempt's change is told as: the record as it is now, or null when it is over. */
export interface CallChange {
  readonly scope: string;
  readonly call: string;
  readonly record: CallRecord | null;
}

/** Live calls in one answer to an operator or to another thread: the longest lasting come first. */
export const CALLS_LISTED_MAX = 1_000;

export class CallBoard {
  readonly #scopes = new Map<string, Map<string, CallRecord>>();
  /** Who may join which pair's calls: person → scopes. */
  readonly #people = new Map<string, Set<string>>();
  /** A pair's scope → who it is filed under. */
  readonly #filed = new Map<string, ReadonlySet<string>>();
  readonly #rooms = new Set<string>();
  readonly #ended: Partial<Record<CallResult, number>> = {};
  readonly #changed: (change: CallChange) => void;

  /** `changed` hears of every change that somebody else should know of. */
  constructor(changed: (change: CallChange) => void = () => undefined) {
    this.#changed = changed;
  }

  /** Shows an attempt as it is now. */
  show(record: CallRecord): void {
    const copy = copyRecord(record);
    this.#put(copy);
    this.#changed({ scope: copy.scope, call: copy.call, record: copy });
  }

  /** An attempt is over, with that result. */
  end(scope: string, call: string, result: CallResult): void {
    this.#ended[result] = (this.#ended[result] ?? 0) + 1;
    this.#take(scope, call);
    this.#changed({ scope, call, record: null });
  }

  /** Follows another thread's board. */
  follow({ scope, call, record }: CallChange): void {
    if (record === null) this.#take(scope, call);
    else this.#put(record);
  }

  /** The attempts of a scope: copies, for an actor that begins or begins again. */
  attemptsOf(scope: string): CallRecord[] {
    return [...(this.#scopes.get(scope)?.values() ?? [])].map((record) => copyRecord(record));
  }

  has(scope: string): boolean {
    return this.#scopes.has(scope);
  }

  /** The attempts that somebody may join or is in. `isMember` is asked for every room that has a call. */
  attemptsFor(user: string, isMember: (conversation: string) => boolean): CallRecord[] {
    const rooms = [...this.#rooms].filter((conversation) => isMember(conversation));
    const scopes = [...(this.#people.get(user) ?? []), ...rooms];
    return scopes
      .flatMap((scope) => [...(this.#scopes.get(scope)?.values() ?? [])])
      .filter(({ isGroup, gone }) => isGroup || !gone.includes(user));
  }

  /** All attempts, the longest lasting first. */
  list(limit: number): CallRecord[] {
    const all = [...this.#scopes.values()].flatMap((attempts) => [...attempts.values()]);
    return all.toSorted((a, b) => a.startedAt - b.startedAt).slice(0, limit);
  }

  /** The scopes of attempts that somebody is in by one of these sessions. */
  scopesBy(sessions: ReadonlySet<string>): string[] {
    const isIn = ({ parties }: CallRecord) => parties.some(({ session }) => session !== null && sessions.has(session));
    return [...this.#scopes].filter(([, attempts]) => [...attempts.values()].some(isIn)).map(([scope]) => scope);
  }

  get scopes(): string[] {
    return [...this.#scopes.keys()];
  }

  /** How many are live by state, and how many ended by result since the thread began. */
  get metrics(): { live: Readonly<Record<CallState, number>>; ended: Readonly<Partial<Record<CallResult, number>>> } {
    const live = { ringing: 0, joined: 0, held: 0, transferring: 0 };
    for (const attempts of this.#scopes.values()) for (const record of attempts.values()) live[stateOf(record)] += 1;
    return { live, ended: this.#ended };
  }

  #put(record: CallRecord): void {
    const { scope, call, isGroup } = record;
    let attempts = this.#scopes.get(scope);
    if (attempts === undefined) this.#scopes.set(scope, (attempts = new Map()));
    attempts.set(call, record);
    if (isGroup) this.#rooms.add(scope);
    else this.#index(scope);
  }

  #take(scope: string, call: string): void {
    const attempts = this.#scopes.get(scope);
    if (attempts?.delete(call) !== true) return;
    if (attempts.size === 0) {
      this.#scopes.delete(scope);
      this.#rooms.delete(scope);
    }
    if (scope.includes('|')) this.#index(scope);
  }

  /** Files a pair's scope under everybody who has to do with it now. */
  #index(scope: string): void {
    const attempts = [...(this.#scopes.get(scope)?.values() ?? [])];
    const outside = attempts.flatMap(({ guests, transfer }) => [
      ...guests.map(({ user }) => user),
      ...(transfer === null ? [] : [transfer.target]),
    ]);
    const now = new Set(attempts.length === 0 ? [] : [...pairOf(scope), ...outside]);
    for (const user of [...(this.#filed.get(scope) ?? []), ...now]) {
      const scopes = this.#people.get(user) ?? new Set();
      if (now.has(user)) scopes.add(scope);
      else scopes.delete(scope);
      if (scopes.size === 0) this.#people.delete(user);
      else this.#people.set(user, scopes);
    }
    if (now.size === 0) this.#filed.delete(scope);
    else this.#filed.set(scope, now);
  }
}
