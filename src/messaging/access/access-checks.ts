/**
 * The access policies as a shard applies them (POL-01): one compiled snapshot, replaced when the coordinator pushes
 * another, and the checks that the handlers make by it. Nothing here waits.
 */
import { unixSeconds } from '#src/base/clock.ts';
import { Refusal } from '#src/protocol/errors.ts';
import { AccessPolicies, type PolicyAction, type PolicySnapshot } from '#src/protocol/directory/policy-decision.ts';
import type { ConversationRight } from '#src/protocol/conversations/rights.ts';
import { readConversation, readParticipants } from '#storage/conversations/conversation-reader.ts';
import { shareConversation } from '#storage/conversations/inbox-reader.ts';
import type { Lanes } from '#storage/engine/lanes.ts';

/** Who acts, as their credential proved it. */
export interface Caller {
  readonly user: string;
}

/** Rights that `requireMessage` decides on, too. */
const POSTING: ReadonlySet<ConversationRight> = new Set([
  'message.post',
  'message.edit.own',
  'mention.all',
  'reaction.add',
]);

export class AccessChecks {
  readonly #lanes: Pick<Lanes, 'environments' | 'read'>;
  readonly #now: () => number;
  #policies: AccessPolicies;

  /** `now` in milliseconds. */
  constructor(snapshot: PolicySnapshot, lanes: Pick<Lanes, 'environments' | 'read'>, now: () => number) {
    this.#policies = new AccessPolicies(snapshot);
    this.#lanes = lanes;
    this.#now = now;
  }

  /** Decides by these policies from now on. */
  replace(snapshot: PolicySnapshot): void {
    this.#policies = new AccessPolicies(snapshot);
  }

  /** Whether the person is a guest whose term is over. */
  isOver(user: string): boolean {
    return this.#policies.isOver(user, unixSeconds(this.#now()));
  }

  allows(action: PolicyAction, from: string, to: string): boolean {
    return this.#policies.allows(action, from, to, () => {
      const { environments } = this.#lanes;
      for (const environment of environments) environment.refresh();
      return shareConversation(environments, from, to);
    });
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

  /** Those of `peers`, who share a conversation with the person, whom the person may see. */
  visibleTo(user: string, peers: readonly string[]): readonly string[] {
    if (!this.#policies.rules('see')) return peers;
    return peers.filter((peer) => this.#policies.allows('see', user, peer, () => true));
  }

  /**
   * Posting to one other person is messaging them, and so is reacting; who posts into a room speaks to the room.
   * @throws Refusal `right_missing`, which tells nothing: both are in the conversation and know of each other.
   */
  requireMessage(call: Caller, conversation: string): void {
    if (!this.mayMessageIn(conversation, call.user)) throw new Refusal('right_missing');
  }

  /** Whether the policies let a participant say something in a conversation. */
  mayMessageIn(conversation: string, user: string): boolean {
    return this.#allowsInPair('message', user, conversation);
  }

  /** A call into a direct conversation calls the other one. @throws Refusal `recipient_forbidden`. */
  requireCall(call: Caller, conversation: string): void {
    if (!this.#allowsInPair('call', call.user, conversation)) throw new Refusal('recipient_forbidden', { field: 'to' });
  }

  /** For a person whom the caller shares a conversation with. @throws Refusal `recipient_forbidden`. */
  requireCallTo(call: Caller, user: string): void {
    if (!this.#policies.allows('call', call.user, user, () => true)) {
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
    const mayCall = this.#allowsInPair('call', call.user, conversation);
    return rights.filter((right) => (mayPost || !POSTING.has(right)) && (mayCall || right !== 'call.start'));
  }

  /** Rooms, and conversations that the person is not in, are for others to judge. */
  #allowsInPair(action: 'message' | 'call', user: string, conversation: string): boolean {
    // Two people of one conversation share it, so without a rule there is nothing to decide and nothing to read.
    if (!this.#policies.rules(action)) return true;
    const environment = this.#lanes.read(conversation);
    environment.refresh();
    const record = readConversation(environment.tables, conversation);
    if (record === undefined || record.kind === 'room') return true;
    const people = readParticipants(environment.tables, conversation, 2).map((one) => one.user);
    if (!people.includes(user)) return true;
    return people.every((other) => this.#policies.allows(action, user, other, () => true));
  }
}
