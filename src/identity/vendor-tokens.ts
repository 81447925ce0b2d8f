/**
 * Vendor support tokens (VND-01…05): issued and revoked by an owner, shown once, stored hashed, judged at every request
 * against what is on disk.
 *
 *     issued ──► active ──term over──► expired
 *                   └─────revoke─────► revoked      (the row stays, with who and when)
 */
import { hashSecret, makeSecret, sameHash, SECRET_PATTERN } from './credentials/opaque-secrets.ts';
import { unixSeconds, type Clock } from '#src/base/clock.ts';
import { makeId } from '#src/base/ids.ts';
import { formatInstant } from '#src/base/time.ts';
import type { VendorTokenReader, VendorVerdict } from './console/console-authentication.ts';
import { actorOf, type Principal } from './console/principal.ts';
import { Refusal } from '#src/protocol/errors.ts';
import type { Accounts } from '#storage/accounts/accounts.ts';
import { defineCollection } from '#storage/accounts/collections.ts';
import { vendorTokenUses } from './vendor-token-use.ts';

/** Whom tokens are issued to. The first is who gets one when nobody is named. */
export const VENDORS = ['parley', 'integrator', 'hosting'] as const;
export type VendorName = (typeof VENDORS)[number];

/** The term of a token: one year to three, and no extension. */
export const TERM_DAYS_MIN = 365;
export const TERM_DAYS_MAX = 1095;

const DAY_SECONDS = 86_400;

/** `<id>`: an id without its prefix, which the shape of the token says already. */
const ID = '[0-9abcdefghjkmnpqrstvwxyz]{22}';
const TOKEN = new RegExp(`^svc_vst_(${ID})_(${SECRET_PATTERN})$`);

/** What a wrong secret of an unknown token is compared with, so that it costs what one of a known token does. */
const NO_HASH = hashSecret('');

export interface VendorTokenRecord {
  readonly name: string;
  readonly vendor: VendorName;
  readonly purpose: string;
  readonly termDays: number;
  /** SHA-256 of the secret, hex. */
  readonly hash: string;
  /** Actor of the audit trail. */
  readonly issuedBy: string;
  /** Unix seconds. */
  readonly issuedAt: number;
  /** Unix seconds from which it is expired. */
  readonly expiresAt: number;
  readonly revokedBy: string | null;
  /** Unix seconds. */
  readonly revokedAt: number | null;
}

const vendorTokens = defineCollection<VendorTokenRecord>('vendor_tokens', { version: 1 });

export type VendorTokenState = 'active' | 'revoked' | 'expired';

/** A token as the console lists it; instants are RFC 3339. */
export interface ListedVendorToken {
  readonly id: string;
  readonly name: string;
  readonly vendor: VendorName;
  readonly purpose: string;
  readonly term_days: number;
  readonly issued_by: string;
  readonly issued_at: string;
  readonly expires_at: string;
  readonly state: VendorTokenState;
  readonly revoked_by: string | null;
  readonly revoked_at: string | null;
  readonly last_used_at: string | null;
  readonly last_used_address: string | null;
}

export interface IssueVendorToken {
  readonly name: string;
  readonly vendor: VendorName;
  readonly purpose: string;
  readonly term_days: number;
}

export interface VendorTokensOptions {
  readonly accounts: Accounts;
  readonly clock: Clock;
}

export class VendorTokens implements VendorTokenReader {
  readonly #options: VendorTokensOptions;

  constructor(options: VendorTokensOptions) {
    this.#options = options;
  }

  /**
   * Issues a token; its text is in the answer and never shown again.
   * @throws Refusal `right_missing` for anybody but a fully signed-in owner: the break-glass account too (VND-01).
   */
  async issue(
    principal: Principal,
    form: IssueVendorToken,
    address: string,
  ): Promise<{ token: string; record: ListedVendorToken }> {
    const { accounts, clock } = this.#options;
    assertFullOwner(principal);
    const secret = makeSecret();
    const now = clock.now();
    const id = makeId('vst', now).slice('vst_'.length);
    const issuedAt = unixSeconds(now);
    const record: VendorTokenRecord = {
      name: form.name,
      vendor: form.vendor,
      purpose: form.purpose,
      termDays: form.term_days,
      hash: hashSecret(secret),
      issuedBy: actorOf(principal),
      issuedAt,
      expiresAt: issuedAt + form.term_days * DAY_SECONDS,
      revokedBy: null,
      revokedAt: null,
    };
    await accounts.change((draft) => {
      draft.putDocument(vendorTokens, id, record);
      draft.audit(now, {
        event: 'vendor_token.issued',
        actor: record.issuedBy,
        address,
        subject: `vendor:${id}`,
        details: { name: form.name, vendor: form.vendor, purpose: form.purpose, term_days: form.term_days },
      });
    });
    return { token: `svc_vst_${id}_${secret}`, record: this.#listed(id, record) };
  }

  /**
   * Ends a token's access at once.
   * @throws Refusal `right_missing` for anybody but a fully signed-in owner and the break-glass account, which is for
   * when no owner can come; `vendor_token_not_found`, `vendor_token_not_active`.
   */
  async revoke(principal: Principal, id: string, address: string): Promise<ListedVendorToken> {
    const { accounts, clock } = this.#options;
    if (principal.kind !== 'break_glass') assertFullOwner(principal);
    const revoked = await accounts.change((draft) => {
      const now = clock.now();
      const record = draft.document(vendorTokens, id);
      if (record === undefined) throw new Refusal('vendor_token_not_found');
      if (stateOf(record, now) !== 'active') throw new Refusal('vendor_token_not_active');
      const after = { ...record, revokedBy: actorOf(principal), revokedAt: unixSeconds(now) };
      draft.putDocument(vendorTokens, id, after);
      draft.audit(now, {
        event: 'vendor_token.revoked',
        actor: actorOf(principal),
        address,
        subject: `vendor:${id}`,
        details: { name: record.name, vendor: record.vendor, purpose: record.purpose },
      });
      return after;
    });
    return this.#listed(id, revoked);
  }

  /** Tokens in the order in which they were issued, behind the id `after`: never a secret, never a hash. */
  list(after: string | undefined, limit: number): { items: ListedVendorToken[]; next: string | null } {
    const page = after === undefined ? { limit } : { after, limit };
    const found = this.#options.accounts.documents(vendorTokens, page);
    const items = found.map(({ id, document }) => this.#listed(id, document));
    return { items, next: found.length < limit ? null : (found.at(-1)?.id ?? null) };
  }

  /** The record of one token as the list has it; undefined where there is none. */
  record(id: string): ListedVendorToken | undefined {
    const document = this.#options.accounts.document(vendorTokens, id);
    return document === undefined ? undefined : this.#listed(id, document);
  }

  /** What a text that begins like a vendor token proves. A wrong secret is told nothing of the token's state. */
  judge(token: string, nowMillis: number): VendorVerdict {
    const [, id, secret] = TOKEN.exec(token) ?? [];
    if (id === undefined || secret === undefined) return { refuse: 'vendor_token_invalid', id: undefined };
    const record = this.#options.accounts.document(vendorTokens, id);
    const isRight = sameHash(hashSecret(secret), record?.hash ?? NO_HASH);
    if (record === undefined) return { refuse: 'vendor_token_invalid', id: undefined };
    if (!isRight) return { refuse: 'vendor_token_invalid', id };
    const state = stateOf(record, nowMillis);
    return state === 'active'
      ? { vendor: { kind: 'vendor', id, role: 'vendor_support' } }
      : { refuse: `vendor_token_${state}`, id };
  }

  #listed(id: string, record: VendorTokenRecord): ListedVendorToken {
    const use = this.#options.accounts.document(vendorTokenUses, id);
    return {
      id,
      name: record.name,
      vendor: record.vendor,
      purpose: record.purpose,
      term_days: record.termDays,
      issued_by: record.issuedBy,
      issued_at: formatInstant(record.issuedAt * 1000),
      expires_at: formatInstant(record.expiresAt * 1000),
      state: stateOf(record, this.#options.clock.now()),
      revoked_by: record.revokedBy,
      revoked_at: record.revokedAt === null ? null : formatInstant(record.revokedAt * 1000),
      last_used_at: use === undefined ? null : formatInstant(use.usedAt),
      last_used_address: use?.address ?? null,
    };
  }
}

/** A token is active before the second in which its term ends, and expired from that second on. */
function stateOf(record: VendorTokenRecord, nowMillis: number): VendorTokenState {
  if (record.revokedAt !== null) return 'revoked';
  return unixSeconds(nowMillis) < record.expiresAt ? 'active' : 'expired';
}

function assertFullOwner(principal: Principal): void {
  const isFullOwner = principal.kind === 'person' && principal.role === 'owner' && principal.isFull;
  if (!isFullOwner) throw new Refusal('right_missing');
}
