/** When people who are added to rooms are asked, as the settings have it, over what the configuration says. */
import type { Config } from '#src/config.ts';
import type { AskingRule } from '#src/protocol/directory/policy-decision.ts';
import type { AccountsReader } from '#storage/accounts/accounts.ts';
import { readSetValues } from './settings.ts';

export type AskingDefaults = Pick<Config, 'addGuests' | 'addUnasked'>;

export function readAsking(
  accounts: Pick<AccountsReader, 'document'>,
  { addGuests, addUnasked }: AskingDefaults,
): AskingRule {
  const set = readSetValues(accounts, 'room-invitations') as { unasked_up_to?: number; guests?: Config['addGuests'] };
  return { above: set.unasked_up_to ?? addUnasked, guests: (set.guests ?? addGuests) === 'asked' };
}
