/** The settings of outgoing mail as its sender reads them. */
import type { SmtpServer } from '#src/outgoing/smtp.ts';
import type { Language } from '#src/protocol/languages.ts';
import type { SettingValues } from './setting-screens.ts';

/** The port of mail submission (RFC 6409). */
const SUBMISSION_PORT = 587;

/** The mail server of the settings; undefined while none is named. */
export function smtpServerOf(mail: SettingValues<'mail'>): SmtpServer | undefined {
  const { smtp_host: host, smtp_port: port = SUBMISSION_PORT, smtp_security: security = 'starttls' } = mail;
  const { smtp_username: username, smtp_password: password } = mail;
  if (host === undefined) return undefined;
  return { host, port, security, ...(username === undefined ? {} : { username, password: password ?? '' }) };
}

/** The address that mail is sent from. */
export function senderOf(mail: SettingValues<'mail'>): string {
  return mail.from ?? `calendar@${mail.domain}`;
}

/** The language of mail to people outside, who say none. */
export function mailLanguageOf(mail: Pick<SettingValues<'mail'>, 'language'> | undefined): Language {
  return mail?.language ?? 'en';
}
