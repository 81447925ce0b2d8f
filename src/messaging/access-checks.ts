/**
 * The access policies as a shard applies them (POL-01): one compiled snapshot, replaced when the coordinator pushes
 * another, and the checks that the handlers make by it. Nothing here waits.
 */
import { unixSeconds } from '#src/base/clock.ts';
import { Refusal } from '#src/protocol/errors.ts';
import { AccessPolicies, type PolicyAction, type PolicySnapshot } from '#src/protocol/policy-decision.ts';
import type { ConversationRight } from '#src/protocol/rights.ts';
import { readConversation, readParticipants } from '#storage/conversation-reader.ts';
import { shareConversation } from '#storage/inbox-reader.ts';
import type { LaneEnvironment } from '#storage/lane.ts';
import type { Call } from './caller.ts';

/** Rights that `requireMessage` decides on, too. */
const POSTING: ReadonlySet<ConversationRight> = new Set(['message.post', 'message.edit.own', 'mention.all']);

export class AccessChecks {
  readonly #environments: readonly LaneEnvironment[];
  readonly #now: () => number;
  #policies: AccessPolicies;

  /** `now` in milliseconds. */
  constructor(snapshot: PolicySnapshot, environments: readonly LaneEnvironment[], now: () => number) {
    this.#policies = new AccessPolicies(snapshot);
    this.#environments = environments;
    this.#now = now;
  }

  /** Decides by these policies from now on. */
  replace(snapshot: PolicySnapshot): true {
    this.#policies = new AccessPolicies(snapshot);
    return true;
  }

  /** Whether the person is a guest whose term is over. */
  isOver(user: string): boolean {
    return this.#policies.isOver(user, unixSeconds(this.#now()));
  }

  allows(action: PolicyAction, from: string, to: string): boolean {
    return this.#policies.allows(action, from, to, () => {
      for (const environment of this.#environments) environment.refresh();
      return shareConversation(this.#environments, from, to);
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

  /**
   * Posting to one other person is messaging them; who posts into a room speaks to the room.
   * @throws Refusal `right_missing`, which tells nothing: both are in the conversation and know of each other.
   */
  requireMessage(call: Call, conversation: string): void {
    if (!this.#allowsInPair('message', call, conversation)) throw new Refusal('right_missing');
  }

  /** A call into a direct conversation calls the other one. @throws Refusal `recipient_forbidden`. */
  requireCall(call: Call, conversation: string): void {
    if (!this.#allowsInPair('call', call, conversation)) throw new Refusal('recipient_forbidden', { field: 'to' });
  }

  /** For a person whom the caller shares a conversation with. @throws Refusal `recipient_forbidden`. */
  requireCallTo(call: Call, user: string): void {
    if (!this.#policies.allows('call', call.user, user, () => true)) {
      throw new Refusal('recipient_forbidden', { field: 'to' });
    }
  }

  /** Those of the rights in a conversation that the policies leave the caller (CAP-02). */
  grantedOf(call: Call, conversation: string, rights: readonly ConversationRight[]): readonly ConversationRight[] {
    const mayPost = this.#allowsInPair('message', call, conversation);
    const mayCall = this.#allowsInPair('call', call, conversation);
    return rights.filter((right) => (mayPost || !POSTING.has(right)) && (mayCall || right !== 'call.start'));
  }

  /** Rooms, and conversations that the caller is not in, are for others to judge. */
  #allowsInPair(action: 'message' | 'call', call: Call, conversation: string): boolean {
    // Two people of one conversation share it, so without a rule there is nothing to decide and nothing to read.
    if (!this.#policies.rules(action)) return true;
    const environment = call.service.lanes.read(conversation);
    environment.refresh();
    const record = readConversation(environment.tables, conversation);
    if (record === undefined || record.kind === 'room') return true;
    const people = readParticipants(environment.tables, conversation, 2).map(({ user }) => user);
    if (!people.includes(call.user)) return true;
    return people.every((user) => this.#policies.allows(action, call.user, user, () => true));
  }
}
