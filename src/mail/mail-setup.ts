/** What mail leaves by, as the settings say it now. */
import { senderOf, smtpServerOf } from '#src/settings/mail-settings.ts';
import type { MailDns } from '#src/settings/mail-dns.ts';
import type { SettingValues } from '#src/settings/setting-screens.ts';
import type { Settings } from '#src/settings/settings.ts';
import { Refusal } from '#src/protocol/errors.ts';
import type { MailSetup } from './transport.ts';

/** The settings of mail without their secrets, whatever state those are in; undefined while they are incomplete. */
export function shownMailSettings(settings: Pick<Settings, 'view'>): SettingValues<'mail'> | undefined {
  const { isComplete, values } = settings.view('mail');
  if (!isComplete) return undefined;
  const set = Object.entries(values).filter(([field, value]) => value !== null && field !== 'smtp_password');
  return Object.fromEntries(set) as unknown as SettingValues<'mail'>;
}

/** What mail leaves by; undefined while no server is named, or its secrets are locked. */
export function readMailSetup(
  settings: Pick<Settings, 'read'>,
  mailDns: Pick<MailDns, 'signing'>,
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
