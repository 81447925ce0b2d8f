/** Whom this installation wants to have a second factor, as the owner set it (POL-01): everybody, or those of some groups. */
import type { SecondFactorRule } from '#src/identity/second-factors/client-factors.ts';
import { Refusal } from '#src/protocol/errors.ts';
import { readSetValues, type SettingJudge } from '#src/settings/settings.ts';
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
      return groupsIn(set['groups']).some((id) => view.document(groupRecords, id)?.members.includes(username) === true);
    },
    graceSeconds: () =>
      ((readSetValues(view, 'second-factors')['grace_days'] as number | undefined) ?? 0) * DAY_SECONDS,
    exemptsProviders: () => readSetValues(view, 'second-factors')['exempt_providers'] !== false,
  };
}

/** Whether the rule names a group: without it, it would ask nobody. */
export function isAskedForFactor(view: View, group: string): boolean {
  return groupsIn(readSetValues(view, 'second-factors')['groups']).includes(group);
}

/** Refuses a rule that names a group that is none: it would ask nobody, and nobody would notice. */
export const judgeSecondFactorRule: SettingJudge = (draft, { after }) => {
  const unknown = groupsIn(after['groups']).some((id) => draft.document(groupRecords, id) === undefined);
  if (unknown) throw new Refusal('field_invalid', { field: 'groups' });
};

function groupsIn(text: unknown): string[] {
  return typeof text === 'string' ? text.split(',').map((id) => id.trim()) : [];
}
