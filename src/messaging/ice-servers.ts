/** Credentials of limited life for TURN servers, in the form that coturn checks with `use-auth-secret`: no account, no state. */
import { createHmac } from 'node:crypto';
import { unixSeconds } from '#src/base/clock.ts';
import { formatInstant } from '#src/base/time.ts';
import type { Config } from '#src/config.ts';

/** How long credentials last. A call that lasts longer keeps its allocation; only a new one needs new credentials. */
export const TURN_CREDENTIAL_SECONDS = 6 * 3600;

/** The body of `GET /v1/calls/ice`: what RTCPeerConnection takes as `iceServers`. `now` in milliseconds. */
export function iceServers(config: Pick<Config, 'turnUris' | 'turnSecret'>, user: string, now: number): object {
  const uris = config.turnUris.split(',').map((uri) => uri.trim());
  const stun = uris.filter((uri) => /^stuns?:/.test(uri));
  const turn = uris.filter((uri) => /^turns?:/.test(uri));
  const servers: object[] = stun.length === 0 ? [] : [{ urls: stun }];
  if (turn.length === 0 || config.turnSecret === undefined) return { ice_servers: servers, expires_at: null };
  const expires = unixSeconds(now) + TURN_CREDENTIAL_SECONDS;
  const username = `${expires}:${user}`;
  // The scheme has SHA-1 in it; what it protects lasts hours and is worth bandwidth.
  const credential = createHmac('sha1', config.turnSecret).update(username).digest('base64');
  servers.push({ urls: turn, username, credential });
  return { ice_servers: servers, expires_at: formatInstant(expires * 1000) };
}
