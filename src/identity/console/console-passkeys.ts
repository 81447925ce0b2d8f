/**
 * Passkeys as people of the console keep them: beside the authenticator app, for signing in and for what asks again. One
 * that was added here is one of the person's, and opens their apps, too.
 */
import type { Clock } from '#src/base/clock.ts';
import { formatInstant } from '#src/base/time.ts';
import { Refusal } from '#src/protocol/errors.ts';
import type { NewPasskey, PasskeyCreation, PasskeyRequest } from '#src/protocol/sessions/passkeys.ts';
import type { Accounts, AccountsDraft } from '#storage/accounts/accounts.ts';
import type { PasskeyRecord, Passkeys } from '../second-factors/passkeys.ts';
import { actorOf, type ConsolePerson, type Principal } from './principal.ts';
import type { SecondFactors } from './second-factors.ts';

/** A passkey as its person sees it. */
export interface ListedPasskey {
  readonly id: string;
  readonly name: string;
  /** RFC 3339. */
  readonly created_at: string;
  readonly last_used_at: string | null;
}

export interface ConsolePasskeysOptions {
  readonly accounts: Accounts;
  readonly clock: Clock;
  readonly passkeys: Passkeys;
  readonly secondFactors: SecondFactors;
}

export class ConsolePasskeys {
  readonly #options: ConsolePasskeysOptions;

  constructor(options: ConsolePasskeysOptions) {
    this.#options = options;
  }

  /** @throws Refusal `right_missing` for the break-glass account, as everything here does. */
  list(principal: Principal): ListedPasskey[] {
    return this.#options.passkeys.of(personOf(principal).username).map(viewOf);
  }

  /** What a passkey is asked for with, to step up. @throws Refusal `passkeys_unavailable`, `second_factor_not_found`. */
  request(principal: Principal): PasskeyRequest {
    const { sid, username } = personOf(principal);
    if (this.#options.passkeys.of(username).length === 0) throw new Refusal('second_factor_not_found');
    return this.#options.passkeys.request(`step-up:${sid}`, username);
  }

  /** What one is made with. @throws Refusal `passkeys_full`, `passkeys_unavailable`. */
  async creation(principal: Principal): Promise<PasskeyCreation> {
    const { sid, username } = personOf(principal);
    return await this.#options.passkeys.creation(`registration:${sid}`, username, username);
  }

  /** Puts one in force. @throws Refusal `passkey_invalid`, `passkeys_full`, `passkeys_unavailable`. */
  async add(principal: Principal, passkey: NewPasskey, name: string, address: string): Promise<ListedPasskey> {
    const { accounts, passkeys } = this.#options;
    const { sid, username } = personOf(principal);
    const put = await passkeys.verifyNew(passkey, `registration:${sid}`, username, name);
    return await accounts.change((draft) => {
      this.#audit(draft, 'second_factor.added', { kind: 'passkey' }, principal, address);
      return viewOf(put(draft));
    });
  }

  /** Takes one away. @throws Refusal `second_factor_not_found`, `second_factor_last`: the console lets nobody go on without. */
  async remove(principal: Principal, id: string, address: string): Promise<void> {
    const { accounts, passkeys, secondFactors } = this.#options;
    const { username } = personOf(principal);
    await accounts.change((draft) => {
      passkeys.remove(draft, username, id);
      if (!secondFactors.isEnrolled(username, draft)) throw new Refusal('second_factor_last');
      this.#audit(draft, 'second_factor.taken_away', { factor: id }, principal, address);
    });
  }

  #audit(
    draft: AccountsDraft,
    event: 'second_factor.added' | 'second_factor.taken_away',
    details: Readonly<Record<string, string>>,
    principal: Principal,
    address: string,
  ): void {
    const actor = actorOf(principal);
    draft.audit(this.#options.clock.now(), { event, actor, address, subject: actor, details });
  }
}

function personOf(principal: Principal): ConsolePerson {
  if (principal.kind !== 'person') throw new Refusal('right_missing');
  return principal;
}

function viewOf({ createdAt, id, name, usedAt }: PasskeyRecord): ListedPasskey {
  return {
    id,
    name,
    created_at: formatInstant(createdAt),
    last_used_at: usedAt === null ? null : formatInstant(usedAt),
  };
}
