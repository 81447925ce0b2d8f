/** The AsyncAPI 3 document of the socket: events, frames and close codes, generated from the protocol's schemas. */
import { CLOSE_CODES, type CloseReason, mayReconnect } from '#src/protocol/sockets/close-codes.ts';
import { EVENT_DATA, EVENT_TYPES, type EventType } from '#src/protocol/sockets/events.ts';
import { presenceFrame, typingFrame } from '#src/protocol/sockets/frames.ts';
import { FRAME_BYTES_MAX } from '#src/protocol/limits.ts';
import { PROTOCOL_VERSION, SUBPROTOCOL_PREFIX, TOKEN_SUBPROTOCOL_PREFIX } from '#src/protocol/version.ts';
import { danglingReferences, type JsonObject, SchemaCollector } from './schemas.ts';

/** What each event says. */
export const EVENT_MEANINGS: Readonly<Record<EventType, string>> = {
  'message.new': 'A message was posted.',
  'message.edit': 'A message has a new body, or a preview of its link; only the former moves edited_at.',
  'message.delete': 'A message was deleted; its seq stays.',
  receipt: 'A person’s watermark moved: everything up to and including seq is delivered, or read.',
  signal: 'A signalling stanza, to those connected now.',
  typing: 'A person is typing. Never sent to that person.',
  presence: 'The effective presence of one person, over all their devices.',
  inbox: 'A conversation appeared among those of the reader.',
  'conversation.updated': 'The record of a conversation changed.',
  reaction: 'A person added a reaction to a message, or took it back.',
  pin: 'A message was pinned or unpinned.',
  membership: 'People joined or left, or changed roles.',
  unit: 'An organisational unit changed.',
  draft: 'The reader’s own unsent text changed on another device.',
  avatar: 'A person has a new picture.',
  purge: 'Content before a seq is gone for good.',
  group: 'A group of people changed.',
  'conversation.deleted': 'A conversation was deleted, or the reader no longer takes part.',
  'calendar.changed': 'A calendar’s cursor moved: read its changes from the calendar service.',
  'calendar.proposal':
    'Another time for an entry was proposed, answered or taken back: `GET /v1/proposals` has what there is now.',
  'calendar.reminder': 'An alarm of an entry of the reader’s own is due. Not stored: a hint for who is connected.',
  'quota.warning': 'The reader has used four fifths of a quota. Not stored: `GET /v1/me/quotas` says it at any time.',
  'directory.changed': 'A person appeared, changed, was blocked or left.',
  'guest.recovery.requested': 'A guest whom the reader invited cannot sign in.',
  command: 'A person gave one of the bot’s commands. For the bot alone.',
  'command.response': 'A bot answers a command, to its caller alone. Not stored.',
  error: 'A frame of this connection was refused.',
};

/** Why a socket is closed, for a reader of the documents. */
export const CLOSE_MEANINGS: Readonly<Record<CloseReason, string>> = {
  replaced: 'A newer socket of the same device took its place.',
  tooSlow: 'It did not read as fast as it was written to. Reconnect and catch up.',
  draining: 'The server is stopping, or a part of it restarted that this socket depends on.',
  sessionOver: 'The session’s token ran out. Renew it first.',
  abuse: 'Too many refused frames within a minute.',
  revoked: 'The session, the device or the person was revoked.',
  clientTooOld: 'The client’s protocol version is below the oldest served.',
};

/** The whole document. */
export function asyncApiDocument(): JsonObject {
  const schemas = new SchemaCollector();
  const events = EVENT_TYPES.map((type): [string, JsonObject] => [type, eventMessage(type, schemas)]);
  const frames: [string, JsonObject][] = [
    ['frame.typing', frameMessage('The person types in a conversation.', schemas.convert(typingFrame, 'in'))],
    ['frame.presence', frameMessage('The app woke up or went to sleep.', schemas.convert(presenceFrame, 'in'))],
  ];
  const document = {
    asyncapi: '3.0.0',
    info: {
      title: 'Parley socket',
      version: String(PROTOCOL_VERSION),
      description:
        'What goes over `GET /v1/ws`. Generated from the protocol’s schemas by `npm run docs`; ' +
        'the rules behind it are in `docs/protocol.md`.',
      license: { name: 'AGPL-3.0-or-later' },
    },
    defaultContentType: 'application/json',
    servers: { messaging: { host: '127.0.0.1:8081', protocol: 'ws', description: 'At its default address.' } },
    channels: { socket: socketChannel([...events, ...frames].map(([name]) => name)) },
    operations: {
      sendEvents: socketOperation('send', 'What the server sends.', events),
      receiveFrames: socketOperation('receive', 'The only two things a client says here.', frames),
    },
    components: { schemas: schemas.components(), messages: Object.fromEntries([...events, ...frames]) },
    'x-close-codes': Object.fromEntries(
      Object.entries(CLOSE_CODES).map(([reason, code]) => [
        code,
        { reason, description: CLOSE_MEANINGS[reason as CloseReason], reconnect: mayReconnect(code) },
      ]),
    ),
  };
  const dangling = danglingReferences(document);
  if (dangling.length > 0) throw new Error(`References that lead nowhere: ${dangling.join(', ')}`);
  return document;
}

function socketChannel(names: string[]): JsonObject {
  return {
    address: '/v1/ws',
    description:
      `One socket per device. A browser, which cannot set headers, states its version by the subprotocol ` +
      `\`${SUBPROTOCOL_PREFIX}${PROTOCOL_VERSION}\` and shows its token by \`${TOKEN_SUBPROTOCOL_PREFIX}<token>\`.`,
    messages: Object.fromEntries(names.map((name) => [name, { $ref: `#/components/messages/${name}` }])),
    bindings: {
      ws: {
        method: 'GET',
        query: {
          type: 'object',
          properties: {
            token: {
              type: 'string',
              description: 'The session token, for clients of before it could be a subprotocol.',
            },
            device: { type: 'string', description: 'The device id that sign-in answered.' },
          },
          required: ['device'],
        },
      },
    },
  };
}

function socketOperation(action: 'send' | 'receive', summary: string, messages: [string, JsonObject][]): JsonObject {
  return {
    action,
    summary,
    channel: { $ref: '#/channels/socket' },
    messages: messages.map(([name]) => ({ $ref: `#/channels/socket/messages/${name}` })),
  };
}

function eventMessage(type: EventType, schemas: SchemaCollector): JsonObject {
  const payload = {
    type: 'object',
    properties: {
      type: { const: type },
      conv: { type: 'string', description: 'The conversation, where there is one.' },
      seq: { type: 'integer', minimum: 1, description: 'The message, where there is one.' },
      ts: { type: 'integer', description: 'Unix seconds.' },
      data: schemas.convert(EVENT_DATA[type], 'out'),
      rev: { type: 'integer', minimum: 1, description: 'The change counter of the conversation after this event.' },
      rev_count: { type: 'integer', minimum: 1, description: 'How many changes the event stands for.' },
    },
    required: ['type', 'ts', 'data'],
  };
  return { name: type, summary: EVENT_MEANINGS[type], payload };
}

function frameMessage(summary: string, payload: JsonObject): JsonObject {
  return { summary, description: `At most ${FRAME_BYTES_MAX} bytes, as text.`, payload };
}
