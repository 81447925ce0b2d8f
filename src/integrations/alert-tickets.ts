/**
 * Opens a ticket at a service desk for every alert. The audit trail is the queue: what was raised behind the cursor is sent in
 * its order, and the cursor moves when the desk has answered 2xx, so that a kill sends a ticket twice and loses none. Both have the
 * same `idempotency-key`.
 *
 * `POST {base_url}/tickets` with Basic credentials takes `{number, kind, subject, details, raised_at, advice?}`. Where a language model is
 * set, `advice` is what it says of the kind of alert: it is told the kind and what that means, and nothing of this installation.
 */
import { z } from 'zod';
import { ALERT_KINDS, type AlertKind } from '#src/monitoring/alerts.ts';
import { sendOutgoing, type OutgoingRequest } from '#src/outgoing/request.ts';
import type { Logger } from '#src/telemetry/logger.ts';
import type { Accounts } from '#storage/accounts/accounts.ts';
import type { AuditEntry } from '#storage/accounts/audit-chain.ts';
import { defineCollection } from '#storage/accounts/collections.ts';

/** Under `ALERTS`: up to which entry of the trail alerts were sent. Nothing while no desk is set. */
const cursors = defineCollection<{ readonly entry: number }>('ticket_cursor', { version: 1 });
const ALERTS = 'alerts';

const LOOK_MILLIS = 5_000;
/** After a ticket that was not taken, the next attempt comes this much later. */
const RETRY_MILLIS = 60_000;
/** A ticket that the desk does not take is left out then, and the log says so: those behind it wait for it. */
export const TICKET_ATTEMPTS_MAX = 10;
const ENTRIES_AT_ONCE = 100;
const REQUEST_MILLIS = 20_000;
const ANSWER_BYTES_MAX = 65_536;
/** Of what a model says, in UTF-16 units. */
const ADVICE_LENGTH_MAX = 2_000;

export interface TicketService {
  readonly base_url: string;
  readonly username: string;
  readonly password: string;
}

export interface LanguageModel {
  readonly base_url: string;
  readonly model?: string;
  readonly api_key: string;
}

export interface AlertTicketsOptions {
  readonly accounts: Pick<Accounts, 'auditEntriesAfter' | 'auditHead' | 'change' | 'document'>;
  /** The desk as it is set now; undefined while it is not. @throws Refusal `encryption_locked`. */
  readonly desk: () => TicketService | undefined;
  /** The language model; undefined while none is set. @throws Refusal `encryption_locked`. */
  readonly model: () => LanguageModel | undefined;
  readonly allowPrivateTargets: OutgoingRequest['allowPrivateTargets'];
  readonly log: Logger;
}

const completion = z.object({ choices: z.array(z.object({ message: z.object({ content: z.string() }) })).min(1) });

export class AlertTickets {
  readonly #options: AlertTicketsOptions;
  #timer: NodeJS.Timeout | undefined;
  #turn: Promise<void> = Promise.resolve();
  #notBefore = 0;
  #attempts = 0;

  constructor(options: AlertTicketsOptions) {
    this.#options = options;
  }

  start(): void {
    this.#timer = setInterval(() => this.look(), LOOK_MILLIS).unref();
    this.look();
  }

  /** Lets no other ticket begin, and waits for the one that is sent. */
  async stop(): Promise<void> {
    clearInterval(this.#timer);
    this.#notBefore = Infinity;
    await this.#turn;
  }

  /** The desk is another one, or has said that it works again. */
  again(): void {
    this.#notBefore = 0;
    this.look();
  }

  /** Sends what was raised since, behind a look that goes on. */
  look(): void {
    this.#turn = this.#turn.then(async () => {
      try {
        await this.#lookOnce();
      } catch (error) {
        this.#options.log.warn('tickets could not be opened at the service desk', { error });
        this.#notBefore = performance.now() + RETRY_MILLIS;
      }
    });
  }

  async #lookOnce(): Promise<void> {
    const { accounts, desk: readDesk } = this.#options;
    if (performance.now() < this.#notBefore) return;
    const desk = readDesk();
    const cursor = accounts.document(cursors, ALERTS)?.entry;
    // Alerts from before there was a desk are nobody's tickets.
    if (desk === undefined) return cursor === undefined ? undefined : await this.#move(undefined);
    if (cursor === undefined) return await this.#move(accounts.auditHead.number);
    for (let after = cursor; ;) {
      const entries = accounts.auditEntriesAfter(after, ENTRIES_AT_ONCE);
      for (const entry of entries) {
        if (entry.event === 'alert.raised') {
          await this.#open(desk, entry);
          await this.#move(entry.number);
        }
      }
      after = entries.at(-1)?.number ?? after;
      if (entries.length < ENTRIES_AT_ONCE) return after > cursor ? await this.#move(after) : undefined;
    }
  }

  async #move(entry: number | undefined): Promise<void> {
    await this.#options.accounts.change((draft) => {
      if (entry === undefined) draft.removeDocument(cursors, ALERTS);
      else draft.putDocument(cursors, ALERTS, { entry });
    });
  }

  /** @throws Error where the desk did not take it, but not the last time. */
  async #open(desk: TicketService, { at, details, number, subject }: AuditEntry): Promise<void> {
    const { allowPrivateTargets, log } = this.#options;
    const kind = typeof details['kind'] === 'string' ? details['kind'] : '';
    const advice = await this.#advice(kind);
    const ticket = { number, kind, subject, details: details['details'] ?? null, raised_at: at };
    const { status } = await sendOutgoing({
      method: 'POST',
      url: `${desk.base_url.replace(/\/$/, '')}/tickets`,
      headers: {
        authorization: `Basic ${Buffer.from(`${desk.username}:${desk.password}`).toString('base64')}`,
        'content-type': 'application/json',
        'idempotency-key': `alert-${number}`,
      },
      body: JSON.stringify(advice === undefined ? ticket : { ...ticket, advice }),
      millis: REQUEST_MILLIS,
      bytesMax: ANSWER_BYTES_MAX,
      allowPrivateTargets,
    });
    const isTaken = status >= 200 && status < 300;
    this.#attempts = isTaken ? 0 : this.#attempts + 1;
    if (isTaken) return;
    if (this.#attempts < TICKET_ATTEMPTS_MAX) throw new Error(`The service desk answered ${status}.`);
    this.#attempts = 0;
    log.warn('the service desk does not take a ticket; it is left out', { number, status });
  }

  /** What the model says of a kind of alert; undefined without one, and where it fails: the ticket does not wait for it. */
  async #advice(kind: string): Promise<string | undefined> {
    try {
      const model = this.#options.model();
      if (model === undefined || !Object.hasOwn(ALERT_KINDS, kind)) return undefined;
      const meaning = JSON.stringify(ALERT_KINDS[kind as AlertKind]);
      const content = `A messaging server raised the alert ${kind}: ${meaning}. Say in three sentences what an operator checks first.`;
      const { status, text } = await sendOutgoing({
        method: 'POST',
        url: `${model.base_url.replace(/\/$/, '')}/chat/completions`,
        headers: { authorization: `Bearer ${model.api_key}`, 'content-type': 'application/json' },
        body: JSON.stringify({ model: model.model, messages: [{ role: 'user', content }], max_tokens: 300 }),
        millis: REQUEST_MILLIS,
        bytesMax: ANSWER_BYTES_MAX,
        allowPrivateTargets: this.#options.allowPrivateTargets,
      });
      if (status !== 200) throw new Error(`It answered ${status}.`);
      return completion.parse(JSON.parse(text)).choices[0]?.message.content.slice(0, ADVICE_LENGTH_MAX);
    } catch (error) {
      this.#options.log.warn('the language model gave no advice for a ticket', { error });
      return undefined;
    }
  }
}
