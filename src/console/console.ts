/** The console put together: who gets in, every page with what it shows, and the router over them. */
import type { FastifyInstance } from 'fastify';
import { makeClientReleaseHandlers } from '#src/settings/client-releases.ts';
import { BuiltSite } from '#src/http/built-site.ts';
import { addClientRoutes, type ClientHandlers } from '#src/http/client-routes.ts';
import type { PeopleServices } from '#src/server/coordinator.ts';
import type { LiveCall } from '#src/server/live-calls.ts';
import { makeManagement, type Management, type ManagementOptions } from '#src/server/management.ts';
import { addNodeServices } from '#src/hosts/node-services.ts';
import { CLIENT_RELEASE_ROUTES } from '#src/protocol/hosts/client-releases.ts';
import { GUEST_ROUTES } from '#src/protocol/directory/guest-routes.ts';
import { makeGuestHandlers } from '#src/server/client-handlers.ts';
import { QUOTA_ROUTES } from '#src/protocol/quota-routes.ts';
import type { SessionClaims } from '#src/protocol/sessions/sessions.ts';
import type { RecentLines } from '#src/telemetry/recent-lines.ts';
import { addScimService } from '#src/scim/scim-service.ts';
import { emailHoldersOf } from '#src/directory/directory.ts';
import { ConsoleAuthentication } from '#src/identity/console/console-authentication.ts';
import { Depersonalisation } from './depersonalisation.ts';
import { makeAlertsPage } from './routes/operations/alerts.ts';
import { makeBotIntegrationsPage } from './routes/settings/bots-integrations.ts';
import { makeBotsPage } from './routes/people/bots.ts';
import { makeAuditPage } from './routes/operations/audit.ts';
import { makeBreakGlassPage } from './routes/access/break-glass.ts';
import { makeConsoleRolesPage } from './routes/access/console-roles.ts';
import { makeConversationsPage } from './routes/people/conversations.ts';
import { makeErasuresPage } from './routes/people/erasures.ts';
import { makeGatewaysPage } from './routes/operations/gateways.ts';
import { makeLogsPage } from './routes/operations/logs.ts';
import { makeMailPage } from './routes/operations/mail.ts';
import { makeMcuPage } from './routes/operations/mcu.ts';
import { makeMePage } from './routes/access/me.ts';
import { makeNodesPage } from './routes/operations/nodes.ts';
import { makeOverviewPage } from './routes/operations/overview.ts';
import { makePasskeysPage } from './routes/access/passkeys.ts';
import { makePopulationPage } from './routes/operations/population.ts';
import { makeQuotasPage } from './routes/operations/quotas.ts';
import { makeRoutingPage } from './routes/operations/routing.ts';
import { makeScimClientsPage } from './routes/access/scim-clients.ts';
import { makeSecondFactorPage } from './routes/access/second-factor.ts';
import { makeServersPage } from './routes/operations/servers.ts';
import { makeSignInPage } from './routes/access/sign-in.ts';
import type { SessionCookies } from '#src/server/session-cookies.ts';
import { addSignOnRoutes } from '#src/server/sign-on-routes.ts';
import type { SignIn } from '#src/identity/sign-in.ts';
import type { SignOn } from '#src/identity/single-sign-on/sign-on.ts';
import { makeSsoProvidersPage } from './routes/access/sso-providers.ts';
import { makeSsoPage } from './routes/access/sso.ts';
import { makeStepUpPage } from './routes/access/step-up.ts';
import { makeTelemetryPage } from './routes/operations/telemetry.ts';
import { makeVendorTokensPage } from './routes/access/vendor-tokens.ts';
import { makePeoplePages } from './routes/people/people-routes.ts';
import { PseudonymKey } from './pseudonym-key.ts';
import { PseudonymOrder } from './pseudonym-order.ts';
import type { ConsolePage } from './route.ts';
import type { ConsolePageName } from './route-table.ts';
import { addConsoleRoutes } from './router.ts';
import { makeSettingsPages } from './routes/settings/settings-routes.ts';
import { VendorGate } from './vendor-gate.ts';
import { VendorRedactor } from './vendor-redactor.ts';
import { addConsoleWeb } from './web-pages.ts';

export interface ManagementServicesOptions
  extends Omit<ManagementOptions, 'redactionFailures' | 'access' | 'directory'>, PeopleServices {
  /** The coordinator's app, which does not listen yet. */
  readonly app: FastifyInstance;
  readonly sessionCookies: SessionCookies;
  readonly signIn: SignIn;
  /** The claims of a client's session. @throws Refusal when the token is none. */
  readonly session: (token: string | undefined) => SessionClaims;
  /** The listeners of this process, by service, as clients reach them. */
  readonly listeners: () => { readonly coordinator: string; readonly messaging: string; readonly calendar: string };
  readonly liveCalls: () => Promise<readonly LiveCall[]>;
  /** How many conversations there are. */
  readonly conversations: () => number;
  readonly recentLines: RecentLines;
}

/**
 * Adds the management plane to the coordinator's app: its nouns, the doors of nodes, and `/admin/api` over all of it.
 * Starting the outbox of automations, and stopping it, the alerts and the vault, are the caller's.
 * @throws Error for a route table that is wrong.
 */
export async function addManagementServices(options: ManagementServicesOptions): Promise<Management> {
  const { app, clock } = options;
  // Its key lies in the vault, which is made with the rest: none has failed before.
  let depersonalisation: Depersonalisation | undefined = undefined;
  const management = makeManagement({
    ...options,
    redactionFailures: () => depersonalisation?.failures ?? 0,
  });
  const { accounts } = options;
  const { vault } = management;
  const key = new PseudonymKey({ accounts, vault, clock });
  const redactor = new VendorRedactor({
    accounts,
    vault,
    key,
    people: {
      rev: () => accounts.directoryRev,
      changedSince: (rev, limit) => options.directory.changedSince(rev, limit),
    },
    configured: Object.values(options.config.serviceTokens ?? {}),
  });
  depersonalisation = new Depersonalisation(redactor);
  app.addHook('onClose', async () => await redactor.close());
  addNodeServices(app, management, options.limiter, (bearer) => {
    const { sub: user, dev: device } = options.session(bearer);
    return { user, device };
  });
  const releaseHandlers = makeClientReleaseHandlers(management.clientReleases);
  addClientRoutes(app, CLIENT_RELEASE_ROUTES, releaseHandlers, (token) => options.session(token).sub);
  const quotaHandlers: ClientHandlers<typeof QUOTA_ROUTES> = {
    readQuotas: ({ user }) => ({ status: 200, body: { items: management.quotaReport.of(user), next: null } }),
  };
  addClientRoutes(app, QUOTA_ROUTES, quotaHandlers, (token) => options.session(token).sub, options.limiter);
  const guestHandlers = makeGuestHandlers(options.hostedGuests, () => options.listeners().coordinator);
  addClientRoutes(app, GUEST_ROUTES, guestHandlers, (token) => options.session(token).sub, options.limiter);
  const signOn = addSignOnRoutes({ ...options, ...management, app, baseUrl: () => options.listeners().coordinator });
  await addScimService({
    ...options,
    app,
    baseUrl: () => options.listeners().coordinator,
    clients: management.scimClients,
    directory: {
      rev: () => accounts.directoryRev,
      changedSince: (rev, limit) => options.directory.changedUsers(rev, limit),
    },
    groups: management.scimGroups,
    holdersOf: (email) => emailHoldersOf(accounts, email),
    people: management.scimPeople,
  });
  const { consoleSessions: sessions, vendorTokens, vendorTokenUse: ledger } = management;
  const authentication = new ConsoleAuthentication({ sessions, vendorTokens, ledger, clock });
  const gate = new VendorGate(ledger);
  const pseudonymOrder = new PseudonymOrder({ accounts, key: async () => await key.read() });
  const pages = makePages(options, management, pseudonymOrder, signOn);
  await addConsoleRoutes(app, pages, { authentication, gate, depersonalisation, clock, limiter: options.limiter });
  addConsoleWeb(app, BuiltSite.read('console'));
  management.alerts.start();
  return management;
}

/** A page for each name of the table; the compiler says which one is missing. */
function makePages(
  options: ManagementServicesOptions,
  management: Management,
  pseudonymOrder: PseudonymOrder,
  signOn: SignOn,
): Readonly<Record<ConsolePageName, ConsolePage>> {
  const { accounts, clock, health, listeners, recentLines, startedAt } = options;
  const { alerts, asks, audit, chunks, nodes, reports, telemetry, vendorTokens } = management;
  const { idleSeconds } = management.consoleSessions;
  const coordinatorUrl = () => listeners().coordinator;
  return {
    ...makeSettingsPages(options, management),
    ...makePeoplePages({ ...options, ...management, coordinatorUrl }),
    breakGlass: makeBreakGlassPage({ breakGlass: management.breakGlass, idleSeconds }),
    consoleRoles: makeConsoleRolesPage({ roles: management.consoleRoles }),
    scimClients: makeScimClientsPage(management),
    secondFactor: makeSecondFactorPage({ secondFactors: management.secondFactors }),
    vendorTokens: makeVendorTokensPage({ vendorTokens }),
    signIn: makeSignInPage({
      signIn: management.consoleSignIn,
      sso: management.singleSignOn,
      settings: management.signInSettings,
      idleSeconds,
    }),
    sso: makeSsoPage({ sso: management.singleSignOn, idleSeconds }),
    ssoProviders: makeSsoProvidersPage({ providers: management.personProviders, signOn }),
    stepUp: makeStepUpPage({ stepUp: management.stepUp, sso: management.singleSignOn }),
    mcu: makeMcuPage({ reports, liveCalls: options.liveCalls }),
    alerts: makeAlertsPage({ alerts }),
    audit: makeAuditPage({
      audit,
      archive: management.auditArchive,
      trimmedThrough: () => accounts.auditAnchor.number,
    }),
    bots: makeBotsPage({ bots: management.bots }),
    botIntegrations: makeBotIntegrationsPage(management.integrations),
    conversations: makeConversationsPage(management),
    erasures: makeErasuresPage(management),
    gateways: makeGatewaysPage({ nodes, reports, startedAt }),
    logs: makeLogsPage({ recentLines }),
    mail: makeMailPage({ reports, recordsToPublish: async (by) => await management.mailDns.records(by) }),
    me: makeMePage({ vendorToken: (id) => vendorTokens.record(id) }),
    nodes: makeNodesPage({
      ...{ accounts, asks, chunks, clock, coordinatorUrl, nodes, startedAt },
      takeVendorAsk: (tokenId) => options.limiter.take('journal_ask', tokenId),
    }),
    overview: makeOverviewPage({
      health,
      recentLines,
      counts: countsOf(options, management),
    }),
    passkeys: makePasskeysPage({ passkeys: management.consolePasskeys }),
    population: makePopulationPage({ health }),
    quotas: makeQuotasPage({ people: options.people, quotaReport: management.quotaReport }),
    routing: makeRoutingPage({
      reports,
      listeners: () => Object.entries(listeners()).map(([service, url]) => ({ service, url })),
    }),
    servers: makeServersPage({ nodes, reports, startedAt }),
    telemetry: makeTelemetryPage({ accounts, pseudonymOrder, telemetry, reports, clock }),
  };
}

/** What the overview counts. */
function countsOf({ accounts, conversations }: ManagementServicesOptions, { alerts, nodes }: Management) {
  return {
    people: () => accounts.personCount,
    conversations,
    nodes: () => nodes.all().length,
    alerts: () => alerts.openCount,
  };
}
