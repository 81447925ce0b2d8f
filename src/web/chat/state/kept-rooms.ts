/**
 * Conversations that were open: their newest messages, followed as if they still were, and what the person may there. Who comes
 * back sees at once what there is, without asking.
 */
import type { ConversationRights } from '#src/client/conversations/rights.ts';
import { isRecord } from '#src/client/conversations/records.ts';
import type { ParleyClient } from '#src/client/parley-client.ts';
import { keep, readKept } from '../../kit/kept-values.ts';
import { Timeline } from './timeline.ts';

/** What the person may, over a reload and without a network: in these conversations, those that were left first go first. */
export const RIGHTS_KEPT_MAX = 100;
const RIGHTS = 'parley.rights';

/** More than a person goes back and forth between. Beyond it the one that was left first goes, and is read again. */
export const ROOMS_KEPT_MAX = 20;

export class KeptRooms {
  readonly #client: ParleyClient;
  /** Those that nobody looks at, the one that was left last at the end. */
  readonly #left = new Map<string, Timeline>();
  readonly #rights: Map<string, ConversationRights>;

  constructor(client: ParleyClient) {
    this.#client = client;
    this.#rights = readRights();
    // What starts over, or is gone, is not what was kept of it.
    for (const type of ['afresh', 'gone'] as const) client.on(type, ({ conv }) => this.#forget(conv));
  }

  /** The messages of a conversation that is opened: begun where it can be shown at once. */
  take(conv: string, at: number | undefined): Timeline {
    const kept = this.#left.get(conv);
    this.#left.delete(conv);
    if (kept?.resume(at) === true) return kept;
    kept?.close();
    return new Timeline(this.#client, conv);
  }

  /** Nobody looks at it any more. */
  leave(timeline: Timeline): void {
    if (!timeline.state.isAtHead || this.#left.has(timeline.conv)) return timeline.close();
    this.#left.set(timeline.conv, timeline);
    for (const conv of this.#left.keys()) {
      if (this.#left.size <= ROOMS_KEPT_MAX) break;
      this.#forget(conv);
    }
  }

  /** What the person may there, as it was last known. */
  rightsIn(conv: string): ConversationRights | undefined {
    return this.#rights.get(conv);
  }

  keepRights(conv: string, rights: ConversationRights): void {
    this.#rights.delete(conv);
    this.#rights.set(conv, rights);
    for (const oldest of this.#rights.keys()) {
      if (this.#rights.size <= RIGHTS_KEPT_MAX) break;
      this.#rights.delete(oldest);
    }
    this.#saveRights();
  }

  #saveRights(): void {
    const named = [...this.#rights].map(([conv, rights]) => [conv, rights.known ? [...rights.granted] : null]);
    keep(RIGHTS, Object.fromEntries(named));
  }

  #forget(conv: string): void {
    this.#left.get(conv)?.close();
    this.#left.delete(conv);
    if (this.#rights.delete(conv)) this.#saveRights();
  }
}

/** Rights as they were kept: their names, or null for a server that does not say. */
function readRights(): Map<string, ConversationRights> {
  const kept = readKept(RIGHTS);
  const rightsOf = (names: unknown): ConversationRights =>
    Array.isArray(names) ? { known: true, granted: new Set(names) } : { known: false };
  return new Map(isRecord(kept) ? Object.entries(kept).map(([conv, names]) => [conv, rightsOf(names)]) : []);
}
