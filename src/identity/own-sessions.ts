/** A person’s own sessions, by the devices they are on: listed with their last use, and ended (CRD-08). */
import type { Clock } from '#src/base/clock.ts';
import { formatInstant } from '#src/base/time.ts';
import type { OwnSession } from '#src/protocol/account/own-sessions.ts';
import { Refusal } from '#src/protocol/errors.ts';
import type { SessionClaims } from '#src/protocol/sessions/sessions.ts';
import type { Accounts, AccountsDraft } from '#storage/accounts/accounts.ts';
import type { Revocation, SessionAnnouncer } from './credentials/revocations.ts';

export interface OwnSessionsOptions {
  readonly accounts: Accounts;
  readonly announcer: Pick<SessionAnnouncer, 'revoked'>;
  readonly clock: Clock;
}

export class OwnSessions {
  readonly #options: OwnSessionsOptions;

  constructor(options: OwnSessionsOptions) {
    this.#options = options;
  }

  /** Those that have not ended, the one that asks among them, the one used last first. */
  list({ sid, sub }: SessionClaims): OwnSession[] {
    const { accounts, clock } = this.#options;
    const items = accounts.devices(sub).flatMap(({ id, name, platform, session }): OwnSession[] => {
      if (session === undefined || session.rnw * 1000 <= clock.now()) return [];
      const { iat, rnw, seen } = session;
      return [
        {
          ...{ id: session.sid, device_id: id, name, platform, is_current: session.sid === sid },
          signed_in_at: formatInstant(iat * 1000),
          last_used_at: formatInstant((seen?.at ?? iat) * 1000),
          ...(seen === undefined ? {} : { address: seen.address }),
          renewable_until: formatInstant(rnw * 1000),
        },
      ];
    });
    return items.toSorted((a, b) => (a.last_used_at < b.last_used_at ? 1 : -1));
  }

  /** Ends one, also the one that asks; its socket closes. @throws Refusal `user_session_not_found`, `busy`, `storage_full`. */
  async end(claims: SessionClaims, session: string, address: string): Promise<void> {
    const ended = await this.#end(claims, address, ({ sid }) => sid === session);
    if (ended.length === 0) throw new Refusal('user_session_not_found');
  }

  /** Ends all but the one that asks; answers how many. @throws Refusal `busy`, `storage_full`. */
  async endOthers(claims: SessionClaims, address: string): Promise<number> {
    return (await this.#end(claims, address, ({ sid }) => sid !== claims.sid)).length;
  }

  async #end({ sub }: SessionClaims, address: string, matches: (revocation: Revocation) => boolean) {
    const { accounts, announcer, clock } = this.#options;
    const ended = await accounts.change((draft) => endMatching(draft, sub, matches, { address, now: clock.now() }), {
      isUrgent: true,
    });
    if (ended.length > 0) await announcer.revoked(ended);
    return ended;
  }
}

/** Ends the sessions that match, as part of a change; an entry of the trail for each. */
function endMatching(
  draft: AccountsDraft,
  username: string,
  matches: (revocation: Revocation) => boolean,
  { address, now }: { readonly address: string; readonly now: number },
): Revocation[] {
  const devices = draft.devices(username);
  const ended = devices.flatMap((device) => {
    const { session } = device;
    const revocation = session === undefined ? undefined : { sid: session.sid, until: session.rnw };
    if (revocation === undefined || !matches(revocation)) return [];
    device.session = undefined;
    draft.putRevocation(revocation);
    const actor = `user:${username}`;
    const details = { session: revocation.sid, device: device.id };
    draft.audit(now, { event: 'user.session_ended', actor, address, subject: actor, details });
    return [revocation];
  });
  if (ended.length > 0) draft.putDevices(username, devices);
  return ended;
}
