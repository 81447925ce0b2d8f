/**
 * Bots at the doors of a shard: who a bot token is, what it may, and every step of it into the audit trail (CRD-04).
 * The bots are pushed here by the coordinator, so a request costs a hash and no look-up elsewhere, and a revocation is
 * in force when the console reads that it is.
 */
import { hashSecret, sameHash, SECRET_PATTERN } from '#src/identity/credentials/opaque-secrets.ts';
import {
  BOT_FRAME_SCOPE,
  BOT_POSTING_ROUTES,
  BOT_ROUTE_SCOPES,
  type BotAuditEvent,
  type BotGrant,
  type BotSnapshot,
} from '#src/protocol/bots/bots.ts';
import { type BotScope } from '#src/protocol/bots/bot-scopes.ts';
import { Refusal, statusOf, type ErrorCode } from '#src/protocol/errors.ts';
import { conversationId } from '#src/protocol/names.ts';
import type { MessagingRoute } from '#src/protocol/routes.ts';
import type { Limiter } from '#src/limits/limiter.ts';
import type { BotAuditBuffer } from './bot-audit-buffer.ts';

/** What every bot token begins with. */
const BOT_TOKEN_START = 'bot_';
const WEBHOOK_TOKEN = new RegExp(`^(hook_[0-9abcdefghjkmnpqrstvwxyz]{22})_(${SECRET_PATTERN})$`);
const TOKEN = new RegExp(`^bot_([0-9abcdefghjkmnpqrstvwxyz]{22})_(${SECRET_PATTERN})$`);

/** What the secret of an unknown bot is compared with, so that it costs what that of a known one does. */
const NO_HASH = hashSecret('');

/** A bot, made ready for decisions. */
export interface Bot extends Omit<BotGrant, 'scopes' | 'conversations'> {
  readonly scopes: ReadonlySet<BotScope>;
  readonly conversations: ReadonlySet<string>;
}

/** Where a bot's request came in, for the audit trail. */
export interface BotEntrance {
  readonly event: BotAuditEvent;
  readonly method: string;
  readonly route: string;
  readonly address: string;
  /** The conversation that the request names, if what it names could be one. */
  readonly conversation?: string | undefined;
}

export interface BotAccessOptions {
  readonly bots: BotSnapshot;
  readonly limiter: Limiter;
  readonly trail: BotAuditBuffer;
  /** Milliseconds since 1970. */
  readonly now: () => number;
}

export class BotAccess {
  readonly #options: BotAccessOptions;
  #byId = new Map<string, Bot>();
  #byUser = new Map<string, Bot>();

  constructor(options: BotAccessOptions) {
    this.#options = options;
    this.replace(options.bots);
  }

  /** Decides by these bots from now on. */
  replace(snapshot: BotSnapshot): void {
    const bots = snapshot.map((grant): Bot => {
      return { ...grant, scopes: new Set(grant.scopes), conversations: new Set(grant.conversations) };
    });
    this.#byId = new Map(bots.map((bot) => [bot.id, bot]));
    this.#byUser = new Map(bots.map((bot) => [bot.user, bot]));
  }

  /** The bot as it stands now. */
  bot(id: string): Bot | undefined {
    return this.#byId.get(id);
  }

  /** Whether a username is that of a bot that may be added to a conversation. */
  isActive(user: string): boolean {
    const bot = this.#byUser.get(user);
    return bot?.kind === 'bot' && bot.isActive;
  }

  /** The bot of that username, as it stands now. */
  named(user: string): Bot | undefined {
    return this.#byUser.get(user);
  }

  /** The bots that may act in a conversation, if they take part in it. */
  listing(conversation: string): Bot[] {
    return [...this.#byId.values()].filter((bot) => bot.isActive && bot.conversations.has(conversation));
  }

  /** Counts an answer to a command; answers 0, or after how many seconds there is room for another. */
  takeResponse(invocation: string): number {
    return this.#options.limiter.secondsUntil('command_response', invocation);
  }

  /**
   * The visit of whoever has a webhook's URL.
   * @throws Refusal `webhook_not_found` for a token that is none, or no longer.
   */
  knockWebhook(token: string | undefined, entrance: () => BotEntrance): BotRequest {
    const [, id = '', secret = ''] = WEBHOOK_TOKEN.exec(token ?? '') ?? [];
    const webhook = this.#byId.get(id);
    const isRight = sameHash(hashSecret(secret), webhook?.hash ?? NO_HASH);
    if (webhook?.kind !== 'webhook' || !isRight) throw new Refusal('webhook_not_found');
    const [conversation] = webhook.conversations;
    return this.visit(webhook, { ...entrance(), event: 'webhook.request', conversation });
  }

  /**
   * The visit of whoever holds a bot's token; undefined when the token is of another kind. What comes of the visit is
   * for `settle`, also when `admit` refuses it. The entrance is asked for only when it is a bot's.
   * @throws Refusal `token_invalid` for a token that is no bot's: there is nobody to write it down for.
   */
  authenticate(token: string | undefined, entrance: () => BotEntrance): BotRequest | undefined {
    if (token === undefined || !token.startsWith(BOT_TOKEN_START)) return undefined;
    const [, id, secret] = TOKEN.exec(token) ?? [];
    if (id === undefined || secret === undefined) throw new Refusal('token_invalid');
    const bot = this.#byId.get(id);
    const isRight = sameHash(hashSecret(secret), bot?.hash ?? NO_HASH);
    if (bot?.kind !== 'bot' || !isRight) throw new Refusal('token_invalid');
    return this.visit(bot, entrance());
  }

  /** A visit of a bot that is known to be it: by the token, or by the socket that it opened with it. */
  visit(bot: Bot, entrance: BotEntrance): BotRequest {
    return new BotRequest(bot, entrance, this.#options);
  }

  /** Tells of what cannot be refused any more: a socket that closed. */
  note(bot: Bot, { event, method, route, address, conversation }: BotEntrance, status: number): void {
    const { now, trail } = this.#options;
    const where = { event, bot: bot.id, address, method, route, conversation: conversation ?? null };
    trail.note({ ...where, at: now(), status, code: null, count: 1 });
  }
}

/** One request, upgrade or frame of a bot, from the door to the audit trail. */
export class BotRequest {
  readonly bot: Bot;
  readonly #entrance: BotEntrance;
  readonly #options: Omit<BotAccessOptions, 'bots'>;
  readonly #at: number;
  #state: 'outside' | 'reserved' | 'settled' = 'outside';

  constructor(bot: Bot, entrance: BotEntrance, options: Omit<BotAccessOptions, 'bots'>) {
    this.bot = bot;
    this.#entrance = entrance;
    this.#options = options;
    this.#at = options.now();
  }

  /**
   * Lets the bot in, if there is room for it and for the trace it leaves.
   * @throws Refusal `rate_limited`, `busy` when the audit trail cannot keep up, `bot_revoked`, `bot_token_ended`.
   */
  admit(): void {
    this.#options.limiter.take(this.bot.kind, this.bot.id);
    if (!this.#options.trail.reserve()) throw new Refusal('busy');
    this.#state = 'reserved';
    if (!this.bot.isActive) throw new Refusal('bot_revoked');
    if (this.bot.isTokenOver) throw new Refusal('bot_token_ended');
  }

  /**
   * Counts so many requests more, for a form as long as that. One a second is bound enough for a webhook, whose senders
   * wrap their text in more than it. @throws Refusal `rate_limited`.
   */
  weigh(more: number): void {
    if (this.bot.kind === 'bot') this.#options.limiter.takeMore(this.bot.kind, this.bot.id, more);
  }

  /**
   * Whether a route is one of the bot's, there.
   * @throws Refusal `right_missing` beyond its scopes; `conversation_forbidden` beyond its list, as for one that is not
   * there; `bot_conversation_limited` when it posts there more than anybody would read.
   */
  checkRoute(route: MessagingRoute, conversation: string | undefined): void {
    // Its token is good for one route alone.
    if (this.bot.kind === 'webhook') return;
    const scopes = BOT_ROUTE_SCOPES[route];
    if (scopes === null || !scopes.every((scope) => this.bot.scopes.has(scope))) throw new Refusal('right_missing');
    if (conversation !== undefined && !this.bot.conversations.has(conversation)) {
      throw new Refusal('conversation_forbidden');
    }
    if (conversation === undefined || !BOT_POSTING_ROUTES.includes(route)) return;
    const name = `${this.bot.id} ${conversation}`;
    const seconds = this.#options.limiter.secondsUntil('bot_conversation', name);
    if (seconds > 0) throw new Refusal('bot_conversation_limited', { retryAfter: seconds });
  }

  /** @throws Refusal `right_missing`. */
  checkFrame(): void {
    if (!this.bot.scopes.has(BOT_FRAME_SCOPE)) throw new Refusal('right_missing');
  }

  /** What came of it, a status and the code of a refusal: into the audit trail, once. */
  settle(status: number, code?: ErrorCode): void {
    if (this.#state === 'settled') return;
    const { event, method, route, address, conversation } = this.#entrance;
    const isConversation = conversation !== undefined && conversationId.safeParse(conversation).success;
    const named = isConversation ? conversation : null;
    const where = { event, bot: this.bot.id, address, method, route };
    if (this.#state === 'reserved') {
      this.#options.trail.record({ ...where, conversation: named, at: this.#at, status, code: code ?? null, count: 1 });
    } else if (code !== undefined) {
      this.#options.trail.count(code, { ...where, method: '', route: '', conversation: null });
    }
    this.#state = 'settled';
  }

  refuse(code: ErrorCode): void {
    this.settle(statusOf(code), code);
  }
}
