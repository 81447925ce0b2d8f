/**
 * Refused requests that showed a vendor token, told to the main thread (VND-13), which knows the tokens and has the audit
 * trail.
 */
import { monotonicMillis } from '#actors/runtime/monotonic.ts';
import { shownVendorToken, type ShownVendorToken } from '#src/protocol/sessions/shown-vendor-token.ts';
import type { RequestHead } from '../http/request-head.ts';

/** Tokens told of in a second; a flood beyond it is of somebody who guesses, and costs the main thread nothing. */
export const VENDOR_TOKENS_NOTED_PER_SECOND = 50;
const SECOND_MILLIS = 1_000;
const REFUSED_FROM = 400;

export class VendorTokenWatch {
  readonly #tell: (shown: ShownVendorToken) => void;
  #since = -SECOND_MILLIS;
  #told = 0;

  constructor(tell: (shown: ShownVendorToken) => void) {
    this.#tell = tell;
  }

  /** The token that a request shows in its headers or, as a handshake may, in its query or `protocols`; of most, none. */
  look(
    { adminToken, authorization, path, query }: RequestHead,
    address: () => string,
    protocols = '',
  ): ShownVendorToken | undefined {
    const shown = shownVendorToken([authorization, adminToken, query, protocols], path, '');
    return shown === undefined ? undefined : { ...shown, address: address() };
  }

  /** The request that showed it was answered with this status. */
  answered(shown: ShownVendorToken | undefined, status: number): void {
    if (shown === undefined || status < REFUSED_FROM) return;
    const now = monotonicMillis();
    if (now - this.#since >= SECOND_MILLIS) [this.#since, this.#told] = [now, 0];
    if (this.#told >= VENDOR_TOKENS_NOTED_PER_SECOND) return;
    this.#told += 1;
    this.#tell(shown);
  }
}
