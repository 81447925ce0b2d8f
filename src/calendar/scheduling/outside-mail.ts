/** People who are not of the installation, and how scheduling reaches them: by mail, where an operator switched it on. */
import type { Language } from '#src/protocol/languages.ts';
import type { Sample } from '#src/telemetry/metrics.ts';
import type { CalendarDraft } from '#storage/calendars/calendar-draft.ts';
import type { Sending } from './messages.ts';

/** On its way to somebody outside (RFC 6638, 3.2.9): the mail is in the same commit. */
export const PENDING = '1.0';
/** Taken by the mail server; whether it arrives nobody knows. */
export const SENT = '1.1';
/** Nobody that the server can tell: the same for who is not there and for who may not be invited. */
export const UNKNOWN = '3.7';
/** Not sent, and may be sent again later. */
export const UNDELIVERED = '5.1';
/** Refused for good: there is no way to that recipient. */
export const UNROUTABLE = '5.2';
/** Refused for good: that recipient may not be written to. */
export const DISALLOWED = '5.3';

/** An alarm by e-mail that is due. */
export interface EmailAlarm {
  /** Whose calendar it is: nobody else gets it, whatever the object says. */
  readonly owner: string;
  readonly calendar: string;
  readonly uid: string;
  readonly title: string;
  readonly location: string | undefined;
  /** When the occurrence begins, milliseconds since 1970; undefined for an alarm at an instant of its own. */
  readonly start: number | undefined;
  /** IANA name, for how the time is written. */
  readonly zone: string;
}

/** The mail of the calendar, as far as the calendar knows it. */
export interface OutsideMail {
  /** Whether an operator has named a mail server. */
  isOn(): boolean;
  /** In which people outside are written to. */
  language(): Language;
  /** Whether an address can be written to, as `mailto:…`. */
  takes(address: string): boolean;
  /** How many people may still be written to on behalf of somebody, in this change. */
  roomOf(user: string): number;
  /** Puts messages on their way in the change that they follow from; `wake` once it is on disk. @throws Refusal `busy`. */
  send(draft: CalendarDraft, sending: Sending): void;
  /** Puts alarms on their way; those that may not go are dropped and counted. */
  remind(draft: CalendarDraft, alarms: readonly EmailAlarm[]): void;
  wake(): void;
  /** For the metrics, as they are now. */
  readonly metrics: Readonly<
    Record<'parley_calendar_outgoing_mails_total' | 'parley_calendar_outgoing_mails_waiting', Sample[]>
  >;
  /** Ends; what is on its way waits for the next start. */
  close(): Promise<void>;
}

/** Whether an identity is an address of somebody who is not of the installation, rather than a username. */
export function isOutside(identity: string): boolean {
  return identity.includes(':');
}
