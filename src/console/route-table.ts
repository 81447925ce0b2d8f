/**
 * The table of every route of the console (VND-15): the router registers it, the API document lists it, and the
 * authorisation matrix walks it. A page is in the console when its routes stand here and its handlers in `console.ts`.
 */
import type { ErrorCode } from '#src/protocol/errors.ts';
import { PERMISSIONS } from './permissions.ts';
import { alertsRoutes } from './pages/alerts.ts';
import { auditRoutes } from './pages/audit.ts';
import { botIntegrationsRoutes } from './pages/bots-integrations.ts';
import { botsRoutes } from './pages/bots.ts';
import { automationsRoutes } from './pages/automations.ts';
import { breakGlassRoutes } from './pages/break-glass.ts';
import { clientsRoutes } from './pages/clients.ts';
import { consoleRoleRoutes } from './pages/console-roles.ts';
import { encryptionRoutes } from './pages/encryption.ts';
import { enrollRoutes } from './pages/enroll.ts';
import { erasuresRoutes } from './pages/erasures.ts';
import { gatewaysRoutes } from './pages/gateways.ts';
import { groupsRoutes } from './pages/groups.ts';
import { guestsRoutes } from './pages/guests.ts';
import { identityControlRoutes } from './pages/identity-control.ts';
import { logsRoutes } from './pages/logs.ts';
import { mailRoutes } from './pages/mail.ts';
import { mcuRoutes } from './pages/mcu.ts';
import { meRoutes } from './pages/me.ts';
import { meetingsRoutes } from './pages/meetings.ts';
import { messageExportRoutes } from './pages/message-export.ts';
import { nodesRoutes } from './pages/nodes.ts';
import { overviewRoutes } from './pages/overview.ts';
import { policiesRoutes } from './pages/policies.ts';
import { populationRoutes } from './pages/population.ts';
import { recoveryRoutes } from './pages/recovery.ts';
import { retentionRoutes } from './pages/retention.ts';
import { routingRoutes } from './pages/routing.ts';
import { secondFactorRoutes } from './pages/second-factor.ts';
import { serversRoutes } from './pages/servers.ts';
import { settingsRoutes } from './pages/settings.ts';
import { signInRoutes } from './pages/sign-in.ts';
import { ssoRoutes } from './pages/sso.ts';
import { telemetryRoutes } from './pages/telemetry.ts';
import { usersRoutes } from './pages/users.ts';
import { vendorTokenRoutes } from './pages/vendor-tokens.ts';
import type { Access, ConsoleRoute, VendorExposure } from './route.ts';
import { JOURNAL_ASK } from './vendor-gate.ts';

/** Where the console's paths begin. */
export const CONSOLE_PREFIX = '/admin/api';

/** Codes that any route of the console may answer, beyond those of every route of the coordinator. */
export const CONSOLE_COMMON_ERRORS = [
  'redaction_unavailable',
  'right_missing',
  'session_over',
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
  policies: policiesRoutes,
  population: populationRoutes,
  recovery: recoveryRoutes,
  retention: retentionRoutes,
  routing: routingRoutes,
  secondFactor: secondFactorRoutes,
  servers: serversRoutes,
  settings: settingsRoutes,
  signIn: signInRoutes,
  sso: ssoRoutes,
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
    [!/^(?:\/(?::[a-z]\w*|[\w.-]+))+$/.test(route.path), 'has a path that is none'],
    [Object.keys(route.replies).length === 0, 'states no answer'],
  ];
  return faults.filter(([isFault]) => isFault).map(([, sentence]) => `${name} ${sentence}.`);
}
