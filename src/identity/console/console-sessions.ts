/**
 * Console sessions (CRD-08): opaque tokens, stored hashed, in one document per person, so that whoever changes a
 * person ends their sessions in the same change. They are looked up at every request: what has ended opens nothing
 * from then on.
 *
 *     opened ──► set-up only ──code confirmed──► full ──┬─ 30 minutes idle, 12 hours at all ─► over
 *        └──────code, SSO, break-glass───────────►──────┴─ signed out, blocked, other role or password ─► gone
 */
import { createHash } from 'node:crypto';
import { hashSecret, makeSecret, sameHash, SECRET_PATTERN } from '../credentials/opaque-secrets.ts';
import { makeId } from '#src/base/ids.ts';
import type { Config } from '#src/config.ts';
import type { ConsoleSessionReader } from './console-authentication.ts';
import type { PersonConsoleRole } from './permissions.ts';
import type { BreakGlass, ConsolePerson } from './principal.ts';
import { Refusal } from '#src/protocol/errors.ts';
import type { Accounts, AccountsDraft } from '#storage/accounts/accounts.ts';
import { defineCollection } from '#storage/accounts/collections.ts';
import { consoleRoleOf } from './console-role-record.ts';
import type { Logger } from '#src/telemetry/logger.ts';

const TOKEN = new RegExp(`^adm_${SECRET_PATTERN}$`);

/** Under what the sessions of the break-glass account are kept: no username begins like this. */
export const BREAK_GLASS_HOLDER = '~break-glass';

/**
 * How long a second factor that was asked again counts: long enough to fill in a form, short enough that a tab somebody
 * left opens no more than a session does. Beyond it: `step_up_required`.
 */
export const STEP_UP_MILLIS = 5 * 60_000;

/** Sessions of one person at once. Beyond it the one unused for longest ends. */
export const CONSOLE_SESSIONS_MAX = 20;

/** The last use of a session is kept in memory and stored at most this often: a flush for every read would be waste. */
export const USE_STORED_MILLIS = 60_000;

/** Tokens that the index may know before it is cleaned: whoever ends sessions leaves theirs behind in it. */
export const INDEX_LEAST = 1_024;

export interface StoredConsoleSession {
  /** SHA-256 of the token, hex. */
  readonly hash: string;
  readonly sid: string;
  readonly signIn: 'password' | 'sso' | 'break_glass';
  /** The role that the identity provider gave; null where the installation's own counts, read at every request. */
  readonly role: PersonConsoleRole | null;
  readonly isFull: boolean;
  /** Milliseconds: when its second factor was asked again; sessions of before that was kept have none. */
  readonly steppedUpAt?: number;
  /** Of the password that opened it; null for a sign-in without one. */
  readonly passwordMark: string | null;
  /** Milliseconds. */
  readonly createdAt: number;
  /** Milliseconds. */
  readonly usedAt: number;
  /** Where it was last used from. */
  readonly address: string;
}

interface SessionsRecord {
  readonly sessions: readonly StoredConsoleSession[];
}

const consoleSessions = defineCollection<SessionsRecord>('console_sessions', { version: 1 });

/** Ends all console sessions of a person, as part of a change: blocked, gone, other role, password or second factor. */
export function endConsoleSessions(draft: AccountsDraft, holder: string): void {
  draft.removeDocument(consoleSessions, holder);
}

/** Ends those sessions of a person that the identity provider opened, as part of a change. */
export function endProviderSessions(draft: AccountsDraft, holder: string): void {
  const sessions = sessionsOf(draft, holder);
  const kept = sessions.filter(({ signIn }) => signIn !== 'sso');
  if (kept.length < sessions.length) draft.putDocument(consoleSessions, holder, { sessions: kept });
}

export interface OpenConsoleSession {
  readonly signIn: StoredConsoleSession['signIn'];
  readonly isFull: boolean;
  readonly role?: PersonConsoleRole;
  readonly passwordHash?: string;
  readonly address: string;
  /** Milliseconds. */
  readonly now: number;
  /** Milliseconds; a sign-in is no step-up, so that only what plants sessions has one. */
  readonly steppedUpAt?: number;
}

export interface OpenedConsoleSession {
  /** Shown to its holder alone. */
  readonly token: string;
  readonly sid: string;
  readonly isFull: boolean;
  /** Milliseconds from which it is over however busy it is. */
  readonly expiresAt: number;
}

interface Known {
  readonly holder: string;
  /** Milliseconds: the last use, which is stored later, and when it was last given to be stored. */
  usedAt: number;
  storedAt: number;
}

export interface ConsoleSessionsOptions {
  readonly accounts: Accounts;
  readonly config: Pick<Config, 'consoleIdleSeconds' | 'consoleSessionSeconds'>;
  readonly log: Pick<Logger, 'warn'>;
}

export class ConsoleSessions implements ConsoleSessionReader {
  readonly #options: ConsoleSessionsOptions;
  /** Hash of a token → whose it is. */
  readonly #index = new Map<string, Known>();
  #indexMax = INDEX_LEAST;

  constructor(options: ConsoleSessionsOptions) {
    this.#options = options;
    for (const { id: holder, document } of options.accounts.documents(consoleSessions)) {
      for (const { hash, usedAt } of document.sessions) this.#index.set(hash, { holder, usedAt, storedAt: usedAt });
    }
  }

  get idleSeconds(): number {
    return this.#options.config.consoleIdleSeconds;
  }

  /** Tokens that the index knows, those of ended sessions that were not cleaned out yet among them. */
  get known(): number {
    return this.#index.size;
  }

  /** Opens a session as part of a change; the token works when the change is on disk. */
  open(draft: AccountsDraft, holder: string, open: OpenConsoleSession): OpenedConsoleSession {
    const token = `adm_${makeSecret()}`;
    const opened: StoredConsoleSession = {
      hash: hashSecret(token),
      sid: makeId('s', open.now),
      signIn: open.signIn,
      role: open.role ?? null,
      isFull: open.isFull,
      ...(open.steppedUpAt === undefined ? {} : { steppedUpAt: open.steppedUpAt }),
      passwordMark: open.passwordHash === undefined ? null : markOf(open.passwordHash),
      createdAt: open.now,
      usedAt: open.now,
      address: open.address,
    };
    const live = sessionsOf(draft, holder).filter((session) => !this.#isOver(session, open.now));
    const kept = live.toSorted((a, b) => b.usedAt - a.usedAt).slice(0, CONSOLE_SESSIONS_MAX - 1);
    draft.putDocument(consoleSessions, holder, { sessions: [...kept, opened] });
    if (this.#index.size >= this.#indexMax) this.#cleanIndex(open.now);
    this.#index.set(opened.hash, { holder, usedAt: open.now, storedAt: open.now });
    return { token, sid: opened.sid, isFull: open.isFull, expiresAt: this.#endOf(opened) };
  }

  /** Makes a session full, as part of a change, and ends its holder's others: they have not proven the factor. */
  makeFull(draft: AccountsDraft, holder: string, sid: string): void {
    const session = sessionsOf(draft, holder).find((each) => each.sid === sid);
    if (session === undefined) throw new Refusal('token_invalid');
    draft.putDocument(consoleSessions, holder, { sessions: [{ ...session, isFull: true }] });
  }

  /**
   * Has a session count as stepped up from an instant on, as part of a change; answers until when, in milliseconds.
   * @throws Refusal `token_invalid` for one that ended meanwhile.
   */
  stepUp(draft: AccountsDraft, holder: string, sid: string, nowMillis: number): number {
    const sessions = sessionsOf(draft, holder);
    if (!sessions.some((each) => each.sid === sid)) throw new Refusal('token_invalid');
    const stepped = sessions.map((each) => (each.sid === sid ? { ...each, steppedUpAt: nowMillis } : each));
    draft.putDocument(consoleSessions, holder, { sessions: stepped });
    return nowMillis + STEP_UP_MILLIS;
  }

  /** Ends one session as part of a change. */
  end(draft: AccountsDraft, holder: string, sid: string): void {
    const sessions = sessionsOf(draft, holder).filter((each) => each.sid !== sid);
    draft.putDocument(consoleSessions, holder, { sessions });
  }

  /**
   * Who a token stands for; counts as use.
   * @throws Refusal `token_invalid` for what is no session of ours or was ended, `session_over` past its time.
   */
  read(token: string, address: string, nowMillis: number): ConsolePerson | BreakGlass {
    if (!TOKEN.test(token)) throw new Refusal('token_invalid');
    const hash = hashSecret(token);
    const known = this.#index.get(hash);
    const session = known === undefined ? undefined : this.#stored(known.holder, hash);
    if (known === undefined || session === undefined) {
      this.#index.delete(hash);
      throw new Refusal('token_invalid');
    }
    if (this.#isOver(session, nowMillis)) throw new Refusal('session_over');
    const principal = this.#principal(known.holder, session);
    this.#use(known, session, address, nowMillis);
    return principal;
  }

  #stored(holder: string, hash: string): StoredConsoleSession | undefined {
    const sessions = this.#options.accounts.document(consoleSessions, holder)?.sessions;
    return sessions?.find((session) => sameHash(session.hash, hash));
  }

  #principal(holder: string, session: StoredConsoleSession): ConsolePerson | BreakGlass {
    const { sid, isFull, passwordMark, steppedUpAt } = session;
    const steppedUpUntil = steppedUpAt === undefined ? 0 : steppedUpAt + STEP_UP_MILLIS;
    if (session.signIn === 'break_glass') return { kind: 'break_glass', role: 'owner', sid, steppedUpUntil };
    const { accounts } = this.#options;
    const person = accounts.person(holder);
    // Somebody whom only the identity provider knows has no record here; a blocked person has, and is kept out.
    const isKeptOut = person === undefined ? session.role === null : person.state !== 'active';
    const isOfOtherPassword = passwordMark !== null && passwordMark !== markOf(person?.passwordHash ?? '');
    const role = session.role ?? consoleRoleOf(accounts, holder);
    if (isKeptOut || isOfOtherPassword || role === undefined) throw new Refusal('token_invalid');
    return { kind: 'person', username: holder, role, signIn: session.signIn, sid, isFull, steppedUpUntil };
  }

  #isOver(session: StoredConsoleSession, nowMillis: number): boolean {
    const usedAt = Math.max(session.usedAt, this.#index.get(session.hash)?.usedAt ?? 0);
    return nowMillis >= this.#endOf(session) || nowMillis >= usedAt + this.idleSeconds * 1000;
  }

  #endOf(session: StoredConsoleSession): number {
    return session.createdAt + this.#options.config.consoleSessionSeconds * 1000;
  }

  /** Remembers a use. Nobody waits for it to be stored: a crash costs the session a minute of its idle life. */
  #use(known: Known, { sid }: StoredConsoleSession, address: string, nowMillis: number): void {
    known.usedAt = Math.max(known.usedAt, nowMillis);
    if (nowMillis < known.storedAt + USE_STORED_MILLIS) return;
    known.storedAt = nowMillis;
    const { accounts, log } = this.#options;
    const stored = accounts.change((draft) => {
      const sessions = sessionsOf(draft, known.holder);
      if (!sessions.some((session) => session.sid === sid)) return;
      const used = sessions.map((each) => (each.sid === sid ? { ...each, usedAt: known.usedAt, address } : each));
      draft.putDocument(consoleSessions, known.holder, { sessions: used });
    });
    stored.catch((error: unknown) => log.warn('the use of a console session was not stored', { error }));
  }

  #cleanIndex(nowMillis: number): void {
    for (const [hash, { holder, usedAt }] of this.#index) {
      // One that was just opened may be on its way to the disk.
      if (nowMillis >= usedAt + USE_STORED_MILLIS && this.#stored(holder, hash) === undefined) this.#index.delete(hash);
    }
    this.#indexMax = Math.max(INDEX_LEAST, this.#index.size * 2);
  }
}

function sessionsOf(draft: AccountsDraft, holder: string): readonly StoredConsoleSession[] {
  return draft.document(consoleSessions, holder)?.sessions ?? [];
}

/** A mark by which another password shows, and from which nothing of this one follows. */
function markOf(passwordHash: string): string {
  return createHash('sha256').update(passwordHash).digest('base64url').slice(0, 16);
}
