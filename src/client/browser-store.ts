/**
 * Conversations in a browser's IndexedDB, which all tabs of a person share. A tab says which of two states of a conversation is the
 * later one by its rev, so that one that knows less takes nothing back; and what was cleared is not written to by a tab that had it
 * open: the next load begins under another mark.
 *
 *     const conversationStore = browserStore({ name: 'parley', owner: `${session.user} ${session.device_id}` });
 *     const client = ParleyClient.resume({ ...options, session, conversationStore });
 *
 * Texts lie there as they are, as in any browser's cache: docs/security.md. A secret chat's stay in memory.
 */
import { openDB, type DBSchema, type IDBPDatabase } from 'idb';
import { randomSymbols } from '#src/base/ids.ts';
import type { ConversationStore, KeptChanges } from './conversations/kept-conversations.ts';
import type { KeptMirror } from './conversations/conversation-mirror.ts';

/** What is kept looks otherwise from the next number on: what an earlier client kept is forgotten then. */
const FORMAT = 1;
const MARK_SYMBOLS = 16;
const STATE = 'state';

interface State {
  readonly format: number;
  readonly owner: string;
  readonly mark: string;
  /** Undefined before the first save. */
  readonly sync?: string;
}

interface Schema extends DBSchema {
  state: { key: typeof STATE; value: State };
  mirrors: { key: string; value: KeptMirror };
}

type Database = IDBPDatabase<Schema>;

export interface BrowserStoreOptions {
  /** The database's name: one for each application of an origin. */
  readonly name: string;
  /** Whose it is. What another one left there is forgotten. */
  readonly owner: string;
}

/** A store for one person in this browser. Where the browser keeps nothing, as in some private windows, its promises are rejected. */
export function browserStore({ name, owner }: BrowserStoreOptions): ConversationStore {
  let opened: Promise<Database> | undefined;
  const open = async () => await (opened ??= openStore(name));
  const isOwn = (state: State | undefined): state is State => state?.format === FORMAT && state.owner === owner;
  let mark = '';
  return {
    load: async () => {
      const database = await open();
      // A transaction that only reads waits for no disk.
      const reading = database.transaction(['state', 'mirrors'], 'readonly');
      const [found, mirrors] = await Promise.all([
        reading.objectStore('state').get(STATE),
        reading.objectStore('mirrors').getAll(),
      ]);
      if (isOwn(found)) {
        ({ mark } = found);
        return found.sync === undefined ? undefined : { sync: found.sync, mirrors };
      }
      const transaction = database.transaction(['state', 'mirrors'], 'readwrite');
      const states = transaction.objectStore('state');
      // Another tab may have begun meanwhile.
      const state = await states.get(STATE);
      mark = isOwn(state) ? state.mark : randomSymbols(MARK_SYMBOLS);
      if (!isOwn(state)) {
        await transaction.objectStore('mirrors').clear();
        await states.put({ format: FORMAT, owner, mark }, STATE);
      }
      await transaction.done;
      return undefined;
    },
    save: async ({ changed, gone, isWhole, sync }: KeptChanges) => {
      const transaction = (await open()).transaction(['state', 'mirrors'], 'readwrite');
      const [states, mirrors] = [transaction.objectStore('state'), transaction.objectStore('mirrors')];
      const state = await states.get(STATE);
      if (state?.mark !== mark) return false;
      if (isWhole) await mirrors.clear();
      for (const mirror of changed) {
        const known = await mirrors.get(mirror.record.id);
        const isLess = known?.record.epoch === mirror.record.epoch && known.rev > mirror.rev;
        if (!isLess) await mirrors.put(mirror, mirror.record.id);
      }
      for (const conv of gone) await mirrors.delete(conv);
      await states.put({ ...state, sync }, STATE);
      await transaction.done;
      return true;
    },
    clear: async () => await clear(await open()),
  };
}

/** Forgets what anybody left in this browser. */
export async function clearBrowserStore(name: string): Promise<void> {
  const database = await openStore(name);
  try {
    await clear(database);
  } finally {
    database.close();
  }
}

async function openStore(name: string): Promise<Database> {
  return await openDB<Schema>(name, 1, {
    upgrade: (database) => {
      database.createObjectStore('state');
      database.createObjectStore('mirrors');
    },
    // A later version of the application wants it in another form.
    blocking: (_version, _wanted, { target }) => (target as IDBDatabase).close(),
  });
}

async function clear(database: Database): Promise<void> {
  const transaction = database.transaction(['state', 'mirrors'], 'readwrite');
  await Promise.all([
    transaction.objectStore('state').clear(),
    transaction.objectStore('mirrors').clear(),
    transaction.done,
  ]);
}
