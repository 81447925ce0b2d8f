/** The protocol version: one integer for HTTP forms and socket frames together (VER-01). */

/** What this service speaks. Raised by one with every change that a client could notice. */
export const PROTOCOL_VERSION = 1;

/**
 * The oldest client still served, unless the operator raises it. 0 because installed builds predate the header and
 * report nothing, which reads as 0.
 */
export const PROTOCOL_MIN = 0;

/** The three headers of the version exchange (VER-02, VER-03). Lower case: HTTP compares names without case. */
export const VERSION_HEADERS = {
  service: 'x-service-protocol',
  serviceMin: 'x-service-protocol-min',
  client: 'x-service-client-protocol',
} as const;

/**
 * The prefix of the WebSocket subprotocol by which a browser states its version (`parley.1`): a page cannot set
 * headers on a WebSocket, and without this every browser would count as version 0.
 */
export const SUBPROTOCOL_PREFIX = 'parley.';

/**
 * The prefix of the WebSocket subprotocol by which a browser shows its token, beside the one of its version: it stands in no
 * address then, and so in no log and no history. The server never chooses it.
 */
export const TOKEN_SUBPROTOCOL_PREFIX = 'parley-token.';

/**
 * The version a client states: a whole number in decimal. Absent or anything else reads as 0 (VER-03), since a
 * client that cannot say what it speaks is treated like the builds that predate the header.
 */
export function readClientVersion(header: string | undefined): number {
  return header !== undefined && /^\d{1,9}$/.test(header) ? Number(header) : 0;
}

/** The platforms counted by name in the population report. Anything else a client says is counted as `other`. */
export const PLATFORMS = ['android', 'bot', 'browser', 'desktop', 'ios', 'node', 'other', 'test'] as const;
export type Platform = (typeof PLATFORMS)[number];

/** The platform a client states, folded to the known ones so that a client cannot grow the metric's labels. */
export function readPlatform(text: string | undefined): Platform {
  return PLATFORMS.find((platform) => platform === text) ?? 'other';
}
