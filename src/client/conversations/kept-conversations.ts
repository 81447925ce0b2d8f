/**
 * Conversations over a reload: what the last visit knew is there at once, and without a network; the first walk of the inbox then begins
 * where the last one of that visit did (SOC-11).
 *
 *     start ─► store.load ─► mirrors ─► the walk since then ─► what changed ─► store.save, every few seconds
 *
 * What is saved together is of one instant, and never behind the walk that is saved with it: a conversation that changed later is named
 * by the next walk, however old what was kept of it is.
 */
import type { CatchUp } from './catch-up.ts';
import { ConversationMirror, type KeptMirror } from './conversation-mirror.ts';
import type { Conversations } from './conversations.ts';
import { isRecord } from './records.ts';
import type { Timers } from '../connection/timers.ts';

/** Messages kept of a conversation: some screens. Those before them are read again when somebody scrolls there. */
export const KEPT_MESSAGES_MAX = 50;
/** Conversations of which messages are kept: the newest. Of the others what the list shows is. */
export const KEPT_WITH_MESSAGES_MAX = 100;
/** How often what changed is saved. */
const SAVE_MILLIS = 3_000;
/** How long the first walk waits for what was kept; what comes later is left out. Without a socket nothing waits for it. */
export const LOAD_MILLIS_MAX = 2_000;

/** What changed since it was saved last. */
export interface KeptChanges {
  /** Where the next walk of the inbox is to begin. */
  readonly sync: string;
  /** Conversations that changed. */
  readonly changed: readonly KeptMirror[];
  /** Ids of conversations that are gone. */
  readonly gone: readonly string[];
  /** Whether these are all there are: whatever else was saved is gone. */
  readonly isWhole: boolean;
}

/** All that was saved. */
export interface KeptState {
  readonly sync: string;
  readonly mirrors: readonly KeptMirror[];
}

/**
 * Where conversations live over a reload. It holds texts of messages, for the one person that it was made for; several tabs may share it,
 * each of which saves what it knows.
 */
export interface ConversationStore {
  /** What was saved; undefined where nothing was. */
  load(): Promise<KeptState | undefined>;
  /** Saves changes all together, or none of them. Answers whether it still does: one that was cleared since it was loaded does not. */
  save(changes: KeptChanges): Promise<boolean>;
  /** Forgets everything, for good: the person signed out. */
  clear(): Promise<void>;
}

export interface KeptConversationsOptions {
  readonly store: ConversationStore | undefined;
  readonly conversations: Conversations;
  readonly catchUp: CatchUp;
  readonly timers: Timers;
  readonly onTrouble: (error: unknown) => void;
}

export class KeptConversations {
  readonly #options: KeptConversationsOptions;
  /** Fulfilled when what was kept is there, or is not waited for any more. */
  readonly restored: Promise<void>;
  readonly #givenUp = Promise.withResolvers<undefined>();
  /** Versions that were saved, by conversation, and whether with messages. */
  readonly #saved = new Map<string, { readonly version: number; readonly withMessages: boolean }>();
  #savedSync: string | undefined;
  #isOver: boolean;
  #saving: Promise<void> | undefined;
  #cancel: () => void = () => undefined;

  constructor(options: KeptConversationsOptions) {
    this.#options = options;
    this.#isOver = options.store === undefined;
    this.restored = options.store === undefined ? Promise.resolve() : this.#restore(options.store);
    if (options.store !== undefined) this.#again();
  }

  /** What a walk begins with: fulfilled as `restored` is, which is after LOAD_MILLIS_MAX from here on at the latest. */
  async settled(): Promise<void> {
    const cancel = this.#options.timers.after(LOAD_MILLIS_MAX, () => this.#givenUp.resolve(undefined));
    await this.restored;
    cancel();
  }

  /** Saves what changed, now: the page may be gone in a moment. */
  async save(): Promise<void> {
    if (this.#isOver) return;
    this.#saving ??= this.#save().finally(() => {
      this.#saving = undefined;
    });
    await this.#saving;
  }

  /** Stops saving; what was saved stays. */
  close(): void {
    this.#isOver = true;
    this.#givenUp.resolve(undefined);
    this.#cancel();
  }

  /** Stops saving, and forgets what was saved: the person signed out. */
  async clear(): Promise<void> {
    this.close();
    await this.#saving?.catch(() => undefined);
    await this.#options.store?.clear().catch(this.#options.onTrouble);
  }

  async #restore(store: ConversationStore): Promise<void> {
    const { catchUp, conversations, onTrouble } = this.#options;
    try {
      const kept = await Promise.race([store.load(), this.#givenUp.promise]);
      if (kept === undefined || this.#isOver) return;
      for (const one of kept.mirrors.filter((found) => isKept(found))) {
        const mirror = ConversationMirror.ofKept(one);
        conversations.restore(mirror);
        this.#saved.set(mirror.id, { version: mirror.version, withMessages: one.messages.length > 0 });
      }
      catchUp.restore(kept.sync);
      this.#savedSync = kept.sync;
    } catch (thrown) {
      // A visit without it is a first visit.
      this.#isOver = true;
      onTrouble(thrown);
    }
  }

  #again(): void {
    this.#cancel = this.#options.timers.after(SAVE_MILLIS, () => {
      void this.save().then(() => {
        if (!this.#isOver) this.#again();
      });
    });
  }

  async #save(): Promise<void> {
    const { catchUp, conversations, onTrouble, store } = this.#options;
    const { sync } = catchUp;
    // Before the first whole walk nobody could say from where on to walk.
    if (sync === undefined || store === undefined) return;
    const mirrors = [...conversations.mirrors.values()];
    const gone = [...this.#saved.keys()].filter((conv) => !conversations.mirrors.has(conv));
    const isOther = mirrors.some(({ id, version }) => this.#saved.get(id)?.version !== version);
    // Every few seconds for as long as the page is open: mostly nothing has changed.
    if (!isOther && gone.length === 0 && sync === this.#savedSync) return;
    const newest = new Set(mirrors.toSorted((a, b) => newestOf(b) - newestOf(a)).slice(0, KEPT_WITH_MESSAGES_MAX));
    const saving = new Map<ConversationMirror, { version: number; withMessages: boolean }>();
    for (const mirror of mirrors) {
      // Texts of a secret chat stay in memory.
      const withMessages = newest.has(mirror) && mirror.conversation?.kind !== 'secret';
      const { version } = mirror;
      const before = this.#saved.get(mirror.id);
      if (before?.version !== version || before.withMessages !== withMessages)
        saving.set(mirror, { version, withMessages });
    }
    const changed = [...saving].flatMap(([mirror, { withMessages }]) => keptOf(mirror, withMessages) ?? []);
    try {
      // What was not taken up may name what is gone by now.
      const isWhole = this.#savedSync === undefined;
      if (!(await store.save({ sync, changed, gone, isWhole }))) return this.close();
      for (const [{ id }, said] of saving) this.#saved.set(id, said);
      for (const conv of gone) this.#saved.delete(conv);
      this.#savedSync = sync;
    } catch (thrown) {
      // A storage that is full keeps nothing that is half: the next visit is a first one.
      this.close();
      onTrouble(thrown);
      await store.clear().catch(onTrouble);
    }
  }
}

function newestOf(mirror: ConversationMirror): number {
  return mirror.newest?.createdAt ?? mirror.own?.lastMessage?.createdAt ?? 0;
}

function keptOf(mirror: ConversationMirror, withMessages: boolean): KeptMirror | undefined {
  const kept = mirror.keep(withMessages ? KEPT_MESSAGES_MAX : 0);
  if (kept?.record.kind !== 'secret' || kept.own === undefined) return kept;
  const { draft: _, lastMessage: __, ...own } = kept.own;
  return { ...kept, own };
}

/** Whether something that was loaded looks like what was saved. Another version of this client may have saved it. */
function isKept(found: unknown): found is KeptMirror {
  if (!isRecord(found) || !isRecord(found['record'])) return false;
  const { headSeq, messages, record, rev, watermarks } = found;
  const areLists = Array.isArray(messages) && Array.isArray(watermarks);
  return areLists && Number.isSafeInteger(rev) && Number.isSafeInteger(headSeq) && typeof record['id'] === 'string';
}
