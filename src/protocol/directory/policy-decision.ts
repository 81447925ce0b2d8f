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

/** Rights of an account that a setting gives to everybody of the organisation or to groups, and to nobody without it. */
export type GrantedRight = 'emoji.create' | 'guest.invite';

/** Right → whom it is given: the organisation's people, or the ids of groups. */
export type Grants = Readonly<Record<GrantedRight, readonly string[]>>;

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
  /** Members of the groups that a rule or a right that is given names, and of no other. */
  readonly groups: Readonly<Record<string, readonly string[]>>;
  /** Guests, the Unix second at which each one's term ends, and whoever invited them with an app, where one did. */
  readonly guests: readonly (readonly [user: string, endsAt: number, host?: string])[];
  readonly asking: AskingRule;
  readonly grants: Grants;
}

/** An installation without rules and guests. */
export const NO_POLICIES: PolicySnapshot = {
  ...{ rules: [], groups: {}, guests: [] },
  asking: { above: ADDED_UNASKED_DEFAULT, guests: true },
  grants: { 'emoji.create': [], 'guest.invite': [] },
};

/**
 * Members of groups that are looked at for somebody whom rules leave. Of more, all of them denied by earlier rules, it is
 * said that there is somebody: every request is judged by whom it names all the same.
 */
const LOOKED_AT_MAX = 1_000;

/** Standings kept by one set of policies; of more combinations of groups than people of one office are in, each is made anew. */
const STANDINGS_KEPT_MAX = 1_000;

/** What the rules say of somebody who acts: the same object for all whom the same rules fit. */
export interface PolicyStanding {
  /** The rules that fit them, as text: it changes when what they may do to anybody does by rule. */
  readonly rules: string;
  /** Whom they leave for an action: two people at least, or nobody but these, one of whom may be oneself. */
  readonly left: Readonly<Record<PolicyAction, 'many' | readonly string[]>>;
}

function isCrowd(selector: string): boolean {
  return (POLICY_CROWDS as readonly string[]).includes(selector);
}

/** A snapshot made ready for decisions: a few look-ups in sets each, nothing awaited. */
export class AccessPolicies {
  readonly #all: readonly PolicyRule[];
  readonly #standings = new Map<string, PolicyStanding>();
  readonly #rules: Readonly<Record<PolicyAction, readonly PolicyRule[]>>;
  readonly #groups: ReadonlyMap<string, ReadonlySet<string>>;
  readonly #guests: ReadonlyMap<string, number>;
  readonly #hosts = new Map<string, string>();
  readonly #guestsOf = new Map<string, string[]>();
  readonly #grants: Grants;
  readonly asking: AskingRule;

  constructor({ asking, grants, rules, groups, guests }: PolicySnapshot) {
    this.asking = asking;
    this.#grants = grants;
    this.#all = rules;
    const rulesOf = (action: PolicyAction) => rules.filter((rule) => rule.action === action);
    this.#rules = {
      see: rulesOf('see'),
      message: rulesOf('message'),
      call: rulesOf('call'),
      invite: rulesOf('invite'),
    };
    this.#groups = new Map(Object.entries(groups).map(([id, members]) => [id, new Set(members)]));
    this.#guests = new Map(guests.map(([user, endsAt]) => [user, endsAt]));
    for (const [user, , host] of guests) {
      if (host === undefined) continue;
      this.#hosts.set(user, host);
      const others = this.#guestsOf.get(host);
      if (others === undefined) this.#guestsOf.set(host, [user]);
      else others.push(user);
    }
  }

  /** Whether any rule speaks of the action: without one, people who share a conversation need no decision. */
  rules(action: PolicyAction): boolean {
    return this.#rules[action].length > 0;
  }

  isGuest(user: string): boolean {
    return this.#guests.has(user);
  }

  /** Whether the settings give a right to somebody; guests have none of these, whatever group they are in. */
  grants(right: GrantedRight, user: string): boolean {
    return !this.#guests.has(user) && this.#grants[right].some((selector) => this.#fits(selector, user));
  }

  /** Whoever invited a guest with an app, and is answerable for them: they take part in no room without that one. */
  hostOf(user: string): string | undefined {
    return this.#hosts.get(user);
  }

  /** Whom somebody invited with an app. */
  guestsOf(host: string): readonly string[] {
    return this.#guestsOf.get(host) ?? [];
  }

  /** Whether the person is a guest whose term is over at that Unix second (GST-01). */
  isOver(user: string, nowSeconds: number): boolean {
    const endsAt = this.#guests.get(user);
    return endsAt !== undefined && endsAt <= nowSeconds;
  }

  /** Whether `from` may do that to `to`. `shares` says whether they share a conversation; asked only when it matters. */
  allows(action: PolicyAction, from: string, to: string, shares: () => boolean): boolean {
    return from === to || (this.decides(action, from, to) ?? (!this.#guests.has(from) || shares()));
  }

  /** What the first rule says that fits two, who may be one and the same; undefined where none fits. */
  decides(action: PolicyAction, from: string, to: string): boolean | undefined {
    for (const rule of this.#rules[action]) {
      if (this.#fits(rule.from, from) && this.#fits(rule.to, to)) return rule.effect === 'allow';
    }
    return undefined;
  }

  /**
   * Whether the rules leave anybody whom `from` may do that to. Nobody's conversations are looked at: a guest without a
   * rule reaches those it shares one with, and that may be somebody at any time.
   */
  leaves(action: PolicyAction, from: string): boolean {
    const left = this.standingOf(from).left[action];
    return left === 'many' || left.some((user) => user !== from);
  }

  /** What the rules say of somebody who acts. */
  standingOf(user: string): PolicyStanding {
    const fitting = this.#all.filter((rule) => this.#fits(rule.from, user));
    const rules = fitting.map(({ action, to, effect }) => `${action} ${to} ${effect}`).join('\n');
    const known = this.#standings.get(rules);
    if (known !== undefined) return known;
    const leftOf = (action: PolicyAction) => this.#leftBy(fitting.filter((rule) => rule.action === action));
    const left = { see: leftOf('see'), message: leftOf('message'), call: leftOf('call'), invite: leftOf('invite') };
    const standing = { rules, left };
    if (this.#standings.size >= STANDINGS_KEPT_MAX) this.#standings.clear();
    this.#standings.set(rules, standing);
    return standing;
  }

  /** Whom rules of one action leave, where the first one that fits decides; made once for each standing. */
  #leftBy(rules: readonly PolicyRule[]): 'many' | readonly string[] {
    const found = new Set<string>();
    const denied = new Set<string>();
    let looked = 0;
    for (const { effect, to } of rules) {
      if (effect === 'deny') denied.add(to);
      else if (isCrowd(to) && !denied.has(to)) return 'many';
      else {
        for (const user of this.#groups.get(to) ?? []) {
          if (looked === LOOKED_AT_MAX) return 'many';
          looked += 1;
          if (rules.find((rule) => this.#fits(rule.to, user))?.effect === 'allow') found.add(user);
          if (found.size > 1) return 'many';
        }
      }
      if (denied.has('everyone') || (denied.has('people') && denied.has('guests'))) return [...found];
    }
    return 'many';
  }

  #fits(selector: string, user: string): boolean {
    if (selector === 'everyone') return true;
    if (selector === 'guests') return this.#guests.has(user);
    if (selector === 'people') return !this.#guests.has(user);
    return this.#groups.get(selector)?.has(user) === true;
  }
}
