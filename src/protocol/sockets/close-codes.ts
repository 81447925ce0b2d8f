/**
 * Why the server closes a socket. The band alone tells a client what to do: 4000–4399 reconnect (with jitter),
 * 4400–4499 do not.
 */
export const CLOSE_CODES = {
  /** A newer socket of the same device took its place (SOC-02). */
  replaced: 4001,
  /** It did not read as fast as it was written to; reconnect and catch up (SOC-12). */
  tooSlow: 4002,
  /** The server is stopping or this part of it restarts. */
  draining: 4003,
  /** The session's token ran out while the socket was open; renew first. */
  sessionOver: 4004,
  /** Too many refused frames in a minute (SOC-08). */
  abuse: 4400,
  /** The session, device or person was revoked (CRD-08). */
  revoked: 4401,
  /** The client's protocol version is below the oldest served (VER-03). */
  clientTooOld: 4426,
} as const;

export type CloseReason = keyof typeof CLOSE_CODES;

/** Whether a client should come back after this close code. Codes outside our bands are the network's: come back. */
export function mayReconnect(code: number): boolean {
  return code < 4400 || code > 4499;
}
