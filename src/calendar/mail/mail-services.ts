/** Mail put together: what the settings say, the outbox that it makes of them, and the door of RSVP links. */
import type { FastifyInstance } from 'fastify';
import type { Config } from '#src/config.ts';
import type { CalendarServices, MailParts } from '../calendar-services.ts';
import { mailLanguageOf, senderOf, smtpServerOf } from '#src/settings/mail-settings.ts';
import type { MailDns } from '#src/settings/mail-dns.ts';
import type { SettingValues } from '#src/settings/setting-screens.ts';
import type { Settings } from '#src/settings/settings.ts';
import { personalFieldsOf } from '#src/identity/personal-fields.ts';
import { languageOf } from '#src/protocol/languages.ts';
import type { AccountsReader } from '#storage/accounts/accounts.ts';
import { Refusal } from '#src/protocol/errors.ts';
import { Outbox, type OutboxOptions } from './mail-outbox.ts';
import { RsvpLinks } from './rsvp-links.ts';
import { addRsvpRoutes } from './rsvp-routes.ts';
import { type MailSetup, Transport } from '#src/mail/transport.ts';

export interface MailServicesOptions {
  readonly settings: Pick<Settings, 'read' | 'view'>;
  readonly mailDns: Pick<MailDns, 'signing'>;
  readonly accounts: AccountsReader;
  readonly config: Pick<Config, 'allowPrivateTargets'>;
  /** Base URL of the calendar as people reach it; empty until it listens. */
  readonly baseUrl: () => string;
  readonly log: OutboxOptions['log'];
}

/** The outbox over the calendar's parts. */
export function makeOutbox(parts: MailParts, options: MailServicesOptions): Outbox {
  const { accounts, baseUrl, config, log, mailDns, settings } = options;
  return new Outbox({
    ...parts,
    ...{ baseUrl, log },
    links: new RsvpLinks(parts),
    transport: new Transport(config),
    language: () => mailLanguageOf(publicOf(settings)),
    languageOf: (user) => languageOf(personalFieldsOf(accounts, user).language),
    isOn: () => publicOf(settings)?.smtp_host !== undefined,
    sender: () => {
      const mail = publicOf(settings);
      return mail === undefined ? undefined : senderOf(mail);
    },
    setup: () => readSetup(settings, mailDns),
  });
}

/** Adds the door by which people outside answer. */
export async function addMailRoutes(app: FastifyInstance, services: CalendarServices): Promise<void> {
  await addRsvpRoutes(app, services, new RsvpLinks(services));
}

/** The settings without their secrets, whatever state those are in; undefined while they are incomplete. */
function publicOf(settings: MailServicesOptions['settings']): SettingValues<'mail'> | undefined {
  const { isComplete, values } = settings.view('mail');
  if (!isComplete) return undefined;
  const set = Object.entries(values).filter(([field, value]) => value !== null && field !== 'smtp_password');
  return Object.fromEntries(set) as unknown as SettingValues<'mail'>;
}

function readSetup(
  settings: MailServicesOptions['settings'],
  mailDns: MailServicesOptions['mailDns'],
): MailSetup | undefined {
  try {
    const mail = settings.read('mail');
    const server = mail === undefined ? undefined : smtpServerOf(mail);
    if (mail === undefined || server === undefined) return undefined;
    return { server, from: senderOf(mail), dkim: mailDns.signing() };
  } catch (error) {
    if (error instanceof Refusal && error.code === 'encryption_locked') return undefined;
    throw error;
  }
}
