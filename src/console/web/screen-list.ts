/** Every screen of the console, in the order of the menu. The first is where the console opens. */
import { alertsScreen } from './screens/alerts.ts';
import { auditScreen } from './screens/audit.ts';
import { automationsScreen } from './screens/automations.ts';
import { botsScreen } from './screens/bots.ts';
import {
  callsScreen,
  clientSessionsScreen,
  meetingsScreen,
  populationScreen,
  telemetryScreen,
} from './screens/clients.ts';
import { encryptionScreen } from './screens/encryption.ts';
import { groupsScreen } from './screens/groups.ts';
import { guestsScreen, recoveryScreen } from './screens/guests.ts';
import { erasuresScreen } from './screens/erasures.ts';
import { holdsScreen } from './screens/holds.ts';
import { gatewaysScreen, mailScreen, serversScreen } from './screens/hosts.ts';
import { identityScreen } from './screens/identity.ts';
import { logsScreen } from './screens/logs.ts';
import { messageExportScreen } from './screens/message-export.ts';
import { nodesScreen } from './screens/nodes.ts';
import { overviewScreen } from './screens/overview.ts';
import { peopleScreen } from './screens/people.ts';
import { policiesScreen } from './screens/policies.ts';
import { releasesScreen } from './screens/releases.ts';
import { accountScreen, breakGlassScreen, secondFactorsScreen } from './screens/second-factors.ts';
import { settingsScreen } from './screens/settings.ts';
import { vendorTokensScreen } from './screens/vendor-tokens.ts';
import { webhooksScreen } from './screens/webhooks.ts';
import type { Screen } from './stage.ts';

export const SCREENS: readonly Screen[] = [
  overviewScreen,
  alertsScreen,
  callsScreen,
  populationScreen,
  peopleScreen,
  groupsScreen,
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
