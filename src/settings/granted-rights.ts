/** Rights that screens of the settings give: to everybody of the organisation, or to groups by their ids. */
import type { GrantedRight, Grants } from '#src/protocol/directory/policy-decision.ts';
import type { AccountsReader } from '#storage/accounts/accounts.ts';
import type { SettingScreenName } from './setting-screens.ts';
import { readSetValues } from './settings.ts';

type View = Pick<AccountsReader, 'document'>;

/** Right → the screen that says who has it. */
export const GRANTING_SCREENS = {
  'emoji.create': 'custom-emoji',
  'guest.invite': 'guests',
} as const satisfies Record<GrantedRight, SettingScreenName>;

/** Whom each right is given, as it is set now. */
export function readGrants(view: View): Grants {
  const whom = (right: GrantedRight) => {
    const { everybody, groups } = readSetValues(view, GRANTING_SCREENS[right]);
    return everybody === true ? ['people'] : groupIdsIn(groups);
  };
  return { 'emoji.create': whom('emoji.create'), 'guest.invite': whom('guest.invite') };
}

/** The ids in a field that names groups, with commas between. */
export function groupIdsIn(text: unknown): string[] {
  return typeof text === 'string' ? text.split(',').map((id) => id.trim()) : [];
}
