/** Every screen of the console, in the order of the menu. The first is where the console opens. */
import { alertsScreen } from './screens/alerts.ts';
import { quotasScreen } from './screens/quotas.ts';
import { auditScreen } from './screens/audit.ts';
import { automationsScreen } from './screens/automations.ts';
import { botsScreen } from './screens/bots.ts';
import { callsScreen, clientSessionsScreen, populationScreen, telemetryScreen } from './screens/clients.ts';
import { encryptionScreen } from './screens/encryption.ts';
import { customEmojiScreen } from './screens/people/custom-emoji.ts';
import { conversationsScreen } from './screens/people/conversations.ts';
import { groupsScreen } from './screens/people/groups.ts';
import { guestsScreen, recoveryScreen } from './screens/people/guests.ts';
import { erasuresScreen } from './screens/people/erasures.ts';
import { holdsScreen } from './screens/people/holds.ts';
import { meetingsScreen } from './screens/people/meetings.ts';
import { gatewaysScreen, mailScreen, serversScreen } from './screens/hosts/hosts.ts';
import { identityScreen } from './screens/identity.ts';
import { logsScreen } from './screens/logs.ts';
import { messageExportScreen } from './screens/message-export.ts';
import { nodesScreen } from './screens/hosts/nodes.ts';
import { overviewScreen } from './screens/overview.ts';
import { peopleScreen } from './screens/people/people.ts';
import { policiesScreen } from './screens/people/policies.ts';
import { releasesScreen } from './screens/releases.ts';
import { scimClientsScreen } from './screens/scim-clients.ts';
import { accountScreen, breakGlassScreen, secondFactorsScreen } from './screens/second-factors.ts';
import { settingsScreen } from './screens/settings.ts';
import { ssoProvidersScreen } from './screens/sso-providers.ts';
import { vendorTokensScreen } from './screens/vendor-tokens.ts';
import { webhooksScreen } from './screens/webhooks.ts';
import type { Screen } from './screen-context.ts';

export const SCREENS: readonly Screen[] = [
  overviewScreen,
  alertsScreen,
  quotasScreen,
  callsScreen,
  populationScreen,
  peopleScreen,
  groupsScreen,
  conversationsScreen,
  customEmojiScreen,
  policiesScreen,
  guestsScreen,
  recoveryScreen,
  erasuresScreen,
  meetingsScreen,
  vendorTokensScreen,
  botsScreen,
  webhooksScreen,
  automationsScreen,
  settingsScreen,
  ssoProvidersScreen,
  scimClientsScreen,
  releasesScreen,
  encryptionScreen,
  identityScreen,
  secondFactorsScreen,
  breakGlassScreen,
  accountScreen,
  nodesScreen,
  gatewaysScreen,
  serversScreen,
  mailScreen,
  logsScreen,
  auditScreen,
  clientSessionsScreen,
  telemetryScreen,
  holdsScreen,
  messageExportScreen,
];
