/**
 * The directory as the client keeps it (NAM-01): the wire carries usernames, and what people are called is read from
 * here. Who is not known is asked for together with others; what changed is asked for again when somebody looks.
 */
import type { z } from 'zod';
import type { DirectoryEntry, directoryReply } from '#src/protocol/directory/directory.ts';
import { DIRECTORY_NAMES_MAX } from '#src/protocol/limits.ts';
import type { Http } from './connection/http.ts';
import type { Session } from './connection/session.ts';
import type { Timers } from './connection/timers.ts';

/** People that are kept: everybody of a large room in view. Who was looked at longest ago goes, and is asked for again. */
export const DIRECTORY_KEPT_MAX = 5_000;
/** How long misses are gathered: a screen that draws its rows asks once. */
export const DIRECTORY_GATHER_MILLIS = 20;

type Page = z.infer<typeof directoryReply>;

/** What is known of somebody; null for whom the directory does not show, which is one answer with nobody. */
export type Known = DirectoryEntry | null;

export interface FoundPeople {
  readonly items: readonly DirectoryEntry[];
  /** What to ask the next page with; null at the end. */
  readonly next: string | null;
}

export interface DirectoryOptions {
  readonly request: (query: Readonly<Record<string, string | number | undefined>>) => Promise<unknown>;
  readonly timers: Timers;
}

/** Asks the coordinator with the session's credential. */
export function directoryRequest(session: Session, coordinator: Http): DirectoryOptions['request'] {
  return async (query) => await session.request(coordinator, { method: 'get', path: '/v1/directory', query });
}

export class Directory {
  readonly #options: DirectoryOptions;
  /** Who was looked at longest ago is the first. */
  readonly #known = new Map<string, Known>();
  /** Who changed while an answer about them may be under way: what it says may be older. */
  readonly #changed = new Set<string>();
  #missing = new Map<string, PromiseWithResolvers<Known>>();
  #isGathering = false;
  #scope: string | undefined;
  #cancel: () => void = () => undefined;

  constructor(options: DirectoryOptions) {
    this.#options = options;
  }

  /** What is known of somebody without asking; undefined when nothing is. */
  peek(user: string): Known | undefined {
    return this.#known.get(user);
  }

  /** What somebody is called: their display name, or the username as long as no other is known. */
  nameOf(user: string): string {
    return this.peek(user)?.display_name ?? user;
  }

  /** Somebody's entry, from what is kept or, with all others who are missing, from the server. @throws ParleyError */
  async read(user: string): Promise<Known> {
    const known = this.#known.get(user);
    if (known !== undefined) {
      this.#keep(user, known);
      return known;
    }
    const waiting = this.#missing.get(user) ?? Promise.withResolvers<Known>();
    this.#missing.set(user, waiting);
    if (!this.#isGathering) {
      this.#isGathering = true;
      this.#cancel = this.#options.timers.after(DIRECTORY_GATHER_MILLIS, () => this.#ask());
    }
    return await waiting.promise;
  }

  /**
   * People who are called so, the best first: every word of the query begins a word of theirs.
   * @throws ParleyError `query_invalid`, `cursor_invalid` and what any call may fail with.
   */
  async search(q: string, { after, limit }: { after?: string; limit?: number } = {}): Promise<FoundPeople> {
    const { items, next, scope } = (await this.#options.request({ q, after, limit })) as Page;
    this.#take(scope);
    for (const entry of items) this.#keep(entry.user, entry);
    return { items, next };
  }

  /** An event told that somebody changed. */
  observe(user: string): void {
    this.#known.delete(user);
    this.#changed.add(user);
  }

  /** The socket was away: who changed meanwhile is not known, so nobody is. */
  forget(): void {
    for (const user of this.#known.keys()) this.#changed.add(user);
    this.#known.clear();
  }

  close(): void {
    this.#cancel();
  }

  #ask(): void {
    this.#isGathering = false;
    const waiting = [...this.#missing];
    this.#missing = new Map();
    for (let at = 0; at < waiting.length; at += DIRECTORY_NAMES_MAX) {
      void this.#answer(waiting.slice(at, at + DIRECTORY_NAMES_MAX));
    }
  }

  async #answer(waiting: readonly (readonly [user: string, waiting: PromiseWithResolvers<Known>])[]): Promise<void> {
    for (const [user] of waiting) this.#changed.delete(user);
    try {
      const users = waiting.map(([user]) => user).join(',');
      const { items, scope } = (await this.#options.request({ users })) as Page;
      this.#take(scope);
      const entries = new Map(items.map((entry) => [entry.user, entry]));
      for (const [user, { resolve }] of waiting) {
        const entry = entries.get(user) ?? null;
        if (!this.#changed.delete(user)) this.#keep(user, entry);
        resolve(entry);
      }
    } catch (thrown) {
      for (const [, { reject }] of waiting) reject(thrown);
    }
  }

  /** Another scope: whom this person may see has changed by rule, of those who are kept too. */
  #take(scope: string): void {
    if (this.#scope !== undefined && this.#scope !== scope) this.#known.clear();
    this.#scope = scope;
  }

  #keep(user: string, entry: Known): void {
    this.#known.delete(user);
    this.#known.set(user, entry);
    for (const oldest of this.#known.keys()) {
      if (this.#known.size <= DIRECTORY_KEPT_MAX) break;
      this.#known.delete(oldest);
    }
  }
}
