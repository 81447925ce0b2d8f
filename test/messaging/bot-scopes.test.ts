/** Every route of messaging against the scopes of a bot (BOT-01). */
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { BOT_ROUTE_SCOPES } from '#src/protocol/bots/bots.ts';
import { BOT_SCOPE_NAMES } from '#src/protocol/bots/bot-scopes.ts';
import { MESSAGING_ROUTES, type MessagingRoute } from '#src/protocol/routes.ts';
import { type Route } from '#src/protocol/route.ts';
import { makeBot, type TestBot } from '#test/support/bots.ts';
import { startConsoleServer, type ConsoleServer } from '#test/support/console.ts';
import type { Person } from '#test/support/server.ts';
import { BotSeats } from './bot-seats.ts';
import { assertRefused, say } from './conversing.ts';

let running: ConsoleServer;
let people: Record<'alice' | 'bob', Person>;
let seats: BotSeats;
before(async () => {
  running = await startConsoleServer({ shards: 2 });
  people = await running.server.people('alice', 'bob');
  seats = new BotSeats(running, people.alice);
});
after(async () => await running.stop());

/** What a bot with a route's scopes reads, as the owner of a room with bob in it and a message of the bot's own. */
const LET_IN: Readonly<Record<Exclude<MessagingRoute, 'postWebhook'>, number | null>> = {
  createConversation: null,
  readConversation: 200,
  changeConversation: 200,
  deleteConversation: 204,
  readParticipants: 200,
  addParticipants: 200,
  readRoomInvitations: null,
  acceptRoomInvitation: null,
  declineRoomInvitation: null,
  readPendingInvitations: 200,
  withdrawRoomInvitation: 404,
  makeRoomLink: null,
  readRoomLinks: null,
  revokeRoomLink: null,
  joinByRoomLink: null,
  changeParticipant: 200,
  removeParticipant: 204,
  postMessage: 201,
  readMessages: 200,
  readMessage: 200,
  editMessage: 200,
  deleteMessage: 200,
  removePreview: 200,
  putRetention: 200,
  purgeMessages: 204,
  addReaction: 200,
  removeReaction: 200,
  readPins: 200,
  addPin: 204,
  removePin: 204,
  putDraft: null,
  readDraft: null,
  deleteDraft: null,
  putMute: null,
  putHidden: null,
  postReceipt: 200,
  readRights: 200,
  readChanges: 200,
  readInbox: 200,
  readPresence: 200,
  readConversationPresence: 200,
  searchMessages: 200,
  listRooms: null,
  joinRoom: null,
  putPlacement: null,
  readCapabilities: null,
  putPush: null,
  readPush: null,
  deletePush: null,
  postSignal: 202,
  readCalls: 200,
  readIceServers: 200,
  readMentions: 200,
  readReplies: 200,
  readReadBy: 200,
  makeWebhook: null,
  readWebhooks: null,
  revokeWebhook: null,
  readCommands: null,
  invokeCommand: null,
  putBotCommands: 200,
  readBotCommands: 200,
  // Let in, with nothing there to answer or to remove.
  postResponse: 401,
  makeSubscription: 201,
  readSubscriptions: 200,
  removeSubscription: 404,
};

const BODIES: Partial<Record<MessagingRoute, (room: string) => unknown>> = {
  createConversation: () => ({ kind: 'room', title: 'Mine', participants: [] }),
  changeConversation: () => ({ title: 'Other' }),
  addParticipants: () => ({ participants: ['bob'] }),
  changeParticipant: () => ({ role: 'moderator' }),
  postMessage: () => ({ kind: 'text', body: 'hello' }),
  editMessage: () => ({ body: 'hello again' }),
  putRetention: () => ({ seconds: 3_600 }),
  putDraft: () => ({ body: 'unsent' }),
  putMute: () => ({ until: null }),
  putHidden: () => ({ seq: null }),
  postReceipt: () => ({ state: 'read', seq: 1 }),
  makeWebhook: () => ({ name: 'Mine' }),
  invokeCommand: () => ({ command: 'none' }),
  putBotCommands: () => ({ commands: [] }),
  postResponse: () => ({ response_token: 'none', text: 'hello' }),
  makeSubscription: () => ({ url: 'https://example.org/deliveries', events: ['command'] }),
  postSignal: (room) => ({ to: room, kind: 'sub', step: 'subscribe', body: {} }),
};

async function use(bot: TestBot, name: MessagingRoute, room: string) {
  const route: Route = MESSAGING_ROUTES[name];
  const path = route.path
    .replace(':id', room)
    .replace(':seq', '1')
    .replace(':username', 'bob')
    .replace(':webhook', 'none')
    .replace(':subscription', 'none')
    .replace(':emoji', encodeURIComponent('👍'));
  const query =
    { readChanges: '?after_rev=0', searchMessages: '?q=first', purgeMessages: '?before_seq=2' }[name as string] ?? '';
  return await running.server.api(bot, route.method.toUpperCase(), `${path}${query}`, BODIES[name]?.(room));
}

for (const [name, status] of Object.entries(LET_IN) as [MessagingRoute, number | null][]) {
  test(`BOT-01 ${name} is closed to a bot that lacks a scope of it, and open to one with nothing more`, async () => {
    const bot = await makeBot(running, `of-${name.toLowerCase()}`, BOT_SCOPE_NAMES, []);
    const room = await seats.roomWith(bot);
    await seats.list(bot, [room]);
    const owner = `/v1/conversations/${room}/participants/${bot.username}`;
    assert.equal((await running.server.api(people.alice, 'PATCH', owner, { role: 'owner' })).status, 200);
    await say(running.server, bot, room, 'the first');
    const needed = BOT_ROUTE_SCOPES[name];
    if (status === null || needed === null) {
      assert.deepEqual([status, needed], [null, null]);
      assertRefused(await use(bot, name, room), 403, 'right_missing');
      return;
    }
    for (const missing of needed) {
      const others = BOT_SCOPE_NAMES.filter((one) => one !== missing);
      await seats.scope(bot, others);
      assertRefused(await use(bot, name, room), 403, 'right_missing');
    }
    await seats.scope(bot, needed);
    const reply = await use(bot, name, room);
    assert.equal(reply.status, status, reply.text);
  });
}

test('BOT-01 a bot passes on what it may read, and only that', async () => {
  const bot = await makeBot(running, 'forwarder', ['messages:write'], []);
  const [room, other] = [await seats.roomWith(bot), await seats.roomWith(bot)];
  await say(running.server, people.alice, room, 'the first');
  await say(running.server, people.alice, other, 'elsewhere');
  await seats.list(bot, [room]);
  const forward = async (conversation: string) =>
    await running.server.api(bot, 'POST', `/v1/conversations/${room}/messages`, {
      forward: { conversation_id: conversation, seq: 1 },
    });
  assertRefused(await forward(room), 403, 'right_missing');
  await seats.scope(bot, ['messages:write', 'messages:read']);
  assertRefused(await forward(other), 403, 'forward_forbidden', 'forward');
  assert.equal((await forward(room)).status, 201);
});
