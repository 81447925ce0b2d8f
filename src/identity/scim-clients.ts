/**
 * Clients that provision people over SCIM (RFC 7644): each is made by an owner and has one bearer token, which is shown
 * once and kept as a hash. Its people and groups are those that it made and those that an owner handed to it.
 */
import type { Clock } from '#src/base/clock.ts';
import { makeId } from '#src/base/ids.ts';
import { formatInstant } from '#src/base/time.ts';
import { Refusal } from '#src/protocol/errors.ts';
import type { Accounts, AccountsDraft, AccountsReader } from '#storage/accounts/accounts.ts';
import { defineCollection } from '#storage/accounts/collections.ts';
import type { AuditActor } from '#storage/accounts/audit-chain.ts';
import type { Logger } from '#src/telemetry/logger.ts';
import { hashSecret, makeSecret, sameHash, SECRET_PATTERN } from './credentials/opaque-secrets.ts';

/** Clients of an installation: an identity provider or two, and those before them. [scim_clients_full] */
export const SCIM_CLIENTS_MAX = 20;

/** People whom one client may have, until its owner says otherwise, and at most. [scim_people_full] */
export const SCIM_PEOPLE_DEFAULT = 10_000;
export const SCIM_PEOPLE_MAX = 200_000;

const TOKEN = new RegExp(`^(scim_[0-9abcdefghjkmnpqrstvwxyz]{22})_(${SECRET_PATTERN})$`);

/** What a wrong secret of an unknown client is compared with, so that it costs what one of a known client does. */
const NO_HASH = hashSecret('');

/** A use is written down once in this time from one address. */
const USE_NOTED_MILLIS = 60_000;

/** Before the id of a client, in the issuer that its people are bound to; no provider's issuer begins so. */
const ISSUER_PREFIX = 'scim:';

interface ScimClientRecord {
  readonly name: string;
  readonly peopleMax: number;
  /** SHA-256 of the token's secret, hex; null where a restore ended it. */
  readonly tokenHash: string | null;
  /** RFC 3339. */
  readonly tokenMadeAt: string;
  readonly createdAt: string;
  /** Actor of the audit trail. */
  readonly createdBy: string;
}

interface ScimUse {
  /** Milliseconds. */
  readonly at: number;
  readonly address: string;
}

const scimClients = defineCollection<ScimClientRecord>('scim_clients', { version: 1 });
/** `clients`, or the id of a client → how many there are, or how many people it has. */
const scimTotals = defineCollection<number>('scim_totals', { version: 1 });
const scimUses = defineCollection<ScimUse>('scim_client_uses', { version: 1 });

/** A client whose token was shown. */
export interface ScimClient {
  readonly id: string;
  readonly peopleMax: number;
  /** What its people are bound to. */
  readonly issuer: string;
}

/** A client as the console lists it; instants are RFC 3339. */
export interface ListedScimClient {
  readonly id: string;
  readonly name: string;
  readonly people_max: number;
  readonly state: 'active' | 'token_ended';
  readonly created_at: string;
  readonly created_by: string;
  readonly token_made_at: string;
  readonly last_used_at: string | null;
  readonly last_used_address: string | null;
}

export interface ScimClientsOptions {
  readonly accounts: Accounts;
  readonly clock: Clock;
  readonly log: Pick<Logger, 'warn'>;
}

/** What the people of a client are bound to. */
export function issuerOfScimClient(id: string): string {
  return `${ISSUER_PREFIX}${id}`;
}

/** Whether an issuer is a client that is there: what one that was removed had is this server's own again. */
export function isScimClient(view: Pick<AccountsReader, 'document'>, issuer: string): boolean {
  if (!issuer.startsWith(ISSUER_PREFIX)) return false;
  return view.document(scimClients, issuer.slice(ISSUER_PREFIX.length)) !== undefined;
}

/** Counts one more, as part of a change. @throws Refusal `scim_clients_full`, `scim_people_full`. */
export function countOne(
  draft: AccountsDraft,
  what: string,
  most: number,
  code: 'scim_clients_full' | 'scim_people_full',
): void {
  const total = draft.document(scimTotals, what) ?? 0;
  if (total >= most) throw new Refusal(code);
  draft.putDocument(scimTotals, what, total + 1);
}

export function countOneLess(draft: AccountsDraft, what: string): void {
  const total = draft.document(scimTotals, what) ?? 0;
  if (total > 0) draft.putDocument(scimTotals, what, total - 1);
}

export class ScimClients {
  readonly #options: ScimClientsOptions;

  constructor(options: ScimClientsOptions) {
    this.#options = options;
  }

  /** Makes a client; its token is in the answer and never shown again. @throws Refusal `scim_clients_full`. */
  async create(
    form: { readonly name: string; readonly people_max: number },
    by: AuditActor,
  ): Promise<{ readonly token: string; readonly client: ListedScimClient }> {
    const { accounts, clock } = this.#options;
    const now = clock.now();
    const id = makeId('scim', now);
    const secret = makeSecret();
    const at = formatInstant(now);
    const { name, people_max: peopleMax } = form;
    const record = {
      name,
      peopleMax,
      tokenHash: hashSecret(secret),
      tokenMadeAt: at,
      createdAt: at,
      createdBy: by.actor,
    };
    await accounts.change((draft) => {
      countOne(draft, 'clients', SCIM_CLIENTS_MAX, 'scim_clients_full');
      draft.putDocument(scimClients, id, record);
      const details = { name, people_max: peopleMax };
      draft.audit(now, { event: 'scim_client.created', ...by, subject: `scim:${id}`, details });
    });
    return { token: `${id}_${secret}`, client: this.#listed(id, record) };
  }

  /** Gives a client another token in place of the one before. @throws Refusal `scim_client_not_found`. */
  async renew(id: string, by: AuditActor): Promise<{ readonly token: string; readonly client: ListedScimClient }> {
    const { accounts, clock } = this.#options;
    const secret = makeSecret();
    const now = clock.now();
    const record = await accounts.change((draft) => {
      const before = draft.document(scimClients, id);
      if (before === undefined) throw new Refusal('scim_client_not_found');
      const after = { ...before, tokenHash: hashSecret(secret), tokenMadeAt: formatInstant(now) };
      draft.putDocument(scimClients, id, after);
      draft.audit(now, {
        event: 'scim_client.token_made',
        ...by,
        subject: `scim:${id}`,
        details: { name: before.name },
      });
      return after;
    });
    return { token: `${id}_${secret}`, client: this.#listed(id, record) };
  }

  /** Ends a client with its token. Its people and groups stay as they are. @throws Refusal `scim_client_not_found`. */
  async remove(id: string, by: AuditActor): Promise<void> {
    const { accounts, clock } = this.#options;
    await accounts.change((draft) => {
      const before = draft.document(scimClients, id);
      if (before === undefined) throw new Refusal('scim_client_not_found');
      draft.removeDocument(scimClients, id);
      draft.removeDocument(scimUses, id);
      draft.removeDocument(scimTotals, id);
      countOneLess(draft, 'clients');
      const details = { name: before.name };
      draft.audit(clock.now(), { event: 'scim_client.removed', ...by, subject: `scim:${id}`, details });
    });
  }

  list(): ListedScimClient[] {
    return this.#options.accounts.documents(scimClients).map(({ id, document }) => this.#listed(id, document));
  }

  /** @throws Refusal `scim_client_not_found`. */
  client(id: string): ScimClient {
    const record = this.#options.accounts.document(scimClients, id);
    if (record === undefined) throw new Refusal('scim_client_not_found');
    return { id, peopleMax: record.peopleMax, issuer: issuerOfScimClient(id) };
  }

  /** The client whose token this is. @throws Refusal `token_missing`, `token_invalid`. */
  authenticate(token: string | undefined, address: string): ScimClient {
    if (token === undefined || token === '') throw new Refusal('token_missing');
    const [, id = '', secret = ''] = TOKEN.exec(token) ?? [];
    const record = id === '' ? undefined : this.#options.accounts.document(scimClients, id);
    const isRight = sameHash(hashSecret(secret), record?.tokenHash ?? NO_HASH);
    if (record === undefined || record.tokenHash === null || !isRight) throw new Refusal('token_invalid');
    this.#noteUse(id, address);
    return { id, peopleMax: record.peopleMax, issuer: issuerOfScimClient(id) };
  }

  #noteUse(id: string, address: string): void {
    const { accounts, clock, log } = this.#options;
    const now = clock.now();
    const last = accounts.document(scimUses, id);
    if (last !== undefined && last.address === address && now - last.at < USE_NOTED_MILLIS) return;
    const noted = accounts.change((draft) => {
      if (draft.document(scimClients, id) !== undefined) draft.putDocument(scimUses, id, { at: now, address });
    });
    noted.catch((error: unknown) => log.warn('the use of a provisioning token could not be stored', { error }));
  }

  #listed(id: string, record: ScimClientRecord): ListedScimClient {
    const use = this.#options.accounts.document(scimUses, id);
    return {
      id,
      name: record.name,
      people_max: record.peopleMax,
      state: record.tokenHash === null ? 'token_ended' : 'active',
      created_at: record.createdAt,
      created_by: record.createdBy,
      token_made_at: record.tokenMadeAt,
      last_used_at: use === undefined ? null : formatInstant(use.at),
      last_used_address: use?.address ?? null,
    };
  }
}
