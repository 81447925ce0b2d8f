/**
 * What a vendor token may call (VND-06, VND-08, VND-09, VND-15): reading what a route's author states as open or
 * de-personalised, and asking for a node's journal. Everything else is refused before its handler, before its body is
 * read, and into the audit trail.
 */
import { Refusal } from '#src/protocol/errors.ts';
import type { CredentialHeaders, VendorLedger } from '#src/identity/console/console-authentication.ts';
import type { Vendor } from '#src/identity/console/principal.ts';
import type { ConsoleRoute } from './route.ts';

/** The only POST that a vendor token is let through with. */
export const JOURNAL_ASK = 'post /nodes/:id/logs';

/** Areas that the contract closes as a whole. */
const CLOSED_AREAS = ['/identity/control'] as const;

/** Characters of a path in the audit trail: the longest there is has a tenth of it, what follows is a stranger's. */
const PATH_LENGTH_MAX = 512;

/** One request of a vendor, before anything of it but its head was read. */
export interface VendorRequest {
  /** As it arrived: `GET`. */
  readonly method: string;
  /** Without the query. */
  readonly path: string;
  /** The same below the console's prefix. */
  readonly below: string;
  /** Undefined where the path is none. */
  readonly route: ConsoleRoute | undefined;
  readonly address: string;
}

export class VendorGate {
  readonly #ledger: VendorLedger;

  constructor(ledger: VendorLedger) {
    this.#ledger = ledger;
  }

  /**
   * Lets a vendor's request through to its permission check, or not.
   * @throws Refusal `vendor_token_forbidden` for a method other than GET, except the journal ask, and a closed path.
   */
  async admit(vendor: Vendor, { method, path, below, route, address }: VendorRequest): Promise<void> {
    const isOpen = route === undefined ? method === 'GET' && !isClosedArea(below) : isOpenToVendors(route);
    if (isOpen) return await this.#ledger.used(vendor.id, path, address);
    await this.#ledger.refused(vendor.id, path, 'vendor_token_forbidden', address);
    throw new Refusal('vendor_token_forbidden');
  }
}

/** Whether a path is in an area that is closed whatever there is in it (VND-09): also what was never there. */
function isClosedArea(path: string): boolean {
  return CLOSED_AREAS.some((area) => path === area || path.startsWith(`${area}/`));
}

/** Whether a vendor token may call a route at all; its permission is another question. */
export function isOpenToVendors(route: ConsoleRoute): boolean {
  if (route.method !== 'get' && `${route.method} ${route.path}` !== JOURNAL_ASK) return false;
  return route.vendor === 'open' || route.vendor === 'depersonalised';
}

/** Whether a request shows a vendor token, in either of the headers that may carry one. */
export function showsVendorToken({ authorization, xAdminToken }: CredentialHeaders): boolean {
  return [authorization, xAdminToken].some((text) => text !== undefined && /(?:^|[\s,])svc_vst_/.test(text));
}

/** The path of a request for the audit trail, without its query. */
export function pathOf(url: string): string {
  return (url.split('?', 1)[0] as string).slice(0, PATH_LENGTH_MAX);
}
