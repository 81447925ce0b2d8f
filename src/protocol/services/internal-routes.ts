/**
 * What the services of one installation ask the coordinator (CRD-05): with a service token and nothing else. No client
 * and no console calls these.
 */
import { z } from 'zod';
import { directoryEntry } from '../directory/directory.ts';
import { username } from '../names.ts';
import type { Route } from '../route.ts';

/** The longest session token is far below. [field_invalid] */
const TOKEN_LENGTH_MAX = 4_096;

export const introspectToken = z
  .strictObject({ token: z.string().min(1).max(TOKEN_LENGTH_MAX) })
  .meta({ id: 'IntrospectToken' });

/** Whether a text is the token of a session that is good now, and whose it is. Why one is not is nobody's business. */
export const tokenIntrospection = z
  .discriminatedUnion('active', [
    z.strictObject({ active: z.literal(true), user: username, device_id: z.string(), exp: z.int() }),
    z.strictObject({ active: z.literal(false) }),
  ])
  .meta({ id: 'TokenIntrospection' });

export const INTERNAL_ROUTES = {
  introspectToken: {
    method: 'post',
    path: '/v1/internal/introspect',
    summary: 'Whether a session token is good now, and whose it is.',
    auth: 'service',
    body: introspectToken,
    replies: { 200: tokenIntrospection },
    errors: ['right_missing'],
  },
  readInternalPerson: {
    method: 'get',
    path: '/v1/internal/directory/:username',
    summary: 'One person, whatever the access policies show to whom.',
    auth: 'service',
    replies: { 200: directoryEntry },
    errors: ['person_not_found', 'right_missing'],
  },
} as const satisfies Record<string, Route>;
