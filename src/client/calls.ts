/** The messaging service's calls by name: method and path, held to the protocol's route table by the type check. */
import type { z } from 'zod';
import type { MESSAGING_ROUTES, MessagingRoute } from '#src/protocol/routes.ts';

type Routes = typeof MESSAGING_ROUTES;

/**
 * Written out because the route table itself drags the schema library into a page. A route that is missing here, or
 * whose method or path differs from the protocol's, fails the type check.
 */
export const CALLS: { readonly [Name in MessagingRoute]: readonly [Routes[Name]['method'], Routes[Name]['path']] } = {
  createConversation: ['post', '/v1/conversations'],
  readConversation: ['get', '/v1/conversations/:id'],
  changeConversation: ['patch', '/v1/conversations/:id'],
  deleteConversation: ['delete', '/v1/conversations/:id'],
  readParticipants: ['get', '/v1/conversations/:id/participants'],
  addParticipants: ['post', '/v1/conversations/:id/participants'],
  readRoomInvitations: ['get', '/v1/room-invitations'],
  acceptRoomInvitation: ['post', '/v1/room-invitations/:id/accept'],
  declineRoomInvitation: ['post', '/v1/room-invitations/:id/decline'],
  readPendingInvitations: ['get', '/v1/conversations/:id/invitations'],
  withdrawRoomInvitation: ['delete', '/v1/conversations/:id/invitations/:username'],
  makeRoomLink: ['post', '/v1/conversations/:id/links'],
  readRoomLinks: ['get', '/v1/conversations/:id/links'],
  revokeRoomLink: ['delete', '/v1/conversations/:id/links/:link'],
  joinByRoomLink: ['post', '/v1/room-links/:link/join'],
  changeParticipant: ['patch', '/v1/conversations/:id/participants/:username'],
  removeParticipant: ['delete', '/v1/conversations/:id/participants/:username'],
  postMessage: ['post', '/v1/conversations/:id/messages'],
  readMessages: ['get', '/v1/conversations/:id/messages'],
  readMessage: ['get', '/v1/conversations/:id/messages/:seq'],
  editMessage: ['patch', '/v1/conversations/:id/messages/:seq'],
  deleteMessage: ['delete', '/v1/conversations/:id/messages/:seq'],
  removePreview: ['delete', '/v1/conversations/:id/messages/:seq/preview'],
  putRetention: ['put', '/v1/conversations/:id/retention'],
  purgeMessages: ['delete', '/v1/conversations/:id/messages'],
  addReaction: ['put', '/v1/conversations/:id/messages/:seq/reactions/:emoji'],
  removeReaction: ['delete', '/v1/conversations/:id/messages/:seq/reactions/:emoji'],
  readPins: ['get', '/v1/conversations/:id/pins'],
  addPin: ['put', '/v1/conversations/:id/pins/:seq'],
  removePin: ['delete', '/v1/conversations/:id/pins/:seq'],
  putDraft: ['put', '/v1/conversations/:id/draft'],
  readDraft: ['get', '/v1/conversations/:id/draft'],
  deleteDraft: ['delete', '/v1/conversations/:id/draft'],
  putMute: ['put', '/v1/conversations/:id/mute'],
  putHidden: ['put', '/v1/conversations/:id/hidden'],
  postReceipt: ['post', '/v1/conversations/:id/receipts'],
  readRights: ['get', '/v1/conversations/:id/rights'],
  readChanges: ['get', '/v1/conversations/:id/changes'],
  readInbox: ['get', '/v1/inbox'],
  readPresence: ['get', '/v1/presence'],
  readConversationPresence: ['get', '/v1/conversations/:id/presence'],
  searchMessages: ['get', '/v1/search'],
  listRooms: ['get', '/v1/rooms'],
  joinRoom: ['post', '/v1/rooms/:id/join'],
  putPlacement: ['put', '/v1/conversations/:id/placement'],
  makeWebhook: ['post', '/v1/conversations/:id/webhooks'],
  readWebhooks: ['get', '/v1/conversations/:id/webhooks'],
  revokeWebhook: ['delete', '/v1/conversations/:id/webhooks/:webhook'],
  postWebhook: ['post', '/v1/hooks/:token'],
  readCommands: ['get', '/v1/conversations/:id/commands'],
  invokeCommand: ['post', '/v1/conversations/:id/commands'],
  putBotCommands: ['put', '/v1/bots/self/commands'],
  readBotCommands: ['get', '/v1/bots/self/commands'],
  postResponse: ['post', '/v1/bots/self/responses'],
  makeSubscription: ['post', '/v1/bots/self/subscriptions'],
  readSubscriptions: ['get', '/v1/bots/self/subscriptions'],
  removeSubscription: ['delete', '/v1/bots/self/subscriptions/:subscription'],
  readCapabilities: ['get', '/v1/me/capabilities'],
  putPush: ['put', '/v1/push'],
  readPush: ['get', '/v1/push'],
  deletePush: ['delete', '/v1/push'],
  postSignal: ['post', '/v1/signal'],
  readCalls: ['get', '/v1/calls'],
  readIceServers: ['get', '/v1/calls/ice'],
  readMentions: ['get', '/v1/mentions'],
  readReplies: ['get', '/v1/conversations/:id/messages/:seq/replies'],
  readReadBy: ['get', '/v1/conversations/:id/messages/:seq/read-by'],
};

/** The names of a path's parameters. */
export type NamesIn<Path extends string> = Path extends `${string}:${infer Name}/${infer Rest}`
  ? Name | NamesIn<Rest>
  : Path extends `${string}:${infer Name}`
    ? Name
    : never;

/** What a schema reads; undefined where there is none. */
export type Infer<Schema> = Schema extends z.ZodType ? z.infer<Schema> : undefined;

/** The path parameters of a call. */
export type ParamsOf<Name extends MessagingRoute> = { readonly [P in NamesIn<Routes[Name]['path']>]: string | number };
/** The body a call takes. */
export type BodyOf<Name extends MessagingRoute> = Routes[Name] extends { body: infer Schema extends z.ZodType }
  ? z.input<Schema>
  : undefined;
/** What a call answers when it succeeds. */
export type ReplyOf<Name extends MessagingRoute> = Infer<Routes[Name]['replies'][keyof Routes[Name]['replies']]>;

export interface CallInput<Name extends MessagingRoute> {
  readonly params: ParamsOf<Name>;
  readonly body?: BodyOf<Name>;
  readonly query?: Readonly<Record<string, string | number | undefined>>;
  /** Goes on when the page that asked goes away. */
  readonly outlivesPage?: boolean;
}

/** A path with its parameters filled in, each escaped so that it stays one segment. */
export function fillPath(path: string, params: Readonly<Record<string, string | number>>): string {
  return path.replaceAll(/:([a-z]+)/g, (_, name: string) => encodeURIComponent(String(params[name])));
}
