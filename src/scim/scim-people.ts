/**
 * People whom a client provisions. A client reads and changes those that it made and those that an owner handed to it,
 * and learns of nobody else; whoever runs the installation it reads and does not change.
 *
 *     made by it ─┐                         active: false ──► blocked, all sessions end
 *                 ├──► bound to the client ─┤
 *     adopted ────┘                         DELETE ──► blocked, gone for the client; made anew by the same externalId
 */
import { createHash } from 'node:crypto';
import type { Clock } from '#src/base/clock.ts';
import type { Json } from '#src/base/json.ts';
import { formatInstant } from '#src/base/time.ts';
import {
  emailHoldersOf,
  noteGivenEmail,
  profileOf,
  putPerson,
  putProfile,
  type Profile,
} from '#src/directory/directory.ts';
import { blockByWord, unblockByWord, type ForeignWord } from '#src/directory/foreign-blocks.ts';
import { addPerson, changeProfile } from '#src/directory/people.ts';
import { guestRecords } from '#src/identity/guest-records.ts';
import { holdsConsoleRole } from '#src/identity/console/console-role-record.ts';
import type { Revocation, SessionAnnouncer } from '#src/identity/credentials/revocations.ts';
import { countOne, countOneLess, isScimClient, type ScimClient } from '#src/identity/scim-clients.ts';
import { bindPerson, identitiesOf, identityAt, unbindPerson } from '#src/identity/single-sign-on/person-identities.ts';
import { isReservedUsername } from '#src/protocol/directory/resources.ts';
import { Refusal } from '#src/protocol/errors.ts';
import { USERNAME } from '#src/protocol/names.ts';
import type { PersonRecord } from '#storage/accounts/account-records.ts';
import type { Accounts, AccountsDraft } from '#storage/accounts/accounts.ts';
import type { AuditActor } from '#storage/accounts/audit-chain.ts';
import { defineCollection } from '#storage/accounts/collections.ts';
import type { Resource } from './filter.ts';
import { applyOperations, type Operation } from './patch.ts';
import {
  readUserBody,
  shownUser,
  storedUser,
  wantedOf,
  type ScimPersonRecord,
  type WantedUser,
} from './user-resource.ts';

/** Username → what is kept beside the profile. */
const scimPeople = defineCollection<ScimPersonRecord>('scim_people', { version: 1 });
/** Hash of client, kind of name and name → username. */
const scimNames = defineCollection<string>('scim_names', { version: 1 });

/** People of one name whom a client may make one after the other. */
const NAMESAKES_MAX = 99;
const USERNAME_LENGTH_MAX = 64;

type View = Pick<AccountsDraft, 'document' | 'person'>;

export interface ScimPeopleOptions {
  readonly accounts: Accounts;
  readonly announcer: Pick<SessionAnnouncer, 'directoryChanged' | 'revoked'>;
  readonly clock: Clock;
  /** The hash of a password that nobody was ever told. */
  readonly unknownHash: () => Promise<string>;
}

/** Whether a caller's version of a resource is the one there is. */
export type VersionCheck = (version: string) => void;

/** Who asks: the client, from where, and the URL at which its resources begin. */
export interface Caller {
  readonly client: ScimClient;
  readonly by: AuditActor;
  readonly base: string;
}

/** What a change did, to be told when it is on disk. */
interface Change {
  readonly username: string;
  readonly rev: number | undefined;
  readonly revoked: readonly Revocation[];
}

export class ScimPeople {
  readonly #options: ScimPeopleOptions;

  constructor(options: ScimPeopleOptions) {
    this.#options = options;
  }

  /** A person of the client; undefined for everybody else. */
  find({ base, client }: Pick<Caller, 'base' | 'client'>, username: string): Resource | undefined {
    const { accounts } = this.#options;
    const known = ofClient(accounts, client, username);
    return known === undefined ? undefined : shown(accounts, known, base);
  }

  /** @throws Refusal `person_not_found`. */
  read(caller: Pick<Caller, 'base' | 'client'>, username: string): Resource {
    const found = this.find(caller, username);
    if (found === undefined) throw new Refusal('person_not_found');
    return found;
  }

  /** The person that has a name or an id at the client, whose case counts in ids alone. */
  named(client: ScimClient, kind: 'userName' | 'externalId', name: string): string | undefined {
    return this.#options.accounts.document(scimNames, nameId(client, kind, name));
  }

  /** The id of the client that has a person; undefined for nobody's. */
  clientOf(username: string): string | undefined {
    const { accounts } = this.#options;
    const client = accounts.document(scimPeople, username)?.client;
    return client === undefined || ofClient(accounts, { id: client }, username) === undefined ? undefined : client;
  }

  /** As it stands on disk, or in a draft. */
  isOfClient(client: ScimClient, username: string, view: View): boolean {
    return ofClient(view, client, username) !== undefined;
  }

  /**
   * Makes a person, or brings back the one of the same `externalId` whom the client deleted.
   * @throws Refusal `field_invalid`, `username_taken`, `scim_people_full`.
   */
  async create({ base, by, client }: Caller, body: Json | undefined): Promise<Resource> {
    const { accounts, clock, unknownHash } = this.#options;
    const wanted = wantedOf(readUserBody(body));
    const passwordHash = await unknownHash();
    const now = clock.now();
    const change = await accounts.change((draft) => {
      assertFree(draft, client, wanted, undefined);
      const back = deletedBy(draft, client, wanted.record.externalId);
      if (back !== undefined) return this.#write(draft, back, wanted, { by, client, now, isBack: true });
      countOne(draft, client.id, client.peopleMax, 'scim_people_full');
      const username = freeUsername(draft, client, wanted.record.userName);
      addPerson(draft, { username, passwordHash, role: 'person', now });
      putProfile(draft, username, wanted.profile);
      const email = wanted.profile.email?.toLowerCase();
      // Of two who have it, the one who was not there before is not the one whom it opens.
      if (email !== undefined && emailHoldersOf(draft, email).length > 1) noteGivenEmail(draft, username);
      const details = { role: 'person', ...wanted.profile, by: 'provisioning' };
      draft.audit(now, { event: 'user.created', ...by, subject: `user:${username}`, details });
      bind(draft, username, client, by, now);
      return this.#write(draft, mustBe(draft, username), wanted, { by, client, now, isBack: false });
    });
    await this.#tell(change);
    return this.read({ base, client }, change.username);
  }

  /** Everything that is not said is taken away, but for `active`. @throws as `patch` does. */
  async replace(caller: Caller, username: string, body: Json | undefined, check: VersionCheck): Promise<Resource> {
    const wanted = wantedOf(readUserBody(body));
    return await this.#change(caller, username, check, () => wanted);
  }

  /**
   * @throws Refusal `person_not_found`; `right_missing` for who has a role in the console; `username_taken`, and what
   * `wantedOf`, `applyOperations` and `check` throw.
   */
  async patch(
    caller: Caller,
    username: string,
    operations: readonly Operation[],
    check: VersionCheck,
  ): Promise<Resource> {
    return await this.#change(caller, username, check, (before) => wantedOf(applyOperations(before, operations)));
  }

  /** Blocks a person and forgets them for the client. What they wrote stays. @throws as `patch` does. */
  async remove({ by, client }: Caller, username: string, check: VersionCheck): Promise<void> {
    const { accounts, clock } = this.#options;
    const now = clock.now();
    const change = await accounts.change((draft) => {
      const known = writableOf(draft, client, username);
      check(versionOf(known.person));
      const { person, record } = known;
      const blocked = person.state === 'active' ? blockByWord(draft, person, wordOf(client, by, now)) : undefined;
      draft.removeDocument(scimNames, nameId(client, 'userName', record.userName));
      const kept = { ...record, familyName: null, formatted: null, givenName: null };
      draft.putDocument(scimPeople, username, { ...kept, deletedAt: formatInstant(now) });
      // Told of even where nothing else changed, since lists of the client follow the directory's changes.
      return { username, revoked: blocked?.revoked ?? [], rev: blocked?.rev ?? putPerson(draft, person) };
    });
    await this.#tell(change);
  }

  /**
   * Hands somebody who is here to a client, on an owner's word; from then on the client keeps them.
   * @throws Refusal `person_not_found`, `person_left`, `right_missing` for who has a role in the console,
   * `field_invalid` for a guest, `scim_person_kept` for who has a client, `username_taken`, `scim_people_full`.
   */
  async adopt(
    client: ScimClient,
    username: string,
    {
      external_id: externalId,
      user_name: userName,
    }: { readonly user_name: string; readonly external_id?: string | undefined },
    by: AuditActor,
  ): Promise<void> {
    const { accounts, clock } = this.#options;
    const now = clock.now();
    const change = await accounts.change((draft) => {
      const person = draft.person(username);
      if (person === undefined) throw new Refusal('person_not_found');
      if (person.state === 'left') throw new Refusal('person_left');
      if (holdsConsoleRole(draft, username)) throw new Refusal('right_missing');
      if (draft.document(guestRecords, username) !== undefined) throw new Refusal('field_invalid', { field: 'user' });
      if (identitiesOf(draft, username).some(({ issuer }) => isScimClient(draft, issuer))) {
        throw new Refusal('scim_person_kept');
      }
      const record = { userName, externalId: externalId ?? null, formatted: null, familyName: null, givenName: null };
      const profile = profileOf(draft, username);
      const wanted = { record: { ...record, isCalled: profile.display_name !== null }, profile, isActive: undefined };
      assertFree(draft, client, wanted, undefined);
      countOne(draft, client.id, client.peopleMax, 'scim_people_full');
      bind(draft, username, client, by, now);
      return this.#write(draft, { person, record: undefined }, wanted, { by, client, now, isBack: false });
    });
    await this.#tell(change);
  }

  /** Takes a person from a client, on an owner's word: from then on they are this server's own. @throws Refusal `person_not_found`. */
  async release(client: ScimClient, username: string, by: AuditActor): Promise<void> {
    const { accounts, clock } = this.#options;
    const change = await accounts.change((draft) => {
      const person = draft.person(username);
      const record = draft.document(scimPeople, username);
      if (person === undefined || record?.client !== client.id) throw new Refusal('person_not_found');
      forgetProvisioned(draft, username);
      const details = { issuer: client.issuer };
      draft.audit(clock.now(), { event: 'sso.identity_forgotten', ...by, subject: `user:${username}`, details });
      return { username, revoked: unbindPerson(draft, username, client.issuer) ?? [], rev: putPerson(draft, person) };
    });
    await this.#tell(change);
  }

  async #change(
    { base, by, client }: Caller,
    username: string,
    check: VersionCheck,
    decide: (before: Resource) => WantedUser,
  ): Promise<Resource> {
    const { accounts, clock } = this.#options;
    const now = clock.now();
    const change = await accounts.change((draft) => {
      const known = writableOf(draft, client, username);
      check(versionOf(known.person));
      const before = storedUser(known.record, profileOf(draft, username), known.person.state === 'active');
      const wanted = decide(before);
      assertFree(draft, client, wanted, username);
      return this.#write(draft, known, wanted, { by, client, now, isBack: false });
    });
    await this.#tell(change);
    return this.read({ base, client }, username);
  }

  /** Stores what is wanted of a person, as part of a change. */
  #write(
    draft: AccountsDraft,
    { person, record: before }: { readonly person: PersonRecord; readonly record: ScimPersonRecord | undefined },
    wanted: WantedUser,
    told: { readonly by: AuditActor; readonly client: ScimClient; readonly now: number; readonly isBack: boolean },
  ): Change {
    const { by, client, isBack, now } = told;
    const { username } = person;
    const record: ScimPersonRecord = {
      ...wanted.record,
      client: client.id,
      changedAt: formatInstant(now),
      deletedAt: null,
    };
    const isOther = before === undefined || isBack || isRecordOther(before, record);
    const email = profileOf(draft, username).email?.toLowerCase();
    const isChanged = changeProfile(draft, username, wanted.profile, by, now);
    if (profileOf(draft, username).email?.toLowerCase() !== email) noteGivenEmail(draft, username);
    const word = wordOf(client, by, now);
    const isActive = wanted.isActive ?? (isBack ? true : undefined);
    const unblocked = isActive === true ? unblockByWord(draft, person, word) : undefined;
    const state = (unblocked ?? person).state;
    if (isOther || isChanged) {
      if (before !== undefined) forgetNames(draft, client, username, before);
      putNames(draft, client, username, record);
      draft.putDocument(scimPeople, username, record);
    }
    if (isActive === false && state === 'active') {
      const blocked = blockByWord(draft, person, word);
      return { username, revoked: blocked?.revoked ?? [], rev: blocked?.rev };
    }
    const isTold = isOther || isChanged || unblocked !== undefined;
    return { username, revoked: [], rev: isTold ? putPerson(draft, unblocked ?? person) : undefined };
  }

  /** Sessions end before whoever asked is answered. */
  async #tell({ rev, revoked, username }: Change): Promise<void> {
    const { announcer } = this.#options;
    if (revoked.length > 0) await announcer.revoked([...revoked]);
    if (rev !== undefined) announcer.directoryChanged(username, rev);
  }
}

/** What a provisioning client keeps of a person beside their profile, for who takes their own data with them; at most one. */
export function provisionedOf(view: Pick<AccountsDraft, 'document'>, username: string): object[] {
  const record = view.document(scimPeople, username);
  if (record === undefined) return [];
  const { changedAt, client, externalId, familyName, formatted, givenName, userName } = record;
  const named = { formatted, family_name: familyName, given_name: givenName };
  return [{ client, user_name: userName, external_id: externalId, ...named, changed_at: changedAt }];
}

/** Forgets what is kept of a person beside their profile, as part of a change. */
export function forgetProvisioned(draft: AccountsDraft, username: string): void {
  const record = draft.document(scimPeople, username);
  if (record === undefined) return;
  forgetNames(draft, { id: record.client }, username, record);
  draft.removeDocument(scimPeople, username);
  countOneLess(draft, record.client);
}

/** The version of a User, as an entity tag: another one with every change of the person. */
export function versionOf({ rev }: PersonRecord): string {
  return `W/"${rev}"`;
}

interface Known {
  readonly person: PersonRecord;
  readonly record: ScimPersonRecord;
}

/** A person whom the client has, and has not deleted. */
function ofClient(view: View, client: Pick<ScimClient, 'id'>, username: string): Known | undefined {
  const record = view.document(scimPeople, username);
  if (record?.client !== client.id || record.deletedAt !== null) return undefined;
  const person = view.person(username);
  return person === undefined || person.state === 'left' ? undefined : { person, record };
}

/** @throws Refusal `person_not_found`; `right_missing` for who has a role in the console, whose account is an owner's to change. */
function writableOf(draft: AccountsDraft, client: ScimClient, username: string): Known {
  const known = ofClient(draft, client, username);
  if (known === undefined) throw new Refusal('person_not_found');
  if (holdsConsoleRole(draft, username)) throw new Refusal('right_missing');
  return known;
}

function mustBe(draft: AccountsDraft, username: string): { person: PersonRecord; record: undefined } {
  const person = draft.person(username);
  if (person === undefined) throw new Error('The person who was just made is not there.');
  return { person, record: undefined };
}

function shown(view: View, { person, record }: Known, base: string): Resource {
  const profile: Profile = profileOf(view, person.username);
  const meta = {
    created: person.createdAt,
    location: `${base}/Users/${person.username}`,
    version: versionOf(person),
  };
  return shownUser(person.username, { record, profile, isActive: person.state === 'active' }, meta);
}

/** @throws Refusal `username_taken` where somebody else of the client has the name or the id. */
function assertFree(draft: AccountsDraft, client: ScimClient, { record }: WantedUser, self: string | undefined): void {
  const { externalId, userName } = record;
  const holders = [
    draft.document(scimNames, nameId(client, 'userName', userName)),
    externalId === null ? undefined : draft.document(scimNames, nameId(client, 'externalId', externalId)),
  ];
  for (const holder of holders) {
    if (holder !== undefined && holder !== self && ofClient(draft, client, holder) !== undefined) {
      throw new Refusal('username_taken');
    }
  }
}

/** Whom the client deleted and now brings back: by its own id of them alone, since names go on to others. */
function deletedBy(draft: AccountsDraft, client: ScimClient, externalId: string | null): Known | undefined {
  if (externalId === null) return undefined;
  const username = draft.document(scimNames, nameId(client, 'externalId', externalId));
  const record = username === undefined ? undefined : draft.document(scimPeople, username);
  const person = username === undefined ? undefined : draft.person(username);
  if (record?.client !== client.id || record.deletedAt === null) return undefined;
  if (person === undefined || person.state === 'left' || holdsConsoleRole(draft, person.username)) return undefined;
  return identityAt(draft, person.username, client.issuer) === undefined ? undefined : { person, record };
}

/**
 * A username for somebody new: their name at the client where it can be one, else what stands before the `@` of it. Where
 * somebody of the client had it before, they get it with a number; nobody is ever given the name of another.
 * @throws Refusal `username_taken` where it is somebody's whom the client does not have.
 */
function freeUsername(draft: AccountsDraft, client: ScimClient, userName: string): string {
  const wanted = plainName(userName);
  for (let number = 1; number <= NAMESAKES_MAX; number += 1) {
    const suffix = number === 1 ? '' : `-${number}`;
    const name = `${wanted.slice(0, USERNAME_LENGTH_MAX - suffix.length)}${suffix}`;
    if (draft.person(name) === undefined && !isReservedUsername(name)) return name;
    if (number === 1 && draft.document(scimPeople, name)?.client !== client.id) break;
  }
  throw new Refusal('username_taken');
}

function plainName(userName: string): string {
  const lower = userName.toLowerCase();
  if (USERNAME.test(lower)) return lower;
  const [local = ''] = lower.split('@');
  const letters = local
    .normalize('NFKD')
    .replaceAll(/\p{M}/gu, '')
    .replaceAll(/[^a-z0-9._-]+/g, '-');
  const name = letters
    .replace(/^[._-]+/, '')
    .replace(/-+$/, '')
    .slice(0, USERNAME_LENGTH_MAX);
  if (!USERNAME.test(name)) throw new Refusal('field_invalid', { field: 'userName' });
  return name;
}

function bind(draft: AccountsDraft, username: string, client: ScimClient, by: AuditActor, now: number): void {
  // What a client that is gone left behind.
  forgetProvisioned(draft, username);
  for (const { issuer } of identitiesOf(draft, username)) {
    if (issuer.startsWith('scim:')) unbindPerson(draft, username, issuer);
  }
  const { actor, address } = by;
  bindPerson(
    draft,
    username,
    { issuer: client.issuer, subject: username },
    { by: 'provisioning', actor, address, now },
  );
}

function wordOf({ issuer }: ScimClient, by: AuditActor, now: number): ForeignWord {
  return { issuer, by, said: 'provisioning', now };
}

function isRecordOther(one: ScimPersonRecord, other: ScimPersonRecord): boolean {
  const fields = ['userName', 'externalId', 'formatted', 'familyName', 'givenName', 'isCalled'] as const;
  return fields.some((field) => one[field] !== other[field]);
}

function putNames(draft: AccountsDraft, client: ScimClient, username: string, record: ScimPersonRecord): void {
  draft.putDocument(scimNames, nameId(client, 'userName', record.userName), username);
  if (record.externalId !== null)
    draft.putDocument(scimNames, nameId(client, 'externalId', record.externalId), username);
}

/** A name that went on to somebody else stays theirs. */
function forgetNames(
  draft: AccountsDraft,
  client: Pick<ScimClient, 'id'>,
  username: string,
  { externalId, userName }: ScimPersonRecord,
): void {
  const ids = [nameId(client, 'userName', userName), nameId(client, 'externalId', externalId ?? '')];
  for (const id of ids) if (draft.document(scimNames, id) === username) draft.removeDocument(scimNames, id);
}

function nameId({ id }: Pick<ScimClient, 'id'>, kind: 'userName' | 'externalId', name: string): string {
  const text = kind === 'userName' ? name.toLowerCase() : name;
  return createHash('sha256').update(`${id}\n${kind}\n${text}`).digest('hex');
}
