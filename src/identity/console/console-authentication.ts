/**
 * Who a request of the console comes from: the one place where a console credential becomes a principal.
 *
 *     X-Admin-Token or Bearer ─┬─ adm_…      a console session: a person, or the break-glass account
 *                              ├─ svc_vst_…  a vendor token
 *                              └─ the rest   token_invalid: a session of messaging, a bot, a node are nobody here
 */
import type { Clock } from '#src/base/clock.ts';
import { Refusal, type ErrorCode } from '#src/protocol/errors.ts';
import type { BreakGlass, ConsolePerson, Principal, Vendor } from './principal.ts';

/** What every vendor token begins with. */
export const VENDOR_TOKEN_START = 'svc_vst_';

/** The longest credential of the console, a vendor token, has 74 characters. Longer texts are refused unread. */
const TOKEN_LENGTH_MAX = 256;

/** The headers of a request that may carry a credential, as they arrived. */
export interface CredentialHeaders {
  readonly authorization?: string | undefined;
  readonly xAdminToken?: string | undefined;
}

/** Finds the principal of a console session. Throws the Refusal when there is none. */
export interface ConsoleSessionReader {
  read(token: string, address: string, nowMillis: number): ConsolePerson | BreakGlass;
}

/** Where uses and refusals of vendor tokens are kept (VND-13). */
export interface VendorLedger {
  /** A request was let in: last use and address always, the audit trail once an hour at most. */
  used(id: string, path: string, address: string): Promise<void>;
  /** A request was refused with this code, by the console unless it is said: always into the audit trail. */
  refused(id: string, path: string, code: ErrorCode, address: string, where?: 'console' | 'elsewhere'): Promise<void>;
}

/** What a vendor token proves. `id` is known also where the token is refused, so that the refusal can be audited. */
export type VendorVerdict =
  | { readonly vendor: Vendor; readonly refuse?: undefined }
  | {
      readonly refuse: 'vendor_token_invalid' | 'vendor_token_revoked' | 'vendor_token_expired';
      /** Undefined where no token has the id that the text names. */
      readonly id: string | undefined;
      readonly vendor?: undefined;
    };

export interface VendorTokenReader {
  judge(token: string, nowMillis: number): VendorVerdict;
}

export interface ConsoleAuthenticationOptions {
  readonly sessions: ConsoleSessionReader;
  readonly vendorTokens: VendorTokenReader;
  /** Where refused attempts are audited (VND-13). */
  readonly ledger: Pick<VendorLedger, 'refused'>;
  readonly clock: Clock;
}

export class ConsoleAuthentication {
  readonly #options: ConsoleAuthenticationOptions;

  constructor(options: ConsoleAuthenticationOptions) {
    this.#options = options;
  }

  /**
   * The principal of a request. `path` is that of the request without its query, for the audit trail. An attempt with
   * a vendor token that is wrong, revoked or expired is in the audit trail when this throws; one that names no token
   * is not, since any stranger could fill the trail with those.
   * @throws Refusal `token_missing`, `token_invalid`, `session_over`, `vendor_token_invalid`, `vendor_token_revoked`,
   * `vendor_token_expired`: all 401.
   */
  async authenticate(
    headers: CredentialHeaders,
    address: string,
    nowMillis: number = this.#options.clock.now(),
    path = '',
  ): Promise<Principal> {
    const { sessions, ledger, vendorTokens } = this.#options;
    const token = presentedToken(headers);
    if (token === undefined) throw new Refusal('token_missing');
    if (!token.startsWith(VENDOR_TOKEN_START)) return sessions.read(token, address, nowMillis);
    const verdict = vendorTokens.judge(token, nowMillis);
    if (verdict.vendor !== undefined) return verdict.vendor;
    if (verdict.id !== undefined) await ledger.refused(verdict.id, path, verdict.refuse, address);
    throw new Refusal(verdict.refuse);
  }
}

/**
 * The token that a request carries; undefined where it carries none. An `Authorization` of another scheme is not ours
 * to judge: a proxy in front may have its own.
 * @throws Refusal `token_invalid` for a malformed header, and for two tokens that differ: one of them would be
 * ignored, and the next reader could take the other.
 */
export function presentedToken({ authorization, xAdminToken }: CredentialHeaders): string | undefined {
  const bearer = bearerOf(authorization);
  const admin = xAdminToken === undefined || xAdminToken.trim() === '' ? undefined : xAdminToken.trim();
  if (bearer !== undefined && admin !== undefined && bearer !== admin) throw new Refusal('token_invalid');
  const token = admin ?? bearer;
  if (token !== undefined && !isToken(token)) throw new Refusal('token_invalid');
  return token;
}

function bearerOf(authorization: string | undefined): string | undefined {
  if (authorization === undefined || !/^bearer(?: |$)/i.test(authorization)) return undefined;
  const token = authorization.slice('bearer'.length).trim();
  // The word alone carries no token.
  return token === '' ? undefined : token;
}

/** Two headers of one name arrive joined by a comma, which no token has. */
function isToken(text: string): boolean {
  return text.length <= TOKEN_LENGTH_MAX && /^[\w.~+/=-]+$/.test(text);
}
