/**
 * The directory (DIR-01): what is known of people beyond their accounts, the log of its changes, and reading both
 * within the scope that the access policies leave the reader.
 *
 * Every change of a person writes its number into the log and takes the person's number before out, so that the log
 * has one line a person and reading what changed behind a rev costs what changed.
 */
import { createHash } from 'node:crypto';
import { isBotUser } from '#src/protocol/bots/bots.ts';
import type { DirectoryEntry, DirectoryFound, ProfileChange } from '#src/protocol/directory/directory.ts';
import type { PolicySnapshot } from '#src/protocol/directory/policy-decision.ts';
import { Refusal } from '#src/protocol/errors.ts';
import type { PersonRecord } from '#storage/accounts/account-records.ts';
import type { Accounts, AccountsDraft, AccountsReader } from '#storage/accounts/accounts.ts';
import { defineCollection } from '#storage/accounts/collections.ts';
import type { AccessControl } from './access-control.ts';
import { DirectoryPages, type DirectoryPage, type DirectoryReply } from './directory-pages.ts';
import { DirectorySearch, type SearchForm } from './directory-search.ts';
import { forgetConfirmedEmail } from '#src/identity/confirmed-emails.ts';
import { guestRecords } from '#src/identity/guest-records.ts';
import { shownPersonalFields } from '#src/identity/personal-fields.ts';

/** What is known of a person; null where nothing is. */
export interface Profile {
  readonly display_name: string | null;
  readonly phone: string | null;
  readonly email: string | null;
  readonly title: string | null;
}

export const NO_PROFILE: Profile = { display_name: null, phone: null, email: null, title: null };

const profiles = defineCollection<Profile>('profiles', { version: 1 });
/** E-mail address in lower case → usernames that have it, in the order in which they got it. */
const emailHolders = defineCollection<readonly string[]>('email_holders', { version: 1 });
/** Username → the address in lower case that a provisioning client gave to an account that was there, or that was somebody's. */
const givenEmails = defineCollection<string>('given_emails', { version: 1 });
/** Directory change number, 16 digits → username. */
const directoryLog = defineCollection<string>('directory_log', { version: 1 });
/** Whether people from before there was a log are in it. */
const directoryState = defineCollection<{ readonly logged: boolean }>('directory_state', { version: 1 });

/** A bot as others read it, by its username. */
interface BotEntry {
  readonly displayName: string;
  /** A bot that was revoked has left. */
  readonly state: 'active' | 'left';
  readonly rev: number;
}

const botEntries = defineCollection<BotEntry>('bot_directory', { version: 1 });

/** People put into the log in one commit when it is first made. */
const LOGGED_PER_COMMIT = 1_000;

type View = Pick<AccountsReader, 'document'>;

export function profileOf(view: View, username: string): Profile {
  return view.document(profiles, username) ?? NO_PROFILE;
}

/** What a person is called and found by, whose password is none of it. */
export function namesIn(username: string, profile: ProfileChange): string[] {
  const { display_name: name, email, phone } = profile;
  return [username, name, email, phone?.slice(1)].filter((one) => typeof one === 'string');
}

/** Stores a person as changed just now; returns the directory's new change number. */
export function putPerson(draft: AccountsDraft, person: Omit<PersonRecord, 'rev'>): number {
  const before = draft.person(person.username);
  const rev = draft.putPerson(person);
  if (before !== undefined) draft.removeDocument(directoryLog, revId(before.rev));
  draft.putDocument(directoryLog, revId(rev), person.username);
  return rev;
}

/** Stores a bot as changed just now; returns the directory's new change number. */
export function putBotEntry(draft: AccountsDraft, user: string, bot: Omit<BotEntry, 'rev'>): number {
  const before = draft.document(botEntries, user);
  const rev = draft.nextDirectoryRev();
  if (before !== undefined) draft.removeDocument(directoryLog, revId(before.rev));
  draft.putDocument(directoryLog, revId(rev), user);
  draft.putDocument(botEntries, user, { ...bot, rev });
  return rev;
}

/** Who appeared or changed since a change number, also within this draft; undefined for more than `most` changes. */
export function changedSince(draft: AccountsDraft, rev: number, most: number): ReadonlySet<string> | undefined {
  const changes = draft.directoryRev - rev;
  if (changes > most) return undefined;
  const numbers = Array.from({ length: changes }, (_, at) => rev + 1 + at);
  return new Set(numbers.flatMap((number) => draft.document(directoryLog, revId(number)) ?? []));
}

/** As `holdersOf`, of a draft too. */
export function emailHoldersOf(view: Pick<AccountsDraft, 'document'>, email: string): readonly string[] {
  return view.document(emailHolders, email) ?? [];
}

/**
 * Of these the ones whose account the provider's word on the address may open (CRD-13). Whom a provisioning client or a directory server gave an
 * address to that was not theirs before, is none of them: it would otherwise be chosen there who comes in as them.
 */
export function bindableHoldersOf(view: Pick<AccountsDraft, 'document'>, email: string): readonly string[] {
  return emailHoldersOf(view, email).filter((holder) => view.document(givenEmails, holder) !== email);
}

/**
 * Notes that a provisioning client or a directory server gave somebody the address that they have now, as part of that change. Whoever else
 * changes it, or says it anew after it was another, takes the note away.
 */
export function noteGivenEmail(draft: AccountsDraft, username: string): void {
  const email = profileOf(draft, username).email?.toLowerCase();
  if (email !== undefined) draft.putDocument(givenEmails, username, email);
}

/** Keeps who had an address first: it says whose it is, and the order of changes would not say it after a restart. */
function moveEmail(
  draft: AccountsDraft,
  username: string,
  before: string | undefined,
  after: string | undefined,
): void {
  if (before === after) return;
  draft.removeDocument(givenEmails, username);
  forgetConfirmedEmail(draft, username);
  if (before !== undefined) {
    const others = (draft.document(emailHolders, before) ?? []).filter((holder) => holder !== username);
    if (others.length === 0) draft.removeDocument(emailHolders, before);
    else draft.putDocument(emailHolders, before, others);
  }
  if (after !== undefined) {
    draft.putDocument(emailHolders, after, [...(draft.document(emailHolders, after) ?? []), username]);
  }
}

/** Stores the fields of a profile that are named; answers the profile before and after. */
export function putProfile(
  draft: AccountsDraft,
  username: string,
  change: ProfileChange,
): { readonly before: Profile; readonly after: Profile } {
  const before = profileOf(draft, username);
  const named = Object.entries(change).filter(([, value]) => value !== undefined);
  const after = { ...before, ...Object.fromEntries(named) } as Profile;
  draft.putDocument(profiles, username, after);
  moveEmail(draft, username, before.email?.toLowerCase(), after.email?.toLowerCase());
  return { before, after };
}

/** A person as others read them. A guest's phone is the one they were invited with. */
export function entryOf(view: View, person: PersonRecord): DirectoryEntry {
  const guest = view.document(guestRecords, person.username);
  const profile = profileOf(view, person.username);
  const known = { ...profile, phone: guest?.phone ?? profile.phone };
  return {
    user: person.username,
    ...(Object.fromEntries(Object.entries(known).filter(([, value]) => value !== null)) as Partial<DirectoryEntry>),
    ...shownPersonalFields(view, person.username),
    kind: guest === undefined ? 'person' : 'guest',
    state: guest?.closed === true && person.state === 'active' ? 'over' : person.state,
    rev: person.rev,
  };
}

export class Directory {
  readonly #accounts: Accounts;
  readonly #access: AccessControl;
  readonly #pages = new DirectoryPages();
  readonly #search: DirectorySearch;
  #scope: { readonly of: PolicySnapshot; readonly hash: string } | undefined;

  constructor(accounts: Accounts, access: AccessControl) {
    this.#accounts = accounts;
    this.#access = access;
    this.#search = new DirectorySearch({
      rev: () => accounts.directoryRev,
      changedSince: (rev, limit) => this.changedSince(rev, limit),
    });
  }

  /** Puts people from before there was a log into it; once in the life of a folder. */
  async prepare(): Promise<void> {
    const accounts = this.#accounts;
    if (accounts.document(directoryState, 'state') !== undefined) return;
    for (let after = ''; ;) {
      const people = accounts.people(after, LOGGED_PER_COMMIT);
      await accounts.change((draft) => {
        for (const { username, rev } of people) draft.putDocument(directoryLog, revId(rev), username);
        if (people.length < LOGGED_PER_COMMIT) draft.putDocument(directoryState, 'state', { logged: true });
      });
      const last = people.at(-1);
      if (last === undefined || people.length < LOGGED_PER_COMMIT) return;
      after = last.username;
    }
  }

  /** People and bots whom the reader may see, by username behind `after`: JSON of the form `directoryReply`. */
  list(reader: string, after: string, limit: number): DirectoryReply {
    return this.#reply(reader, `by name ${limit} ${after}`, (rev) => this.#listed(rev, after, limit));
  }

  /** People whom the reader may see and who changed behind a rev, in the order of the changes; as `list`. */
  changes(reader: string, afterRev: number, limit: number): DirectoryReply {
    return this.#reply(reader, `by rev ${limit} ${afterRev}`, () => {
      const { entries, rev, more } = this.changedSince(afterRev, limit);
      return { entries, rev, next: more ? String(rev) : null };
    });
  }

  /**
   * People and bots by the beginnings of the words in their names, of those whom the reader may see and who are active.
   * @throws Refusal `cursor_invalid`.
   */
  async search(reader: string, query: string, after: string | undefined, limit: number): Promise<DirectoryFound> {
    // Read before the people, so that whoever goes on from it misses nothing.
    const { directoryRev: rev } = this.#accounts;
    const mayReach = this.#access.reachOf('see', reader);
    const form = { query, order: 'fit', after, limit } as const;
    const isShown: SearchForm['isShown'] = ({ state, user }) => state === 'active' && mayReach(user);
    const { users, next } = await this.#search.find({ ...form, isShown });
    return { items: users.flatMap((user) => this.entry(user) ?? []), next, rev, scope: this.#scopeNow() };
  }

  /** Those of the named whom the reader may see, in that order: who is not there is left out like who may not be seen. */
  named(reader: string, users: readonly string[]): DirectoryFound {
    const { directoryRev: rev } = this.#accounts;
    const mayReach = this.#access.reachOf('see', reader);
    const entries = [...new Set(users)].map((user) => ({ entry: this.entry(user), isVisible: mayReach(user) }));
    const items = entries.flatMap(({ entry, isVisible }) => (entry !== undefined && isVisible ? [entry] : []));
    return { items, next: null, rev, scope: this.#scopeNow() };
  }

  /** As `search`, for those who run the installation: whatever the policies say. */
  async find(form: SearchForm): Promise<{ users: string[]; next: string | null }> {
    return await this.#search.find(form);
  }

  /** Reads all names for search, beside other work; `failed` is told of what goes wrong. */
  startSearch(failed: (error: unknown) => void): void {
    this.#search.catchUp().catch(failed);
  }

  stopSearch(): void {
    this.#search.stop();
  }

  /** Everybody who changed behind a rev, whatever the access policies say; go on from `rev` while there is `more`. */
  changedSince(afterRev: number, limit: number): { entries: DirectoryEntry[]; rev: number; more: boolean } {
    const { entries: users, ...rest } = this.changedUsers(afterRev, limit);
    return { entries: users.flatMap((user) => this.entry(user) ?? []), ...rest };
  }

  /** As `changedSince`, usernames alone: also of who is not there any more. */
  changedUsers(afterRev: number, limit: number): { entries: string[]; rev: number; more: boolean } {
    const { directoryRev } = this.#accounts;
    const lines = this.#accounts.documents(directoryLog, { after: revId(afterRev), limit });
    const last = lines.at(-1);
    const more = lines.length === limit && last !== undefined;
    const rev = more ? Number(last.id) : Math.max(directoryRev, afterRev);
    return { entries: lines.map(({ document }) => document), rev, more };
  }

  /**
   * Usernames that have an e-mail address, given in lower case, in the order in which they got it. Who has had it since
   * before that was kept is not among them.
   */
  holdersOf(email: string): readonly string[] {
    return emailHoldersOf(this.#accounts, email);
  }

  /**
   * One person. @throws Refusal `person_forbidden`: one answer for a person who is not there and one whom the reader
   * may not see, since telling them apart would tell who exists (ERR-05).
   */
  read(reader: string, username: string): DirectoryEntry {
    const entry = this.entry(username);
    // Decided for both alike, so that neither answers sooner.
    const visible = this.#access.allows('see', reader, username);
    if (entry === undefined || !visible) throw new Refusal('person_forbidden');
    const host = entry.kind === 'guest' ? this.#accounts.document(guestRecords, username)?.invitedBy : undefined;
    const isShown = host !== undefined && this.#access.allows('see', reader, host);
    return isShown ? { ...entry, invited_by: host } : entry;
  }

  /** One person or bot, whatever the access policies say; undefined for nobody. */
  entry(username: string): DirectoryEntry | undefined {
    const person = this.#accounts.person(username);
    if (person !== undefined) return entryOf(this.#accounts, person);
    const bot = isBotUser(username) ? this.#accounts.document(botEntries, username) : undefined;
    if (bot === undefined) return undefined;
    const { displayName, state, rev } = bot;
    return { user: username, display_name: displayName, kind: 'bot', state, rev };
  }

  #listed(rev: number, after: string, limit: number): DirectoryPage {
    const people = this.#accounts.people(after, limit).map(({ username }) => username);
    const bots = this.#accounts.documents(botEntries, after === '' ? { limit } : { after, limit }).map(({ id }) => id);
    const users = [...people, ...bots].toSorted((a, b) => (a < b ? -1 : 1)).slice(0, limit);
    const next = users.length < limit ? null : (users.at(-1) ?? null);
    return { entries: users.flatMap((user) => this.entry(user) ?? []), next, rev };
  }

  #reply(reader: string, asked: string, make: (rev: number) => DirectoryPage): DirectoryReply {
    // Read before the people, so that whoever goes on from it misses nothing.
    const rev = this.#accounts.directoryRev;
    const isVisible = (user: string) => this.#access.allows('see', reader, user);
    return this.#pages.reply(rev, asked, this.#scopeNow(), isVisible, () => make(rev));
  }

  /** Changes when a rule about who sees whom did, or the groups that such rules name. */
  #scopeNow(): string {
    const { snapshot } = this.#access;
    if (this.#scope?.of !== snapshot) {
      const rules = snapshot.rules.filter(({ action }) => action === 'see');
      const groups = rules.flatMap(({ from, to }) => [from, to]).map((name) => snapshot.groups[name]);
      const text = JSON.stringify([rules, groups]);
      this.#scope = { of: snapshot, hash: createHash('sha256').update(text).digest('hex').slice(0, 16) };
    }
    return this.#scope.hash;
  }
}

/** A change number as the id of a line, whose order is that of the numbers. */
function revId(rev: number): string {
  return String(rev).padStart(16, '0');
}
