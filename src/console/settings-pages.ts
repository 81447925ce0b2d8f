/** The pages of what administrators set and hold: settings, encryption, exports, automations, clients, identity. */
import type { Clock } from '#src/base/clock.ts';
import type { Config } from '#src/config.ts';
import type { Management } from '#src/coordinator/management.ts';
import { testSettings } from '#src/coordinator/setting-tests.ts';
import type { Accounts } from '#storage/accounts.ts';
import { makeAutomationsPage } from './pages/automations.ts';
import { makeClientsPage } from './pages/clients.ts';
import { makeEncryptionPage } from './pages/encryption.ts';
import { makeIdentityControlPage } from './pages/identity-control.ts';
import { makeMessageExportPage } from './pages/message-export.ts';
import { makeRetentionPage } from './pages/retention.ts';
import { makeSettingsPage } from './pages/settings.ts';

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
