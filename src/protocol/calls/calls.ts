/** Calls as clients read them: the live ones, and the servers that carry their media past firewalls. */
import { z } from 'zod';
import { username } from '../names.ts';

export const CALL_STATES = ['ringing', 'joined', 'held', 'transferring'] as const;

/** How the caller stands to a call: rung now, in it, out of it by their own word, or free to join. */
export const CALL_STANDINGS = ['ringing', 'joined', 'held', 'declined', 'invited'] as const;

export const liveCall = z
  .strictObject({
    call: z.string(),
    /** What to address steps to: the conversation, or the person. */
    to: z.string(),
    state: z.enum(CALL_STATES),
    /** Who began it. */
    host: username,
    video: z.boolean(),
    room: z.string(),
    started_at: z.string(),
    participants: z.array(z.strictObject({ user: username, held: z.boolean() })),
    you: z.enum(CALL_STANDINGS),
    /** The caller's device that is in it; null when none is. */
    device: z.string().nullable(),
  })
  .meta({ id: 'Call' });

/** GET /v1/calls. All that are live: there are never so many that they need pages. */
export const callsReply = z.strictObject({ items: z.array(liveCall), next: z.null() }).meta({ id: 'Calls' });

export type LiveCallView = z.infer<typeof liveCall>;

const ICE_URI = /^(?:stuns?:[^\s,?]+|turns?:[^\s,?]+(?:\?transport=(?:udp|tcp))?)$/;

/** Whether a text is STUN and TURN URIs separated by commas. */
export function isIceUriList(text: string): boolean {
  return text.split(',').every((part) => ICE_URI.test(part.trim()));
}

/** Whether one of the URIs of such a list is a TURN server's, which takes credentials. */
export function hasTurn(uris: string): boolean {
  return /(?:^|,)\s*turns?:/.test(uris);
}

/** The servers that the messaging threads name. The main thread hands them over whenever they change. */
export interface MediaServers {
  /** STUN and TURN URIs separated by commas; empty for none. */
  readonly uris: string;
  /** What credentials for TURN follow from; null while there is none, or the vault is locked. */
  readonly secret: string | null;
  /** How long credentials last, in seconds. */
  readonly seconds: number;
}

/**
 * How long credentials last where nothing else is set, in seconds. A call that lasts longer keeps its allocation; only
 * a new one needs new credentials.
 */
export const TURN_CREDENTIAL_SECONDS = 6 * 3600;

/** One entry of what RTCPeerConnection takes as `iceServers`. */
const iceServer = z.strictObject({
  urls: z.array(z.string()),
  username: z.string().optional(),
  credential: z.string().optional(),
});

/** GET /v1/calls/ice. `expires_at` is null where nothing expires. */
export const iceReply = z
  .strictObject({ ice_servers: z.array(iceServer), expires_at: z.string().nullable() })
  .meta({ id: 'IceServers' });
