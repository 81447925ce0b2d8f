/**
 * Keeping messages for a shorter time, in the whole installation: what would go is counted before, the time is typed once
 * more, and a day passes in which it can be taken back. Nothing else shortens it, and what lengthens it counts at once.
 */
import type { Clock } from '#src/base/clock.ts';
import { DueTimer } from '#src/base/due-timer.ts';
import { formatInstant } from '#src/base/time.ts';
import { Refusal } from '#src/protocol/errors.ts';
import { RETENTION_NOTICE_SECONDS } from '#src/protocol/limits.ts';
import type { Settings } from '#src/settings/settings.ts';
import type { Logger } from '#src/telemetry/logger.ts';
import type { Accounts, AccountsDraft } from '#storage/accounts/accounts.ts';
import type { AuditActor } from '#storage/accounts/audit-chain.ts';
import { defineCollection } from '#storage/accounts/collections.ts';

/** A shortening that waits for its day. */
export interface PendingShortening {
  readonly seconds: number;
  /** Milliseconds since 1970. */
  readonly dueAt: number;
  /** An actor of the audit trail. */
  readonly requestedBy: string;
  readonly requestedAt: number;
}

/** The one that waits, under `INSTALLATION`. */
export const pendings = defineCollection<PendingShortening>('retention_shortening', { version: 1 });
export const INSTALLATION = 'installation';

const UNITS = [
  ['day', 86_400],
  ['hour', 3_600],
  ['minute', 60],
  ['second', 1],
] as const;

/** A time in the largest unit that holds it whole: `30 days`, `90 minutes`. It is what is typed to confirm. */
export function formatPeriod(seconds: number): string {
  const [unit, size] = UNITS.find(([, each]) => seconds % each === 0) ?? UNITS[3];
  const count = seconds / size;
  return `${count} ${unit}${count === 1 ? '' : 's'}`;
}

export interface RetentionShorteningOptions {
  readonly accounts: Accounts;
  readonly clock: Clock;
  readonly log: Logger;
  readonly settings: Pick<Settings, 'judge' | 'put' | 'read'>;
  /** Has every thread read by the settings as they stand. */
  readonly announce: () => Promise<void>;
}

export class RetentionShortening {
  readonly #options: RetentionShorteningOptions;
  readonly #timer: DueTimer;

  constructor(options: RetentionShorteningOptions) {
    this.#options = options;
    this.#timer = new DueTimer({
      clock: options.clock,
      next: () => this.pending?.dueAt,
      work: async () => await this.#look(),
      failed: (error) => options.log.warn('shortening the retention failed', { error }),
    });
    options.settings.judge('retention', (draft, { before, after, by }) => {
      if (isShorter(after['seconds'], before['seconds'])) throw new Refusal('retention_shortens', { field: 'seconds' });
      // Whoever says now how long it is kept has not waited for another time.
      this.#remove(draft, by);
    });
  }

  get pending(): PendingShortening | null {
    return this.#options.accounts.document(pendings, INSTALLATION) ?? null;
  }

  /** @throws Refusal `field_invalid` for a time that is not shorter than the present one. */
  requireShorter(seconds: number): void {
    if (!isShorter(seconds, this.#options.settings.read('retention')?.seconds)) {
      throw new Refusal('field_invalid', { field: 'seconds' });
    }
  }

  /**
   * Has messages kept for so many seconds in a day from now; what waited before is replaced, and its day begins anew.
   * @throws Refusal `field_invalid` where the time is not shorter, or `confirm` is not it in words.
   */
  async plan(seconds: number, confirm: string, by: AuditActor): Promise<void> {
    const { accounts, clock } = this.#options;
    this.requireShorter(seconds);
    if (confirm.trim() !== formatPeriod(seconds)) throw new Refusal('field_invalid', { field: 'confirm' });
    const now = clock.now();
    const dueAt = now + RETENTION_NOTICE_SECONDS * 1_000;
    await accounts.change((draft) => {
      const before = draft.document(pendings, INSTALLATION)?.seconds ?? null;
      draft.putDocument(pendings, INSTALLATION, { seconds, dueAt, requestedBy: by.actor, requestedAt: now });
      const details = { before, after: seconds, due_at: formatInstant(dueAt) };
      draft.audit(now, { event: 'retention.shortening_planned', ...by, subject: 'installation', details });
    });
    this.watch();
  }

  /** Takes back what waits; nothing happens where nothing does. */
  async takeBack(by: AuditActor): Promise<void> {
    await this.#options.accounts.change((draft) => this.#remove(draft, by));
  }

  /** Looks when the day is over, and shortens then: also one that ended while the server was down. */
  watch(): void {
    this.#timer.watch();
  }

  stop(): void {
    this.#timer.stop();
  }

  async #look(): Promise<void> {
    const { accounts, announce, clock, settings } = this.#options;
    const isDone = await accounts.change((draft) => {
      const pending = draft.document(pendings, INSTALLATION);
      const now = clock.now();
      // It may have been taken back while this change waited for its turn.
      if (pending === undefined || pending.dueAt > now) return false;
      const { requestedBy, seconds } = pending;
      draft.removeDocument(pendings, INSTALLATION);
      settings.put(draft, 'retention', { seconds }, requestedBy);
      const entry = { event: 'retention.shortened', actor: 'server', address: null, subject: 'installation' };
      draft.audit(now, { ...entry, details: { after: seconds, requested_by: requestedBy } });
      return true;
    });
    if (isDone) await announce();
  }

  #remove(draft: AccountsDraft, by: AuditActor): void {
    const pending = draft.document(pendings, INSTALLATION);
    if (pending === undefined) return;
    draft.removeDocument(pendings, INSTALLATION);
    const entry = { event: 'retention.shortening_taken_back', ...by, subject: 'installation' };
    draft.audit(this.#options.clock.now(), { ...entry, details: { before: pending.seconds } });
  }
}

/** Whether a time is shorter than another; undefined and null are for ever. */
function isShorter(after: unknown, before: unknown): boolean {
  return Number(after ?? Infinity) < Number(before ?? Infinity);
}
