/** Which handler serves which route of the messaging service. */
import type { MessagingRoute } from '#src/protocol/routes.ts';
import type { Handler } from './caller.ts';
import { readCalls, readIceServers } from '../calls/call-handlers.ts';
import * as commands from '../bots/command-handlers.ts';
import * as conversations from '../conversations/conversation-handlers.ts';
import * as invitations from '../conversations/invitation-handlers.ts';
import { readInbox } from '../conversations/inbox-handlers.ts';
import { readMentions } from '../conversations/mention-handlers.ts';
import * as messages from '../conversations/message-handlers.ts';
import { readConversationPresence, readPresence } from '../conversations/presence-handlers.ts';
import * as pushes from '../push/push-handlers.ts';
import * as retention from '../conversations/retention-handlers.ts';
import * as links from '../conversations/room-link-handlers.ts';
import * as rooms from '../conversations/room-handlers.ts';
import { searchMessages } from '../search/search-handlers.ts';
import { postSignal } from '../calls/signal-handlers.ts';
import * as subscriptions from '../bots/subscription-handlers.ts';
import { readReadBy, readReplies } from '../conversations/thread-handlers.ts';
import * as webhooks from '../bots/webhook-handlers.ts';

export const HANDLERS: Readonly<Record<MessagingRoute, Handler>> = {
  createConversation: conversations.createConversation,
  readConversation: conversations.readConversation,
  changeConversation: conversations.changeConversation,
  deleteConversation: conversations.deleteConversation,
  readParticipants: conversations.listParticipants,
  addParticipants: conversations.addParticipants,
  readRoomInvitations: invitations.readRoomInvitations,
  acceptRoomInvitation: invitations.acceptRoomInvitation,
  declineRoomInvitation: invitations.declineRoomInvitation,
  readPendingInvitations: invitations.readPendingInvitations,
  withdrawRoomInvitation: invitations.withdrawRoomInvitation,
  makeRoomLink: links.makeRoomLink,
  readRoomLinks: links.readLinks,
  revokeRoomLink: links.revokeRoomLink,
  joinByRoomLink: links.joinByRoomLink,
  changeParticipant: conversations.changeParticipant,
  removeParticipant: conversations.removeParticipant,
  readRights: conversations.readRights,
  readCapabilities: conversations.readCapabilities,
  postMessage: messages.postMessage,
  readMessages: messages.readMessages,
  readMessage: messages.readOneMessage,
  editMessage: messages.editMessage,
  deleteMessage: messages.deleteMessage,
  removePreview: messages.removePreview,
  putRetention: retention.putRetention,
  purgeMessages: retention.purgeMessages,
  addReaction: messages.addReaction,
  removeReaction: messages.removeReaction,
  readPins: messages.readPins,
  addPin: messages.addPin,
  removePin: messages.removePin,
  putDraft: messages.putDraft,
  readDraft: messages.readDraft,
  deleteDraft: messages.deleteDraft,
  putMute: messages.putMute,
  putHidden: messages.putHidden,
  postReceipt: messages.postReceipt,
  readChanges: messages.listChanges,
  readInbox,
  readConversationPresence,
  readPresence,
  searchMessages,
  putPush: pushes.putPush,
  readPush: pushes.readPush,
  deletePush: pushes.deletePush,
  postSignal,
  readCalls,
  readIceServers,
  readMentions,
  readReplies,
  readReadBy,
  listRooms: rooms.listRooms,
  joinRoom: rooms.joinRoom,
  putPlacement: rooms.putPlacement,
  makeWebhook: webhooks.makeWebhook,
  readWebhooks: webhooks.readWebhooks,
  revokeWebhook: webhooks.revokeWebhook,
  postWebhook: webhooks.postWebhook,
  readCommands: commands.readCommands,
  invokeCommand: commands.invokeCommand,
  putBotCommands: commands.putBotCommands,
  readBotCommands: commands.readBotCommands,
  postResponse: commands.postResponse,
  makeSubscription: subscriptions.makeSubscription,
  readSubscriptions: subscriptions.readSubscriptions,
  removeSubscription: subscriptions.removeSubscription,
};
