/**
 * What was written and not sent, by conversation: kept in this browser at once, and with the server soon, for the other devices. Until the
 * server has it, what stands here is the draft; from then on it is what the server says, by events and in the list.
 */
import type { ParleyClient } from '#src/client/parley-client.ts';
import { isTransient, toParleyError } from '#src/client/parley-error.ts';
import { isRecord } from '#src/client/conversations/records.ts';
import { TEXT_LENGTH_MAX } from '#src/protocol/limits.ts';
import { Observable } from '../../kit/observable.ts';
import { keep, readKept } from '../../kit/kept-values.ts';
import type { Inbox } from './inbox.ts';

/** A pause in the writing: not every letter is a request. */
const SAVE_MILLIS = 1_000;
const KEY = 'parley.draft.';

interface Kept {
  /** Empty for a draft that was given up and that the server may have still. */
  readonly text: string;
  /** Whether the server has it. */
  readonly isTold: boolean;
}

export class Drafts extends Observable {
  readonly #client: ParleyClient;
  readonly #timers = new Map<string, ReturnType<typeof setTimeout>>();
  /** Those that did not reach the server from here. */
  readonly #waiting = new Set<string>();
  /** Those that another device changed while this one was telling the server of its own. */
  readonly #contested = new Set<string>();
  /** As the browser's storage has them, read once. */
  readonly #kept = new Map<string, Kept | undefined>();
  /** The list, which shows what was left unsent. Of this device's own drafts the server tells it nothing. */
  readonly #inbox: Pick<Inbox, 'draft' | 'rowOf' | 'onDraft'>;

  constructor(client: ParleyClient, inbox: Pick<Inbox, 'draft' | 'rowOf' | 'onDraft'>) {
    super();
    this.#client = client;
    this.#inbox = inbox;
    inbox.onDraft = (conv, text) => this.#heard(conv, text);
    client.on('caught-up', () => {
      for (const conv of this.#waiting) void this.#save(conv);
    });
    globalThis.addEventListener('storage', ({ key }) => {
      if (key?.startsWith(KEY) === true) this.#changedByTab(key.slice(KEY.length));
    });
  }

  /** What stands in a conversation's field; empty where nothing was written. */
  textOf(conv: string): string {
    return this.#read(conv)?.text ?? this.#inbox.rowOf(conv)?.draft ?? '';
  }

  /** Keeps what stands in the field now; an empty one ends the draft. */
  write(conv: string, text: string): void {
    this.#keep(conv, { text, isTold: false });
    clearTimeout(this.#timers.get(conv));
    this.#timers.set(
      conv,
      setTimeout(() => void this.#save(conv), SAVE_MILLIS),
    );
  }

  /** The text went out: there is no draft any more. */
  sent(conv: string): void {
    clearTimeout(this.#timers.get(conv));
    // Most are sent before the server heard of them: it is asked for nothing beside the message.
    const isUnheard = this.#read(conv)?.isTold !== true && this.#inbox.rowOf(conv)?.draft === undefined;
    if (isUnheard) return this.#keep(conv, undefined);
    this.#keep(conv, { text: '', isTold: false });
    void this.#save(conv);
  }

  async #save(conv: string): Promise<void> {
    const kept = this.#read(conv);
    this.#waiting.delete(conv);
    this.#contested.delete(conv);
    if (kept === undefined || kept.isTold) return;
    const params = { id: conv };
    const { text } = kept;
    const isNone = text.trim() === '';
    this.#inbox.draft(conv, isNone ? undefined : text);
    // It is kept here.
    if (text.length > TEXT_LENGTH_MAX) return;
    try {
      if (isNone) await this.#client.call('deleteDraft', { params });
      else await this.#client.call('putDraft', { params, body: { body: text } });
    } catch (thrown) {
      // Told with the next letter, or once there is a connection again. What is refused for good stays here alone.
      if (isTransient(toParleyError(thrown))) this.#waiting.add(conv);
      return;
    }
    // Somebody wrote on meanwhile.
    if (this.#read(conv) !== kept) return;
    this.#inbox.draft(conv, isNone ? undefined : text);
    this.#keep(conv, text === '' ? undefined : { text, isTold: true });
    if (this.#contested.delete(conv)) await this.#ask(conv);
  }

  /** Only the server knows which of two devices came last. */
  async #ask(conv: string): Promise<void> {
    const answer = this.#client.call('readDraft', { params: { id: conv } });
    const text = await answer.then(
      ({ body }) => body,
      (thrown: unknown) => (toParleyError(thrown).code === 'draft_not_found' ? undefined : this.textOf(conv)),
    );
    if (this.#read(conv)?.isTold === false) return;
    this.#inbox.draft(conv, text);
    this.#heard(conv, text);
  }

  /** The server says what another device left there, or that it is sent or given up. */
  #heard(conv: string, text: string | undefined): void {
    const kept = this.#read(conv);
    if (kept?.isTold === false) return void this.#contested.add(conv);
    if (kept !== undefined && kept.text !== text)
      this.#keep(conv, text === undefined ? undefined : { text, isTold: true });
    this.changed();
  }

  /** Another tab wrote there: what this one had to say of it is over. */
  #changedByTab(conv: string): void {
    clearTimeout(this.#timers.get(conv));
    this.#waiting.delete(conv);
    this.#kept.delete(conv);
    const text = this.#read(conv)?.text ?? '';
    this.#inbox.draft(conv, text.trim() === '' ? undefined : text);
    this.changed();
  }

  #read(conv: string): Kept | undefined {
    if (!this.#kept.has(conv)) this.#kept.set(conv, keptOf(readKept(KEY + conv)));
    return this.#kept.get(conv);
  }

  #keep(conv: string, kept: Kept | undefined): void {
    this.#kept.set(conv, kept);
    if (kept === undefined) localStorage.removeItem(KEY + conv);
    else keep(KEY + conv, kept);
    this.changed();
  }
}

function keptOf(found: unknown): Kept | undefined {
  // As an earlier version of the app kept it.
  if (typeof found === 'string') return { text: found, isTold: false };
  if (!isRecord(found) || typeof found['text'] !== 'string') return undefined;
  return { text: found['text'], isTold: found['isTold'] === true };
}
