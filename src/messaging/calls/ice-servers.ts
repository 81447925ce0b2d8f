/** Credentials of limited life for TURN servers, in the form that coturn checks with `use-auth-secret`: no account, no state. */
import { createHmac } from 'node:crypto';
import { unixSeconds } from '#src/base/clock.ts';
import { formatInstant } from '#src/base/time.ts';
import type { MediaServers } from '#src/protocol/calls/calls.ts';

/**
 * The body of `GET /v1/calls/ice`: what RTCPeerConnection takes as `iceServers`. Without a secret TURN servers are left
 * out, since they would turn everybody away. `now` in milliseconds.
 */
export function iceServers({ uris, secret, seconds }: MediaServers, user: string, now: number): object {
  const all = uris.split(',').map((uri) => uri.trim());
  const stun = all.filter((uri) => /^stuns?:/.test(uri));
  const turn = all.filter((uri) => /^turns?:/.test(uri));
  const servers: object[] = stun.length === 0 ? [] : [{ urls: stun }];
  if (turn.length === 0 || secret === null) return { ice_servers: servers, expires_at: null };
  const expires = unixSeconds(now) + seconds;
  const username = `${expires}:${user}`;
  // The scheme has SHA-1 in it; what it protects lasts hours and is worth bandwidth.
  const credential = createHmac('sha1', secret).update(username).digest('base64');
  servers.push({ urls: turn, username, credential });
  return { ice_servers: servers, expires_at: formatInstant(expires * 1000) };
}
