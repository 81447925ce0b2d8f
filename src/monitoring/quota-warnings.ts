/** Tells people who are near a quota, each of them once a day for each quota, also over restarts. */
import type { Clock } from '#src/base/clock.ts';
import type { NearQuota } from '#src/limits/quotas.ts';
import type { Logger } from '#src/telemetry/logger.ts';
import type { Accounts } from '#storage/accounts/accounts.ts';
import { noteQuotaWarning } from '#storage/accounts/daily-use.ts';

export interface QuotaWarningsOptions {
  readonly accounts: Accounts;
  readonly clock: Clock;
  readonly log: Logger;
  /** Tells the person's sockets. */
  readonly tell: (near: NearQuota) => void;
}

export class QuotaWarnings {
  readonly #options: QuotaWarningsOptions;

  constructor(options: QuotaWarningsOptions) {
    this.#options = options;
  }

  /** Tells a person, unless they were told of that quota today. What cannot be noted is told once more later. */
  note(near: NearQuota): void {
    const { accounts, clock, log, tell } = this.#options;
    const noted = accounts.change((draft) => {
      const isThere = draft.person(near.user) !== undefined;
      return isThere && noteQuotaWarning(draft, near.user, near.quota, clock.now());
    });
    noted.then(
      (isNew) => isNew && tell(near),
      (error: unknown) => log.warn('a warning of a quota could not be noted', { error }),
    );
  }
}
