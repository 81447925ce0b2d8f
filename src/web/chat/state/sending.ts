/** Messages on their way, and those that the server would not have: both stay to be seen until they are there or given up. */
import type { MessageForm, OutboxEntry } from '#src/client/conversations/outbox.ts';
import type { ParleyClient } from '#src/client/parley-client.ts';
import { keep, readKept } from '../../kit/kept-values.ts';
import { Observable } from '../../kit/observable.ts';

const REFUSED = 'parley.refused';

export interface Sending {
  readonly conv: string;
  readonly clientMsgId: string;
  readonly form: MessageForm;
  readonly postedAt: number;
  /** Why the server refused it; undefined while it is on its way. */
  readonly refused?: string;
}

export class SendingMessages extends Observable {
  readonly #client: ParleyClient;
  /** Over a reload too: a text that was refused is still the person's. */
  #refused: Sending[];
  readonly #byConversation = new Map<string, readonly Sending[]>();
  readonly #forms = new Map<string, Sending>();

  constructor(client: ParleyClient) {
    super();
    this.#client = client;
    const kept = readKept(REFUSED);
    this.#refused = Array.isArray(kept) ? (kept as Sending[]) : [];
    client.on('outbox', (report) => {
      if (report.state === 'refused') this.#refuse(report.clientMsgId, report.error.code);
      this.#redraw();
    });
    this.#redraw();
  }

  /** What of a conversation is not there yet, in the order in which it was written. */
  in(conv: string): readonly Sending[] {
    return this.#byConversation.get(conv) ?? NONE;
  }

  /** Sends; what becomes of it is seen in the list. */
  post(conv: string, form: MessageForm): void {
    const answer = this.#client.post(conv, form);
    answer.catch(() => undefined);
    this.#redraw();
  }

  /** Sends a refused message once more, as a new one. */
  retry(message: Sending): void {
    this.discard(message);
    this.post(message.conv, message.form);
  }

  discard({ clientMsgId }: Sending): void {
    this.#refused = this.#refused.filter((one) => one.clientMsgId !== clientMsgId);
    keep(REFUSED, this.#refused);
    this.#redraw();
  }

  #refuse(clientMsgId: string, code: string): void {
    const form = this.#forms.get(clientMsgId);
    if (form === undefined) return;
    this.#refused = [...this.#refused, { ...form, refused: code }];
    keep(REFUSED, this.#refused);
  }

  #redraw(): void {
    const waiting = this.#client.outbox.map(({ conv, clientMsgId, form, postedAt }: OutboxEntry) => ({
      conv,
      clientMsgId,
      form,
      postedAt,
    }));
    this.#forms.clear();
    for (const one of waiting) this.#forms.set(one.clientMsgId, one);
    this.#byConversation.clear();
    for (const one of [...this.#refused, ...waiting])
      this.#byConversation.set(one.conv, [...(this.#byConversation.get(one.conv) ?? []), one]);
    this.changed();
  }
}

const NONE: readonly Sending[] = [];
