/**
 * The registry of nodes (NOD-01, NOD-02, CRD-06): hosts with a role, their tokens and their last health.
 *
 *     create ──join token, 24 h, once──► joined ──revoke──► revoked     (its token is 401 from that commit on)
 *        └──────────────revoke──────────────────────────────┘
 *
 * A host is who its node token says. What it reports of itself (hostname, version, system) is shown and never trusted.
 */
import { hashSecret, makeSecret, sameHash, SECRET_PATTERN } from '#src/identity/credentials/opaque-secrets.ts';
import type { Clock } from '#src/base/clock.ts';
import { makeId } from '#src/base/ids.ts';
import { formatInstant } from '#src/base/time.ts';
import { Refusal } from '#src/protocol/errors.ts';
import type { JoinNode, NodeHealth, NodeRole } from '#src/protocol/hosts/nodes.ts';
import type { AuditActor } from '#storage/accounts/audit-chain.ts';
import type { Accounts, AccountsDraft } from '#storage/accounts/accounts.ts';
import { defineCollection, type Entry } from '#storage/accounts/collections.ts';

/** How long a join command works: a day, which is time enough to reach the host. [join_token_used] */
export const JOIN_TOKEN_MILLIS = 24 * 3_600_000;

/** Nodes that are not revoked. A single-host installation has tens; a commit every 30 s of each stays cheap. [nodes_full] */
export const NODES_MAX = 1_000;

/** Revoked nodes that stay listed with who revoked them; the oldest goes first. The audit trail keeps all. */
export const REVOKED_NODES_KEPT_MAX = 200;

/** No health for so long and the node is silent: three reports of an agent are missing. */
export const NODE_SILENT_MILLIS = 90_000;

export interface NodeRecord {
  readonly name: string;
  readonly roles: readonly NodeRole[];
  readonly state: 'waiting' | 'joined' | 'revoked';
  /** RFC 3339, as all instants here. */
  readonly createdAt: string;
  readonly createdBy: string;
  /** The hash of the secret, and in milliseconds when it ends; undefined once it was used. */
  readonly join: { readonly hash: string; readonly expiresAt: number } | undefined;
  readonly tokenHash: string | undefined;
  readonly host: NodeHost | undefined;
  readonly joinedAt: string | undefined;
  readonly revokedAt: string | undefined;
  readonly revokedBy: string | undefined;
}

/** What a host said of itself when it joined. */
export interface NodeHost {
  readonly hostname: string;
  readonly agentVersion: string;
  readonly os: string;
  readonly address: string;
}

export interface HealthRecord {
  readonly receivedAt: string;
  readonly health: NodeHealth;
}

export const nodeRecords = defineCollection<NodeRecord>('nodes', { version: 1 });
const healthRecords = defineCollection<HealthRecord>('node_health', { version: 1 });

const NODE_TOKEN = new RegExp(`^node_(n_[0-9a-z]{22})_(${SECRET_PATTERN})$`);
const JOIN_TOKEN = new RegExp(`^join_(n_[0-9a-z]{22})_(${SECRET_PATTERN})$`);

export interface NodesOptions {
  readonly accounts: Accounts;
  readonly clock: Clock;
  /** What else goes with a node, in the commit that ends it. */
  readonly revoking: (draft: AccountsDraft, id: string) => void;
  /** Called when a node's end is on disk, before the caller is answered. */
  readonly revoked: (id: string) => void;
}

export class Nodes {
  readonly #options: NodesOptions;

  constructor(options: NodesOptions) {
    this.#options = options;
  }

  /**
   * Names a node; the join token works once, for a day, and is known to the answer alone.
   * @throws Refusal `node_name_taken`, `nodes_full`.
   */
  async create(
    form: { readonly name: string; readonly roles: readonly NodeRole[] },
    by: AuditActor,
  ): Promise<{ readonly id: string; readonly joinToken: string; readonly expiresAt: string }> {
    const { accounts, clock } = this.#options;
    const now = clock.now();
    const id = makeId('n', now);
    const secret = makeSecret();
    const expiresAt = now + JOIN_TOKEN_MILLIS;
    const { name, roles } = form;
    await accounts.change((draft) => {
      this.#assertFree(draft, name);
      const createdAt = formatInstant(now);
      draft.putDocument(nodeRecords, id, {
        name,
        roles,
        state: 'waiting',
        createdAt,
        createdBy: by.actor,
        join: { hash: hashSecret(secret), expiresAt },
        tokenHash: undefined,
        host: undefined,
        joinedAt: undefined,
        revokedAt: undefined,
        revokedBy: undefined,
      });
      draft.putDocument(nodeNames, nameKey(name), id);
      draft.putDocument(nodeTotals, 'live', (draft.document(nodeTotals, 'live') ?? 0) + 1);
      draft.audit(now, { event: 'node.created', ...by, subject: `node:${id}`, details: { name, roles } });
    });
    return { id, joinToken: `join_${id}_${secret}`, expiresAt: formatInstant(expiresAt) };
  }

  #assertFree(draft: AccountsDraft, name: string): void {
    if (draft.document(nodeNames, nameKey(name)) !== undefined) throw new Refusal('node_name_taken', { field: 'name' });
    if ((draft.document(nodeTotals, 'live') ?? 0) >= NODES_MAX) throw new Refusal('nodes_full');
  }

  /**
   * Exchanges a join token for a node token; of two who try at once, one gets it.
   * @throws Refusal `join_token_used` for one that was used, has expired, was revoked or never was.
   */
  async join(form: JoinNode, address: string): Promise<{ readonly id: string; readonly token: string }> {
    const { accounts, clock } = this.#options;
    const [, id, given] = JOIN_TOKEN.exec(form.join_token) ?? [];
    if (id === undefined || given === undefined) throw new Refusal('join_token_used');
    const secret = makeSecret();
    const now = clock.now();
    await accounts.change((draft) => {
      const record = draft.document(nodeRecords, id);
      const isOpen = record?.state === 'waiting' && record.join !== undefined && record.join.expiresAt > now;
      if (!isOpen || !sameHash(hashSecret(given), record.join.hash)) throw new Refusal('join_token_used');
      const host = { hostname: form.hostname, agentVersion: form.agent_version, os: form.os, address };
      draft.putDocument(nodeRecords, id, {
        ...record,
        state: 'joined',
        join: undefined,
        tokenHash: hashSecret(secret),
        host,
        joinedAt: formatInstant(now),
      });
      const details = { hostname: form.hostname, agent_version: form.agent_version, os: form.os };
      draft.audit(now, { event: 'node.joined', actor: `node:${id}`, address, subject: `node:${id}`, details });
    });
    return { id, token: `node_${id}_${secret}` };
  }

  /**
   * The joined node of a node token.
   * @throws Refusal `token_missing`; `token_invalid` for anything that is not the token of a node; `node_revoked`.
   */
  authenticate(token: string | undefined): Entry<NodeRecord> {
    if (token === undefined || token === '') throw new Refusal('token_missing');
    const [, id, given] = NODE_TOKEN.exec(token) ?? [];
    const document = id === undefined ? undefined : this.#options.accounts.document(nodeRecords, id);
    const hash = document?.tokenHash;
    if (id === undefined || given === undefined || document === undefined || hash === undefined)
      throw new Refusal('token_invalid');
    if (!sameHash(hashSecret(given), hash)) throw new Refusal('token_invalid');
    // Only whoever holds the token reads that the host was revoked.
    if (document.state !== 'joined') throw new Refusal('node_revoked');
    return { id, document };
  }

  /** Ends a node at once, joined or waiting. Its health goes with it. @throws Refusal `node_not_found`. */
  async revoke(id: string, by: AuditActor): Promise<void> {
    const { accounts, clock, revoked, revoking } = this.#options;
    const now = clock.now();
    const dropped = this.#revokedBeyond(REVOKED_NODES_KEPT_MAX - 1);
    await accounts.change((draft) => {
      const record = draft.document(nodeRecords, id);
      if (record === undefined || record.state === 'revoked') throw new Refusal('node_not_found');
      const { name, roles, state } = record;
      draft.putDocument(nodeRecords, id, {
        ...record,
        state: 'revoked',
        join: undefined,
        revokedAt: formatInstant(now),
        revokedBy: by.actor,
      });
      draft.removeDocument(nodeNames, nameKey(name));
      draft.removeDocument(healthRecords, id);
      draft.putDocument(nodeTotals, 'live', Math.max(0, (draft.document(nodeTotals, 'live') ?? 1) - 1));
      revoking(draft, id);
      for (const old of dropped) draft.removeDocument(nodeRecords, old);
      draft.audit(now, {
        event: 'node.revoked',
        ...by,
        subject: `node:${id}`,
        details: { name, roles, prior_state: state, state: 'revoked' },
      });
    });
    revoked(id);
  }

  /** Revoked nodes beyond the newest `kept`, the oldest end first. */
  #revokedBeyond(kept: number): string[] {
    const ended = this.all().filter(({ document }) => document.state === 'revoked');
    const newest = ended.toSorted((a, b) => ((a.document.revokedAt ?? '') < (b.document.revokedAt ?? '') ? 1 : -1));
    return newest.slice(kept).map(({ id }) => id);
  }

  /** @throws Refusal `node_not_found`, also for a node that was revoked when `isLive` is asked for. */
  node(id: string, { isLive = false } = {}): NodeRecord {
    const record = this.#options.accounts.document(nodeRecords, id);
    if (record === undefined || (isLive && record.state === 'revoked')) throw new Refusal('node_not_found');
    return record;
  }

  /** Nodes in the order in which they were made, behind the id `after`. */
  page(after: string | undefined, limit: number): Entry<NodeRecord>[] {
    return this.#options.accounts.documents(nodeRecords, { ...(after === undefined ? {} : { after }), limit });
  }

  all(): Entry<NodeRecord>[] {
    return this.#options.accounts.documents(nodeRecords);
  }

  /** How many nodes are not revoked. */
  get count(): number {
    return this.#options.accounts.document(nodeTotals, 'live') ?? 0;
  }

  /** Stores a node's health; the last one counts. @throws Refusal `node_revoked`. */
  async putHealth(id: string, health: NodeHealth): Promise<void> {
    const { accounts, clock } = this.#options;
    const receivedAt = formatInstant(clock.now());
    await accounts.change((draft) => {
      assertJoined(draft, id);
      draft.putDocument(healthRecords, id, { receivedAt, health });
    });
  }

  /** The last health; undefined while there is none. */
  health(id: string): HealthRecord | undefined {
    return this.#options.accounts.document(healthRecords, id);
  }

  /** Whether the node has said nothing for longer than NODE_SILENT_MILLIS, counted from its joining or `since`. */
  isSilent(entry: Entry<NodeRecord>, since: number): boolean {
    const { id, document } = entry;
    if (document.state !== 'joined') return false;
    const heard = Date.parse(this.health(id)?.receivedAt ?? document.joinedAt ?? '');
    return this.#options.clock.now() - Math.max(heard, since) > NODE_SILENT_MILLIS;
  }
}

/** Name in lower case → id, so that of two hosts with one name the second is refused. */
const nodeNames = defineCollection<string>('node_names', { version: 1 });
/** `live` → how many nodes are not revoked. */
const nodeTotals = defineCollection<number>('node_totals', { version: 1 });

/** Refuses a change for a node that was revoked while its request was under way. @throws Refusal `node_revoked`. */
export function assertJoined(draft: AccountsDraft, id: string): void {
  if (draft.document(nodeRecords, id)?.state !== 'joined') throw new Refusal('node_revoked');
}

function nameKey(name: string): string {
  return name.toLowerCase();
}
