/** Signalling stanzas: negotiation between parties, delivered to who is connected now and never stored (SIG-01…07). */
import { z } from 'zod';
import type { Json } from '#src/base/json.ts';
import { callId, count, username } from '../names.ts';

export const SIGNAL_STEPS = {
  call: ['invite', 'cancel', 'join', 'end', 'decline', 'hold', 'transfer'],
  webrtc: ['offer', 'answer', 'candidate', 'camera'],
  sub: ['subscribe', 'unsubscribe'],
} as const;

export type SignalKind = keyof typeof SIGNAL_STEPS;
export const SIGNAL_KINDS = Object.keys(SIGNAL_STEPS) as SignalKind[];

export function isSignalKind(kind: unknown): kind is SignalKind {
  return typeof kind === 'string' && Object.hasOwn(SIGNAL_STEPS, kind);
}

/** Keys that say who is speaking. Only the server writes them, so no depth of a payload may carry one (GOV-02). */
export const IDENTITY_FIELDS = ['sender', 'from', 'user'] as const;

/** The path of the first identity field anywhere in a payload, or undefined. */
export function findIdentityField(value: unknown, path = ''): string | undefined {
  if (typeof value !== 'object' || value === null) return undefined;
  for (const [key, inner] of Object.entries(value)) {
    const here = path === '' ? key : `${path}.${key}`;
    if (!Array.isArray(value) && (IDENTITY_FIELDS as readonly string[]).includes(key)) return here;
    const found = findIdentityField(inner, here);
    if (found !== undefined) return found;
  }
  return undefined;
}

const reason = z.string().max(200).optional();

/** The call family's bodies. An invite says what it invites to (SIG-05); the rest may say why. */
export const CALL_BODIES = {
  invite: z.strictObject({ video: z.boolean(), room: z.string().min(1).max(128) }),
  cancel: z.strictObject({ reason }),
  join: z.strictObject({ video: z.boolean().optional(), room: z.string().min(1).max(128).optional() }),
  end: z.strictObject({ reason }),
  decline: z.strictObject({ reason }),
  hold: z.strictObject({ held: z.boolean().optional() }),
  transfer: z.strictObject({ target: username, room: z.string().min(1).max(128).optional() }),
} as const;

/** What a browser's WebRTC stack produces is its own business; it is carried whole, with identity fields refused. */
const payload = z.record(z.string(), z.unknown());

const to = z.string().min(1).max(64);

/** POST /v1/signal. `kind` and `step` are checked first, each with a code of its own (SIG-02). */
export const signal = z
  .strictObject({
    to,
    kind: z.enum(SIGNAL_KINDS as [SignalKind, ...SignalKind[]]),
    step: z.string(),
    call: callId.optional(),
    seq: count.optional(),
    body: payload.optional(),
  })
  .refine((stanza) => stanza.kind === 'sub' || stanza.call !== undefined, { path: ['call'] })
  .refine((stanza) => stanza.kind === 'sub' || stanza.seq !== undefined, { path: ['seq'] })
  .meta({ id: 'Signal' });

export interface Signal {
  to: string;
  kind: SignalKind;
  step: string;
  call?: string;
  seq?: number;
  body: { [key: string]: Json };
}

/** The `data` of a `signal` event: the stanza and who sent it; without a sender the server itself speaks. */
export interface SignalEventData extends Signal {
  sender?: string;
}
