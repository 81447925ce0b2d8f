/**
 * Refusals of vendor tokens into the audit trail (VND-13), of all listeners, and no more of them than a trail can bear:
 * who knows a token's id may come with it as often as they like.
 */
import type { Clock } from '#src/base/clock.ts';
import type { ShownVendorToken } from '#src/protocol/sessions/shown-vendor-token.ts';
import type { Logger } from '#src/telemetry/logger.ts';
import type { VendorLedger, VendorTokenReader } from './console/console-authentication.ts';

export interface VendorRefusalsOptions {
  readonly tokens: VendorTokenReader;
  readonly ledger: Pick<VendorLedger, 'refused'>;
  readonly clock: Clock;
  readonly log: Pick<Logger, 'warn'>;
}

export class VendorRefusals {
  readonly #options: VendorRefusalsOptions;

  constructor(options: VendorRefusalsOptions) {
    this.#options = options;
  }

  /**
   * Writes down that a token was refused where none is taken. The code in the trail is what the token itself would be
   * refused with; whoever asked was answered as with any credential that is none there. A token whose id is nobody's is
   * not written down.
   */
  note({ token, path, address }: ShownVendorToken): void {
    const { clock, ledger, log, tokens } = this.#options;
    const verdict = tokens.judge(token, clock.now());
    const [id, code] =
      verdict.vendor === undefined
        ? [verdict.id, verdict.refuse]
        : [verdict.vendor.id, 'vendor_token_forbidden' as const];
    if (id === undefined) return;
    ledger.refused(id, path, code, address, 'elsewhere').catch((error: unknown) => {
      log.warn('the refusal of a vendor token was not stored', { error });
    });
  }
}
