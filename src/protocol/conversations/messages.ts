/** Messages: what a client may post (MSG-01, MSG-02) and what readers get (MSG-04, MSG-09). */
import { z } from 'zod';
import { MENTIONS_PER_MESSAGE_MAX, TEXT_LENGTH_MAX } from '../limits.ts';
import { linkPreview, type LinkPreview } from './links.ts';
import { callId, clientMsgId, conversationId, count, seq, username } from '../names.ts';

export const MESSAGE_KINDS = ['text', 'media', 'location', 'contact', 'call', 'system'] as const;
export type MessageKind = (typeof MESSAGE_KINDS)[number];

const text = z.string().min(1).max(TEXT_LENGTH_MAX);
const shortText = z.string().min(1).max(200);

const mediaBody = z.strictObject({
  attachment: z.string().refine((id) => id.startsWith('att_') && id.length <= 64),
  name: z.string().min(1).max(255),
  type: z
    .string()
    .regex(/^[\w.+-]+\/[\w.+-]+$/)
    .max(127),
  size: z.int().min(0),
  width: z.int().min(1).max(100_000).optional(),
  height: z.int().min(1).max(100_000).optional(),
  duration: z.number().min(0).max(864_000).optional(),
  caption: text.optional(),
  /** What a picture shows, for who does not see it. */
  alt: z.string().min(1).max(1_000).optional(),
});

const locationBody = z.strictObject({
  latitude: z.number().min(-90).max(90),
  longitude: z.number().min(-180).max(180),
  accuracy: z.number().min(0).max(10_000_000).optional(),
  name: shortText.optional(),
});

const contactBody = z.strictObject({
  name: shortText,
  username: username.optional(),
  phones: z.array(z.string().min(1).max(32)).max(8).optional(),
  emails: z.array(z.string().min(3).max(254)).max(8).optional(),
});

export const CALL_RESULTS = ['completed', 'missed', 'declined', 'busy', 'cancelled', 'failed'] as const;

/** What came of a call. Carries result, duration in seconds and flags, and no identity (MSG-07). */
export const callOutcome = z.strictObject({
  result: z.enum(CALL_RESULTS),
  duration: z.number().min(0).max(864_000),
  flags: z.array(z.string().regex(/^[a-z][a-z0-9_]{0,31}$/)).max(8),
});

/** `call` is the attempt it is about, so that it can be held against what the server saw. */
const outcomeBody = z.strictObject({ outcome: callOutcome, call: callId.optional() });

/** The body of each kind. `system` is the server's own, except in the form of a call outcome (MSG-05). */
export const MESSAGE_BODIES = {
  text,
  media: mediaBody,
  location: locationBody,
  contact: contactBody,
  call: outcomeBody,
  system: outcomeBody,
} as const satisfies Record<MessageKind, z.ZodType>;

/** Where in a text it stands, in UTF-16 units, as strings are counted in JavaScript. */
const place = {
  offset: z.int().min(0).max(TEXT_LENGTH_MAX),
  length: z.int().min(1).max(TEXT_LENGTH_MAX),
};

/** Somebody, or everybody in the conversation. A form has no field `user`, whoever it would be about (GOV-03). */
export const mention = z
  .union([z.strictObject({ username, ...place }), z.strictObject({ all: z.literal(true), ...place })])
  .meta({ id: 'Mention' });

export type Mention = z.infer<typeof mention>;

const mentions = z.array(mention).min(1).max(MENTIONS_PER_MESSAGE_MAX);

/** Each mention stands in the text, behind the one before it, and takes no character apart. */
function checkMentions(form: { body: unknown; mentions?: readonly Mention[] | undefined }, context: z.RefinementCtx) {
  if (form.mentions === undefined) return;
  let end = 0;
  for (const [index, { offset, length }] of form.mentions.entries()) {
    const isInside = typeof form.body === 'string' && offset + length <= form.body.length;
    const isWhole = isInside && (form.body as string).slice(offset, offset + length).isWellFormed();
    if (offset < end || !isWhole) {
      context.addIssue({ code: 'custom', path: ['mentions', index], message: 'is not a place in the text' });
      return;
    }
    end = offset + length;
  }
}

/** What every posted form may carry. `reply_to` is the message that it answers, in the same conversation. */
const carried = { client_msg_id: clientMsgId.optional(), reply_to: seq.optional() };

const variant = <K extends MessageKind>(kind: K) =>
  z.strictObject({ kind: z.literal(kind), body: MESSAGE_BODIES[kind], ...carried });

const contentForm = z.discriminatedUnion('kind', [
  z
    .strictObject({ kind: z.literal('text'), body: text, mentions: mentions.optional(), ...carried })
    .superRefine(checkMentions),
  variant('media'),
  variant('location'),
  variant('contact'),
  variant('call'),
  variant('system'),
]);

/** A message passed on: the server copies kind and body, and says whose and from when they are. */
const forwardForm = z.strictObject({ forward: z.strictObject({ conversation_id: conversationId, seq }), ...carried });

/** POST /v1/conversations/{id}/messages. */
export const postMessage = z.union([contentForm, forwardForm]).meta({ id: 'PostMessage' });

/** A message with a body of its own. */
export type PostMessage = z.infer<typeof contentForm>;
export type ForwardMessage = z.infer<typeof forwardForm>;
export type MessageBody = PostMessage['body'];

/** The one of the posted forms that a value is meant to be, so that what is wrong with it is said of that one. */
export function postFormOf(value: unknown): z.ZodType<PostMessage | ForwardMessage> {
  const isForward = typeof value === 'object' && value !== null && 'forward' in value;
  return isForward ? forwardForm : contentForm;
}

/** PATCH …/messages/{seq}: a new body of the same kind. Mentions are stated anew: without any, there are none. */
export const editMessage = z
  .strictObject({
    body: z.union([text, mediaBody, locationBody, contactBody]),
    mentions: mentions.optional(),
  })
  .superRefine(checkMentions)
  .meta({ id: 'EditMessage' });

/** Whose words a forwarded message has, and from when. Of a forward of a forward it is the first one. */
export const forwardOrigin = z.strictObject({ sender: username, created_at: z.string() }).meta({ id: 'ForwardOrigin' });

export type ForwardOrigin = z.infer<typeof forwardOrigin>;

/** One emoji's reactions: how many people, and up to REACTION_USERS_MAX of them by name. */
export const reaction = z
  .strictObject({ emoji: z.string(), count: z.int().min(1), users: z.array(username) })
  .meta({ id: 'Reaction' });

/** A message as readers get it. A deleted one keeps its seq and says when it was deleted; its body is gone. */
export const message = z
  .strictObject({
    conversation_id: z.string(),
    seq: z.int().min(1),
    kind: z.enum(MESSAGE_KINDS),
    body: z.union([z.string(), z.record(z.string(), z.unknown())]).optional(),
    sender: username,
    client_msg_id: z.string().optional(),
    created_at: z.string(),
    edited_at: z.string().optional(),
    deleted_at: z.string().optional(),
    reply_to: seq.optional(),
    /** The message that the thread began with: `reply_to` itself, or what that one is in the thread of. */
    root_seq: seq.optional(),
    mentions: z.array(mention).optional(),
    forward: forwardOrigin.optional(),
    /** What the page behind the first link of a text says of itself, where the installation shows it. */
    preview: linkPreview.optional(),
    reactions: z.array(reaction).optional(),
    /** Of a message that a thread began with: how many messages are behind it in the thread, stubs too. */
    reply_count: count.optional(),
    last_reply_seq: seq.optional(),
  })
  .meta({ id: 'Message' });

export interface Message {
  conversation_id: string;
  seq: number;
  kind: MessageKind;
  body?: MessageBody;
  sender: string;
  client_msg_id?: string;
  created_at: string;
  edited_at?: string;
  deleted_at?: string;
  reply_to?: number;
  root_seq?: number;
  mentions?: readonly Mention[];
  forward?: ForwardOrigin;
  preview?: LinkPreview;
  reactions?: Reaction[];
  reply_count?: number;
  last_reply_seq?: number;
}

export interface Reaction {
  emoji: string;
  count: number;
  users: string[];
}

/**
 * Whether a posted form is a call step, which belongs to signalling (MSG-06): an `action` at the top level, inside
 * the body, or inside a body that is itself JSON in a string, as old clients sent it.
 */
export function isCallStep(form: unknown): boolean {
  if (hasAction(form)) return true;
  const body = (form as { body?: unknown } | null)?.body;
  if (typeof body !== 'string') return hasAction(body);
  // Only text that looks like a JSON object is worth parsing: every ordinary chat line passes here. JSON may begin
  // with white space and may escape the letters of its keys, so nothing less than parsing settles the rest.
  if (!/^[ \t\r\n]*\{/.test(body)) return false;
  try {
    return hasAction(JSON.parse(body));
  } catch {
    return false;
  }
}

function hasAction(value: unknown): boolean {
  return typeof value === 'object' && value !== null && !Array.isArray(value) && 'action' in value;
}

/** One emoji as a path segment: a single grapheme that is an emoji, so that a reaction can't carry text. */
export function isEmoji(textOfPath: string): boolean {
  if (textOfPath.length === 0 || textOfPath.length > 40) return false;
  return /^\p{RGI_Emoji}$/v.test(textOfPath);
}
