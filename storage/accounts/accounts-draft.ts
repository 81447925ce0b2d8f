/**
 * The draft of a change to the accounts file: reads what is on disk and what the changes before it decided, and holds
 * what this one writes.
 */
import { formatInstant } from '#src/base/time.ts';
import {
  devicesRecord,
  invitationRecord,
  personRecord,
  revocationRecord,
  type DeviceRecord,
  type InvitationRecord,
  type PersonRecord,
  type Revocation,
} from './account-records.ts';
import {
  AccountsView,
  AUDIT_ANCHOR,
  AUDIT_HEAD,
  auditAnchorRecord,
  auditRecord,
  DIRECTORY_REV,
  DOCUMENT_ID,
  OWNER_MADE,
  type AccountTable,
  type AccountTables,
  type AccountWrite,
} from './accounts-reader.ts';
import { ERASED_EVENT, nextAuditEntry, remainsHash, type AuditEntry, type AuditForm } from './audit-chain.ts';
import { documentKey, type Collection } from './collections.ts';
import { key, numbered, numberValue } from '../engine/keys.ts';
import { KEY_RINGS, RINGLESS, signingKeysRecord, type KeyRingName, type SigningKeys } from './signing-keys.ts';

/**
 * Secrets of the installation, made at first use, 32 random bytes each: what the key of web pushes is made from; what seals the
 * links of meetings; and what ids are derived with, which grants nothing.
 */
export const SECRET_NAMES = ['push_key', 'meeting_key', 'installation_key'] as const;
export type SecretName = (typeof SECRET_NAMES)[number];

/**
 * What is in no backup: whoever has one of these could act in the live server's name. A restored folder makes new ones, which
 * also ends every session and link of before. Those of a single key are of folders before there were rings.
 */
export const SIGNING_SECRETS = ['push_key', 'meeting_key', ...KEY_RINGS, ...Object.values(RINGLESS)] as const;
export const SECRET_BYTES = 32;

/** What one change reads and writes. It sees the changes decided before it in the same commit. */
export class AccountsDraft extends AccountsView {
  /** `table/key` → the last write to it. */
  readonly #writes: Map<string, AccountWrite>;

  constructor(before: ReadonlyMap<string, AccountWrite>, tables: AccountTables) {
    const writes = new Map<string, AccountWrite>();
    super((table, itemKey) => {
      const name = nameOf(table, itemKey);
      const pending = writes.get(name) ?? before.get(name);
      return pending === undefined ? tables[table].get(itemKey) : (pending.value ?? undefined);
    });
    this.#writes = writes;
  }

  get writes(): ReadonlyMap<string, AccountWrite> {
    return this.#writes;
  }

  /** Stores a person as changed just now; returns the directory's new change number, which the record carries. */
  putPerson(person: Omit<PersonRecord, 'rev'>): number {
    const rev = this.nextDirectoryRev();
    this.#put('people', key(person.username), personRecord.encode({ ...person, rev }));
    if (person.role === 'owner') this.#put('meta', OWNER_MADE, numberValue(1));
    return rev;
  }

  /** The directory's change number for something that appears or changes in it. */
  nextDirectoryRev(): number {
    const rev = this.directoryRev + 1;
    this.#put('meta', DIRECTORY_REV, numberValue(rev));
    return rev;
  }

  /** Stores a stronger hash of the same password: nothing that the directory would tell anybody. */
  putPasswordHash(person: PersonRecord, passwordHash: string): void {
    this.#put('people', key(person.username), personRecord.encode({ ...person, passwordHash }));
  }

  putDevices(username: string, devices: readonly DeviceRecord[]): void {
    this.#put('devices', key(username), devicesRecord.encode(devices));
  }

  putRevocation(revocation: Revocation): void {
    this.#put('revocations', key(revocation.sid), revocationRecord.encode(revocation));
  }

  putInvitation(hash: string, invitation: InvitationRecord): void {
    this.#put('invitations', key(hash), invitationRecord.encode(invitation));
  }

  remove(table: 'revocations' | 'invitations', name: string): void {
    this.#put(table, key(name), null);
  }

  putSecret(name: SecretName, secret: Uint8Array): void {
    this.#put('secrets', key(name), Buffer.from(secret));
  }

  /** Stores a ring of signing keys, in the place of a single key of before there were rings. */
  putSigningKeys(ring: KeyRingName, keys: SigningKeys): void {
    this.#put('secrets', key(ring), signingKeysRecord.encode(keys));
    this.#put('secrets', key(RINGLESS[ring]), null);
  }

  removeSecret(name: (typeof SIGNING_SECRETS)[number]): void {
    this.#put('secrets', key(name), null);
  }

  putDocument<T>(collection: Collection<T>, id: string, document: T): void {
    if (!DOCUMENT_ID.test(id)) throw new Error(`${JSON.stringify(id)} cannot name a document of ${collection.name}.`);
    this.#put('documents', documentKey(collection, id), collection.encode(document));
  }

  removeDocument<T>(collection: Collection<T>, id: string): void {
    if (DOCUMENT_ID.test(id)) this.#put('documents', documentKey(collection, id), null);
  }

  /** Adds an entry to the audit trail: it is there when the change is, and only then. */
  audit(nowMillis: number, form: AuditForm): AuditEntry {
    const entry = nextAuditEntry(this.auditHead, formatInstant(nowMillis), form);
    this.#put('audit', numbered(entry.number), auditRecord.encode(entry));
    this.#put('meta', AUDIT_HEAD, numberValue(entry.number));
    return entry;
  }

  /**
   * Stores entries with other details, and adds the entry by which what is left of them is proven. None of them is the newest.
   * @throws Error when there is no such entry.
   */
  eraseAuditDetails(nowMillis: number, entries: readonly AuditEntry[], subject: string): void {
    const told = entries.map((entry) => {
      if (this.auditEntry(entry.number)?.hash !== entry.hash)
        throw new Error(`Audit entry ${entry.number} is not there.`);
      this.#put('audit', numbered(entry.number), auditRecord.encode(entry));
      return { number: entry.number, remains: remainsHash(entry) };
    });
    this.audit(nowMillis, { event: ERASED_EVENT, actor: 'server', address: null, subject, details: { entries: told } });
  }

  /**
   * Takes away the entries up to and with that number, which is not the newest, and keeps what the next one follows from.
   * @throws Error when there is no such entry.
   */
  trimAudit(through: number): void {
    const last = this.auditEntry(through);
    if (last === undefined || through >= this.auditHead.number) throw new Error(`Audit entry ${through} cannot go.`);
    for (let number = this.auditAnchor.number + 1; number <= through; number += 1) {
      this.#put('audit', numbered(number), null);
    }
    this.#put('meta', AUDIT_ANCHOR, auditAnchorRecord.encode({ number: through, hash: last.hash }));
  }

  #put(table: AccountTable, itemKey: Buffer, value: Buffer | null): void {
    this.#writes.set(nameOf(table, itemKey), { table, key: itemKey, value });
  }
}

function nameOf(table: AccountTable, itemKey: Buffer): string {
  return `${table}/${itemKey.toString('latin1')}`;
}
