/** What people do with their own accounts, put together: profiles, second factors, mail. */
import type { ShardSupervisor } from '#src/messaging/thread-services.ts';
import type { OwnProfiles } from '#src/directory/own-profiles.ts';
import { addAccountMail, type AccountMailOptions } from './account-mail.ts';
import { addOwnAccount } from './own-account.ts';
import { addSecondFactors } from './second-factors.ts';

type AccountsOptions = Parameters<typeof addOwnAccount>[0] &
  Omit<Parameters<typeof addSecondFactors>[0], 'profiles'> &
  Omit<AccountMailOptions, 'baseUrl' | 'tellAccount'>;

/** Adds it to the coordinator's app; answers the profiles. `baseUrl` is where people reach the coordinator, '' before it listens. */
export async function addAccounts(
  account: AccountsOptions,
  supervisor: Pick<ShardSupervisor, 'tellShards'>,
  baseUrl: () => string,
): Promise<OwnProfiles> {
  const { accounts } = account;
  const profiles = await addOwnAccount(account);
  addSecondFactors({ ...account, profiles });
  const tellAccount = (user: string) => supervisor.tellShards('account.changed', { user, rev: accounts.directoryRev });
  await addAccountMail({ ...account, tellAccount, baseUrl });
  return profiles;
}
