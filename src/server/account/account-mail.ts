/** Mail about accounts put together: what the settings say, the outbox, and the routes by which people ask for it. */
import type { FastifyInstance } from 'fastify';
import { AccountOutbox, type AccountMail, type Written } from '#src/account-mail/account-outbox.ts';
import { EmailConfirmations } from '#src/account-mail/email-confirmations.ts';
import { NoticeWatch } from '#src/account-mail/notice-watch.ts';
import { PasswordRequests } from '#src/account-mail/password-requests.ts';
import { unixSeconds, type Clock } from '#src/base/clock.ts';
import type { Config } from '#src/config.ts';
import { profileOf } from '#src/directory/directory.ts';
import { MAILED_LINK_SECONDS, type PasswordResets } from '#src/directory/password-resets.ts';
import { addClientRoutes, type Authenticate, type ClientHandlers } from '#src/http/client-routes.ts';
import { EMAIL_CODE_SECONDS, putEmailCode } from '#src/identity/confirmed-emails.ts';
import { personalFieldsOf } from '#src/identity/personal-fields.ts';
import { noticesOf, seeNotices } from '#src/identity/security-notices.ts';
import type { Limiter } from '#src/limits/limiter.ts';
import { readMailSetup, shownMailSettings } from '#src/mail/mail-setup.ts';
import { Transport } from '#src/mail/transport.ts';
import {
  ACCOUNT_MAIL_ROUTES,
  type ConfirmEmail,
  type RequestPasswordReset,
} from '#src/protocol/account/account-mail.ts';
import { SECURITY_NOTICE_ROUTES, type SeeSecurityNotices } from '#src/protocol/account/security-notices.ts';
import { languageOf } from '#src/protocol/languages.ts';
import type { SessionClaims } from '#src/protocol/sessions/sessions.ts';
import type { MailDns } from '#src/settings/mail-dns.ts';
import { mailLanguageOf } from '#src/settings/mail-settings.ts';
import type { Settings } from '#src/settings/settings.ts';
import type { Logger } from '#src/telemetry/logger.ts';
import type { ThreadMetrics } from '#src/telemetry/thread-metrics.ts';
import type { Accounts } from '#storage/accounts/accounts.ts';

export interface AccountMailOptions {
  readonly accounts: Accounts;
  /** The coordinator's app, which does not listen yet. */
  readonly app: FastifyInstance;
  readonly authenticate: Authenticate;
  /** Where people reach the coordinator. */
  readonly baseUrl: () => string;
  readonly clock: Clock;
  readonly config: Pick<Config, 'allowPrivateTargets'>;
  readonly limiter: Limiter;
  readonly log: Logger;
  readonly mailDns: Pick<MailDns, 'signing'>;
  readonly metrics: ThreadMetrics;
  readonly passwordResets: PasswordResets;
  readonly session: (token: string | undefined) => SessionClaims;
  readonly settings: Pick<Settings, 'read' | 'view'>;
  /** Tells the devices of a person that something of their account is another: `directory.changed` of oneself. */
  readonly tellAccount: (user: string) => void;
}

/** How often codes whose time is over are removed. */
const SWEEP_MILLIS = 3_600_000;

/** Adds the routes to the coordinator's app, and goes on with mails that wait; both end with the app. */
export async function addAccountMail(options: AccountMailOptions): Promise<void> {
  const { accounts, app, authenticate, clock, config, limiter, log, mailDns, settings } = options;
  const outbox = new AccountOutbox({
    ...{ accounts, clock, log },
    // A link needs to know where it leads, which is known once the coordinator listens.
    setup: () => (options.baseUrl() === '' ? undefined : readMailSetup(settings, mailDns)),
    transport: new Transport(config),
    write: async (mail) => await write(mail, options),
  });
  options.metrics.supply(() => ({ accountMails: outbox.metrics }));
  const isOn = () => shownMailSettings(settings)?.smtp_host !== undefined;
  const confirmations = new EmailConfirmations({ accounts, clock, isOn, limiter, outbox });
  const requests = new PasswordRequests({ accounts, clock, limiter, log, outbox, resets: options.passwordResets });
  const handlers: ClientHandlers<typeof ACCOUNT_MAIL_ROUTES> = {
    requestPasswordReset: ({ address, body }) => {
      requests.request((body as RequestPasswordReset).email, address);
      return { status: 202, body: { status: 'ok' } };
    },
    sendEmailCode: async ({ user }) => ({ status: 202, body: { email: await confirmations.send(user) } }),
    confirmEmail: async ({ address, body, token }) => {
      await confirmations.confirm(options.session(token), (body as ConfirmEmail).code, address);
      return { status: 204, body: undefined };
    },
  };
  addClientRoutes(app, ACCOUNT_MAIL_ROUTES, handlers, authenticate, limiter);
  addClientRoutes(app, SECURITY_NOTICE_ROUTES, noticeHandlers(options), authenticate, limiter);
  const watch = new NoticeWatch({ accounts, clock, isOn, log, outbox, tell: options.tellAccount });
  await watch.start();
  const timer = setInterval(() => {
    confirmations.sweep().catch((error: unknown) => log.warn('sweeping codes of addresses failed', { error }));
  }, SWEEP_MILLIS);
  timer.unref();
  app.addHook('onClose', async () => {
    clearInterval(timer);
    await requests.settle();
    await watch.settle();
    await outbox.close();
  });
}

function noticeHandlers(options: AccountMailOptions): ClientHandlers<typeof SECURITY_NOTICE_ROUTES> {
  const { accounts, session, tellAccount } = options;
  return {
    listSecurityNotices: ({ token, user }) => ({
      status: 200,
      body: { items: noticesOf(accounts, user, session(token).sid), next: null },
    }),
    seeSecurityNotices: async ({ body, token, user }) => {
      const { id } = body as SeeSecurityNotices;
      const { sid } = session(token);
      const isMore = await accounts.change((draft) => seeNotices(draft, user, id, sid));
      // The other devices of the person take their notice away, too.
      if (isMore) tellAccount(user);
      return { status: 204, body: undefined };
    },
  };
}

/** Writes a mail with the code or the link that it hands over; undefined where its person has neither any more. */
async function write(mail: AccountMail, options: AccountMailOptions): Promise<Written | undefined> {
  const { accounts, baseUrl, clock, passwordResets, settings } = options;
  const { kind, user } = mail;
  const { email } = profileOf(accounts, user);
  if (email === null) return undefined;
  const named = languageOf(personalFieldsOf(accounts, user).language);
  const language = named ?? mailLanguageOf(shownMailSettings(settings));
  if (kind === 'reset') {
    const link = await passwordResets.makeForMail(user);
    if (link === undefined) return undefined;
    const url = `${baseUrl()}${link.path}`;
    return { to: email, language, letter: { kind, user, url, minutes: MAILED_LINK_SECONDS / 60 } };
  }
  if (kind === 'notice') {
    const { notice } = mail;
    if (notice === undefined) return undefined;
    return { to: email, language, letter: { kind, user, url: `${baseUrl()}/#/settings`, told: notice } };
  }
  const code = await accounts.change((draft) =>
    putEmailCode(draft, user, email.toLowerCase(), unixSeconds(clock.now())),
  );
  return { to: email, language, letter: { kind, code, minutes: EMAIL_CODE_SECONDS / 60 } };
}
