/** What was written and not sent, by conversation: kept in this browser at once, and with the server soon, for the other devices. */
import type { ParleyClient } from '#src/client/parley-client.ts';
import { TEXT_LENGTH_MAX } from '#src/protocol/limits.ts';
import { keep, readKept } from '../../account/kept-session.ts';

/** A pause in the writing: not every letter is a request. */
const SAVE_MILLIS = 1_000;
const keyOf = (conv: string) => `parley.draft.${conv}`;

export class Drafts {
  readonly #client: ParleyClient;
  readonly #timers = new Map<string, ReturnType<typeof setTimeout>>();

  constructor(client: ParleyClient) {
    this.#client = client;
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
    void this.#save(conv, '');
  }

  async #save(conv: string, text: string): Promise<void> {
    const params = { id: conv };
    try {
      if (text.trim() === '') await this.#client.call('deleteDraft', { params });
      else if (text.length <= TEXT_LENGTH_MAX) await this.#client.call('putDraft', { params, body: { body: text } });
    } catch {
      // It is kept here; the next letter tries again.
    }
  }
}
