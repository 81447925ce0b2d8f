/**
 * Who may see, message, call and invite whom (POL-01): the rules as every thread holds them, and the decision.
 *
 * The first rule of an action that fits both people decides. Where none fits, the organisation's people reach
 * everybody, and a guest reaches those it shares a conversation with.
 */
import { ADDED_UNASKED_DEFAULT } from '../limits.ts';

export const POLICY_ACTIONS = ['see', 'message', 'call', 'invite'] as const;
export type PolicyAction = (typeof POLICY_ACTIONS)[number];

export const POLICY_EFFECTS = ['allow', 'deny'] as const;
export type PolicyEffect = (typeof POLICY_EFFECTS)[number];

/** Selectors beside the ids of groups: all, the organisation's own people, those who were invited for a term. */
export const POLICY_CROWDS = ['everyone', 'people', 'guests'] as const;

export interface PolicyRule {
  readonly action: PolicyAction;
  /** Who acts: a crowd, or the id of a group. */
  readonly from: string;
  /** Whom it concerns: a crowd, or the id of a group. */
  readonly to: string;
  readonly effect: PolicyEffect;
}

/** When somebody who is added to a room is asked first. What bots are added to nobody asks them. */
export interface AskingRule {
  /** Participants up to which people are added to a room at once; an add that would make it larger asks all of its people. */
  readonly above: number;
  /** Whether guests are asked whatever the size. */
  readonly guests: boolean;
}

/** What a thread needs to decide: plain data, so that it crosses threads. */
export interface PolicySnapshot {
  /** In the order in which they are tried. */
  readonly rules: readonly PolicyRule[];
  /** Members of the groups that a rule names, and of no other. */
  readonly groups: Readonly<Record<string, readonly string[]>>;
  /** Guests, and the Unix second at which each one's term ends. */
  readonly guests: readonly (readonly [user: string, endsAt: number])[];
  readonly asking: AskingRule;
}

/** An installation without rules and guests. */
export const NO_POLICIES: PolicySnapshot = {
  ...{ rules: [], groups: {}, guests: [] },
  asking: { above: ADDED_UNASKED_DEFAULT, guests: true },
};

/** A snapshot made ready for decisions: a few look-ups in sets each, nothing awaited. */
export class AccessPolicies {
  readonly #rules: Readonly<Record<PolicyAction, readonly PolicyRule[]>>;
  readonly #groups: ReadonlyMap<string, ReadonlySet<string>>;
  readonly #guests: ReadonlyMap<string, number>;
  readonly asking: AskingRule;

  constructor({ asking, rules, groups, guests }: PolicySnapshot) {
    this.asking = asking;
    const rulesOf = (action: PolicyAction) => rules.filter((rule) => rule.action === action);
    this.#rules = {
      see: rulesOf('see'),
      message: rulesOf('message'),
      call: rulesOf('call'),
      invite: rulesOf('invite'),
    };
    this.#groups = new Map(Object.entries(groups).map(([id, members]) => [id, new Set(members)]));
    this.#guests = new Map(guests);
  }

  /** Whether any rule speaks of the action: without one, people who share a conversation need no decision. */
  rules(action: PolicyAction): boolean {
    return this.#rules[action].length > 0;
  }

  isGuest(user: string): boolean {
    return this.#guests.has(user);
  }

  /** Whether the person is a guest whose term is over at that Unix second (GST-01). */
  isOver(user: string, nowSeconds: number): boolean {
    const endsAt = this.#guests.get(user);
    return endsAt !== undefined && endsAt <= nowSeconds;
  }

  /** Whether `from` may do that to `to`. `shares` says whether they share a conversation; asked only when it matters. */
  allows(action: PolicyAction, from: string, to: string, shares: () => boolean): boolean {
    if (from === to) return true;
    for (const rule of this.#rules[action]) {
      if (this.#fits(rule.from, from) && this.#fits(rule.to, to)) return rule.effect === 'allow';
    }
    return !this.#guests.has(from) || shares();
  }

  #fits(selector: string, user: string): boolean {
    if (selector === 'everyone') return true;
    if (selector === 'guests') return this.#guests.has(user);
    if (selector === 'people') return !this.#guests.has(user);
    return this.#groups.get(selector)?.has(user) === true;
  }
}
