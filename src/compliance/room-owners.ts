/**
 * Rooms that nobody can run any more: whoever leaves the organisation, is blocked or erased hands over what they alone
 * own, to the moderator or else the member who has been there longest. Where there is nobody, an administrator does.
 *
 * What happened to people is read from the log of the directory's changes, from where the last run ended, so that
 * whatever closed an account and whenever the server stopped, nobody is passed over.
 */
import { setImmediate as othersFirst, setTimeout as pause } from 'node:timers/promises';
import type { Address, Answer, Tell } from '#actors/runtime/actor.ts';
import type { Clock } from '#src/base/clock.ts';
import { formatInstant } from '#src/base/time.ts';
import type { Directory } from '#src/directory/directory.ts';
import { isBotUser } from '#src/protocol/bots/bots.ts';
import { Refusal } from '#src/protocol/errors.ts';
import type { Logger } from '#src/telemetry/logger.ts';
import type { Accounts } from '#storage/accounts/accounts.ts';
import type { AuditActor } from '#storage/accounts/audit-chain.ts';
import { defineCollection } from '#storage/accounts/collections.ts';
import { readConversation, readMember } from '#storage/conversations/conversation-reader.ts';
import { readMembershipIds } from '#storage/conversations/inbox-reader.ts';
import { readMembers, type SeatedMember } from '#storage/conversations/room-records.ts';
import type { Lanes } from '#storage/engine/lanes.ts';

/** How far the log of the directory was read. */
const progress = defineCollection<{ readonly rev: number }>('room_handovers', { version: 1 });
const PROGRESS_ID = 'state';

/** Rooms that nobody can run, until an administrator gives them an owner or one of theirs may come again. */
const orphans = defineCollection<{ readonly since: string; readonly left: string }>('orphaned_rooms', { version: 1 });

/** How often it is looked whether anybody went: one number is compared. */
const LOOK_MILLIS = 1_000;
/** After a conversation that was busy. */
const RETRY_MILLIS = 1_000;
/** How long a room may take to note its owner. */
const OWNER_MILLIS = 5_000;
/** Lines of the log, memberships and members that are read in one go: a millisecond or two. */
const READ_AT_ONCE = 500;

export interface RoomOwnersOptions {
  readonly accounts: Accounts;
  readonly access: { isGuest(user: string): boolean };
  readonly directory: Pick<Directory, 'changedSince'>;
  readonly lanes: Pick<Lanes, 'environments' | 'read'>;
  readonly clock: Clock;
  readonly log: Logger;
  readonly ask: (to: Address, message: Tell, millis: number) => Promise<Answer>;
}

/** Who of a room could own it. */
interface Standing {
  /** Somebody who owns it and may come. */
  readonly owner: string | undefined;
  /** By the rule: the moderator or else the member who came first. */
  readonly successor: string | undefined;
}

const SERVER: AuditActor = { actor: 'server', address: null };

export class RoomOwners {
  readonly #options: RoomOwnersOptions;
  readonly #stopping = new AbortController();
  #running: Promise<void> = Promise.resolve();

  constructor(options: RoomOwnersOptions) {
    this.#options = options;
  }

  /** Goes on where it ended, and looks from time to time until it is stopped. */
  start(): void {
    this.#running = this.#watch();
  }

  async stop(): Promise<void> {
    this.#stopping.abort();
    await this.#running;
  }

  /** Ids of rooms that wait for an administrator. */
  get orphaned(): ReadonlySet<string> {
    return new Set(this.#options.accounts.documents(orphans).map(({ id }) => id));
  }

  isOrphaned(conversation: string): boolean {
    return this.#options.accounts.document(orphans, conversation) !== undefined;
  }

  /**
   * Gives an orphaned room an owner: one of its people who may come, or anybody of the organisation where it has none.
   * @throws Refusal `conversation_forbidden` where there is no such room, `room_owned`, `participant_unknown`,
   * `participant_not_found`, `busy`, `unavailable`.
   */
  async give(conversation: string, user: string, by: AuditActor): Promise<void> {
    const environment = this.#options.lanes.read(conversation);
    environment.refresh();
    const record = readConversation(environment.tables, conversation);
    if (record === undefined || record.kind !== 'room') throw new Refusal('conversation_forbidden');
    if (!this.#mayOwn(user)) throw new Refusal('participant_unknown', { field: 'user' });
    const { owner, successor } = await this.#standingIn(conversation);
    // A room with an owner is its people's own: nobody is put over them from outside, to read what they say.
    if (owner !== undefined) {
      await this.#settled(conversation);
      throw new Refusal('room_owned');
    }
    const isMember = readMember(environment.tables, conversation, user) !== undefined;
    if (successor !== undefined && !isMember) throw new Refusal('participant_not_found', { field: 'user' });
    await this.#note(conversation, user, by, null);
    const answer = await this.#give(conversation, user);
    if (!answer.ok) throw new Refusal(answer.code);
  }

  async #watch(): Promise<void> {
    const { accounts, log } = this.#options;
    const { signal } = this.#stopping;
    while (!signal.aborted) {
      try {
        if (this.#rev < accounts.directoryRev) await this.#goOn();
      } catch (error) {
        if (!signal.aborted) log.error('handing over rooms failed; it is tried again', { error: error as Error });
      }
      await pause(LOOK_MILLIS, undefined, { signal, ref: false }).catch(() => undefined);
    }
  }

  get #rev(): number {
    return this.#options.accounts.document(progress, PROGRESS_ID)?.rev ?? 0;
  }

  async #goOn(): Promise<void> {
    const { accounts, directory } = this.#options;
    for (let more = true; more && !this.#stopping.signal.aborted;) {
      const page = directory.changedSince(this.#rev, READ_AT_ONCE);
      const orphaned = [...this.orphaned];
      for (const { state, user } of page.entries) {
        if (state === 'active') await this.#takeBack(user, orphaned);
        else if (!isBotUser(user) && !(await this.#handOver(user))) return;
      }
      await accounts.change((draft) => draft.putDocument(progress, PROGRESS_ID, { rev: page.rev }));
      ({ more } = page);
    }
  }

  /** Sees to every room that somebody owns; false when the server stops meanwhile. */
  async #handOver(user: string): Promise<boolean> {
    for (const environment of this.#options.lanes.environments) {
      let after = '';
      for (let more = true; more;) {
        environment.refresh();
        const ids = readMembershipIds(environment.tables, user, after, READ_AT_ONCE);
        for (const id of ids) {
          if (this.#stopping.signal.aborted) return false;
          if (this.#owns(user, id) && !(await this.#settle(id, user))) return false;
        }
        more = ids.length === READ_AT_ONCE;
        after = ids.at(-1) ?? '';
        await othersFirst();
      }
    }
    return true;
  }

  /** An owner who may come again runs their rooms again: these wait for nobody. */
  async #takeBack(user: string, orphaned: readonly string[]): Promise<void> {
    if (orphaned.length === 0 || !this.#mayOwn(user)) return;
    for (const id of orphaned) if (this.#owns(user, id)) await this.#settled(id);
  }

  /** Whether a room is there and somebody owns it, whether they may come or not: a room that they do not own lacks nothing. */
  #owns(user: string, conversation: string): boolean {
    const environment = this.#options.lanes.read(conversation);
    environment.refresh();
    const isThere = readConversation(environment.tables, conversation)?.kind === 'room';
    return isThere && readMember(environment.tables, conversation, user)?.role === 'owner';
  }

  /** The room has somebody who can run it. */
  async #settled(conversation: string): Promise<void> {
    if (!this.isOrphaned(conversation)) return;
    await this.#options.accounts.change((draft) => draft.removeDocument(orphans, conversation));
  }

  /** Gives one room an owner by the rule, or notes that nobody can be one; false when the server stops meanwhile. */
  async #settle(conversation: string, left: string): Promise<boolean> {
    const { accounts, clock } = this.#options;
    const { owner, successor } = await this.#standingIn(conversation);
    if (owner !== undefined) return true;
    if (successor === undefined) {
      if (this.isOrphaned(conversation)) return true;
      const orphan = { since: formatInstant(clock.now()), left };
      await accounts.change((draft) => draft.putDocument(orphans, conversation, orphan));
      return true;
    }
    await this.#note(conversation, successor, SERVER, left);
    for (;;) {
      const answer = await this.#give(conversation, successor);
      // It was deleted meanwhile.
      if (answer.ok || answer.code === 'conversation_forbidden') return true;
      await pause(RETRY_MILLIS, undefined, { signal: this.#stopping.signal }).catch(() => undefined);
      if (this.#stopping.signal.aborted) return false;
    }
  }

  /** In the audit trail before the room is told: a crash in between leaves an entry too many, and never one too few. */
  async #note(conversation: string, user: string, by: AuditActor, left: string | null): Promise<void> {
    const { accounts, clock } = this.#options;
    const entry = { event: 'conversation.owner_given', ...by, subject: `conversation:${conversation}` } as const;
    // By a field that says of its value that it is a person: to a vendor it goes as a pseudonym.
    const details = { user, left: left === null ? null : { user: left } };
    await accounts.change((draft) => draft.audit(clock.now(), { ...entry, details }));
  }

  async #give(conversation: string, user: string): Promise<Answer> {
    const message = { kind: 'giveOwner', participant: user } as Tell;
    const answer = await this.#options.ask(`conversation:${conversation}`, message, OWNER_MILLIS);
    if (answer.ok) await this.#settled(conversation);
    return answer;
  }

  /** Goes through everybody in a room, giving way to other work. */
  async #standingIn(conversation: string): Promise<Standing> {
    const { lanes } = this.#options;
    let first: SeatedMember | undefined;
    let after: string | undefined;
    for (;;) {
      const environment = lanes.read(conversation);
      environment.refresh();
      const page = readMembers(environment.tables, conversation, after, READ_AT_ONCE);
      for (const member of page) {
        if (!this.#mayOwn(member.user)) continue;
        if (member.role === 'owner') return { owner: member.user, successor: undefined };
        if (member.role !== 'guest' && (first === undefined || comesBefore(member, first))) first = member;
      }
      if (page.length < READ_AT_ONCE) return { owner: undefined, successor: first?.user };
      after = page.at(-1)?.user;
      await othersFirst();
    }
  }

  /** Whether somebody is a person of the organisation who may come. */
  #mayOwn(user: string): boolean {
    const { access, accounts } = this.#options;
    return accounts.isActive(user) && !isBotUser(user) && !access.isGuest(user);
  }
}

/** Moderators come first, then whoever came first; two who came together by name, which is the order of reading. */
function comesBefore(one: SeatedMember, other: SeatedMember): boolean {
  if (one.role !== other.role) return one.role === 'moderator';
  return one.joinedSeq < other.joinedSeq;
}
