/** What a handler works with: the caller as the server knows it, the request's parts, and the way to the actors. */
import type { Cancellation } from '#actors/runtime/cancellation.ts';
import type { CallMessage } from '#actors/call/call.messages.ts';
import type { CallRecord } from '#actors/call/call-record.ts';
import type {
  Acting,
  ConversationMessage,
  Reply as ConversationReply,
} from '#actors/conversation/conversation.messages.ts';
import type { PushMessage } from '#actors/push/push.messages.ts';
import type { Address } from '#actors/runtime/actor.ts';
import { valueOf, type AnswerOf, type AskBody, type AskedName } from '#actors/runtime/thread-services.ts';
import type { Config } from '#src/config.ts';
import type { MediaServers } from '#src/protocol/calls/calls.ts';
import { isId } from '#src/base/ids.ts';
import { USERNAME } from '#src/protocol/names.ts';
import { Refusal } from '#src/protocol/errors.ts';

import type { Lanes } from '#storage/engine/lanes.ts';
import type { JsonPage } from '#storage/conversations/json-page.ts';
import type { AccountsReader } from '#storage/accounts/accounts.ts';

import type { AccessChecks } from '../access/access-checks.ts';
import type { AccountRights } from '../access/account-rights.ts';
import { readableBy, type Readable } from '../access/readable-conversation.ts';
import type { AttachmentClient } from '../attachments/attachment-client.ts';
import type { QuotaChecks } from '../access/quota-checks.ts';
import type { BotAccess } from '../bots/bot-access.ts';
import type { ClientAddresses } from './client-addresses.ts';
import type { LinkPreviews } from '../conversations/link-previews.ts';
import type { RoomPresence } from '../conversations/room-presence.ts';
import type { PushDispatch } from '../push/push-dispatch.ts';
import type { SearchQueue } from '../search/search-queue.ts';
import type { ShardRuntime, ShardServices } from '../thread-services.ts';
import type { SignatureKeys } from '#src/identity/credentials/signature-keys.ts';
import type { Limiter } from '#src/limits/limiter.ts';

/** What the handlers of a shard share. */
export interface Service {
  readonly runtime: ShardRuntime;
  readonly lanes: Lanes;
  readonly accounts: AccountsReader;
  /** Who may message, call and invite whom. */
  readonly access: AccessChecks;
  /** Where requests come from, behind the proxies that are trusted. */
  readonly addresses: ClientAddresses;
  /** Attachments, and the way to change them. */
  readonly attachments: AttachmentClient;
  /** Who is a bot, and what it may. */
  readonly bots: BotAccess;
  /** Who is there of large rooms. */
  readonly presence: RoomPresence;
  /** Where pushes go, and what is known of them. */
  readonly pushes: PushDispatch;
  /** What pages behind links say; undefined where the installation shows none. */
  readonly previews?: LinkPreviews | undefined;
  /** What accounts may do. */
  readonly rights: AccountRights;
  /** The searches of this shard, one at a time. */
  readonly searches: SearchQueue;
  /** How much a person may post, and how many rooms they may make. */
  readonly quotas: QuotaChecks;
  /** How often a person may do what. */
  readonly rates: Limiter;
  /** The live calls on this thread that the person may join or is in. */
  readonly callsOf: (user: string) => CallRecord[];
  readonly config: Config;
  /** The servers that media of calls go over, as they stand now. */
  readonly mediaServers: () => MediaServers;
  readonly epoch: string;
  /** The installation's key for ids that are derived: a direct conversation's from its pair. */
  readonly idKey: Uint8Array;
  /** Signs links to attachments and the tokens by which bots answer commands; in no backup. */
  readonly linkKeys: SignatureKeys;
  readonly now: () => number;
}

export interface ClientRequest {
  readonly service: Service;
  readonly user: string;
  readonly device: string;
  /** The session, and the Unix second after which it cannot be renewed; undefined for a bot, which has none. */
  readonly session?: { readonly sid: string; readonly until: number } | undefined;
  /** The conversations that a bot is limited to; undefined for a person. */
  readonly reach?: ReadonlySet<string> | undefined;
  /** Path parameters, decoded. */
  readonly params: Readonly<Record<string, string>>;
  readonly query: unknown;
  readonly body: unknown;
  /** The client went away: its answer need not be worked out. */
  readonly cancellation: Cancellation;
}

export type Handler = (request: ClientRequest) => Answer | Promise<Answer>;

/** A status of success and the JSON that goes with it, empty for none. */
export interface Reply {
  readonly status: ConversationReply['status'] | 202;
  readonly json: string;
}

/** What a handler answers: a page of what is stored is sent as it was put together, and its memory is free then. */
export type Answer = Reply | { readonly status: Reply['status']; readonly json: JsonPage };

/** Asks an actor. @throws Refusal with the actor's code, or `unavailable`, `busy` from the runtime. */
export async function ask<T>(
  request: Pick<ClientRequest, 'service' | 'cancellation'>,
  to: Address,
  message: ConversationMessage | CallMessage | PushMessage,
): Promise<T> {
  const millis = request.service.config.requestSeconds * 1000;
  return valueOf(await request.service.runtime.ask(to, message, millis, request.cancellation)) as T;
}

/**
 * Asks every other shard for what it keeps in memory. One that is restarting fails the whole: what it has would be
 * left out of the answer.
 * @throws Refusal `unavailable`, `busy`.
 */
export async function askShards<N extends AskedName<ShardServices>>(
  request: ClientRequest,
  name: N,
  body: AskBody<ShardServices, N>,
): Promise<AnswerOf<ShardServices, N>[]> {
  const { runtime, config } = request.service;
  if (runtime.otherShards.length < runtime.placement.shards - 1) throw new Refusal('unavailable');
  const answers = await runtime.askOtherShards(name, body, config.requestSeconds * 1000);
  return answers.map((answer) => valueOf(answer));
}

/** Asks the conversation of the path as the caller. */
export async function askConversation(request: ClientRequest, message: Unsigned<ConversationMessage>): Promise<Reply> {
  const signed = { ...message, user: request.user, device: request.device } as ConversationMessage;
  return await ask<Reply>(request, `conversation:${pathConversation(request)}`, signed);
}

/** A message without who acts, for each kind of message. */
type Unsigned<M> = M extends Acting ? Omit<M, keyof Acting> : never;

/**
 * The conversation id of the path. One that no conversation could have answers like one that is not the caller's.
 * @throws Refusal conversation_forbidden.
 */
export function pathConversation(request: ClientRequest): string {
  const { id = '' } = request.params;
  if (!isId('c', id)) throw new Refusal('conversation_forbidden');
  return id;
}

/** The seq of the path. @throws Refusal message_not_found for what no message could have. */
export function pathSeq(request: ClientRequest): number {
  const { seq = '' } = request.params;
  // A number beyond 2^53 would not be the one that was written.
  if (!/^[1-9]\d{0,15}$/.test(seq) || !Number.isSafeInteger(Number(seq))) throw new Refusal('message_not_found');
  return Number(seq);
}

/** The username of the path. @throws Refusal participant_not_found. */
export function pathUsername(request: ClientRequest): string {
  const { username = '' } = request.params;
  if (!USERNAME.test(username)) throw new Refusal('participant_not_found');
  return username;
}

/** The conversation of the path, if the caller takes part in it; a guest does as one. @throws Refusal `conversation_forbidden`. */
export function readable(request: ClientRequest): Readable {
  const { access, lanes } = request.service;
  const found = readableBy(lanes, pathConversation(request), request.user);
  return access.isGuest(request.user) ? { ...found, member: { ...found.member, role: 'guest' } } : found;
}
