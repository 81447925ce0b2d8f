/**
 * Erasing people: what they said and did goes, their username stays taken, and the audit trail stays true. The account
 * is closed and emptied in one change; their calendars follow, and their conversations one after the other, in steps that
 * a restart goes on with. So do what calendars of others and the audit trail say of them: see `audit-traces.ts`. Their messages stay as stubs, so that no seq is missing. Then follows what others wrote of them:
 * forwards of their words and their name in mentions. What a legal hold keeps of all that stays, and the erasure waits:
 * when a hold ends, it goes over everything again, since what was kept may have been passed on meanwhile.
 */
import type { Address, Answer, Tell } from '#actors/runtime/actor.ts';
import type { ErasureStep } from '#actors/conversation/erasing.ts';
import type { Passwords } from '#src/identity/credentials/passwords.ts';
import { makeId, randomSymbols } from '#src/base/ids.ts';
import type { SessionAnnouncer } from '#src/identity/credentials/revocations.ts';
import type { Clock } from '#src/base/clock.ts';
import { formatInstant } from '#src/base/time.ts';
import { Refusal } from '#src/protocol/errors.ts';
import type { PersonRecord } from '#storage/accounts/account-records.ts';
import type { Accounts, AccountsDraft } from '#storage/accounts/accounts.ts';
import { eraseCalendarsOf } from '#storage/calendars/calendar-erasure.ts';
import type { Calendars } from '#storage/calendars/calendars.ts';
import { defineCollection } from '#storage/accounts/collections.ts';
import { readMembershipIds } from '#storage/conversations/inbox-reader.ts';
import { readInvitedIds } from '#storage/conversations/room-invitations.ts';
import type { Lanes } from '#storage/engine/lanes.ts';
import { removeAppPasswords } from '#src/identity/app-passwords.ts';
import { consoleRoles } from '#src/identity/console/console-role-record.ts';
import { endConsoleSessions } from '#src/identity/console/console-sessions.ts';
import { forgetProvisioned } from '#src/scim/scim-people.ts';
import { forgetPerson } from '#src/identity/single-sign-on/person-identities.ts';
import { forgetIdentity } from '#src/identity/single-sign-on/sso-bindings.ts';
import { eraseFromAudit, readFormerNames } from './audit-traces.ts';
import { eraseFromRooms } from './room-traces.ts';
import { eraseTraces, NO_TRACES, PASS_START, type TraceProgress } from './erasure-traces.ts';
import { groupRecords, type AccessControl } from '#src/directory/access-control.ts';
import { removeAvatar } from '#src/directory/avatars.ts';
import { removeNotifications } from '#src/identity/notifications.ts';
import { forgetConfirmedEmail } from '#src/identity/confirmed-emails.ts';
import { forgetNotices } from '#src/identity/security-notices.ts';
import { removePersonalFields } from '#src/identity/personal-fields.ts';
import { removeResetLink } from '#src/directory/password-resets.ts';
import { NO_PROFILE, profileOf, putPerson, putProfile } from '#src/directory/directory.ts';
import { forgetEnrollments } from '#src/directory/enrollment.ts';
import { leaveGroups } from '#src/directory/groups/groups.ts';
import { removeUse } from '#storage/accounts/daily-use.ts';
import type { Logger } from '#src/telemetry/logger.ts';
import type { AuditActor } from '#storage/accounts/audit-chain.ts';
import type { CloseCheck } from '#src/directory/people.ts';
import { guestRecords, removeGuest } from '#src/identity/guest-records.ts';
import { readHoldEndings } from './retention.ts';
import { forgetAsked } from '#src/identity/second-factors/client-factors.ts';
import type { SecondFactors } from '#src/identity/console/second-factors.ts';
import { endSessions } from '#src/identity/device-sessions.ts';

interface ErasureRecord {
  readonly user: string;
  readonly startedAt: string;
  readonly startedBy: string;
  /** When the last pass over everything ended; null while one is under way. Done is what no hold kept anything of. */
  readonly doneAt: string | null;
  /** What `readHoldEndings` answered when that pass began; none before there were further passes. */
  readonly holdEndings?: number;
  /** Conversations up to here, in their order by lane and id, are done. */
  readonly lane: number;
  readonly after: string;
  readonly conversations: number;
  readonly messages: number;
  readonly bytes: number;
  /** Conversations under a legal hold, which stay as they are. */
  readonly held: number;
  /** How far the search is for what others wrote of the person; none before it begins. */
  readonly traces?: TraceProgress;
  /** What they were called, their address and number, until these are nowhere any more: null from then on. */
  readonly names?: PersonalNames | null;
}

/** By what a person is named to others. */
export interface PersonalNames {
  readonly displayName: string | null;
  readonly email: string | null;
  readonly phone: string | null;
}

/** Takes somebody out of entries in the calendars of others; false when the server stops meanwhile. */
export type EraseFromEntries = (user: string, names: readonly string[], isStopping: () => boolean) => Promise<boolean>;

const erasures = defineCollection<ErasureRecord>('erasures', { version: 1 });

/** How long one step of one conversation may take; a thread that restarts is asked again. */
const STEP_MILLIS = 10_000;
/** After a step that was refused or not answered. */
const RETRY_MILLIS = 1_000;
/** Conversations whose ids are read in one go. */
const READ_AT_ONCE = 200;
/** Erasures in one page of the list. */
export const ERASURES_PAGE_MAX = 100;

export interface ErasuresOptions {
  readonly accounts: Accounts;
  readonly access: Pick<AccessControl, 'refresh'>;
  readonly announcer: Pick<SessionAnnouncer, 'revoked' | 'directoryChanged' | 'groupChanged'>;
  readonly clock: Clock;
  readonly lanes: Pick<Lanes, 'environments' | 'requireWhole'>;
  readonly log: Logger;
  readonly passwords: Pick<Passwords, 'hash'>;
  readonly secondFactors: Pick<SecondFactors, 'forget'>;
  readonly ask: (to: Address, message: Tell, millis: number) => Promise<Answer>;
}

/** An erasure as an administrator sees it. */
export interface Erasure {
  readonly id: string;
  readonly user: string;
  /** `waiting` for a legal hold to end. */
  readonly state: 'running' | 'waiting' | 'done';
  readonly started_at: string;
  readonly started_by: string;
  readonly done_at: string | null;
  readonly conversations: number;
  readonly messages: number;
  readonly bytes: number;
  readonly held: number;
  readonly forwards: number;
  readonly names: number;
  readonly kept: number;
}

export class Erasures {
  readonly #options: ErasuresOptions;
  readonly #stopping = new AbortController();
  #turn: Promise<void> = Promise.resolve();
  #calendars: Calendars | undefined;
  #eraseFromEntries: EraseFromEntries | undefined;

  constructor(options: ErasuresOptions) {
    this.#options = options;
  }

  /** Goes on with what a restart interrupted; what is begun before waits for this. */
  start(calendars: Calendars, eraseFromEntries: EraseFromEntries): void {
    this.#calendars = calendars;
    this.#eraseFromEntries = eraseFromEntries;
    this.goOn();
  }

  /** Goes on with what is not done, as far as a hold may have ended that it waits for. */
  goOn(): void {
    for (const { id, document } of this.#options.accounts.documents(erasures)) {
      if (stateOf(document) !== 'done') this.#queue(id);
    }
  }

  async stop(): Promise<void> {
    this.#stopping.abort();
    await this.#turn;
  }

  /**
   * Begins to erase a person, or answers the erasure that there is. Their account is closed and empty when this
   * resolves.
   * @throws Refusal `person_not_found`, `last_owner_required`, `busy`.
   */
  async erase(user: string, by: AuditActor, check: CloseCheck): Promise<Erasure> {
    const { access, accounts, announcer, clock, passwords, secondFactors } = this.#options;
    // Of a password that nobody was ever told.
    const passwordHash = await passwords.hash(randomSymbols(32));
    const now = clock.now();
    const id = makeId('ers', now);
    const begun = await accounts.change((draft) => {
      const known = accounts.documents(erasures).find(({ document }) => document.user === user);
      if (known !== undefined) return { id: known.id, revoked: [], rev: undefined, groups: [] };
      const person = draft.person(user);
      if (person === undefined) throw new Refusal('person_not_found');
      check(draft);
      const revoked = endSessions(draft, user);
      secondFactors.forget(draft, user);
      forgetAsked(draft, user);
      forgetIdentity(draft, user);
      forgetPerson(draft, user);
      const names = namesOf(draft, user);
      const groups = leaveGroups(draft, accounts.documents(groupRecords), user, by, now);
      forgetEnrollments(accounts, draft, user);
      const rev = emptyAccount(draft, { ...person, state: 'left', passwordHash });
      draft.putDocument(erasures, id, {
        user,
        startedAt: formatInstant(now),
        startedBy: by.actor,
        doneAt: null,
        holdEndings: readHoldEndings(draft),
        names,
        ...{ lane: 0, after: '', conversations: 0, messages: 0, bytes: 0, held: 0 },
      });
      const details = { erasure: id, before: person.state, sessions_ended: revoked.length };
      draft.audit(now, { event: 'user.erasure_started', ...by, subject: `user:${user}`, details });
      return { id, revoked, rev, groups };
    });
    if (begun.revoked.length > 0) await announcer.revoked(begun.revoked);
    if (begun.groups.length > 0) await access.refresh();
    for (const { id: group, rev } of begun.groups) announcer.groupChanged(group, rev);
    if (begun.rev !== undefined) {
      announcer.directoryChanged(user, begun.rev);
      this.#queue(begun.id);
    }
    return this.read(begun.id);
  }

  /** @throws Refusal `erasure_not_found`. */
  read(id: string): Erasure {
    const record = this.#options.accounts.document(erasures, id);
    if (record === undefined) throw new Refusal('erasure_not_found');
    return viewOf(id, record);
  }

  /** In the order of their making, behind `after`. */
  list(after: string | undefined, limit: number): { items: Erasure[]; next: string | null } {
    const found = this.#options.accounts.documents(erasures, { ...(after === undefined ? {} : { after }), limit });
    const items = found.map(({ id, document }) => viewOf(id, document));
    return { items, next: items.length < limit ? null : (items.at(-1)?.id ?? null) };
  }

  /** One after the other: nobody waits for an erasure, and people wait for the lanes. */
  #queue(id: string): void {
    this.#turn = this.#turn.then(async () => await this.#run(id));
  }

  async #run(id: string): Promise<void> {
    const { accounts, lanes, log } = this.#options;
    try {
      if (!(await this.#begin(id)) || !(await this.#eraseCalendars(id)) || !(await this.#eraseNames(id))) return;
      for (;;) {
        // What lies in a lane that cannot be read would be left, and the erasure said to be done.
        lanes.requireWhole();
        const record = accounts.document(erasures, id);
        if (record === undefined || this.#stopping.signal.aborted) return;
        const { lane, after, user } = record;
        const environment = lanes.environments[lane];
        if (environment === undefined) {
          if (!(await this.#eraseTraces(id, record))) return;
          // Once more for what was under way when the account was closed.
          if (await this.#eraseCalendars(id)) await this.#finish(id);
          return;
        }
        environment.refresh();
        const took = readMembershipIds(environment.tables, user, after, READ_AT_ONCE);
        const asked = readInvitedIds(environment.tables, user, after);
        const ids = [...new Set([...took, ...asked])].toSorted().slice(0, READ_AT_ONCE);
        for (const conversation of ids) if (!(await this.#eraseIn(id, conversation))) return;
        if (ids.length < READ_AT_ONCE) await this.#note(id, { lane: lane + 1, after: '' });
      }
    } catch (error) {
      log.error('an erasure stopped; the next start goes on with it', { erasure: id, error: error as Error });
    }
  }

  /** Whether there is something to do. What waits begins from the start where a hold has ended since its last pass began. */
  async #begin(id: string): Promise<boolean> {
    return await this.#options.accounts.change((draft) => {
      const record = draft.document(erasures, id);
      if (record === undefined || record.doneAt === null) return record !== undefined;
      const endings = readHoldEndings(draft);
      if (stateOf(record) === 'done' || record.holdEndings === endings) return false;
      const traces = { ...(record.traces ?? NO_TRACES), ...PASS_START };
      const from = { lane: 0, after: '', conversations: 0, held: 0, traces };
      draft.putDocument(erasures, id, { ...record, ...from, doneAt: null, holdEndings: endings });
      return true;
    });
  }

  /** Erases what others wrote of the person; false when the server stops meanwhile. */
  async #eraseTraces(id: string, { traces, user }: ErasureRecord): Promise<boolean> {
    const done = await eraseTraces(user, traces ?? NO_TRACES, {
      ...this.#tracing(),
      note: async (progress) => await this.#note(id, { traces: progress }),
    });
    if (done !== undefined) await this.#note(id, { traces: done });
    return done !== undefined;
  }

  /** What the searches through the lanes need. */
  #tracing() {
    const { ask, lanes } = this.#options;
    const { signal } = this.#stopping;
    return {
      ask,
      lanes,
      pause: async () => await pause(RETRY_MILLIS, signal),
      isStopping: () => signal.aborted,
    };
  }

  /** Erases the person's calendars, those that are there; false when the server stops meanwhile. */
  async #eraseCalendars(id: string): Promise<boolean> {
    const record = this.#options.accounts.document(erasures, id);
    if (record === undefined || this.#calendars === undefined) return false;
    while (!this.#stopping.signal.aborted) {
      try {
        await eraseCalendarsOf(this.#calendars, record.user, { actor: record.startedBy, address: null });
        return true;
      } catch (error) {
        if (!(error instanceof Refusal)) throw error;
        await pause(RETRY_MILLIS, this.#stopping.signal);
      }
    }
    return false;
  }

  /** Erases what the audit trail, rooms, meetings and the calendars of others call the person; false when the server stops meanwhile. */
  async #eraseNames(id: string): Promise<boolean> {
    const { accounts, clock } = this.#options;
    const { names, user } = accounts.document(erasures, id) ?? {};
    if (user === undefined) return false;
    if (names === null) return true;
    const isStopping = () => this.#stopping.signal.aborted;
    const options = { accounts, clock, isStopping };
    const known = Object.values(names ?? {}).filter((name): name is string => typeof name === 'string');
    const all = await readFormerNames(user, known, options);
    if (all === undefined) return false;
    while (!isStopping()) {
      try {
        if ((await this.#eraseFromEntries?.(user, all, isStopping)) !== true) return false;
        if (!(await eraseFromRooms(user, all, this.#tracing()))) return false;
        if (!(await eraseFromAudit(user, all, options))) return false;
        await this.#note(id, { names: null });
        return true;
      } catch (error) {
        if (!(error instanceof Refusal)) throw error;
        await pause(RETRY_MILLIS, this.#stopping.signal);
      }
    }
    return false;
  }

  /** Erases the person from one conversation; false when the server stops meanwhile. */
  async #eraseIn(id: string, conversation: string): Promise<boolean> {
    const { accounts, ask } = this.#options;
    const record = accounts.document(erasures, id);
    if (record === undefined) return false;
    let [afterSeq, messages, bytes, held]: [number | null, number, number, number] = [0, 0, 0, 0];
    while (afterSeq !== null) {
      if (this.#stopping.signal.aborted) return false;
      const message = { kind: 'erase', user: record.user, afterSeq } as Tell;
      const answer = await ask(`conversation:${conversation}`, message, STEP_MILLIS);
      if (answer.ok) {
        const step = answer.value as ErasureStep;
        afterSeq = step.next;
        messages += step.messages;
        bytes += step.bytes;
        held += Number(step.isHeld);
      } else if (answer.code === 'conversation_forbidden') {
        // It was deleted, and its purge takes everything.
        afterSeq = null;
      } else await pause(RETRY_MILLIS, this.#stopping.signal);
    }
    await this.#note(id, {
      after: conversation,
      conversations: record.conversations + 1,
      messages: record.messages + messages,
      bytes: record.bytes + bytes,
      held: record.held + held,
    });
    return true;
  }

  async #note(id: string, progress: Partial<ErasureRecord>): Promise<void> {
    await this.#options.accounts.change((draft) => {
      const record = draft.document(erasures, id);
      if (record !== undefined) draft.putDocument(erasures, id, { ...record, ...progress });
    });
  }

  async #finish(id: string): Promise<void> {
    const { accounts, clock } = this.#options;
    const now = clock.now();
    await accounts.change((draft) => {
      const record = draft.document(erasures, id);
      if (record === undefined) return;
      const ended = { ...record, doneAt: formatInstant(now) };
      draft.putDocument(erasures, id, ended);
      const event = stateOf(ended) === 'done' ? 'user.erased' : 'user.erasure_waits';
      const details = { erasure: id, ...countsOf(record) };
      draft.audit(now, { event, actor: 'server', address: null, subject: `user:${record.user}`, details });
    });
  }
}

function namesOf(draft: AccountsDraft, user: string): PersonalNames {
  const { display_name: displayName, email, phone } = profileOf(draft, user);
  return { displayName, email, phone: draft.document(guestRecords, user)?.phone ?? phone };
}

/** Closes an account and takes out what it holds; answers the directory's change number. */
function emptyAccount(draft: AccountsDraft, person: PersonRecord): number {
  const user = person.username;
  endConsoleSessions(draft, user);
  putProfile(draft, user, NO_PROFILE);
  removeAvatar(draft, user);
  removeNotifications(draft, user);
  removePersonalFields(draft, user);
  forgetConfirmedEmail(draft, user);
  forgetNotices(draft, user);
  draft.putDevices(user, []);
  draft.removeDocument(consoleRoles, user);
  removeAppPasswords(draft, user);
  removeResetLink(draft, user);
  removeGuest(draft, user);
  removeUse(draft, user);
  forgetProvisioned(draft, user);
  return putPerson(draft, person);
}

function stateOf(record: ErasureRecord): Erasure['state'] {
  if (record.doneAt === null) return 'running';
  const { held, kept } = countsOf(record);
  return held + kept > 0 ? 'waiting' : 'done';
}

function viewOf(id: string, record: ErasureRecord): Erasure {
  const { user, startedAt, startedBy, doneAt } = record;
  const state = stateOf(record);
  return {
    id,
    user,
    state,
    started_at: startedAt,
    started_by: startedBy,
    done_at: state === 'done' ? doneAt : null,
    ...countsOf(record),
  };
}

function countsOf({ conversations, messages, bytes, held, traces = NO_TRACES }: ErasureRecord) {
  const { forwards, names, kept } = traces;
  return { conversations, messages, bytes, held, forwards, names, kept };
}

async function pause(millis: number, signal: AbortSignal): Promise<void> {
  await new Promise<void>((resolve) => {
    const timer = setTimeout(done, millis);
    function done() {
      clearTimeout(timer);
      signal.removeEventListener('abort', done);
      resolve();
    }
    signal.addEventListener('abort', done);
  });
}
