/**
 * The outbox of automations. The audit trail is the queue of what happened; what is to be sent of it is written down
 * in one change with how far the trail was read, so that a restart loses nothing and sends nothing under two ids:
 *
 *     audit trail ──read behind the cursor──► pending, on disk ──► sent ──2xx──► delivered
 *                                               ▲                    └─ else, below 5 attempts: waits, then again
 *                                               └────────────────────┘  else: failed
 *
 * A receiver that answered while the server went down gets the delivery again, under the same id.
 */
import type { Clock } from '#src/base/clock.ts';
import { makeId } from '#src/base/ids.ts';
import { formatInstant } from '#src/base/time.ts';
import { DeliveryQueue, type Attempt, type AttemptContext } from '#src/delivery/delivery-queue.ts';
import { postSigned, type WebhookAnswer } from '#src/delivery/signed-webhook.ts';
import type { PrivateTargets } from '#src/outgoing/targets.ts';
import { Refusal } from '#src/protocol/errors.ts';
import type { Accounts } from '#storage/accounts/accounts.ts';
import type { AuditEntry } from '#storage/accounts/audit-chain.ts';
import type { Entry } from '#storage/accounts/collections.ts';
import type { Vault } from '#storage/vault/vault.ts';
import {
  automationCursor,
  automationRecords,
  automationSecret,
  CURSOR,
  deliveryRecords,
  setsOff,
  type AutomationRecord,
  type DeliveryRecord,
} from './automation-records.ts';
import type { Logger } from '#src/telemetry/logger.ts';

/** Attempts at a delivery; then it has failed. */
export const ATTEMPTS_MAX = 5;
/** About the wait before the second attempt; each one after is about five times as long, up to the most. */
export const BACKOFF_MILLIS = 2_000;
const BACKOFF_FACTOR = 5;
const BACKOFF_MILLIS_MAX = 3_600_000;
/** Requests at once, so that slow receivers take no more of the machine than this. More wait their turn. */
export const SENDING_MAX = 8;
/** Of them for one automation, so that one receiver that hangs does not keep the others waiting. */
export const SENDING_PER_AUTOMATION_MAX = 2;
/** Deliveries that wait for one automation. Beyond it an event is kept as a run that was dropped, never sent. */
export const WAITING_MAX = 1_000;
/** Ended runs kept of an automation; the oldest goes. */
export const RUNS_KEPT_MAX = 100;
/** How often the trail is looked at. Webhooks may be a second late; a look costs one read. */
export const LOOK_MILLIS = 500;
/** Audit entries read in one step. */
const ENTRIES_STEP = 200;
/** How long a delivery waits again that found the vault locked; that is no attempt. */
const LOCKED_MILLIS = 5_000;

export interface AutomationOutboxOptions {
  readonly accounts: Accounts;
  readonly clock: Clock;
  readonly vault: Vault;
  readonly log: Pick<Logger, 'warn'>;
  readonly allowPrivateTargets: PrivateTargets;
  /** The waits and deadlines of tests. */
  readonly backoffMillis?: number;
  readonly attemptMillis?: number;
}

export class AutomationOutbox {
  readonly #options: AutomationOutboxOptions;
  /** Ids of deliveries. */
  readonly #queue: DeliveryQueue<string, WebhookAnswer>;
  /** Automation → its ended runs, the oldest first. */
  readonly #ended = new Map<string, string[]>();
  #timer: NodeJS.Timeout | undefined;
  #look: Promise<void> | undefined;
  #isStopped = true;

  constructor(options: AutomationOutboxOptions) {
    const { backoffMillis = BACKOFF_MILLIS, clock, log } = options;
    this.#options = options;
    this.#queue = new DeliveryQueue({
      ...{ name: 'automations', clock, log, atOnce: SENDING_MAX, attemptsMax: ATTEMPTS_MAX },
      group: { of: automationOf, atOnce: SENDING_PER_AUTOMATION_MAX },
      backoff: { firstMillis: backoffMillis, mostMillis: BACKOFF_MILLIS_MAX, factor: BACKOFF_FACTOR },
      attempt: async (id, context) => await this.#attempt(id, context),
      over: async (id, answer) => await this.#note(id, answer),
      putOff: async (id, at, answer) => await this.#note(id, answer, at),
    });
  }

  /** Takes up what waits on disk, and looks from now on. */
  start(): void {
    if (!this.#isStopped) return;
    this.#isStopped = false;
    const { accounts } = this.#options;
    const known = new Set(accounts.documents(automationRecords).map(({ id }) => id));
    for (const { id, document } of accounts.documents(deliveryRecords)) {
      // A crash came between the removal of an automation and that of its runs.
      if (!known.has(automationOf(id))) void this.forget(automationOf(id)).catch(this.#failed);
      else if (document.state === 'pending') this.#queue.add(id, document.dueAt);
      else this.#endedOf(id).push(id);
    }
    this.#timer = setInterval(() => void this.look(), LOOK_MILLIS);
    this.#timer.unref();
  }

  /** Ends looking and breaks off what is on its way: it waits on disk like the rest, and counts as not attempted. */
  async stop(): Promise<void> {
    this.#isStopped = true;
    clearInterval(this.#timer);
    await this.#look;
    await this.#queue.close();
  }

  /** Reads what happened, writes down what is to be sent, and sends what is due. Failures are logged, and tried again. */
  async look(): Promise<void> {
    this.#look ??= this.#takeUp()
      .catch(this.#failed)
      .finally(() => {
        this.#look = undefined;
      });
    await this.#look;
    this.#queue.wake();
  }

  /** Forgets an automation that was removed, with its runs. */
  async forget(automation: string): Promise<void> {
    const { accounts } = this.#options;
    this.#queue.remove((id) => automationOf(id) === automation);
    this.#ended.delete(automation);
    const runs = runsOf(accounts, automation);
    await accounts.change((draft) => runs.forEach(({ id }) => draft.removeDocument(deliveryRecords, id)));
  }

  readonly #failed = (error: unknown): void => {
    this.#options.log.warn('automations could not be taken up', { error });
  };

  async #takeUp(): Promise<void> {
    const { accounts } = this.#options;
    const head = accounts.auditHead.number;
    const automations = accounts.documents(automationRecords).filter(({ document }) => document.isEnabled);
    if (automations.length === 0) return;
    const earliest = Math.min(...automations.map(({ document }) => document.since));
    let after = Math.max(accounts.document(automationCursor, CURSOR)?.entry ?? 0, earliest);
    while (after < head && !this.#isStopped) {
      const entries = accounts.auditEntriesAfter(after, ENTRIES_STEP);
      const last = entries.at(-1);
      if (last === undefined) return;
      after = last.number;
      await this.#write(entries, after);
    }
  }

  async #write(entries: readonly AuditEntry[], cursor: number): Promise<void> {
    const { accounts, clock } = this.#options;
    const now = clock.now();
    const written = await accounts.change((draft) => {
      // Judged on the draft: one may have been removed or disabled just before.
      const automations = accounts
        .documents(automationRecords)
        .map(({ id }) => ({ id, document: draft.document(automationRecords, id) }))
        .filter((entry): entry is Entry<AutomationRecord> => entry.document?.isEnabled === true);
      const deliveries = automations.flatMap(({ id, document }) => {
        let waiting = this.#queue.countOf(id);
        const heard = entries.filter(({ event, number }) => number > document.since && setsOff(document.events, event));
        return heard.map((entry, place) => {
          waiting += 1;
          // Ids a millisecond apart, so that runs stand in the order of their events.
          return deliveryOf(id, entry, now + place, waiting <= WAITING_MAX ? 'pending' : 'dropped');
        });
      });
      for (const { id, document } of deliveries) draft.putDocument(deliveryRecords, id, document);
      draft.putDocument(automationCursor, CURSOR, { entry: cursor });
      return deliveries;
    });
    for (const { id, document } of written) {
      if (document.state === 'pending') this.#queue.add(id, document.dueAt);
      else await this.#keepEnded(id);
    }
  }

  async #attempt(id: string, { signal }: AttemptContext<WebhookAnswer>): Promise<Attempt<WebhookAnswer>> {
    const { accounts } = this.#options;
    const record = accounts.document(deliveryRecords, id);
    const target = accounts.document(automationRecords, automationOf(id));
    // Gone with its automation, meanwhile.
    if (record === undefined || target === undefined) return { result: 'over', answer: GONE };
    const secret = this.#secretOf(automationOf(id));
    if (secret === undefined) return { result: 'putOff', millis: LOCKED_MILLIS };
    const attempts = record.attempts + 1;
    const webhook = { id: deliveryIdOf(id), url: target.url, secret, body: record.message, attempt: attempts };
    const answer = await postSigned({ ...webhook, userAgent: 'Parley-Automation/1' }, { ...this.#options, signal });
    // What a redirect names nobody chose, and neither does it go away by asking again.
    const isOver = answer.isTaken || answer.isRefused || isRedirect(answer);
    return isOver ? { result: 'over', answer } : { result: 'failed', answer, attempts };
  }

  /** Writes down what an attempt came to: the delivery is over, or tried again at `dueAt`. */
  async #note(id: string, answer: WebhookAnswer | undefined, dueAt?: number): Promise<void> {
    // Nobody was asked.
    if (answer === undefined) return;
    const { accounts, clock } = this.#options;
    const isKept = await accounts.change((draft) => {
      const record = draft.document(deliveryRecords, id);
      if (record === undefined) return false;
      const { reply, status } = answer;
      const state = answer.isTaken ? 'delivered' : dueAt === undefined ? 'failed' : 'pending';
      const reason = isRedirect(answer) ? 'redirect' : answer.reason;
      const seen = { status, reply, reason, state, attempts: record.attempts + 1 } as const;
      const endedAt = dueAt === undefined ? formatInstant(clock.now()) : null;
      draft.putDocument(deliveryRecords, id, { ...record, ...seen, dueAt: dueAt ?? record.dueAt, endedAt });
      return true;
    });
    if (isKept && dueAt === undefined) await this.#keepEnded(id);
  }

  /** The automation's secret; undefined while the vault is locked. */
  #secretOf(automation: string): Uint8Array | undefined {
    try {
      return this.#options.vault.get(automationSecret(automation));
    } catch (error) {
      if (error instanceof Refusal) return undefined;
      throw error;
    }
  }

  async #keepEnded(id: string): Promise<void> {
    const ended = this.#endedOf(id);
    ended.push(id);
    const over = ended.splice(0, Math.max(0, ended.length - RUNS_KEPT_MAX));
    if (over.length === 0) return;
    await this.#options.accounts.change((draft) => over.forEach((old) => draft.removeDocument(deliveryRecords, old)));
  }

  #endedOf(id: string): string[] {
    const automation = automationOf(id);
    const ended = this.#ended.get(automation) ?? [];
    this.#ended.set(automation, ended);
    return ended;
  }
}

/** Of a delivery that was removed with its automation; nobody reads it. */
const GONE: WebhookAnswer = { status: null, reply: null, reason: null, isTaken: false, isRefused: true };

function isRedirect({ status }: WebhookAnswer): boolean {
  return status !== null && status >= 300 && status < 400;
}

/** The id of a delivery with its automation's before it. */
export type Run = Entry<DeliveryRecord>;

/** All runs there are of an automation, the oldest first. */
export function runsOf(accounts: Pick<Accounts, 'documents'>, id: string): Run[] {
  // Bounded by what may wait and what is kept; the next automation's lie behind them.
  const limit = WAITING_MAX + RUNS_KEPT_MAX + 1;
  return accounts.documents(deliveryRecords, { after: `${id}:`, limit }).filter((run) => automationOf(run.id) === id);
}

function deliveryOf(
  automation: string,
  { number, at, event, actor, subject, details }: AuditEntry,
  now: number,
  state: 'pending' | 'dropped',
): Entry<DeliveryRecord> {
  const id = makeId('dlv', now);
  const createdAt = formatInstant(now);
  const document: DeliveryRecord = {
    state,
    event,
    entry: number,
    message: JSON.stringify({ id, automation, event, number, at, actor, subject, details }),
    attempts: 0,
    dueAt: now,
    createdAt,
    endedAt: state === 'dropped' ? createdAt : null,
    status: null,
    reply: null,
    reason: state === 'dropped' ? 'queue_full' : null,
  };
  return { id: `${automation}:${id}`, document };
}

function automationOf(id: string): string {
  return id.slice(0, id.indexOf(':'));
}

/** A delivery's own id, as its receiver reads it. */
export function deliveryIdOf(id: string): string {
  return id.slice(id.indexOf(':') + 1);
}
