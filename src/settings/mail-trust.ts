/** Whose word about the sender of a calendar mail counts, as administrators set it. */
import type { Settings } from './settings.ts';

/** The mail server that vouches, and how many of its own lines stand above its results. */
export interface TrustedMailServer {
  readonly authservId: string;
  readonly hops: number;
  /** Senders that name others as the organisers and attendees of what they send: calendar services that know their users. */
  readonly agents: readonly string[];
}

/** Undefined while nobody is trusted, and so no mail is. @throws Refusal `encryption_locked`. */
export function readMailTrust(settings: Pick<Settings, 'read'>): TrustedMailServer | undefined {
  const {
    trusted_agents: agents = '',
    trusted_authserv_id: authservId,
    trusted_hops: hops = 0,
  } = settings.read('mail') ?? {};
  return authservId === undefined ? undefined : { authservId, hops, agents: agents.toLowerCase().split(/\s*,\s*/) };
}
