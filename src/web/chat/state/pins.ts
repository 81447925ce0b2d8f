/** The pinned messages of the open conversation, read again whenever one of them changed: there are a hundred at most. */
import type { ParleyClient } from '#src/client/parley-client.ts';
import { type ChatMessage, readMessage } from '#src/client/conversations/records.ts';
import type { Unsubscribe } from '#src/client/emitter.ts';
import { Observable } from '../../kit/observable.ts';

const NONE: readonly ChatMessage[] = [];

export class Pins extends Observable {
  readonly conv: string;
  readonly #client: ParleyClient;
  #off: Unsubscribe[] = [];
  #list = NONE;
  /** Answers overtake each other: only the one to the newest question counts. */
  #asked = 0;

  constructor(client: ParleyClient, conv: string) {
    super();
    this.#client = client;
    this.conv = conv;
  }

  /** Begins to follow what happens. */
  open(): void {
    const isHere = (event: { readonly conv?: string }) => event.conv === this.conv;
    const known = (seq: number) => this.has(seq);
    this.#off = [
      this.#client.on('pin', (event) => isHere(event) && void this.#read()),
      this.#client.on('message.edit', (event) => isHere(event) && known(event.data.seq) && void this.#read()),
      this.#client.on('message.delete', (event) => isHere(event) && known(event.data.seq) && void this.#read()),
      this.#client.on('afresh', (event) => isHere(event) && void this.#read()),
      this.#client.on('caught-up', () => void this.#read()),
    ];
    void this.#read();
  }

  close(): void {
    this.#asked += 1;
    for (const off of this.#off) off();
  }

  /** The one that was pinned last comes last. */
  get list(): readonly ChatMessage[] {
    return this.#list;
  }

  has(seq: number): boolean {
    return this.#list.some((message) => message.seq === seq);
  }

  /** @throws ParleyError `pins_full`, `right_missing`, `conversation_archived`. */
  async pin(seq: number, isPinned: boolean): Promise<void> {
    await this.#client.call(isPinned ? 'addPin' : 'removePin', { params: { id: this.conv, seq } });
    await this.#read();
  }

  async #read(): Promise<void> {
    this.#asked += 1;
    const turn = this.#asked;
    try {
      const { items } = await this.#client.call('readPins', { params: { id: this.conv } });
      if (turn !== this.#asked) return;
      this.#list = items.map((item) => readMessage(item));
      this.changed();
    } catch {
      // What is known stays; the socket's next opening asks again.
    }
  }
}
