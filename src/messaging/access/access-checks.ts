/**
 * The access policies as a shard applies them (POL-01): one compiled snapshot, replaced when the coordinator pushes
 * another, and the checks that the handlers make by it. Nothing here waits.
 */
import { unixSeconds } from '#src/base/clock.ts';
import { Refusal } from '#src/protocol/errors.ts';
import {
  AccessPolicies,
  type AskingRule,
  type GrantedRight,
  type PolicyAction,
  type PolicySnapshot,
} from '#src/protocol/directory/policy-decision.ts';
import { hasAccountRight } from '#src/protocol/directory/account-rights.ts';
import type { ConversationRight } from '#src/protocol/conversations/rights.ts';
import { readConversation, readParticipants, type Tables } from '#storage/conversations/conversation-reader.ts';
import { shareConversation } from '#storage/conversations/inbox-reader.ts';
import type { Lanes } from '#storage/engine/lanes.ts';
import type { ConversationRecord } from '#storage/engine/records.ts';

/** Whom people of one standing see. */
export interface Sight {
  /** The rules that fit them, as text. */
  readonly standing: string;
  /** Whether they see somebody; of oneself it says what it says of the others of the standing. */
  readonly sees: (user: string) => boolean;
}

/** Who acts, as their credential proved it. */
export interface Caller {
  readonly user: string;
}

/** Rights that `requireMessage` decides on, too: what says something to the other of two, or takes away what they said. */
const POSTING: ReadonlySet<ConversationRight> = new Set([
  'message.post',
  'message.edit.own',
  'message.delete.any',
  'mention.all',
  'reaction.add',
  'pin.change',
  'title.change',
  'visibility.change',
  'conversation.archive',
  'retention.change',
  'webhook.manage',
  'conversation.delete',
]);

/**
 * Participants of a room that are looked at for a third person, who makes it more than a conversation of two. Seats of bots
 * and of people who left come before one in hardly any room; a room where they do is judged as a room.
 */
export const SEATS_LOOKED_AT_MAX = 256;
const LOOKED_AT_ONCE = 16;

export interface AccessChecksOptions {
  readonly snapshot: PolicySnapshot;
  readonly lanes: Pick<Lanes, 'environments' | 'read'>;
  /** Milliseconds since 1970. */
  readonly now: () => number;
  /** Whether a username is of somebody of the directory who may come: no bot, and nobody who left. */
  readonly isPerson: (user: string) => boolean;
}

export class AccessChecks {
  readonly #lanes: Pick<Lanes, 'environments' | 'read'>;
  readonly #now: () => number;
  readonly #isPerson: (user: string) => boolean;
  #policies: AccessPolicies;

  constructor({ snapshot, lanes, now, isPerson }: AccessChecksOptions) {
    this.#policies = new AccessPolicies(snapshot);
    this.#lanes = lanes;
    this.#now = now;
    this.#isPerson = isPerson;
  }

  /** Decides by these policies from now on. */
  replace(snapshot: PolicySnapshot): void {
    this.#policies = new AccessPolicies(snapshot);
  }

  /** When somebody who is added to a room is asked first. */
  get asking(): AskingRule {
    return this.#policies.asking;
  }

  isGuest(user: string): boolean {
    return this.#policies.isGuest(user);
  }

  /** Whoever invited a guest with an app, and whom somebody invited so. */
  hostOf(user: string): string | undefined {
    return this.#policies.hostOf(user);
  }

  guestsOf(host: string): readonly string[] {
    return this.#policies.guestsOf(host);
  }

  /** Whether the person is a guest whose term is over. */
  isOver(user: string): boolean {
    return this.#policies.isOver(user, unixSeconds(this.#now()));
  }

  /** Whether the settings give somebody a right that is nobody's without them. */
  grants(right: GrantedRight, user: string): boolean {
    return this.#policies.grants(right, user);
  }

  allows(action: PolicyAction, from: string, to: string): boolean {
    return this.#policies.allows(action, from, to, () => {
      const { environments } = this.#lanes;
      for (const environment of environments) environment.refresh();
      return shareConversation(environments, from, to);
    });
  }

  /** Whether the policies leave anybody at all whom the person may do that to. */
  leaves(action: PolicyAction, user: string): boolean {
    return this.#policies.leaves(action, user);
  }

  /** The rules that fit whoever acts, as text: it changes when what they may do does by rule. */
  rulesOf(user: string): string {
    return this.#policies.standingOf(user).rules;
  }

  /** Whether the policies let one of a conversation reach another of it, who is not a guest whose term is over. */
  reaches(action: 'message' | 'call', from: string, to: string): boolean {
    return !this.isOver(to) && this.#policies.allows(action, from, to, () => true);
  }

  /** Those of `peers`, who share a conversation with the person, who may see them. */
  viewersOf(user: string, peers: readonly string[]): readonly string[] {
    if (!this.#policies.rules('see')) return peers;
    return peers.filter((peer) => this.#policies.allows('see', peer, user, () => true));
  }

  /** Whether any rule keeps somebody from seeing somebody. */
  hidesSomebody(): boolean {
    return this.#policies.rules('see');
  }

  /** How somebody sees people who share a conversation with them, by the rules: as everybody does whom the same rules fit. */
  sightOf(user: string): Sight {
    return { standing: this.rulesOf(user), sees: (other) => this.#policies.decides('see', user, other) ?? true };
  }

  /** Those of `peers`, who share a conversation with the person, whom the person may see. */
  visibleTo(user: string, peers: readonly string[]): readonly string[] {
    if (!this.#policies.rules('see')) return peers;
    return peers.filter((peer) => this.#policies.allows('see', user, peer, () => true));
  }

  /**
   * Posting to one other person is messaging them, whatever kind of conversation the two are in, and so is reacting,
   * pinning and naming; who posts into a room of more speaks to the room.
   * @throws Refusal `right_missing`, which tells nothing: both are in the conversation and know of each other.
   */
  requireMessage(call: Caller, conversation: string): void {
    if (!this.mayMessageIn(conversation, call.user)) throw new Refusal('right_missing');
  }

  /** Whether the policies let a participant say something in a conversation. */
  mayMessageIn(conversation: string, user: string): boolean {
    return this.#allowsInPair('message', user, conversation);
  }

  /** A call into a conversation of two calls the other one. @throws Refusal `recipient_forbidden`. */
  requireCall(call: Caller, conversation: string): void {
    if (!this.mayCallIn(conversation, call.user)) throw new Refusal('recipient_forbidden', { field: 'to' });
  }

  /** Whether the policies let a participant call into a conversation. */
  mayCallIn(conversation: string, user: string): boolean {
    return this.#startsCalls(user) && this.#allowsInPair('call', user, conversation);
  }

  /** For a person whom the caller shares a conversation with. @throws Refusal `recipient_forbidden`. */
  requireCallTo(call: Caller, user: string): void {
    if (!this.#startsCalls(call.user) || !this.#policies.allows('call', call.user, user, () => true)) {
      throw new Refusal('recipient_forbidden', { field: 'to' });
    }
  }

  /**
   * What is no step of a call goes out at once, with any payload: whoever may neither message nor call somebody has
   * nothing to negotiate with them. `to` is one of the caller's conversations, or somebody they share one with.
   * @throws Refusal `recipient_forbidden`.
   */
  requireStanza(call: Caller, to: string, isConversation: boolean): void {
    const allows = (action: 'message' | 'call') =>
      isConversation
        ? this.#allowsInPair(action, call.user, to)
        : this.#policies.allows(action, call.user, to, () => true);
    if (!allows('message') && !allows('call')) throw new Refusal('recipient_forbidden', { field: 'to' });
  }

  /** Those of the rights in a conversation that the policies leave the caller (CAP-02). */
  grantedOf(call: Caller, conversation: string, rights: readonly ConversationRight[]): readonly ConversationRight[] {
    const mayPost = this.mayMessageIn(conversation, call.user);
    const mayCall = this.mayCallIn(conversation, call.user);
    const mayInvite = this.leaves('invite', call.user) && this.leaves('message', call.user);
    return rights.filter(
      (right) =>
        (mayPost || !POSTING.has(right)) &&
        (mayCall || right !== 'call.start') &&
        (mayInvite || right !== 'participant.add'),
    );
  }

  #startsCalls(user: string): boolean {
    return hasAccountRight('call.start', { leaves: (action) => this.leaves(action, user) });
  }

  /** Rooms of more than two, and conversations that the person is not in, are for others to judge. */
  #allowsInPair(action: 'message' | 'call', user: string, conversation: string): boolean {
    // Two people of one conversation share it, so without a rule there is nothing to decide and nothing to read.
    if (!this.#policies.rules(action)) return true;
    const environment = this.#lanes.read(conversation);
    environment.refresh();
    const record = readConversation(environment.tables, conversation);
    if (record === undefined) return true;
    const people =
      record.kind === 'room'
        ? this.#peopleOfRoom(environment.tables, record)
        : readParticipants(environment.tables, conversation, 2).map((one) => one.user);
    if (people.length > 2 || !people.includes(user)) return true;
    return people.every((other) => this.#policies.allows(action, user, other, () => true));
  }

  /** Who takes part in a room and is a person, up to the third: a seat that a bot or somebody gone has is nobody's. */
  #peopleOfRoom(tables: Tables, { id, participantCount }: ConversationRecord): string[] {
    const people: string[] = [];
    let after: string | undefined;
    for (let looked = 0; looked < SEATS_LOOKED_AT_MAX; looked += LOOKED_AT_ONCE) {
      const page = readParticipants(tables, id, LOOKED_AT_ONCE, after).map((one) => one.user);
      people.push(...page.filter((user) => this.#isPerson(user) && !this.isOver(user)));
      if (people.length > 2 || looked + page.length >= participantCount) return people;
      after = page.at(-1);
    }
    return [];
  }
}
