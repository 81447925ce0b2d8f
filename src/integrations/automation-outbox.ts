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
import { createHmac } from 'node:crypto';
import { unixSeconds, type Clock } from '#src/base/clock.ts';
import { makeId } from '#src/base/ids.ts';
import { formatInstant } from '#src/base/time.ts';
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
import { reasonOf, sendOutgoing } from '#src/outgoing/request.ts';

/** Attempts at a delivery; then it has failed. */
export const ATTEMPTS_MAX = 5;
/** How long one attempt may take, from the lookup to the answer. */
export const ATTEMPT_MILLIS = 10_000;
/** The wait before the second attempt; each one after waits five times as long, give or take half of it. */
export const BACKOFF_MILLIS = 2_000;
const BACKOFF_FACTOR = 5;
/** Requests at once, so that slow receivers take no more of the machine than this. More wait their turn. */
export const SENDING_MAX = 8;
/** Of them for one automation, so that one receiver that hangs does not keep the others waiting. */
export const SENDING_PER_AUTOMATION_MAX = 2;
/** Deliveries that wait for one automation. Beyond it an event is kept as a run that was dropped, never sent. */
export const WAITING_MAX = 1_000;
/** Ended runs kept of an automation; the oldest goes. */
export const RUNS_KEPT_MAX = 100;
/** What is kept of a receiver's answer, in bytes: enough for its error. */
export const REPLY_BYTES_MAX = 512;
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
  /** Id of what waits → when it is due, in milliseconds. What is on its way is not in here. */
  readonly #waiting = new Map<string, number>();
  readonly #sending = new Map<string, Promise<void>>();
  /** Automation → its ended runs, the oldest first. */
  readonly #ended = new Map<string, string[]>();
  #timer: NodeJS.Timeout | undefined;
  #look: Promise<void> | undefined;
  #stopping = new AbortController();
  #isStopped = true;

  constructor(options: AutomationOutboxOptions) {
    this.#options = options;
  }

  /** Takes up what waits on disk, and looks from now on. */
  start(): void {
    if (!this.#isStopped) return;
    this.#isStopped = false;
    this.#stopping = new AbortController();
    const { accounts } = this.#options;
    const known = new Set(accounts.documents(automationRecords).map(({ id }) => id));
    for (const { id, document } of accounts.documents(deliveryRecords)) {
      // A crash came between the removal of an automation and that of its runs.
      if (!known.has(automationOf(id))) void this.forget(automationOf(id)).catch(this.#failed);
      else if (document.state === 'pending') this.#waiting.set(id, document.dueAt);
      else this.#endedOf(id).push(id);
    }
    this.#timer = setInterval(() => void this.look(), LOOK_MILLIS);
    this.#timer.unref();
  }

  /** Ends looking and breaks off what is on its way: it waits on disk like the rest, and counts as not attempted. */
  async stop(): Promise<void> {
    this.#isStopped = true;
    clearInterval(this.#timer);
    this.#stopping.abort();
    await this.#look;
    await Promise.all(this.#sending.values());
  }

  /** Reads what happened, writes down what is to be sent, and sends what is due. Failures are logged, and tried again. */
  async look(): Promise<void> {
    this.#look ??= this.#takeUp()
      .catch(this.#failed)
      .finally(() => {
        this.#look = undefined;
      });
    await this.#look;
    this.#sendDue();
  }

  /** Forgets an automation that was removed, with its runs. */
  async forget(automation: string): Promise<void> {
    const { accounts } = this.#options;
    const isOf = (id: string) => id.startsWith(`${automation}:`);
    for (const id of [...this.#waiting.keys()].filter(isOf)) this.#waiting.delete(id);
    this.#ended.delete(automation);
    const after = `${automation}:`;
    const runs = accounts.documents(deliveryRecords, { after, limit: WAITING_MAX + RUNS_KEPT_MAX + 1 });
    const gone = runs.map(({ id }) => id).filter(isOf);
    await accounts.change((draft) => gone.forEach((id) => draft.removeDocument(deliveryRecords, id)));
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
        let waiting = this.#waitingOf(id);
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
      if (document.state === 'pending') this.#waiting.set(id, document.dueAt);
      else await this.#keepEnded(id);
    }
  }

  #sendDue(): void {
    const now = this.#options.clock.now();
    for (const [id, dueAt] of this.#waiting) {
      if (this.#isStopped || this.#sending.size >= SENDING_MAX) return;
      if (dueAt > now || this.#sendingFor(automationOf(id)) >= SENDING_PER_AUTOMATION_MAX) continue;
      this.#waiting.delete(id);
      const sent = this.#send(id)
        .catch((error: unknown) => {
          this.#options.log.warn('a delivery of an automation could not be written down', { error });
          this.#waiting.set(id, this.#options.clock.now() + LOCKED_MILLIS);
        })
        .finally(() => {
          this.#sending.delete(id);
          this.#sendDue();
        });
      this.#sending.set(id, sent);
    }
  }

  async #send(id: string): Promise<void> {
    const { accounts } = this.#options;
    const automation = automationOf(id);
    const record = accounts.document(deliveryRecords, id);
    const target = accounts.document(automationRecords, automation);
    // Gone with its automation, meanwhile.
    if (record === undefined || target === undefined) return;
    const secret = this.#secretOf(automation);
    if (secret === undefined) {
      this.#waiting.set(id, this.#options.clock.now() + LOCKED_MILLIS);
      return;
    }
    const outcome = await this.#attempt(id, record, target.url, secret);
    if (this.#stopping.signal.aborted) return;
    const attempts = record.attempts + 1;
    const isDelivered = outcome.status !== null && outcome.status >= 200 && outcome.status < 300;
    const isOver = isDelivered || outcome.isFinal || attempts >= ATTEMPTS_MAX;
    const now = this.#options.clock.now();
    const { isFinal: _, ...seen } = outcome;
    const dueAt = isOver ? record.dueAt : now + this.#waitBefore(attempts);
    const state = isDelivered ? 'delivered' : isOver ? 'failed' : 'pending';
    const next: DeliveryRecord = {
      ...record,
      ...seen,
      state,
      attempts,
      dueAt,
      endedAt: isOver ? formatInstant(now) : null,
    };
    const isKept = await accounts.change((draft) => {
      if (draft.document(deliveryRecords, id) === undefined) return false;
      draft.putDocument(deliveryRecords, id, next);
      return true;
    });
    if (!isKept) return;
    if (isOver) await this.#keepEnded(id);
    else this.#waiting.set(id, dueAt);
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

  async #attempt(id: string, { attempts, message }: DeliveryRecord, url: string, secret: Uint8Array): Promise<Outcome> {
    const { allowPrivateTargets, attemptMillis = ATTEMPT_MILLIS, clock } = this.#options;
    const headers = {
      'content-type': 'application/json',
      'user-agent': 'Parley-Automation/1',
      'x-parley-delivery': deliveryIdOf(id),
      'x-parley-attempt': String(attempts + 1),
      'x-parley-signature': signatureOf(secret, unixSeconds(clock.now()), message),
    };
    try {
      const { signal } = this.#stopping;
      const request = { method: 'POST', url, headers, body: message, allowPrivateTargets, signal } as const;
      const answer = await sendOutgoing({ ...request, millis: attemptMillis, bytesMax: REPLY_BYTES_MAX });
      // What a redirect names nobody chose, and it will not go away by asking again.
      const isRedirect = answer.status >= 300 && answer.status < 400;
      return { status: answer.status, reply: answer.text, reason: isRedirect ? 'redirect' : null, isFinal: isRedirect };
    } catch (error) {
      const isRefused = error instanceof Refusal;
      return { status: null, reply: null, reason: isRefused ? error.code : reasonOf(error), isFinal: isRefused };
    }
  }

  /** Half of the wait to one and a half of it, so that what failed together does not come back together. */
  #waitBefore(attempts: number): number {
    const { backoffMillis = BACKOFF_MILLIS } = this.#options;
    return Math.round(backoffMillis * BACKOFF_FACTOR ** (attempts - 1) * (0.5 + Math.random()));
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

  #waitingOf(automation: string): number {
    const waiting = [...this.#waiting.keys()].filter((id) => automationOf(id) === automation).length;
    return waiting + this.#sendingFor(automation);
  }

  #sendingFor(automation: string): number {
    return [...this.#sending.keys()].filter((id) => automationOf(id) === automation).length;
  }
}

interface Outcome extends Pick<DeliveryRecord, 'status' | 'reply' | 'reason'> {
  /** Another attempt would end the same way. */
  readonly isFinal: boolean;
}

/**
 * `t=<unix seconds>,v1=<hex>`: the HMAC-SHA256 of `<t>.<body>` under the secret. The time is in it so that a receiver
 * can refuse what somebody recorded and sends again.
 */
export function signatureOf(secret: Uint8Array, seconds: number, body: string): string {
  return `t=${seconds},v1=${createHmac('sha256', secret).update(`${seconds}.${body}`).digest('hex')}`;
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
