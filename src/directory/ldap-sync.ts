/**
 * Keeps people and groups as a directory server has them: whole, page by page, again and again. Somebody who is
 * disabled or gone there is blocked here, and comes back with it; who was blocked here stays so.
 *
 *     pages of people ──► made, bound, changed, unblocked ──► whole? ──► who is gone or disabled ──► not too many? ──► blocked
 *
 * A round that broke off blocks nobody, and one that would block many stops with an alert: then it is the directory
 * that is wrong, or the settings. Owners are never blocked by it.
 *
 * Rounds may be hours apart. Who is disabled is asked for by itself between them, four times a minute: somebody who was
 * disabled is out within a minute, whatever the settings say. Who is gone from the server is seen by a round alone.
 */
import { setImmediate as yieldTurn } from 'node:timers/promises';
import { isDeepStrictEqual } from 'node:util';
import type { Clock } from '#src/base/clock.ts';
import { consoleRoleOf } from '#src/identity/console/console-role-record.ts';
import type { SessionAnnouncer } from '#src/identity/credentials/revocations.ts';
import { LdapDirectory, type LdapPerson, type LdapSettings } from '#src/identity/ldap/ldap-directory.ts';
import { bindToDirectory, mayBeMade } from '#src/identity/ldap/ldap-sign-in.ts';
import { identitiesOfIssuer, personBoundTo } from '#src/identity/single-sign-on/person-identities.ts';
import { Refusal } from '#src/protocol/errors.ts';
import type { Logger } from '#src/telemetry/logger.ts';
import type { Accounts, AccountsDraft } from '#storage/accounts/accounts.ts';
import { noteGivenEmail, profileOf, putPerson, putProfile } from './directory.ts';
import { blockByWord, unblockByWord, type ForeignWord } from './foreign-blocks.ts';
import { DirectoryGroups } from './groups/ldap-groups.ts';
import type { Groups } from './groups/groups.ts';
import { addForeignPerson } from './people.ts';

/** People judged in one change, so that no change holds the thread for long. */
const PEOPLE_PER_CHANGE = 100;

/** So many may go at once however few there are: in a small office one is a large share. */
const BLOCKED_AT_ONCE_MIN = 3;

/** How often it is looked at whether a round is due: what the settings say since counts within it. */
const IDLE_MILLIS = 5_000;

/** How long after one look at who is disabled the next one begins, so that they are out within a minute. */
const DISABLED_LOOK_MILLIS = 15_000;

/** Of a text of the directory that stands in a profile. */
const TEXT_LENGTH_MAX = 100;

const BY_SERVER = { actor: 'server', address: null } as const;

export interface LdapSyncOptions {
  readonly accounts: Accounts;
  readonly announcer: Pick<SessionAnnouncer, 'directoryChanged' | 'revoked'>;
  readonly clock: Clock;
  readonly directory: LdapDirectory;
  /** Told when something went wrong with it, or well again. */
  readonly faultChanged: () => void;
  readonly groups: Groups;
  readonly log: Pick<Logger, 'warn'>;
  /** The hash of a password that nobody was ever told. */
  readonly unknownHash: () => Promise<string>;
}

/** What is wrong with the sync, for the alerts. */
export interface LdapSyncFault {
  readonly kind: 'directory_sync_stopped' | 'directory_unreachable';
  readonly details: string;
}

/** People of one round. */
interface Round {
  readonly settings: LdapSettings;
  readonly issuer: string;
  /** Ids of those who are there and not disabled. */
  readonly present: Set<string>;
  /** Distinguished name, in lower case → who that is here. */
  readonly names: Map<string, string>;
  readonly passwordHash: string;
}

export class LdapSync {
  readonly #options: LdapSyncOptions;
  readonly #groups: DirectoryGroups;
  readonly #stopping = new AbortController();
  readonly #loops: readonly Loop[];
  #fault: LdapSyncFault | undefined;
  /** When the next round is due, on the clock of `performance`, and by which settings the one before went. */
  #dueAt = 0;
  #settings: LdapSettings | undefined;

  constructor(options: LdapSyncOptions) {
    this.#options = options;
    this.#groups = new DirectoryGroups(options);
    const { signal } = this.#stopping;
    this.#loops = [
      new Loop(signal, async () => Math.min(await this.#run(), IDLE_MILLIS)),
      new Loop(signal, async () => await this.#look()),
    ];
  }

  get fault(): LdapSyncFault | undefined {
    return this.#fault;
  }

  start(): void {
    for (const loop of this.#loops) loop.wait(0);
  }

  async stop(): Promise<void> {
    this.#stopping.abort();
    for (const loop of this.#loops) await loop.end();
  }

  /** One round where it is due; answers after how long the next one is, in milliseconds. */
  async #run(): Promise<number> {
    const { directory, log } = this.#options;
    try {
      const settings = directory.settings();
      if (settings === undefined) {
        this.#settings = undefined;
        this.#note(undefined);
        return IDLE_MILLIS;
      }
      const left = this.#dueAt - performance.now();
      if (left > 0 && isDeepStrictEqual(settings, this.#settings)) return left;
      this.#settings = settings;
      this.#note(await this.#sync(settings));
      this.#dueAt = performance.now() + settings.syncSeconds * 1_000;
      return settings.syncSeconds * 1_000;
    } catch (error) {
      if (this.#stopping.signal.aborted) return 0;
      this.#dueAt = 0;
      const code = error instanceof Refusal ? error.code : 'internal';
      this.#note({ kind: 'directory_unreachable', details: code });
      log.warn('the directory server was not synced', { code, error: code === 'internal' ? error : undefined });
      return IDLE_MILLIS;
    }
  }

  /**
   * Blocks who is disabled, however long ago the last round was. Where that cannot be told, or would be too many, a round
   * is due, which says so by an alert. Answers after how long the next look is due, in milliseconds.
   */
  async #look(): Promise<number> {
    const { directory, log } = this.#options;
    try {
      const settings = directory.settings();
      if (settings !== undefined && !(await this.#blockDisabled(settings))) this.#hasten();
    } catch (error) {
      if (this.#stopping.signal.aborted) return 0;
      if (!(error instanceof Refusal)) log.warn('who is disabled at the directory server was not looked at', { error });
      this.#hasten();
    }
    return DISABLED_LOOK_MILLIS;
  }

  /** Where something is wrong already, rounds say so at their own pace. */
  #hasten(): void {
    if (this.#fault === undefined) this.#dueAt = 0;
  }

  #note(fault: LdapSyncFault | undefined): void {
    const isOther = fault?.kind !== this.#fault?.kind;
    this.#fault = fault;
    if (isOther) this.#options.faultChanged();
  }

  async #sync(settings: LdapSettings): Promise<LdapSyncFault | undefined> {
    const { directory, unknownHash } = this.#options;
    const issuer = LdapDirectory.issuerOf(settings);
    const passwordHash = await unknownHash();
    const round: Round = { settings, issuer, present: new Set(), names: new Map(), passwordHash };
    await directory.people(settings, async (page) => {
      for (let at = 0; at < page.length; at += PEOPLE_PER_CHANGE) {
        this.#stopping.signal.throwIfAborted();
        await this.#take(round, page.slice(at, at + PEOPLE_PER_CHANGE));
      }
    });
    const fault = await this.#blockAbsent(round);
    await directory.groups(settings, async (page) => await this.#groups.take(issuer, page, round.names));
    return fault;
  }

  /** Takes over what the server says of some people. */
  async #take(round: Round, people: readonly LdapPerson[]): Promise<void> {
    const { accounts, announcer } = this.#options;
    const changed = await accounts.change((draft) => people.flatMap((person) => this.#takeOne(draft, round, person)));
    for (const { rev, username } of changed) announcer.directoryChanged(username, rev);
    await yieldTurn();
  }

  #takeOne(draft: AccountsDraft, round: Round, person: LdapPerson): { username: string; rev: number }[] {
    const { clock } = this.#options;
    const { issuer, names, passwordHash, present, settings } = round;
    const account = { issuer, subject: person.id };
    if (!person.isDisabled) present.add(person.id);
    const username = personBoundTo(draft, account);
    if (username === undefined) {
      const isNew = settings.createsPeople && !person.isDisabled && person.username !== undefined;
      if (!isNew || !mayBeMade(draft, person.username)) return [];
      names.set(person.dn.toLowerCase(), person.username);
      const now = clock.now();
      return [
        {
          username: person.username,
          rev: makeFromDirectory(draft, person.username, person, { issuer, now, passwordHash }),
        },
      ];
    }
    const record = draft.person(username);
    if (record === undefined || record.state === 'left') return [];
    names.set(person.dn.toLowerCase(), username);
    const now = clock.now();
    const unblocked = person.isDisabled ? undefined : unblockByWord(draft, record, wordOf(issuer, now));
    const isChanged = takeProfile(draft, username, person, now);
    if (unblocked === undefined && !isChanged) return [];
    return [{ username, rev: putPerson(draft, unblocked ?? record) }];
  }

  /** Blocks who is disabled or gone, unless these are too many. */
  async #blockAbsent({ issuer, present, settings }: Round): Promise<LdapSyncFault | undefined> {
    const absent: string[] = [];
    const bound = await this.#walkBound(issuer, (subject, username) => {
      if (!present.has(subject)) absent.push(username);
    });
    const most = mostAtOnce(bound, settings);
    if (absent.length > most) {
      return {
        kind: 'directory_sync_stopped',
        details: `${absent.length} of ${bound} people would be blocked, ${most} may be`,
      };
    }
    await this.#blockAll(issuer, absent);
    return undefined;
  }

  /** Blocks whom the server says are disabled; answers whether they were few enough, and blocks nobody otherwise. */
  async #blockDisabled(settings: LdapSettings): Promise<boolean> {
    const { accounts, directory } = this.#options;
    const issuer = LdapDirectory.issuerOf(settings);
    const disabled = new Set<string>();
    await directory.disabled(settings, async (page) => {
      this.#stopping.signal.throwIfAborted();
      for (const { id } of page) {
        const username = personBoundTo(accounts, { issuer, subject: id });
        if (username !== undefined && this.#mayBeBlocked(username)) disabled.add(username);
      }
      await yieldTurn();
    });
    if (disabled.size > BLOCKED_AT_ONCE_MIN) {
      const bound = await this.#walkBound(issuer, () => undefined);
      if (disabled.size > mostAtOnce(bound, settings)) return false;
    }
    await this.#blockAll(issuer, [...disabled]);
    return true;
  }

  /** Everybody of the server who is in and may be blocked by it; answers how many these are. */
  async #walkBound(issuer: string, take: (subject: string, username: string) => void): Promise<number> {
    let bound = 0;
    for (const page of identitiesOfIssuer(this.#options.accounts, issuer, PEOPLE_PER_CHANGE)) {
      this.#stopping.signal.throwIfAborted();
      for (const { subject, username } of page) {
        if (!this.#mayBeBlocked(username)) continue;
        bound += 1;
        take(subject, username);
      }
      await yieldTurn();
    }
    return bound;
  }

  #mayBeBlocked(username: string): boolean {
    const { accounts } = this.#options;
    const person = accounts.person(username);
    return person?.state === 'active' && person.role !== 'owner' && consoleRoleOf(accounts, username) !== 'owner';
  }

  async #blockAll(issuer: string, usernames: readonly string[]): Promise<void> {
    for (let at = 0; at < usernames.length; at += PEOPLE_PER_CHANGE) {
      await this.#block(issuer, usernames.slice(at, at + PEOPLE_PER_CHANGE));
    }
  }

  async #block(issuer: string, usernames: readonly string[]): Promise<void> {
    const { accounts, announcer, clock } = this.#options;
    const blocked = await accounts.change((draft) =>
      usernames.flatMap((username) => {
        const person = draft.person(username);
        if (person?.state !== 'active' || person.role === 'owner') return [];
        const done = blockByWord(draft, person, wordOf(issuer, clock.now()));
        return done === undefined ? [] : [{ username, ...done }];
      }),
    );
    const revoked = blocked.flatMap((each) => each.revoked);
    if (revoked.length > 0) await announcer.revoked(revoked);
    for (const { rev, username } of blocked) announcer.directoryChanged(username, rev);
  }
}

/** Does something again and again until it is stopped, each time as many milliseconds later as the time before said. */
class Loop {
  readonly #signal: AbortSignal;
  readonly #work: () => Promise<number>;
  #timer: NodeJS.Timeout | undefined;
  #running: Promise<void> = Promise.resolve();

  constructor(signal: AbortSignal, work: () => Promise<number>) {
    this.#signal = signal;
    this.#work = work;
  }

  wait(millis: number): void {
    if (this.#signal.aborted) return;
    this.#timer = setTimeout(() => {
      this.#running = this.#goOn();
    }, millis).unref();
  }

  async end(): Promise<void> {
    clearTimeout(this.#timer);
    await this.#running;
  }

  async #goOn(): Promise<void> {
    this.wait(await this.#work());
  }
}

/** How many of so many people may be blocked at once. */
function mostAtOnce(bound: number, { blockPercentMax }: Pick<LdapSettings, 'blockPercentMax'>): number {
  return Math.max(BLOCKED_AT_ONCE_MIN, Math.floor((bound * blockPercentMax) / 100));
}

function wordOf(issuer: string, now: number): ForeignWord {
  return { issuer, by: BY_SERVER, said: 'directory', now };
}

/** Makes somebody whom the directory server has, bound to their account there; answers the directory's change number. */
export function makeFromDirectory(
  draft: AccountsDraft,
  username: string,
  person: LdapPerson,
  { issuer, now, passwordHash }: { readonly issuer: string; readonly now: number; readonly passwordHash: string },
): number {
  const { displayName, email } = shownOf(person);
  const rev = addForeignPerson(draft, { username, displayName, email, passwordHash, by: BY_SERVER, now });
  bindToDirectory(draft, username, { issuer, subject: person.id }, now);
  return rev;
}

/** Takes over name and address where they differ; answers whether they did. What the server does not say stays. */
function takeProfile(draft: AccountsDraft, username: string, person: LdapPerson, now: number): boolean {
  const { displayName, email } = shownOf(person);
  const before = profileOf(draft, username);
  const after = { display_name: displayName ?? before.display_name, email: email ?? before.email };
  if (after.display_name === before.display_name && after.email === before.email) return false;
  putProfile(draft, username, after);
  // In many directories people write it themselves: a provider's word on it opens nothing.
  if (after.email?.toLowerCase() !== before.email?.toLowerCase()) noteGivenEmail(draft, username);
  const details = { before: { display_name: before.display_name, email: before.email }, after };
  draft.audit(now, { event: 'user.changed', ...BY_SERVER, subject: `user:${username}`, details });
  return true;
}

/** What of a person's entry a profile can hold. */
function shownOf({ displayName, email }: LdapPerson) {
  const isAddress = email !== undefined && email.length <= 254 && /^[^\s@\p{Cc}]+@[^\s@\p{Cc}]+$/u.test(email);
  const name = displayName?.replaceAll(/\p{Cc}/gu, ' ').slice(0, TEXT_LENGTH_MAX);
  return { displayName: name === '' ? undefined : name, email: isAddress ? email : undefined };
}
