/** Reads one mail: who it is from, when somebody who is trusted vouches for that, and the calendar message in it. */
import { isVouchedFor, type MailTrust } from './authentication-results.ts';
import { calendarPart, type CalendarPart } from './calendar-part.ts';
import { fromAddress, type FromAddress } from './from-address.ts';
import { readHeader } from './header-fields.ts';
import type { MailOutcome } from './outcomes.ts';

/** Bytes of one mail: a calendar of the largest size, and room for some pictures. [too_large] */
export const MAIL_BYTES_MAX = 2 * 1024 * 1024;

/** Plain data, so that it crosses threads. */
export interface MailTask {
  readonly mail: Uint8Array;
  readonly trust: MailTrust;
}

/** A mail that may be acted on in its sender's name. */
export interface VouchedMail {
  readonly from: FromAddress;
  readonly part: CalendarPart;
}

/** The mail, or why it is refused. Nothing of its content is looked at before its sender is known. */
export async function readMail({ mail, trust }: MailTask): Promise<VouchedMail | MailOutcome> {
  if (mail.length > MAIL_BYTES_MAX) return 'too_large';
  const bytes = Buffer.from(mail.buffer, mail.byteOffset, mail.byteLength);
  const header = readHeader(bytes);
  if (header === undefined) return 'mail_malformed';
  const from = fromAddress(header.fields);
  if (from === undefined) return 'sender_invalid';
  if (!isVouchedFor(header.fields, from.domain, trust)) return 'sender_unverified';
  const part = await calendarPart(bytes);
  return typeof part === 'string' ? part : { from, part };
}
