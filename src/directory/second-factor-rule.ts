/** Whom this installation wants to have a second factor, as the owner set it (POL-01): everybody, or those of some groups. */
import type { SecondFactorRule } from '#src/identity/second-factors/client-factors.ts';
import { groupIdsIn } from '#src/settings/granted-rights.ts';
import { readSetValues } from '#src/settings/settings.ts';
import type { AccountsReader } from '#storage/accounts/accounts.ts';
import { groupRecords } from './access-control.ts';

type View = Pick<AccountsReader, 'document'>;

const DAY_SECONDS = 86_400;

/** The rule of the settings, read at every use, so that a change counts at once. */
export function makeSecondFactorRule(view: View): SecondFactorRule {
  return {
    asks: (username) => {
      const set = readSetValues(view, 'second-factors');
      if (set['everybody'] === true) return true;
      return groupIdsIn(set['groups']).some(
        (id) => view.document(groupRecords, id)?.members.includes(username) === true,
      );
    },
    graceSeconds: () =>
      ((readSetValues(view, 'second-factors')['grace_days'] as number | undefined) ?? 0) * DAY_SECONDS,
    exemptsProviders: () => readSetValues(view, 'second-factors')['exempt_providers'] !== false,
  };
}
