/** What people are in a room. Written out, since the protocol's own list brings the schema library along. */
import type { Participant as WireParticipant, Role } from '#src/protocol/conversations/conversations.ts';

export type { Role };
export type Participant = WireParticipant;

export const ROLES = ['owner', 'moderator', 'member', 'guest'] as const satisfies readonly Role[];
