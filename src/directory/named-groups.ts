/** Groups that screens of the settings name by their ids: each has to be there when it is named, and stays while it is. */
import { Refusal } from '#src/protocol/errors.ts';
import { GRANTING_SCREENS, groupIdsIn } from '#src/settings/granted-rights.ts';
import { readSetValues, type SettingJudge } from '#src/settings/settings.ts';
import type { AccountsReader } from '#storage/accounts/accounts.ts';
import { groupRecords } from './access-control.ts';

/** The screens with a field `groups`. */
export const GROUP_NAMING_SCREENS = ['second-factors', ...Object.values(GRANTING_SCREENS)] as const;

/** Whether a screen names a group: without it, it would speak of nobody. */
export function isNamedInSettings(view: Pick<AccountsReader, 'document'>, group: string): boolean {
  return GROUP_NAMING_SCREENS.some((name) => groupIdsIn(readSetValues(view, name)['groups']).includes(group));
}

/** Refuses a screen that names a group that is none: it would speak of nobody, and nobody would notice. */
export const judgeNamedGroups: SettingJudge = (draft, { after }) => {
  const unknown = groupIdsIn(after['groups']).some((id) => draft.document(groupRecords, id) === undefined);
  if (unknown) throw new Refusal('field_invalid', { field: 'groups' });
};
