/** Messages: what a client may post (MSG-01, MSG-02) and what readers get (MSG-04, MSG-09). */
import { z } from 'zod';
import { TEXT_LENGTH_MAX } from './limits.ts';
import { callId, clientMsgId, username } from './names.ts';

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

const variant = <K extends MessageKind>(kind: K) =>
  z.strictObject({ kind: z.literal(kind), body: MESSAGE_BODIES[kind], client_msg_id: clientMsgId.optional() });

/** POST /v1/conversations/{id}/messages. */
export const postMessage = z
  .discriminatedUnion('kind', [
    variant('text'),
    variant('media'),
    variant('location'),
    variant('contact'),
    variant('call'),
    variant('system'),
  ])
  .meta({ id: 'PostMessage' });

export type PostMessage = z.infer<typeof postMessage>;
export type MessageBody = PostMessage['body'];

/** PATCH …/messages/{seq}: a new body of the same kind. */
export const editMessage = z
  .strictObject({ body: z.union([text, mediaBody, locationBody, contactBody]) })
  .meta({ id: 'EditMessage' });

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
    reactions: z.array(reaction).optional(),
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
  reactions?: Reaction[];
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
