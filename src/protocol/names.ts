/** Names and ids as they appear in requests: zod schemas for the edges. */
import { z } from 'zod';
import { isId } from '#src/base/ids.ts';

/** Stands where the name of somebody stood who was erased. No username has a bracket. */
export const ERASED_NAME = '[erased]';

/** Lower case, starts with a letter or digit, 64 characters at most: safe in a path, a log and an e-mail address. */
export const USERNAME = /^[a-z0-9][a-z0-9._-]{0,63}$/;

export const username = z.string().regex(USERNAME).meta({ id: 'Username', description: 'A username.' });

export const conversationId = z
  .string()
  .refine((text) => isId('c', text))
  .meta({ id: 'ConversationId', description: 'A conversation identifier, made by the server.' });

export const deviceId = z
  .string()
  .refine((text) => isId('d', text))
  .meta({ id: 'DeviceId', description: 'A device identifier, made by the server at sign-in.' });

/** A client's name of a call attempt: printable ASCII without spaces. It means something between its people alone. */
export const callId = z.string().regex(/^[\x21-\x7e]{1,128}$/);

/** A seq or rev as a number in a body. Numbers beyond 2^53 lose digits in JSON, so they end here. */
export const count = z.int().min(0).max(Number.MAX_SAFE_INTEGER);

export const seq = z.int().min(1).max(Number.MAX_SAFE_INTEGER);

/** An idempotency key: printable ASCII without spaces. A UUID or a ULID is a good one. */
export const clientMsgId = z
  .string()
  .regex(/^[\x21-\x7e]{1,128}$/)
  .meta({ description: 'Makes a repeated post idempotent: per sender and conversation, for ever.' });
