/** The pages of what administrators set and hold: settings, encryption, exports, automations, clients, identity. */
import type { Clock } from '#src/base/clock.ts';
import type { Config } from '#src/config.ts';
import type { Management } from '#src/server/management.ts';
import { testSettings } from '#src/settings/setting-tests.ts';
import type { Accounts } from '#storage/accounts/accounts.ts';
import { makeAutomationsPage } from './automations.ts';
import { makeClientsPage } from '../operations/clients.ts';
import { makeEncryptionPage } from '../access/encryption.ts';
import { makeIdentityControlPage } from '../access/identity-control.ts';
import { makeMessageExportPage } from './message-export.ts';
import { makeRetentionPage } from './retention.ts';
import { makeSettingsPage } from './settings.ts';

export interface SettingsPagesOptions {
  readonly accounts: Accounts;
  readonly clock: Clock;
  readonly config: Pick<Config, 'allowPrivateTargets'>;
}

export function makeSettingsPages({ accounts, clock, config }: SettingsPagesOptions, management: Management) {
  const { automations, clientReleases, messageExport, retention, settings, singleSignOn, vault } = management;
  const { allowPrivateTargets } = config;
  return {
    automations: makeAutomationsPage({ automations }),
    clients: makeClientsPage({ releases: clientReleases }),
    encryption: makeEncryptionPage({ accounts, clock, vault }),
    identityControl: makeIdentityControlPage({ sso: singleSignOn }),
    messageExport: makeMessageExportPage({ messageExport }),
    retention: makeRetentionPage({ retention }),
    settings: makeSettingsPage({
      settings,
      test: async (name) => await testSettings(name, { settings, clock, allowPrivateTargets }),
    }),
  };
}
