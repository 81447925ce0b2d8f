/**
 * How long the audit trail is kept, and the copy that is made of it before anything goes. What goes leaves its last hash
 * behind, in the file and in the trail, so that the chain from an exported copy to the newest entry stays provable.
 *
 *     export:  anchor ─► entry ─► … ─► end          trail after a trim:  anchor ─► entry ─► … ─► audit.trimmed ─► …
 *                              hash ═══════════════ the same ═══════════ hash
 */
import { open, rm, type FileHandle } from 'node:fs/promises';
import type { Clock } from '#src/base/clock.ts';
import { Refusal } from '#src/protocol/errors.ts';
import type { AuditActor, AuditLink } from '#storage/accounts/audit-chain.ts';
import type { Accounts } from '#storage/accounts/accounts.ts';
import { defineCollection } from '#storage/accounts/collections.ts';
import type { Logger } from '#src/telemetry/logger.ts';
import type { AuditEvent } from './audit-events.ts';

/** The shortest time that entries are kept: a quarter, in which whoever is asked what happened still asks. */
export const AUDIT_DAYS_MIN = 90;
/** The longest that can be stated; for ever is null. */
export const AUDIT_DAYS_MAX = 3_650;

/** Entries of one commit of a trim, which takes 19 ms with its flush (2 busy cores, 2026-11-22), and of one chunk of an export. */
export const TRIM_STEP = 500;
const DAY_MILLIS = 86_400_000;
/** How often it is looked for entries whose time is over. */
const TRIMMED_MILLIS = 3_600_000;

const retention = defineCollection<{ readonly days: number | null }>('audit_retention', { version: 1 });
const INSTALLATION = 'installation';

export interface AuditArchiveOptions {
  readonly accounts: Accounts;
  readonly clock: Clock;
  readonly log: Pick<Logger, 'warn'>;
  /** Whether a legal hold is over everything: then nothing goes by its time. */
  readonly isHeld: () => boolean;
}

/** What an export is of. */
export interface ExportedTrail {
  readonly entries: number;
  /** Number and hash of the last entry that is in it. */
  readonly last: number;
  readonly hash: string;
}

export class AuditArchive {
  readonly #options: AuditArchiveOptions;
  #timer: NodeJS.Timeout | undefined;
  /** One trim at a time. */
  #trimming: Promise<number> | undefined;

  constructor(options: AuditArchiveOptions) {
    this.#options = options;
  }

  /** Days that entries are kept; null for ever. */
  get days(): number | null {
    return this.#options.accounts.document(retention, INSTALLATION)?.days ?? null;
  }

  /** Keeps entries for so many days from now on, or for ever. */
  async keep(days: number | null, by: AuditActor): Promise<void> {
    const { accounts, clock } = this.#options;
    await accounts.change((draft) => {
      const event: AuditEvent = 'audit.retention_changed';
      const before = draft.document(retention, INSTALLATION)?.days ?? null;
      draft.putDocument(retention, INSTALLATION, { days });
      draft.audit(clock.now(), { event, ...by, subject: null, details: { before, after: days } });
    });
  }

  /** Trims now and every hour. */
  start(): void {
    this.#timer ??= setInterval(() => void this.#trimQuietly(), TRIMMED_MILLIS).unref();
    void this.#trimQuietly();
  }

  /** Waits for the trim that is under way. */
  async stop(): Promise<void> {
    clearInterval(this.#timer);
    this.#timer = undefined;
    await this.#trimming?.catch(() => undefined);
  }

  /**
   * Takes away the entries whose time is over, and answers how many those were. The newest entry always stays.
   * @throws Refusal `busy`, `storage_full`; what is gone by then is gone, and its anchor stands.
   */
  async trim(): Promise<number> {
    this.#trimming ??= this.#trim().finally(() => {
      this.#trimming = undefined;
    });
    return await this.#trimming;
  }

  async #trim(): Promise<number> {
    const { accounts, clock, isHeld } = this.#options;
    const { days } = this;
    const before = days === null ? -Infinity : clock.now() - days * DAY_MILLIS;
    for (let gone = 0; ;) {
      if (days === null || isHeld()) return gone;
      const { number: head } = accounts.auditHead;
      const step = accounts.auditEntriesAfter(accounts.auditAnchor.number, TRIM_STEP);
      // Entries stand in the order of their writing: behind the first that is young enough, none goes.
      const young = step.findIndex(({ at, number }) => Date.parse(at) >= before || number === head);
      const over = young === -1 ? step : step.slice(0, young);
      const last = over.at(-1);
      if (last === undefined) return gone;
      await accounts.change((draft) => {
        const event: AuditEvent = 'audit.trimmed';
        draft.trimAudit(last.number);
        const details = { from: last.number - over.length + 1, through: last.number, hash: last.hash, days };
        draft.audit(clock.now(), { event, actor: 'server', address: null, subject: null, details });
      });
      gone += over.length;
    }
  }

  /**
   * Writes the whole trail as lines of JSON into a new file that its owner alone reads: the anchor it begins behind, its
   * entries, and its end, without which the copy is not whole. It is in the trail, and that entry in the copy.
   * @throws Refusal `field_invalid` when the file is there already or cannot be made; `busy`, `storage_full`.
   */
  async export(path: string, by: AuditActor): Promise<ExportedTrail> {
    const { accounts, clock } = this.#options;
    const file = await open(path, 'wx', 0o600).catch((error: unknown) => {
      const refusal = new Refusal('field_invalid', { field: 'out' });
      refusal.cause = error;
      throw refusal;
    });
    try {
      const event: AuditEvent = 'audit.exported';
      // Both in one change: the entry that tells of the trim which left this anchor lies before the export's own.
      const { anchor, number } = await accounts.change((draft) => {
        const { auditAnchor } = draft;
        const details = { from: auditAnchor.number + 1 };
        return { anchor: auditAnchor, ...draft.audit(clock.now(), { event, ...by, subject: null, details }) };
      });
      const exported = await this.#write(file, anchor, number);
      await file.sync();
      return exported;
    } catch (error) {
      await rm(path, { force: true });
      throw error;
    } finally {
      await file.close();
    }
  }

  async #write(file: FileHandle, anchor: AuditLink, end: number): Promise<ExportedTrail> {
    const { accounts } = this.#options;
    await file.write(line({ anchor }));
    const start = anchor.number;
    let [last, hash] = [start, anchor.hash];
    while (last < end) {
      const step = accounts.auditEntriesAfter(last, Math.min(TRIM_STEP, end - last));
      const [first, newest] = [step[0], step.at(-1)];
      // A trim that overtook the export would leave a hole in it.
      if (newest === undefined || first?.number !== last + 1) throw new Refusal('busy');
      await file.write(step.map(line).join(''));
      [last, hash] = [newest.number, newest.hash];
    }
    await file.write(line({ end: { number: last, hash, entries: last - start } }));
    return { entries: last - start, last, hash };
  }

  async #trimQuietly(): Promise<void> {
    await this.trim().catch((error: unknown) => this.#options.log.warn('the audit trail was not trimmed', { error }));
  }
}

function line(value: object): string {
  return `${JSON.stringify(value)}\n`;
}
