/**
 * The table of every route of the console (VND-15): the router registers it, the API document lists it, and the
 * authorisation matrix walks it. A page is in the console when its routes stand here and its handlers in `console.ts`.
 */
import type { ErrorCode } from '#src/protocol/errors.ts';
import { PERMISSIONS } from '#src/identity/console/permissions.ts';
import { alertsRoutes } from './routes/operations/alerts.ts';
import { auditRoutes } from './routes/operations/audit.ts';
import { botIntegrationsRoutes } from './routes/settings/bots-integrations.ts';
import { botsRoutes } from './routes/people/bots.ts';
import { automationsRoutes } from './routes/settings/automations.ts';
import { breakGlassRoutes } from './routes/access/break-glass.ts';
import { clientsRoutes } from './routes/operations/clients.ts';
import { consoleRoleRoutes } from './routes/access/console-roles.ts';
import { customEmojiRoutes } from './routes/people/custom-emoji.ts';
import { encryptionRoutes } from './routes/access/encryption.ts';
import { conversationsRoutes } from './routes/people/conversations.ts';
import { enrollRoutes } from './routes/people/enroll.ts';
import { erasuresRoutes } from './routes/people/erasures.ts';
import { gatewaysRoutes } from './routes/operations/gateways.ts';
import { groupsRoutes } from './routes/people/groups.ts';
import { guestsRoutes } from './routes/people/guests.ts';
import { identityControlRoutes } from './routes/access/identity-control.ts';
import { logsRoutes } from './routes/operations/logs.ts';
import { mailRoutes } from './routes/operations/mail.ts';
import { mcuRoutes } from './routes/operations/mcu.ts';
import { meRoutes } from './routes/access/me.ts';
import { meetingsRoutes } from './routes/people/meetings.ts';
import { messageExportRoutes } from './routes/settings/message-export.ts';
import { nodesRoutes } from './routes/operations/nodes.ts';
import { overviewRoutes } from './routes/operations/overview.ts';
import { passkeysRoutes } from './routes/access/passkeys.ts';
import { policiesRoutes } from './routes/people/policies.ts';
import { populationRoutes } from './routes/operations/population.ts';
import { quotasRoutes } from './routes/operations/quotas.ts';
import { recoveryRoutes } from './routes/people/recovery.ts';
import { resourcesRoutes } from './routes/people/resources.ts';
import { retentionRoutes } from './routes/settings/retention.ts';
import { routingRoutes } from './routes/operations/routing.ts';
import { scimClientRoutes } from './routes/access/scim-clients.ts';
import { secondFactorRoutes } from './routes/access/second-factor.ts';
import { serversRoutes } from './routes/operations/servers.ts';
import { settingsRoutes } from './routes/settings/settings.ts';
import { signInRoutes } from './routes/access/sign-in.ts';
import { ssoProvidersRoutes } from './routes/access/sso-providers.ts';
import { ssoRoutes } from './routes/access/sso.ts';
import { stepUpRoutes } from './routes/access/step-up.ts';
import { telemetryRoutes } from './routes/operations/telemetry.ts';
import { usersRoutes } from './routes/people/users.ts';
import { vendorTokenRoutes } from './routes/access/vendor-tokens.ts';
import type { Access, ConsoleRoute, VendorExposure } from './route.ts';
import { JOURNAL_ASK } from './vendor-gate.ts';

/** Where the console's paths begin. */
export const CONSOLE_PREFIX = '/admin/api';

/** Codes that any route of the console may answer, beyond those of every route of the coordinator. */
export const CONSOLE_COMMON_ERRORS = [
  'redaction_unavailable',
  'right_missing',
  'session_over',
  'step_up_required',
  'two_factor_enrollment_required',
  'vendor_token_expired',
  'vendor_token_forbidden',
  'vendor_token_invalid',
  'vendor_token_revoked',
] as const satisfies readonly ErrorCode[];

/** Page → the routes that it states, by name. A line for each page. */
export const CONSOLE_PAGES = {
  alerts: alertsRoutes,
  audit: auditRoutes,
  bots: botsRoutes,
  botIntegrations: botIntegrationsRoutes,
  automations: automationsRoutes,
  breakGlass: breakGlassRoutes,
  clients: clientsRoutes,
  consoleRoles: consoleRoleRoutes,
  conversations: conversationsRoutes,
  customEmoji: customEmojiRoutes,
  encryption: encryptionRoutes,
  enroll: enrollRoutes,
  erasures: erasuresRoutes,
  gateways: gatewaysRoutes,
  groups: groupsRoutes,
  guests: guestsRoutes,
  identityControl: identityControlRoutes,
  logs: logsRoutes,
  mail: mailRoutes,
  mcu: mcuRoutes,
  me: meRoutes,
  meetings: meetingsRoutes,
  messageExport: messageExportRoutes,
  nodes: nodesRoutes,
  overview: overviewRoutes,
  passkeys: passkeysRoutes,
  policies: policiesRoutes,
  population: populationRoutes,
  quotas: quotasRoutes,
  recovery: recoveryRoutes,
  resources: resourcesRoutes,
  retention: retentionRoutes,
  routing: routingRoutes,
  scimClients: scimClientRoutes,
  secondFactor: secondFactorRoutes,
  servers: serversRoutes,
  settings: settingsRoutes,
  signIn: signInRoutes,
  sso: ssoRoutes,
  ssoProviders: ssoProvidersRoutes,
  stepUp: stepUpRoutes,
  telemetry: telemetryRoutes,
  users: usersRoutes,
  vendorTokens: vendorTokenRoutes,
} as const satisfies Readonly<Record<string, Readonly<Record<string, ConsoleRoute>>>>;
export type ConsolePageName = keyof typeof CONSOLE_PAGES;

/** Every route with the name that it has in its page. */
export function consoleRoutes(): { readonly page: string; readonly name: string; readonly route: ConsoleRoute }[] {
  const pages: [string, Readonly<Record<string, ConsoleRoute>>][] = Object.entries(CONSOLE_PAGES);
  return pages.flatMap(([page, routes]) => Object.entries(routes).map(([name, route]) => ({ page, name, route })));
}

const EXPOSURES: readonly VendorExposure[] = ['open', 'depersonalised', 'closed'];
const ACCESSES: readonly Access[] = ['public', 'second_factor_setup', 'signed_in', ...PERMISSIONS];

/**
 * What is wrong with routes as they are stated, in sentences. The compiler says most of it first; a route that got
 * round it does not start.
 */
export function routeFaults(routes: readonly ConsoleRoute[]): string[] {
  const seen = new Set<string>();
  return routes.flatMap((route) => {
    const name = `${route.method} ${route.path}`;
    const isTwice = seen.has(name);
    seen.add(name);
    return [...(isTwice ? [`${name} is stated twice.`] : []), ...faultsOf(name, route)];
  });
}

function faultsOf(name: string, route: ConsoleRoute): string[] {
  const isWrite = route.method !== 'get';
  const faults: [isFault: boolean, sentence: string][] = [
    [!EXPOSURES.includes(route.vendor), 'does not state how a vendor token meets it'],
    [!ACCESSES.includes(route.access), 'does not state who may call it'],
    [isWrite && route.audit === null, 'writes and is not audited'],
    [isWrite && route.vendor !== 'closed' && name !== JOURNAL_ASK, 'writes and is not closed to vendor tokens'],
    [
      route.access === 'public' && route.vendor === 'depersonalised',
      'is public, and what must be de-personalised cannot be',
    ],
    [
      ['second_factor_setup', 'access:write'].includes(route.access) && route.vendor !== 'closed',
      'manages access and is not closed to vendor tokens',
    ],
    [route.stepUp === true && route.access === 'public', 'asks nobody for a second factor'],
    [!/^(?:\/(?::[a-z]\w*|[\w.-]+))+$/.test(route.path), 'has a path that is none'],
    [Object.keys(route.replies).length === 0, 'states no answer'],
  ];
  return faults.filter(([isFault]) => isFault).map(([, sentence]) => `${name} ${sentence}.`);
}
