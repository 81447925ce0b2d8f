/**
 * What the accounts file says: its tables, how each of them is read, and the handle with which any thread reads it.
 * What is read is on disk.
 */
import { USERNAME } from '#src/protocol/names.ts';
import {
  devicesRecord,
  invitationRecord,
  personRecord,
  revocationRecord,
  type DeviceRecord,
  type InvitationRecord,
  type LiveSession,
  type PersonRecord,
  type Revocation,
} from './account-records.ts';
import { AUDIT_START, type AuditEntry, type AuditLink } from './audit-chain.ts';
import {
  defineCollection,
  documentId,
  documentKey,
  documentRange,
  type Collection,
  type Entry,
} from './collections.ts';
import { logOf, type DurableWords } from '../engine/folder-logs.ts';
import { Environment, type LogOptions, type Table, type Write } from '../engine/environment.ts';
import { folderPaths } from '../engine/folder.ts';
import { key, numberAt, numbered } from '../engine/keys.ts';
import { signingKeysRecord, type KeyRingName, type SigningKeys } from './signing-keys.ts';

export const ACCOUNT_TABLES = [
  'people',
  'devices',
  'revocations',
  'invitations',
  'secrets',
  'meta',
  'documents',
  'audit',
] as const;
export type AccountTable = (typeof ACCOUNT_TABLES)[number];
export type AccountWrite = Write<AccountTable>;
export type AccountTables = Readonly<Record<AccountTable, Table>>;

/** Address space, not disk: a million people with ten devices each take about 2 GiB. Beyond it: `storage_full`. */
export const ACCOUNTS_MAP_BYTES = 16 * 1024 ** 3;

/** Ids of documents: usernames, the server's own ids, names from a table. Longer or stranger texts name nothing. */
export const DOCUMENT_ID = /^[\w.:@~-]{1,200}$/;

export const DIRECTORY_REV = key('directory_rev');
/** The number of the last audit entry. */
export const AUDIT_HEAD = key('audit_head');
export const OWNER_MADE = key('owner_made');

/** Number and hash of the last entry that was taken away: what the first one that is left follows from. */
export const AUDIT_ANCHOR = key('audit_anchor');
export const auditAnchorRecord = defineCollection<AuditLink>('audit_anchor', { version: 1 });

/** How entries of the audit trail are stored, under their numbers. */
export const auditRecord = defineCollection<AuditEntry>('audit', { version: 1 });

interface TableStats {
  readonly pageSize: number;
  readonly treeBranchPageCount: number;
  readonly treeLeafPageCount: number;
  readonly overflowPages: number;
}

/** What the accounts file says, read as it stands on disk. */
export class AccountsView {
  readonly #get: (table: AccountTable, itemKey: Buffer) => Buffer | undefined;

  constructor(get: (table: AccountTable, itemKey: Buffer) => Buffer | undefined) {
    this.#get = get;
  }

  /** The person of that username; undefined for nobody, whatever the text. */
  person(username: string): PersonRecord | undefined {
    // The text may be anything that a stranger typed; only a username is looked up.
    const value = USERNAME.test(username) ? this.#get('people', key(username)) : undefined;
    return value === undefined ? undefined : personRecord.decode(value);
  }

  /** Whether there is such a person and they are not blocked. */
  isActive(username: string): boolean {
    return this.person(username)?.state === 'active';
  }

  /** The person's devices, in the order in which they were made. */
  devices(username: string): DeviceRecord[] {
    const value = this.#get('devices', key(username));
    return value === undefined ? [] : devicesRecord.decode(value);
  }

  /** That session of a person's device, if it is the one it has now and the person may come. */
  liveSession(username: string, device: string, sid: string): LiveSession | undefined {
    if (!this.isActive(username)) return undefined;
    return this.devices(username).find(({ id, session }) => id === device && session?.sid === sid)?.session;
  }

  /** The keys that sign, and those that did and are kept. @throws Error before the folder was opened to be written. */
  signingKeys(ring: KeyRingName): SigningKeys {
    const value = this.#get('secrets', key(ring));
    if (value === undefined) throw new Error(`There is no ring of ${ring}.`);
    return signingKeysRecord.decode(value);
  }

  isRevoked(sid: string): boolean {
    return this.#get('revocations', key(sid)) !== undefined;
  }

  /** The invitation whose secret has this hash. */
  invitation(hash: string): InvitationRecord | undefined {
    const value = this.#get('invitations', key(hash));
    return value === undefined ? undefined : invitationRecord.decode(value);
  }

  /** Whether this installation ever had an owner: then set-up is over for good. */
  get hasOwner(): boolean {
    return this.#get('meta', OWNER_MADE) !== undefined;
  }

  /** The directory's change number: +1 for every person that appears or changes. */
  get directoryRev(): number {
    const value = this.#get('meta', DIRECTORY_REV);
    return value === undefined ? 0 : numberAt(value);
  }

  /** A document of a collection; undefined when there is none of that id, whatever the text. */
  document<T>(collection: Collection<T>, id: string): T | undefined {
    const value = DOCUMENT_ID.test(id) ? this.#get('documents', documentKey(collection, id)) : undefined;
    return value === undefined ? undefined : collection.decode(value);
  }

  /** The last entry of the audit trail, or what stands before the first. */
  get auditHead(): AuditLink {
    const head = this.#get('meta', AUDIT_HEAD);
    if (head === undefined) return AUDIT_START;
    const entry = this.auditEntry(numberAt(head));
    if (entry === undefined) throw new Error(`Audit entry ${numberAt(head)} is missing.`);
    return entry;
  }

  /** What the first entry that is left follows from: the last that was taken away, or what stands before the first. */
  get auditAnchor(): AuditLink {
    const stored = this.#get('meta', AUDIT_ANCHOR);
    return stored === undefined ? AUDIT_START : auditAnchorRecord.decode(stored);
  }

  /** An entry of the audit trail by its number. */
  auditEntry(number: number): AuditEntry | undefined {
    const value = this.#get('audit', numbered(number));
    return value === undefined ? undefined : auditRecord.decode(value);
  }
}

/** Reads the accounts file on any thread, with a handle of its own. */
export class AccountsReader extends AccountsView {
  readonly #environment: Environment<AccountTable>;

  constructor(folder: string, environment = openEnvironment(folder)) {
    super((table, itemKey) => environment.tables[table].get(itemKey));
    this.#environment = environment;
  }

  /** Lets the next read see every commit so far, also one of another thread within the last millisecond. */
  refresh(): void {
    this.#environment.refresh();
  }

  /** All revocations that may still matter. */
  revocations(): Revocation[] {
    return [...this.#environment.tables.revocations.getRange()].map(({ value }) => revocationRecord.decode(value));
  }

  /** People in the order of their usernames, behind `after`. */
  people(after: string, limit: number): PersonRecord[] {
    // The key behind every key that starts with `after` and a NUL is the first username after it.
    const range = this.#environment.tables.people.getRange({ start: key(after, ''), limit });
    return [...range].map(({ value }) => personRecord.decode(value));
  }

  /** People in the order of their usernames, without so many of them at the beginning. */
  peopleFrom(offset: number, limit: number): PersonRecord[] {
    const range = this.#environment.tables.people.getRange({ offset, limit });
    return [...range].map(({ value }) => personRecord.decode(value));
  }

  /** Documents of a collection in the order of their ids, behind `after`. */
  documents<T>(collection: Collection<T>, { after, limit }: { after?: string; limit?: number } = {}): Entry<T>[] {
    const range = documentRange(collection, after);
    const found = this.#environment.tables.documents.getRange(limit === undefined ? range : { ...range, limit });
    return [...found].map((item) => ({
      id: documentId(collection, item.key),
      document: collection.decode(item.value),
    }));
  }

  /** Audit entries from the newest down, below the number `before`. */
  auditEntries({ before, limit }: { before?: number; limit: number }): AuditEntry[] {
    const start = numbered(before === undefined ? this.auditHead.number : Math.max(before - 1, 0));
    // The end of a range is left out, also of one that is walked backwards; there is no entry 0.
    const range = { start, end: numbered(0), reverse: true, limit };
    return [...this.#environment.tables.audit.getRange(range)].map(({ value }) => auditRecord.decode(value));
  }

  /** Audit entries in their order, behind the number `after`. */
  auditEntriesAfter(after: number, limit: number): AuditEntry[] {
    const range = { start: numbered(after + 1), limit };
    return [...this.#environment.tables.audit.getRange(range)].map(({ value }) => auditRecord.decode(value));
  }

  get personCount(): number {
    return (this.#environment.tables.people.getStats() as { entryCount: number }).entryCount;
  }

  /** Bytes of the file that hold something: what is free in it is used again. */
  get usedBytes(): number {
    return ACCOUNT_TABLES.reduce((sum, name) => {
      const stats = this.#environment.tables[name].getStats() as TableStats;
      return sum + pagesOf(stats) * stats.pageSize;
    }, 0);
  }

  /** Hashes of the invitations there are. */
  invitationHashes(): string[] {
    return [...this.#environment.tables.invitations.getKeys()].map((itemKey) => itemKey.toString('latin1'));
  }

  async close(): Promise<void> {
    await this.#environment.close();
  }
}

/** Pages of a tree. */
function pagesOf({ overflowPages, treeBranchPageCount, treeLeafPageCount }: TableStats): number {
  return treeBranchPageCount + treeLeafPageCount + overflowPages;
}

/** Opens the accounts of a data folder, made when they are not there. */
export function openEnvironment(
  folder: string,
  access: LogOptions['access'] = 'read',
  words?: DurableWords,
): Environment<AccountTable> {
  const log = logOf(folder, 'accounts', access, words);
  return new Environment(folderPaths(folder).accounts, ACCOUNT_TABLES, { mapBytes: ACCOUNTS_MAP_BYTES, log });
}
