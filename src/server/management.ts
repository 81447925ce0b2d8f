/**
 * The management plane put together: the nouns behind the console and behind the doors of nodes. Nothing in here knows
 * HTTP; `console.ts` shows it, and `coordinator.ts` has what people sign in with.
 */
import type { Address, Answer, Tell } from '#actors/runtime/actor.ts';
import { SignInGuard } from '#src/identity/credentials/sign-in-guard.ts';
import type { Passwords } from '#src/identity/credentials/passwords.ts';
import type { Revocation, SessionAnnouncer } from '#src/identity/credentials/revocations.ts';
import type { Limiter } from '#src/limits/limiter.ts';
import type { Clock } from '#src/base/clock.ts';
import type { Config } from '#src/config.ts';
import type { BotSnapshot } from '#src/protocol/bots/bots.ts';
import type { HealthBody } from '#src/telemetry/health-body.ts';
import type { Accounts } from '#storage/accounts/accounts.ts';
import type { Lanes } from '#storage/engine/lanes.ts';
import type { RetentionRule } from '#storage/conversations/retention.ts';
import { Vault } from '#storage/vault/vault.ts';
import { makeAlertSources, type AlertSourcesOptions } from './alert-sources.ts';
import { Alerts } from '#src/monitoring/alerts.ts';
import { QuotaReport } from '#src/monitoring/quota-report.ts';
import type { QuotaGate } from '#src/limits/quotas.ts';
import type { QuotaLimits } from '#src/protocol/quotas.ts';
import { readQuotaLimits } from '#src/settings/quota-settings.ts';
import type { AttachmentReader } from '#storage/attachments/attachment-records.ts';
import { Bots } from '#src/integrations/bots.ts';
import { AuditArchive } from '#src/audit/audit-archive.ts';
import { AuditTrail } from '#src/audit/audit-trail.ts';
import { BreakGlassAccount } from '#src/identity/console/break-glass.ts';
import { ConsolePasskeys } from '#src/identity/console/console-passkeys.ts';
import { isPasswordElsewhere } from '#src/settings/kept-elsewhere.ts';
import { ConsoleRoles } from '#src/identity/console/console-roles.ts';
import { ConsoleSessions } from '#src/identity/console/console-sessions.ts';
import { ConsoleSignIn } from '#src/identity/console/console-sign-in.ts';
import { Erasures } from '#src/compliance/erasures.ts';
import type { Logger } from '#src/telemetry/logger.ts';
import { Integrations } from '#src/integrations/integrations.ts';
import { makeNodeServices, type NodeServices } from '#src/hosts/node-services.ts';
import { ConversationRegister } from '#src/compliance/conversation-register.ts';
import { RoomOwners } from '#src/compliance/room-owners.ts';
import { Retention, type RetentionOptions } from '#src/compliance/retention.ts';
import type { AccessControl } from '#src/directory/access-control.ts';
import { bindableHoldersOf, type Directory } from '#src/directory/directory.ts';
import { SecondFactors } from '#src/identity/console/second-factors.ts';
import { ScimClients } from '#src/identity/scim-clients.ts';
import { ScimGroups } from '#src/scim/scim-groups.ts';
import { ScimPeople } from '#src/scim/scim-people.ts';
import { makeSettingsServices, type SettingsServices, type SettingsServicesOptions } from './settings-services.ts';
import { SignInSwitches } from '#src/identity/sign-in-switches.ts';
import { SingleSignOn } from '#src/identity/single-sign-on/single-sign-on.ts';
import { PersonProviders } from '#src/identity/single-sign-on/person-providers.ts';
import { LdapDirectory } from '#src/identity/ldap/ldap-directory.ts';
import { LdapSignIn } from '#src/identity/ldap/ldap-sign-in.ts';
import { LdapSync, makeFromDirectory } from '#src/directory/ldap-sync.ts';
import { GROUP_NAMING_SCREENS, judgeNamedGroups, type Groups } from '#src/directory/groups/groups.ts';
import { randomSymbols } from '#src/base/ids.ts';
import { readLdapSettings } from '#src/settings/ldap-settings.ts';
import { StepUp } from '#src/identity/console/step-up.ts';
import { ClientFactors } from '#src/identity/second-factors/client-factors.ts';
import { endUnproven } from '#src/identity/second-factors/own-factors.ts';
import { Passkeys } from '#src/identity/second-factors/passkeys.ts';
import { relyingPartyOf } from '#src/identity/second-factors/relying-party.ts';
import { WebauthnChallenges } from '#src/identity/second-factors/webauthn-challenges.ts';
import { FactorRemovals } from '#src/directory/factor-removals.ts';
import { makeSecondFactorRule } from '#src/directory/second-factor-rule.ts';
import { VendorRefusals } from '#src/identity/vendor-refusals.ts';
import { VendorTokens } from '#src/identity/vendor-tokens.ts';
import { VendorTokenUse } from '#src/identity/vendor-token-use.ts';
import type { CertificateRenewal } from '#src/acme/certificate-renewal.ts';
import type { CertificateWatch } from '#src/tls/certificate-watch.ts';

export interface ManagementOptions extends Omit<SettingsServicesOptions, 'config'> {
  readonly lanes: Pick<Lanes, 'environments' | 'read' | 'requireReadable' | 'requireWhole'>;
  readonly access: AccessControl;
  readonly directory: Pick<Directory, 'changedSince' | 'changedUsers'>;
  readonly attachments: Pick<AttachmentReader, 'countContents' | 'find' | 'uploadedSince'>;
  /** What people may use, as this thread holds them to it. */
  readonly quotas: QuotaGate;
  /** Hands the quotas to every messaging thread; resolves when each goes by them. */
  readonly announceQuotas: (limits: QuotaLimits) => Promise<void>;
  readonly accounts: Accounts;
  readonly announcer: SessionAnnouncer;
  /** Hands the bots to every messaging thread; resolves when each decides by them. */
  readonly announceBots: (snapshot: BotSnapshot) => Promise<void>;
  /** Hands the rule of retention to every thread that reads messages; resolves when each reads by it. */
  readonly announceRetention: (rule: RetentionRule) => Promise<void>;
  /** Counts what would go if messages were kept for so many seconds. @throws Refusal `unavailable`. */
  readonly countExpiring: RetentionOptions['countExpiring'];
  /** Reaches the actor of an address on whatever thread it lives. */
  readonly ask: (to: Address, message: Tell, millis: number) => Promise<Answer>;
  /** What the listeners show; undefined where they speak plain HTTP. */
  readonly certificate: Pick<CertificateWatch, 'current' | 'fault'> | undefined;
  readonly renewal: Pick<CertificateRenewal, 'fault'> | undefined;
  readonly clock: Clock;
  readonly groups: Groups;
  readonly limiter: Limiter;
  readonly config: Config;
  /** The data folder. */
  readonly folder: string;
  readonly health: () => Promise<HealthBody>;
  readonly log: Logger;
  readonly passwords: Passwords;
  /** Origins whose pages may call, known once the coordinator listens: of them follow those that may ask for passkeys. */
  readonly origins: () => Iterable<string>;
  /** De-personalised answers that failed since the start. */
  readonly redactionFailures: () => number;
  /** When the server started, in milliseconds. */
  readonly startedAt: number;
}

export type Management = ReturnType<typeof makeManagement>;

export function makeManagement(options: ManagementOptions) {
  const { accounts, announcer, clock, log } = options;
  const warn = (error: Error) => log.warn('sealing the secrets stopped in the middle', { error });
  const vault = new Vault({ accounts, clock, warn, countContents: () => options.attachments.countContents() });
  const plane = makeNodeServices(accounts, clock);
  const settingsServices = makeSettingsServices(options, vault);
  for (const name of GROUP_NAMING_SCREENS) settingsServices.settings.judge(name, judgeNamedGroups);
  const quotaReport = new QuotaReport(options);
  settingsServices.settings.follow('quotas', async () => {
    options.quotas.use(readQuotaLimits(accounts, options.config));
    await options.announceQuotas(options.quotas.limits);
  });
  const faultChanged = () => void alerts.evaluate();
  const unknownHash = unknownHashOf(options);
  const ldap = makeLdap(options, settingsServices, faultChanged, unknownHash);
  let storeFault: string | null = null;
  const objectStoreFault = {
    note: (fault: string | null): void => {
      storeFault = fault;
      faultChanged();
    },
  };
  const alerts: Alerts = makeAlerts(options, plane, settingsServices, {
    quotaReport,
    directoryFault: () => ldap.ldapSync.fault,
    objectStoreFault: () => storeFault,
  });
  const directoryChanged = (user: string, rev: number) => announcer.directoryChanged(user, rev);
  const integrations = new Integrations({
    ...options,
    alerts,
    vault,
    allowPrivateTargets: options.config.allowPrivateTargets,
    announce: options.announceBots,
    directoryChanged,
  });
  const access = makeAccess(options, vault, alerts, settingsServices);
  settingsServices.settings.follow('second-factors', async () => await access.clientFactors.forgetUnasked());
  const erasures = new Erasures({ ...options, secondFactors: access.secondFactors });
  const roomOwners = new RoomOwners(options);
  const holdEnded = () => erasures.goOn();
  const retention = new Retention({ ...options, holdEnded, settings: settingsServices.settings });
  return {
    ...plane,
    ...settingsServices,
    ...access,
    ...ldap,
    ...makeProvisioning(options, unknownHash),
    alerts,
    audit: new AuditTrail(accounts),
    bots: new Bots({
      accounts,
      clock,
      announce: async (snapshot) => await integrations.announce(snapshot),
      directoryChanged,
    }),
    objectStoreFault,
    conversationRegister: new ConversationRegister({ ...options, owners: roomOwners }),
    roomOwners,
    erasures,
    integrations,
    auditArchive: new AuditArchive({ accounts, clock, log, isHeld: () => retention.rule.isHeld }),
    quotaReport,
    retention,
    consoleRoles: new ConsoleRoles({ accounts, announcer, clock }),
    vault,
  };
}

function makeAlerts(
  options: ManagementOptions,
  { nodes }: NodeServices,
  { settings }: SettingsServices,
  faults: Pick<AlertSourcesOptions, 'directoryFault' | 'objectStoreFault'> & { readonly quotaReport: QuotaReport },
): Alerts {
  const { accounts, certificate, clock, folder, health, log, redactionFailures, startedAt } = options;
  const commitP99Seconds = async () => (await health()).storage.commit.p99_seconds;
  const sources = makeAlertSources({
    nodes,
    clock,
    folder,
    startedAt,
    commitP99Seconds,
    storageDamage: async () => (await health()).storage,
    clusterHosts: async () => (await health()).cluster?.hosts ?? null,
    certificateEnd: () => settings.certificateEnd(),
    certificate,
    renewal: options.renewal,
    redactionFailures,
    accountsUsedBytes: () => accounts.usedBytes,
    quotaConditions: () => faults.quotaReport.conditions(),
    directoryFault: faults.directoryFault,
    objectStoreFault: faults.objectStoreFault,
  });
  const failed = (source: string, error: unknown) => log.warn('a source of alerts failed', { source, error });
  return new Alerts({ accounts, clock, sources, failed });
}

/** The directory server: signing in by it, and keeping people and groups as it has them. */
function makeLdap(
  options: ManagementOptions,
  { settings }: SettingsServices,
  faultChanged: () => void,
  unknownHash: () => Promise<string>,
) {
  const { accounts, announcer, clock, config, groups, log } = options;
  const { allowPrivateTargets } = config;
  const directory = new LdapDirectory({ allowPrivateTargets, log, settings: () => readLdapSettings(settings) });
  return {
    ldapSignIn: new LdapSignIn({
      accounts,
      directory,
      unknownHash,
      create: (draft, username, person, made) =>
        makeFromDirectory(draft, username, person, { ...made, now: clock.now() }),
      made: (username, rev) => announcer.directoryChanged(username, rev),
    }),
    ldapSync: new LdapSync({ accounts, announcer, clock, directory, faultChanged, groups, log, unknownHash }),
  };
}

/** The hash of one password that nobody was ever told: what it is of matters to nobody. */
function unknownHashOf({ passwords }: ManagementOptions): () => Promise<string> {
  let hash: Promise<string> | undefined;
  return async () => await (hash ??= passwords.hash(randomSymbols(32)));
}

/** Clients that provision people over SCIM, and what is theirs. */
function makeProvisioning(
  { accounts, announcer, clock, groups, log }: ManagementOptions,
  unknownHash: () => Promise<string>,
) {
  const scimPeople = new ScimPeople({ accounts, announcer, clock, unknownHash });
  return {
    scimClients: new ScimClients({ accounts, clock, log }),
    scimPeople,
    scimGroups: new ScimGroups({ accounts, clock, groups, people: scimPeople }),
  };
}

/** Second factors of people, and what asks for them. */
function makeFactors(
  { accounts, announcer, clock, config, origins }: ManagementOptions,
  parts: { alerts: Alerts; guard: SignInGuard; sessions: ConsoleSessions; vault: Vault },
) {
  const { alerts, guard, sessions, vault } = parts;
  const passkeys = new Passkeys({
    accounts,
    challenges: new WebauthnChallenges(),
    clock,
    party: () => relyingPartyOf(config, origins()),
    copied: async (username, address) => {
      const subject = `user:${username}`;
      const entry = { event: 'passkey.copied', actor: 'server', address, subject, details: {} } as const;
      await accounts.change((draft) => draft.audit(clock.now(), entry));
      await alerts.note('passkey_copied', 'server', `from ${address}; the audit trail says whose it was`);
    },
  });
  const secondFactors = new SecondFactors({
    ...{ accounts, announcer, clock, guard, passkeys, secrets: vault, sessions },
    endUnproven: (draft, username): readonly Revocation[] => endUnproven(draft, clientFactors, username),
  });
  const rule = makeSecondFactorRule(accounts);
  const clientFactors: ClientFactors = new ClientFactors({ accounts, clock, passkeys, rule, secondFactors });
  return { clientFactors, passkeys, secondFactors };
}

/** Who gets into the console, and by what. */
function makeAccess(options: ManagementOptions, vault: Vault, alerts: Alerts, { settings }: SettingsServices) {
  const { accounts, clock, config, limiter, log, passwords } = options;
  const guard = new SignInGuard({ limiter, realm: 'console' });
  const sessions = new ConsoleSessions({ accounts, config, log });
  const { clientFactors, passkeys, secondFactors } = makeFactors(options, {
    alerts,
    guard,
    sessions,
    vault,
  });
  const switches = new SignInSwitches(settings.signIn);
  const vendorTokens = new VendorTokens({ accounts, clock });
  const vendorTokenUse = new VendorTokenUse({ accounts, clock, log });
  const raiseAlert = async ({ address, at }: { readonly address: string; readonly at: string }) =>
    await alerts.note('break_glass_used', 'server', `from ${address} at ${at}`);
  const breakGlass = new BreakGlassAccount({
    accounts,
    passwords,
    guard,
    sessions,
    secrets: vault,
    clock,
    log,
    raiseAlert,
  });
  return {
    breakGlass,
    consoleSessions: sessions,
    consoleSignIn: new ConsoleSignIn({
      accounts,
      passwords,
      guard,
      sessions,
      secondFactors,
      passkeys,
      isElsewhere: (username) => isPasswordElsewhere(accounts, username),
      switches,
      clock,
    }),
    consolePasskeys: new ConsolePasskeys({ accounts, clock, passkeys, secondFactors }),
    secondFactors,
    clientFactors,
    passkeys,
    factorRemovals: new FactorRemovals({ accounts, announcer: options.announcer, clock, secrets: vault }),
    singleSignOn: new SingleSignOn({
      accounts,
      sessions,
      sso: settings.sso,
      signIn: settings.signIn,
      clock,
      log,
      allowPrivateTargets: config.allowPrivateTargets,
      holdersOf: bindableHoldersOf,
    }),
    stepUp: new StepUp({ accounts, sessions, secondFactors, passkeys, breakGlass, clock }),
    personProviders: new PersonProviders({ accounts, clock, vault }),
    signInSettings: settings.signIn,
    signInSwitches: switches,
    vendorTokens,
    vendorTokenUse,
    vendorRefusals: new VendorRefusals({ tokens: vendorTokens, ledger: vendorTokenUse, clock, log }),
  };
}
