/**
 * The way into calls for the app’s first script: it hears that somebody calls, and loads the rest when somebody does, or when the
 * person wants to call. What was heard meanwhile is handed on.
 */
import type { ParleyClient } from '#src/client/parley-client.ts';
import type { ServerEvent } from '#src/client/events.ts';
import { addWords, type WordPart } from '../kit/language.ts';
import { Observable } from '../kit/observable.ts';
import type { CallCenter } from './call-center.ts';

/** Stanzas that are kept until the script is there. Beyond it the oldest go: what is live is asked for then. */
const EARLY_STANZAS_MAX = 200;

const WORDS: WordPart = {
  namespace: 'translation',
  en: async () => (await import('./english.ts')).CALLS_ENGLISH,
  ru: async () => (await import('./russian.ts')).CALLS_RUSSIAN,
};

export class CallEntry extends Observable {
  readonly #client: ParleyClient;
  readonly #early: ServerEvent<'signal'>[] = [];
  #center: CallCenter | undefined;
  #opening: Promise<CallCenter> | undefined;

  constructor(client: ParleyClient) {
    super();
    this.#client = client;
    client.on('signal', (event) => {
      if (this.#center !== undefined || event.data.kind === 'sub') return;
      this.#early.push(event);
      if (this.#early.length > EARLY_STANZAS_MAX) this.#early.shift();
      // Without its script nothing rings; the next stanza tries again.
      this.open().catch(() => undefined);
    });
    const look = () => void this.#look().catch(() => undefined);
    client.on('caught-up', look);
    if (client.isCaughtUp) look();
  }

  /** Undefined while nothing of calls was needed. */
  get center(): CallCenter | undefined {
    return this.#center;
  }

  /** Whether a call covers the conversations. */
  get isCovering(): boolean {
    return this.#center?.isCovering === true;
  }

  /** Loads what calls need. @throws Error where the script does not come. */
  open(): Promise<CallCenter> {
    this.#opening ??= this.#load().catch((error: unknown) => {
      this.#opening = undefined;
      throw error;
    });
    return this.#opening;
  }

  /** Leaves whatever call there is, as before signing out. */
  async leave(): Promise<void> {
    await this.#center?.hangUp();
  }

  /** A device that was asleep may be rung for, and may have left a call behind. */
  async #look(): Promise<void> {
    if (this.#center !== undefined) return;
    const { items } = await this.#client.call('readCalls', { params: {} });
    if (items.length > 0) await this.open();
  }

  async #load(): Promise<CallCenter> {
    const [{ CallCenter: Center }] = await Promise.all([import('./call-center.ts'), addWords(WORDS)]);
    const center = new Center(this.#client, this.#early.splice(0));
    this.#center = center;
    center.subscribe(() => this.changed());
    this.changed();
    return center;
  }
}
