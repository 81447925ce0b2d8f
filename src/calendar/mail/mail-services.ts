/** Mail put together: what the settings say, the outbox that it makes of them, and the door of RSVP links. */
import type { FastifyInstance } from 'fastify';
import type { Config } from '#src/config.ts';
import type { CalendarServices, MailParts } from '../calendar-services.ts';
import { mailLanguageOf, senderOf } from '#src/settings/mail-settings.ts';
import type { MailDns } from '#src/settings/mail-dns.ts';
import type { Settings } from '#src/settings/settings.ts';
import { personalFieldsOf } from '#src/identity/personal-fields.ts';
import { languageOf } from '#src/protocol/languages.ts';
import type { AccountsReader } from '#storage/accounts/accounts.ts';
import { Outbox, type OutboxOptions } from './mail-outbox.ts';
import { RsvpLinks } from './rsvp-links.ts';
import { addRsvpRoutes } from './rsvp-routes.ts';
import { readMailSetup, shownMailSettings } from '#src/mail/mail-setup.ts';
import { Transport } from '#src/mail/transport.ts';

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
    language: () => mailLanguageOf(shownMailSettings(settings)),
    languageOf: (user) => languageOf(personalFieldsOf(accounts, user).language),
    isOn: () => shownMailSettings(settings)?.smtp_host !== undefined,
    sender: () => {
      const mail = shownMailSettings(settings);
      return mail === undefined ? undefined : senderOf(mail);
    },
    setup: () => readMailSetup(settings, mailDns),
  });
}

/** Adds the door by which people outside answer. */
export async function addMailRoutes(app: FastifyInstance, services: CalendarServices): Promise<void> {
  await addRsvpRoutes(app, services, new RsvpLinks(services));
}
