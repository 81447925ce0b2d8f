/**
 * Use of vendor tokens (VND-13): the last use and its address, kept with every request; in the audit trail once an
 * hour per token, which holds across restarts because the hour is kept where the use is; and every refusal, a flood of
 * them by its count.
 */
import type { Clock } from '#src/base/clock.ts';
import type { VendorLedger } from './console/console-authentication.ts';
import type { ErrorCode } from '#src/protocol/errors.ts';
import type { Accounts } from '#storage/accounts/accounts.ts';
import { defineCollection } from '#storage/accounts/collections.ts';
import type { Logger } from '#src/telemetry/logger.ts';

/** A use within this time of the last one that was audited is not audited. */
export const USE_AUDITED_MILLIS = 3_600_000;

/** Uses from one address are stored at most this often: a flush for every read would be waste. */
export const USE_STORED_MILLIS = 60_000;

/**
 * Refusals of one token with one code, in the console and elsewhere each, that have an entry of their own within a
 * minute; the ones beyond it share one, which counts them. So what is tried elsewhere hides nothing that is tried here.
 */
export const REFUSALS_AUDITED_PER_MINUTE = 30;
const MINUTE_MILLIS = 60_000;

/** A minute of refusals of one token. */
interface RefusedMinute {
  readonly since: number;
  count: number;
}

export interface VendorTokenUseRecord {
  /** Milliseconds of the last use. */
  readonly usedAt: number;
  readonly address: string;
  /** Milliseconds of the last use that is in the audit trail. */
  readonly auditedAt: number;
}

export const vendorTokenUses = defineCollection<VendorTokenUseRecord>('vendor_token_uses', { version: 1 });

export interface VendorTokenUseOptions {
  readonly accounts: Accounts;
  readonly clock: Clock;
  readonly log: Pick<Logger, 'warn'>;
}

export class VendorTokenUse implements VendorLedger {
  readonly #options: VendorTokenUseOptions;
  /** Token id, code and whether it was the console → the minute. There are a handful for each token. */
  readonly #minutes = new Map<string, RefusedMinute>();

  constructor(options: VendorTokenUseOptions) {
    this.#options = options;
  }

  /**
   * A request was let in. Resolves when the use is in the audit trail, if it is this one's turn: what nobody could
   * know of is not served. @throws Refusal `storage_full`, `busy`, only when it is.
   */
  async used(id: string, path: string, address: string): Promise<void> {
    const { accounts, clock, log } = this.#options;
    const now = clock.now();
    const before = accounts.document(vendorTokenUses, id);
    if (before === undefined || auditedOf(before, now) === undefined) {
      return await this.#store(id, path, address, now);
    }
    if (before.address === address && isWithin(now, before.usedAt, USE_STORED_MILLIS)) return;
    this.#store(id, path, address, now).catch((error: unknown) => {
      log.warn('the use of a vendor token was not stored', { error });
    });
  }

  /**
   * A request was refused: always in the audit trail, by an entry of its own or, beyond REFUSALS_AUDITED_PER_MINUTE, in
   * the one that counts the rest of the minute.
   */
  async refused(
    id: string,
    path: string,
    code: ErrorCode,
    address: string,
    where: 'console' | 'elsewhere' = 'console',
  ): Promise<void> {
    const now = this.#options.clock.now();
    const name = `${id} ${code} ${where}`;
    let minute = this.#minutes.get(name);
    if (minute === undefined || !isWithin(now, minute.since, MINUTE_MILLIS)) {
      minute = { since: now, count: 0 };
      this.#minutes.set(name, minute);
    }
    minute.count += 1;
    if (minute.count <= REFUSALS_AUDITED_PER_MINUTE) return await this.#auditRefusal(id, address, { path, code });
    if (minute.count === REFUSALS_AUDITED_PER_MINUTE + 1) this.#sumUpLater(id, minute, { path, code }, address);
  }

  /** Path, code and address of the sum are those of the first refusal that is in it. */
  #sumUpLater(id: string, minute: RefusedMinute, first: { path: string; code: ErrorCode }, address: string): void {
    const sumUp = async () => {
      const count = minute.count - REFUSALS_AUDITED_PER_MINUTE;
      await this.#auditRefusal(id, address, { ...first, count });
    };
    setTimeout(() => {
      sumUp().catch((error: unknown) => {
        this.#options.log.warn('refusals of a vendor token were not stored', { error });
      });
    }, MINUTE_MILLIS).unref();
  }

  async #auditRefusal(
    id: string,
    address: string,
    details: { readonly path: string; readonly code: ErrorCode; readonly count?: number },
  ): Promise<void> {
    const { accounts, clock } = this.#options;
    const by = { actor: `vendor:${id}`, address, subject: `vendor:${id}` };
    await accounts.change((draft) => {
      draft.audit(clock.now(), { event: 'vendor_token.refused', ...by, details: { ...details } });
    });
  }

  async #store(id: string, path: string, address: string, now: number): Promise<void> {
    await this.#options.accounts.change((draft) => {
      // Judged on the draft: of requests that arrive together, the first is the hour's.
      const auditedAt = auditedOf(draft.document(vendorTokenUses, id), now);
      draft.putDocument(vendorTokenUses, id, { usedAt: now, address, auditedAt: auditedAt ?? now });
      if (auditedAt !== undefined) return;
      draft.audit(now, {
        event: 'vendor_token.used',
        actor: `vendor:${id}`,
        address,
        subject: `vendor:${id}`,
        details: { path },
      });
    });
  }
}

/** When the use of this hour was audited; undefined when the next one is to be. */
function auditedOf(use: VendorTokenUseRecord | undefined, now: number): number | undefined {
  return use !== undefined && isWithin(now, use.auditedAt, USE_AUDITED_MILLIS) ? use.auditedAt : undefined;
}

/** A clock that was set back by more than the time itself must not silence what comes after. */
function isWithin(now: number, then: number, millis: number): boolean {
  return Math.abs(now - then) < millis;
}
