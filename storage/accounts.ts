/**
 * The accounts file: people, devices with their sessions, revocations, invitations and the installation's secrets.
 *
 *     change ─► waiting ──► decided one after the other on one draft ──► one commit ──► on disk ─► all answered
 *
 * One thread writes it, through `change`: a change reads and writes a draft, sees what the changes before it did, and
 * is answered when all of it is on disk. Any thread reads it, through a handle of its own, and never sees what is not.
 */
import { randomBytes } from 'node:crypto';
import { formatInstant } from '#src/base/time.ts';
import { Refusal } from '#src/protocol/errors.ts';
import { USERNAME } from '#src/protocol/names.ts';
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
import { AUDIT_GENESIS, nextAuditEntry, type AuditEntry, type AuditForm } from './audit-chain.ts';
import {
  defineCollection,
  documentId,
  documentKey,
  documentRange,
  type Collection,
  type Entry,
} from './collections.ts';
import { Environment, type Table, type Write } from './environment.ts';
import { folderPaths } from './folder.ts';
import { key, numberAt, numbered, numberValue } from './keys.ts';

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
type AccountTable = (typeof ACCOUNT_TABLES)[number];
type AccountWrite = Write<AccountTable>;
type Tables = Readonly<Record<AccountTable, Table>>;

/** Address space, not disk: a million people with ten devices each take about 2 GiB. Beyond it: `storage_full`. */
const ACCOUNTS_MAP_BYTES = 16 * 1024 ** 3;

/**
 * Changes that wait for their turn. All that wait go into the next commit together, so this many is one disk flush
 * away from none; more at once is answered `busy`.
 */
export const CHANGES_WAITING_MAX = 4096;

/** Ids of documents: usernames, the server's own ids, names from a table. Longer or stranger texts name nothing. */
const DOCUMENT_ID = /^[\w.:@~-]{1,200}$/;

/** Records looked at in one step of a sweep, so that cleaning never holds the thread for long. */
const SWEEP_STEP = 1000;

const DIRECTORY_REV = key('directory_rev');
/** The number of the last audit entry. */
const AUDIT_HEAD = key('audit_head');
const OWNER_MADE = key('owner_made');

/** Secrets of the installation. Made at first use, 32 random bytes each. */
export const SECRET_NAMES = ['session_key', 'installation_key'] as const;
export type SecretName = (typeof SECRET_NAMES)[number];
export const SECRET_BYTES = 32;

/** How entries of the audit trail are stored, under their numbers. */
const auditRecord = defineCollection<AuditEntry>('audit', { version: 1 });

/** What the accounts file says, read as it stands on disk. */
class AccountsView {
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
  get auditHead(): Pick<AuditEntry, 'number' | 'hash'> {
    const head = this.#get('meta', AUDIT_HEAD);
    if (head === undefined) return { number: 0, hash: AUDIT_GENESIS };
    const entry = this.auditEntry(numberAt(head));
    if (entry === undefined) throw new Error(`Audit entry ${numberAt(head)} is missing.`);
    return entry;
  }

  /** An entry of the audit trail by its number. */
  auditEntry(number: number): AuditEntry | undefined {
    const value = this.#get('audit', numbered(number));
    return value === undefined ? undefined : auditRecord.decode(value);
  }
}

/** What one change reads and writes. It sees the changes decided before it in the same commit. */
export class AccountsDraft extends AccountsView {
  /** `table/key` → the last write to it. */
  readonly #writes: Map<string, AccountWrite>;

  constructor(before: ReadonlyMap<string, AccountWrite>, tables: Tables) {
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
    const rev = this.directoryRev + 1;
    this.#put('meta', DIRECTORY_REV, numberValue(rev));
    this.#put('people', key(person.username), personRecord.encode({ ...person, rev }));
    if (person.role === 'owner') this.#put('meta', OWNER_MADE, numberValue(1));
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

  #put(table: AccountTable, itemKey: Buffer, value: Buffer | null): void {
    this.#writes.set(nameOf(table, itemKey), { table, key: itemKey, value });
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

  get personCount(): number {
    return (this.#environment.tables.people.getStats() as { entryCount: number }).entryCount;
  }

  /** Hashes of the invitations there are. */
  invitationHashes(): string[] {
    return [...this.#environment.tables.invitations.getKeys()].map((itemKey) => itemKey.toString('latin1'));
  }

  async close(): Promise<void> {
    await this.#environment.close();
  }
}

interface Waiting {
  readonly decide: (draft: AccountsDraft) => () => void;
  readonly fail: (error: Error) => void;
}

/** The one writer of the accounts file. Reads what it wrote. */
export class Accounts extends AccountsReader {
  readonly #environment: Environment<AccountTable>;
  readonly #secrets = new Map<SecretName, Uint8Array>();
  #waiting: Waiting[] = [];
  #writing: Promise<void> | undefined;

  private constructor(folder: string, environment: Environment<AccountTable>) {
    super(folder, environment);
    this.#environment = environment;
  }

  /** Opens the accounts of a data folder, whose lock the caller has, and makes its secrets when there are none. */
  static async open(folder: string): Promise<Accounts> {
    const accounts = new Accounts(folder, openEnvironment(folder));
    for (const name of SECRET_NAMES) {
      const stored = accounts.#environment.tables.secrets.get(key(name));
      const secret = stored === undefined ? randomBytes(SECRET_BYTES) : Uint8Array.from(stored);
      if (stored === undefined) await accounts.change((draft) => draft.putSecret(name, secret));
      accounts.#secrets.set(name, secret);
    }
    return accounts;
  }

  /** A secret of this installation. Served to no route and no log. */
  secret(name: SecretName): Uint8Array {
    return this.#secrets.get(name) as Uint8Array;
  }

  /**
   * Decides a change on a draft of everything before it; resolves with what `decide` returned once it is on disk.
   * What `decide` throws is the answer, and nothing of that change is stored.
   * @throws Refusal `busy` beyond CHANGES_WAITING_MAX, `storage_full` when the commit failed.
   */
  async change<T>(decide: (draft: AccountsDraft) => T): Promise<T> {
    if (this.#waiting.length >= CHANGES_WAITING_MAX) throw new Refusal('busy');
    const { promise, resolve, reject } = Promise.withResolvers<T>();
    this.#waiting.push({
      decide: (draft) => {
        const result = decide(draft);
        return () => resolve(result);
      },
      fail: reject,
    });
    this.#writing ??= this.#write();
    return await promise;
  }

  /** Removes what time has settled: revocations and invitations that could not be used any more anyway. */
  async sweep(nowSeconds: number): Promise<void> {
    await this.#sweep('revocations', (value) => revocationRecord.decode(value).until < nowSeconds);
    await this.#sweep('invitations', (value) => invitationRecord.decode(value).expiresAt < nowSeconds);
  }

  async #sweep(table: 'revocations' | 'invitations', isOver: (value: Buffer) => boolean): Promise<void> {
    for (let start = key(''); ;) {
      const step = [...this.#environment.tables[table].getRange({ start, limit: SWEEP_STEP })];
      const over = step.filter(({ value }) => isOver(value)).map((entry) => entry.key.toString('utf8'));
      if (over.length > 0) await this.change((draft) => over.forEach((name) => draft.remove(table, name)));
      const last = step.at(-1);
      if (last === undefined || step.length < SWEEP_STEP) return;
      start = Buffer.concat([last.key, Buffer.of(0)]);
      await new Promise(setImmediate);
    }
  }

  /** Waits for what is being written, then closes. */
  override async close(): Promise<void> {
    await this.#writing;
    await super.close();
  }

  async #write(): Promise<void> {
    // The turn's end gathers what arrives together.
    await new Promise(setImmediate);
    while (this.#waiting.length > 0) await this.#commit(this.#waiting.splice(0));
    this.#writing = undefined;
  }

  async #commit(changes: readonly Waiting[]): Promise<void> {
    const writes = new Map<string, AccountWrite>();
    const answers: (() => void)[] = [];
    for (const change of changes) {
      const draft = new AccountsDraft(writes, this.#environment.tables);
      try {
        answers.push(change.decide(draft));
        for (const [name, write] of draft.writes) writes.set(name, write);
      } catch (error) {
        // Answered with the others: it may have been refused because of a change that is not on disk yet.
        answers.push(() => change.fail(error as Error));
      }
    }
    try {
      await this.#environment.commit([...writes.values()]);
      this.refresh();
    } catch (error) {
      const refusal = new Refusal('storage_full');
      refusal.cause = error;
      for (const change of changes) change.fail(refusal);
      return;
    }
    for (const answer of answers) answer();
  }
}

function openEnvironment(folder: string): Environment<AccountTable> {
  return new Environment(folderPaths(folder).accounts, ACCOUNT_TABLES, { mapBytes: ACCOUNTS_MAP_BYTES });
}

function nameOf(table: AccountTable, itemKey: Buffer): string {
  return `${table}/${itemKey.toString('latin1')}`;
}
