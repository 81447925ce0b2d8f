/** Ephemeral frames: the only two things a client says over the socket (SOC-06). Neither names a person (FRM-04). */
import { z } from 'zod';
import { conversationId } from '../names.ts';

export const typingFrame = z
  .strictObject({ kind: z.literal('typing'), conv: conversationId })
  .meta({ id: 'TypingFrame' });
export const presenceFrame = z
  .strictObject({ kind: z.literal('presence'), awake: z.boolean() })
  .meta({ id: 'PresenceFrame' });

export const clientFrame = z.discriminatedUnion('kind', [typingFrame, presenceFrame]);
export type ClientFrame = z.infer<typeof clientFrame>;
