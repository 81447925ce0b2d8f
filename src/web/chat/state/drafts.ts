/** What was written and not sent, by conversation: kept in this browser at once, and with the server soon, for the other devices. */
import type { ParleyClient } from '#src/client/parley-client.ts';
import { TEXT_LENGTH_MAX } from '#src/protocol/limits.ts';
import { keep, readKept } from '../../account/kept-session.ts';
import type { Inbox } from './inbox.ts';

/** A pause in the writing: not every letter is a request. */
const SAVE_MILLIS = 1_000;
const keyOf = (conv: string) => `parley.draft.${conv}`;

export class Drafts {
  readonly #client: ParleyClient;
  readonly #timers = new Map<string, ReturnType<typeof setTimeout>>();
  /** Those that the server was told of here and may have. */
  readonly #told = new Set<string>();
  /** The list, which shows what was left unsent. Of this device's own drafts the server tells it nothing. */
  readonly #inbox: Pick<Inbox, 'draft' | 'rowOf'>;

  constructor(client: ParleyClient, inbox: Pick<Inbox, 'draft' | 'rowOf'>) {
    this.#client = client;
    this.#inbox = inbox;
  }

  /** What this browser has; undefined where it has nothing. */
  kept(conv: string): string | undefined {
    const kept = readKept(keyOf(conv));
    return typeof kept === 'string' ? kept : undefined;
  }

  /** Keeps what stands in the field now; an empty one ends the draft. */
  write(conv: string, text: string): void {
    if (text === '') localStorage.removeItem(keyOf(conv));
    else keep(keyOf(conv), text);
    clearTimeout(this.#timers.get(conv));
    this.#timers.set(
      conv,
      setTimeout(() => void this.#save(conv, text), SAVE_MILLIS),
    );
  }

  /** The text went out: there is no draft any more. */
  sent(conv: string): void {
    localStorage.removeItem(keyOf(conv));
    clearTimeout(this.#timers.get(conv));
    // Most are sent before the server heard of them: it is asked for nothing beside the message.
    if (this.#told.has(conv) || this.#inbox.rowOf(conv)?.draft !== undefined) void this.#save(conv, '');
  }

  async #save(conv: string, text: string): Promise<void> {
    const params = { id: conv };
    const isNone = text.trim() === '';
    this.#inbox.draft(conv, isNone ? undefined : text);
    try {
      if (isNone) {
        this.#told.delete(conv);
        await this.#client.call('deleteDraft', { params });
      } else if (text.length <= TEXT_LENGTH_MAX) {
        this.#told.add(conv);
        await this.#client.call('putDraft', { params, body: { body: text } });
      }
    } catch {
      this.#told.add(conv);
      // It is kept here; the next letter tries again.
    }
  }
}
