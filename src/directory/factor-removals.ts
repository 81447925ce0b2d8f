/**
 * Second factors taken away for somebody who lost theirs: by the same rules as their password is reset, since whoever has the
 * password comes in then. Every session of the person ends: one may be on the phone that is lost.
 */
import type { Clock } from '#src/base/clock.ts';
import { endConsoleSessions } from '#src/identity/console/console-sessions.ts';
import { forgetFactors } from '#src/identity/console/second-factors.ts';
import type { SessionAnnouncer } from '#src/identity/credentials/revocations.ts';
import type { SecretKeeper } from '#src/identity/credentials/secret-keeper.ts';
import { endSessions } from '#src/identity/device-sessions.ts';
import { Refusal } from '#src/protocol/errors.ts';
import type { Accounts } from '#storage/accounts/accounts.ts';
import type { AuditActor } from '#storage/accounts/audit-chain.ts';
import { oneOwner } from './password-resets.ts';
import { UnknownPerson } from './people.ts';

export interface FactorRemovalsOptions {
  readonly accounts: Accounts;
  readonly announcer: Pick<SessionAnnouncer, 'revoked'>;
  readonly clock: Clock;
  readonly secrets: Pick<SecretKeeper, 'remove'>;
}

export class FactorRemovals {
  readonly #options: FactorRemovalsOptions;

  constructor(options: FactorRemovalsOptions) {
    this.#options = options;
  }

  /**
   * Takes all second factors of a person away, and ends their sessions, in clients and in the console. An owner’s go on the
   * host alone (`isOnHost`), or by another owner on the screen of second factors.
   * @throws UnknownPerson, Refusal `person_left`, `owner_reset_on_host`, `second_factor_not_found`.
   */
  async remove(username: string, by: AuditActor, isOnHost = false): Promise<void> {
    const { accounts, announcer, clock, secrets } = this.#options;
    const revoked = await accounts.change((draft) => {
      const person = draft.person(username);
      if (person === undefined) throw new UnknownPerson(username);
      if (person.state === 'left') throw new Refusal('person_left');
      if (!isOnHost && person.role === 'owner') throw new Refusal('owner_reset_on_host');
      if (!forgetFactors(draft, username, secrets)) throw new Refusal('second_factor_not_found');
      endConsoleSessions(draft, username);
      const ended = endSessions(draft, username);
      const details = { sessions_ended: ended.length };
      const entry = { event: 'second_factor.removed', ...by, subject: `user:${username}`, details };
      draft.audit(clock.now(), entry);
      return ended;
    });
    if (revoked.length > 0) await announcer.revoked(revoked);
  }

  /** Of an owner on the host: of that one, or of the only one there is. @throws NotOneOwner, and what `remove` throws. */
  async removeForOwner(name: string | undefined, by: AuditActor): Promise<string> {
    const username = oneOwner(this.#options.accounts, name);
    await this.remove(username, by, true);
    return username;
  }
}
