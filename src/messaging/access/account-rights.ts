/** What an account may do as this thread decides it (CAP-01, CAP-03): for the routes that refuse by it, and for who asks. */
import { Refusal } from '#src/protocol/errors.ts';
import {
  ACCOUNT_RIGHT_RULES,
  accountRightsOf,
  hasAccountRight,
  type AccountRight,
  type AccountStanding,
} from '#src/protocol/directory/account-rights.ts';
import type { AccessChecks } from './access-checks.ts';

export interface AccountRightsOptions {
  readonly access: Pick<AccessChecks, 'grants' | 'isGuest' | 'leaves' | 'rulesOf'>;
  /** Whether the installation has its search switched on. */
  readonly isSearched: boolean;
  /** Whether contents can be kept now. */
  readonly keepsContents: () => boolean;
}

export class AccountRights {
  readonly #options: AccountRightsOptions;

  constructor(options: AccountRightsOptions) {
    this.#options = options;
  }

  /** The rights that a person has now. Nothing is read from a store. */
  of(user: string): AccountRight[] {
    return accountRightsOf(this.#standingOf(user));
  }

  /** @throws Refusal with the code of the right, and `field` where the form names whom it is about. */
  require(right: AccountRight, user: string, field?: string): void {
    if (hasAccountRight(right, this.#standingOf(user))) return;
    throw new Refusal(ACCOUNT_RIGHT_RULES[right].refused, field === undefined ? {} : { field });
  }

  /** Text that changes when the person's rights do, those of the account and those that rules leave in conversations. */
  stateOf(user: string): string {
    return `${this.of(user).join(' ')}\n${this.#options.access.rulesOf(user)}`;
  }

  #standingOf(user: string): AccountStanding {
    const { access, isSearched, keepsContents } = this.#options;
    return {
      isGuest: access.isGuest(user),
      leaves: (action) => access.leaves(action, user),
      isGranted: (right) => access.grants(right, user),
      isSearched,
      keepsContents: keepsContents(),
    };
  }
}
